/**
 * Goal: no node alone decides about money: one that stands still, is on another branch, leaves logs out, doubles them
 * or is away for a moment, loses no payment and counts none that is not on the chain. Method: mainnet rules, real
 * nodes, two endpoints that go wrong on demand, the whole journal over real PostgreSQL.
 */
import { NodeHttpClient } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted, Schedule, type Scope } from "effect"
import type { RequiredDepth } from "../../../schemas/Network.ts"
import { Chains, type NetworkStatus } from "../../../runtime/Chains.ts"
import { layer as chainsLayer } from "../../../runtime/chains/TransferJournal.ts"
import { Commit, noCause } from "../../../runtime/Commit.ts"
import { layer as commitLayer } from "../../../runtime/commit/GroupCommit.ts"
import { layer as leasesLayer } from "../../../runtime/leases/Database.ts"
import { runtimeTables } from "../../../runtime/Tables.ts"
import { makeDriver } from "../../../modules/chains/evm.ts"
import { devnetXpub } from "../../../modules/chains/simulated.ts"
import { catalogOf, usdc as testUsdc } from "../../fixtures/tokens.ts"
import { type Anvil, anvil, usdc } from "../../support/Anvil.ts"
import { connect, freshDatabase } from "../../support/Database.ts"
import { forgedHeaders, frozenAt, type NodeProxy, nodeProxy, stoppedAt, withLogs } from "../../support/NodeProxy.ts"

const mainnet = "mainnet" as const
/** The token the nodes have, as mainnet's catalogue would list it. */
const token = { ...testUsdc, network: "base" as const, environment: mainnet, address: usdc }

/** Long enough that the endpoint is asked again and again meanwhile, as it is in the 30 s that a service waits. */
const shortAbsence = { absenceMillis: 2_000 }

/** Seconds that no test lasts, for a head that stands still on purpose. */
const neverFrozen = 3_600

const threeBlocks: RequiredDepth = { blocks: 3, finalized: false }

interface Rig {
  readonly node: Anvil
  readonly endpoints: ReadonlyArray<NodeProxy>
  /** The address of invoice `number`. */
  readonly address: (number: number) => Effect.Effect<string>
  /** What the handler was told, as `status:amount`, in order. */
  readonly heard: ReadonlyArray<string>
  readonly status: () => NetworkStatus
  /** What the newest block's transaction brought to {@link customer}: amounts, or why nobody can say. */
  readonly readPayout: (txHash: string) => Effect.Effect<string>
}

/** An address that is none of ours. */
const customer = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

/** Follows Base with mainnet's rules over `count` endpoints in front of one node. */
const following = (
  count: number,
  work: (rig: Rig) => Effect.Effect<void, unknown, Scope.Scope>,
  required: RequiredDepth = threeBlocks,
  frozenSeconds = 2,
  absence: { readonly absenceMillis?: number } = {}
) =>
  Effect.gen(function*() {
    const database = yield* freshDatabase
    const node = yield* anvil("base", mainnet)
    const endpoints = yield* Effect.forEach(Array.from({ length: count }), () => nodeProxy(node.url))
    const process = chainsLayer.pipe(
      Layer.provideMerge(
        Layer.mergeAll(commitLayer(runtimeTables), leasesLayer, catalogOf(token), NodeHttpClient.layerUndici)
      ),
      Layer.provideMerge(connect(database))
    )
    yield* Effect.gen(function*() {
      const chains = yield* Chains
      const commit = yield* Commit
      const heard: Array<string> = []
      yield* chains.onTransfer((entry) =>
        Effect.suspend(() => {
          heard.push(`${entry.status}:${entry.amount}`)
          return commit.append({
            merchantId: entry.merchantId,
            environment: entry.environment,
            cause: noCause,
            writes: [chains.markHandled(entry, required)],
            events: []
          })
        })
      )
      yield* chains.register(
        yield* makeDriver({
          network: "base",
          environment: mainnet,
          rpc: endpoints.map(({ url }) => Redacted.make(url)) as never,
          xpub: Redacted.make(devnetXpub),
          startIndex: 0,
          pollMillis: 20,
          finalizedTag: false,
          frozenSeconds
        } as never, absence)
      )
      const status = () => chains.status(mainnet)[0]!
      yield* eventually("a block is read", () => status().head !== null)
      yield* work({
        node,
        endpoints,
        heard,
        status,
        readPayout: Effect.fnUntraced(function*(txHash) {
          const height = yield* heads(node)
          const where = { network: "base", environment: mainnet, address: customer, tokenAddress: usdc } as const
          // The cursor is stored every few seconds.
          const reading = yield* chains.readTransaction({ ...where, txHash, height }).pipe(
            Effect.repeat({
              schedule: Schedule.spaced(50),
              until: (each) => each._tag === "Transaction" || each.reason !== "not_reached"
            }),
            Effect.orDie
          )
          return reading._tag === "Unreadable" ? reading.reason : reading.transfers.map(({ amount }) => amount).join()
        }),
        address: (number) =>
          Effect.map(
            Effect.orDie(chains.allocate({
              merchantId: 1,
              invoiceId: `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`,
              environment: mainnet,
              family: "evm"
            })),
            ({ address }) => address
          )
      })
    }).pipe(Effect.provide(Layer.fresh(process), { local: true }))
  }).pipe(Effect.scoped)

