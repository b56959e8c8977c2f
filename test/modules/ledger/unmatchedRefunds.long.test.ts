/**
 * Goal: whatever happens to money that pays no invoice and to its refunds, in whatever order, the books say where it
 * is, and it goes back at most once. Method: random histories, decided by the machines of the exception and of the
 * refund; a model of the books adds up the entries. A history that has no books at first gets them later.
 */
import { assert, describe, it } from "@effect/vitest"
import {
  type ExceptionRecord,
  hasLeft,
  stepUnmatched,
  type UnmatchedEvent,
  type UnmatchedPayment
} from "../../../modules/invoices/machine.ts"
import { bookUnmatched, transactionOfException } from "../../../modules/ledger/rules/InvoiceBookings.ts"
import { deltasOf, type Group, type Postings, type Transaction } from "../../../modules/ledger/rules/Moves.ts"
import { bookUnmatchedRefund } from "../../../modules/ledger/rules/RefundBookings.ts"
import {
  decideUnmatchedRefund,
  failLeft,
  isLost,
  isUnmatchedRefund,
  newUnmatchedRefund,
  type RefundCommand,
  type RefundState
} from "../../../modules/refunds/machine.ts"
import type { BalanceDelta } from "../../../runtime/Commit.ts"
import { sumBalances } from "../../../runtime/commit/BalanceDeltas.ts"
import { isPublicError } from "../../../schemas/Errors.ts"
import { type UsdMillis, usdMillis } from "../../../schemas/Money.ts"
import { type Network, networks } from "../../../schemas/Network.ts"
import { makeRandom, type RandomNumbers, startSeconds } from "../../fixtures/histories.ts"

const owner = { merchantId: 1, environment: "devnet" } as const
const fees = Object.fromEntries(networks.map((network) => [network, usdMillis(20n)])) as Record<Network, UsdMillis>
const nameTransaction = (type: string, id: string, version: number) => `bt ${type} ${id} ${version}`
const asset = "base:0xusdc"

interface World {
  readonly now: number
  /** Null: nothing came yet. */
  readonly record: ExceptionRecord | null
  readonly isOnChain: boolean
  readonly refunds: ReadonlyArray<RefundState>
  /** Null: no ledger is kept yet. */
  readonly books: {
    readonly transactions: ReadonlyArray<Transaction>
    readonly groups: ReadonlyArray<Group>
    readonly balances: ReadonlyArray<BalanceDelta>
  } | null
  /** Transfers out that were proven. */
  readonly payouts: number
}

const payment = (isOpen: boolean, usd: bigint): UnmatchedPayment => ({
  id: "exc_1",
  type: "unmatched_payment",
  ...owner,
  isOpen,
  amount: usdMillis(usd),
  evidence: {
    transfer_id: "transfer",
    network: "base",
    tx_hash: "0xin",
    wallet: "till",
    token: "0xusdc",
    token_id: 1,
    token_decimals: 6,
    token_symbol: "USDC",
    token_amount: "10.000003",
    token_amount_unit: "token"
  }
})

const units = 10_000_003n

/** The commit of a change: what the services do with an event, and what the refunds in it become. */
const commit = (world: World, event: UnmatchedEvent, changed: ReadonlyArray<RefundState> = []): World => {
  const exception = stepUnmatched(world.record?.exception ?? null, event, world.now)
  if (exception === null) {
    assert.isEmpty(changed, "no refund changes without its exception")
    return world
  }
  const after: ExceptionRecord = { ...owner, belongsToMerchant: true, invoice: null, payment: null, exception }
  const isLeaving = world.record !== null && exception.resolution !== null && hasLeft(exception) &&
    !hasLeft(world.record.exception)
  const moved = isLeaving ? failLeft(world.refunds, world.now) : changed
  const byId = new Map([...world.refunds, ...moved].map((refund) => [refund.id, refund]))
  return book({ ...world, record: after, refunds: [...byId.values()] }, world.record, moved)
}

