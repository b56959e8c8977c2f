/**
 * Goal: money is looked for where wallets send it, and codes that people type are read as they were given.
 * Method: `@solana-program/token` and `@solana/kit` as oracles for addresses; properties for codes.
 */
import { address, getAddressDecoder, isAddress } from "@solana/kit"
import { findAssociatedTokenPda } from "@solana-program/token"
import { assert, describe, it } from "@effect/vitest"
import { base58 } from "@scure/base"
import { Effect } from "effect"
import { createHash, generateKeyPairSync } from "node:crypto"
import { readFileSync } from "node:fs"
import { associatedTokenAccount, token2022Program, tokenProgram } from "../../../../modules/chains/solana/Addresses.ts"
import {
  codeInReference,
  codeOf,
  codesInMemo,
  referenceOf,
  sharedTargetOf
} from "../../../../modules/chains/solana/PaymentCode.ts"
import { readWallet } from "../../../../modules/chains/solana/Wallet.ts"

/** Bytes that are the same in every run. */
const seeded = (text: string): Buffer => createHash("sha256").update(text).digest()
const keyOf = (text: string): string => getAddressDecoder().decode(seeded(text))

const wallet = keyOf("wallet")
const invoiceId = (place: number): string => `inv_${seeded(`invoice ${place}`).toString("hex").slice(0, 24)}`

describe("solana addresses", () => {
  it("trap 15: are checked by one kit, of the version that the token library is made for", () => {
    const packages: Record<string, { readonly version: string; readonly peerDependencies?: Record<string, string> }> =
      JSON.parse(readFileSync("package-lock.json", "utf8")).packages
    const kits = Object.keys(packages).filter((path) => path.endsWith("node_modules/@solana/kit"))
    assert.deepStrictEqual(kits, ["node_modules/@solana/kit"])
    const [major] = packages["node_modules/@solana/kit"]!.version.split(".")
    for (const name of ["token", "system"]) {
      const needed = packages[`node_modules/@solana-program/${name}`]!.peerDependencies!["@solana/kit"]
      assert.strictEqual(needed, `^${major}.0.0`, name)
    }
  })

  it("finds the same token account as the kit, 200 of 200, for both token programs", async () => {
    for (let place = 0; place < 200; place++) {
      const owner = keyOf(`owner ${place}`)
      const mint = keyOf(`mint ${place}`)
      const program = place % 2 === 0 ? tokenProgram : token2022Program
      const [expected] = await findAssociatedTokenPda({
        owner: address(owner),
        mint: address(mint),
        tokenProgram: address(program)
      })
      assert.strictEqual(associatedTokenAccount(owner, mint, program), expected)
    }
  })
})

describe("solana payment codes", () => {
  const codes = Array.from({ length: 2_000 }, (_, place) => codeOf(wallet, invoiceId(place)))

  it("trap 8: a code comes from the invoice's id and never from a counter, so two deployments give none out twice", () => {
    assert.strictEqual(new Set(codes).size, codes.length)
    assert.strictEqual(codeOf(wallet, invoiceId(7)), codes[7])
    assert.notStrictEqual(codeOf(keyOf("other wallet"), invoiceId(7)), codes[7])
    for (const code of codes) assert.match(code, /^[0-9A-HJKMNP-TV-Z]{16}$/)
  })

  it("is read from a memo in either case, in groups, with look-alikes, and among other words", () => {
    for (const code of codes.slice(0, 200)) {
      const groups = code.match(/.{4}/g)!
      const lookAlikes = code.replaceAll("0", "O").replaceAll("1", "l")
      for (
        const memo of [
          code,
          code.toLowerCase(),
          ` ${code}\n`,
          groups.join("-"),
          groups.join(" "),
          lookAlikes,
          `Order ${code}.`
        ]
      ) {
        assert.deepStrictEqual(codesInMemo(memo), [code], memo)
      }
    }
  })

  it("does not take a code with a typing error for another one", () => {
    const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    let misread = 0
    for (const code of codes.slice(0, 200)) {
      for (let place = 0; place < code.length; place++) {
        const wrong = alphabet[(alphabet.indexOf(code[place]!) + 1) % alphabet.length]!
        misread += codesInMemo(code.slice(0, place) + wrong + code.slice(place + 1)).length
      }
    }
    // 3,200 errors, of which a checksum of 16 bits misses one in 65,536.
    assert.isAtMost(misread, 2)
  })

  it("is the same in the reference, which is a key, and in no other wallet's", () => {
    for (const code of codes.slice(0, 200)) {
      const reference = referenceOf(wallet, code)
      assert.isTrue(isAddress(reference))
      assert.strictEqual(base58.decode(reference).length, 32)
      assert.strictEqual(codeInReference(wallet, reference), code)
      assert.isNull(codeInReference(keyOf("other wallet"), reference))
    }
    for (let place = 0; place < 2_000; place++) assert.isNull(codeInReference(wallet, keyOf(`random ${place}`)))
  })
})

const read = (kind: "address" | "pool" | "xpub", value: string) => Effect.runSync(readWallet("devnet", kind, value))

describe("solana wallets", () => {
  const pool = Array.from({ length: 3 }, (_, place) => keyOf(`pool ${place}`))

  it("gives every invoice of a wallet its own memo at the one address", () => {
    const found = read("address", ` ${wallet}\n`)
    if (typeof found === "string" || found._tag !== "SharedWallet") throw new Error(`${found}`)
    const target = found.targetOf(invoiceId(1))
    assert.deepStrictEqual(target, sharedTargetOf(wallet, invoiceId(1)))
    assert.deepStrictEqual([target.address, target.matchKey], [wallet, `${wallet}:${target.memo}`])
    assert.strictEqual(found.accountKey, wallet)
  })

  it("gives the addresses of a list out one by one, without a memo", () => {
    const found = read("pool", pool.join("\n"))
    if (typeof found === "string" || found._tag !== "IndexedWallet") throw new Error(`${found}`)
    assert.strictEqual(found.size, 3)
    assert.deepStrictEqual(found.derive(1), { address: pool[1]!, matchKey: pool[1]!, memo: null })
  })

  it("refuses what is no wallet, says why, and never repeats a secret", () => {
    const { privateKey } = generateKeyPairSync("ed25519")
    const jwk = privateKey.export({ format: "jwk" })
    const pair = Buffer.concat([Buffer.from(jwk.d!, "base64url"), Buffer.from(jwk.x!, "base64url")])
    const secrets = [
      base58.encode(pair),
      JSON.stringify([...pair]),
      Array.from({ length: 12 }, () => "abandon").join(" ")
    ]
    for (const secret of secrets) {
      for (const kind of ["address", "pool", "xpub"] as const) {
        const refusal = read(kind, secret)
        assert.match(String(refusal), /PRIVATE key|recovery phrase/)
        assert.notInclude(String(refusal), secret)
      }
    }
    assert.match(String(read("pool", `${pool[0]}\n${secrets[0]}`)), /entry 2 looks like a PRIVATE key/)
    assert.match(String(read("xpub", wallet)), /no extended public keys/)
    assert.match(String(read("address", "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266")), /expected the address/)
    assert.match(String(read("address", "11111111111111111111111111111111")), /expected the address/)
    assert.match(String(read("pool", `${pool[0]} ${pool[0]}`)), /twice/)
    assert.match(String(read("pool", `${pool[0]} nonsense`)), /entry 2 is not the address/)
  })
})
