/**
 * Goal: what an operator asks of a follower loses no payment and counts none twice: blocks are read again, and a
 * follower whose blocks are no longer on the chain goes on from one that is. Method: real PostgreSQL, commit log and
 * leases; a simulated chain, reorganised deeper than the follower remembers.
 */
import { readingBlocks } from "../../support/Drivers.ts"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schedule, type Scope, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { baseUnits } from "../../../schemas/Money.ts"
import type { Network } from "../../../schemas/Network.ts"
import { type ChainDriver, Chains, DriverError, type RepairProgress } from "../../../runtime/Chains.ts"
import { ringSize } from "../../../runtime/chains/Points.ts"
import { layer as chainsLayer } from "../../../runtime/chains/TransferJournal.ts"
import {
  advanceRepair,
  anchorHeight,
  hasGap,
  heightsIn,
  inheritReanchor,
  lowestUncertainHeight,
  maximumRescanBlocks,
  mayReanchorAutomatically,
  nextHeights,
  nextRepair,
  type Repair,
  repairBatch,
  type StrandedChain,
  uncertainBlocks
} from "../../../runtime/chains/Repairs.ts"
import { Commit, noCause } from "../../../runtime/Commit.ts"
import { layer as commitLayer } from "../../../runtime/commit/GroupCommit.ts"
import { layer as leasesLayer } from "../../../runtime/leases/Database.ts"
import { runtimeTables } from "../../../runtime/Tables.ts"
import { make as makeSimulated } from "../../../modules/chains/simulated.ts"
import { catalogOf } from "../../fixtures/tokens.ts"
import { connect, freshDatabase } from "../../support/Database.ts"

const devnet = "devnet" as const

const eventually = <A>(look: Effect.Effect<A | undefined, unknown, SqlClient.SqlClient>) =>
  look.pipe(
    Effect.flatMap((found) => found === undefined ? Effect.fail("not yet") : Effect.succeed(found)),
    Effect.retry(Schedule.spaced(20)),
    Effect.orDie
  )

const inDeployment = <A, E>(work: Effect.Effect<A, E, Chains | Commit | SqlClient.SqlClient | Scope.Scope>) =>
  Effect.gen(function*() {
    const database = yield* freshDatabase
    yield* work.pipe(
      Effect.scoped,
      Effect.provide(
        Layer.fresh(chainsLayer.pipe(
          Layer.provideMerge(Layer.mergeAll(commitLayer(runtimeTables), leasesLayer, catalogOf())),
          Layer.provideMerge(connect(database))
        )),
        { local: true }
      )
    )
  }).pipe(Effect.scoped)

/** The journal as `transaction status`, with versions, once every entry was dealt with. */
const journal = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ tx_hash: string; status: string; handled: string; version: bigint }>`
    SELECT tx_hash, status, handled, version FROM transfers ORDER BY tx_hash`
  return rows.every(({ handled, status }) => handled === status) ? rows : undefined
})

const until = (...wanted: ReadonlyArray<string>) =>
  eventually(Effect.map(journal, (rows) => {
    const lines = rows?.map(({ status, tx_hash }) => `${tx_hash} ${status}`)
    return JSON.stringify(lines) === JSON.stringify(wanted) ? rows! : undefined
  }))

/** A chain whose driver follows past the transactions of `unseen`; `change` alters the driver further. */
const rigOf = (unseen: ReadonlyArray<string>, change: (driver: ChainDriver) => Partial<ChainDriver> = () => ({})) =>
  Effect.gen(function*() {
    const chains = yield* Chains
    const commit = yield* Commit
    const { drivers: [driver], service: chain } = yield* makeSimulated({ networks: ["base"], blockMillis: 3_600_000 })
    const forgetful: ChainDriver = {
      ...driver!,
      follow: (recent, watch) =>
        Stream.map(driver!.follow(recent, watch), (event) =>
          event._tag === "Forward"
            ? { ...event, transfers: event.transfers.filter(({ txHash }) => !unseen.includes(txHash)) }
            : event)
    }
    yield* chains.register({ ...forgetful, ...change(forgetful) })
    yield* chains.onTransfer((entry) =>
      commit.append({
        merchantId: entry.merchantId,
        environment: entry.environment,
        cause: noCause,
        writes: [chains.markHandled(entry, { blocks: 1, finalized: false })],
        events: []
      })
    )
    const status = () => chains.status(devnet)[0]!
    const head = Effect.suspend(() => Effect.succeed(status().head ?? undefined))
    // For an address that is given out before the first block is read, the blocks before it are read: a repair nobody
    // asked for.
    yield* eventually(head)
    const { matchKey } = yield* chains.allocate({
      merchantId: 1,
      invoiceId: "00000000-0000-4000-8000-000000000001",
      environment: devnet,
      family: "evm"
    })
    const pay = (txHash: string) =>
      chain.transfer({ network: "base", to: matchKey, tokenAddress: null, amount: baseUnits(5n), txHash })
    /** Blocks that are followed before the next thing happens. */
    const mine = Effect.fnUntraced(function*(blocks: number) {
      const before = (yield* eventually(head))!
      yield* chain.mine("base", blocks)
      yield* eventually(Effect.sync(() => status().head! >= before + BigInt(blocks) ? true : undefined))
    })
    const ended = eventually(
      Effect.map(
        chains.repairs(devnet),
        ([repair]) => repair?.status === "done" || repair?.status === "failed" ? repair : undefined
      )
    )
    const becomes = (condition: string) =>
      eventually(Effect.sync(() => status().condition === condition ? true : undefined))
    return { becomes, chain, chains, ended, head: Effect.map(eventually(head), (height) => height!), mine, pay, status }
  })

