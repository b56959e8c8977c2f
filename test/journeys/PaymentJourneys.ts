/**
 * What money does on every network, whatever its family: each promise below becomes a test of the network that can do
 * what it needs. Every step is compared over the events API, the verified webhooks and the payor's socket (see
 * `assertEvents`).
 */
import { assert, type Vitest } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { until } from "../support/Service.ts"
import { asPayor, assertEvents, assertStatus, chooseToken, readInvoice, requestAddress, transferTypes } from "./Shop.ts"
import {
  exceptionsOf,
  exceptionsWithoutInvoice,
  firstExceptionsOf,
  journalOf,
  openInvoice,
  paymentsOf,
  type Town
} from "./Town.ts"

/** A network on which the journeys are driven. What is null its chain cannot do, and no test asks it to. */
export interface JourneyNetwork<R> {
  /** As the API names it. */
  readonly name: string
  readonly town: Effect.Effect<Town, never, R>
  /** The token that invoices are paid in. */
  readonly symbol: string
  /** So many thousandths of a US dollar in that token, as the API writes it. */
  readonly tokenAmount: (usdMillis: bigint) => string
  /** Pays what the payor was shown, so much of it; answers the transaction's hash. */
  readonly pay: (shown: any, usdMillis: bigint) => Effect.Effect<string, never, R>
  /** Insists on what the payor of an invoice of 49.99 USD is shown. */
  readonly assertShown: (shown: any) => Effect.Effect<void, never, R>
  /** The payment's sender as the API tells it; null where the chain does not say. */
  readonly payer: Effect.Effect<string | null, never, R>
  /** Whether blocks come by themselves; else the test makes each of them. */
  readonly hasOwnBlocks: boolean
  /** The native coin, where `symbol` is another. */
  readonly native: {
    readonly symbol: string
    readonly usdMillis: number
    /** Insists on what the payor of an invoice of so much is shown. */
    readonly assertShown: (shown: any) => Effect.Effect<void, never, R>
    /** Pays so much in the coin to where the payor was told to pay, whatever token they chose. */
    readonly pay: (shown: any) => Effect.Effect<unknown, never, R>
  } | null
  /** How far in the past a due date must be for an invoice to expire at once: the lag of the network's index. */
  readonly expiredForSeconds: number
  /** Lets the chain reach a block that is later than such a due date. */
  readonly reachExpiry: Effect.Effect<void, never, R>
  /** Pays in a token that no catalogue has; answers hash and address of the token. */
  readonly payUnlisted:
    | ((shown: any) => Effect.Effect<{ readonly txHash: string; readonly token: string }, never, R>)
    | null
  /** Pays the merchant so that no invoice is named; answers the hash. */
  readonly payWithoutInvoice: {
    readonly type: "missing_memo" | "unmatched_payment"
    readonly pay: (shown: any) => Effect.Effect<string, never, R>
  }
  /** A payment that was confirmed leaves the chain; answers what brings it back. */
  readonly removePayment: {
    /** Whether it leaves alone; else the newest blocks leave with all they hold. */
    readonly isSingle: boolean
    /** Runs before the payment. */
    readonly prepare: Effect.Effect<void, never, R>
    readonly remove: (txHash: string) => Effect.Effect<Effect.Effect<void>, never, R>
  } | null
}

/** Thousandths of a US dollar as dollars: `49990n` is `49.990`. */
export const dollars = (usdMillis: bigint): string =>
  `${usdMillis / 1000n}.${String(usdMillis % 1000n).padStart(3, "0")}`

/** An invoice that is paid by one payment. */
export const paid = ["invoice.created", ...transferTypes("invoice.paid")]

const partial = ["invoice.created", ...transferTypes("invoice.partial_payment")]

const expired = ["invoice.created", "invoice.updated", "invoice.expired"]

/** Types of a second payment, which confirms the first one with it. */
const completion = [
  "invoice_payment.created",
  "invoice_payment.updated",
  "invoice_payment.updated",
  "invoice.updated",
  "invoice.paid"
]

const removed = ["invoice_payment.updated", "invoice.updated"]

const restored = ["invoice_payment.updated", "invoice_payment.updated", "invoice.updated", "invoice.paid"]

