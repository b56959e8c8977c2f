/**
 * Goal: no person alone lets more go out on a day than the merchant's limit of the day, however many refunds are
 * approved, in one call, one after another or at once. Method: a property of the rule; the real router, commit log and
 * invoices over PostgreSQL, with two people who may approve.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Refunds } from "../../../modules/refunds/plugin.ts"
import { afterSoleApproval, type SoleApprovals } from "../../../modules/refunds/machine.ts"
import { noCause } from "../../../runtime/Commit.ts"
import { type Member, Members, soleOwner } from "../../../runtime/Members.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import { usdc } from "../../fixtures/tokens.ts"
import {
  callerOf,
  choose,
  invoiceService,
  newInvoice,
  newMerchant,
  passDays,
  post,
  receiveTransfer,
  usualPrices,
  walletOf
} from "../invoices/InvoiceService.ts"

const Cents = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000 }))

describe("what one person alone approves on a day", () => {
  it.effect.prop(
    "is never above the limit, and is refused only where it would be",
    [Cents, Schema.Array(Cents)],
    ([limit, values]) =>
      Effect.sync(() => {
        let counted: SoleApprovals = { day: "2026-01-01", version: 0, amount: usdMillis(0n) }
        for (const value of values) {
          const after = afterSoleApproval(counted, usdMillis(BigInt(value)), usdMillis(BigInt(limit)))
          assert.strictEqual(after === null, Number(counted.amount) + value > limit)
          if (after !== null) {
            assert.strictEqual(after.amount - counted.amount, BigInt(value))
            counted = after
          }
          assert.isTrue(counted.amount <= BigInt(limit))
        }
      })
  )

  it("is above it where nobody knows what it is worth", () => {
    const counted: SoleApprovals = { day: "2026-01-01", version: 0, amount: usdMillis(0n) }
    assert.isNull(afterSoleApproval(counted, null, usdMillis(1_000n)))
  })
})

const path = "/api/v1/refunds"
const destination = { network: "base", address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" }
const other: Member = { person: "per_ines", role: "admin" }

/** A merchant with two people who may approve, and a limit of the day. */
const shop = Effect.fnUntraced(function*(limitOfDay: number) {
  usualPrices()
  const id = yield* newMerchant
  const caller = callerOf(id)
  const wallet = walletOf(id)
  const people = { list: [soleOwner, other] as ReadonlyArray<Member> }
  yield* (yield* Members).register({
    find: () => Effect.succeed(soleOwner),
    list: () => Effect.sync(() => people.list),
    actorsOf: () => Effect.succeed([])
  })
  yield* wallet.ok("/api/v1/merchant/settings", { method: "PATCH", body: { auto_approve_limit_day: limitOfDay } })
  /** An invoice that so many payments of these dollars came for. */
  const paid = Effect.fnUntraced(function*(...dollars: ReadonlyArray<bigint>) {
    const amount = dollars.reduce((sum, each) => sum + Number(each) * 1_000, 0)
    const invoice = yield* newInvoice(caller, { amount, expires_in: 3_600_000 })
    yield* choose(invoice.id, usdc)
    yield* Effect.forEach(dollars, (each) => receiveTransfer(invoice, usdc, each * 1_000_000n))
    return invoice.id as string
  })
  const open = (invoiceId: string, body: object = {}) =>
    wallet.ok(
      path,
      post({
        invoice_id: invoiceId,
        amount_mode: "remaining",
        reason: "other",
        fee_bearer: "merchant",
        destination,
        ...body
      })
    )
  const approve = (refundId: string) => wallet.call(`${path}/${refundId}/approve`, post({}))
  const approved = (refundId: string) => Effect.map(approve(refundId), ({ json }) => json.data)
  const approvedByOther = (refundId: string) =>
    Effect.flatMap(
      Refunds,
      (refunds) =>
        refunds.act(refundId, "approve", { kind: "wallet", credential: "wallet of Ines", ...other }, {
          cause: noCause,
          reply: () => undefined
        })
    )
  const part = (invoiceId: string, amount: number, isApproved = false) =>
    Effect.map(open(invoiceId, { amount_mode: "custom", amount, auto_approve: isApproved }), ({ data }) => data)
  const counted = Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* Effect.orDie(sql<{ amount: bigint }>`SELECT amount FROM sole_approvals
      WHERE merchant_id = ${id} ORDER BY day`)
    return rows.map(({ amount }) => Number(amount))
  })
  return { id, wallet, people, paid, open, part, approve, approved, approvedByOther, counted }
})

