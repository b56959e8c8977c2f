/**
 * Goal: a follower that lost its chain goes on by one call of the operator, and no money is lost, counted twice or
 * taken back once it was final, whatever happens in the middle of it. Method: mainnet rules, real nodes behind an
 * endpoint that leads from one to the other, real PostgreSQL; a restart is the process torn down and built again on the
 * same database.
 */
import { NodeHttpClient } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer, Redacted, Schedule, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { Chains } from "../../../runtime/Chains.ts"
import { pruningConfirmMillis } from "../../../runtime/chains/Repairs.ts"
import { ringSize } from "../../../runtime/chains/Points.ts"
import { layer as chainsLayer } from "../../../runtime/chains/TransferJournal.ts"
import { layer as commitLayer } from "../../../runtime/commit/GroupCommit.ts"
import { layer as leasesLayer } from "../../../runtime/leases/Database.ts"
import { runtimeTables } from "../../../runtime/Tables.ts"
import { absenceMillis } from "../../../runtime/nodes/EndpointPool.ts"
import { makeDriver } from "../../../modules/chains/evm.ts"
import { devnetXpub } from "../../../modules/chains/simulated.ts"
import { catalogOf, usdc as testUsdc } from "../../fixtures/tokens.ts"
import { type Anvil, anvil, usdc } from "../../support/Anvil.ts"
import { connect, freshDatabase, type TestDatabase } from "../../support/Database.ts"
import { type NodeFault, type NodeProxy, nodeProxy, prunedBelow } from "../../support/NodeProxy.ts"
import { withQuickPauses } from "../../support/QuickPauses.ts"
import { markHandledAt } from "./ChainsInstance.ts"

const mainnet = "mainnet" as const
const token = { ...testUsdc, network: "base" as const, environment: mainnet, address: usdc }
const limitMillis = 240_000
/** Blocks by which this node's finality mark lies below its head. */
const final = 64

const eventually = <A>(what: string, look: Effect.Effect<A | undefined, unknown>) =>
  look.pipe(
    Effect.flatMap((found) => found === undefined ? Effect.fail(what) : Effect.succeed(found)),
    Effect.retry(Schedule.max([Schedule.spaced(20), Schedule.recurs(6_000)])),
    Effect.mapError((cause) => new Error(`never: ${what}: ${String(cause)}`)),
    Effect.orDie
  )

/** Runs `work` in a process of the service's chains, which lives no longer. */
const inProcess = <A>(
  database: TestDatabase,
  endpoint: NodeProxy | ReadonlyArray<NodeProxy>,
  work: Effect.Effect<A, unknown, Chains | SqlClient.SqlClient | Scope.Scope>
) =>
  Effect.gen(function*() {
    const chains = yield* Chains
    yield* markHandledAt(3)
    yield* chains.register(
      yield* makeDriver({
        network: "base",
        environment: mainnet,
        rpc: [endpoint].flat().map(({ url }) => Redacted.make(url)) as never,
        xpub: Redacted.make(devnetXpub),
        startIndex: 10,
        pollMillis: 20,
        finalizedTag: true,
        frozenSeconds: 3_600
      } as never)
    )
    return yield* work
  }).pipe(
    Effect.scoped,
    Effect.provide(
      Layer.fresh(chainsLayer.pipe(
        Layer.provideMerge(
          Layer.mergeAll(commitLayer(runtimeTables), leasesLayer, catalogOf(token), NodeHttpClient.layerUndici)
        ),
        Layer.provideMerge(connect(database))
      )),
      { local: true }
    ),
    Effect.updateService(Clock.Clock, withQuickPauses)
  )

/** The system's clock after the time of `skip` has passed too. */
const skippingClock = () => {
  let ahead = 0
  const base = Clock.Clock.defaultValue()
  const clock: Clock.Clock = {
    currentTimeMillisUnsafe: () => base.currentTimeMillisUnsafe() + ahead,
    currentTimeMillis: Effect.sync(() => base.currentTimeMillisUnsafe() + ahead),
    currentTimeNanosUnsafe: () => base.currentTimeNanosUnsafe() + BigInt(ahead) * 1_000_000n,
    currentTimeNanos: Effect.sync(() => base.currentTimeNanosUnsafe() + BigInt(ahead) * 1_000_000n),
    monotonicTimeNanosUnsafe: () => base.monotonicTimeNanosUnsafe() + BigInt(ahead) * 1_000_000n,
    monotonicTimeNanos: Effect.sync(() => base.monotonicTimeNanosUnsafe() + BigInt(ahead) * 1_000_000n),
    sleep: (duration) => base.sleep(duration)
  }
  return {
    clock,
    skip: (millis: number) => {
      ahead += millis
    }
  }
}