type It<R> = Pick<Vitest.MethodsNonLive<R>, "effect">

const exactPayment = <R>(network: JourneyNetwork<R>) =>
  Effect.gen(function*() {
    const town = yield* network.town
    const { shop } = town
    const { invoice, listener, shown } = yield* openInvoice(town, network.name, network.symbol, { amount_usd: 49.99 })
    const tokenAmount = network.tokenAmount(49_990n)
    assert.strictEqual(shown.estimated_token_amount, tokenAmount)
    yield* network.assertShown(shown)
    yield* assertEvents(shop, invoice, listener, ["invoice.created"])

    const txHash = yield* network.pay(shown, 49_990n)
    const { events } = yield* assertEvents(shop, invoice, listener, paid)
    const [, created, confirmed, updated, last] = events.map(({ data }) => data)
    assert.include(created.object, {
      status: "pending",
      network: network.name,
      payer_tx_hash: txHash,
      amount: 49_990,
      amount_decimal: "49.990",
      payer_amount_token: tokenAmount,
      confirmed_at: null
    })
    const payer = yield* network.payer
    if (payer !== null) assert.strictEqual(created.object.payer_wallet_address, payer)
    assert.strictEqual(confirmed.object.status, "confirmed")
    assert.strictEqual(confirmed.previous_attributes.status, "pending")
    assert.deepStrictEqual(updated, last)
    assert.include(
      last.object,
      { status: "paid", amount_paid: 49_990, amount_remaining: 0, payer_wallet_network: network.name }
    )
    assert.include(
      last.previous_attributes,
      { status: "unpaid", amount_paid: 0, amount_remaining: 49_990, paid_at: null }
    )
    assert.deepStrictEqual(last.object.metadata, { order_id: "ORD-1" })
    assert.deepStrictEqual(yield* readInvoice(shop, invoice.id), last.object)

    const status = yield* asPayor(shop, invoice, "payment-status")
    assert.include(status, { status: "paid", amount_paid: 49_990, amount_remaining: 0 })
    const { confirmations } = status.latest_payment
    assert.include(status.latest_payment, { status: "confirmed", payer_tx_hash: txHash, required_confirmations: 1 })
    if (network.hasOwnBlocks) assert.isAtLeast(confirmations, 1)
    else assert.strictEqual(confirmations, 1)
    assert.deepStrictEqual(status.latest_payment.metadata, {})
    assert.notProperty(status.latest_payment, "settlement")
    const late = yield* requestAddress(shop, invoice, { network: network.name, token_id: shown.supported_token_id })
    assert.deepStrictEqual([late.status, late.json.code], [409, "INVOICE_NOT_PAYABLE"])
  })

const nativePayment = <R>(network: JourneyNetwork<R>, native: NonNullable<JourneyNetwork<R>["native"]>) =>
  Effect.gen(function*() {
    const town = yield* network.town
    const amount_usd = dollars(BigInt(native.usdMillis))
    const { invoice, listener, shown } = yield* openInvoice(town, network.name, native.symbol, { amount_usd })
    yield* native.assertShown(shown)
    yield* native.pay(shown)
    const { last } = yield* assertEvents(town.shop, invoice, listener, paid)
    assert.include(last.data.object, { status: "paid", amount_paid: native.usdMillis })
    assert.lengthOf(yield* exceptionsOf(town, invoice.id), 0)
  })

const tokenIdOf = Effect.fnUntraced(function*({ service, shop }: Town, network: string, symbol: string) {
  const list = yield* service.call("/api/v1/merchant/tokens", { headers: { "x-api-key": shop.key } })
  return list.json.tokens.find((each: any) => each.network === network && each.token_symbol === symbol).id as number
})

