/**
 * Goal: a payor is offered exactly the tokens that the invoice's address takes.
 * Method: the real routes of the payment page, while the merchant changes its policy and its wallet.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Invoices } from "../../../modules/invoices/plugin.ts"
import { Payments } from "../../../modules/payments/plugin.ts"
import { TokenPolicies } from "../../../modules/tokens/plugin.ts"
import { noCause } from "../../../runtime/Commit.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { usdc } from "../../fixtures/tokens.ts"
import { Api } from "../../support/Api.ts"
import {
  callerOf,
  choose,
  ether,
  handOverTransfer,
  invoiceService,
  newMerchant,
  post,
  setWallet,
  transferTo,
  usualPrices
} from "../invoices/InvoiceService.ts"

/** An invoice of a new merchant, and what its payor is offered: ids, with the reason of those that cannot be paid. */
const payor = Effect.gen(function*() {
  usualPrices()
  const caller = callerOf(yield* newMerchant)
  const { invoice, payment_session_headers: headers } = yield* caller.ok("/api/v1/invoices", post({ amount: 10_000 }))
  const { call } = yield* Api
  const offered = Effect.map(
    call("/api/v1/payments/available-tokens", { headers }),
    ({ json }) => Object.fromEntries(json.map(({ id, unavailable_reason }: any) => [id, unavailable_reason]))
  )
  return { merchant: caller.id, invoice, offered }
})

const block = (merchant: number, blocked: ReadonlyArray<number>) =>
  Effect.gen(function*() {
    const policies = yield* TokenPolicies
    yield* policies.change(merchant, "devnet", noCause, {
      actor: "service:test",
      decide: (current) => ({
        ...current,
        version: current.version + 1,
        policy: "selective",
        blockedTokens: new Set(blocked)
      }),
      reply: () => undefined
    })
    yield* TestClock.adjust("2 seconds")
  })

layer(invoiceService)("the tokens a payor is offered", (it) => {
  it.effect("are never one that the invoice's address is not for, though the merchant takes it since", () =>
    Effect.gen(function*() {
      const { invoice, merchant, offered } = yield* payor
      assert.deepStrictEqual(yield* offered, { [usdc.id]: null, [ether.id]: null })
      yield* block(merchant, [usdc.id])
      assert.deepStrictEqual(yield* offered, { [ether.id]: null })
      yield* choose(invoice.id, ether)
      yield* block(merchant, [])
      assert.deepStrictEqual(yield* offered, { [ether.id]: null })
      assert.strictEqual((yield* Effect.flip(choose(invoice.id, usdc))).code, "TOKEN_NOT_ACCEPTED")
    }))

  it.effect("stay on an address that was given out, though the merchant's wallet is gone", () =>
    Effect.gen(function*() {
      const [shown, late] = [yield* payor, yield* payor]
      yield* choose(shown.invoice.id, usdc)
      setWallet(false)
      assert.deepStrictEqual(yield* shown.offered, { [usdc.id]: null, [ether.id]: null })
      yield* choose(shown.invoice.id, ether)
      assert.deepStrictEqual(yield* late.offered, { [usdc.id]: "NO_WALLET", [ether.id]: "NO_WALLET" })
    }).pipe(Effect.ensuring(Effect.sync(() => setWallet(true)))))

  it.effect("are shown again as the one chosen last, at the same quote until another amount remains or nothing does", () =>
    Effect.gen(function*() {
      const { invoice } = yield* payor
      const sql = yield* SqlClient.SqlClient
      const shown = Effect.flatMap(
        Effect.flatMap(Invoices, (invoices) => invoices.find(invoice.id)),
        (found) => Effect.flatMap(Payments, (payments) => payments.currentRoute(found!))
      )
      const quotes = Effect.map(sql`SELECT id FROM quotes WHERE invoice_id = ${invoice.id}`, (rows) => rows.length)
      assert.isNull(yield* shown)
      yield* choose(invoice.id, ether)
      const { target } = yield* choose(invoice.id, usdc)
      const before = yield* quotes
      assert.deepInclude({ ...yield* shown }, { token: usdc, target, tokenAmount: baseUnits(10_000_000n) })
      yield* TestClock.adjust("10 minutes")
      assert.include((yield* shown)!.quote, { quote_status: "expired", estimated_token_amount_remaining: "10.000000" })
      assert.strictEqual(yield* quotes, before)
      usualPrices()
      yield* handOverTransfer(yield* transferTo(invoice, usdc, 4_000_000n))
      assert.deepInclude({ ...yield* shown }, { token: usdc, target, tokenAmount: baseUnits(6_000_000n) })
      assert.strictEqual(yield* quotes, before + 1)
      yield* handOverTransfer(yield* transferTo(invoice, usdc, 6_000_000n))
      assert.isNull(yield* shown)
    }))
})
