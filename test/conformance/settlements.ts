/**
 * What every way of settling promises, whoever wrote it: a driver's test calls {@link settlementConformance}. The
 * invoices, the commit log and the journal of transfers are the real ones; blocks and due times come when a test says
 * so.
 */
import { assert, layer } from "@effect/vitest"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { InvoiceHooks, Invoices } from "../../modules/invoices/actor.ts"
import { type Aggregate, type Command, type IncomingTransfer, paymentObject } from "../../modules/invoices/machine.ts"
import { migrations as invoiceMigrations, tables as invoiceTables } from "../../modules/invoices/migrations.ts"
import { paymentIdOf } from "../../modules/payments/plugin.ts"
import { defaultSettings } from "../../modules/settings/rules.ts"
import { MerchantSettings } from "../../modules/settings/plugin.ts"
import { type SettlementReport, Settlements } from "../../modules/settlement/plugin.ts"
import { migrations, tables } from "../../modules/settlement/migrations.ts"
import * as Actors from "../../runtime/Actors.ts"
import type { Chains, JournalEntry } from "../../runtime/Chains.ts"
import { layer as chainsLayer } from "../../runtime/chains/TransferJournal.ts"
import { cursorWrite, transferWrite } from "../../runtime/chains/ChainsRepo.ts"
import { Commit, dieOnReplay, noCause, systemMerchant } from "../../runtime/Commit.ts"
import { type DueSource, Timers } from "../../runtime/Timers.ts"
import type { PublicError } from "../../schemas/Errors.ts"
import { payorDataText, previousAttributes } from "../../schemas/Event.ts"
import type { WireObject } from "../../schemas/WireObject.ts"
import { baseUnits, usdMillis } from "../../schemas/Money.ts"
import type { Environment } from "../../schemas/Network.ts"
import { catalogOf } from "../fixtures/tokens.ts"
import { kernel, settingsLayer } from "../support/Api.ts"

/** Due work comes when a test says so. */
class Due extends Context.Service<Due, { readonly run: Effect.Effect<void> }>()("test/Due") {}

const timers = Layer.effectContext(Effect.sync(() => {
  const sources = new Map<string, DueSource>()
  const run = Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    yield* sources.get("settlements")?.run(now, 100) ?? Effect.void
  })
  return Context.make(Due, Due.of({ run })).pipe(
    Context.add(
      Timers,
      Timers.of({
        register: (source) => Effect.sync(() => void sources.set(source.name, source)),
        wake: () => Effect.void
      })
    )
  )
}))

/** What a driver and its tests may use. */
export type SettlementServices = Chains | Commit | Due | InvoiceHooks | Invoices | Settlements | SqlClient.SqlClient

/** Invoices and settlements over a database of their own; drivers come from the test. */
export const settlementServices = Settlements.layer.pipe(
  Layer.provideMerge(Invoices.layer),
  Layer.provideMerge(InvoiceHooks.layer),
  Layer.provideMerge(chainsLayer),
  Layer.provideMerge(Layer.mergeAll(
    Actors.layer,
    timers,
    catalogOf(),
    Layer.mock(MerchantSettings, { forInvoices: () => Effect.succeed(defaultSettings) })
  )),
  Layer.provideMerge(kernel(
    [
      { name: "invoices", migrations: invoiceMigrations, tables: [...invoiceTables] },
      { name: "settlement", migrations, tables }
    ],
    settingsLayer({ environments: ["devnet", "mainnet"] })
  ))
) as unknown as Layer.Layer<SettlementServices>

/** Lets everything happen that is due now. */
export const runDue = Effect.flatMap(Due, ({ run }) => run)

/** A payment in full, and the transfer of the journal that it is. */
export interface PaidInvoice {
  readonly invoiceId: string
  readonly paymentId: string
  readonly entry: JournalEntry
}

const write = (environment: Environment, ...writes: Parameters<Commit["Service"]["append"]>[0]["writes"]) =>
  Effect.flatMap(
    Commit,
    (commit) =>
      Effect.orDie(commit.append({ merchantId: systemMerchant, environment, cause: noCause, writes, events: [] }))
  )