const partialPayments = <R>(network: JourneyNetwork<R>) =>
  Effect.gen(function*() {
    const town = yield* network.town
    const { shop } = town
    const { name, native } = network
    const { invoice, listener, shown } = yield* openInvoice(town, name, network.symbol, { amount_usd: 5 })
    yield* network.pay(shown, 2_000n)
    const first = yield* assertEvents(shop, invoice, listener, partial)
    assert.include(
      first.last.data.object,
      { status: "underpaid", amount_paid: 2_000, amount_remaining: 3_000, paid_at: null }
    )
    assert.strictEqual(first.events[2].data.object.status, "underpaid")

    assert.include(yield* asPayor(shop, invoice, "session-details"), {
      invoice_status: "underpaid",
      amount_remaining: 3_000,
      locked_network: name,
      locked_token_id: shown.supported_token_id,
      locked_payment_address: shown.temp_address
    })
    const offered = yield* asPayor(shop, invoice, "available-tokens?mode=all")
    assert.deepStrictEqual(offered.map(({ id }: any) => id), [shown.supported_token_id])
    if (native !== null) {
      const token_id = yield* tokenIdOf(town, name, native.symbol)
      const other = yield* requestAddress(shop, invoice, { network: name, token_id })
      assert.deepStrictEqual([other.status, other.json.code], [409, "ROUTE_LOCKED"])
    }
    const again = yield* chooseToken(shop, invoice, network.symbol, name)
    assert.include(again, {
      temp_address: shown.temp_address,
      memo: shown.memo,
      estimated_token_amount: network.tokenAmount(3_000n)
    })

    yield* network.pay(again, 3_000n)
    const { events, last } = yield* assertEvents(shop, invoice, listener, [...partial, ...completion])
    const moves = events.slice(6, 8).map(({ data }) => [data.previous_attributes.status, data.object.status])
    assert.deepStrictEqual(moves, [["pending", "confirmed"], ["underpaid", "confirmed"]])
    assert.strictEqual(events[7].data.object.id, events[1].data.object.id)
    assert.include(last.data.object, { status: "paid", amount_paid: 5_000, amount_remaining: 0 })
  })

const overpayment = <R>(network: JourneyNetwork<R>) =>
  Effect.gen(function*() {
    const town = yield* network.town
    const { invoice, listener, shown } = yield* openInvoice(town, network.name, network.symbol, { amount_usd: 5 })
    yield* network.pay(shown, 7_000n)
    const over = [...paid, "invoice.overpaid"]
    const { last } = yield* assertEvents(town.shop, invoice, listener, over)
    assert.include(last.data.object, { status: "paid", amount: 5_000, amount_paid: 7_000, amount_remaining: 0 })
    assert.deepStrictEqual(yield* exceptionsOf(town, invoice.id), [{
      type: "overpaid",
      status: "open",
      amount: "2000"
    }])

    yield* network.pay(shown, 1_000n)
    const more = yield* assertEvents(town.shop, invoice, listener, [...over, ...transferTypes("invoice.overpaid")])
    assert.include(more.last.data.object, { status: "paid", amount_paid: 8_000 })
  })

const latePayment = <R>(network: JourneyNetwork<R>) =>
  Effect.gen(function*() {
    const town = yield* network.town
    const { shop, sql } = town
    const fields = { amount_usd: 5, expires_in: 60_000 }
    const { invoice, listener, shown } = yield* openInvoice(town, network.name, network.symbol, fields)
    // The shortest life is a minute: its end is moved into the past, and the timer finds it due.
    const seconds = network.expiredForSeconds
    yield* Effect.orDie(
      sql`UPDATE invoices SET expires_at = created_at - ${seconds}::bigint, due_at = created_at - ${seconds}::bigint
        WHERE id = ${invoice.id}`
    )
    yield* network.reachExpiry
    const before = yield* assertEvents(shop, invoice, listener, expired, ["expires_at"])
    assert.include(before.last.data.object, { status: "expired", amount_paid: 0 })
    const refused = yield* requestAddress(shop, invoice, { network: network.name, token_id: shown.supported_token_id })
    assert.strictEqual(refused.json.code, "INVOICE_NOT_PAYABLE")

    yield* network.pay(shown, 5_000n)
    const types = [...expired, ...transferTypes("invoice.paid")]
    const { last } = yield* assertEvents(shop, invoice, listener, types, ["expires_at"])
    assert.include(last.data.object, { status: "paid", amount_paid: 5_000 })
    assert.strictEqual(last.data.previous_attributes.status, "expired")
    assert.isAbove(last.data.object.last_payment_at, last.data.object.expires_at)
  })

