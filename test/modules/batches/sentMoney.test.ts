/**
 * Goal: whatever wallets send, whenever, and whatever a chain takes back, each transfer that pays no line has exactly
 * one exception before it is final, and the books have every final transfer once. Method: the pure rules of batches,
 * exceptions and ledger, put together as the service does, against a model of a chain that knows nothing of them.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { type BatchState, decide, onlyUnexpected } from "../../../modules/batches/machine.ts"
import { newBatch, newLines } from "../../../modules/batches/rules.ts"
import { afterSight } from "../../../modules/invoices/machine.ts"
import type { ExceptionState } from "../../../modules/invoices/machine/State.ts"
import {
  bookPayout,
  bookSentByException,
  combine,
  nothingBooked,
  type Postings
} from "../../../modules/ledger/rules.ts"
import type { PayoutSearch, PayoutTransfer } from "../../../runtime/Payouts.ts"
import { isPublicError } from "../../../schemas/Errors.ts"
import { baseUnits, usdMillis } from "../../../schemas/Money.ts"

const wallet = "0xwallet"
const finalityBlocks = 2

const planned = [10n, 20n, 10n].map((units, place) => ({
  tokenId: 5,
  symbol: "USDC",
  decimals: 0,
  tokenAddress: "0xusdc",
  units: baseUnits(units),
  amount: usdMillis(units * 1_000n),
  destination: { address: `0xreceiver${place}`, memo: null },
  source: null,
  reference: "supplier",
  refundId: null
}))

const newOut = (): BatchState => {
  const batch = newBatch({
    id: "bat_1",
    merchantId: 1,
    environment: "devnet",
    kind: "payouts",
    network: "base",
    from: wallet,
    validForSeconds: 86_400,
    metadata: {},
    contentHash: "",
    approvalsRequired: 0,
    lines: newLines(planned, [planned.length]),
    searchedTo: null,
    createdBy: "key",
    now: 0
  })
  const given = decide(batch, {
    _tag: "Export",
    part: 1,
    export: {
      format: "csv",
      payload: "",
      validUntil: null,
      trace: null,
      builtAt: 0n,
      inputs: [],
      isSimulated: false,
      notices: []
    }
  }, 0)
  if (isPublicError(given)) throw given
  return given.next
}

/** A transaction pays a line, or somebody else where that is null. */
const Sent = Schema.Struct({
  _tag: Schema.tag("Send"),
  transfers: Schema.NonEmptyArray(Schema.Struct({
    line: Schema.NullOr(Schema.Literals([0, 1, 2])),
    amount: Schema.Literals(["right", "right", "less"])
  })).check(Schema.isMaxLength(3))
})
const Mined = Schema.Struct({
  _tag: Schema.tag("Mine"),
  blocks: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3 }))
})
/** Blocks that are not final go; each of their transactions comes back in one of the new ones, or does not. */
const Reorganised = Schema.Struct({
  _tag: Schema.tag("Reorganise"),
  depth: Schema.Literals([1, 2]),
  keep: Schema.Array(Schema.Boolean).check(Schema.isMinLength(4), Schema.isMaxLength(4)),
  isReversed: Schema.Boolean
})
const History = Schema.Array(Schema.Union([Sent, Mined, Reorganised])).check(
  Schema.isMinLength(1),
  Schema.isMaxLength(14)
)

interface Transaction {
  readonly txHash: string
  readonly transfers: ReadonlyArray<PayoutTransfer>
}

/** A chain of blocks, each with its transactions; the first one has height 1. */
class ModelChain {
  blocks: Array<ReadonlyArray<Transaction>> = [[], []]
  private sent = 0

  get finalHeight(): number {
    return this.blocks.length - finalityBlocks
  }

  act(step: typeof History.Type[number]): void {
    if (step._tag === "Mine") { for (let count = 0; count < step.blocks; count++) this.blocks.push([]) }
    if (step._tag === "Send") {
      this.sent += 1
      this.blocks.push([{
        txHash: `tx${this.sent}`,
        transfers: step.transfers.map(({ amount, line }, index): PayoutTransfer => ({
          index,
          line,
          destination: line === null ? "0xsomebody" : `0xreceiver${line}`,
          tokenAddress: "0xusdc",
          amount: baseUnits((planned[line ?? 0]!.units as bigint) - (amount === "less" ? 1n : 0n)),
          from: wallet
        }))
      }])
    }
    if (step._tag === "Reorganise") {
      const gone = this.blocks.splice(this.blocks.length - step.depth).flat()
      const kept = gone.filter((_, place) => step.keep[place] === true)
      const again = step.isReversed ? kept.toReversed() : kept
      for (let place = 0; place < step.depth; place++) this.blocks.push(again.slice(place, place + 1))
      if (again.length > step.depth) this.blocks.push(again.slice(step.depth))
    }
  }

  /** What a driver answers: blocks below `from` it does not look at again. */
  search(from: bigint): PayoutSearch {
    return {
      executions: this.blocks.flatMap((block, place) => {
        const height = BigInt(place + 1)
        return height < from ? [] : block.map(({ transfers, txHash }) => ({
          txHash,
          transfers,
          block: { height, hash: `b${height}`, time: place },
          isFinal: height <= this.finalHeight,
          fee: null
        }))
      }),
      searchedTo: BigInt(this.finalHeight),
      isOver: false
    }
  }

  transfers(upTo = this.blocks.length) {
    return this.blocks.slice(0, upTo).flat().flatMap(({ transfers, txHash }) =>
      transfers.map((transfer) => ({ ...transfer, name: `${txHash}:${transfer.index}` }))
    )
  }
}