/** The journal's row as it is told next; versions follow by themselves. */
export const journal = Effect.fnUntraced(function*(entry: JournalEntry) {
  const sql = yield* SqlClient.SqlClient
  const [known] = yield* Effect.orDie(sql<{ version: bigint }>`SELECT version FROM transfers WHERE id = ${entry.id}`)
  yield* write(
    entry.environment,
    transferWrite({ ...entry, handledStatus: entry.status, version: Number(known?.version ?? 0) + 1 })
  )
})

/** What the follower of the network has stored: its newest block, and the network's own mark. */
export const follower = Effect.fnUntraced(function*(entry: JournalEntry, head: bigint, finalized: bigint | null) {
  const sql = yield* SqlClient.SqlClient
  const id = `${entry.network}:${entry.environment}`
  const [known] = yield* Effect.orDie(sql<{ version: bigint }>`SELECT version FROM chain_cursors WHERE id = ${id}`)
  yield* write(
    entry.environment,
    cursorWrite(entry.network, entry.environment, {
      recent: [{ height: head, hash: `0x${head}`, time: 1 }],
      finalized,
      answeredAt: 1,
      condition: "ok",
      caughtUpToken: null,
      seenUntil: null,
      storedAt: 1,
      searchedHeight: null,
      singleSourceFrom: null,
      version: Number(known?.version ?? 0) + 1
    })
  )
})

const arrivalOf = (entry: JournalEntry, paymentId: string): IncomingTransfer => ({
  id: paymentId,
  network: entry.network,
  tokenId: null,
  tokenDecimals: 6,
  txHash: entry.txHash,
  sender: entry.from,
  units: entry.amount,
  amount: usdMillis(50_000n),
  seenAt: entry.observedAt,
  metadata: {
    quote: { quote_id: null, exchange_rate: "1", rate_source: "test", priced_at: 1, pricing: "spot" },
    confirmations: 1,
    required_confirmations: 1,
    block_number: Number(entry.height),
    exception: null,
    token: null
  }
})

export const change = (paid: Pick<PaidInvoice, "invoiceId">, ...commands: ReadonlyArray<Command>) =>
  Effect.flatMap(
    Invoices,
    (invoices) => Effect.orDie(invoices.change(paid.invoiceId, noCause, () => Effect.succeed({ commands })))
  )

export const seen = ({ entry, paymentId }: PaidInvoice): Command => ({
  _tag: "Observe",
  transfer: arrivalOf(entry, paymentId)
})
export const confirmed = ({ paymentId }: PaidInvoice): Command => ({ _tag: "Confirm", paymentId, confirmations: 10 })
export const reverted = ({ paymentId }: PaidInvoice): Command => ({ _tag: "Revert", paymentId })

let paidSoFar = 0

/** An invoice that is paid by one transfer, as deep as its policy asks, above all that any test called final before. */
export const pay = Effect.fnUntraced(function*(environment: Environment) {
  const invoices = yield* Invoices
  const draft = yield* invoices.draft({
    merchantId: 7,
    environment,
    commerce: false,
    amount: usdMillis(50_000n),
    expiresInMillis: null,
    customerId: null,
    metadata: {},
    details: { description: null, title: null, footer: null, customerEmail: null, returnUrl: null, locale: null },
    toleranceBasisPoints: null,
    acceptedNetworks: null
  })
  yield* Effect.orDie(invoices.create(draft, noCause, undefined))
  const invoiceId = draft.invoice.id
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const height = 100_000n * BigInt(++paidSoFar)
  const txHash = `0x${paidSoFar.toString(16).padStart(64, "0")}`
  const entry: JournalEntry = {
    id: `base:${environment}:${txHash}:1`,
    network: "base",
    environment,
    txHash,
    index: 1,
    kind: "direct",
    merchantId: 7,
    invoiceId,
    matchKey: `0x${invoiceId}`,
    tokenAddress: "0xusdc",
    amount: baseUnits(50_000_000n),
    from: "0xpayer",
    height,
    blockHash: `0x${height}`,
    blockTime: now,
    observedAt: now,
    status: "confirmed",
    handledStatus: "confirmed",
    requiredDepth: { blocks: 10, finalized: false },
    confirmations: 10,
    attempts: 0,
    version: 1
  }
  const paid: PaidInvoice = { invoiceId, paymentId: paymentIdOf(entry), entry }
  yield* journal(entry)
  yield* change(paid, seen(paid))
  yield* change(paid, confirmed(paid))
  return paid
})