const unlistedToken = <R>(network: JourneyNetwork<R>, pay: NonNullable<JourneyNetwork<R>["payUnlisted"]>) =>
  Effect.gen(function*() {
    const town = yield* network.town
    const { service, shop } = town
    const { invoice, shown } = yield* openInvoice(town, network.name, network.symbol, { amount_usd: 5 })
    const { token, txHash } = yield* pay(shown)
    const payments = yield* until(
      "the payment",
      Effect.map(
        service.call(`/api/v1/invoices/${invoice.id}/payments`, { headers: { "x-api-key": shop.key } }),
        (found): ReadonlyArray<any> => assertStatus(200, found).data
      ),
      ({ length }) => length > 0
    )
    assert.lengthOf(payments, 1)
    assert.include(payments[0], { status: "rejected", amount: 0, payer_tx_hash: txHash })
    assert.include(payments[0].metadata.token, { id: null, address: token })
    const exceptions = (yield* exceptionsOf(town, invoice.id)).map(({ status, type }) => [type, status])
    assert.deepStrictEqual(exceptions, [["wrong_token", "open"]])
    assert.include(yield* readInvoice(shop, invoice.id), { status: "unpaid", amount_paid: 0 })
    yield* network.pay(shown, 5_000n)
    yield* until("the invoice is paid", readInvoice(shop, invoice.id), ({ status }) => status === "paid")
  })

const refusedToken = <R>(network: JourneyNetwork<R>, native: NonNullable<JourneyNetwork<R>["native"]>) =>
  Effect.gen(function*() {
    const town = yield* network.town
    const { service, shop } = town
    const merchant = (path: string, body: object, method = "POST") =>
      service.call(`/api/v1/merchant/tokens${path}`, { method, headers: { "x-api-key": shop.key }, body })
    const token = yield* tokenIdOf(town, network.name, native.symbol)
    assertStatus(200, yield* merchant("/policy", { acceptance_policy: "selective" }, "PUT"))
    assertStatus(200, yield* merchant(`/${token}/block`, { blocked: true }))
    const { invoice, shown } = yield* openInvoice(town, network.name, network.symbol, { amount_usd: 5 })
    yield* native.pay(shown)
    const exceptions = yield* firstExceptionsOf(town, invoice.id)
    assert.strictEqual(exceptions[0].type, "wrong_token")
    assert.include(yield* readInvoice(shop, invoice.id), { status: "unpaid", amount_paid: 0 })
    assertStatus(200, yield* merchant(`/${token}/block`, { blocked: false }))
    assertStatus(200, yield* merchant("/policy", { acceptance_policy: "accept_all" }, "PUT"))
  })

const paymentWithoutInvoice = <R>(
  network: JourneyNetwork<R>,
  { pay, type }: JourneyNetwork<R>["payWithoutInvoice"]
) =>
  Effect.gen(function*() {
    const town = yield* network.town
    const { invoice, listener, shown } = yield* openInvoice(town, network.name, network.symbol, { amount_usd: 5 })
    const txHash = yield* pay(shown)
    const exceptions = yield* exceptionsWithoutInvoice(town)
    assert.deepStrictEqual(exceptions.map(({ status, type }) => [type, status]), [[type, "open"]])
    assert.include(exceptions[0].evidence, txHash)
    assert.deepStrictEqual(yield* journalOf(town, txHash), [{ invoice_id: null }])
    yield* assertEvents(town.shop, invoice, listener, ["invoice.created"])
    assert.include(yield* readInvoice(town.shop, invoice.id), { status: "unpaid", amount_paid: 0 })
  })

