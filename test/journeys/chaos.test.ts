/**
 * Goal: no node, no restart and no backup costs money: what stands in the service is what stands on the chain.
 * Method: the short form of `npm run bench -- chaos`: the real process on mainnet rules between two endpoints that
 * fail, real nodes behind them, and a judge who reads the chain itself; then the recorded history is spoiled in every
 * way, and the judge has to notice.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { randomInt } from "node:crypto"
import { inactiveToken, strangeToken, usdc } from "../support/chaos/TestChain.ts"
import { checkHistory, type FinalFact, type History, type InvoiceFact } from "../support/chaos/Checker.ts"
import { chaos, chaosDeployment, everyHabit } from "../support/chaos/Run.ts"
import { connect, migratedDatabase } from "../support/Database.ts"
import { freePort } from "../support/Ports.ts"
import { startService, temporaryDirectory } from "../support/Service.ts"

/** Four starts of the service and two nodes beside it, on a machine that may be busy with something else. */
const limitMillis = 300_000

const run = Effect.gen(function*() {
  const database = yield* migratedDatabase
  const directory = yield* temporaryDirectory
  const ports = { http: yield* freePort, rpc: yield* freePort }
  return yield* chaos({
    start: (endpoints) => startService({ directory, ports, ...chaosDeployment(database.url, endpoints) }),
    database: database.database,
    query: (name, text) =>
      Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe<Record<string, any>>(text)).pipe(
        Effect.provide(connect({ ...database, database: name }), { local: true }),
        Effect.orDie
      ),
    seed: Number(process.env["CHAOS_SEED"] ?? randomInt(2 ** 31)),
    progress: (line) => console.log(line),
    acts: ["forkedWithBlip", "hiddenLogs", "doubledLogs", "lagging", "reorg", "restore", "falseReport", "flood"],
    // A difference of balances is looked at every 30 s only: what a contract passes on is for the long form.
    habits: everyHabit.filter((habit) => habit !== "internal"),
    chaosMillis: 0,
    pace: 0.12,
    blockMillis: 300,
    calmBlockMillis: 150,
    customerMillis: 600,
    lifeSeconds: 5,
    floodLogs: 200,
    patienceMillis: 60_000
  })
})

type Spoil = (history: History) => History

/** The first of `all` that is so, changed. */
const changed = <A extends object>(all: ReadonlyArray<A>, which: (one: A) => boolean, by: (one: A) => Partial<A>) => {
  const at = all.findIndex(which)
  assert.isAtLeast(at, 0)
  return all.with(at, { ...all[at]!, ...by(all[at]!) })
}

const isCounted = (payment: Readonly<Record<string, any>>) => ["confirmed", "underpaid"].includes(payment["status"])

/** Whether a payment of the invoice begins to count. */
const isCrediting = ({ object, previous, type }: History["events"][number], invoiceId: string) =>
  type === "invoice_payment.updated" && object["invoice_id"] === invoiceId && previous["status"] === "pending" &&
  isCounted(object)

/** An invoice of the end whose payment counts and has a transaction, and the invoice's own facts. */
const paidOne = (history: History): { readonly fact: InvoiceFact; readonly final: FinalFact } => {
  const final = history.finals.find(({ invoice, payments }) =>
    invoice["status"] === "paid" && payments.some((one) => isCounted(one) && one["payer_tx_hash"] !== null) &&
    history.events.some((event) => isCrediting(event, invoice["id"]))
  )!
  return { final, fact: history.invoices.find(({ id }) => id === final.invoice["id"])! }
}

/** The event by which the payment of {@link paidOne} began to count. */
const crediting = (by: (object: History["events"][number]["object"]) => object): Spoil => (history) => {
  const { fact } = paidOne(history)
  return {
    ...history,
    events: changed(history.events, (event) => isCrediting(event, fact.id), ({ object }) => ({
      object: { ...object, ...by(object) }
    }))
  }
}

const finalOf = (by: (final: FinalFact) => Partial<FinalFact>): Spoil => (history) => {
  const { fact } = paidOne(history)
  return { ...history, finals: changed(history.finals, ({ invoice }) => invoice["id"] === fact.id, by) }
}

const factOf = (by: (fact: InvoiceFact) => Partial<InvoiceFact>): Spoil => (history) => {
  const { fact } = paidOne(history)
  return { ...history, invoices: changed(history.invoices, ({ id }) => id === fact.id, by) }
}

/** The invoice is told to have expired, so many milliseconds after its end. */
const expired = (afterMillis: number): Spoil => (history) => {
  const { fact, final } = paidOne(history)
  const event = {
    at: fact.expiresAt * 1000 + afterMillis,
    type: "invoice.expired",
    object: final.invoice,
    previous: {}
  }
  // Its life was so long that it was paid within.
  const invoices = afterMillis < 0
    ? history.invoices
    : changed(history.invoices, ({ id }) => id === fact.id, () => ({ expiresAt: Math.floor(history.endedAt / 1000) }))
  const at = afterMillis < 0 ? event.at : history.endedAt + 1_000
  return { ...history, invoices, events: [...history.events, { ...event, at }] }
}

const strangeTx = `0x${"5e".repeat(32)}`

/** One more block, with a transfer of a token to the invoice's address. */
const received = (token: string): Spoil => (history) => {
  const { fact } = paidOne(history)
  const transfer = { tx: strangeTx, index: 1, to: fact.address!, token, amount: 5_000_000n, internal: false }
  const last = history.chain.findLast((one) => one._tag === "Block")!
  return last._tag === "Block"
    ? { ...history, chain: [...history.chain, { ...last, height: last.height + 1, transfers: [transfer] }] }
    : history
}

