/**
 * Goal: whatever a stranger sends to addresses of ours, honest payments are dealt with first and the journal stays
 * small. Method: real PostgreSQL, commit log and leases; simulated chains with floods in one transaction; work is
 * counted, not timed. The bench `flood` times the same on a real node.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schedule, type Scope, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { baseUnits } from "../../../schemas/Money.ts"
import { type ChainEvent, Chains, type ObservedTransfer } from "../../../runtime/Chains.ts"
import { layer as chainsLayer } from "../../../runtime/chains/TransferJournal.ts"
import { repairBatch } from "../../../runtime/chains/Repairs.ts"
import {
  admitTransfers,
  maximumPerBlock,
  maximumPerContract,
  maximumPerTarget,
  screenTransfers
} from "../../../runtime/chains/UnlistedTransfers.ts"
import { Commit, noCause } from "../../../runtime/Commit.ts"
import { layer as commitLayer } from "../../../runtime/commit/GroupCommit.ts"
import { layer as leasesLayer } from "../../../runtime/leases/Database.ts"
import { runtimeTables } from "../../../runtime/Tables.ts"
import { make as makeSimulated, type SimulatedTransfer } from "../../../modules/chains/simulated.ts"
import { catalogOf, token, usdc, usdcListing } from "../../fixtures/tokens.ts"
import { connect, freshDatabase } from "../../support/Database.ts"

const devnet = "devnet" as const
const fake = (number: number) => `0x${number.toString(16).padStart(40, "0")}`
/** Its smallest payment is a greater number than any of USDC. */
const dai = token(2, { ...usdcListing, symbol: "DAI", address: fake(0xda1), decimals: 18 })
const inactive = token(3, { ...usdcListing, symbol: "USDT", address: fake(0xbad), active: false })
const invoice = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`

const eventually = <A>(look: Effect.Effect<A | undefined, unknown, SqlClient.SqlClient>) =>
  look.pipe(
    Effect.flatMap((found) => found === undefined ? Effect.fail("not yet") : Effect.succeed(found)),
    Effect.retry(Schedule.spaced(20)),
    Effect.orDie
  )

/** A chain whose catalogue lists three tokens; the handler records what it hears as `status amount of invoice`. */
const rig = Effect.fnUntraced(function*(shown: (event: ChainEvent) => ChainEvent = (event) => event) {
  const chains = yield* Chains
  const commit = yield* Commit
  const { drivers, service: chain } = yield* makeSimulated({ networks: ["base"], blockMillis: 3_600_000 })
  for (const driver of drivers) {
    yield* chains.register({ ...driver, follow: (recent, watch) => Stream.map(driver.follow(recent, watch), shown) })
  }
  const heard: Array<string> = []
  yield* chains.onTransfer((entry) =>
    Effect.gen(function*() {
      heard.push(`${entry.status} ${entry.amount} of ${Number(entry.invoiceId!.slice(-12))}`)
      yield* commit.append({
        merchantId: entry.merchantId,
        environment: entry.environment,
        cause: noCause,
        writes: [chains.markHandled(entry, { blocks: 1, finalized: false })],
        events: []
      })
    })
  )
  const targetOf = (number: number, merchantId = 1) =>
    Effect.map(
      chains.allocate({ merchantId, invoiceId: invoice(number), environment: devnet, family: "evm" }),
      ({ matchKey }) => matchKey
    )
  return { chain, chains, heard, targetOf }
})

const inDeployment = <A, E>(work: Effect.Effect<A, E, Chains | Commit | SqlClient.SqlClient | Scope.Scope>) =>
  Effect.gen(function*() {
    const database = yield* freshDatabase
    yield* work.pipe(
      Effect.scoped,
      Effect.provide(
        Layer.fresh(chainsLayer.pipe(
          Layer.provideMerge(Layer.mergeAll(commitLayer(runtimeTables), leasesLayer, catalogOf(usdc, dai, inactive))),
          Layer.provideMerge(connect(database))
        )),
        { local: true }
      )
    )
  }).pipe(Effect.scoped)

const rowCount = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ rows: number; left: number }>`
    SELECT count(*)::int AS rows, count(*) FILTER (WHERE status <> handled)::int AS left FROM transfers`
  return row!
})

/** Until the handler has nothing left to do. */
const dealtWith = (rows: number) =>
  eventually(Effect.map(rowCount, (count) => count.rows >= rows && count.left === 0 ? count : undefined))

const many = (count: number, to: string, tokenAddress: string | null, amount = 1n): ReadonlyArray<SimulatedTransfer> =>
  Array.from({ length: count }, () => ({ network: "base", to, tokenAddress, amount: baseUnits(amount) }))

describe("a flood of transfers", () => {
  it.live(
    "of a token nobody lists comes after the payment of the same block, and leaves few rows",
    () =>
      inDeployment(Effect.gen(function*() {
        const { chain, heard, targetOf } = yield* rig()
        const to = yield* targetOf(1)
        yield* chain.transaction("base", [...many(3_000, to, fake(1)), ...many(1, to, usdc.address, 7n)])
        const { rows } = yield* dealtWith(1)
        assert.strictEqual(rows, 1 + maximumPerContract)
        assert.strictEqual(heard[0], "seen 7 of 1")
      }))
  )

  it.live(
    "of many such tokens to many invoices is bounded for each, and recorded for each",
    () =>
      inDeployment(Effect.gen(function*() {
        const { chain, heard, targetOf } = yield* rig()
        const targets = [yield* targetOf(1), yield* targetOf(2, 2)]
        const tokens = Array.from({ length: 50 }, (_, number) => fake(number + 1))
        for (let block = 0; block < 2; block++) {
          yield* chain.transaction("base", targets.flatMap((to) => tokens.flatMap((token) => many(3, to, token))))
          yield* dealtWith(1)
        }
        assert.strictEqual((yield* rowCount).rows, targets.length * maximumPerTarget)
        // A customer who errs within the catalogue is heard all the same.
        yield* chain.transaction("base", many(1, targets[0]!, inactive.address, 9n))
        yield* eventually(Effect.sync(() => heard.includes("seen 9 of 1") ? true : undefined))
        for (const number of [1, 2]) {
          assert.lengthOf(heard.filter((each) => each === `seen 1 of ${number}`), maximumPerTarget)
        }
      }))
  )

  it.live(
    "of a listed token to one invoice holds up no other invoice, of the same merchant or another",
    () =>
      inDeployment(Effect.gen(function*() {
        const { chain, heard, targetOf } = yield* rig()
        const [flooded, neighbour, stranger] = [yield* targetOf(1), yield* targetOf(2), yield* targetOf(3, 2)]
        yield* chain.transaction("base", many(1_500, flooded, usdc.address))
        yield* eventually(Effect.map(rowCount, ({ rows }) => rows === 1_500 ? true : undefined))
        const before = heard.length
        yield* chain.transaction("base", [
          ...many(1, neighbour, usdc.address, 7n),
          ...many(1, stranger, usdc.address, 8n)
        ])
        const at = (what: string) =>
          eventually(Effect.sync(() => heard.includes(what) ? heard.indexOf(what) - before : undefined))
        // What was being handled when they came, and a turn of the flooded invoice beside each of them.
        assert.isBelow(yield* at("seen 7 of 2"), 100)
        assert.isBelow(yield* at("seen 8 of 3"), 100)
      }))
  )

  it.live(
    "of dust of listed tokens to one invoice, in blocks before its payment, comes after that payment",
    () =>
      inDeployment(Effect.gen(function*() {
        const { chain, heard, targetOf } = yield* rig()
        const to = yield* targetOf(1)
        for (let block = 0; block < 4; block++) {
          yield* chain.transaction("base", [
            ...many(150, to, usdc.address),
            ...many(150, to, dai.address, 1_000_000_000n)
          ])
        }
        yield* eventually(Effect.map(rowCount, ({ rows }) => rows === 1_200 ? true : undefined))
        const before = heard.length
        yield* chain.transaction("base", many(1, to, usdc.address, 7n))
        const place = yield* eventually(
          Effect.sync(() => heard.includes("seen 7 of 1") ? heard.indexOf("seen 7 of 1") : undefined)
        )
        assert.isBelow(place - before, 100)
      }))
  )

  it.live(
    "is bounded for each contract also where a rescan finds it in many blocks at once",
    () =>
      inDeployment(Effect.gen(function*() {
        const { chain, chains, heard, targetOf } = yield* rig((event) =>
          event._tag === "Forward" ? { ...event, transfers: [] } : event
        )
        const to = yield* targetOf(1)
        const head = () => chains.status(devnet)[0]!.head
        const first = yield* eventually(Effect.sync(() => head() ?? undefined))
        for (let block = 0; block < repairBatch; block++) {
          yield* chain.transaction("base", [...many(3, to, fake(1)), ...many(1, to, usdc.address, 7n)])
        }
        const last = first + BigInt(repairBatch)
        yield* eventually(Effect.sync(() => head()! >= last ? true : undefined))
        yield* chains.rescan("base", devnet, first + 1n, last)
        yield* eventually(
          Effect.map(chains.repairs(devnet), ([repair]) => repair?.status === "done" ? true : undefined)
        )
        const paid = () => heard.filter((each) => each === "confirmed 7 of 1").length
        yield* eventually(Effect.sync(() => paid() >= repairBatch ? true : undefined))
        yield* dealtWith(repairBatch)
        assert.strictEqual((yield* rowCount).rows, repairBatch + maximumPerContract)
        assert.strictEqual(paid(), repairBatch)
      }))
  )

  it.live("leaves out what an operator can still report", () =>
    inDeployment(Effect.gen(function*() {
      const { chain, chains, heard, targetOf } = yield* rig()
      const to = yield* targetOf(1)
      const { txHash } = yield* chain.transaction("base", many(maximumPerContract + 1, to, fake(1), 9n))
      yield* dealtWith(maximumPerContract)
      const { head } = chains.status(devnet)[0]!
      yield* chains.report({
        network: "base",
        environment: devnet,
        txHash,
        index: maximumPerContract + 1,
        kind: "direct",
        matchKey: to,
        tokenAddress: fake(1),
        amount: baseUnits(9n),
        from: null,
        point: { height: head!, hash: "0x" },
        time: 1
      })
      yield* eventually(Effect.sync(() =>
        heard.filter((each) => each === "confirmed 9 of 1").length > maximumPerContract ? true : undefined
      ))
      assert.strictEqual((yield* rowCount).rows, maximumPerContract + 1)
    })))
})

describe("what is recorded of unlisted tokens", () => {
  let made = 0
  const transfer = (matchKey: string, tokenAddress: string): ObservedTransfer => ({
    txHash: `0x${++made}`,
    index: 1,
    kind: "direct",
    matchKey,
    tokenAddress,
    amount: baseUnits(1n),
    from: null
  })
  const idOf = ({ txHash }: ObservedTransfer) => txHash
  const isListed = ({ tokenAddress }: ObservedTransfer) => tokenAddress === "listed"

  it("is fair over contracts and targets where a block has more than fits", () => {
    const loud = Array.from({ length: 2_000 }, () => transfer("a", "loud"))
    const quiet = transfer("a", "quiet")
    const others = Array.from({ length: 1_000 }, (_, number) => transfer(`target ${number}`, "loud"))
    const payment = transfer("a", "listed")
    const { droppedCount, listed, unlistedTransfers } = screenTransfers([...loud, quiet, ...others, payment], isListed)
    assert.deepStrictEqual(listed, [payment])
    assert.lengthOf(unlistedTransfers, maximumPerBlock)
    assert.strictEqual(droppedCount, 3_001 - maximumPerBlock)
    assert.strictEqual(new Set(unlistedTransfers.map(({ matchKey }) => matchKey)).size, maximumPerBlock)
    assert.include(screenTransfers([...loud, quiet], isListed).unlistedTransfers, quiet)
  })

  it("counts what the journal holds, but for what has left its chain, and keeps what is in it", () => {
    const held = Array.from({ length: maximumPerContract }, () => transfer("a", "loud"))
    const entries = (isReverted: boolean) =>
      held.map((each) => ({ ...each, key: idOf(each), tokenAddress: each.tokenAddress, isReverted }))
    const fresh = transfer("a", "loud")
    assert.deepStrictEqual(admitTransfers([fresh, held[0]!], entries(false), idOf), [held[0]!])
    assert.deepStrictEqual(admitTransfers([fresh], entries(true), idOf), [fresh])
  })
})