layer(invoiceService)("the limit of the day", (it) => {
  it.effect("keeps the approval above it as the first of two, and lets the second person complete it", () =>
    Effect.gen(function*() {
      const { approved, approvedByOther, counted, paid, part } = yield* shop(5_000)
      const invoice = yield* paid(20n)
      assert.strictEqual((yield* part(invoice, 3_000, true)).status, "processing")
      const over = yield* part(invoice, 2_010, true)
      assert.deepInclude(over, { status: "pending_approval" })
      assert.lengthOf(over.approvals, 1)
      assert.strictEqual((yield* approved(over.id)).status, "pending_approval", "the same person counts once")
      assert.strictEqual((yield* part(invoice, 2_000, true)).status, "processing", "what is left of the day")
      const done = yield* approvedByOther(over.id)
      assert.strictEqual(done.status, "processing")
      assert.deepStrictEqual(done.terms?.approvals.map(({ person }) => person), [soleOwner.person, other.person])
      assert.deepStrictEqual(yield* counted, [5_000], "what two approve does not count")
      const late = yield* part(invoice, 10, true)
      assert.strictEqual(late.status, "pending_approval", "it is one limit for all people")
    }).pipe(Effect.scoped))

  it.effect("counts all refunds of one call together", () =>
    Effect.gen(function*() {
      const { counted, open, paid } = yield* shop(5_000)
      const { refunds } = yield* open(yield* paid(3n, 3n, 2n), { auto_approve: true })
      const out = refunds.filter(({ status }: any) => status === "processing")
      assert.strictEqual(out.reduce((sum: number, { amount }: any) => sum + amount, 0), 5_000)
      assert.deepStrictEqual(yield* counted, [5_000])
    }).pipe(Effect.scoped))

  it.effect("begins anew with the next day of UTC", () =>
    Effect.gen(function*() {
      const { approved, counted, id, paid, part } = yield* shop(5_000)
      const invoice = yield* paid(20n)
      assert.strictEqual((yield* part(invoice, 5_000, true)).status, "processing")
      const over = yield* part(invoice, 4_000)
      assert.strictEqual((yield* approved(over.id)).status, "pending_approval")
      yield* passDays({ id }, 1)
      assert.strictEqual((yield* approved(over.id)).status, "processing")
      assert.strictEqual((yield* part(invoice, 1_010, true)).status, "pending_approval")
      assert.deepStrictEqual(yield* counted, [5_000, 4_000])
    }).pipe(Effect.scoped))

  it.effect("counts nothing where only one person may approve", () =>
    Effect.gen(function*() {
      const { counted, paid, part, people } = yield* shop(0)
      people.list = [soleOwner]
      assert.strictEqual((yield* part(yield* paid(10n), 10_000, true)).status, "processing")
      assert.deepStrictEqual(yield* counted, [])
    }).pipe(Effect.scoped))

  it.effect("holds for twenty approvals of different invoices at once", () =>
    Effect.gen(function*() {
      const { approve, counted, paid, part } = yield* shop(7_500)
      const ids = yield* Effect.forEach(
        Array.from({ length: 20 }),
        () => Effect.flatMap(paid(1n), (invoice) => Effect.map(part(invoice, 1_000), ({ id }) => id as string))
      )
      const out = new Set<string>()
      const held = new Set<string>()
      let round = 0
      // Who lost too many races is told to try again.
      for (let rest = ids; rest.length > 0; rest = ids.filter((id) => !out.has(id) && !held.has(id))) {
        assert.isBelow(round++, 20)
        const answers = yield* Effect.forEach(rest, approve, { concurrency: "unbounded" })
        answers.forEach(({ json, status, text }, place) => {
          assert.oneOf(status, [200, 503], text)
          if (status === 200) (json.data.status === "processing" ? out : held).add(rest[place]!)
        })
        const [sum = 0] = yield* counted
        assert.isAtMost(sum, 7_500)
      }
      assert.deepStrictEqual([out.size, held.size, yield* counted], [7, 13, [7_000]])
    }).pipe(Effect.scoped))
})
