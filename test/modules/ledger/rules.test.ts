/**
 * Goal: whatever happens to invoices, what is booked adds up to where their money is. Method: random histories, decided
 * by the invoices' own machine; a model of the books adds up the entries.
 */
import { assert, describe, it } from "@effect/vitest"
import { bookChange, openingFact } from "../../../modules/ledger/rules/InvoiceBookings.ts"
import { accounts, assetOf, balanceDeltas, chainAccount } from "../../../modules/ledger/rules/Accounts.ts"
import { deltasOf, type Group, type Postings, type Transaction } from "../../../modules/ledger/rules/Moves.ts"
import { beforeRefunds, bookRefund } from "../../../modules/ledger/rules/RefundBookings.ts"
import { refundEntriesIn, takenOfPayments } from "../../../modules/ledger/rules/RefundsTaken.ts"
import { allocateRefund } from "../../../modules/refunds/machine.ts"
import type { PayoutSender, RefundState } from "../../../modules/refunds/plugin.ts"
import { paymentPosition, unmatchedPosition, waivedAmount } from "../../../modules/ledger/rules/Positions.ts"
import { type Aggregate, type Command, decide, type IncomingTransfer } from "../../../modules/invoices/machine.ts"
import type { BalanceDelta } from "../../../runtime/Commit.ts"
import { sumBalances } from "../../../runtime/commit/BalanceDeltas.ts"
import { TokenId } from "../../../schemas/Ids.ts"
import { baseUnits, usdMillis } from "../../../schemas/Money.ts"
import { begin, makeRandom, newInvoice, type RandomNumbers, startSeconds } from "../../fixtures/histories.ts"

interface Books {
  readonly transactions: ReadonlyArray<Transaction>
  readonly groups: ReadonlyArray<Group>
  readonly balances: ReadonlyArray<BalanceDelta>
}

const noBooks: Books = { transactions: [], groups: [], balances: [] }

const owner = { merchantId: 1, environment: "devnet" } as const

const add = (books: Books, booking: Postings): Books => ({
  transactions: [...books.transactions, ...booking.transactions],
  groups: [...books.groups, ...booking.groups],
  balances: sumBalances([...books.balances, ...deltasOf(owner, booking)])
})

const nameTransaction = (type: string, id: string, version: number) => `bt ${type} ${id} ${version}`

const transferOf = (roll: RandomNumbers, id: string, now: number): IncomingTransfer => {
  const amount = usdMillis(BigInt(1 + roll(60_000)))
  const exceptions = ["wrong_token", "screened", "late_payment"] as const
  const exception = roll(4) === 0 ? exceptions[roll(3)]! : null
  const isPriced = roll(4) > 0
  return {
    id,
    network: roll(2) === 0 ? "base" : "solana",
    tokenId: 1,
    tokenDecimals: 6,
    txHash: `0x${id}`,
    sender: null,
    units: amount * 1_000n,
    amount: isPriced && exception === null ? amount : usdMillis(0n),
    seenAt: now,
    wallet: `wallet ${roll(2)}`,
    metadata: {
      quote: isPriced
        ? { quote_id: null, exchange_rate: "1", rate_source: "fixed", priced_at: now, pricing: "spot" }
        : null,
      confirmations: 1,
      required_confirmations: 1,
      block_number: 1,
      exception,
      token: { id: TokenId.make(1), symbol: "USDC", address: null, decimals: 6 }
    }
  }
}

const quote = { quote_id: null, exchange_rate: "2", rate_source: "fixed", priced_at: 1, pricing: "spot" } as const