/** The payment as its merchant reads it. */
export const paymentOf = ({ invoiceId, paymentId }: PaidInvoice) =>
  Effect.map(Effect.flatMap(Invoices, (invoices) => invoices.find(invoiceId)), (found): WireObject => {
    const { invoice, payments } = found as Aggregate
    return paymentObject(invoice, payments.find(({ id }) => id === paymentId)!)
  })

/** What was told of the payment, oldest first. */
export const eventsOf = ({ invoiceId, paymentId }: PaidInvoice) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* Effect.orDie(sql<{ type: string; data: string; is_for_payors: boolean }>`
      SELECT type, data, is_for_payors FROM events WHERE invoice_id = ${invoiceId} ORDER BY ms, seq`)
    return rows.map(({ data, ...rest }) => ({ ...rest, payorText: payorDataText(data), ...JSON.parse(data) })).filter((
      { object }
    ) => object.id === paymentId)
  })

export const exceptionsOf = ({ invoiceId }: PaidInvoice) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* Effect.orDie(sql<{ type: string }>`
      SELECT type FROM exceptions WHERE invoice_id = ${invoiceId}::uuid ORDER BY created_at, id`)
    return rows.map(({ type }) => type) as ReadonlyArray<string>
  })

export const report = ({ paymentId }: PaidInvoice, told: SettlementReport) =>
  Effect.flatMap(Settlements, (settlements) => settlements.report(paymentId, told, noCause)).pipe(
    dieOnReplay
  )

/** The code a report is refused with. */
export const refusal = (paid: PaidInvoice, told: SettlementReport) =>
  Effect.map(Effect.flip(report(paid, told)), ({ code }: PublicError) => code)

/** A driver ready to be tried. */
export interface SettlementSubject {
  /** As its config entry names it. */
  readonly name: string
  readonly layer: Layer.Layer<never, unknown, SettlementServices>
  readonly environments: ReadonlyArray<Environment>
  /** The world does what brings the money of a payment to the merchant, as this driver sees it. */
  readonly settle: (paid: PaidInvoice) => Effect.Effect<void, unknown, SettlementServices>
  /** Whether the settlement names a transaction of its own. */
  readonly hasTransaction: boolean
  /** The merchant's money waits until {@link settle} in this environment. */
  readonly waitsIn: Environment
}

/** Longer than any pause between two looks or two tries, three times. */
const timePasses = Effect.gen(function*() {
  for (let step = 0; step < 3; step++) {
    yield* TestClock.adjust("3 hours")
    yield* runDue
  }
})

