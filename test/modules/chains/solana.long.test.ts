/**
 * Goal: on Solana, exactly the payments that happened are seen, whatever the nodes do.
 * Method: the real runtime and token programs in process behind JSON-RPC; the conformance suite, then Solana's own ways
 * to go wrong.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schedule, Stream } from "effect"
import type { ChainDriver, ChainEvent, ObservedTransfer, ReceiveTarget, WatchSet } from "../../../runtime/Chains.ts"
import { chainConformance, type TestedChain } from "../../conformance/chains.ts"
import { conformanceOn, driverOn, openSolana, solanaChain, unit } from "../../support/SolanaChain.ts"
import { clockSysvar } from "../../../modules/chains/solana/Addresses.ts"
import { watching } from "../../support/Drivers.ts"
import { until } from "../../support/Service.ts"
import { SolanaLedger } from "../../support/SolanaLedger.ts"
import { newAddress, usdc } from "../../support/SolanaPayments.ts"
import { type RigReply, solanaNode } from "../../support/SolanaRig.ts"

chainConformance("solana, one wallet", solanaChain)

chainConformance(
  "solana, a list of wallets",
  Effect.gen(function*() {
    const chain = yield* openSolana()
    const rig = yield* conformanceOn(chain)
    const addresses = yield* Effect.forEach(Array.from({ length: 10 }), () => newAddress)
    const listed: TestedChain = {
      ...rig,
      target: (invoice) => ({ address: addresses[invoice]!, matchKey: addresses[invoice]!, memo: null }),
      payMany: (to, amount) =>
        Effect.map(chain.bank.pay(...to.map(({ address }) => ({ to: address, token: usdc, amount }))), (txHash) => {
          chain.ledger.advance()
          return { txHash }
        }),
      shared: null
    }
    return listed
  })
)

type Chain = Effect.Success<ReturnType<typeof openSolana>>

/** What a driver has emitted: the newest place of each transfer, without those that were taken back. */
interface Emitted {
  readonly transfers: ReadonlyMap<string, ObservedTransfer>
  readonly events: ReadonlyArray<ChainEvent>
}

const nothingEmitted: Emitted = { transfers: new Map(), events: [] }

const collect = (emitted: Emitted, event: ChainEvent): Emitted => {
  const transfers = new Map(emitted.transfers)
  if (event._tag === "Forward") {
    for (const each of event.transfers) {
      transfers.set(`${each.txHash}:${each.index}`, each)
    }
  }
  if (event._tag === "Gone") { for (const { index, txHash } of event.transfers) transfers.delete(`${txHash}:${index}`) }
  return { transfers, events: [...emitted.events, event] }
}

const headsOf = ({ events }: Emitted) => events.filter((event) => event._tag === "Forward")

/** Follows until `done`. `recent`: the height it goes on from. */
const collectUntil = (
  driver: ChainDriver,
  watch: WatchSet,
  done: (emitted: Emitted) => boolean,
  height: number | null = null
) =>
  driver.follow(height === null ? [] : [{ height: BigInt(height), hash: `${height}` }], watch).pipe(
    Stream.scan(() => nothingEmitted, collect),
    Stream.filter(done),
    Stream.runHead,
    Effect.map((found) => found._tag === "Some" ? found.value : nothingEmitted)
  )

const watchOf = (chain: Chain, targets: ReadonlyArray<ReceiveTarget>, tokens: ReadonlyArray<string> = [usdc]) =>
  watching([chain.wallet, ...targets.map(({ matchKey }) => matchKey)], {
    accounts: [{ key: chain.wallet, isOpen: true }],
    tokens
  })

const amountsOf = ({ transfers }: Emitted) => [...transfers.values()].map(({ amount }) => BigInt(amount)).sort()

/** Waits until the driver has read a transaction. */
const wasRead = (chain: Chain, txHash: string) =>
  until(
    "the transaction is read",
    Effect.sync(() => chain.node.calls()),
    (calls) => calls.some(({ method, params }) => method === "getTransaction" && params[0] === txHash)
  )

const looksOf = (count: number) => ({ events }: Emitted) =>
  events.filter(({ _tag }) => _tag === "Finality").length >= count