const commandOf = (roll: RandomNumbers, state: Aggregate, now: number): Command => {
  const { exceptions, payments } = state
  const payment = payments[roll(Math.max(1, payments.length))]
  const what = roll(12)
  if (payment === undefined || what < 3) {
    return { _tag: "Observe", transfer: transferOf(roll, `payment ${payments.length}`, now) }
  }
  const paymentId = payment.id
  if (what < 5) return { _tag: "Confirm", paymentId, confirmations: 1 }
  if (what === 5) return { _tag: "Revert", paymentId }
  if (what === 6) return { _tag: "Observe", transfer: roll(2) === 0 ? payment : transferOf(roll, paymentId, now) }
  if (what === 7) return { _tag: "Value", paymentId, amount: usdMillis(payment.units / 500n), quote }
  if (what === 8) return { _tag: "RequireManualRetry", paymentId }
  if (what === 9) return { _tag: "Cancel" }
  const exception = exceptions[roll(Math.max(1, exceptions.length))]
  return exception === undefined ? { _tag: "End" } : {
    _tag: "Resolve",
    exceptionId: exception.id!,
    resolution: {
      action: (["accept", "credit", "ignore"] as const)[roll(3)]!,
      note: "looked at",
      actor: "key",
      invoiceId: null
    }
  }
}

/** As the actor does: exceptions get their ids with their commit. */
const withIds = (state: Aggregate): Aggregate => ({
  ...state,
  exceptions: state.exceptions.map((each, place) => ({ ...each, id: each.id ?? `exception ${place}` }))
})

/** A change with what the hook adds. */
const change = (before: Aggregate, commands: ReadonlyArray<Command>, now: number, books: Books) => {
  const decision = decide(before, commands, now)
  if (decision === "not_cancelable") return null
  const booked = bookChange({ before, decision, facts: [], now }, nameTransaction)
  const next = decide(before, [...commands, ...booked.commands], now)
  if (next === "not_cancelable") return null
  return { decision: next, state: withIds(next.next), books: add(books, booked.booking), booking: booked.booking }
}

/** The balances that the payments' own positions come to. */
const expectedBalances = (state: Aggregate) =>
  sumBalances(state.payments.flatMap((payment) => {
    const position = paymentPosition(state, payment)
    if (position === null) return []
    return balanceDeltas(owner, [{ ...position, debit: chainAccount(position.wallet), credit: position.account }])
  }))

const sorted = (balances: ReadonlyArray<BalanceDelta>) =>
  balances.map(({ account, asset, units, usdMillis }) => `${account} ${asset} ${units} ${usdMillis}`).toSorted()

const history = (seed: number) => {
  const roll = makeRandom(seed)
  let state = begin(newInvoice(roll, startSeconds, { type: "standard", amount: usdMillis(30_000n) })).aggregate
  let books = noBooks
  for (let n = 0; n < 25; n++) {
    const commands = Array.from({ length: 1 + roll(3) }, () => commandOf(roll, state, startSeconds + n))
    const changed = change(state, commands, startSeconds + n, books)
    if (changed === null) continue
    state = changed.state
    books = changed.books
    assert.deepStrictEqual(sorted(books.balances), sorted(expectedBalances(state)), `seed ${seed}, step ${n}`)
  }
  return { books, state }
}

