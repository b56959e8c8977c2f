/**
 * Goal: a call of the simulator leaves what the same facts leave when they come from the chain, the settlement, the
 * retailer and the refunds' operator.
 * Method: random facts take both roads, over HTTP to the simulator and by the real followers, ports and reports; the
 * objects they leave are compared but for names and times. `SIMULATOR_RUNS` asks for more of them, `TEST_SEED` for
 * others.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SimulatedChain } from "../../../modules/chains/simulated.ts"
import { type OrderFact, orderObject, Orders } from "../../../modules/commerce/plugin.ts"
import {
  invoiceObject,
  Invoices,
  isPayable,
  nothingToScan,
  paymentObject,
  type PaymentState
} from "../../../modules/invoices/plugin.ts"
import { Payments } from "../../../modules/payments/plugin.ts"
import { isOpen, Refunds } from "../../../modules/refunds/plugin.ts"
import { type RetailerReport, Retailers } from "../../../modules/retail/plugin.ts"
import { isSettled, type SettlementReport, Settlements } from "../../../modules/settlement/plugin.ts"
import {
  allowedTransitions,
  type OrderTransition,
  orderTransitions,
  payoutTxHash,
  shipmentOf
} from "../../../modules/simulator/rules.ts"
import { Chains, type JournalEntry } from "../../../runtime/Chains.ts"
import { noCause } from "../../../runtime/Commit.ts"
import { TokenCatalog } from "../../../runtime/TokenCatalog.ts"
import { uuidV7 } from "../../../runtime/Uuid.ts"
import { baseUnits, readRate, tokenAmountUp, usdMillis } from "../../../schemas/Money.ts"
import type { Network } from "../../../schemas/Network.ts"
import { isCounted } from "../../../schemas/Payment.ts"
import { unlistedPlayToken } from "../../../schemas/PlayMoney.ts"
import { seededRandom } from "../../support/Crash.ts"
import { testSeed } from "../../support/Seed.ts"
import { until } from "../../support/Service.ts"
import {
  assertRefused,
  type DevnetMerchant,
  DevnetService,
  newDevnetMerchant,
  newOrder,
  okData
} from "./DevnetService.ts"

const runs = Number(process.env["SIMULATOR_RUNS"] ?? 2)

/** Each pair of invoices has a chain of its own, so that a reorg of one is nothing to the others. */
const networks = ["base", "ethereum", "optimism", "arbitrum", "avalanche"] as const

type Act =
  | { readonly action: "pay"; readonly amount: number; readonly isSeenOnly: boolean }
  | {
    readonly action:
      | "confirm"
      | "reorg"
      | "drop"
      | "duplicate"
      | "wrong_token"
      | "settle"
      | "fail_settlement"
      | "expire"
  }

const wrongAmount = 3_000
const amounts = [1_000, 4_000, 10_000, 12_000] as const
const others = [
  "confirm",
  "reorg",
  "drop",
  "duplicate",
  "wrong_token",
  "settle",
  "fail_settlement",
  "settle",
  "confirm",
  "expire"
] as const

/** A history that a seed gives: about a third of it are payments. */
const historyOf = (random: () => number): ReadonlyArray<Act> => {
  const one = <A>(of: ReadonlyArray<A>): A => of[Math.floor(random() * of.length)]!
  return Array.from({ length: 3 + Math.floor(random() * 7) }, (_, at) =>
    at === 0 || random() < 0.35
      ? { action: "pay", amount: one(amounts), isSeenOnly: random() < 0.4 }
      : { action: one(others) })
}

const names = new Set([
  "id",
  "invoice_id",
  "order_id",
  "commerce_order_id",
  "payer_tx_hash",
  "tx_hash",
  "settlement_tx_hash",
  "shipment_id",
  "provider_order_id",
  "balance_transaction_id",
  "refund_id",
  "quote_id",
  "block_number",
  "tracking_number",
  "carrier_tracking_url"
])
const times = /(_at|^timestamp|^valid_until)$/

/** What is left of an object without names and times: that there is one is kept. */
const bare = (value: unknown, key = ""): unknown => {
  if (value !== null && (names.has(key) || times.test(key))) return "there"
  if (Array.isArray(value)) return value.map((each) => bare(each))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, bare(inner, name)]))
}

const sorted = (values: ReadonlyArray<unknown>) =>
  values.map((each) => JSON.stringify(bare(each))).toSorted().map((text) => JSON.parse(text))