describe("solana", () => {
  it.live("trap 3: pages go back by slot and never `until` a signature, so what the node does not know loses nothing", () =>
    Effect.gen(function*() {
      const chain = yield* openSolana()
      const to = chain.target(1)
      const from = chain.ledger.slot
      for (let count = 1; count <= 45; count++) yield* chain.pay(to, null, unit + BigInt(count))
      const emitted = yield* collectUntil(
        chain.driver,
        watchOf(chain, [to]),
        ({ transfers }) => transfers.size === 45,
        from
      )
      assert.lengthOf(amountsOf(emitted), 45)
      const pages = chain.node.calls().filter(({ method }) => method === "getSignaturesForAddress")
      assert.isAbove(pages.length, 2)
      for (const { params } of chain.node.calls()) assert.notProperty(params[1] ?? {}, "until")
    }).pipe(Effect.scoped))

  it.live("trap 3: a page that does not go on where the last one ended is an error, and not an end", () =>
    Effect.gen(function*() {
      const chain = yield* openSolana()
      const to = chain.target(1)
      const from = chain.ledger.slot
      for (let count = 1; count <= 30; count++) yield* chain.pay(to, null, unit)
      let isLagging = true
      chain.node.set(({ method, params }) =>
        isLagging && method === "getSignaturesForAddress" && params[1].before !== undefined ? { result: [] } : undefined
      )
      const following = collectUntil(chain.driver, watchOf(chain, [to]), ({ transfers }) => transfers.size === 30, from)
      const refusal = yield* Effect.flip(following)
      assert.match(refusal.reason, /does not go on where the last one ended/)
      isLagging = false
      assert.lengthOf(amountsOf(yield* following), 30)
    }).pipe(Effect.scoped))

  it.live("an index of accounts 40 slots behind the head loses nothing, and nobody expires by what it does not show", () =>
    Effect.gen(function*() {
      const chain = yield* openSolana()
      const to = chain.target(1)
      chain.ledger.indexLag = 40
      const from = chain.ledger.slot
      const moving = yield* Effect.forkChild(
        Effect.repeat(Effect.sync(() => chain.ledger.advance(2)), Schedule.spaced(20))
      )
      const following = yield* Effect.forkChild(
        collectUntil(chain.driver, watchOf(chain, [to]), ({ transfers }) => transfers.size === 3, from)
      )
      for (const [token, amount] of [[null, 5n * unit], [usdc, 6n], [null, 7n * unit]] as const) {
        yield* chain.pay(to, token, amount)
        yield* Effect.sleep(60)
      }
      const emitted = yield* Fiber.join(following)
      assert.deepStrictEqual(amountsOf(emitted), [5n * unit, 6n, 7n * unit].sort())
      for (const transfer of emitted.transfers.values()) {
        const before = headsOf(emitted).filter(({ transfers }) => !transfers.includes(transfer))
        for (const { seenUntil } of before) assert.isBelow(seenUntil!, transfer.at!.time)
      }
      yield* Fiber.interrupt(moving)
    }).pipe(Effect.scoped))

  it.live("trap 7: a token account, a token or a program is no wallet; a fresh one and a used one are", () =>
    Effect.gen(function*() {
      const { bank, driver, pay, target, wallet } = yield* openSolana()
      yield* pay(target(1), usdc, 5n)
      const verify = Effect.fnUntraced(function*(address: string) {
        const found = yield* driver.readWallet("address", address)
        return typeof found === "string" ? found : yield* driver.verifyWallet!(found)
      })
      assert.match(String(yield* verify(yield* bank.tokenAccount(wallet, usdc))), /token account/)
      assert.match(String(yield* verify(usdc)), /token account or a token/)
      assert.match(String(yield* verify("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")), /program/)
      assert.isNull(yield* verify(yield* newAddress))
      assert.isNull(yield* verify(bank.payer.address))
      const isTokenAccount = driver.isTokenAccount!
      assert.isTrue(yield* isTokenAccount(yield* bank.tokenAccount(wallet, usdc)), "no refund goes there")
      assert.isFalse(yield* isTokenAccount(yield* newAddress))
      assert.isFalse(yield* isTokenAccount(bank.payer.address))
      const pool = yield* driver.readWallet("pool", `${wallet} ${usdc}`)
      if (typeof pool === "string") throw new Error(pool)
      assert.match(String(yield* driver.verifyWallet!(pool)), /^entry 2: /)
    }).pipe(Effect.scoped))

  it.live("trap 12: a chain that stands still is frozen, also one that stood still before the start, until it moves", () =>
    Effect.gen(function*() {
      const chain = yield* openSolana({ frozenSeconds: 1 })
      // The rig's clock began in 2025.
      const states = yield* collectUntil(chain.driver, watchOf(chain, []), looksOf(2))
      assert.deepStrictEqual(states.events.find(({ _tag }) => _tag === "Condition"), {
        _tag: "Condition",
        condition: "frozen"
      })
      const now = new SolanaLedger(() => Date.now() / 1000)
      const node = yield* solanaNode(now)
      const driver = yield* driverOn(now, [node], { frozenSeconds: 1 })
      let conditions = ""
      const following = yield* Effect.forkChild(
        collectUntil(driver, watchOf(chain, []), ({ events }) => {
          conditions = events.flatMap((event) => event._tag === "Condition" ? [event.condition] : []).join()
          return conditions.endsWith("frozen,ok")
        })
      )
      yield* until("it is frozen", Effect.sync(() => conditions), (all) => all.endsWith("frozen"))
      yield* Effect.forkScoped(Effect.repeat(Effect.sync(() => now.advance()), Schedule.spaced(50)))
      yield* Fiber.join(following)
      const quiet = yield* collectUntil((yield* openSolana()).driver, watchOf(chain, []), looksOf(2))
      assert.deepInclude(quiet.events, { _tag: "Condition", condition: "ok" }, "on devnet a chain may stand still")
    }).pipe(Effect.scoped))

  it.live("a transaction that is dropped by one node and kept by another stays", () =>
    Effect.gen(function*() {
      const chain = yield* openSolana({}, 2)
      const to = chain.target(1)
      const { txHash } = yield* chain.pay(to, null, 5n * unit)
      chain.node.set(({ method }, answer) => {
        if (method !== "getSignatureStatuses") return undefined
        const { context, value } = answer() as { context: object; value: ReadonlyArray<unknown> }
        return { result: { context, value: value.map(() => null) } }
      })
      // The chain goes on by looks and not by time: nodes forget the status of what is old, and looks may be slow.
      const emitted = yield* collectUntil(chain.driver, watchOf(chain, [to]), (sofar) => {
        if (sofar.events.at(-1)?._tag === "Finality") chain.ledger.advance(5)
        return looksOf(60)(sofar)
      })
      assert.deepStrictEqual([...emitted.transfers.values()].map((each) => each.txHash), [txHash])
      assert.notInclude(emitted.events.map(({ _tag }) => _tag), "Gone")
    }).pipe(Effect.scoped))

  it.live("a node that names a slot that the chain has not reached leaves the look to the next, and ends no following", () =>
    Effect.gen(function*() {
      const chain = yield* openSolana({}, 2, () => Date.now() / 1000)
      const to = chain.target(1)
      chain.node.set(({ method, params }, answer) => {
        if (method !== "getMultipleAccounts" || !params[0].includes(clockSysvar)) return undefined
        const { context, value } = answer() as { context: { slot: number }; value: ReadonlyArray<any> }
        const clock = Buffer.from(value[0].data[0], "base64")
        clock.writeBigUInt64LE(clock.readBigUInt64LE() + 1_000_000n)
        const told = { ...value[0], data: [clock.toString("base64"), "base64"] }
        return { result: { context: { slot: context.slot + 1_000_000 }, value: [told, ...value.slice(1)] } }
      })
      yield* Effect.forkScoped(Effect.repeat(Effect.sync(() => chain.ledger.advance()), Schedule.spaced(20)))
      yield* chain.pay(to, null, 5n * unit)
      const told = yield* collectUntil(
        chain.driver,
        watchOf(chain, [to]),
        ({ transfers }) => transfers.size > 0,
        chain.ledger.slot - 5
      )
      assert.isAtMost(Number(headsOf(told).at(-1)!.point.height), chain.ledger.slot)
    }).pipe(Effect.scoped))

  it.live("a node that calls a slot final that lies above its own newest one is not believed", () =>
    Effect.gen(function*() {
      const chain = yield* openSolana({}, 2)
      chain.node.set(({ method }) => method === "getSlot" ? { result: 9_000_000 } : undefined)
      const told = yield* collectUntil(chain.driver, watchOf(chain, []), looksOf(3))
      for (const event of told.events) {
        if (event._tag === "Finality") assert.isBelow(Number(event.finalized ?? 0n), 9_000_000)
      }
    }).pipe(Effect.scoped))

  it.live("no mark of finality passes a transaction of which it is not known whether it stays", () =>
    Effect.gen(function*() {
      const chain = yield* openSolana()
      const to = chain.target(1)
      const { txHash } = yield* chain.pay(to, null, 5n * unit)
      const { slot } = chain.ledger.transactions.find(({ signature }) => signature === txHash)!
      const following = yield* Effect.forkChild(
        collectUntil(chain.driver, watchOf(chain, [to]), ({ events }) => events.some(({ _tag }) => _tag === "Gone"))
      )
      yield* wasRead(chain, txHash)
      chain.ledger.drop(txHash)
      yield* Effect.forkScoped(Effect.repeat(Effect.sync(() => chain.ledger.advance()), Schedule.spaced(15)))
      const emitted = yield* Fiber.join(following)
      const marks = emitted.events.flatMap((event) => event._tag === "Finality" ? [event.finalized ?? 0n] : [])
      assert.isBelow(Number(marks.reduce((a, b) => a > b ? a : b)), slot)
    }).pipe(Effect.scoped))

  it.live("a dropped transaction that comes back in another slot is emitted there, as the same transfer", () =>
    Effect.gen(function*() {
      const chain = yield* openSolana()
      let isGone = false
      const to = chain.target(1)
      const { txHash } = yield* chain.pay(to, null, 5n * unit)
      const following = yield* Effect.forkChild(
        collectUntil(
          chain.driver,
          watchOf(chain, [to]),
          ({ events, transfers }) => {
            isGone = events.some(({ _tag }) => _tag === "Gone")
            return transfers.size === 1 && isGone
          }
        )
      )
      yield* wasRead(chain, txHash)
      const dropped = chain.ledger.drop(txHash)
      yield* Effect.forkScoped(Effect.repeat(Effect.sync(() => chain.ledger.advance(2)), Schedule.spaced(15)))
      yield* until("the transaction is missed", Effect.sync(() => isGone), (isMissed) => isMissed)
      chain.ledger.include(dropped)
      const emitted = yield* Fiber.join(following)
      const [again] = emitted.transfers.values()
      assert.isAbove(Number(again!.at!.height), dropped.slot)
    }).pipe(Effect.scoped))
})