describe("the books of an invoice", () => {
  const histories = Array.from({ length: 400 }, (_, seed) => history(seed + 1))

  it("add up to where its payments stand, after every change of 400 random histories", () => {
    assert.strictEqual(histories.length, 400)
    const types = new Set(histories.flatMap(({ books }) => books.transactions.map(({ type }) => type)))
    assert.deepStrictEqual([...types].toSorted(), [
      "credit",
      "payment",
      "payment_reversal",
      "suspense",
      "tolerance_writeoff"
    ])
  })

  it("sum to zero for each asset, in units and in usd_millis, and move nothing below zero", () => {
    for (const { books } of histories) {
      for (const asset of new Set(books.balances.map((each) => each.asset))) {
        const rows = books.balances.filter((each) => each.asset === asset)
        assert.strictEqual(rows.reduce((sum, { units }) => sum + units, 0n), 0n)
        assert.strictEqual(rows.reduce((sum, each) => sum + each.usdMillis, 0n), 0n)
      }
      for (const { entries } of books.groups) {
        for (const { units, usdMillis } of entries) assert.isTrue(units >= 0n && usdMillis >= 0n)
      }
    }
  })

  it("name every transaction once, and post or void a pending one at most once", () => {
    for (const { books } of histories) {
      const ids = books.transactions.map(({ id }) => id)
      assert.strictEqual(new Set(ids).size, ids.length)
      const ended = books.groups.filter(({ kind }) => kind !== "booked").map(({ transactionId }) => transactionId)
      assert.strictEqual(new Set(ended).size, ended.length)
      const pending = new Set(books.transactions.filter(({ startsPending }) => startsPending).map(({ id }) => id))
      assert.isTrue(ended.every((id) => pending.has(id)))
    }
  })

  it("have the merchant's balance as the sum of what transactions add to it, available and pending apart", () => {
    for (const { books } of histories) {
      const ends = new Map(
        books.groups.filter(({ kind }) => kind !== "booked").map((group) => [
          group.transactionId,
          group.kind
        ])
      )
      const netOf = (isWanted: (transaction: Transaction) => boolean) =>
        books.transactions.filter(isWanted).reduce((sum, { net }) => sum + net, 0n)
      const balanceOf = (account: string) =>
        -books.balances.filter((each) => each.account === account).reduce((sum, each) => sum + each.usdMillis, 0n)
      const isAvailable = ({ id, startsPending }: Transaction) => !startsPending || ends.get(id) === "posted"
      assert.strictEqual(netOf(isAvailable), balanceOf(accounts.available))
      assert.strictEqual(netOf(({ id, startsPending }) => startsPending && !ends.has(id)), balanceOf(accounts.pending))
    }
  })

  it("have the transaction of each payment where its money is, and none where it left its chain", () => {
    for (const { books, state } of histories) {
      const ids = new Set(books.transactions.map(({ id }) => id))
      for (const payment of state.payments) {
        assert.strictEqual(payment.balanceTransactionId != null, payment.status !== "reverted")
        if (payment.balanceTransactionId != null) assert.isTrue(ids.has(payment.balanceTransactionId))
      }
      const waived = books.transactions.filter(({ type }) => type === "tolerance_writeoff")
      assert.strictEqual(waived.reduce((sum, { amount }) => sum - amount, 0n), waivedAmount(state.invoice))
    }
  })

  it("end the same whatever order its transfers are told in", () => {
    const roll = makeRandom(7)
    const transfers = [0, 1, 2].map((n) => transferOf(roll, `payment ${n}`, startSeconds))
    const told = transfers.flatMap((transfer): ReadonlyArray<Command> => [
      { _tag: "Observe", transfer: { ...transfer, metadata: { ...transfer.metadata, exception: null } } },
      { _tag: "Value", paymentId: transfer.id, amount: usdMillis(5_000n), quote },
      { _tag: "Confirm", paymentId: transfer.id, confirmations: 1 }
    ])
    const invoice = newInvoice(roll, startSeconds, { type: "standard" })
    const run = (order: ReadonlyArray<number>) => {
      let state = begin(invoice).aggregate
      let books = noBooks
      for (const place of order) {
        const changed = change(state, [told[place]!], startSeconds, books)!
        state = changed.state
        books = changed.books
      }
      return sorted(books.balances)
    }
    assert.deepStrictEqual(run([0, 1, 2, 3, 4, 5, 6, 7, 8]), run([6, 3, 0, 4, 7, 1, 8, 2, 5]))
  })

  it("take in what was there before they were kept, once", () => {
    const roll = makeRandom(11)
    const { aggregate } = begin(newInvoice(roll, startSeconds, { type: "standard" }))
    const old = decide(aggregate, [
      { _tag: "Observe", transfer: transferOf(roll, "payment 0", startSeconds) },
      { _tag: "Confirm", paymentId: "payment 0", confirmations: 1 }
    ], startSeconds)
    assert(typeof old !== "string")
    const open = (before: Aggregate) => {
      const decision = decide(before, [], startSeconds)
      assert(typeof decision !== "string")
      return bookChange({ before, decision, facts: [openingFact], now: startSeconds }, nameTransaction)
    }
    const first = open(old.next)
    assert.strictEqual(first.earlier.transactions.length, 1)
    assert.deepStrictEqual(first.booking.transactions, [], "told to nobody")
    const after = decide(old.next, first.commands, startSeconds)
    assert(typeof after !== "string")
    assert.deepStrictEqual(open(after.next), {
      booking: { transactions: [], groups: [] },
      earlier: { transactions: [], groups: [] },
      commands: [],
      assignedAway: null
    })
    const observed = decide(aggregate, [
      { _tag: "Observe", transfer: transferOf(roll, "payment 0", startSeconds) }
    ], startSeconds)
    assert(typeof observed !== "string")
    const confirmed = decide(observed.next, [{ _tag: "Confirm", paymentId: "payment 0", confirmations: 1 }], 1)
    assert(typeof confirmed !== "string")
    const late = bookChange(
      { before: observed.next, decision: confirmed, facts: [], now: startSeconds },
      nameTransaction
    )
    assert.strictEqual(late.earlier.transactions.length, 1, "also where it moves before its turn")
    assert.deepStrictEqual(late.booking.transactions, [])
  })
})