/**
 * A payment as it is compared. Whether it came late is decided by the second in which it came, and both sides of a step
 * may end in different ones: what lateness does to it is compared.
 */
const comparedPayment = (payment: ReturnType<typeof paymentObject>) => {
  const { late_at: _, ...metadata } = payment.metadata as Readonly<Record<string, unknown>>
  return { ...payment, metadata }
}

/** Everything that is shown of an invoice. */
const shown = Effect.fnUntraced(function*(invoiceId: string) {
  const { services } = yield* DevnetService
  const { exceptions, invoice, payments } = (yield* Context.get(services, Invoices).find(invoiceId))!
  return {
    invoice: bare(invoiceObject(invoice)),
    payments: sorted(payments.map((payment) => comparedPayment(paymentObject(invoice, payment)))),
    exceptions: exceptions.filter(({ status }) => status === "open").map(({ type }) => type).toSorted()
  }
})

/** A road of facts for one invoice: the things that happen in the world, and the same asked of the simulator. */
interface Road {
  readonly invoiceId: string
  readonly go: (act: Act) => Effect.Effect<void, never, DevnetService>
}

const usdcOn = (network: Network) =>
  Effect.map(
    DevnetService,
    ({ services }) =>
      Context.get(services, TokenCatalog).list("devnet").find((token) =>
        token.network === network && token.symbol === "USDC"
      )!
  )

const newInvoice = Effect.fnUntraced(function*(player: DevnetMerchant, network: Network, tokenId: number) {
  const { services, call } = yield* DevnetService
  const made = yield* call("/api/v1/invoices", {
    headers: { "x-api-key": player.merchant, "idempotency-key": yield* uuidV7 },
    body: { amount: 10_000 }
  })
  assert.strictEqual(made.status, 200, made.text)
  const invoiceId = made.json.invoice_id as string
  const found = yield* Context.get(services, Invoices).find(invoiceId)
  yield* Effect.orDie(Context.get(services, Payments).route(found!, network, tokenId))
  return invoiceId
})

const simulated = Effect.fnUntraced(function*(player: DevnetMerchant, network: Network) {
  const play = yield* DevnetService
  const { id: tokenId } = yield* usdcOn(network)
  const invoiceId = yield* newInvoice(player, network, tokenId)
  const go = Effect.fnUntraced(function*(one: Act) {
    const body = one.action === "pay"
      ? {
        action: "pay",
        amount: one.amount,
        network,
        token_id: tokenId,
        ...(one.isSeenOnly ? { confirmations: 0 } : {})
      }
      : { action: one.action, ...(one.action === "wrong_token" ? { amount: wrongAmount } : {}) }
    const found = yield* play.call(`/api/v1/devnet/invoices/${invoiceId}/simulate`, {
      headers: { "x-api-key": player.merchant },
      body
    })
    if (found.status !== 409) okData(found)
  })
  return { invoiceId, go } as Road
})