const nameTransaction = (type: string, id: string, version: number) => `${type}:${id}:${version}`

/** The service's part: what it keeps, and one look at the chain. */
class Service {
  batch = newOut()
  exceptions = new Map<string, ExceptionState>()
  books: Postings = nothingBooked

  private sight(
    name: string,
    sight: "final" | "gone" | "seen",
    amount: bigint,
    type: "duplicate_payout" | "payout_mismatch"
  ) {
    const current = this.exceptions.get(name) ?? null
    const next = afterSight(
      { id: name, sight },
      sight === "gone" ? null : {
        type,
        amount: usdMillis(amount * 1_000n),
        evidence: {
          network: "base",
          token: "0xusdc",
          token_amount: amount.toString(),
          token_amount_unit: "base_units",
          wallet: "w"
        }
      },
      current,
      0
    )
    if (next === null) return
    if (current === null) assert.strictEqual(next.evidence.final, "no", `${name} was told when it was final`)
    this.exceptions.set(name, next)
    const stored = this.books.transactions.filter(({ source }) => source.id === name)
    this.books = combine([
      this.books,
      bookSentByException(next, { stored, usdMillis: amount * 1_000n, now: 0, nameTransaction })
    ])
  }

  look(chain: ModelChain): void {
    const part = this.batch.parts[0]!
    const command = { _tag: "Observe", part: 1, search: chain.search(part.searchedTo! + 1n) } as const
    const first = decide(this.batch, command, 0)
    if (isPublicError(first)) throw first
    for (const { isFinal, transfer, txHash, type } of first.unexpected) {
      this.sight(`${txHash}:${transfer.index}`, isFinal ? "final" : "seen", transfer.amount, type)
    }
    for (const { index, txHash } of first.withdrawn) this.sight(`${txHash}:${index}`, "gone", 0n, "duplicate_payout")
    this.batch = onlyUnexpected(this.batch, first.next)
    for (const { line, status, transfer, txHash } of first.finalLines) {
      const stored = { ...line, status, txHash, transferIndex: transfer?.index ?? null }
      this.batch = { ...this.batch, lines: this.batch.lines.map((each) => each.line === line.line ? stored : each) }
      if (status !== "paid") continue
      const sent = { asset: "base:0xusdc", wallet: "w", units: transfer!.amount }
      this.books = combine([
        this.books,
        bookPayout(`bat_1/${line.line}`, sent, transfer!.amount * 1_000n, 0, nameTransaction)
      ])
    }
    const rest = decide(this.batch, command, 0)
    if (isPublicError(rest)) throw rest
    assert.deepStrictEqual(rest.withdrawn, [])
    this.batch = rest.next
  }

  account(name: string): bigint {
    return this.books.groups.flatMap(({ entries }) => entries).reduce(
      (sum, { credit, debit, units }) => sum + (debit === name ? units : 0n) - (credit === name ? units : 0n),
      0n
    )
  }
}

const check = (service: Service, chain: ModelChain) => {
  const paying = new Set(
    service.batch.lines.filter(({ line, txHash, transferIndex }) =>
      chain.transfers().some(({ amount, name }) =>
        name === `${txHash}:${transferIndex}` && amount === planned[line - 1]!.units
      )
    ).map(({ transferIndex, txHash }) => `${txHash}:${transferIndex}`)
  )
  const unexpected = chain.transfers().map(({ name }) => name).filter((name) => !paying.has(name))
  const open = [...service.exceptions.values()].filter(({ status }) => status === "open")
  assert.sameMembers(open.map(({ id }) => id), unexpected)
  const sum = (transfers: ReadonlyArray<{ readonly amount: bigint }>) =>
    transfers.reduce((total, { amount }) => total + amount, 0n)
  const final = chain.transfers(chain.finalHeight)
  for (const { line, status, units } of service.batch.lines) {
    const isThere = final.some((each) => each.line === line - 1 && each.amount === units)
    if (isThere) assert.include(["paid", "mismatch"], status, `line ${line} would be paid again`)
  }
  assert.strictEqual(service.account("chain:w"), -sum(final), "the wallet lacks every final transfer once")
  assert.strictEqual(service.account("suspense"), sum(final.filter(({ name }) => !paying.has(name))))
  assert.strictEqual(service.account("merchant_available"), sum(final.filter(({ name }) => paying.has(name))))
  const ids = service.books.transactions.map(({ id }) => id)
  assert.strictEqual(new Set(ids).size, ids.length, "a cause is booked once")
}

const runHistory = (history: typeof History.Type) => {
  const [chain, service] = [new ModelChain(), new Service()]
  const ends = [1, 2, 3].map(() => ({ _tag: "Mine", blocks: 1 }) as const)
  for (const step of [...history, ...ends]) {
    chain.act(step)
    service.look(chain)
    check(service, chain)
  }
}

describe("money that is sent", () => {
  it("pays its line by the transaction that is final, where the one that was seen first comes later and goes", () => {
    const once = { _tag: "Send", transfers: [{ line: 0, amount: "right" }] } as const
    const again = { _tag: "Reorganise", depth: 2, keep: [true, true, true, true], isReversed: true } as const
    const gone = { _tag: "Reorganise", depth: 1, keep: [false, false, false, false], isReversed: false } as const
    // One block is behind the later one by then, so that it is not final when it goes.
    runHistory([once, once, again, { _tag: "Mine", blocks: 1 }, { ...gone, depth: 2 }])
  })

  it.effect.prop(
    "is paid, or told once before it is final, and booked once, whatever is sent and taken back",
    [History],
    ([history]) =>
      Effect.sync(() => {
        runHistory(history)
      }),
    { arbitrary: { runs: 1_000 } }
  )
})
