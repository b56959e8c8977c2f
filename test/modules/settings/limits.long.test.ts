/**
 * Goal: nobody raises the limits of real money alone at once, and everybody who may can end such a change in time.
 * Method: people of a merchant call instances over one database, at once and after an instance has ended; a day passes
 * by turning the dates of what waits back.
 */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { Keys } from "../../../modules/auth/actor.ts"
import { MerchantSettings } from "../../../modules/settings/plugin.ts"
import { Timers } from "../../../runtime/Timers.ts"
import type { Role } from "../../../schemas/Roles.ts"
import { type Answer, Api } from "../../support/Api.ts"
import { migratedDatabase } from "../../support/Database.ts"
import { together } from "../../support/Together.ts"
import { limitsInstance, type LimitsServices, type Team } from "./LimitsDeployment.ts"

const path = "/api/v1/merchant/settings"
const day = 86_400

/** A deployment with a merchant, whose members have these roles; each is named by its role and place. */
const deployment = Effect.fnUntraced(function*(...roles: ReadonlyArray<Role>) {
  const database = yield* migratedDatabase
  const team: Team = new Map()
  const start = limitsInstance(database, team)
  const instance: Context.Context<LimitsServices> = yield* start
  const { id } = yield* Context.get(instance, Keys).createMerchant("Shop", "owner@shop.example")
  const people = roles.map((role, place) => ({ person: `${role}${place}`, role }))
  team.set(id, people)
  const as = (person: string, on: Context.Context<LimitsServices> = instance, merchant = id, moneyFrom = "") => {
    const token = `${person}.${person.replace(/\d+$/, "")}.${merchant}${moneyFrom}`
    const call = (method: string, at: string, body?: unknown) =>
      Context.get(on, Api).call(at, {
        method,
        headers: { authorization: `Bearer ${token}` },
        ...(body === undefined ? {} : { body })
      })
    return {
      change: (body: object, environment = "mainnet") => call("PATCH", `${path}?environment=${environment}`, body),
      read: Effect.map(call("GET", path), ({ json }) => json),
      approve: (change: string) => call("POST", `${path}/changes/${change}/approve`),
      cancel: (change: string) => call("DELETE", `${path}/changes/${change}`),
      actions: Effect.map(
        call("GET", "/api/v1/audit-log"),
        ({ json }) => json.data.data.map(({ action }: any) => action)
      )
    }
  }
  const sql = Context.get(instance, SqlClient.SqlClient)
  const backdate = (seconds: number) =>
    sql`UPDATE merchant_settings SET due_at = due_at - ${seconds}::bigint,
      proposal = jsonb_set(proposal::jsonb, '{agreedAt}',
        to_jsonb((proposal ->> 'agreedAt')::bigint - ${seconds}::bigint))::json
      WHERE proposal ->> 'agreedAt' IS NOT NULL`.pipe(Effect.orDie)
  /** What waits has waited for so many seconds more, and is looked at. */
  const age = (seconds: number) => Effect.andThen(backdate(seconds), Context.get(instance, Timers).wake("settings"))
  return { age, as, backdate, id, instance, people, sql, start, team }
})

const codeOf = ({ json, status }: Answer): string => status === 200 ? "200" : `${status} ${json.code}`

/** Waits for what the timer does. */
const until = <A>(read: Effect.Effect<A>, isThere: (found: A) => boolean) =>
  Effect.gen(function*() {
    for (let tries = 0; tries < 400; tries++) {
      const found = yield* read
      if (isThere(found)) return found
      yield* Effect.sleep("25 millis")
    }
    return yield* read
  })