const book = (world: World, before: ExceptionRecord | null, changed: ReadonlyArray<RefundState>): World => {
  const { books, now, record } = world
  if (books === null || record === null) return world
  const storedOf = (id: string) =>
    books.transactions.filter(({ source }) => source.id === id).map((transaction) => ({
      ...transaction,
      entries: books.groups.filter(({ transactionId }) => transactionId === transaction.id)
        .flatMap(({ entries, kind }) => entries.map((entry) => ({ ...entry, kind })))
    }))
  const known = before === null ? null : transactionOfException(before, storedOf(before.exception.id))
  const { booking, earlier } = bookUnmatched({ before, after: record, now }, known, nameTransaction)
  const postings: ReadonlyArray<Postings> = [
    earlier,
    booking,
    ...changed.map((refund) =>
      bookUnmatchedRefund(refund, {
        stored: storedOf(refund.id),
        now,
        nameTransaction,
        exception: record.exception,
        sender: { wallet: "till" }
      })
    )
  ]
  return {
    ...world,
    books: {
      transactions: [...books.transactions, ...postings.flatMap(({ transactions }) => transactions)],
      groups: [...books.groups, ...postings.flatMap(({ groups }) => groups)],
      balances: sumBalances([...books.balances, ...postings.flatMap((each) => deltasOf(owner, each))])
    }
  }
}

const isStanding = ({ status }: RefundState) => status !== "canceled" && status !== "expired"

const destination = { network: "base", address: "0xpayor", memo: null } as const

const commandOf = (roll: RandomNumbers, { refunds }: World): RefundCommand => {
  const person = { person: "owner", actor: "wallet", at: startSeconds }
  const commands: ReadonlyArray<RefundCommand> = [
    { _tag: "SetDestination", destination: roll(4) > 0 ? destination : { ...destination, address: "0xother" } },
    { _tag: "Approve", approval: person },
    { _tag: "Approve", approval: person },
    { _tag: "Submit", txHash: `0xout ${roll(2)}` },
    { _tag: "Succeed", txHash: `0xout ${roll(2)}`, isProven: roll(2) === 0 },
    { _tag: "Fail", code: "no_gas" },
    { _tag: "Retry" },
    { _tag: "Cancel" },
    { _tag: "Expire" },
    { _tag: "RenewClaim", hash: "hash" },
    { _tag: "CountWrongToken" }
  ]
  return commands[roll(refunds.length === 0 ? 1 : commands.length)]!
}

const decideRefund = (roll: RandomNumbers, world: World): World => {
  const { now, record, refunds } = world
  const refund = refunds.find(isStanding) ?? refunds[roll(Math.max(1, refunds.length))]
  if (refund === undefined || record === null || !isUnmatchedRefund(refund)) return world
  const command = commandOf(roll, world)
  const decision = decideUnmatchedRefund(refund, command, record, now)
  if (isPublicError(decision) || decision.next === refund) return world
  const { next, reopenedException } = decision
  assert.strictEqual(next.version, refund.version + 1)
  if (next.status === "processing" && refund.status !== "processing") {
    assert.isFalse(hasLeft(record.exception), "nothing is sent for money that is gone")
  }
  const isPaid = next.status === "succeeded" && refund.status !== "succeeded"
  const event: UnmatchedEvent = { _tag: reopenedException === undefined ? "Touch" : "GiveUp" }
  return commit({ ...world, payouts: world.payouts + (isPaid ? 1 : 0) }, event, [next])
}

const resolve = (roll: RandomNumbers, world: World): World => {
  const { now, record, refunds } = world
  if (record === null || record.exception.status !== "open") return world
  const action = (["credit", "ignore", "refund"] as const)[Math.min(2, roll(16))]!
  const resolution = { action, note: "", actor: "key", invoiceId: null }
  if (action !== "refund") return commit(world, { _tag: "Resolve", resolution })
  const refund = newUnmatchedRefund(`refund ${refunds.length}`, record, {
    reason: "other",
    feeBearer: roll(2) === 0 ? "payor" : "merchant",
    isClaimOnly: false,
    exceptionId: record.exception.id,
    rules: { people: 1, autoApproveLimit: usdMillis(0n) }
  }, { fees, now, refunds })
  assert(!isPublicError(refund), "an open exception has no refund that stands")
  return commit(world, { _tag: "Resolve", resolution: { ...resolution, refundId: refund.id } }, [refund])
}

const next = (roll: RandomNumbers, world: World): World => {
  const what = roll(24)
  // Worth nothing that is known, too; and worth something else when it is seen again.
  const usd = roll(3) === 0 ? 0n : 10_000n + BigInt(roll(3))
  if (what < 2) return commit({ ...world, isOnChain: true }, { _tag: "Observe", payment: payment(true, usd) })
  if (what === 2) return commit({ ...world, isOnChain: false }, { _tag: "Observe", payment: payment(false, usd) })
  if (what === 3) return { ...world, now: world.now + 31 * 86_400 }
  if (what < 7) return resolve(roll, world)
  return decideRefund(roll, world)
}