const paymentRemoved = <R>(
  network: JourneyNetwork<R>,
  { isSingle, prepare, remove }: NonNullable<JourneyNetwork<R>["removePayment"]>
) =>
  Effect.gen(function*() {
    const town = yield* network.town
    const { shop } = town
    const open = (amount_usd: number) => openInvoice(town, network.name, network.symbol, { amount_usd })
    yield* prepare
    const earlier = yield* open(3)
    yield* network.pay(earlier.shown, 3_000n)
    yield* assertEvents(shop, earlier.invoice, earlier.listener, paid)
    const { invoice, listener, shown } = yield* open(5)
    const later = isSingle ? yield* open(4) : null
    const txHash = yield* network.pay(shown, 5_000n)
    if (later !== null) yield* network.pay(later.shown, 4_000n)
    const before = yield* assertEvents(shop, invoice, listener, paid)
    if (later !== null) yield* assertEvents(shop, later.invoice, later.listener, paid)

    const restore = yield* remove(txHash)
    const back = yield* assertEvents(shop, invoice, listener, [...paid, ...removed])
    assert.include(back.last.data.object, { status: "unpaid", amount_paid: 0, paid_at: null, last_payment_at: null })
    assert.include(back.last.data.previous_attributes, { status: "paid", amount_paid: 5_000 })
    assert.strictEqual(back.events[5].data.object.status, "reverted")
    assert.deepStrictEqual(yield* exceptionsOf(town, invoice.id), [{ type: "reorged", status: "open", amount: "5000" }])

    yield* restore
    const { events, last } = yield* assertEvents(shop, invoice, listener, [...paid, ...removed, ...restored])
    assert.deepStrictEqual(events.slice(7, 9).map(({ data }) => data.object.status), ["pending", "confirmed"])
    assert.include(last.data.object, { status: "paid", amount_paid: 5_000 })
    const ids = new Set(
      events.filter(({ data }) => data.object.object === "invoice_payment").map(({ data }) => data.object.id)
    )
    assert.deepStrictEqual([...ids], [before.events[1].data.object.id])
    assert.lengthOf(yield* paymentsOf(town, invoice.id), 1)
    yield* assertEvents(shop, earlier.invoice, earlier.listener, paid)
    if (later !== null) yield* assertEvents(shop, later.invoice, later.listener, paid)
  })

/** The journeys of a network, from invoice to paid and every way in which that goes otherwise. */
export const paymentJourneys = <R>(it: It<R>, network: JourneyNetwork<R>): void => {
  const { native, payUnlisted, payWithoutInvoice, removePayment, symbol } = network
  const journey = (title: string, run: Effect.Effect<void, never, R | Scope.Scope>) => it.effect(title, () => run)

  journey(`${symbol} pays an invoice, seen first as pending, then confirmed`, exactPayment(network))
  if (native !== null) journey(`${native.symbol} pays an invoice at the quoted amount`, nativePayment(network, native))
  journey(
    "two partial payments pay an invoice, and the first one fixes token and network for the second",
    partialPayments(network)
  )
  journey("an overpayment is told as paid and overpaid, and opens an exception", overpayment(network))
  journey("a late payment still pays, and is readable as late", latePayment(network))
  if (payUnlisted !== null) {
    journey(
      "a token that no catalogue has is recorded as the wrong one, and does not pay",
      unlistedToken(network, payUnlisted)
    )
  }
  if (native !== null) {
    journey(
      "money in a token that the merchant refuses credits nothing, and waits for a person",
      refusedToken(network, native)
    )
  }
  journey(
    `money that names no invoice pays none, and waits for a person as ${payWithoutInvoice.type}`,
    paymentWithoutInvoice(network, payWithoutInvoice)
  )
  if (removePayment !== null) {
    journey(
      "a payment that leaves the chain is taken back, its return counts once, and its neighbours stay",
      paymentRemoved(network, removePayment)
    )
  }
}

/** Comes last: what the operator was told by then, and that the service is well. */
export const healthJourney = <R>(it: It<R>, { town }: JourneyNetwork<R>): void =>
  it.effect("nothing went wrong meanwhile that the operator would be told of", () =>
    Effect.gen(function*() {
      const { service } = yield* town
      const messages = service.errors().map((line) => JSON.parse(line).msg)
      // The payment that belongs to no invoice is told to the operator, and is the only thing that is.
      assert.lengthOf(messages, 1, messages.join("\n"))
      for (const message of messages) assert.match(message, /^money arrived that belongs to no invoice/)
      const report = yield* until(
        "a clean bill of health",
        service.call("/health/ready"),
        ({ json }) => json.status === "ok"
      )
      assert.strictEqual(report.status, 200)
    }))