/** A history spoiled by hand, and the promise whose break has to be noticed. */
const spoiled: Readonly<Record<string, readonly [string, Spoil]>> = {
  "a credit that no block holds": ["credit", crediting(() => ({ payer_tx_hash: `0x${"ab".repeat(32)}` }))],
  "a credit of more than came": ["credit", crediting(({ amount }: any) => ({ amount: amount + 1 }))],
  "a credit before its depth": ["credit", factOf(() => ({ requiredDepth: 1_000_000 }))],
  "a credit from a balance that nobody has": ["credit", (history) => {
    const chain = history.chain.map((one) => one._tag === "Block" ? { ...one, transfers: [] } : one)
    return crediting(() => ({ payer_tx_hash: null }))({ ...history, chain })
  }],
  "a credit of a payment that had left the chain": ["credit", (history) => ({
    ...history,
    chain: history.chain.flatMap((one): History["chain"] =>
      one._tag === "Block" ? [one, { _tag: "Undone", at: one.at + 1, above: one.height - 1 }] : [one]
    ),
    events: history.events.map((event) => ({ ...event, at: event.at + 3_600_000 }))
  })],
  "an invoice that expired though it was paid": ["expiry", expired(1_000)],
  "an invoice that expired though a copy restored since knew its address": [
    "expiry",
    (history) => expired(1_000)({ ...history, restores: [{ backupAt: history.endedAt, at: history.endedAt }] })
  ],
  "an invoice that expired before its end": ["expiry", expired(-60_000)],
  "a transfer that counts twice": [
    "twice",
    finalOf(({ payments }) => ({
      payments: [...payments, ...payments.filter(isCounted)]
    }))
  ],
  "an invoice that counts more than ever came": ["twice", (history) => {
    const { fact } = paidOne(history)
    return {
      ...history,
      events: changed(
        history.events,
        ({ object, type }) => type === "invoice.paid" && object["id"] === fact.id,
        ({ object }) => ({ object: { ...object, amount_paid: object["amount_paid"] * 2 } })
      )
    }
  }],
  "an address of two invoices": ["address", (history) => {
    const { fact } = paidOne(history)
    const other = history.invoices.find(({ id }) => id !== fact.id)!
    return {
      ...history,
      addresses: [...history.addresses, { at: history.endedAt, invoiceId: other.id, address: fact.address! }]
    }
  }],
  "a payment to a lost invoice without an exception": ["lost", factOf(() => ({ lost: true }))],
  "a payment to a lost address without an exception": ["lost", factOf(() => ({ address: `0x${"cd".repeat(20)}` }))],
  "a paid invoice that stands open": [
    "state",
    finalOf(({ invoice }) => ({
      invoice: { ...invoice, status: "unpaid", amount_paid: 0 }
    }))
  ],
  "an invoice with too little": [
    "state",
    finalOf(({ invoice }) => ({
      invoice: { ...invoice, amount_paid: invoice["amount_paid"] - 1 }
    }))
  ],
  "an open invoice that stands paid": ["state", (history) => ({
    ...history,
    finals: changed(history.finals, ({ invoice }) => invoice["amount_paid"] === 0, ({ invoice }) => ({
      invoice: { ...invoice, status: "paid", amount_paid: invoice["amount"] }
    }))
  })],
  "an invoice that is gone": ["state", (history) => {
    const { fact } = paidOne(history)
    return { ...history, finals: history.finals.filter(({ invoice }) => invoice["id"] !== fact.id) }
  }],
  "a payment that stays pending": [
    "state",
    finalOf(({ payments }) => ({
      payments: [...payments, { ...payments[0]!, status: "pending", payer_tx_hash: `0x${"ef".repeat(32)}` }]
    }))
  ],
  "a payment that came and is not told": ["state", received(usdc.toLowerCase())],
  "a wrong token that nobody is shown": ["state", received(inactiveToken.toLowerCase())],
  "a payment that waited for a node": ["delay", (history) => ({
    ...history,
    standstills: [{ from: 0, until: Infinity }],
    events: history.events.filter(({ type }) => !type.startsWith("invoice_payment."))
  })],
  "a record for each log of a strange token": ["flood", (history) => {
    const more = received(strangeToken)(history)
    return finalOf(({ payments }) => ({
      payments: [...payments, ...[1, 2, 3, 4, 5, 6].map(() => ({ status: "rejected", payer_tx_hash: strangeTx }))]
    }))(more)
  }]
}

describe("a service between two nodes that fail", () => {
  it.live(
    "stands as the chain stands, whatever its nodes, its process and its backup do, and the judge can fail",
    () =>
      Effect.gen(function*() {
        const { history, ...report } = yield* run
        for (const [what, [promise, spoil]] of Object.entries(spoiled)) {
          const { faults } = checkHistory(spoil(history))
          const before = new Set(report.faults)
          assert.isTrue(
            faults.some((fault) => fault.startsWith(promise) && !before.has(fault)),
            `${what} was not noticed`
          )
        }
        const byPromise = Map.groupBy(report.faults, (fault) => fault.split(":")[0])
        const some = [...byPromise.values()].flatMap((all) => all.slice(0, 4))
        assert.deepStrictEqual(some, [], `${report.faults.length} broken promises, seed ${report.seed}`)
        assert.deepStrictEqual([...report.refused], [])
        assert.isAbove(report.payments, 10)
        assert.isAbove(report.reorganisations, 0)
      }).pipe(Effect.scoped),
    limitMillis
  )
})
