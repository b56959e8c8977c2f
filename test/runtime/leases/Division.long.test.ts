/**
 * Goal: a cluster whose instances know different work, or whose shards nobody has, says so. Method: the rules alone,
 * and the look on a real database with locks that a session without an instance holds.
 */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { instanceRoles, Leases } from "../../../runtime/Leases.ts"
import { layer, lockNamespace, sessionNameOf } from "../../../runtime/leases/Cluster.ts"
import {
  afterLook,
  differenceMillis,
  differencesOf,
  type Division,
  divisionFindings,
  emptyDivision,
  unownedLooks,
  unownedOf
} from "../../../runtime/leases/Division.ts"
import { ttlMillis } from "../../conformance/leases.ts"
import { connect, freshDatabase } from "../../support/Database.ts"
import { until } from "../../support/Service.ts"

const reading = (address: string, role: string, ...names: ReadonlyArray<string>) => ({ address, role, names })

describe("the division of a cluster's work", () => {
  it("differs where an instance of a role does not know what another one of it does", () => {
    assert.deepStrictEqual(
      differencesOf([
        reading("a", "worker", "timer:invoices", "timer:refunds"),
        reading("b", "worker", "timer:invoices"),
        reading("a", "follower", "chain:base"),
        reading("c", "api")
      ]),
      [{ role: "worker", names: ["timer:refunds"] }]
    )
  })

  it("degrades health from ten minutes of a difference on, as an update takes minutes, and not after its end", () => {
    const differences = [{ role: "worker", names: ["timer:refunds"] }]
    const look = (division: Division, nowMillis: number) => afterLook(division, { differences, unowned: 0 }, nowMillis)
    const early = look(look(emptyDivision, 0), differenceMillis - 1)
    assert.deepStrictEqual(divisionFindings(early, differenceMillis - 1), [])
    const late = look(early, differenceMillis)
    const [found] = divisionFindings(late, differenceMillis)
    assert.include(found!.message, "Not all instances with the role \"worker\" know \"timer:refunds\"")
    const ended = afterLook(late, { differences: [], unowned: 0 }, differenceMillis)
    assert.deepStrictEqual(divisionFindings(ended, differenceMillis), [])
  })

  it("has shards without an owner only of roles that an instance has, and degrades at the third look", () => {
    const granted = { api: 60, follower: 0, worker: 58 }
    assert.strictEqual(unownedOf([{ role: "api" }, { role: "worker" }], (role) => granted[role], 60), 2)
    let division = emptyDivision
    for (let looks = 1; looks <= unownedLooks; looks++) {
      division = afterLook(division, { differences: [], unowned: 2 }, 0)
      assert.lengthOf(divisionFindings(division, 0), looks < unownedLooks ? 0 : 1)
    }
  })

  it.live("is told when a session that belongs to no instance keeps the locks of shards", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const other = Context.get(yield* Layer.build(connect(database, "left behind")), SqlClient.SqlClient)
      const session = yield* other.reserve
      yield* session.executeRaw(
        `select pg_try_advisory_lock(${lockNamespace - 2 ** 32}, 3000000 + n) from generate_series(1, 7) n`,
        []
      )
      const instanceId = randomUUID()
      const services = yield* Layer.build(
        layer({ instanceId, roles: instanceRoles, takeoverMillis: ttlMillis }).pipe(
          Layer.provide(connect(database, sessionNameOf(instanceId)))
        )
      )
      const { findings } = Context.get(services, Leases)
      const [told] = yield* until("health tells", findings, (found) => found.length > 0)
      assert.include(told!.message, "7 parts of the cluster's work have no instance")
      yield* session.executeRaw("select pg_advisory_unlock_all()", [])
      yield* until("it ends", findings, (found) => found.length === 0)
    }))
})