const shown = ({ credited, reason, status }: RepairProgress) => ({ credited, reason, status })

describe("a rescan", () => {
  it.live(
    "credits what was missed, however old, and touches nothing that is right, through failures of the node",
    () =>
      inDeployment(Effect.gen(function*() {
        let failures = 2
        const rig = yield* rigOf(["0xmissed"], (driver) =>
          readingBlocks(driver, (readBlock) =>
          (...args) =>
            failures-- > 0
              ? Effect.fail(new DriverError({ network: "base", reason: "no answer" }))
              : readBlock(...args)))
        const from = yield* rig.head
        yield* rig.pay("0xa")
        yield* rig.pay("0xmissed")
        yield* rig.mine(ringSize + 20)
        const [before] = yield* until("0xa confirmed")
        const to = yield* rig.head
        const asked = yield* rig.chains.rescan("base", devnet, from, to)
        assert.deepStrictEqual([asked.status, asked.from, asked.to], ["waiting", from, to])
        assert.deepStrictEqual(shown(yield* rig.ended), { credited: 1, reason: null, status: "done" })
        const [after] = yield* until("0xa confirmed", "0xmissed confirmed")
        assert.strictEqual(after!.version, before!.version)
        assert.strictEqual((yield* rig.chains.rescan("base", devnet, from, to)).status, "waiting")
        assert.deepStrictEqual(shown(yield* rig.ended), { credited: 0, reason: null, status: "done" })
        yield* until("0xa confirmed", "0xmissed confirmed")
      }))
  )

  it.live(
    "is refused with what to do where it cannot be, and runs once at a time",
    () =>
      inDeployment(Effect.gen(function*() {
        const rig = yield* rigOf([], (driver) => readingBlocks(driver, () => () => Effect.never))
        yield* rig.mine(20)
        const head = yield* rig.head
        const refused = (from: bigint, to: bigint, network: Network = "base") =>
          Effect.map(Effect.flip(rig.chains.rescan(network, devnet, from, to)), ({ code, param }) => `${code} ${param}`)
        assert.strictEqual(yield* refused(1n, 2n, "solana"), "UNSUPPORTED_NETWORK network")
        assert.strictEqual(yield* refused(head, head - 1n), "VALIDATION_ERROR from")
        assert.strictEqual(yield* refused(head, head + 1n), "VALIDATION_ERROR to")
        assert.strictEqual(yield* refused(head - maximumRescanBlocks, head), "VALIDATION_ERROR to")
        assert.deepStrictEqual(yield* rig.chains.repairs(devnet), [])
        yield* rig.chains.rescan("base", devnet, head - 5n, head)
        assert.strictEqual((yield* rig.chains.rescan("base", devnet, head - 5n, head)).from, head - 5n)
        assert.strictEqual(yield* refused(head - 6n, head), "INVALID_TRANSITION null")
        const healthy = yield* Effect.flip(rig.chains.reanchor("base", devnet, null))
        assert.strictEqual(healthy.code, "INVALID_TRANSITION")
      }))
  )
})

describe("a reanchor", () => {
  /**
   * A chain that was reorganised deeper than its follower remembers; `0xkept` is in other blocks now, `0xgone` in none.
   */
  const stranded = Effect.gen(function*() {
    const rig = yield* rigOf([])
    yield* rig.mine(10)
    yield* rig.pay("0xkept")
    yield* rig.pay("0xgone")
    yield* rig.mine(ringSize + 20)
    yield* until("0xgone confirmed", "0xkept confirmed")
    yield* rig.chain.reorg("base", ringSize + 25, { drop: ["0xgone"] })
    yield* rig.becomes("no_common_block")
    assert.isFalse(rig.status().healthy)
    yield* rig.pay("0xnew")
    return rig
  })

  it.live(
    "goes on below everything that was followed, and moves, reverts and credits each payment",
    () =>
      inDeployment(Effect.gen(function*() {
        const rig = yield* stranded
        const asked = yield* rig.chains.reanchor("base", devnet, null)
        assert.strictEqual(asked.status, "waiting")
        assert.strictEqual((yield* rig.ended).status, "done")
        yield* rig.becomes("ok")
        yield* until("0xgone reverted", "0xkept confirmed", "0xnew confirmed")
      }))
  )

  it.live("reads the gap to a later block that the operator chooses", () =>
    inDeployment(Effect.gen(function*() {
      const rig = yield* stranded
      const height = (yield* rig.head) + 1n
      const refused = yield* rig.chains.reanchor("base", devnet, height + 1_000n)
      assert.strictEqual(refused.status, "waiting")
      assert.include((yield* rig.ended).reason, "is not final: the newest final block is")
      yield* rig.chains.reanchor("base", devnet, height)
      const done = yield* rig.ended
      assert.strictEqual(done.status, "done")
      assert.strictEqual(done.to, height)
      yield* rig.becomes("ok")
      yield* until("0xgone reverted", "0xkept confirmed", "0xnew confirmed")
    })))
})