const status = Effect.map(Chains, (chains) => chains.status(mainnet)[0]!)

const becomes = (condition: string) =>
  Effect.flatMap(
    Chains,
    (chains) =>
      eventually(
        `the condition is ${condition}`,
        Effect.sync(() => chains.status(mainnet)[0]!.condition === condition ? true : undefined)
      )
  )

const reaches = (height: bigint) =>
  Effect.flatMap(
    Chains,
    (chains) =>
      eventually(
        `block ${height} is read`,
        Effect.sync(() => (chains.status(mainnet)[0]!.head ?? -1n) >= height ? true : undefined)
      )
  )

const ended = Effect.flatMap(
  Chains,
  (chains) =>
    eventually(
      "the repair ends",
      Effect.map(chains.repairs(mainnet), (repairs) =>
        repairs.find(({ status: state }) => state === "done" || state === "failed"))
    )
)

const invoiceId = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`

const addressOf = (number: number) =>
  Effect.flatMap(Chains, (chains) =>
    Effect.map(
      chains.allocate({ merchantId: 1, invoiceId: invoiceId(number), environment: mainnet, family: "evm" }),
      ({ address }) => address
    ))

/** The journal as `amount status`, with a mark where an operator must decide, once every entry was dealt with. */
const journal = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(
    sql<any>`SELECT amount::text, status, handled, reorged_after_finality, invoice_id FROM transfers ORDER BY amount`,
    (rows) =>
      rows.every(({ handled, status: state }) => handled === state)
        ? rows.map(({ amount, invoice_id, reorged_after_finality, status: state }) =>
          `${amount} ${state}${reorged_after_finality ? " reorged" : ""}${invoice_id === null ? " unmatched" : ""}`
        )
        : undefined
  ))

const journalIs = (...wanted: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    let last: unknown
    const look = Effect.map(journal, (lines) => {
      last = lines
      return JSON.stringify(lines) === JSON.stringify(wanted) ? true : undefined
    })
    yield* eventually("the journal", Effect.provideService(look, SqlClient.SqlClient, sql)).pipe(
      Effect.catchDefect(() => Effect.sync(() => assert.deepStrictEqual(last, wanted)))
    )
  })

const heightOf = (node: Anvil) => Effect.map(node.rpc("eth_blockNumber"), (height) => BigInt(height))

/** Includes on `to` the very transaction that `from` has. */
const copy = Effect.fnUntraced(function*(from: Anvil, to: Anvil, hash: string) {
  const raw = yield* from.rpc("eth_getRawTransactionByHash", hash)
  yield* to.rpc("eth_sendRawTransaction", raw)
  yield* eventually(
    "the copy is mined",
    Effect.map(to.rpc("eth_getTransactionReceipt", hash), (found) => found ?? undefined)
  )
})

/** Two nodes that part before the first payment, with one endpoint that shows the first of them. */
const parting = Effect.gen(function*() {
  const database = yield* freshDatabase
  const node = yield* anvil("base", mainnet)
  yield* node.token("mint", [node.accounts[0]!, 1_000_000n])
  yield* node.mine(20)
  const other = yield* anvil("base", mainnet, node.url)
  return { database, node, other, endpoint: yield* nodeProxy(node.url) }
})

/** No block from `from` to `to` can be read; the others can. */
const withoutBlocks = (from: bigint, to: bigint): NodeFault => (call, ask) => {
  const height = call.params[0]
  const isHidden = call.method === "eth_getBlockReceipts" && BigInt(height) >= from && BigInt(height) <= to
  return isHidden ? Promise.reject(new Error("not now")) : ask(call)
}

const seenUntil = Effect.flatMap(Chains, (chains) =>
  Effect.map(
    chains.coverage(mainnet, [{ id: invoiceId(1), merchantId: 1 }]),
    (sights) => sights.get(invoiceId(1))!.networks[0]!.seenUntil
  ))

const firstHead = Effect.flatMap(
  Chains,
  (chains) => eventually("a head", Effect.sync(() => chains.status(mainnet)[0]!.head ?? undefined))
)

/**
 * The first node's chain is read past all that a follower remembers; the other went its own way, with a payment of 400.
 */
const strand = Effect.fnUntraced(function*({ endpoint, node, other }: Effect.Success<typeof parting>) {
  yield* firstHead
  const later = yield* addressOf(2)
  yield* addressOf(3)
  yield* node.token("transfer", [yield* addressOf(1), 100n])
  yield* node.mine(ringSize + 30)
  yield* reaches(yield* heightOf(node))
  yield* journalIs("100 confirmed")
  yield* other.mine(5)
  yield* other.token("transfer", [later, 400n])
  yield* other.mine(ringSize + 60)
  endpoint.lead(other.url)
  yield* becomes("no_common_block")
})

describe("a network that was added a moment ago", () => {
  /** Both nodes have blocks of their own above those they share; what is followed are a few of the first one's. */
  const followed = Effect.fnUntraced(
    function*({ endpoint, node, other }: Effect.Success<typeof parting>, depth: number) {
      yield* firstHead
      const [paid, unpaid] = [yield* addressOf(1), yield* addressOf(2)]
      yield* node.token("transfer", [paid, 100n])
      yield* node.mine(depth - 1)
      yield* reaches(yield* heightOf(node))
      // The blocks of the other node: one payment is in none of them, and another only there.
      yield* other.mine(2)
      yield* other.token("transfer", [unpaid, 400n])
      yield* other.mine(20)
      return () => endpoint.lead(other.url)
    }
  )

  it.live(
    "goes on by itself where its first blocks have left the chain, and finds every payment since",
    () =>
      Effect.gen(function*() {
        const town = yield* parting
        // The first block that is followed is of the first node alone.
        yield* town.node.mine(1)
        yield* inProcess(
          town.database,
          town.endpoint,
          Effect.gen(function*() {
            const change = yield* followed(town, 2)
            change()
            yield* journalIs("100 reverted", "400 confirmed")
            yield* becomes("ok")
            const [repair] = yield* (yield* Chains).repairs(mainnet)
            assert.strictEqual((yield* ended).status, "done")
            assert.strictEqual(repair!.kind, "reanchor")
          })
        )
      }).pipe(Effect.scoped),
    limitMillis
  )

  it.live(
    "waits for the operator where a payment in them was credited, and says which blocks are gone",
    () =>
      Effect.gen(function*() {
        const town = yield* parting
        yield* town.node.mine(1)
        const first = yield* heightOf(town.node)
        yield* inProcess(
          town.database,
          town.endpoint,
          Effect.gen(function*() {
            const change = yield* followed(town, 3)
            yield* journalIs("100 confirmed")
            change()
            yield* becomes("no_common_block")
            assert.deepStrictEqual(yield* (yield* Chains).repairs(mainnet), [])
            assert.isAtLeast(Number((yield* status).head), Number(first))
            yield* (yield* Chains).reanchor("base", mainnet, null)
            yield* becomes("ok")
            yield* journalIs("100 reverted", "400 confirmed")
          })
        )
      }).pipe(Effect.scoped),
    limitMillis
  )
})

describe("a reanchor on a real node", () => {
  it.live(
    "is possible where the heads of both endpoints lie below everything that was followed",
    () =>
      Effect.gen(function*() {
        const { database, endpoint, node, other } = yield* parting
        const second = yield* nodeProxy(node.url)
        const { clock, skip } = skippingClock()
        yield* inProcess(
          database,
          [endpoint, second],
          Effect.gen(function*() {
            const chains = yield* Chains
            yield* firstHead
            const later = yield* addressOf(2)
            yield* node.token("transfer", [yield* addressOf(1), 100n])
            yield* node.mine(ringSize + 70)
            yield* reaches(yield* heightOf(node))
            yield* journalIs("100 confirmed")
            yield* other.token("transfer", [later, 400n])
            yield* other.mine(20)
            endpoint.lead(other.url)
            second.lead(other.url)
            const asked = second.calls().length
            yield* eventually(
              "both were asked",
              Effect.sync(() => second.calls().length > asked + 10 ? true : undefined)
            )
            // Two nodes that are a moment behind are no reason to call anybody.
            assert.notStrictEqual((yield* status).condition, "no_common_block")
            skip(absenceMillis)
            yield* becomes("no_common_block")
            yield* chains.reanchor("base", mainnet, null)
            yield* becomes("ok")
            yield* journalIs("100 confirmed reorged", "400 confirmed")
          })
        ).pipe(Effect.provideService(Clock.Clock, clock))
      }).pipe(Effect.scoped),
    limitMillis
  )

  it.live(
    "ends with what to do where the node has lost old blocks, and credits all that can be read",
    () =>
      Effect.gen(function*() {
        const town = yield* parting
        const { database, endpoint, other } = town
        const { clock, skip } = skippingClock()
        yield* inProcess(
          database,
          endpoint,
          Effect.gen(function*() {
            const chains = yield* Chains
            yield* strand(town)
            const asked = new Map<string, number>()
            endpoint.set((call, ask) => {
              asked.set(call.params[0], (asked.get(call.params[0]) ?? 0) + 1)
              return prunedBelow(15n)(call, ask)
            })
            // A block and its receipts: the third call is of a second look.
            const isAskedAgain = (height: string) =>
              eventually(
                `block ${height} is asked for again`,
                Effect.sync(() => (asked.get(height) ?? 0) > 2 ? true : undefined)
              )
            yield* chains.reanchor("base", mainnet, 9n)
            assert.strictEqual((yield* chains.reanchor("base", mainnet, 10n)).to, 10n)
            yield* isAskedAgain("0xa")
            assert.deepStrictEqual((yield* chains.repairs(mainnet)).map(({ status: state, to }) => [state, to]), [[
              "waiting",
              10n
            ]])
            skip(pruningConfirmMillis.mainnet)
            assert.include(
              (yield* ended).reason,
              "no endpoint has block 10 any more: name a later final block as `height`"
            )

            yield* chains.reanchor("base", mainnet, null)
            yield* becomes("ok")
            yield* eventually(
              "the reanchor waits for old blocks",
              Effect.map(chains.repairs(mainnet), ([repair]) => repair!.status === "running" ? true : undefined)
            )
            yield* isAskedAgain("0x0")
            assert.strictEqual((yield* chains.repairs(mainnet))[0]!.status, "running")
            skip(pruningConfirmMillis.mainnet)
            const done = yield* ended
            assert.strictEqual(done.status, "failed")
            assert.include(done.reason, "no endpoint has blocks 0 to 14 any more; all others were read.")
            yield* reaches(yield* heightOf(other))
            yield* journalIs("100 confirmed reorged", "400 confirmed")
          })
        ).pipe(Effect.provideService(Clock.Clock, clock))
      }).pipe(Effect.scoped),
    limitMillis
  )

  it.live(
    "loses no payment of the gap, counts none twice, and keeps a final one that is gone for the operator",
    () =>
      Effect.gen(function*() {
        const { database, endpoint, node, other } = yield* parting
        yield* inProcess(
          database,
          endpoint,
          Effect.gen(function*() {
            const chains = yield* Chains
            yield* eventually("a head", Effect.sync(() => chains.status(mainnet)[0]!.head ?? undefined))
            const inGap = yield* addressOf(4)
            const kept = yield* node.token("transfer", [yield* addressOf(1), 100n])
            yield* node.token("transfer", [yield* addressOf(2), 200n])
            yield* node.mine(final + ringSize)
            yield* node.token("transfer", [yield* addressOf(3), 300n])
            yield* node.mine(5)
            yield* reaches(yield* heightOf(node))
            yield* journalIs("100 confirmed", "200 confirmed", "300 confirmed")

            yield* copy(node, other, kept)
            yield* other.mine(final + ringSize)
            yield* other.token("transfer", [inGap, 400n])
            yield* other.mine(60)
            endpoint.lead(other.url)
            yield* becomes("no_common_block")
            assert.isFalse((yield* status).healthy)
            assert.strictEqual((yield* chains.reanchor("base", mainnet, null)).status, "waiting")
            const done = yield* ended
            assert.strictEqual(done.status, "done", done.reason ?? "")
            yield* becomes("ok")
            yield* reaches(yield* heightOf(other))
            yield* journalIs("100 confirmed", "200 confirmed reorged", "300 reverted", "400 confirmed")
          })
        )
      }).pipe(Effect.scoped),
    limitMillis
  )

  it.live(
    "lets nothing count as seen before its gap is read, through failures and restarts",
    () =>
      Effect.gen(function*() {
        const town = yield* parting
        const { database, endpoint, other } = town
        const top = yield* inProcess(
          database,
          endpoint,
          Effect.gen(function*() {
            const chains = yield* Chains
            yield* strand(town)
            endpoint.set(withoutBlocks(25n, 50n))
            yield* chains.reanchor("base", mainnet, null)
            yield* becomes("ok")
            yield* other.mine(30)
            const height = yield* heightOf(other)
            yield* reaches(height)
            assert.isNull(yield* seenUntil)
            return height
          })
        )
        yield* inProcess(
          database,
          endpoint,
          Effect.gen(function*() {
            const chains = yield* Chains
            yield* other.mine(5)
            yield* reaches(top + 5n)
            assert.isNull(yield* seenUntil)
            endpoint.set("through")
            assert.strictEqual((yield* ended).status, "done")
            yield* other.mine(1)
            yield* reaches(top + 6n)
            yield* eventually(
              "the network is seen again",
              Effect.map(
                Effect.provideService(seenUntil, Chains, chains),
                (seen) => seen ?? undefined
              )
            )
            yield* journalIs("100 confirmed reorged", "400 confirmed")
          })
        )
      }).pipe(Effect.scoped),
    limitMillis
  )

  it.live(
    "is asked again where the chain is lost again before its gap was read, and reads that too",
    () =>
      Effect.gen(function*() {
        const town = yield* parting
        const { database, endpoint, node, other } = town
        const third = yield* anvil("base", mainnet, node.url)
        yield* inProcess(
          database,
          endpoint,
          Effect.gen(function*() {
            const chains = yield* Chains
            yield* strand(town)
            endpoint.set(withoutBlocks(25n, 50n))
            yield* chains.reanchor("base", mainnet, null)
            yield* becomes("ok")
            yield* reaches(yield* heightOf(other))
            yield* third.token("transfer", [yield* addressOf(3), 500n])
            yield* third.mine(ringSize + 90)
            endpoint.lead(third.url)
            endpoint.set("through")
            yield* becomes("no_common_block")
            assert.strictEqual((yield* chains.reanchor("base", mainnet, null)).status, "waiting")
            assert.strictEqual((yield* ended).status, "done")
            yield* becomes("ok")
            yield* journalIs("100 confirmed reorged", "500 confirmed")
          })
        )
      }).pipe(Effect.scoped),
    limitMillis
  )

  it.live(
    "does not wait for a rescan of blocks that the chain does not have any more, and takes every balance anew",
    () =>
      Effect.gen(function*() {
        const { database, endpoint, node, other } = yield* parting
        yield* inProcess(
          database,
          endpoint,
          Effect.gen(function*() {
            const chains = yield* Chains
            const sql = yield* SqlClient.SqlClient
            yield* firstHead
            const later = yield* addressOf(2)
            yield* node.mine(ringSize + 30)
            const top = yield* heightOf(node)
            yield* reaches(top)
            endpoint.set(withoutBlocks(top, top))
            assert.strictEqual((yield* chains.rescan("base", mainnet, top, top)).status, "waiting")
            yield* sql`INSERT INTO target_balances (id, merchant_id, version, network, environment, match_key, invoice_id,
            address, since_height, since_balance, forwarded, forwarded_height, height, opened_at, open)
          SELECT 'b' || n, 1, 1, 'base', 'mainnet', 'b' || n, 'b' || n, 'b' || n, ${top}, 0, 0, ${top}, ${top}, 1, true
          FROM generate_series(1, 2000) n`
            yield* other.token("transfer", [later, 400n])
            yield* other.mine(ringSize - 30)
            endpoint.lead(other.url)
            endpoint.set("through")
            yield* becomes("no_common_block")
            yield* chains.reanchor("base", mainnet, null)
            yield* eventually(
              "the reanchor is done",
              Effect.map(chains.repairs(mainnet), (repairs) =>
                repairs.some(({ kind, status: state }) =>
                    kind === "reanchor" && state === "done"
                  )
                  ? true
                  : undefined)
            )
            yield* journalIs("400 confirmed")
            const above = yield* sql<any>`SELECT count(*)::int AS count FROM target_balances WHERE height >= ${top}`
            assert.strictEqual(above[0].count, 0)
            const [waiting] = (yield* chains.repairs(mainnet)).filter(({ kind }) => kind === "rescan")
            assert.strictEqual(waiting!.status, "waiting")
          })
        )
      }).pipe(Effect.scoped),
    limitMillis
  )
})
