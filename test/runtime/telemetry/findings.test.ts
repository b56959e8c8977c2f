/**
 * Goal: each part of the service that stands still is named in a sentence for its operator, and takes an instance out
 * of service only where another one would do better. Method: the pure judgements, on states that were seen in audits,
 * and their neighbours.
 */
import { assert, describe, it } from "@effect/vitest"
import { longestWait, networkFindings, updateWaitTimes } from "../../../runtime/chains/Health.ts"
import type { NetworkCondition, NetworkStatus } from "../../../runtime/Chains.ts"
import {
  needsTrial,
  noFlushes,
  recordFailure,
  recordSuccess,
  serverFaultMillis,
  writeFindings
} from "../../../runtime/commit/Flushes.ts"
import { leaseFindings } from "../../../runtime/leases/Health.ts"
import { firstPriceSeconds, priceFindings, type PriceState } from "../../../runtime/prices/Health.ts"
import { makeReport } from "../../../runtime/telemetry/HealthReport.ts"
import { staleDueMillis, timerFindings } from "../../../runtime/timers/Health.ts"

const well = { database: true, isMigrated: true, outboxLagSeconds: 0, isStopping: false, checkFindings: [] } as const
const diskFull = "53100"

describe("an instance", () => {
  it("is unavailable for what only another one may do better, and names each reason", () => {
    assert.strictEqual(makeReport(well).status, "ok")
    const causes = [{ database: false }, { isMigrated: false }, { isStopping: true }] as const
    for (const cause of causes) {
      const report = makeReport({ ...well, ...cause })
      assert.strictEqual(report.status, "unavailable")
      assert.lengthOf(report.unavailable, 1)
    }
    const both = makeReport({
      ...well,
      outboxLagSeconds: 400,
      checkFindings: [
        { check: "writes", effect: "unavailable", message: "w" },
        { check: "networks", effect: "degraded", message: "n" }
      ]
    })
    assert.strictEqual(both.status, "unavailable")
    assert.deepStrictEqual(both.unavailable, [{ check: "writes", message: "w" }])
    assert.deepStrictEqual(both.degraded.map(({ check }) => check), ["deliveries", "networks"])
    assert.deepInclude(both.checks, { writes: { ok: false }, networks: { ok: false }, leases: { ok: true } })
  })

  it("cannot write from a failed flush on until a later one, or a trial row, is stored", () => {
    const broken = recordFailure(recordSuccess(noFlushes, 1_000), 2_000, undefined)
    assert.isFalse(needsTrial(noFlushes))
    assert.isFalse(needsTrial(recordSuccess(noFlushes, 1_000)))
    assert.isTrue(needsTrial(broken))
    assert.isFalse(needsTrial(recordSuccess(broken, 3_000)))
    const effects = (flushes: typeof broken, isTrialStored: boolean | null, now: number) =>
      writeFindings(flushes, isTrialStored, now).map(({ effect }) => effect)
    assert.deepStrictEqual(effects(noFlushes, null, 9_000), [])
    assert.deepStrictEqual(effects(broken, false, 60_000), ["unavailable"])
    // A commit that only waited for a lock is no reason: a row of its own is stored.
    assert.deepStrictEqual(effects(broken, true, 2_100), [])
    assert.deepStrictEqual(effects(recordSuccess(broken, 3_000), null, 3_100), [])
  })

  it("believes a server for 10 s that it cannot store, though a small row finds room", () => {
    const broken = recordFailure(noFlushes, 2_000, diskFull)
    const at = (isTrialStored: boolean | null, now: number, flushes = broken) =>
      writeFindings(flushes, isTrialStored, now).map(({ effect }) => effect)
    assert.deepStrictEqual(at(true, 2_000 + serverFaultMillis - 1), ["unavailable"])
    assert.deepStrictEqual(at(true, 2_000 + serverFaultMillis), [])
    assert.deepStrictEqual(at(null, 2_500, recordSuccess(broken, 2_400)), ["degraded"])
    assert.deepStrictEqual(at(null, 2_000 + serverFaultMillis, recordSuccess(broken, 2_400)), [])
  })
})

