/**
 * Goal: on a real EVM node, exactly the payments that happened are seen, whatever the chain does.
 * Method: anvil as a child process; the conformance suite, then the EVM's own ways to go wrong.
 */
import { anvilChain, driverOn } from "../../support/AnvilChain.ts"
import { blockHistoryOf, watching } from "../../support/Drivers.ts"
import { NodeHttpClient } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted, Schedule, Stream } from "effect"
import type { ChainDriver, ChainEvent, ChainPoint } from "../../../runtime/Chains.ts"
import { makeDriver } from "../../../modules/chains/evm.ts"
import { chainConformance } from "../../conformance/chains.ts"
import { type Abi, encodeFunctionData } from "viem"
import { type Anvil, anvil, usdc } from "../../support/Anvil.ts"
import {
  frozenAt,
  lacking,
  type NodeAnswers,
  nodeProxy,
  prunedBelow,
  stoppedAt,
  withLogs
} from "../../support/NodeProxy.ts"
import token from "../../support/MockToken.json" with { type: "json" }

const receiver = (digit: string): string => `0x${digit.repeat(40)}`

chainConformance("evm on anvil", anvilChain)

const watch = (...keys: ReadonlyArray<string>) => watching(keys)

const pointOf = (node: Anvil, height: string) =>
  Effect.map(node.rpc("eth_getBlockByNumber", height, false), (block): ChainPoint => ({
    height: BigInt(block.number),
    hash: block.hash
  }))

/** Transfers in the blocks after `start`, up to the node's head. */
const transfersSince = (driver: ChainDriver, start: ChainPoint, head: bigint, ...keys: ReadonlyArray<string>) =>
  driver.follow([start], watch(...keys)).pipe(
    Stream.takeUntil((event) => event._tag === "Forward" && event.point.height >= head),
    Stream.runCollect,
    Effect.map((events) => events.flatMap((event) => event._tag === "Forward" ? event.transfers : []))
  )

/** Until it holds; the test's own time limit ends it otherwise. */
const until = (holds: () => boolean) =>
  Effect.retry(Effect.suspend(() => holds() ? Effect.void : Effect.fail("not yet")), Schedule.spaced(10))

const failureOf = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.map(Effect.flip(effect), (error) => String(error))