const real = Effect.fnUntraced(function*(player: DevnetMerchant, network: Network) {
  const { services } = yield* DevnetService
  const chain = Context.get(services, SimulatedChain)
  const chains = Context.get(services, Chains)
  const invoices = Context.get(services, Invoices)
  const settlements = Context.get(services, Settlements)
  const token = yield* usdcOn(network)
  const invoiceId = yield* newInvoice(player, network, token.id)
  const target = (yield* chains.target(invoiceId, "evm"))!
  /** Transactions in the order they were sent, with how many blocks were made since each of them. */
  let sent: ReadonlyArray<
    {
      readonly txHash: string
      readonly isMined: boolean
      readonly units: bigint
      readonly token: string | null
      readonly depth: number
    }
  > = []

  const journal = chains.transfers(invoiceId)
  const statusOf = (txHash: string, wanted: (entry: JournalEntry) => boolean) =>
    Effect.asVoid(until(
      `${txHash} on ${network}`,
      Effect.map(journal, (entries) => entries.find((entry) => entry.txHash === txHash)),
      (entry) => entry !== undefined && entry.handledStatus === entry.status && wanted(entry)
    ))

  /** The contract of a token that nobody lists is asked what it is beside the handling of its transfer. */
  const isNamed = (txHash: string) =>
    until(
      `the token of ${txHash}`,
      invoices.find(invoiceId),
      (found) => found!.payments.find((payment) => payment.txHash === txHash)?.metadata.token?.symbol != null
    )

  const mine = Effect.fnUntraced(function*(units: bigint, tokenAddress: string | null, txHash?: string) {
    const made = yield* chain.transfer({
      network,
      to: target.matchKey,
      tokenAddress,
      amount: baseUnits(units),
      ...(txHash === undefined ? {} : { txHash })
    })
    yield* statusOf(made.txHash, ({ status }) => status === "confirmed")
    if (tokenAddress === unlistedPlayToken(network)!.address) yield* isNamed(made.txHash)
    const others = sent.map((each) => each.isMined ? { ...each, depth: each.depth + 1 } : each)
    const one = { txHash: made.txHash, isMined: true, units, token: tokenAddress, depth: 1 }
    sent = others.some((each) => each.txHash === one.txHash)
      ? others.map((each) => (each.txHash === one.txHash ? one : each))
      : [...others, one]
  })

  /** A watcher elsewhere has seen it; the node here has not. */
  const report = Effect.fnUntraced(function*(units: bigint, tokenAddress: string | null) {
    const txHash = `0x${(yield* uuidV7).replaceAll("-", "").repeat(2)}`
    const observedAt = Math.floor(Date.now() / 1000)
    yield* Effect.orDie(chains.report({
      txHash,
      index: 1,
      kind: "direct",
      matchKey: target.matchKey,
      tokenAddress,
      amount: baseUnits(units),
      from: `0x${"51".repeat(20)}`,
      network,
      environment: "devnet",
      point: { height: 0n, hash: txHash },
      time: observedAt
    }))
    yield* statusOf(txHash, ({ status }) => status === "seen")
    sent = [...sent, { txHash, isMined: false, units, token: tokenAddress, depth: 0 }]
  })

  const unitsOf = (amount: number, decimals: number = token.decimals) =>
    tokenAmountUp(usdMillis(BigInt(amount)), readRate("1")!, decimals)

  const settle = (reportOf: (payment: { readonly id: string; readonly network: Network }) => SettlementReport) =>
    Effect.gen(function*() {
      const { payments } = (yield* invoices.find(invoiceId))!
      for (const payment of payments.filter((each) => isCounted(each.status) && !isSettled(each))) {
        yield* Effect.orDie(settlements.report(payment.id, reportOf(payment), noCause))
      }
    })

  const go = Effect.fnUntraced(function*(one: Act) {
    const newest = sent.at(-1)
    switch (one.action) {
      case "pay": {
        const { invoice } = (yield* invoices.find(invoiceId))!
        if (!isPayable(invoice, Math.floor(Date.now() / 1000))) return
        return yield* (one.isSeenOnly ? report : mine)(unitsOf(one.amount), token.address)
      }
      case "duplicate":
        return newest === undefined ? undefined : yield* mine(newest.units, newest.token)
      case "wrong_token": {
        const { address, decimals } = unlistedPlayToken(network)!
        return yield* mine(unitsOf(wrongAmount, decimals), address)
      }
      case "confirm": {
        const waiting = sent.findLast(({ isMined }) => !isMined)
        return waiting === undefined ? undefined : yield* mine(waiting.units, waiting.token, waiting.txHash)
      }
      case "reorg": {
        if (newest === undefined) return
        // Both halves are told: a journal that never hears of the first has nothing to tell either.
        yield* chain.reorg(network, newest.depth, { drop: [newest.txHash] })
        yield* statusOf(newest.txHash, ({ status }) => status === "reverted")
        return yield* mine(newest.units, newest.token, newest.txHash)
      }
      case "drop": {
        if (newest === undefined) return
        yield* chain.reorg(network, newest.depth, { drop: [newest.txHash] })
        yield* statusOf(newest.txHash, ({ status }) => status === "reverted")
        sent = sent.slice(0, -1)
        return
      }
      case "settle":
        return yield* settle(({ id, network: on }) => ({
          _tag: "Settled",
          txHash: payoutTxHash(id),
          network: on,
          amount: null
        }))
      case "fail_settlement":
        return yield* settle(() => ({ _tag: "Failed", reason: "The simulator says so" }))
      case "expire": {
        const { invoice } = (yield* invoices.find(invoiceId))!
        if (invoice.status !== "unpaid" && invoice.status !== "underpaid") return
        yield* Effect.orDie(
          invoices.change(
            invoiceId,
            noCause,
            () => Effect.succeed({ commands: [{ _tag: "End" }, { _tag: "Tick", progress: nothingToScan }] })
          )
        )
        return
      }
    }
  })
  /** A chain has no word for a transfer that never came, and a reorg of what lies deeper is told of others too. */
  const can = ({ action }: Act) => {
    const newest = sent.at(-1)
    if (action !== "drop" && action !== "reorg") return true
    return newest === undefined || (newest.isMined && sent.every((each) => !each.isMined || each.depth >= newest.depth))
  }
  return { invoiceId, go, can }
})