describe("an asset of the books", () => {
  it("is the same whatever spelling of its token a catalogue has", () => {
    const raw = "0:f418a04cf196ebc959366844a6cdf53a6fd6fff1eadafc892f05210bba31593e"
    for (const address of [raw, "kQD0GKBM8ZbryVk2aESmzfU6b9b_8era_IkvBSELujFZPsyy"]) {
      assert.strictEqual(assetOf("ton", { address }, 1), `ton:${raw}`)
    }
    const usdc = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
    assert.strictEqual(assetOf("base", { address: usdc.toLowerCase() }, 1), `base:${usdc}`)
    assert.strictEqual(assetOf("base", { address: "of no network" }, 1), "base:of no network")
  })
})

describe("the money of an exception without an invoice", () => {
  const evidence = {
    network: "base",
    token: null,
    token_amount: "1.5",
    token_amount_unit: "token",
    token_decimals: 6,
    wallet: "w"
  }
  const open = { amount: usdMillis(1_500n), evidence, resolution: null, status: "open" } as const
  const resolved = (action: "credit" | "ignore" | "assign") =>
    unmatchedPosition({ ...open, status: "resolved", resolution: { action, note: "", actor: "key", invoiceId: null } })
  const place = (position: ReturnType<typeof unmatchedPosition>) => position?.account ?? null

  it("waits in suspense, and is where the decision put it", () => {
    assert.deepStrictEqual(unmatchedPosition(open), {
      account: "suspense",
      asset: "base:native",
      wallet: "w",
      units: 1_500_000n,
      usdMillis: 1_500n,
      type: "suspense"
    })
    assert.strictEqual(place(resolved("credit")), "merchant_available")
    assert.strictEqual(place(resolved("ignore")), "suspense:ignored")
  })

  it("is nowhere once its transfer is gone, or an invoice has it", () => {
    assert.isNull(resolved("assign"))
    assert.isNull(unmatchedPosition({ ...open, status: "resolved" }))
  })

  it("of a token that nobody lists is counted in base units", () => {
    assert.strictEqual(
      unmatchedPosition({
        ...open,
        evidence: { ...evidence, token: "0xa", token_amount: "77", token_amount_unit: "base_units" }
      })?.units,
      77n
    )
  })
})

