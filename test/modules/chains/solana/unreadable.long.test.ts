/**
 * Goal: a transaction that no endpoint shows, or that cannot be decoded, holds up no other payment, is credited as soon
 * as one endpoint shows it, and is never left out without an operator learning of it.
 * Method: the real token programs behind JSON-RPC nodes that hide or spoil single transactions.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Logger, Metric, MutableRef, Schedule, Stream } from "effect"
import type { ChainDriver, ChainEvent, WatchSet } from "../../../../runtime/Chains.ts"
import { accountHistoryOf } from "../../../conformance/chains/Journal.ts"
import { watching } from "../../../support/Drivers.ts"
import { until } from "../../../support/Service.ts"
import { driverOn, openSolana, unit } from "../../../support/SolanaChain.ts"
import { usdc } from "../../../support/SolanaPayments.ts"
import type { RigCall, RigReply, SolanaNode } from "../../../support/SolanaRig.ts"

type Chain = Effect.Success<ReturnType<typeof openSolana>>

/** How nodes answer where they do not have a transaction in a form that can be read. */
const spoilt: ReadonlyArray<{ readonly name: string; readonly reply: RigReply }> = [
  { name: "is not shown", reply: { result: null } },
  { name: "cannot be decoded", reply: { result: { slot: 5, transaction: {}, meta: null } } },
  {
    name: "is of a version that is not known",
    reply: { error: { code: -32_015, message: "Transaction version (1) is not supported by the requesting client" } }
  }
]

const asksFor = (signature: string) => ({ method, params }: RigCall) =>
  method === "getTransaction" && params[0] === signature

const spoil = (node: SolanaNode, signature: string, reply: RigReply) =>
  node.set((call) => asksFor(signature)(call) ? reply : undefined)

/** Errors that were logged, each as text. */
const collectErrors = () => {
  const errors: Array<string> = []
  const layer = Logger.layer([
    Logger.make<unknown, void>(({ logLevel, message }) => {
      if (logLevel === "Error") {
        errors.push(JSON.stringify(message, (_, value) => typeof value === "bigint" ? `${value}` : value))
      }
    })
  ])
  return { errors, layer }
}

const unreadableCount = Effect.map(
  Metric.snapshot,
  (all) =>
    all.filter(({ attributes, id }) =>
      id === "chain_transactions_unreadable_total" && attributes?.["network"] === "solana"
    ).reduce((sum, { state }) => sum + Number("count" in state ? state.count : 0), 0)
)

const watchOf = (chain: Chain, invoice: number): WatchSet =>
  watching([chain.wallet, chain.target(invoice).matchKey], {
    accounts: [{ key: chain.wallet, isOpen: true }],
    tokens: [usdc]
  })

/** The events of following a driver in the background, as they come. */
const followAlong = Effect.fnUntraced(function*(driver: ChainDriver, watch: WatchSet) {
  const events: Array<ChainEvent> = []
  const failure = MutableRef.make<string | null>(null)
  const following = yield* Effect.forkScoped(
    driver.follow([], watch).pipe(
      Stream.tap((event) => Effect.sync(() => void events.push(event))),
      Stream.runDrain,
      Effect.tapError((error) => Effect.sync(() => MutableRef.set(failure, error.message)))
    )
  )
  const signatures = () =>
    events.flatMap((event) => event._tag === "Forward" ? event.transfers.map(({ txHash }) => txHash) : [])
  const awaitAll = (...wanted: ReadonlyArray<string>) =>
    until(
      "the transfers are emitted",
      Effect.sync(() => [failure.current, ...signatures()]),
      (all) => wanted.every((each) => all.includes(each))
    )
  return { events, signatures, awaitAll, following, failure }
})

/** The chain goes on by some 500 slots a second. */
const moving = (chain: Chain) =>
  Effect.forkScoped(Effect.repeat(Effect.sync(() => chain.ledger.advance(5)), Schedule.spaced(10)))

const head = (events: ReadonlyArray<ChainEvent>) =>
  events.reduce((height, event) => event._tag === "Forward" ? Number(event.point.height) : height, 0)