const heldBy = (world: World, account: string, type: "units" | "usdMillis" = "units"): bigint =>
  world.books?.balances.find((each) => each.account === account && each.asset === asset)?.[type] ?? 0n

/** What the accounts hold by where the money is. */
const check = (world: World, story: string): void => {
  const { books, payouts, record, refunds } = world
  const standing = refunds.filter(isStanding)
  assert.isAtMost(standing.length, 1, story)
  assert.isAtMost(payouts, 1, `${story}: paid twice`)
  const isOpen = record?.exception.status === "open"
  const action = record?.exception.resolution?.action
  assert.strictEqual(standing.length === 1, action === "refund", `${story}: the decision holds while its refund stands`)
  if (isOpen) assert.isTrue(world.isOnChain, story)
  if (!world.isOnChain) {
    for (const { failureCode, status, txHash } of standing) {
      assert.isTrue(status === "succeeded" || txHash !== null || failureCode === "payment_reverted", `${story}: gone`)
    }
  }
  if (books === null) return
  for (const type of ["units", "usdMillis"] as const) {
    assert.strictEqual(books.balances.reduce((sum, each) => sum + each[type], 0n), 0n, story)
  }
  // A decision that is for good is kept, whatever becomes of the transfer.
  const isKept = action === "credit" || action === "ignore"
  const came = record !== null && (world.isOnChain || isKept) ? units : 0n
  // What failed for good is never paid, so it holds nothing; it only keeps the decision.
  const taken = standing.reduce((sum, each) => (isLost(each) ? sum : sum + each.terms!.units), 0n)
  const paid = standing.filter(({ status }) => status === "succeeded")
  const sent = paid.reduce((sum, { tokenAmount }) => sum + tokenAmount!, 0n)
  const kept = paid.reduce((sum, { terms }) => sum + terms!.feeUnits, 0n)
  assert.strictEqual(heldBy(world, "chain:till"), came - sent, `${story}: chain`)
  assert.strictEqual(heldBy(world, "refund_payable"), paid.length === 0 ? -taken : 0n, `${story}: refund_payable`)
  assert.strictEqual(heldBy(world, "merchant_available"), action === "credit" ? -came : -kept, `${story}: available`)
  assert.strictEqual(heldBy(world, "suspense:ignored"), action === "ignore" ? -came : 0n, `${story}: ignored`)
  if (world.isOnChain && standing.some((each) => !isLost(each))) {
    assert.strictEqual(heldBy(world, "suspense", "usdMillis"), 0n, `${story}: the refund is of all that it is worth`)
  }
  assert.strictEqual(heldBy(world, "suspense"), isKept ? 0n : taken - came, `${story}: suspense`)
}

const nothing: World = {
  now: startSeconds,
  record: null,
  isOnChain: false,
  refunds: [],
  books: { transactions: [], groups: [], balances: [] },
  payouts: 0
}

describe("refunds of money that pays no invoice", () => {
  it("leave the books right after each of many steps in any order, and are paid at most once", () => {
    let [paid, given, gone] = [0, 0, 0]
    for (let seed = 1; seed <= 1_500; seed++) {
      const roll = makeRandom(seed)
      let world = nothing
      for (let step = 0; step < 40; step++) {
        world = next(roll, world)
        check(world, `seed ${seed}, step ${step}`)
      }
      paid += world.payouts
      given += world.refunds.filter(({ status }) => status === "canceled" || status === "expired").length
      gone += world.refunds.filter(({ failureCode }) => failureCode === "payment_reverted").length
    }
    assert.isAbove(paid, 80, "the histories meet what they are about")
    assert.isAbove(given, 500)
    assert.isAbove(gone, 100)
  })

  it("are booked with the first step after the books began, as if those had always been kept", () => {
    for (let seed = 1; seed <= 500; seed++) {
      const roll = makeRandom(seed)
      let world: World = { ...nothing, books: null }
      for (let step = 0; step < 15; step++) world = next(roll, world)
      const before = world
      world = { ...world, books: { transactions: [], groups: [], balances: [] } }
      for (let step = 0; step < 25; step++) {
        world = next(roll, world)
        if (world.record !== before.record) {
          const isRefundKnown = !world.refunds.some((refund) =>
            isStanding(refund) && !world.books!.transactions.some(({ source }) => source.id === refund.id)
          )
          if (isRefundKnown) check(world, `seed ${seed}, step ${step}`)
        }
      }
    }
  })
})