describe("evm driver", () => {
  it.live("ignores failed transactions and empty transfers, and reports a look-alike token under its own address", () =>
    Effect.gen(function*() {
      const node = yield* anvil()
      const driver = yield* driverOn(node)
      const start = yield* pointOf(node, "latest")
      const alike = `0x${"9".repeat(40)}`
      yield* node.setCode(alike)
      yield* node.token("mint", [receiver("a"), 5n], { at: alike })
      yield* node.token("mint", [receiver("a"), 0n])
      yield* node.token("transferFrom", [receiver("b"), receiver("a"), 1n], { gas: 200_000n })
      yield* node.token("forward", [receiver("a")], { value: 9n })
      const refusing = alike
      yield* node.send({ to: refusing, value: 1n, gas: 50_000n })
      const head = (yield* pointOf(node, "latest")).height
      const found = yield* transfersSince(driver, start, head, receiver("a"), refusing)
      assert.deepStrictEqual(found.map(({ amount, tokenAddress }) => [BigInt(amount), tokenAddress]), [[5n, alike]])
      assert.deepStrictEqual(yield* driver.balanceAt!(receiver("a"), null, head), {
        balance: 9n as never,
        hasSent: false
      })
    }).pipe(Effect.scoped))

  it.live("says that a block is forgotten only where every endpoint has a later one and not that one any more", () =>
    Effect.gen(function*() {
      const node = yield* anvil()
      yield* node.mine(30)
      const anchor = yield* pointOf(node, "0x14")
      const [first, second] = [yield* nodeProxy(node.url), yield* nodeProxy(node.url)]
      const driver = yield* driverOn(second, { urls: [first.url] })
      const conditionOf = Effect.map(
        Effect.result(blockHistoryOf(driver).readBlock(5n, anchor, watch())),
        (read) => read._tag === "Success" ? "read" : read.failure.condition ?? "unknown"
      )
      first.set(prunedBelow(10n))
      assert.strictEqual(yield* conditionOf, "read")
      second.set(prunedBelow(10n))
      assert.strictEqual(yield* conditionOf, "block_pruned")
      // One that is away may have it.
      second.set("cut")
      assert.strictEqual(yield* conditionOf, "unknown")
      // One that is behind has not read so far.
      second.set((call, ask) =>
        call.params[0] === "0x5" ? Promise.resolve(null) : (frozenAt(8n) as NodeAnswers)(call, ask)
      )
      assert.strictEqual(yield* conditionOf, "unknown")
      second.set((call, ask) =>
        call.method === "eth_getBlockReceipts"
          ? Promise.reject(new Error("old data not available due to pruning"))
          : ask(call)
      )
      assert.strictEqual(yield* conditionOf, "block_pruned")
    }).pipe(Effect.scoped))

  it.live("searches blocks that it does not know the reader of, as after a restart, at every endpoint", () =>
    Effect.gen(function*() {
      const node = yield* anvil()
      const paid = yield* node.token("mint", [receiver("a"), 5n])
      const { height } = yield* pointOf(node, "latest")
      const [first, second] = [yield* nodeProxy(node.url), yield* nodeProxy(node.url)]
      const driver = yield* driverOn(second, { urls: [first.url] })
      const search = driver.findTransfers!(height - 1n, height, null, watch(receiver("a")))
      for (const [hiding, honest] of [[first, second], [second, first]] as const) {
        hiding.set(withLogs(() => []))
        honest.set("through")
        assert.deepStrictEqual((yield* search).transfers.map(({ txHash }) => txHash), [paid])
      }
      second.set("through")
      assert.lengthOf((yield* search).transfers, 1)
      // Which one is away may be the one that would have shown more.
      second.set("cut")
      assert.include(yield* failureOf(search), "rpc 2")
    }).pipe(Effect.scoped))

  it.live("searches blocks at no endpoint that does not have all of them, or has others", () =>
    Effect.gen(function*() {
      const node = yield* anvil()
      const start = yield* pointOf(node, "latest")
      const paid = yield* node.token("mint", [receiver("a"), 5n])
      const head = yield* pointOf(node, "latest")
      const [first, second, third] = [
        yield* nodeProxy(node.url),
        yield* nodeProxy(node.url),
        yield* nodeProxy(node.url)
      ]
      const driver = yield* driverOn(third, { urls: [first.url, second.url] })
      yield* transfersSince(driver, start, head.height, receiver("a"))
      const search = (hash: string | null) =>
        driver.findTransfers!(head.height, head.height, hash, watch(receiver("a")))
      for (const [late, current] of [[second, third], [third, second]] as const) {
        late.set(stoppedAt(start.height))
        current.set("through")
        const { isSingleSource, transfers } = yield* search(head.hash)
        assert.deepStrictEqual([isSingleSource, transfers.map(({ txHash }) => txHash)], [false, [paid]])
      }
      second.set(stoppedAt(start.height))
      assert.include(yield* failureOf(search(null)), "does not have block")
      third.set("through")
      assert.include(yield* failureOf(search(start.hash)), "does not have block")
    }).pipe(Effect.scoped))

  it.live("asks the next endpoint for a block without the logs that its header names, and waits where there is none", () =>
    Effect.gen(function*() {
      const node = yield* anvil()
      const start = yield* pointOf(node, "latest")
      yield* node.mine(1)
      const paid = yield* node.token("mint", [receiver("a"), 7n])
      const head = yield* pointOf(node, "latest")
      const [first, second] = [yield* nodeProxy(node.url), yield* nodeProxy(node.url)]
      first.set(withLogs(() => []))
      const found = yield* transfersSince(
        yield* driverOn(second, { urls: [first.url] }),
        start,
        head.height,
        receiver("a")
      )
      assert.deepStrictEqual(found.map(({ txHash }) => txHash), [paid])
      const lone = yield* driverOn(first)
      const heights: Array<bigint> = []
      const heard = lone.follow([start], watch(receiver("a"))).pipe(
        Stream.tap((event) => Effect.sync(() => event._tag === "Forward" && heights.push(event.point.height))),
        Stream.runDrain
      )
      const reason = "logs that its header names are missing"
      assert.include(yield* failureOf(heard), reason)
      // What comes before such a block is followed.
      assert.deepStrictEqual(heights, [start.height + 1n])
      assert.include(yield* failureOf(blockHistoryOf(lone).readBlock(head.height, head, watch())), reason)
      first.set("through")
      const later = yield* transfersSince(lone, start, head.height, receiver("a"))
      assert.deepStrictEqual(later.map(({ txHash }) => txHash), [paid])
    }).pipe(Effect.scoped))

  it.live("believes no log whose address or topics are no whole bytes, and takes more logs than the header names", () =>
    Effect.gen(function*() {
      const node = yield* anvil()
      const start = yield* pointOf(node, "latest")
      yield* node.token("mint", [receiver("b"), 7n])
      const head = yield* pointOf(node, "latest")
      const endpoint = yield* nodeProxy(node.url)
      const driver = yield* driverOn(endpoint)
      for (const change of [{ topics: ["0x1"] }, { address: "0x1" }]) {
        endpoint.set(withLogs((logs) => logs.map((log) => ({ ...log, ...change }))))
        assert.include(
          yield* failureOf(transfersSince(driver, start, head.height, receiver("a"))),
          "eth_getBlockReceipts"
        )
      }
      // As Polygon's blocks have the logs of bridge deposits.
      const topic = `0x${receiver("a").slice(2).padStart(64, "0")}`
      endpoint.set(
        withLogs((logs) => logs.flatMap((log) => [log, { ...log, logIndex: "0x1", topics: log.topics.with(2, topic) }]))
      )
      assert.lengthOf(yield* transfersSince(driver, start, head.height, receiver("b")), 1)
    }).pipe(Effect.scoped))

  it.live("reads a block whose node does not tell what its header names", () =>
    Effect.gen(function*() {
      const node = yield* anvil()
      const start = yield* pointOf(node, "latest")
      yield* node.token("mint", [receiver("a"), 7n])
      const head = yield* pointOf(node, "latest")
      const endpoint = yield* nodeProxy(node.url)
      endpoint.set(async (call, ask) => {
        const answer: any = await ask(call)
        if (call.method !== "eth_getBlockByNumber" || answer === null) return answer
        const { logsBloom: _, ...header } = answer
        return header
      })
      const driver = yield* driverOn(endpoint)
      assert.lengthOf(yield* transfersSince(driver, start, head.height, receiver("a")), 1)
    }).pipe(Effect.scoped))

  it.live("knows a transaction again however a node spells hashes and topics", () =>
    Effect.gen(function*() {
      const node = yield* anvil()
      const endpoint = yield* nodeProxy(node.url)
      const driver = yield* driverOn(endpoint)
      const start = yield* pointOf(node, "latest")
      const hash = yield* node.token("mint", [receiver("a"), 7n])
      const head = yield* pointOf(node, "latest")
      const shout = (text: string) => `0x${text.slice(2).toUpperCase()}`
      endpoint.set(async (call, ask) => {
        const text = JSON.stringify(await ask(call) ?? null)
        return JSON.parse(text.replace(/"0x[0-9a-f]{64}"/g, (quoted) => `"${shout(quoted.slice(1, -1))}"`))
      })
      const found = yield* transfersSince(driver, start, head.height, receiver("a"))
      assert.deepStrictEqual(found.map(({ amount, index, txHash }) => [txHash, index, BigInt(amount)]), [[hash, 1, 7n]])
      const { point } = yield* blockHistoryOf(driver).readBlock(head.height, head, watch(receiver("a")))
      assert.deepStrictEqual(point, head)
    }).pipe(Effect.scoped))

  it.live("keys a log by its place in its own receipt, wherever the block puts it", () =>
    Effect.gen(function*() {
      const node = yield* anvil()
      const driver = yield* driverOn(node)
      const funding = yield* node.token("mint", [node.accounts[0]!, 100n])
      const start = yield* pointOf(node, "latest")
      const hash = yield* node.token("transferMany", [[receiver("a"), receiver("a")], 3n, 2n])
      const raw = yield* node.rpc("eth_getRawTransactionByHash", hash)
      const keys = Effect.gen(function*() {
        const head = (yield* pointOf(node, "latest")).height
        const found = yield* transfersSince(driver, start, head, receiver("a"))
        return found.map(({ index, txHash }) => `${txHash}:${index}`)
      })
      const before = yield* keys
      assert.deepStrictEqual(before, [`${hash}:3`, `${hash}:4`])
      yield* node.reorg(1)
      yield* node.rpc("evm_setAutomine", false)
      const ahead = { maxFeePerGas: "0x174876e800", maxPriorityFeePerGas: "0x174876e7ff", gas: "0x30000" }
      const mint = (yield* node.rpc("eth_getTransactionByHash", funding)).input
      yield* node.rpc("eth_sendTransaction", { from: node.accounts[1], to: usdc, data: mint, ...ahead })
      yield* node.rpc("eth_sendRawTransaction", raw)
      yield* node.mine(1)
      const moved = yield* node.rpc("eth_getTransactionReceipt", hash)
      assert.deepStrictEqual([moved.transactionIndex, moved.logs[2].logIndex], ["0x1", "0x3"])
      assert.deepStrictEqual(yield* keys, before)
    }).pipe(Effect.scoped))

  it.live("accepts a chain that became shorter", () =>
    Effect.gen(function*() {
      const node = yield* anvil()
      const driver = yield* driverOn(node)
      yield* node.mine(3)
      const points = yield* Effect.forEach(["0x3", "0x2", "0x1"], (height) => pointOf(node, height))
      yield* node.rollback(2)
      const event = yield* driver.follow(points, watch()).pipe(
        Stream.filter((found) => found._tag === "Rollback"),
        Stream.runHead
      )
      assert.deepStrictEqual(event._tag === "Some" ? event.value : null, { _tag: "Rollback", to: points[2]! })
    }).pipe(Effect.scoped))

  it.live("undoes no block because a node that is behind lacks its header, and what has changed once it is there", () =>
    Effect.gen(function*() {
      const node = yield* anvil()
      yield* node.mine(5)
      const points = yield* Effect.forEach(["0x5", "0x4", "0x3", "0x2"], (height) => pointOf(node, height))
      // A balancer: the head comes from one node, older headers from one behind it that has nothing above block 3.
      const balancer = yield* nodeProxy(node.url)
      // The other endpoint is behind as well, so it cannot speak for block 4.
      const behind = yield* nodeProxy(node.url)
      yield* node.reorg(1)
      yield* node.mine(1)
      const driver = yield* driverOn(behind, { urls: [balancer.url] })
      let isBehind = true
      let looks = 0
      balancer.set(lacking((height) => isBehind && height === 4n, () => void looks++))
      behind.set(frozenAt(3n))
      const events: Array<ChainEvent> = []
      yield* Effect.forkScoped(
        Stream.runForEach(driver.follow(points, watch()), (event) => Effect.sync(() => void events.push(event)))
      )
      const changes = () => events.filter(({ _tag }) => _tag === "Rollback" || _tag === "Forward")
      yield* until(() => looks >= 10)
      assert.deepStrictEqual(changes(), [])
      isBehind = false
      behind.set("through")
      yield* until(() => changes().length >= 2)
      assert.deepStrictEqual(changes()[0], { _tag: "Rollback", to: points[1]! })
      const [, next] = changes()
      assert.deepStrictEqual(next?._tag === "Forward" ? next.point : null, yield* pointOf(node, "0x5"))
    }).pipe(Effect.scoped))

  it.live("asks another endpoint for blocks that the first does not have whole", () =>
    Effect.gen(function*() {
      const node = yield* anvil()
      const start = yield* pointOf(node, "0x0")
      const torn = yield* nodeProxy(node.url)
      torn.set((call, ask) => call.method === "eth_getBlockReceipts" ? Promise.resolve(null) : ask(call))
      yield* node.mine(1)
      const firstEvents = (driver: ChainDriver) =>
        Effect.map(
          Stream.runCollect(Stream.take(driver.follow([start], watch()), 3)),
          (events) => events.map(({ _tag }) => _tag)
        )
      assert.deepStrictEqual(
        yield* firstEvents(yield* driverOn(node, { urls: [torn.url] })),
        ["Forward", "Condition", "Finality"]
      )
      // Where there is no other the chain answers, and nobody says that its end was reached.
      assert.deepStrictEqual(yield* firstEvents(yield* driverOn(torn)), ["Condition", "Condition", "Condition"])
    }).pipe(Effect.scoped))

  it.live("reads a token's decimals from its contract, and null where there is none", () =>
    Effect.gen(function*() {
      const node = yield* anvil()
      const driver = yield* driverOn(node)
      yield* node.rpc("anvil_setCode", receiver("8"), "0x60006000fd")
      const decimals = (address: string) => driver.tokenDecimals!(address)
      assert.deepStrictEqual(yield* Effect.all([decimals(usdc), decimals(receiver("7")), decimals(receiver("8"))]), [
        6,
        null,
        null
      ])
    }).pipe(Effect.scoped))

  it.live("finds a payment in a block whose receipts are too large to be read at once, and takes no contract's flood", () =>
    Effect.gen(function*() {
      const node = yield* anvil()
      const endpoint = yield* nodeProxy(node.url)
      const driver = yield* driverOn(endpoint)
      const start = yield* pointOf(node, "latest")
      const sizes: Readonly<Record<string, number>> = { eth_getBlockReceipts: 65 * 2 ** 20, eth_call: 2 ** 20 }
      endpoint.set(async (call, ask) => {
        const size = sizes[call.method]
        return size === undefined ? ask(call) : `0x${"0".repeat(size)}`
      })
      yield* node.token("mint", [receiver("a"), 5n])
      const head = (yield* pointOf(node, "latest")).height
      const found = yield* transfersSince(driver, start, head, receiver("a"))
      assert.deepStrictEqual(found.map(({ amount }) => BigInt(amount)), [5n])
      assert.strictEqual(yield* driver.readContract!(usdc, "0x313ce567"), "0x")
    }).pipe(Effect.scoped))

  it.live("refuses plain http to a public host on mainnet, and a threshold that one endpoint cannot keep", () =>
    Effect.gen(function*() {
      const on = (urls: ReadonlyArray<string>, more: object = {}) =>
        Effect.flatMap(Layer.build(NodeHttpClient.layerUndici), (client) =>
          Effect.provide(
            makeDriver({
              network: "base",
              environment: "mainnet",
              rpc: urls.map((url) => Redacted.make(url)) as never,
              ...more
            }),
            client
          ))
      const refused = yield* failureOf(on(["https://127.0.0.1:9", "http://rpc.example.com/secret-key"]))
      assert.include(refused, "rpc 2 of 2: plain http to a host that is neither this machine nor private")
      assert.notInclude(refused, "secret-key")
      assert.include(yield* failureOf(on(["http://127.0.0.1:9"], { agreementAboveUsd: 5 })), "needs two endpoints")
      const thresholds = [yield* on(["http://127.0.0.1:9"]), yield* on(["http://127.0.0.1:9", "http://127.0.0.1:10"])]
      assert.deepStrictEqual(thresholds.map(({ agreementAboveUsdMillis }) => agreementAboveUsdMillis), [
        null,
        1_000_000n as never
      ])
    }).pipe(Effect.scoped))

  it.live("refuses a node of another chain, and goes on past an endpoint that does not answer", () =>
    Effect.gen(function*() {
      const node = yield* anvil("optimism")
      assert.include(yield* failureOf(driverOn(node)), "is on chain 11155420, but base is chain 84532 here")
      const driver = yield* driverOn(node, { chainId: node.chainId, urls: ["http://127.0.0.1:9/secret-key"] })
      const first = yield* driver.follow([], watch()).pipe(Stream.runHead)
      assert.strictEqual(first._tag, "Some")
    }).pipe(Effect.scoped))

  it.live("reads a contract: its answer, 0x where it reverts or there is none, an error only where no node answers", () =>
    Effect.gen(function*() {
      const node = yield* anvil()
      const driver = yield* driverOn(node, { urls: ["http://127.0.0.1:9/secret-key"] })
      const calls = (functionName: string, args: ReadonlyArray<unknown> = []) =>
        encodeFunctionData({ abi: token.abi as Abi, functionName, args })
      assert.strictEqual(yield* driver.readContract!(usdc, calls("decimals")), `0x${"6".padStart(64, "0")}`)
      const overdraft = calls("transferFrom", [receiver("a"), receiver("b"), 1n])
      assert.strictEqual(yield* driver.readContract!(usdc, overdraft), "0x")
      assert.strictEqual(yield* driver.readContract!(receiver("a"), calls("decimals")), "0x")
      const silent = yield* driverOn({ url: "http://127.0.0.1:9/secret-key" })
      const failure = yield* failureOf(silent.readContract!(usdc, calls("decimals")))
      assert.match(failure, /^DriverError: base: rpc 1 of 1, eth_chainId/)
      assert.notInclude(failure, "secret-key")
    }).pipe(Effect.scoped))
})