describe("a refund of one payment whose payor bears the fee", () => {
  const roll = makeRandom(3)
  const state = (() => {
    const { aggregate } = begin(newInvoice(roll, startSeconds, { type: "standard", amount: usdMillis(10_000n) }))
    const transfer = transferOf(roll, "payment", startSeconds)
    const money = {
      units: 10_000_000n,
      amount: usdMillis(10_000n),
      metadata: { ...transfer.metadata, exception: null }
    }
    const paid = decide(aggregate, [
      { _tag: "Observe", transfer: { ...transfer, ...money } },
      { _tag: "Value", paymentId: "payment", amount: usdMillis(10_000n), quote },
      { _tag: "Confirm", paymentId: "payment", confirmations: 1 }
    ], startSeconds)
    assert(typeof paid !== "string")
    return paid.next
  })()
  const [payment] = state.payments
  const refund = (status: RefundState["status"], version: number, amount = 4_000n): RefundState => ({
    id: "refund",
    merchantId: 1,
    environment: "devnet",
    version,
    invoiceId: state.invoice.id,
    paymentId: "payment",
    terms: {
      network: payment!.network,
      tokenAddress: null,
      units: baseUnits(amount * 1_000n),
      feeBearer: "payor",
      feeUnits: baseUnits(20_001n),
      isClaimOnly: false,
      approvals: [],
      exceptionId: null
    },
    claim: null,
    source: "all",
    status,
    amount: usdMillis(amount),
    fee: usdMillis(20n),
    feeFree: false,
    feeQuote: null,
    destination: { network: payment!.network, address: "0x", memo: null },
    token: { id: 1, symbol: "USDC", decimals: 6 },
    tokenAmount: null,
    txHash: null,
    reason: "other",
    failureCode: null,
    createdAt: startSeconds,
    updatedAt: startSeconds,
    dueAt: null
  })
  /** What is stored after each of these, and what the accounts hold in units and usd_millis. */
  const run = (...steps: ReadonlyArray<RefundState>) => runFrom(undefined, ...steps)
  const runFrom = (sender: PayoutSender | undefined, ...steps: ReadonlyArray<RefundState>) => {
    let books = noBooks
    for (const each of steps) {
      const stored = books.transactions.map((transaction) => ({
        ...transaction,
        entries: books.groups.filter(({ transactionId }) => transactionId === transaction.id)
          .flatMap(({ entries, kind }) => entries.map((entry) => ({ ...entry, kind })))
      }))
      const context = { stored, invoice: state, now: startSeconds, nameTransaction, payoutAsset: null, sender }
      books = add(books, bookRefund(each, context))
    }
    return {
      held: Object.fromEntries(books.balances.map((each) => [each.account, [each.units, each.usdMillis]])),
      types: books.transactions.map(({ net, type }) => [type, net])
    }
  }
  const chain = chainAccount(payment!.wallet)

  it("holds its money, and keeps the fee with the merchant once it is paid, however often that is told", () => {
    const open = run(refund("pending_approval", 1), refund("processing", 2), refund("failed", 3))
    assert.deepStrictEqual(open.held, {
      merchant_available: [4_000_000n, 4_000n],
      refund_payable: [-4_000_000n, -4_000n]
    })
    const paid = run(refund("pending_approval", 1), refund("succeeded", 2), refund("succeeded", 3))
    assert.deepStrictEqual(paid.held, {
      merchant_available: [3_979_999n, 3_980n],
      [chain]: [-3_979_999n, -3_980n]
    })
    assert.deepStrictEqual(paid.types, [["refund", -4_000n], ["fee", 20n]])
    assert.deepStrictEqual(run(refund("succeeded", 5)).held, paid.held, "also where the books never saw it opened")
  })

  it("of money that does not count comes out of suspense, and its fee is the merchant's, whose wallet paid it", () => {
    const late = { status: "rejected", metadata: { ...payment!.metadata, exception: "late_payment" } } as const
    const invoice: Aggregate = { ...state, payments: [{ ...payment!, ...late }] }
    const context = { stored: [], invoice, now: startSeconds, nameTransaction, payoutAsset: null }
    const { balances, transactions } = add(noBooks, bookRefund(refund("succeeded", 1), context))
    assert.deepStrictEqual(Object.fromEntries(balances.map(({ account, units }) => [account, units])), {
      suspense: 4_000_000n,
      merchant_available: -20_001n,
      [chain]: -3_979_999n
    })
    assert.deepStrictEqual(transactions.map(({ net, type }) => [type, net]), [["refund", 0n], ["fee", 20n]])
  })

  it("leaves the wallet that paid it, and none that is known where it was paid from elsewhere", () => {
    const steps = [refund("pending_approval", 1), refund("succeeded", 2)]
    const sent = [-3_979_999n, -3_980n]
    assert.deepStrictEqual(runFrom({ wallet: "other" }, ...steps).held["chain:other"], sent)
    assert.isUndefined(runFrom({ wallet: "other" }, ...steps).held[chain])
    assert.deepStrictEqual(runFrom({ wallet: null }, ...steps).held["chain:unknown"], sent)
    assert.deepStrictEqual(runFrom(undefined, ...steps).held[chain], sent)
  })

  it("gives everything back when it is canceled or expires, and follows another amount", () => {
    assert.deepStrictEqual(run(refund("pending_approval", 1), refund("canceled", 2)).held, {})
    assert.deepStrictEqual(run(refund("awaiting_destination", 1), refund("expired", 2)).types, [
      ["refund", -4_000n],
      ["refund_reversal", 4_000n]
    ])
    const cut = run(refund("pending_approval", 1), refund("pending_approval", 2, 1_000n))
    assert.deepStrictEqual(cut.held, {
      merchant_available: [1_000_000n, 1_000n],
      refund_payable: [-1_000_000n, -1_000n]
    })
  })
})

