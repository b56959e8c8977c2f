/**
 * Goal: what was paid in time is paid, also where nobody could read its chain at the time; and what nobody paid expires
 * as soon as that is certain. Method: the till over the real journal, follower and handler; the test is the node, and
 * tells blocks when it wants to.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Queue, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { devnetXpub, make as makeSimulated } from "../../../modules/chains/simulated.ts"
import { Invoices } from "../../../modules/invoices/plugin.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { type ChainEvent, Chains, type ObservedTransfer } from "../../../runtime/Chains.ts"
import { layer as chainsLayer } from "../../../runtime/chains/TransferJournal.ts"
import { usdc } from "../../fixtures/tokens.ts"
import { until } from "../../support/Service.ts"
import {
  callerOf,
  choose,
  eventsOf,
  invoiceServiceOn,
  newInvoice,
  newMerchant,
  openExceptions,
  runDue,
  usualPrices
} from "./InvoiceService.ts"

const events = Effect.runSync(Queue.unbounded<ChainEvent>())
const node = Layer.effectDiscard(Effect.gen(function*() {
  const chains = yield* Chains
  const { drivers: [driver] } = yield* makeSimulated({ networks: ["base"], blockMillis: 3_600_000, xpub: devnetXpub })
  yield* chains.register({
    ...driver!,
    // As every driver does: an address that was given out since is known before a block is searched.
    follow: (_, watch) => Stream.tap(Stream.fromQueue(events), () => watch.refresh)
  })
}))

const seconds = () => Math.floor(Date.now() / 1000)
let height = 0n

/** The node tells a block of this time. */
const block = (time: number, ...transfers: ReadonlyArray<ObservedTransfer>) =>
  Effect.suspend(() => {
    height += 1n
    const point = { height, hash: `0x${height}` }
    return Queue.offer(events, { _tag: "Forward", point, time, transfers, isCatchingUp: false })
  })

const payment = (matchKey: string): ObservedTransfer => ({
  txHash: `0x${(height + 1n).toString(16).padStart(64, "0")}`,
  index: 1,
  kind: "direct",
  matchKey,
  tokenAddress: usdc.address,
  amount: baseUnits(10_000_000n),
  from: "0xpayor"
})

/** An invoice of ten dollars with an address, which expired `ago` seconds ago. */
const expired = Effect.fnUntraced(function*(ago: number) {
  usualPrices()
  const sql = yield* SqlClient.SqlClient
  const invoice = yield* newInvoice(callerOf(yield* newMerchant), { amount: 10_000 })
  yield* choose(invoice.id, usdc)
  const { matchKey } = (yield* (yield* Chains).target(invoice.id, "evm"))!
  const expiresAt = seconds() - ago
  yield* sql`UPDATE invoices SET created_at = ${expiresAt - 600}, expires_at = ${expiresAt}, due_at = ${expiresAt}
    WHERE id = ${invoice.id}::uuid`
  return { id: invoice.id as string, matchKey, expiresAt }
})

const statusOf = (id: string) =>
  Effect.flatMap(Invoices, (all) => Effect.map(all.find(id), (found) => found!.invoice.status))

/** The clock looks at the invoice now. */
const look = Effect.fnUntraced(function*(id: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE invoices SET due_at = expires_at WHERE id = ${id}::uuid AND due_at IS NOT NULL`
  yield* runDue
  return yield* statusOf(id)
})

const read = (time: number) =>
  until(
    `a block of ${time} is read`,
    Effect.map(Chains, (chains) => chains.status("devnet")[0]?.headTime),
    (headTime) => headTime === time
  )

const town = node.pipe(Layer.provideMerge(invoiceServiceOn(chainsLayer))) as typeof invoiceServiceOn extends
  (...all: any) => infer L ? L : never

layer(town, { excludeTestServices: true })("an outage around expires_at", (it) => {
  it.effect("loses no payment that was mined in time: the invoice waits, and is paid when its block is read", () =>
    Effect.gen(function*() {
      yield* block(seconds() - 100)
      const { expiresAt, id, matchKey } = yield* expired(20)
      assert.strictEqual(yield* look(id), "unpaid")
      yield* block(expiresAt - 5, payment(matchKey))
      yield* block(seconds())
      yield* until("it is paid", statusOf(id), (status) => status === "paid")
      assert.strictEqual(yield* look(id), "paid")
      const types = (yield* eventsOf(id)).map(({ type }) => type)
      assert.notInclude(types, "invoice.expired")
      assert.deepStrictEqual<ReadonlyArray<string>>(yield* openExceptions(id), [])
    }))

  it.effect("holds nothing longer than it must: once the chain was read past its end, an unpaid invoice expires", () =>
    Effect.gen(function*() {
      const { expiresAt, id } = yield* expired(20)
      yield* Queue.offer(events, { _tag: "Rollback", to: { height: 0n, hash: "0x0" } })
      yield* block(expiresAt - 1)
      yield* read(expiresAt - 1)
      assert.strictEqual(yield* look(id), "unpaid")
      yield* block(expiresAt)
      yield* read(expiresAt)
      assert.strictEqual(yield* look(id), "unpaid", "the next block may be of the same second")
      yield* block(expiresAt + 1)
      yield* read(expiresAt + 1)
      assert.strictEqual(yield* look(id), "expired")
      assert.deepStrictEqual<ReadonlyArray<string>>(yield* openExceptions(id), [])
    }))

  it.effect("and a network whose nodes disagree holds it, until they agree", () =>
    Effect.gen(function*() {
      const now = seconds() + 5
      const { id } = yield* expired(10)
      yield* Queue.offer(events, { _tag: "Condition", condition: "disagreement" })
      yield* block(now)
      yield* read(now)
      assert.strictEqual(yield* look(id), "unpaid")
      yield* Queue.offer(events, { _tag: "Condition", condition: "ok" })
      yield* until("it expired", Effect.orDie(look(id)), (status) => status === "expired")
    }))

  it.effect("after 24 h it expires with an exception that says what was not seen", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const { id } = yield* expired(86_400)
      yield* Queue.offer(events, { _tag: "Condition", condition: "disagreement" })
      const condition = Effect.map(Chains, (chains) => chains.status("devnet")[0]?.condition)
      yield* until("the nodes disagree", condition, (is) => is === "disagreement")
      assert.strictEqual(yield* look(id), "expired")
      const rows = yield* sql<any>`SELECT type, evidence FROM exceptions WHERE invoice_id = ${id}::uuid`
      assert.deepStrictEqual(rows, [
        { type: "expiry_unseen", evidence: { networks: "base", seen_until: 0, unhandled_transfers: "no" } }
      ])
    }))

  it.effect("an invoice without an address expires on time, whatever the networks do", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const invoice = yield* newInvoice(callerOf(yield* newMerchant), { amount: 10_000 })
      yield* sql`UPDATE invoices SET expires_at = ${seconds()}, due_at = ${seconds()} WHERE id = ${invoice.id}::uuid`
      assert.strictEqual(yield* look(invoice.id), "expired")
      assert.deepStrictEqual<ReadonlyArray<string>>(yield* openExceptions(invoice.id), [])
    }))
})