describe("what needs a look, though every instance serves", () => {
  const status = (condition: NetworkCondition): NetworkStatus => ({
    network: "base",
    environment: "mainnet",
    healthy: condition === "ok",
    condition,
    cursorTime: 1,
    head: 5n,
    headTime: 1
  })

  it("is a network whose nodes are silent, stand still, disagree or have another chain", () => {
    assert.deepStrictEqual(networkFindings([status("ok")]), [])
    for (const condition of ["silent", "frozen", "disagreement", "no_common_block"] as const) {
      const [finding, ...others] = networkFindings([status("ok"), status(condition)])
      assert.lengthOf(others, 0)
      assert.strictEqual(finding?.effect, "degraded")
      assert.match(finding!.message, /^base \(mainnet\): .+\. .+\.$/)
    }
  })

  it("is work of which nobody was seen to renew the lease for three terms", () => {
    const term = (ageMillis: number, progressAgeMillis = 0) => ({
      name: "chain:base:mainnet",
      ttlMillis: 6_000,
      passMillis: 120_000,
      isHeldHere: false,
      ageMillis,
      progressAgeMillis
    })
    assert.deepStrictEqual(leaseFindings([term(0), term(18_000)]), [])
    assert.match(
      leaseFindings([term(18_001)])[0]!.message,
      /^No instance was seen to do "chain:base:mainnet" for 18 s: /
    )
    assert.deepStrictEqual(leaseFindings([term(0, 360_000)]), [])
    assert.match(
      leaseFindings([term(0, 360_001)])[0]!.message,
      /^"chain:base:mainnet" made no progress for 360 s, although it was begun anew: /
    )
  })

  it("is a payment that was seen and is still not credited, counted from the first look that saw it so", () => {
    let waiting = updateWaitTimes(new Map(), ["a seen"], 1_000)
    assert.strictEqual(longestWait(waiting, 1_000), 0)
    waiting = updateWaitTimes(waiting, ["a seen", "b seen"], 31_000)
    assert.strictEqual(longestWait(waiting, 31_000), 30_000)
    // Credited as seen; what waits now is that it is confirmed.
    waiting = updateWaitTimes(waiting, ["a confirmed", "b seen"], 41_000)
    assert.strictEqual(longestWait(waiting, 41_000), 10_000)
    assert.strictEqual(longestWait(updateWaitTimes(waiting, [], 42_000), 42_000), 0)
  })

  it("is what is due for a minute", () => {
    const due = (dueMillis: number | null) => timerFindings([{ name: "invoices", dueMillis }], 1_000_000)
    assert.deepStrictEqual([due(null), due(2_000_000), due(1_000_000 - staleDueMillis)], [[], [], []])
    assert.match(due(999_999 - staleDueMillis)[0]!.message, /^Work of "invoices" is 60 s overdue: /)
  })

  it("is that nothing can be quoted, or that an asset lost its price, and not what never had one", () => {
    const state: PriceState = {
      environment: "mainnet",
      sources: 2,
      assets: 3,
      lostAssets: [],
      neverPricedCount: 0,
      ageSeconds: firstPriceSeconds
    }
    const said = (more: Partial<PriceState>) =>
      priceFindings([{ ...state, ...more }]).map(({ message }) => message.slice(0, 40))
    assert.deepStrictEqual(said({}), [])
    assert.deepStrictEqual(said({ neverPricedCount: 2 }), [])
    assert.deepStrictEqual(said({ assets: 0, sources: 0 }), [])
    assert.deepStrictEqual(said({ sources: 0, neverPricedCount: 3, ageSeconds: firstPriceSeconds - 1 }), [])
    assert.deepStrictEqual(
      said({ sources: 0, neverPricedCount: 3 }),
      ["mainnet: no price source is configured, so n"].map((text) => text.slice(0, 40))
    )
    assert.match(said({ neverPricedCount: 3 })[0]!, /^mainnet: no asset has a price/)
    assert.match(said({ lostAssets: ["ethereum"] })[0]!, /^mainnet: 1 of 3 assets have lost/)
  })
})