describe("solana with bad nodes", () => {
  it.live("a node of another cluster stops the start, with a sentence", () =>
    Effect.gen(function*() {
      const chain = yield* openSolana()
      const refusal = yield* Effect.flip(driverOn(chain.ledger, [chain.node], { genesisHash: chain.wallet }))
      assert.match(refusal.message, /chain solana: rpc 1 of 1 is on the cluster with genesis .*correct the url/)
      assert.notInclude(refusal.message, chain.node.url)
    }).pipe(Effect.scoped))

  it.live("one that is cut, oversized, limited or no JSON-RPC leaves its look to the next node, and no key in a message", () =>
    Effect.gen(function*() {
      const faults: ReadonlyArray<RigReply> = [
        "cut",
        { status: 200, body: "{".repeat(70 * 1024 * 1024) },
        { status: 429, body: "too many" },
        { status: 502, body: "<html>" },
        { error: { code: -32_005, message: "Node is behind by 42 slots" } },
        { result: { context: { slot: 5 }, value: "nonsense" } }
      ]
      for (const fault of faults) {
        const chain = yield* openSolana({}, 2)
        const to = chain.target(1)
        yield* chain.pay(to, null, 5n * unit)
        chain.node.set(({ method }) => method === "getGenesisHash" ? undefined : fault)
        const emitted = yield* collectUntil(chain.driver, watchOf(chain, [to]), ({ transfers }) => transfers.size === 1)
        assert.deepStrictEqual(amountsOf(emitted), [5n * unit])
        const alone = yield* driverOn(chain.ledger, [chain.node])
        const refusal = yield* Effect.flip(collectUntil(alone, watchOf(chain, [to]), () => false))
        assert.notInclude(refusal.message, chain.node.url)
        assert.match(refusal.message, /rpc 1 of 1/)
      }
    }).pipe(Effect.scoped))

  it.live("a provider's limit of a page is kept, and the range is read to its end", () =>
    Effect.gen(function*() {
      const chain = yield* openSolana()
      const to = chain.target(1)
      const from = chain.ledger.slot
      for (let count = 1; count <= 60; count++) yield* chain.pay(to, null, unit)
      chain.node.set(({ method, params }) =>
        method === "getSignaturesForAddress" && params[1].limit > 15
          ? { error: { code: -32_602, message: "limit exceeded: at most 15" } }
          : undefined
      )
      const emitted = yield* collectUntil(chain.driver, watchOf(chain, [to]), ({ transfers }) =>
        transfers.size === 60, from)
      assert.lengthOf(amountsOf(emitted), 60)
    }).pipe(Effect.scoped))

  it.live("a transaction that is listed and not shown yet is waited for: following does not go on past it", () =>
    Effect.gen(function*() {
      const chain = yield* openSolana()
      const to = chain.target(1)
      const hidden = yield* chain.pay(to, null, 5n * unit)
      const shown = yield* chain.pay(to, null, 6n * unit)
      let isHidden = true
      chain.node.set(({ method, params }) =>
        isHidden && method === "getTransaction" && params[0] === hidden.txHash ? { result: null } : undefined
      )
      const following = yield* Effect.forkChild(
        collectUntil(chain.driver, watchOf(chain, [to]), ({ transfers }) => transfers.size === 2)
      )
      yield* wasRead(chain, shown.txHash)
      isHidden = false
      chain.ledger.advance()
      const emitted = yield* Fiber.join(following)
      assert.sameMembers([...emitted.transfers.values()].map(({ txHash }) => txHash), [hidden.txHash, shown.txHash])
    }).pipe(Effect.scoped))

  it.live("two nodes agree on a payment; one that shows another amount or none is noticed before it counts", () =>
    Effect.gen(function*() {
      const chain = yield* openSolana({}, 2)
      const to = chain.target(1)
      const watch = watchOf(chain, [to])
      yield* chain.pay(to, null, 5n * unit)
      const emitted = yield* collectUntil(chain.driver, watch, ({ transfers }) => transfers.size === 1)
      const [transfer] = emitted.transfers.values()
      const ask = (isThorough: boolean) =>
        chain.driver.corroborate!(transfer!.at!, watch, isThorough, [transfer!.txHash])
      const agreed = yield* ask(false)
      assert.include(agreed, { _tag: "Agreed", time: transfer!.at!.time })
      assert.deepStrictEqual("readings" in agreed ? agreed.readings : [], [[transfer!]])
      const other = chain.nodes[1]!
      other.set(({ method }, answer) => {
        if (method !== "getTransaction") return undefined
        const found = answer() as { meta: { postBalances: Array<number> } }
        return {
          result: { ...found, meta: { ...found.meta, postBalances: found.meta.postBalances.map((each) => each + 1) } }
        }
      })
      const differing = yield* ask(true)
      const amounts = "readings" in differing ? differing.readings.map((reading) => BigInt(reading[0]!.amount)) : []
      assert.sameMembers(amounts, [5n * unit, 5n * unit + 1n])
      other.set(({ method }) => method === "getTransaction" ? { result: null } : undefined)
      assert.deepStrictEqual(yield* ask(false), { _tag: "Disagreed" }, "it may not have it yet")
      other.set(() => "cut")
      assert.deepStrictEqual((yield* ask(false))._tag, "Disagreed", "it failed only now")

      const single = yield* driverOn(chain.ledger, [chain.node])
      const alone = yield* single.corroborate!(transfer!.at!, watch, false, [transfer!.txHash])
      assert.include(alone, { _tag: "Alone", hasAllAnswers: true })
    }).pipe(Effect.scoped))

  it.live("tokens are what their mints say, and nothing else is a token", () =>
    Effect.gen(function*() {
      const { bank, driver, wallet } = yield* openSolana()
      assert.strictEqual(yield* driver.tokenDecimals!(usdc), 6)
      assert.strictEqual(yield* driver.tokenDecimals!(bank.feeToken), 6)
      assert.isNull(yield* driver.tokenDecimals!(yield* bank.tokenAccount(bank.payer.address, usdc)))
      assert.isNull(yield* driver.tokenDecimals!(wallet))
      assert.isNull(yield* driver.tokenDecimals!("0x036CbD53842c5426634e7929541eC2318f3dCF7e"))
      assert.deepStrictEqual(yield* driver.readToken!(usdc), { symbol: null, decimals: 6 })
    }).pipe(Effect.scoped))
})