const payorWallet = "0x52908400098527886E0F7030069857D2E4169EE7"

/** What an order shows, and its invoice. */
const shownOrder = Effect.fnUntraced(
  function*(player: DevnetMerchant, { invoiceId, orderId }: { readonly invoiceId: string; readonly orderId: string }) {
    const { services } = yield* DevnetService
    const order = (yield* Context.get(services, Orders).get(player.id, orderId))!
    // A chain tells of a payment twice, seen and deep; a call of the simulator is one commit, which an order sees the
    // end of.
    const timeline = order.timeline.filter(({ substatus }) => substatus !== "PAYMENT_CONFIRMING")
    return { order: bare(orderObject({ ...order, timeline })), ...yield* shown(invoiceId) }
  }
)

const step = (player: DevnetMerchant, orderId: string, transition: OrderTransition) =>
  Effect.flatMap(DevnetService, ({ call }) =>
    call(`/api/commerce/devnet/orders/${orderId}/simulate`, {
      headers: { "x-api-key": player.commerce },
      body: { transition_to: transition, ...(transition === "refunded" ? { wallet_address: payorWallet } : {}) }
    }))

/** What happens in the world when an order takes a step. */
const happen = Effect.fnUntraced(function*(
  player: DevnetMerchant,
  { invoiceId, orderId }: { readonly invoiceId: string; readonly orderId: string },
  transition: OrderTransition
) {
  const { services } = yield* DevnetService
  const invoices = Context.get(services, Invoices)
  const orders = Context.get(services, Orders)
  const refunds = Context.get(services, Refunds)
  const settlements = Context.get(services, Settlements)
  const order = (yield* orders.get(player.id, orderId))!
  const current = (yield* invoices.find(invoiceId))!
  const tell = (fact: OrderFact) => orders.change(player.id, orderId, noCause, [fact])
  const retailer = (report: RetailerReport) =>
    Context.get(services, Retailers).report({ orderId, environment: "devnet" }, report)
  const unsettled = current.payments.filter((each) => isCounted(each.status) && !isSettled(each))
  const report = (of: (payment: PaymentState) => SettlementReport) =>
    Effect.forEach(unsettled, (each) => settlements.report(each.id, of(each), noCause))
  const now = Math.floor(Date.now() / 1000)
  switch (transition) {
    case "payment_confirmed": {
      const token = yield* usdcOn("base")
      const { target, tokenAmount } = yield* Context.get(services, Payments).route(current, "base", token.id)
      const { txHash } = yield* Context.get(services, SimulatedChain).transfer({
        network: "base",
        to: target.matchKey,
        tokenAddress: token.address,
        amount: tokenAmount!
      })
      return yield* until(
        txHash,
        Context.get(services, Chains).transfers(invoiceId),
        (all) => all.some((each) => each.txHash === txHash && each.handledStatus === "confirmed")
      )
    }
    case "payment_settled":
      return yield* report(({ id, network }) => ({ _tag: "Settled", txHash: payoutTxHash(id), network, amount: null }))
    case "placed":
      return yield* retailer({ _tag: "Placed", providerOrderId: `sim_${orderId}` })
    case "shipped":
      return yield* retailer({ _tag: "Shipped", shipment: shipmentOf(order, null, now) })
    case "delivery_confirmed":
      return yield* retailer({ _tag: "Delivered", isConfirmed: true })
    case "failed":
      return yield* unsettled.length > 0
        ? report(() => ({ _tag: "GiveUp", reason: "The simulator says so" }))
        : retailer({ _tag: "PlacementFailed", reason: "The simulator says so" })
    case "cancelled":
      if (order.cancellation !== "requested") yield* tell({ _tag: "CancelRequested", reason: null, destination: null })
      return yield* retailer({ _tag: "CancellationAccepted" })
    case "cancellation_rejected":
      return yield* retailer({ _tag: "CancellationRejected", reason: "The simulator says so" })
    case "refunded": {
      const destination = { network: "bsc", address: payorWallet, memo: null } as const
      for (const { id } of (yield* refunds.ofInvoice(player.id, invoiceId)).filter(isOpen)) {
        const directed = yield* refunds.change(id, { _tag: "SetDestination", destination }, noCause, "service:test")
        if (directed.status === "pending_approval") {
          yield* refunds.change(id, { _tag: "Approve" }, noCause, "service:test")
        }
        yield* refunds.change(id, { _tag: "Succeed", txHash: payoutTxHash(id) }, noCause, "service:test")
      }
    }
  }
}, Effect.orDie)