/** Until it holds, at most two minutes. */
const eventually = (what: string, holds: () => boolean) =>
  Effect.suspend(() => holds() ? Effect.void : Effect.fail(what)).pipe(
    Effect.retry(Schedule.max([Schedule.spaced(20), Schedule.recurs(6_000)])),
    Effect.mapError((missing) => new Error(`never: ${missing}`)),
    Effect.orDie
  )

/** Until an endpoint was asked so often again: the follower has looked many times. */
const looks = (endpoint: NodeProxy, times = 60) =>
  Effect.suspend(() => {
    const before = endpoint.calls().length
    return eventually(`${times} calls`, () => endpoint.calls().length >= before + times)
  })

const heads = (node: Anvil) => Effect.map(node.rpc("eth_blockNumber"), (height) => BigInt(height))

describe.concurrent("endpoints of a network", () => {
  it.live("a payment is seen past an endpoint that stands still", () =>
    following(2, ({ address, endpoints: [first], heard, node, status }) =>
      Effect.gen(function*() {
        const to = yield* address(1)
        first!.set(frozenAt(yield* heads(node)))
        yield* node.token("mint", [to, 7n])
        yield* node.mine(3)
        yield* eventually("the payment is confirmed", () => heard.includes("confirmed:7"))
        // Confirming may take longer than a head may stand still where the machine is busy: the next block tells.
        yield* node.mine(1)
        yield* eventually("the network is ok", () => status().condition === "ok")
      })))

  /** A second log of every transfer that a block has: a node that makes up money. */
  const doubled = withLogs((logs) => logs.flatMap((log) => [log, { ...log, logIndex: "0xff" }]))

  it.live("a payout is proven by what two endpoints show, and never by one of two", () =>
    following(2, ({ endpoints: [first, second], node, readPayout }) =>
      Effect.gen(function*() {
        const txHash = yield* node.token("mint", [customer, 7n])
        assert.strictEqual(yield* readPayout(txHash), "7")
        for (const liar of [first!, second!]) {
          liar.set(withLogs(() => []))
          assert.strictEqual(
            yield* readPayout(txHash),
            "not_agreed",
            "one hides it, and the other alone proves nothing"
          )
          liar.set(doubled)
          assert.strictEqual(yield* readPayout(txHash), "not_agreed", "nobody else shows the second transfer")
          liar.set("through")
        }
        second!.set("cut")
        assert.strictEqual(yield* readPayout(txHash), "not_agreed")
        second!.set("through")
        const fork = yield* anvil("base", mainnet, node.url)
        second!.lead(fork.url)
        yield* fork.mine(1)
        const unshared = yield* node.token("mint", [customer, 9n])
        assert.strictEqual(yield* readPayout(unshared), "not_agreed", "the other one has another block there")
      })))

  it.live("a payout is proven by the only endpoint where no other is configured", () =>
    following(1, ({ node, readPayout }) =>
      Effect.gen(function*() {
        const txHash = yield* node.token("mint", [customer, 7n])
        assert.strictEqual(yield* readPayout(txHash), "7")
      })))

  it.live("a network whose only endpoint stands still is frozen, and comes back by itself", () =>
    following(1, ({ endpoints: [only], node, status }) =>
      Effect.gen(function*() {
        only!.set(frozenAt(yield* heads(node)))
        yield* eventually("the network is frozen", () => status().condition === "frozen" && !status().healthy)
        only!.set("through")
        yield* node.mine(2)
        yield* eventually("the network is healthy", () => status().healthy)
      })))

  it.live("a moment without the first endpoint moves no allegiance to another branch, and the branches' return is seen", () =>
    following(2, ({ address, endpoints: [first, second], heard, node, status }) =>
      Effect.gen(function*() {
        const [paid, unpaid] = [yield* address(1), yield* address(2)]
        yield* node.mine(2)
        const minority = yield* anvil("base", mainnet, node.url)
        second!.lead(minority.url)
        yield* node.token("mint", [paid, 7n])
        yield* node.mine(4)
        yield* minority.token("mint", [unpaid, 9n])
        yield* minority.mine(6)
        yield* looks(first!)
        first!.set("cut")
        yield* Effect.sleep(1_500)
        first!.set("through")
        yield* looks(first!)
        yield* node.mine(3)
        yield* looks(first!)
        yield* eventually("the disagreement is seen", () => status().condition === "disagreement")
        assert.notInclude(heard.join(), "reverted")
        assert.notInclude(heard.join(), "confirmed:9")
        second!.lead(node.url)
        yield* eventually("the endpoints agree", () => status().condition === "ok")
        yield* eventually("the payment is confirmed", () => heard.includes("confirmed:7"))
      })))

  it.live("a payment on a branch that only one of two endpoints has is not confirmed", () =>
    following(
      2,
      ({ address, endpoints: [first, second], heard, node }) =>
        Effect.gen(function*() {
          const to = yield* address(1)
          const other = yield* anvil("base", mainnet, node.url)
          second!.lead(other.url)
          // The first one, which stood still while a node was started, is followed all the same.
          yield* other.mine(1)
          yield* node.token("mint", [to, 7n])
          yield* node.mine(4)
          yield* other.mine(4)
          yield* eventually("the payment is seen", () => heard.includes("seen:7"))
          yield* looks(first!, 100)
          assert.notInclude(heard.join(), "confirmed")
          second!.lead(node.url)
          yield* eventually("the payment is confirmed", () => heard.includes("confirmed:7"))
        }),
      threeBlocks,
      neverFrozen
    ))

  it.live("a payment on a branch that the other endpoint has no block of yet is not confirmed", () =>
    following(
      2,
      ({ address, endpoints: [first, second], heard, node }) =>
        Effect.gen(function*() {
          const to = yield* address(1)
          const fork = yield* anvil("base", mainnet, node.url)
          first!.lead(fork.url)
          yield* fork.token("mint", [to, 9n])
          yield* eventually("the payment is seen", () => heard.includes("seen:9"))
          yield* looks(first!, 200)
          assert.notInclude(heard.join(), "confirmed")
          second!.lead(fork.url)
          yield* eventually("the payment is confirmed", () => heard.includes("confirmed:9"))
        }),
      { blocks: 1, finalized: false },
      neverFrozen
    ))

  it.live("a moment without the other endpoint confirms no payment on a branch that only the followed one has", () =>
    following(
      2,
      ({ address, endpoints: [first, second], heard, node }) =>
        Effect.gen(function*() {
          const to = yield* address(1)
          const fork = yield* anvil("base", mainnet, node.url)
          first!.lead(fork.url)
          second!.set("cut")
          yield* fork.token("mint", [to, 9n])
          yield* fork.mine(4)
          yield* eventually("the payment is seen", () => heard.includes("seen:9"))
          yield* Effect.sleep(1_500)
          yield* node.mine(5)
          second!.set("through")
          yield* looks(first!, 200)
          assert.notInclude(heard.join(), "confirmed")
        }),
      threeBlocks,
      neverFrozen,
      { absenceMillis: neverFrozen * 1_000 }
    ))

  it.live("of three endpoints the two that agree are followed", () =>
    following(3, ({ address, endpoints: [first], heard, node }) =>
      Effect.gen(function*() {
        const to = yield* address(1)
        const fork = yield* anvil("base", mainnet, node.url)
        first!.lead(fork.url)
        yield* fork.token("mint", [to, 9n])
        yield* node.token("mint", [to, 7n])
        yield* node.mine(4)
        yield* fork.mine(4)
        yield* eventually("the payment is confirmed", () => heard.includes("confirmed:7"))
        assert.notInclude(heard.join(), "confirmed:9")
      })))

  it.live("a payment whose logs one endpoint left out is credited from the other", () =>
    following(2, ({ address, endpoints: [first], heard, node }) =>
      Effect.gen(function*() {
        const to = yield* address(1)
        first!.set(withLogs(() => []))
        yield* node.token("mint", [to, 7n])
        yield* node.mine(4)
        yield* eventually("the payment is confirmed", () => heard.includes("confirmed:7"))
      })))

  it.live("a payment that one endpoint hides behind a forged header is credited from the other", () =>
    following(2, ({ address, endpoints: [first], heard, node }) =>
      Effect.gen(function*() {
        const to = yield* address(1)
        first!.set(forgedHeaders)
        yield* node.token("mint", [to, 7n])
        yield* node.mine(4)
        yield* eventually("the payment is confirmed", () => heard.includes("confirmed:7"))
      })))

  it.live("a payment that the only endpoint hid for a while is credited when it shows it", () =>
    following(1, ({ address, endpoints: [only], heard, node, status }) =>
      Effect.gen(function*() {
        const to = yield* address(1)
        only!.set(forgedHeaders)
        yield* node.token("mint", [to, 7n])
        const mined = yield* heads(node)
        yield* eventually("the block is passed", () => status().head! >= mined)
        only!.set("through")
        yield* node.mine(8)
        yield* eventually("the payment is confirmed", () => heard.includes("confirmed:7"))
      })))

  it.live("a payment that the first endpoint left out is credited though the second is away", () =>
    following(
      2,
      ({ address, endpoints: [first, second], heard, node, status }) =>
        Effect.gen(function*() {
          const to = yield* address(1)
          second!.set("cut")
          yield* looks(second!, 4)
          first!.set(forgedHeaders)
          yield* node.token("mint", [to, 7n])
          const mined = yield* heads(node)
          yield* eventually("the block is passed", () => status().head! >= mined)
          first!.set("through")
          yield* node.mine(8)
          yield* eventually("the payment is confirmed", () => heard.includes("confirmed:7"))
        }),
      threeBlocks,
      2,
      shortAbsence
    ))

  it.live("a payment that the second endpoint hid while the first was away for a moment is credited from the first", () =>
    following(2, ({ address, endpoints: [first, second], heard, node, status }) =>
      Effect.gen(function*() {
        const to = yield* address(1)
        second!.set(forgedHeaders)
        first!.set("cut")
        yield* node.token("mint", [to, 7n])
        const mined = yield* heads(node)
        yield* eventually("the block is passed", () => status().head! >= mined)
        first!.set("through")
        yield* node.mine(4)
        yield* eventually("the payment is confirmed", () => heard.includes("confirmed:7"))
      })))

  it.live("a payment that the only endpoint hid while the other was away for long is credited when that one is back", () =>
    following(
      2,
      ({ address, endpoints: [first, second], heard, node }) =>
        Effect.gen(function*() {
          const to = yield* address(1)
          first!.set(forgedHeaders)
          second!.set("cut")
          yield* Effect.sleep(shortAbsence.absenceMillis)
          yield* node.token("mint", [to, 7n])
          const searches = () => first!.calls().filter((method) => method === "eth_getLogs").length
          for (let searched = 0; searched < 3; searched++) {
            const before = searches()
            yield* node.mine(2)
            yield* eventually("newer blocks are searched", () => searches() > before)
          }
          assert.deepStrictEqual(heard, [])
          second!.set("through")
          yield* eventually("the payment is confirmed", () => heard.includes("confirmed:7"))
        }),
      threeBlocks,
      2,
      shortAbsence
    ))

  it.live("a payment that one endpoint hid while the other was behind is credited when that one has the block", () =>
    following(
      2,
      ({ address, endpoints: [first, second], heard, node, status }) =>
        Effect.gen(function*() {
          const to = yield* address(1)
          first!.set(forgedHeaders)
          second!.set(stoppedAt(yield* heads(node)))
          yield* node.token("mint", [to, 7n])
          yield* node.mine(4)
          const mined = yield* heads(node)
          yield* eventually("the blocks are passed", () => status().head! >= mined)
          yield* looks(second!, 4)
          assert.deepStrictEqual(heard, [])
          second!.set("through")
          yield* eventually("the payment is confirmed", () => heard.includes("confirmed:7"))
        }),
      threeBlocks,
      neverFrozen
    ))

  it.live("a log that an endpoint shows twice is one payment", () =>
    following(2, ({ address, endpoints: [first], heard, node }) =>
      Effect.gen(function*() {
        const to = yield* address(1)
        first!.set(withLogs((logs) => [...logs, ...logs]))
        yield* node.token("mint", [to, 7n])
        yield* node.mine(4)
        yield* eventually("the payment is confirmed", () => heard.includes("confirmed:7"))
        yield* looks(first!)
        assert.strictEqual(heard.filter((each) => each === "confirmed:7").length, 1)
      })))

  it.live("a log that an endpoint invents, with a place of its own, is not credited", () =>
    following(2, ({ address, endpoints: [first], heard, node }) =>
      Effect.gen(function*() {
        const to = yield* address(1)
        first!.set(
          withLogs((logs) => [...logs, ...logs].map((log, place) => ({ ...log, logIndex: `0x${place.toString(16)}` })))
        )
        yield* node.token("mint", [to, 7n])
        yield* node.mine(4)
        yield* eventually("the payment is confirmed", () => heard.includes("confirmed:7"))
        yield* looks(first!, 100)
        assert.strictEqual(heard.filter((each) => each === "confirmed:7").length, 1)
      })))

  it.live("a large payment waits for the second endpoint, a small one does not", () =>
    following(
      2,
      ({ address, endpoints: [, second], heard, node }) =>
        Effect.gen(function*() {
          const to = yield* address(1)
          second!.set("cut")
          yield* node.token("mint", [to, 7n])
          yield* node.mine(4)
          yield* eventually("the payment is seen", () => heard.includes("seen:7"))
          // Nobody waits for the second one any more, and still the payment waits.
          yield* Effect.sleep(shortAbsence.absenceMillis)
          yield* looks(second!, 10)
          assert.notInclude(heard.join(), "confirmed")
          second!.set("through")
          yield* eventually("the payment is confirmed", () => heard.includes("confirmed:7"))
        }),
      { ...threeBlocks, agreement: true } as never,
      2,
      shortAbsence
    ).pipe(
      Effect.andThen(following(
        2,
        ({ address, endpoints: [, second], heard, node }) =>
          Effect.gen(function*() {
            second!.set("cut")
            yield* node.token("mint", [yield* address(1), 7n])
            yield* node.mine(4)
            yield* eventually("the payment is confirmed", () => heard.includes("confirmed:7"))
          }),
        threeBlocks,
        2,
        shortAbsence
      ))
    ))
})