export const settlementConformance = (
  { environments, hasTransaction, layer: driver, name, settle, waitsIn }: SettlementSubject
) => {
  const running = driver.pipe(Layer.provideMerge(settlementServices)) as Layer.Layer<SettlementServices>

  layer(running)(`${name}, as every way of settling`, (it) => {
    it.effect("serves its environments and no other", () =>
      Effect.gen(function*() {
        const settlements = yield* Settlements
        for (const environment of ["devnet", "mainnet"] as const) {
          assert.strictEqual(
            settlements.driver(environment)?.name,
            environments.includes(environment) ? name : undefined
          )
        }
      }))

    it.effect("a payment that comes to count is pending in the same event, and a payor hears of the payment only", () =>
      Effect.gen(function*() {
        const paid = yield* pay(waitsIn)
        const [created, updated, ...more] = yield* eventsOf(paid)
        assert.deepStrictEqual(more, [])
        assert.strictEqual(created.object.settlement_status, null)
        assert.include(updated.object, {
          status: "confirmed",
          settlement_status: "pending",
          settled_amount: null,
          settled_at: null
        })
        assert.deepInclude(updated.object.settlement, {
          summary_status: "pending",
          status: "queued",
          settlement_tx_hash: null
        })
        assert.deepInclude(updated.previous_attributes, {
          status: "pending",
          settlement_status: null,
          settlement: null
        })
        assert.isTrue(updated.is_for_payors)
        assert.notMatch(updated.payorText, /settle/)
        assert.include(updated.payorText, "confirmed")
      }))

    it.effect("nothing is settled before the money is there, however often it is looked at", () =>
      Effect.gen(function*() {
        const paid = yield* pay(waitsIn)
        for (let look = 0; look < 5; look++) {
          yield* runDue
          yield* TestClock.adjust("2 minutes")
        }
        assert.include(yield* paymentOf(paid), { settlement_status: "pending", settled_at: null })
        assert.strictEqual((yield* eventsOf(paid)).length, 2)
      }))

    it.effect("what is settled is told once, by an event that leads back to the one before and that no payor hears", () =>
      Effect.gen(function*() {
        const paid = yield* pay(waitsIn)
        const before = yield* paymentOf(paid)
        yield* settle(paid)
        yield* timePasses
        const after = yield* paymentOf(paid)
        const { settlement } = after as any
        assert.include(after, {
          settlement_status: "settled",
          settled_amount: 50_000,
          settled_amount_decimal: "50.000"
        })
        assert.isNumber(after["settled_at"])
        assert.include(settlement, { summary_status: "settled", stage: "final", status: "settled", network: "base" })
        assert.strictEqual(settlement.settlement_tx_hash !== null, hasTransaction)
        const events = yield* eventsOf(paid)
        const last = events.at(-1)!
        assert.strictEqual(last.type, "invoice_payment.updated")
        assert.deepStrictEqual(last.object, after)
        assert.isFalse(last.is_for_payors)
        assert.strictEqual(events.filter(({ object }) => object.settlement_status === "settled").length, 1)
        if (events.length === 3) assert.deepStrictEqual(last.previous_attributes, previousAttributes(before, after))
        assert.deepStrictEqual(yield* exceptionsOf(paid), [])
        assert.strictEqual(yield* refusal(paid, { _tag: "Failed", reason: "too late" }), "INVALID_TRANSITION")
      }))

    it.effect("a payment taken back before it settled has no settlement, and begins anew when it comes again", () =>
      Effect.gen(function*() {
        const paid = yield* pay(waitsIn)
        yield* journal({ ...paid.entry, status: "reverted" })
        yield* change(paid, reverted(paid))
        assert.deepInclude(yield* paymentOf(paid), { status: "reverted", settlement_status: null, settlement: null })
        yield* timePasses
        assert.deepInclude(yield* paymentOf(paid), { settlement_status: null, settled_at: null, settlement: null })
        assert.strictEqual(
          yield* refusal(paid, { _tag: "Settled", txHash: "0xstale", network: "base", amount: null }),
          "INVALID_TRANSITION"
        )
        const moved = { ...paid.entry, height: paid.entry.height + 40n, blockHash: "0xmoved" }
        yield* journal(moved)
        yield* change(paid, seen(paid), confirmed(paid))
        assert.include(yield* paymentOf(paid), { status: "confirmed", settlement_status: "pending" })
        yield* settle({ ...paid, entry: moved })
        yield* timePasses
        assert.include(yield* paymentOf(paid), { settlement_status: "settled" })
      }))

    it.effect("what fails and fails comes to an operator by one exception, and to its end by the operator's word", () =>
      Effect.gen(function*() {
        const paid = yield* pay(waitsIn)
        for (let tries = 0; tries < 6; tries++) {
          yield* Effect.exit(report(paid, { _tag: "Failed", reason: "no gas" }))
          yield* timePasses
        }
        const status = (yield* paymentOf(paid))["settlement_status"]
        assert.strictEqual(status, "manual")
        assert.deepStrictEqual(yield* exceptionsOf(paid), ["settlement_failed"])
        yield* report(paid, { _tag: "Settled", txHash: "0xoperator", network: "base", amount: usdMillis(49_000n) })
        assert.include(yield* paymentOf(paid), { settlement_status: "settled", settled_amount: 49_000 })
        assert.deepStrictEqual(yield* exceptionsOf(paid), ["settlement_failed"])
      }))

    it.effect("each payment is settled by itself: a sibling that waits holds up nobody", () =>
      Effect.gen(function*() {
        const waits = yield* pay(waitsIn)
        const settles = yield* pay(waitsIn)
        yield* journal({ ...waits.entry, height: waits.entry.height + 1_000_000n })
        yield* settle(settles)
        yield* runDue
        yield* TestClock.adjust("2 minutes")
        yield* runDue
        assert.include(yield* paymentOf(settles), { settlement_status: "settled" })
        assert.include(yield* paymentOf(waits), { settlement_status: "pending" })
      }))
  })
}