layer(DevnetService.layer, { excludeTestServices: true })("a call of the simulator", (it) => {
  it.effect("leaves an invoice as the chain and the settlement do", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      const random = seededRandom(testSeed)
      const histories = Array.from({ length: runs * networks.length }, () => historyOf(random))
      for (let run = 0; run < runs; run++) {
        yield* Effect.forEach(
          networks,
          Effect.fnUntraced(function*(network, at) {
            const history = histories[run * networks.length + at]!
            const asked = yield* simulated(player, network)
            const happened = yield* real(player, network)
            for (const [step, one] of history.entries()) {
              if (!happened.can(one)) continue
              yield* Effect.all([asked.go(one), happened.go(one)], { concurrency: 2 })
              assert.deepStrictEqual(
                yield* shown(asked.invoiceId),
                yield* shown(happened.invoiceId),
                `seed ${testSeed}, after step ${step} of ${JSON.stringify(history)}`
              )
            }
          }),
          { concurrency: "unbounded", discard: true }
        )
      }
    }))

  it.effect("leaves an order as the chain, the settlement, the retailer and the refunds do, by one event a step", () =>
    Effect.gen(function*() {
      const play = yield* DevnetService
      const orders = Context.get(play.services, Orders)
      const player = yield* newDevnetMerchant
      const random = seededRandom(testSeed)
      const walk = Effect.fnUntraced(function*() {
        const asked = yield* newOrder(player)
        const happened = yield* newOrder(player)
        const steps: Array<string> = []
        for (let left = 8; left > 0; left--) {
          const order = (yield* orders.get(player.id, asked.orderId))!
          const allowed = allowedTransitions(order)
          const refusedOne = orderTransitions.filter((each) => !allowed.includes(each)).at(Math.floor(random() * 6))
          if (refusedOne !== undefined) {
            const error = assertRefused(yield* step(player, asked.orderId, refusedOne), 409, "INVALID_TRANSITION")
            assert.deepStrictEqual(error.details, { allowed_transitions: allowed })
          }
          if (allowed.length === 0) break
          // A wish to cancel comes from the merchant, on both roads.
          if (order.substatus === "AWAITING_TRACKING" && random() < 0.4) {
            for (const { orderId } of [asked, happened]) {
              yield* orders.change(player.id, orderId, noCause, [{
                _tag: "CancelRequested",
                reason: null,
                destination: null
              }])
            }
            continue
          }
          const transition = allowed[Math.floor(random() * allowed.length)]!
          steps.push(transition)
          const data = okData(yield* step(player, asked.orderId, transition))
          yield* happen(player, happened, transition)
          const about = `seed ${testSeed}: ${steps.join(", ")}`
          assert.deepStrictEqual(yield* shownOrder(player, asked), yield* shownOrder(player, happened), about)
          const now = (yield* orders.get(player.id, asked.orderId))!
          assert.deepStrictEqual(data.allowed_transitions, allowedTransitions(now), about)
          const events: ReadonlyArray<any> = okData(
            yield* play.call(
              `/api/v1/events?limit=100&invoice_id=${asked.invoiceId}`,
              { headers: { "x-api-key": player.merchant } }
            )
          ).data
          const orderEvents = (okData(
            yield* play.call(`/api/v1/events?limit=100&type=commerce.order.updated`, {
              headers: { "x-api-key": player.merchant }
            })
          ).data as ReadonlyArray<any>).filter(({ data: { object } }) => object.id === asked.orderId)
          const told = [...events, ...orderEvents].filter(({ id }) => data.event_ids.includes(id))
          assert.sameMembers([...new Set(told.map(({ id }) => id))], data.event_ids, about)
          const updates = orderEvents.filter(({ id }) => data.event_ids.includes(id))
          assert.lengthOf(updates, 1, about)
          assert.deepStrictEqual(updates[0].data.object, data.order, about)
        }
      })
      yield* Effect.forEach(Array.from({ length: 2 * runs }), walk, { discard: true })
    }))

  it.effect("that comes twice at once is answered as if it had come twice in turn", () =>
    Effect.gen(function*() {
      const { call } = yield* DevnetService
      const player = yield* newDevnetMerchant
      const usdc = yield* usdcOn("base")
      const act = (invoice: string, body: object) =>
        call(`/api/v1/devnet/invoices/${invoice}/simulate`, { headers: { "x-api-key": player.merchant }, body })
      const together = Effect.fnUntraced(function*(invoice: string, body: object, times = 2) {
        const found = yield* Effect.all(Array.from({ length: times }, () => act(invoice, body)), { concurrency: times })
        return found.toSorted((a, b) => a.status - b.status)
      })
      const invoiceOf = (invoice: string) =>
        Effect.map(
          call(`/api/v1/invoices/${invoice}`, { headers: { "x-api-key": player.merchant } }),
          ({ json }) => json
        )

      for (const action of ["pay", "overpay", "late"]) {
        const id = yield* newInvoice(player, "base", usdc.id)
        const [first, second] = yield* together(id, { action })
        okData(first!)
        assert.deepStrictEqual([second!.status, second!.json.error?.code], [409, "INVOICE_NOT_PAYABLE"], action)
        assert.include(yield* invoiceOf(id), { status: "paid", amount_paid: action === "overpay" ? 11_000 : 10_000 })
      }
      const parted = yield* newInvoice(player, "base", usdc.id)
      const parts = (yield* together(parted, { action: "partial" }, 3)).map((part) =>
        okData(part).invoice_payment.amount
      )
      assert.deepStrictEqual(parts.toSorted((a: number, b: number) => b - a), [5_000, 2_500, 1_250])
      assert.include(yield* invoiceOf(parted), { status: "underpaid", amount_paid: 8_750 })

      const ended = yield* newInvoice(player, "base", usdc.id)
      const [expired, refusedOne] = yield* together(ended, { action: "expire" })
      okData(expired!)
      assertRefused(refusedOne!, 409, "INVOICE_NOT_PAYABLE")

      const twice = yield* newInvoice(player, "base", usdc.id)
      for (const amount of [2_000, 3_000]) okData(yield* act(twice, { action: "pay", amount }))
      for (const gone of yield* together(twice, { action: "drop" })) okData(gone)
      assert.include(yield* invoiceOf(twice), { status: "unpaid", amount_paid: 0 })

      const { invoiceId, orderId } = yield* newOrder(player)
      const steps = yield* Effect.all(
        [
          step(player, orderId, "payment_confirmed"),
          act(invoiceId, { action: "partial" }),
          act(invoiceId, { action: "pay" })
        ],
        { concurrency: 3 }
      )
      assert.isTrue(steps.some(({ status }) => status === 200))
      assert.include(yield* invoiceOf(invoiceId), { status: "paid", amount_paid: 12_990 })
    }))

  it.effect("that sends a token nobody lists names what arrived, in the answer and in an event", () =>
    Effect.gen(function*() {
      const { call } = yield* DevnetService
      const player = yield* newDevnetMerchant
      const headers = { "x-api-key": player.merchant }
      const id = yield* newInvoice(player, "base", (yield* usdcOn("base")).id)
      const simulate = (body: object) => call(`/api/v1/devnet/invoices/${id}/simulate`, { headers, body })
      const sent = okData(yield* simulate({ action: "wrong_token", amount: 3_000 }))
      const token = { id: null, address: unlistedPlayToken("base")!.address, symbol: "UNLISTED", decimals: 18 }
      assert.deepInclude(sent.invoice_payment, {
        status: "rejected",
        payer_amount_token: "3.000000000000000000",
        amount: 0
      })
      assert.deepStrictEqual(sent.invoice_payment.metadata.token, token)
      const told = yield* call(`/api/v1/events?limit=100`, { headers })
      const last = told.json.data.data.find(({ data }: any) => data.object.id === sent.invoice_payment.id)
      assert.deepStrictEqual(last.data.object.metadata.token, token)
      const again = okData(yield* simulate({ action: "reorg" }))
      assert.deepStrictEqual(again.invoice_payment.metadata.token, token, "it is named in its new block too")
    }))

  it.effect("refuses to send more than one transfer is credited with, and says how much that is", () =>
    Effect.gen(function*() {
      const { call } = yield* DevnetService
      const player = yield* newDevnetMerchant
      const id = yield* newInvoice(player, "base", (yield* usdcOn("base")).id)
      const pay = (amount: number) =>
        call(`/api/v1/devnet/invoices/${id}/simulate`, {
          headers: { "x-api-key": player.merchant },
          body: { action: "pay", amount }
        })
      for (const amount of [10_000_000_000_001, 1e15]) {
        const { message, param } = assertRefused(yield* pay(amount), 400, "VALIDATION_ERROR")
        assert.strictEqual(param, "amount")
        assert.include(message, "1 to 10,000,000,000,000")
        assert.include(message, "usd_millis")
      }
      assert.include(okData(yield* pay(10_000_000_000_000)).invoice_payment, { amount: 10_000_000_000_000 })
    }))

  it.effect("shows a payment that is only seen as pending until it is confirmed, and touches nobody else's", () =>
    Effect.gen(function*() {
      const { call } = yield* DevnetService
      const [mine, other] = [yield* newDevnetMerchant, yield* newDevnetMerchant]
      const usdc = yield* usdcOn("base")
      const [id, theirs] = [yield* newInvoice(mine, "base", usdc.id), yield* newInvoice(other, "base", usdc.id)]
      const act = (player: DevnetMerchant, invoice: string, body: object) =>
        call(`/api/v1/devnet/invoices/${invoice}/simulate`, { headers: { "x-api-key": player.merchant }, body })
      okData(yield* act(other, theirs, { action: "pay" }))
      const before = yield* shown(theirs)

      const seenOnly = okData(yield* act(mine, id, { action: "pay", confirmations: 0 }))
      assert.include(seenOnly.invoice, { status: "unpaid", amount_paid: 0 })
      assert.include(seenOnly.invoice_payment, { status: "pending", confirmed_at: null })
      assert.include(seenOnly.invoice_payment.metadata, { confirmations: 0, required_confirmations: 1 })
      assert.lengthOf(seenOnly.event_ids, 1)
      const deep = okData(yield* act(mine, id, { action: "confirm" }))
      assert.include(deep.invoice, { status: "paid" })
      assert.deepInclude(deep.invoice_payment, {
        id: seenOnly.invoice_payment.id,
        status: "confirmed",
        settlement_status: "pending"
      })
      const dropped = okData(yield* act(mine, id, { action: "drop" }))
      assert.include(dropped.invoice, { status: "unpaid", amount_paid: 0 })
      assert.include(dropped.invoice_payment, { status: "reverted" })
      assertRefused(yield* act(mine, id, { action: "drop" }), 409, "INVALID_TRANSITION")
      assertRefused(yield* act(mine, theirs, { action: "drop" }), 404, "INVOICE_NOT_FOUND")
      assert.deepStrictEqual(yield* shown(theirs), before)

      const settled = okData(yield* act(other, theirs, { action: "settle" }))
      assert.include(settled.invoice_payment, { settlement_status: "settled", settled_amount: 10_000 })
      assertRefused(yield* act(other, theirs, { action: "settle" }), 409, "INVALID_TRANSITION")
    }))

  it.effect("lets a network fail and time pass for one merchant alone", () =>
    Effect.gen(function*() {
      const { call } = yield* DevnetService
      const [mine, other] = [yield* newDevnetMerchant, yield* newDevnetMerchant]
      const usdc = yield* usdcOn("base")
      const create = (player: DevnetMerchant) =>
        Effect.flatMap(uuidV7, (key) =>
          Effect.map(
            call("/api/v1/invoices", {
              headers: { "x-api-key": player.merchant, "idempotency-key": key },
              body: { amount: 10_000 }
            }),
            ({ json }) => json.invoice_id as string
          ))
      const ask = (player: DevnetMerchant, path: string, body: object) =>
        call(`/api/v1/devnet/${path}`, { headers: { "x-api-key": player.merchant }, body })
      const pay = (player: DevnetMerchant, invoice: string) =>
        ask(player, `invoices/${invoice}/simulate`, { action: "pay", network: "base", token_id: usdc.id })
      const fault = (mode: string) => Effect.map(ask(mine, "networks/base/fault", { mode }), okData)

      assert.deepStrictEqual(yield* fault("down"), { network: "base", mode: "down" })
      assertRefused(yield* pay(mine, yield* create(mine)), 503, "NETWORK_DEGRADED")
      assert.include(okData(yield* pay(other, yield* create(other))).invoice, { status: "paid" })
      yield* fault("lagging")
      const slow = yield* create(mine)
      assert.include(okData(yield* pay(mine, slow)).invoice_payment, { status: "pending" })
      yield* fault("ok")
      assert.include(okData(yield* ask(mine, `invoices/${slow}/simulate`, { action: "confirm" })).invoice, {
        status: "paid"
      })

      const [ending, staying] = [yield* create(mine), yield* create(other)]
      const before = Math.floor(Date.now() / 1000)
      const moved = okData(yield* ask(mine, "clock/advance", { seconds: 172_800 }))
      assert.strictEqual(moved.ahead_seconds, 172_800)
      assert.isAtLeast(moved.now, before + 172_800)
      const status = (player: DevnetMerchant, invoice: string) =>
        Effect.map(call(`/api/v1/invoices/${invoice}`, { headers: { "x-api-key": player.merchant } }), ({ json }) =>
          json.status)
      yield* until("the end of the invoice", status(mine, ending), (found) =>
        found === "expired")
      assert.strictEqual(yield* status(other, staying), "unpaid")
    }))

  it.effect("is refused where the order is not the caller's to move, and changes nothing then", () =>
    Effect.gen(function*() {
      const { call } = yield* DevnetService
      const [mine, other] = [yield* newDevnetMerchant, yield* newDevnetMerchant]
      const ids = yield* newOrder(mine)
      const before = yield* shownOrder(mine, ids)
      const ask = (key: string, orderId: string, body: object = { transition_to: "payment_confirmed" }) =>
        call(`/api/commerce/devnet/orders/${orderId}/simulate`, { headers: { "x-api-key": key }, body })
      assertRefused(yield* ask(mine.merchant, ids.orderId), 403, "SCOPE_MISMATCH")
      assertRefused(yield* ask(other.commerce, ids.orderId), 404, "ORDER_NOT_FOUND")
      assertRefused(yield* ask(mine.commerce, "nonsense"), 404, "ORDER_NOT_FOUND")
      const real = yield* newOrder(mine, 5_000n, "mainnet")
      assertRefused(yield* ask(mine.commerce, real.orderId), 404, "ORDER_NOT_FOUND")
      for (
        const body of [
          {},
          { transition_to: "lost" },
          { transition_to: null },
          { transition_to: "shipped", tracking: "1Z" },
          { transition_to: "shipped", tracking: { carrier: "" } },
          { transition_to: "placed", wallet_network: "moon" }
        ]
      ) assertRefused(yield* ask(mine.commerce, ids.orderId, body), 400, "VALIDATION_ERROR")
      assertRefused(
        yield* ask(mine.commerce, ids.orderId, { transition_to: "payment_confirmed", wallet_address: "0x123" }),
        400,
        "WALLET_ADDRESS_INVALID"
      )
      assert.deepStrictEqual(yield* shownOrder(mine, ids), before)

      // The camelCase names are taken too, and a refund without an address is asked for one.
      okData(yield* ask(mine.commerce, ids.orderId, { transitionTo: "payment_confirmed" }))
      okData(yield* ask(mine.commerce, ids.orderId, { transition_to: "failed" }))
      for (const body of [{}, { walletAddress: "0x123" }]) {
        assertRefused(
          yield* ask(mine.commerce, ids.orderId, { transition_to: "refunded", ...body }),
          400,
          "REFUND_DESTINATION_REQUIRED"
        )
      }
      const refundedTo = okData(
        yield* ask(mine.commerce, ids.orderId, { transition_to: "refunded", walletAddress: payorWallet })
      )
      assert.include(refundedTo.order, { status: "failed", substatus: "SETTLEMENT_FAILED", refund_status: "REFUNDED" })
      assert.include(refundedTo.order.refund, { destination_wallet_address: payorWallet, destination_network: "bsc" })
      assert.deepStrictEqual(refundedTo.allowed_transitions, [])
    }))
})