describe("a refund of an order", () => {
  const roll = makeRandom(5)
  const { aggregate } = begin(newInvoice(roll, startSeconds, { type: "commerce", amount: usdMillis(10_000n) }))
  const received = (["wrong_token", null, null] as const).flatMap((exception, n): ReadonlyArray<Command> => {
    const transfer = transferOf(roll, `payment ${n}`, startSeconds + n)
    const metadata = { ...transfer.metadata, exception }
    return [
      { _tag: "Observe", transfer: { ...transfer, units: 6_000_000n, amount: usdMillis(6_000n), metadata } },
      { _tag: "Value", paymentId: transfer.id, amount: usdMillis(6_000n), quote },
      { _tag: "Confirm", paymentId: transfer.id, confirmations: 1 }
    ]
  })
  const decision = decide(aggregate, received, startSeconds)
  assert(typeof decision !== "string")
  const state = decision.next
  const refund = {
    id: "refund",
    version: 1,
    paymentId: null,
    terms: null,
    source: "all",
    status: "processing",
    amount: usdMillis(8_000n),
    fee: usdMillis(0n),
    token: null,
    tokenAmount: baseUnits(8_000_000n),
    destination: { network: "base", address: "0x", memo: null }
  } as unknown as RefundState
  const book = (refund: RefundState, invoice: Aggregate) =>
    bookRefund(refund, { stored: [], invoice, now: startSeconds, nameTransaction, payoutAsset: "base:native" })

  it("takes of each payment in the books what the payment itself is asked for", () => {
    const taken = book(refund, state).groups[0]!.entries
    const asked = allocateRefund(refund, state.payments, []).map((command) =>
      command._tag === "Refund" ? command.amount as bigint : null
    )
    assert.deepStrictEqual(taken.map(({ usdMillis }) => usdMillis), [6_000n, 2_000n])
    assert.deepStrictEqual(asked, [6_000n, 2_000n])
    assert.isTrue(taken.every(({ debit }) => debit === accounts.available), "none of it of money that does not count")
  })

  it("is booked in full also where the books hear of it only when it is paid", () => {
    const paid = decide(state, allocateRefund(refund, state.payments, []), startSeconds)
    assert(typeof paid !== "string")
    const { groups } = book({ ...refund, status: "succeeded" }, beforeRefunds(state, paid.next))
    const total = (account: string) =>
      groups.flatMap(({ entries }) => entries).filter(({ credit }) => credit === account)
        .reduce((sum, { usdMillis }) => sum + usdMillis, 0n)
    assert.deepStrictEqual([total(accounts.refundPayable), total(chainAccount(null))], [8_000n, 8_000n])
  })

  describe("beside others", () => {
    /** Opens each in turn; an amount below zero is the cancel of that one. */
    const debits = (invoice: Aggregate, amounts: ReadonlyArray<bigint>) => {
      let all: Postings = { transactions: [], groups: [] }
      const shares = new Map<string, ReadonlyArray<readonly [string, bigint, bigint]>>()
      const placeOf = ({ asset, debit }: { readonly asset: string; readonly debit: string }) => `${asset} ${debit}`
      for (const amount of amounts) {
        const isCanceled = amount < 0n
        const id = `refund ${isCanceled ? -amount : amount}`
        const stored = all.transactions.filter(({ source }) => source.id === id).map((transaction) => ({
          ...transaction,
          entries: all.groups.filter(({ transactionId }) => transactionId === transaction.id)
            .flatMap(({ entries, kind }) => entries.map((entry) => ({ ...entry, kind })))
        }))
        const taken = takenOfPayments(invoice, refundEntriesIn(all, id))
        const booked = bookRefund(
          {
            ...refund,
            id,
            version: isCanceled ? 2 : 1,
            status: isCanceled ? "canceled" : "processing",
            amount: usdMillis(isCanceled ? -amount : amount)
          },
          { stored, invoice, now: startSeconds, nameTransaction, payoutAsset: null, taken }
        )
        all = {
          transactions: [...all.transactions, ...booked.transactions],
          groups: [...all.groups, ...booked.groups]
        }
        shares.set(
          id,
          booked.groups[0]!.entries.map((entry) => [placeOf(entry), entry.units, entry.usdMillis] as const)
        )
      }
      return amounts.filter((amount) => amount > 0n).map((amount) => shares.get(`refund ${amount}`)!)
    }
    const paidOf = (...paid: ReadonlyArray<readonly [string, bigint, bigint]>): Aggregate => {
      const payments = paid.map(([network, units, amount], n) => ({
        ...state.payments[1]!,
        id: `paid ${n}`,
        network,
        units: baseUnits(units),
        amount: usdMillis(amount),
        seenAt: startSeconds + n
      }))
      return { ...state, payments: payments as unknown as Aggregate["payments"] }
    }
    const assetOn = (invoice: Aggregate, place: number) => {
      const { metadata, network, tokenId } = invoice.payments[place]!
      return `${assetOf(network, metadata.token, tokenId)} ${accounts.available}`
    }

    it("takes what open ones have left, and none of it twice", () => {
      const invoice = paidOf(["base", 50_000_000n, 50_000n], ["optimism", 30_000_000n, 30_000n])
      const [base, optimism] = [assetOn(invoice, 0), assetOn(invoice, 1)]
      assert.deepStrictEqual(debits(invoice, [50_000n, 30_000n]), [
        [[base, 50_000_000n, 50_000n]],
        [[optimism, 30_000_000n, 30_000n]]
      ])
      assert.deepStrictEqual(debits(invoice, [50_000n, 20_000n, -50_000n, 60_000n]).slice(1), [
        [[optimism, 20_000_000n, 20_000n]],
        [[base, 50_000_000n, 50_000n], [optimism, 10_000_000n, 10_000n]]
      ], "and what a canceled one gave back")
    })

    it("takes the last units with the last dollars, however many parts there were", () => {
      const invoice = paidOf(["base", 1_000_001n, 1_000n])
      const units = (amounts: ReadonlyArray<bigint>) => debits(invoice, amounts).map(([share]) => share![1])
      assert.deepStrictEqual(units([400n, 600n]), [400_000n, 600_001n])
      assert.deepStrictEqual(units([333n, 334n, 300n, 33n]), [333_000n, 334_000n, 300_000n, 33_001n])
    })
  })
})
