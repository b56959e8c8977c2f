/** Goal: nobody sends us what takes their money, and what receives is never mistaken for it. */
import { assert, describe, it } from "@effect/vitest"
import { looksSecret, publicPattern } from "../../../modules/dashboard/rules/SecretText.ts"

/** A pattern that goes back over the text takes minutes; this one microseconds, on a machine that may be busy. */
const momentMillis = 2_000

const phrase = "test test test test test test test test test test test junk"

const secrets = [
  `xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi`,
  "tprv8ZgxMBicQKsPeDgjzdC36fs6bMjGApWDNLR9erAXMs5skhMv36j9MV5ecvfavji5khqjWaWSFhN3YcCUUdiKH6isR4Pwy3U5y5egddBr16m",
  `suiprivkey1${"q".repeat(59)}`,
  `root_xsk1${"q".repeat(100)}`,
  `acct_xsk1${"q".repeat(100)}`,
  `addr_sk1${"q".repeat(60)}`,
  "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
  " 0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80 ",
  "5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ",
  "KwDiBf89QgGbjEhKnhXJuH7LrciVrZi3qYjgd9M7rFU73sVHnoWn",
  "4".repeat(88),
  `[${Array.from({ length: 64 }, (_, index) => index).join(",")}]`,
  phrase,
  phrase.replaceAll(" ", ", "),
  `${phrase} ${phrase}`,
  "ábaco abdomen abeja abierto abogado abono aborto abrazo abrir abuelo abuso acabar",
  "的 一 是 在 不 了 有 和 人 这 中 大"
]

const open = [
  "xpub6Ce9NcJvTk36xtLSrJLZqE7wtgA5deCeYs7rSQtreh4cj6ByPtrg9sD7V2FNFLPnf8heNP3FGkeV9qwfzvZNSd54JoNXVsXFYSYwHsnJxqP",
  "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
  "EQBvW8Z5huBkMJYdnfAEM5JqTNkuWX3diqYENkWsIL0XggGG",
  `${"a".repeat(64)} EQBvW8Z5huBkMJYdnfAEM5JqTNkuWX3diqYENkWsIL0XggGG`,
  "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin",
  `acct_xvk1${"q".repeat(100)}`,
  `addr_test1${"q".repeat(94)}`
]

describe("a text in the form of a wallet", () => {
  it("is refused where it takes money: by the browser's own check, and by the server", () => {
    const inBrowser = new RegExp(`^(?:${publicPattern})$`, "v")
    for (const text of secrets) {
      assert.isTrue(looksSecret(text), text)
      assert.isFalse(inBrowser.test(text), text)
    }
    for (const text of open) {
      assert.isFalse(looksSecret(text), text)
      assert.isTrue(inBrowser.test(text), text)
    }
  })

  it("is judged in a moment, however long it is", () => {
    for (const text of ["a ".repeat(1_000), "abc ".repeat(500), "4".repeat(2_000), `xprv${"-".repeat(1_990)}`]) {
      const start = performance.now()
      looksSecret(text)
      assert.isBelow(performance.now() - start, momentMillis, text.slice(0, 20))
    }
  })
})