describe("repairs", () => {
  const repair: Repair = {
    id: "base:devnet:rescan",
    network: "base",
    environment: devnet,
    kind: "rescan",
    from: 5n,
    to: 20n,
    next: 5n,
    finalBefore: null,
    since: null,
    credited: 0,
    status: "waiting",
    reason: null,
    requestedAt: 1,
    version: 1
  }

  it("are read in batches up to the head, and done with their last block", () => {
    assert.deepStrictEqual(nextHeights(repair, 6n, repairBatch), { from: 5n, to: 6n })
    assert.deepStrictEqual(nextHeights(repair, 4n, repairBatch), null)
    assert.lengthOf(heightsIn(nextHeights(repair, 100n, repairBatch)!), repairBatch)
    assert.deepInclude(advanceRepair(repair, 12n, 2), { next: 13n, credited: 2, status: "running", version: 2 })
    assert.deepInclude(advanceRepair(repair, 20n, 0), { status: "done" })
    assert.deepInclude(advanceRepair({ ...repair, kind: "reanchor" }, 20n, 0), { status: "running" })
  })

  it("check all above the newest entry that is where it was, and a day of Base below what was followed at most", () => {
    assert.strictEqual(lowestUncertainHeight(uncertainBlocks.mainnet, 500n, 550n, null, null), 0n)
    assert.strictEqual(lowestUncertainHeight(uncertainBlocks.mainnet, 500n, 300n, null, 400n), 401n)
    assert.strictEqual(lowestUncertainHeight(uncertainBlocks.mainnet, 500n, 550n, 200n, 100n), 101n)
    assert.strictEqual(
      lowestUncertainHeight(uncertainBlocks.mainnet, 100_000n, 99_000n, null, null),
      100_000n - uncertainBlocks.mainnet
    )
    assert.strictEqual(
      lowestUncertainHeight(uncertainBlocks.mainnet, 100_000n, 99_000n, null, 10n),
      100_000n - uncertainBlocks.mainnet
    )
    assert.strictEqual(lowestUncertainHeight(uncertainBlocks.mainnet, 100_000n, 99_000n, 200n, 10n), 200n)
    // A chain younger than its final depth has no final block.
    assert.strictEqual(lowestUncertainHeight(uncertainBlocks.mainnet, 100n, -700n, null, null), 0n)
  })

  it("have a reanchor go first, and hand on what one left unread whose chain was lost as well", () => {
    const reanchor: Repair = { ...repair, kind: "reanchor", status: "running", finalBefore: 3n, requestedAt: 2 }
    assert.strictEqual(nextRepair([repair, reanchor]), reanchor)
    assert.strictEqual(nextRepair([repair, { ...reanchor, status: "done" }]), repair)
    assert.deepStrictEqual(inheritReanchor(reanchor), { next: 5n, finalBefore: 3n })
    assert.deepStrictEqual(inheritReanchor({ ...reanchor, from: null, next: 4n }), { next: 4n, finalBefore: 3n })
    assert.deepStrictEqual(inheritReanchor({ ...reanchor, status: "done" }), { next: null, finalBefore: null })
    assert.isTrue(hasGap(reanchor))
    assert.isFalse(hasGap(repair))
  })

  it("go on without an operator only where few blocks are stored, none was final and nothing was credited", () => {
    const lost: StrandedChain = {
      isFull: false,
      oldestFollowed: 40n,
      finalBefore: 30n,
      hasConfirmed: false,
      hasGap: false
    }
    assert.isTrue(mayReanchorAutomatically(lost))
    assert.isTrue(mayReanchorAutomatically({ ...lost, finalBefore: 39n }))
    assert.isFalse(mayReanchorAutomatically({ ...lost, isFull: true }))
    assert.isFalse(mayReanchorAutomatically({ ...lost, finalBefore: 40n }))
    assert.isFalse(mayReanchorAutomatically({ ...lost, hasConfirmed: true }))
    assert.isFalse(mayReanchorAutomatically({ ...lost, hasGap: true }))
  })

  it("go on from a final block only, by default one below everything that was followed", () => {
    assert.strictEqual(anchorHeight(null, 900n, 500n), 499n)
    assert.strictEqual(anchorHeight(null, 300n, 500n), 300n)
    assert.strictEqual(anchorHeight(null, 300n, 0n), 0n)
    assert.strictEqual(anchorHeight(700n, 900n, 500n), 700n)
    assert.include(anchorHeight(901n, 900n, 500n), "the newest final block is 900")
  })
})
