/**
 * Goal: whoever approves real money is led to a signature, and where they have nothing to sign with, to what they need;
 * play money needs none. Method: the button and the card of a page for each kind of person.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { approvalBody, approveButton, approvingCard, approvingOf } from "../../../modules/dashboard/pages/Approving.ts"
import { en } from "../../../modules/dashboard/pages/texts/en.ts"
import { pathUrl } from "../../../runtime/pages/Html.ts"

const { approving: words } = en
const wallet = { family: "evm", address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", chain_id: null }

/** What a page has for somebody: the button beside the heading, and the card. */
const shown = (environment: "devnet" | "mainnet", more: object = {}, issued: object = {}) => {
  let calls = 0
  const visit = {
    environment,
    caller: {},
    session: { timeZone: null },
    nameAddress: null,
    now: 1_000,
    texts: en,
    page: "refunds/:id",
    params: { id: "re_1" },
    query: new URLSearchParams(),
    formKey: "key",
    at: (path: string) => pathUrl(`/dashboard/1/${environment}/${path}`),
    api: {
      send: () => {
        calls++
        return Effect.succeed({ text: "Approval <that> money goes out\n", passkey: null, wallets: [], ...issued })
      }
    },
    ...more
  } as never
  const approving = Effect.runSync(approvingOf(visit, "/api/v1/refunds/re_1"))!
  return { button: String(approveButton(visit, approving) || ""), calls, card: String(approvingCard(visit, approving)) }
}

describe("the approval of real money on a page", () => {
  it("shows the text, and asks the passkey by the button", () => {
    const { button, card } = shown("mainnet", {}, { passkey: {} })
    assert.include(button, "data-approve=\"1\"")
    assert.include(card, "Approval &lt;that&gt; money goes out\n</pre>")
    assert.include(card, words.needsScript)
    assert.notInclude(card, words.withoutSigning)
  })

  it("has no button without a passkey, but the wallets of the browser, or what is missing", () => {
    const byWallet = shown("mainnet", {}, { wallets: [wallet] })
    assert.strictEqual(byWallet.button, "")
    assert.include(byWallet.card, "data-approve-wallets")
    const byNothing = shown("mainnet")
    assert.strictEqual(byNothing.button, "")
    assert.include(byNothing.card, words.nothingToSign)
    assert.include(byNothing.card, "/dashboard/1/mainnet/account")
    // A browser knows no passkeys of an address of numbers.
    const byAddress = shown("mainnet", { nameAddress: "http://localhost:1/dashboard" }, { passkey: {} })
    assert.strictEqual(byAddress.button, "")
    assert.include(byAddress.card, "http://localhost:1/dashboard")
  })

  it("asks the service for nothing where the person still waits", () => {
    const { button, calls, card } = shown("mainnet", { caller: { moneyFrom: 2_000 } }, { passkey: {} })
    assert.deepStrictEqual([button, calls], ["", 0])
    assert.include(card, words.waits)
  })
})

describe("the approval of play money on a page", () => {
  it("is one press for everybody, signed or not", () => {
    assert.include(shown("devnet").button, "<button class=\"main\">")
    const { button, card } = shown("devnet", { caller: { moneyFrom: 2_000 } }, { passkey: {} })
    assert.include(button, "data-approve=\"1\"")
    assert.include(card, words.withoutSigning)
  })
})

describe("the form of an approval", () => {
  const bodyOf = (proof: string) =>
    Effect.runSync(Effect.option(approvalBody({ texts: en } as never, new URLSearchParams({ proof }))))
  it("sends what was signed, nothing where nothing was, and no other text", () => {
    assert.deepInclude(bodyOf("{\"id\":\"apr_1\"}"), { value: { proof: { id: "apr_1" } } })
    assert.strictEqual(bodyOf("")._tag, "Some")
    assert.strictEqual(bodyOf("{")._tag, "None")
  })
})