describe("a transaction of Solana that no endpoint shows", () => {
  for (const { name, reply } of spoilt) {
    it.live(
      `and that ${name} leaves its neighbours credited, is told to an operator, and is credited once it is shown`,
      () => {
        const { errors, layer } = collectErrors()
        return Effect.gen(function*() {
          const chain = yield* openSolana({}, 2)
          const to = chain.target(1)
          const before = yield* unreadableCount
          const follower = yield* followAlong(chain.driver, watchOf(chain, 1))
          const first = yield* chain.pay(to, null, 5n * unit)
          yield* follower.awaitAll(first.txHash)
          const poisoned = yield* chain.pay(to, usdc, 6n)
          for (const node of chain.nodes) spoil(node, poisoned.txHash, reply)
          const second = yield* chain.pay(to, usdc, 7n)
          yield* follower.awaitAll(second.txHash)
          assert.lengthOf(errors, 0, "a node may show a transaction a moment later than it lists it")
          yield* moving(chain)
          yield* until("it is given up", Effect.sync(() => errors.length), (count) => count > 0)
          assert.include(errors[0]!, poisoned.txHash)
          assert.strictEqual(yield* unreadableCount, before + 1)
          const third = yield* chain.pay(to, null, 8n * unit)
          yield* follower.awaitAll(third.txHash)
          const { slot } = chain.ledger
          yield* until("following goes on", Effect.sync(() => head(follower.events)), (height) => height > slot)
          assert.notInclude(follower.signatures(), poisoned.txHash)
          assert.isNull(follower.failure.current)

          chain.nodes[1]!.set(null)
          const { readTransaction } = accountHistoryOf(chain.driver)
          const reported = yield* readTransaction(poisoned.txHash, watchOf(chain, 1), 0n)
          assert.deepStrictEqual(reported.map(({ amount }) => BigInt(amount)), [6n], "a report finds it")
          yield* follower.awaitAll(poisoned.txHash)
          assert.lengthOf(errors, 1, "an operator is told once")
        }).pipe(Effect.scoped, Effect.provide(layer))
      }
    )

    it.live(
      `and that ${name} at one of two nodes is credited as the other shows it, and both do not contradict each other`,
      () =>
        Effect.gen(function*() {
          const chain = yield* openSolana({}, 2)
          const to = chain.target(1)
          const watch = watchOf(chain, 1)
          const follower = yield* followAlong(chain.driver, watch)
          const spoiltPayment = yield* chain.pay(to, usdc, 6n)
          spoil(chain.node, spoiltPayment.txHash, reply)
          const good = yield* chain.pay(to, usdc, 7n)
          yield* follower.awaitAll(spoiltPayment.txHash, good.txHash)
          chain.ledger.advance(60)
          const { at } = chain.ledger.transactions.filter(({ signature }) => signature === spoiltPayment.txHash)
            .map(({ slot }) => ({ at: { height: BigInt(slot), hash: `${slot}` } }))[0]!
          const { _tag } = yield* chain.driver.corroborate!(at, watch, true, [spoiltPayment.txHash])
          assert.strictEqual(_tag, "Alone", "the node that cannot show it knows that it is there")
        }).pipe(Effect.scoped)
    )
  }

  it.live("is given up while the nodes cut each call for it, where they show the others", () => {
    const { errors, layer } = collectErrors()
    return Effect.gen(function*() {
      const chain = yield* openSolana({}, 2)
      const to = chain.target(1)
      const follower = yield* followAlong(chain.driver, watchOf(chain, 1))
      const poisoned = yield* chain.pay(to, usdc, 6n)
      for (const node of chain.nodes) spoil(node, poisoned.txHash, { status: 500, body: "internal error" })
      yield* moving(chain)
      const paying = yield* Effect.forkScoped(
        Effect.repeat(chain.pay(to, usdc, 7n), Schedule.spaced(50))
      )
      yield* until("it is given up", Effect.sync(() => errors.length), (count) => count > 0)
      assert.include(errors[0]!, poisoned.txHash)
      yield* Fiber.interrupt(paying)
      const last = yield* chain.pay(to, usdc, 8n)
      yield* follower.awaitAll(last.txHash)
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.live("is waited for, and not given up, while a node that may have it does not answer", () => {
    const { errors, layer } = collectErrors()
    return Effect.gen(function*() {
      const chain = yield* openSolana({}, 2)
      const to = chain.target(1)
      const follower = yield* followAlong(chain.driver, watchOf(chain, 1))
      const poisoned = yield* chain.pay(to, usdc, 6n)
      spoil(chain.node, poisoned.txHash, { result: null })
      chain.nodes[1]!.set(({ method }) => method === "getTransaction" ? "cut" : undefined)
      const { slot } = chain.ledger
      chain.ledger.advance(140)
      yield* until("it is followed", Effect.sync(() => head(follower.events)), (height) => height > slot + 100)
      for (let step = 0; step < 40; step++) {
        chain.ledger.advance(5)
        yield* Effect.sleep(20)
      }
      assert.lengthOf(errors, 0)
      assert.isAtMost(head(follower.events), slot + 150, "a restart finds it again")
      chain.nodes[1]!.set(null)
      yield* follower.awaitAll(poisoned.txHash)
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.live("holds up no rescan: what the nodes show is read again, and an operator is told of it", () => {
    const { errors, layer } = collectErrors()
    return Effect.gen(function*() {
      const chain = yield* openSolana({}, 2)
      const to = chain.target(1)
      const from = BigInt(chain.ledger.slot)
      const good = yield* chain.pay(to, usdc, 5n)
      const poisoned = yield* chain.pay(to, usdc, 6n)
      chain.ledger.advance(60)
      for (const node of chain.nodes) spoil(node, poisoned.txHash, { result: null })
      const { readTransfers } = accountHistoryOf(chain.driver)
      const range = readTransfers(from, BigInt(chain.ledger.slot - 1), watchOf(chain, 1))
      const refusal = yield* Effect.flip(range)
      assert.match(refusal.reason, /rpc 1 of 2 does not show it; rpc 2 of 2 does not show it/)
      const found = yield* Effect.retry(range, { times: 5 })
      assert.deepStrictEqual(found.map(({ txHash }) => txHash), [good.txHash])
      assert.lengthOf(errors, 1)
      assert.include(errors[0]!, poisoned.txHash)
      chain.nodes[1]!.set(null)
      assert.sameMembers((yield* range).map(({ txHash }) => txHash), [good.txHash, poisoned.txHash])
    }).pipe(Effect.scoped, Effect.provide(layer))
  })
})

describe("that there is no transaction on Solana", () => {
  /** Two nodes; the first says that it does not have a payment. */
  const openLagging = Effect.gen(function*() {
    const chain = yield* openSolana({}, 2)
    const { txHash } = yield* chain.pay(chain.target(1), usdc, 6n)
    const height = BigInt(chain.ledger.transactions.at(-1)!.slot)
    chain.ledger.advance(60)
    const [one, other] = chain.nodes as [SolanaNode, SolanaNode]
    const { readTransaction } = accountHistoryOf(chain.driver)
    const read = readTransaction(txHash, watchOf(chain, 1), height)
    spoil(one, txHash, { result: null })
    return { chain, one, other, txHash, height, read }
  })

  it.live("is no single node's word: another shows it, or is waited for", () =>
    Effect.gen(function*() {
      const { other, read, txHash } = yield* openLagging
      assert.deepStrictEqual((yield* read).map((each) => each.txHash), [txHash])
      other.set(() => "cut")
      assert.match((yield* Effect.flip(read)).reason, /rpc 2 of 2/)
      spoil(other, txHash, { result: null })
      assert.deepStrictEqual(yield* read, [])
    }).pipe(Effect.scoped))

  it.live("is no word of a node that has not come so far", () =>
    Effect.gen(function*() {
      const { height, one, other, read, txHash } = yield* openLagging
      const lagging = (call: RigCall): RigReply | undefined =>
        asksFor(txHash)(call)
          ? { result: null }
          : call.method === "getSlot"
          ? { result: Number(height) - 1 }
          : undefined
      other.set(lagging)
      assert.match((yield* Effect.flip(read)).reason, /rpc 2 of 2/)
      one.set(lagging)
      yield* Effect.flip(read)
    }).pipe(Effect.scoped))

  it.live("is no single node's word where it says that the transaction failed", () =>
    Effect.gen(function*() {
      const { one, read, txHash } = yield* openLagging
      one.set((call, answer) => {
        if (!asksFor(txHash)(call)) return undefined
        const shown = answer() as { meta: object }
        return { result: { ...shown, meta: { ...shown.meta, err: { InstructionError: [0, "Custom"] } } } }
      })
      assert.deepStrictEqual((yield* read).map((each) => each.txHash), [txHash])
    }).pipe(Effect.scoped))

  it.live("is no lagging node's word where the follower's own node has lost it", () =>
    Effect.gen(function*() {
      const chain = yield* openSolana({}, 2)
      const to = chain.target(1)
      const follower = yield* followAlong(chain.driver, watchOf(chain, 1))
      const { txHash } = yield* chain.pay(to, null, 5n * unit)
      const { slot } = chain.ledger.transactions.at(-1)!
      yield* follower.awaitAll(txHash)
      const [one, other] = chain.nodes as [SolanaNode, SolanaNode]
      const hideStatus = ({ method, params }: RigCall): RigReply | undefined =>
        method === "getSignatureStatuses"
          ? { result: { context: { slot }, value: params[0].map(() => null) } }
          : undefined
      one.set(hideStatus)
      other.set((call) => call.method === "getSlot" ? { result: slot - 1 } : hideStatus(call))
      yield* moving(chain)
      const looks = () => follower.events.filter(({ _tag }) => _tag === "Finality").length
      const start = looks()
      yield* until("it is looked for", Effect.sync(looks), (count) => count > start + 40)
      assert.notInclude(follower.events.map(({ _tag }) => _tag), "Gone")
      other.set(hideStatus)
      yield* until(
        "both say so",
        Effect.sync(() => follower.events.map(({ _tag }) => _tag)),
        (tags) => tags.includes("Gone")
      )
    }).pipe(Effect.scoped))

  it.live("is not lost where the node that said so fails a moment later", () =>
    Effect.gen(function*() {
      const chain = yield* openSolana({}, 2)
      const to = chain.target(1)
      const follower = yield* followAlong(chain.driver, watchOf(chain, 1))
      const { txHash } = yield* chain.pay(to, null, 5n * unit)
      yield* follower.awaitAll(txHash)
      // The second node is asked for statuses once the first has missed it often enough; then the first cannot go on.
      const [one, other] = chain.nodes as [SolanaNode, SolanaNode]
      const isDropped = MutableRef.make(false)
      other.set(({ method }) => {
        if (method === "getSignatureStatuses") MutableRef.set(isDropped, true)
        return undefined
      })
      one.set(({ method }) => isDropped.current && method === "getSignaturesForAddress" ? "cut" : undefined)
      chain.ledger.drop(txHash)
      yield* moving(chain)
      yield* Effect.forkScoped(
        Effect.repeat(chain.pay(to, null, 6n * unit), Schedule.spaced(20))
      )
      yield* until(
        "it is taken back",
        Effect.sync(() => follower.events.map(({ _tag }) => _tag)),
        (tags) => tags.includes("Gone")
      )
      assert.strictEqual(follower.failure.current, null)
    }).pipe(Effect.scoped))
})

describe("that Solana's nodes have no block so old", () => {
  it.live("is said by all of them, or not believed", () =>
    Effect.gen(function*() {
      const chain = yield* openSolana({}, 2)
      const { txHash } = yield* chain.pay(chain.target(1), usdc, 6n)
      const from = BigInt(chain.ledger.transactions.at(-1)!.slot)
      chain.ledger.advance(60)
      const [one, other] = chain.nodes as [SolanaNode, SolanaNode]
      const { readTransfers, timeOf } = accountHistoryOf(chain.driver)
      const range = readTransfers(from, from + 5n, watchOf(chain, 1))
      const pruned = ({ method }: RigCall): RigReply | undefined =>
        method === "getBlockTime"
          ? { error: { code: -32_001, message: `Block ${from} cleaned up, does not exist on node.` } }
          : undefined
      const emptied = ({ method }: RigCall): RigReply | undefined => method === "getBlocks" ? { result: [] } : undefined
      for (const fault of [pruned, emptied]) {
        one.set(fault)
        other.set(null)
        assert.isNumber(yield* timeOf(from))
        assert.deepStrictEqual((yield* range).map((each) => each.txHash), [txHash])
        other.set(() => "cut")
        assert.isUndefined((yield* Effect.flip(timeOf(from))).condition)
        assert.isUndefined((yield* Effect.flip(range)).condition)
        other.set(fault)
        assert.isNull(yield* timeOf(from))
        assert.strictEqual((yield* Effect.flip(range)).condition, "block_pruned")
      }
    }).pipe(Effect.scoped))

  it.live("is no word of a node that has not come so far, and neither is a list without what came since", () =>
    Effect.gen(function*() {
      const chain = yield* openSolana({}, 2)
      const { txHash } = yield* chain.pay(chain.target(1), usdc, 6n)
      const slot = chain.ledger.transactions.at(-1)!.slot
      chain.ledger.advance(60)
      const lagging = ({ method }: RigCall): RigReply | undefined =>
        method === "getSlot"
          ? { result: slot - 20 }
          : method === "getSignaturesForAddress"
          ? { result: [] }
          : method === "getBlocks"
          ? { result: [slot - 20] }
          : undefined
      chain.node.set(lagging)
      const { readTransfers, timeOf } = accountHistoryOf(chain.driver)
      const found = yield* readTransfers(BigInt(slot - 40), BigInt(slot + 5), watchOf(chain, 1))
      assert.deepStrictEqual(found.map((each) => each.txHash), [txHash])
      assert.strictEqual(yield* timeOf(BigInt(slot)), chain.ledger.timeOf(slot))
      const alone = yield* driverOn(chain.ledger, [chain.node])
      yield* Effect.flip(accountHistoryOf(alone).timeOf(BigInt(slot)))
    }).pipe(Effect.scoped))
})
