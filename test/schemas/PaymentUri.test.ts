/**
 * Goal: a wallet that opens a payment link reads the address, the amount and the memo that were meant.
 * Method: the shapes and examples of the standards; links taken apart by Node's URL, addresses by @ton/core, amounts by
 * viem.
 */
import { Address } from "@ton/core"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { formatUnits, getAddress } from "viem"
import { baseUnits } from "../../schemas/Money.ts"
import {
  cardanoPaymentUri,
  evmPaymentUri,
  solanaPaymentUri,
  suiPaymentUri,
  tonPaymentUri
} from "../../schemas/PaymentUri.ts"

const to = (address: string, memo: string | null = null) => ({ address, memo })
const token = (address: string | null, decimals: number, environment: "mainnet" | "devnet" = "mainnet") => ({
  address,
  decimals,
  environment
})
const noWords = { reference: null, label: null, message: null }

const evmAddress = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
/** Of the examples in the Solana Pay specification. */
const solanaOwner = "mvines9iiHiQTysrwkJjGf2gb9Ex9jXJX8ns3qwf2kN"
const solanaUsdc = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
const tonWallet = "UQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPuwA"
const usdtMaster = "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs"
const notMaster = "0:2f956143c461769579baef2e32cc2d7bc18283f40d20bb03e432cd603ac33ffc"
const cardanoAddress = "addr1vx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzers66hrl8"
const suiAddress = "0x02a212de6a9dfa3a69e22387acfbafbb1a9e591bd9d636e7895dcfc8de05f331"

const eth = token(null, 18)
const sol = token(null, 9)
const usdc = token(solanaUsdc, 6)
const ada = token(null, 6)

const table: ReadonlyArray<readonly [promise: string, uri: string | null, expected: string | null]> = [
  [
    "EIP-681: the native coin, in wei and without exponent",
    evmPaymentUri(8453, to(evmAddress), eth, baseUnits(10n ** 21n)),
    `ethereum:${evmAddress}@8453?value=1000000000000000000000`
  ],
  [
    "EIP-681: a token, by its contract's transfer",
    evmPaymentUri(
      1,
      to("0x8e23ee67d1332ad560396262c48ffbb01f93d052"),
      token("0x89205a3a3b2a69de6dbf7f01ed13b2108b2c43e7", 6),
      baseUnits(1n)
    ),
    "ethereum:0x89205a3a3b2a69de6dbf7f01ed13b2108b2c43e7@1/transfer" +
    "?address=0x8e23ee67d1332ad560396262c48ffbb01f93d052&uint256=1"
  ],
  [
    "Solana Pay: its example of 1 SOL with words",
    solanaPaymentUri(to(solanaOwner, "OrderId12345"), sol, baseUnits(10n ** 9n), {
      reference: null,
      label: "Michael",
      message: "Thanks for all the fish"
    }),
    `solana:${solanaOwner}?amount=1&label=Michael&message=Thanks%20for%20all%20the%20fish&memo=OrderId12345`
  ],
  [
    "Solana Pay: its example of 0.01 USDC, a zero before the point",
    solanaPaymentUri(to(solanaOwner), usdc, baseUnits(10_000n), noWords),
    `solana:${solanaOwner}?amount=0.01&spl-token=${solanaUsdc}`
  ],
  [
    "Solana Pay: a reference",
    solanaPaymentUri(to(solanaOwner), sol, baseUnits(1n), { ...noWords, reference: solanaUsdc }),
    `solana:${solanaOwner}?amount=0.000000001&reference=${solanaUsdc}`
  ],
  [
    "TON: the coin, in nano, with the memo as text",
    tonPaymentUri(to(tonWallet, "7F3K-9Q"), token(null, 9), baseUnits(1_500_000_000n)),
    `ton://transfer/${tonWallet}?amount=1500000000&text=7F3K-9Q`
  ],
  [
    "TON: a jetton, in its own base units",
    tonPaymentUri(to(tonWallet, "7F3K"), token(usdtMaster, 6), baseUnits(1_000_000n)),
    `ton://transfer/${tonWallet}?jetton=${usdtMaster}&amount=1000000&text=7F3K`
  ],
  [
    "TON: no memo, no text",
    tonPaymentUri(to(tonWallet), token(null, 9), baseUnits(1n)),
    `ton://transfer/${tonWallet}?amount=1`
  ],
  [
    "CIP-13: ADA, as a decimal",
    cardanoPaymentUri(to(cardanoAddress), ada, baseUnits(1_500_000n)),
    `web+cardano:${cardanoAddress}?amount=1.5`
  ],
  [
    "CIP-13: no link for an asset",
    cardanoPaymentUri(to(cardanoAddress), token("8b1c.55534443", 6), baseUnits(1n)),
    null
  ],
  ["CIP-13: no link that would lose a memo", cardanoPaymentUri(to(cardanoAddress, "7F3K"), ada, baseUnits(1n)), null],
  ["Sui: the address", suiPaymentUri(to(suiAddress)), `sui:${suiAddress}`]
]