describe("limits of real money", () => {
  it.live("hold at once where they are lower, and a day later where they are higher and nobody else may approve", () =>
    Effect.gen(function*() {
      const { age, as, id, instance } = yield* deployment("owner", "support")
      const owner = as("owner0")
      const lower = (yield* owner.change({ auto_approve_limit: 100_000, payout_limit_day: 50_000 })).json
      assert.deepInclude(lower, { auto_approve_limit: 100_000, payout_limit_day: 50_000, pending_change: null })

      const before = Math.floor(Date.now() / 1000)
      const higher = {
        auto_approve_limit: 900_000,
        payout_limit_day: null,
        payout_limit_batch: 10,
        late_window_seconds: 5
      }
      const asked = (yield* owner.change(higher)).json
      assert.deepInclude(asked, {
        auto_approve_limit: 100_000,
        payout_limit_day: 50_000,
        payout_limit_batch: 10,
        late_window_seconds: 5
      })
      const { in_force_from: from, settings, ...pending } = asked.pending_change
      assert.deepStrictEqual(settings, { auto_approve_limit: 900_000, payout_limit_day: null })
      assert.deepInclude(pending, { proposed_by: "wallet:owner0", needs_approval: false, approved_by: null })
      assert.isAtLeast(from, before + day)
      assert.deepStrictEqual(yield* owner.read, asked)
      assert.strictEqual((yield* owner.change(higher)).json.pending_change.in_force_from, from)

      yield* age(day - 60)
      yield* Effect.sleep("300 millis")
      assert.strictEqual((yield* owner.read).auto_approve_limit, 100_000)
      yield* age(60)
      const held = yield* until(owner.read, ({ pending_change }) => pending_change === null)
      assert.deepInclude(held, { auto_approve_limit: 900_000, payout_limit_day: null, payout_limit_batch: 10 })
      const rules = yield* Context.get(instance, MerchantSettings).forInvoices(id, "mainnet")
      assert.strictEqual(rules.auto_approve_limit, 900_000)
      assert.deepStrictEqual(yield* owner.actions, [
        "settings.update",
        "settings.propose_limits",
        "settings.update",
        "settings.update"
      ])
    }))

  it.live("are play money's own affair on devnet", () =>
    Effect.gen(function*() {
      const { as } = yield* deployment("owner", "owner")
      const { json } = yield* as("owner0").change({ auto_approve_limit: 900_000 }, "devnet")
      assert.deepInclude(json, { auto_approve_limit: 900_000, pending_change: null })
    }))

  it.live("take another person's word where another may approve, and wait a day from that on", () =>
    Effect.gen(function*() {
      const { age, as, id, instance, team } = yield* deployment("owner", "admin", "support")
      const owner = as("owner0")
      const { pending_change: asked } = (yield* owner.change({ auto_approve_limit: 900_000 })).json
      assert.deepInclude(asked, { needs_approval: true, approved_by: null, in_force_from: null })
      assert.strictEqual(codeOf(yield* owner.approve(asked.id)), "403 APPROVER_MUST_DIFFER")
      assert.strictEqual(codeOf(yield* as("support2").approve(asked.id)), "403 PERMISSION_DENIED")
      assert.strictEqual(codeOf(yield* as("admin1").change({ auto_approve_limit: 900_000 })), "403 PERMISSION_DENIED")
      const inAnHour = `.${Math.floor(Date.now() / 1000) + 3_600}`
      assert.strictEqual(
        codeOf(yield* as("admin1", instance, id, inAnHour).approve(asked.id)),
        "403 PERMISSION_DENIED"
      )
      const { id: other } = yield* Context.get(instance, Keys).createMerchant("Other", "o@other.example")
      team.set(other, [{ person: "owner9", role: "owner" }])
      assert.strictEqual(codeOf(yield* as("owner9", instance, other).approve(asked.id)), "404 NOT_FOUND")
      assert.strictEqual(codeOf(yield* as("owner9", instance, other).cancel(asked.id)), "404 NOT_FOUND")
      const { key } = yield* Context.get(instance, Keys).create({
        merchantId: id,
        name: "k",
        scope: "merchant",
        environment: "mainnet",
        expiresAt: null
      })
      for (const [method, at] of [["POST", `${asked.id}/approve`], ["DELETE", asked.id]] as const) {
        const answer = yield* Context.get(instance, Api).call(`${path}/changes/${at}`, {
          method,
          headers: { "x-api-key": key }
        })
        assert.strictEqual(codeOf(answer), "403 CREDENTIAL_NOT_ALLOWED")
      }

      const approved = (yield* as("admin1").approve(asked.id)).json.pending_change
      assert.deepInclude(approved, { id: asked.id, approved_by: "wallet:admin1" })
      assert.isAtLeast(approved.in_force_from, asked.proposed_at + day)
      assert.deepStrictEqual((yield* as("admin1").approve(asked.id)).json.pending_change, approved)
      assert.strictEqual((yield* owner.read).auto_approve_limit, 500_000)
      yield* age(day)
      assert.strictEqual(
        (yield* until(owner.read, (found) => found.pending_change === null)).auto_approve_limit,
        900_000
      )
      assert.strictEqual(codeOf(yield* as("admin1").cancel(asked.id)), "404 NOT_FOUND")
    }))

  it.live("lose their approval and their time where they are changed while they wait", () =>
    Effect.gen(function*() {
      const { age, as } = yield* deployment("owner", "admin")
      const owner = as("owner0")
      const first = (yield* owner.change({ auto_approve_limit: 900_000 })).json.pending_change
      yield* as("admin1").approve(first.id)
      yield* age(day - 10)
      yield* owner.change({ payout_limit_day: 5_000 })
      const second = (yield* owner.change({ payout_limit_day: 6_000 })).json.pending_change
      assert.notStrictEqual(second.id, first.id)
      assert.deepInclude(second, { needs_approval: true, approved_by: null, in_force_from: null })
      assert.deepStrictEqual(second.settings, { auto_approve_limit: 900_000, payout_limit_day: 6_000 })
      assert.strictEqual(codeOf(yield* as("admin1").approve(first.id)), "404 NOT_FOUND")

      // A limit that is sent as it is, or lower, waits no more; the rest is as it was approved.
      yield* as("admin1").approve(second.id)
      const rest = (yield* owner.change({ auto_approve_limit: 400_000 })).json
      assert.strictEqual(rest.auto_approve_limit, 400_000)
      assert.deepInclude(rest.pending_change, { id: second.id, approved_by: "wallet:admin1" })
      assert.deepStrictEqual(rest.pending_change.settings, { payout_limit_day: 6_000 })
      assert.isNull((yield* owner.change({ payout_limit_day: 5_000 })).json.pending_change)
    }))

  it.live("are canceled by everybody who may approve, also by who has just recovered", () =>
    Effect.gen(function*() {
      const { age, as, id, instance } = yield* deployment("owner", "admin", "accountant")
      const owner = as("owner0")
      const asked = (yield* owner.change({ auto_approve_limit: 900_000 })).json.pending_change
      yield* as("admin1").approve(asked.id)
      assert.strictEqual(codeOf(yield* as("accountant2").cancel(asked.id)), "403 PERMISSION_DENIED")
      const inADay = `.${Math.floor(Date.now() / 1000) + day}`
      const canceled = yield* as("admin1", instance, id, inADay).cancel(asked.id)
      assert.isNull(canceled.json.pending_change)
      yield* age(day)
      yield* Effect.sleep("300 millis")
      assert.deepInclude(yield* owner.read, { auto_approve_limit: 500_000, pending_change: null })
      assert.deepStrictEqual(yield* owner.actions, [
        "settings.cancel_limits",
        "access.denied",
        "settings.approve_limits",
        "settings.propose_limits"
      ])
    }))

  it.live("end with who wanted them, and take another word where who approved may not any more", () =>
    Effect.gen(function*() {
      const { age, as, id, people, team } = yield* deployment("owner", "owner", "admin")
      const asked = (yield* as("owner0").change({ auto_approve_limit: 900_000 })).json.pending_change
      yield* as("admin2").approve(asked.id)
      team.set(id, people.slice(0, 2))
      assert.deepInclude((yield* as("owner1").read).pending_change, { approved_by: null, in_force_from: null })
      yield* age(day)
      yield* Effect.sleep("300 millis")
      assert.strictEqual((yield* as("owner1").read).auto_approve_limit, 500_000)
      // One owner is left: it needs the word that nobody can give, so it is asked for anew.
      team.set(id, people.slice(0, 1))
      assert.deepInclude((yield* as("owner0").read).pending_change, { needs_approval: true, in_force_from: null })

      team.set(id, people)
      yield* as("owner1").approve(asked.id)
      team.set(id, people.slice(1))
      yield* age(day)
      const left = yield* until(as("owner1").actions, (actions) => actions[0] === "settings.cancel_limits")
      assert.strictEqual(left[0], "settings.cancel_limits")
      assert.deepInclude(yield* as("owner1").read, { auto_approve_limit: 500_000, pending_change: null })
    }))

  it.live("take an approval too where somebody joined who may give one, and wait anew from that on", () =>
    Effect.gen(function*() {
      const { age, as, id, team } = yield* deployment("owner")
      const asked = (yield* as("owner0").change({ auto_approve_limit: 900_000 })).json.pending_change
      assert.isNotNull(asked.in_force_from)
      team.set(id, [{ person: "owner0", role: "owner" }, { person: "admin1", role: "admin" }])
      yield* age(day)
      const waiting = yield* until(as("owner0").read, (found) => found.pending_change.in_force_from === null)
      assert.strictEqual(waiting.auto_approve_limit, 500_000)
      const approved = (yield* as("admin1").approve(asked.id)).json.pending_change
      assert.isAtLeast(approved.in_force_from, Math.floor(Date.now() / 1000) + day - 60)
    }))

  it.live("keep both of two changes that come at once, and an approval is of what was read", () =>
    Effect.gen(function*() {
      const { as, id, instance, start } = yield* deployment("owner", "owner", "admin")
      const second = yield* start
      yield* as("owner0").change({ payout_limit_batch: 10, payout_limit_day: 10 })
      const both = yield* together(instance, "merchant_settings", [
        as("owner0").change({ payout_limit_batch: 20 }),
        as("owner1", second, id).change({ payout_limit_day: 20 })
      ])
      assert.deepStrictEqual(both.map(codeOf), ["200", "200"])
      const asked = (yield* as("owner0").read).pending_change
      assert.deepStrictEqual(asked.settings, { payout_limit_batch: 20, payout_limit_day: 20 })

      const [approval] = yield* together(instance, "merchant_settings", [
        as("admin2", second, id).approve(asked.id),
        as("owner0").change({ payout_limit_day: null })
      ])
      const after = (yield* as("owner0").read).pending_change
      assert.include(["200", "404 NOT_FOUND"], codeOf(approval!))
      assert.deepStrictEqual(after.settings, { payout_limit_batch: 20, payout_limit_day: null })
      assert.deepInclude(after, { approved_by: null, in_force_from: null })
    }))

  it.live("come into force once, on whichever instance lives, though the one that took them has ended", () =>
    Effect.gen(function*() {
      const { age, as, id, sql, start } = yield* deployment("owner")
      const scope = yield* Scope.make()
      const other = yield* Scope.provide(start, scope)
      const asked = (yield* as("owner0", other, id).change({ auto_approve_limit: 900_000 })).json.pending_change
      assert.isNotNull(asked)
      yield* Scope.close(scope, Exit.void)
      yield* age(day)
      yield* start
      yield* start
      yield* until(as("owner0").read, ({ pending_change }) => pending_change === null)
      yield* Effect.sleep("300 millis")
      assert.strictEqual((yield* as("owner0").read).auto_approve_limit, 900_000)
      assert.deepStrictEqual(yield* as("owner0").actions, ["settings.update", "settings.propose_limits"])
      const [row] = yield* sql<{ version: bigint }>`SELECT version FROM merchant_settings`
      assert.strictEqual(row!.version, 2n)
    }))

  it.live("are canceled or in force, and never both, where both come at the same moment", () =>
    Effect.gen(function*() {
      const { as, backdate, instance } = yield* deployment("owner")
      const owner = as("owner0")
      const asked = (yield* owner.change({ auto_approve_limit: 900_000 })).json.pending_change
      yield* backdate(day)
      const [canceled] = yield* Effect.all([owner.cancel(asked.id), Context.get(instance, Timers).wake("settings")], {
        concurrency: "unbounded"
      })
      yield* Effect.sleep("500 millis")
      assert.deepInclude(yield* owner.read, {
        auto_approve_limit: codeOf(canceled) === "200" ? 500_000 : 900_000,
        pending_change: null
      })
    }))
})