/** What stands in a link, as Node's URL reads it. */
const entriesOf = (uri: string | null) => Object.fromEntries(new URL(uri ?? "").searchParams)

const Amount = Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: 10n ** 30n }))
const Words = Schema.String

describe("payment links", () => {
  for (const [promise, uri, expected] of table) it(promise, () => assert.strictEqual(uri, expected))

  it.prop("say the amount exactly, in the unit of their standard", [Amount], ([amount]) => {
    const units = baseUnits(amount)
    assert.strictEqual(entriesOf(evmPaymentUri(1, to(evmAddress), eth, units)).value, amount.toString())
    assert.strictEqual(entriesOf(tonPaymentUri(to(tonWallet), token(null, 9), units)).amount, amount.toString())
    for (const decimals of [0, 6, 9]) {
      const uri = solanaPaymentUri(to(solanaOwner), token(solanaUsdc, decimals), units, noWords)
      assert.strictEqual(entriesOf(uri).amount, formatUnits(amount, decimals))
    }
    assert.strictEqual(entriesOf(cardanoPaymentUri(to(cardanoAddress), ada, units)).amount, formatUnits(amount, 6))
  })

  it.prop(
    "carry any words and memo whole, and these add no field of their own",
    [Words, Words, Words],
    ([label, message, memo]) => {
      const hostile = `${memo}&amount=1#?=%20+ \u{1f4b8}\ud800`
      const uri = solanaPaymentUri(to(solanaOwner, hostile), sol, baseUnits(5n), { reference: null, label, message })
      assert.match(uri, /^[\w:?&=.%~!'()*-]+$/)
      assert.deepStrictEqual(entriesOf(uri), {
        amount: "0.000000005",
        label: label.toWellFormed(),
        message: message.toWellFormed(),
        memo: hostile.toWellFormed()
      })
      const ton = tonPaymentUri(to(tonWallet, hostile), token(null, 9), baseUnits(5n))
      assert.match(ton, /^[\w:/?&=.%~!'()*-]+$/)
      assert.deepStrictEqual(entriesOf(ton), { amount: "5", text: hostile.toWellFormed() })
    }
  )

  it("name a jetton by its master's friendly address, of the network it is on", () => {
    const jetton = (environment: "mainnet" | "devnet") =>
      Address.parseFriendly(
        entriesOf(tonPaymentUri(to(tonWallet), token(notMaster, 9, environment), baseUnits(1n))).jetton!
      )
    for (const environment of ["mainnet", "devnet"] as const) {
      const { address, isBounceable, isTestOnly } = jetton(environment)
      assert.strictEqual(address.toRawString(), notMaster)
      assert.isTrue(isBounceable)
      assert.strictEqual(isTestOnly, environment === "devnet")
    }
  })

  it("keep an address as it was written", () => {
    assert.strictEqual(
      getAddress(new URL(evmPaymentUri(10, to(evmAddress), eth, baseUnits(1n))).pathname.split("@")[0]!),
      evmAddress
    )
    assert.strictEqual(new URL(tonPaymentUri(to(tonWallet), token(null, 9), baseUnits(1n))).pathname, `/${tonWallet}`)
    assert.strictEqual(new URL(suiPaymentUri(to(suiAddress))).pathname, suiAddress)
  })
})
