/**
 * Goal: where real money is received, nobody puts another wallet in the place of one alone at once. Method: people of a
 * merchant call instances over one database; a day passes by turning the dates of what waits back.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { randomUUID } from "node:crypto"
import type { Member } from "../../../runtime/Members.ts"
import type { Role } from "../../../schemas/Roles.ts"
import type { Answer } from "../../support/Api.ts"
import { migratedDatabase } from "../../support/Database.ts"
import { instanceOn, newAddress, newAddresses, simulatedNetworks, type WalletService } from "./WalletService.ts"

const day = 86_400

const codeOf = ({ json, status }: Answer): string => status === 200 ? "200" : `${status} ${json.code}`

/** A merchant whose members have these roles, each named by its role and place, with a wallet that receives. */
const deployment = Effect.fnUntraced(function*(...roles: ReadonlyArray<Role>) {
  const database = yield* migratedDatabase
  const chain = Effect.succeed(yield* simulatedNetworks)
  const people = roles.map((role, place): Member => ({ person: `${role}${place}`, role }))
  const team = new Map<number, ReadonlyArray<Member>>([[11, people]])
  const start = instanceOn(database, chain, false, team)
  const service = yield* start
  const as = (person: string, on: WalletService = service, merchant = 11) => {
    const key = `${merchant}m-${person}`
    return {
      put: (value: string, kind: "pool" | "address" = "pool") => on.put(key, "evm", kind, value),
      list: Effect.map(on.call(key, "GET", ""), ({ json }) => json),
      approve: (id: string) => on.call(key, "POST", `/evm/changes/${id}/approve`),
      cancel: (id: string) => on.call(key, "DELETE", `/evm/changes/${id}`),
      remove: on.call(key, "DELETE", "/evm")
    }
  }
  /** What waits has waited for so many seconds more. */
  const backdate = (seconds: number) =>
    service.sql`UPDATE receiving_wallets SET due_at = due_at - ${seconds}::bigint,
      proposal = jsonb_set(proposal::jsonb, '{agreedAt}',
        to_jsonb((proposal ->> 'agreedAt')::bigint - ${seconds}::bigint))::json
      WHERE proposal ->> 'agreedAt' IS NOT NULL`.pipe(Effect.orDie)
  const age = (seconds: number) => Effect.andThen(backdate(seconds), service.timers.wake("wallets"))
  /** Where the next invoice is paid. */
  const nextAddress = (on: WalletService = service) =>
    Effect.map(
      on.chains.allocate({ merchantId: 11, environment: "mainnet", family: "evm", invoiceId: randomUUID() }),
      ({ address }) => address
    ).pipe(Effect.orDie)
  const old = newAddresses("evm", 20)
  assert.isNull((yield* as("owner0").put(old.join(" "))).json.pending_change, "the first one receives at once")
  return { age, as, backdate, nextAddress, old, people, service, start, team }
})

const until = <A>(read: Effect.Effect<A>, isThere: (found: A) => boolean) =>
  Effect.gen(function*() {
    for (let tries = 0; tries < 400; tries++) {
      const found = yield* read
      if (isThere(found)) return found
      yield* Effect.sleep("25 millis")
    }
    return yield* read
  })

describe("a wallet in the place of one where real money is received", () => {
  it.live("waits for another person and then a day, and the old one receives until then", () =>
    Effect.gen(function*() {
      const { age, as, nextAddress, old, service } = yield* deployment("owner", "admin", "developer")
      const value = newAddresses("evm", 20)
      const waiting = (yield* as("owner0").put(value.join(" "))).json
      const { id, ...consent } = waiting.pending_change
      assert.deepInclude(consent, { needs_approval: true, approved_by: null, in_force_from: null })
      assert.deepStrictEqual(waiting.first_addresses, value.slice(0, 3))
      assert.include(old, yield* nextAddress())
      const { pending_wallets, wallets } = yield* as("admin1").list
      assert.deepStrictEqual(pending_wallets, [waiting])
      assert.deepStrictEqual(wallets[0].first_addresses, old.slice(0, 3))

      assert.strictEqual(codeOf(yield* as("owner0").approve(id)), "403 APPROVER_MUST_DIFFER")
      assert.strictEqual(codeOf(yield* as("developer2").approve(id)), "403 PERMISSION_DENIED")
      assert.strictEqual(codeOf(yield* as("developer2").cancel(id)), "403 PERMISSION_DENIED")
      assert.strictEqual(codeOf(yield* as("admin1").put(newAddress.evm())), "403 PERMISSION_DENIED")
      assert.strictEqual(codeOf(yield* as("owner0", service, 12).approve(id)), "404 NOT_FOUND")
      assert.strictEqual(codeOf(yield* as("owner0", service, 12).cancel(id)), "404 NOT_FOUND")
      assert.strictEqual(
        codeOf(yield* service.call("k11m", "POST", `/evm/changes/${id}/approve`)),
        "403 CREDENTIAL_NOT_ALLOWED"
      )
      assert.strictEqual(
        codeOf(yield* service.call("k11m", "DELETE", `/evm/changes/${id}`)),
        "403 CREDENTIAL_NOT_ALLOWED"
      )

      const approved = (yield* as("admin1").approve(id)).json.pending_change
      assert.strictEqual(approved.approved_by, "wallet_admin1")
      assert.isAtLeast(approved.in_force_from, Math.floor(Date.now() / 1000) + day - 60)
      yield* age(day - 60)
      yield* Effect.sleep("300 millis")
      assert.include(old, yield* nextAddress())
      yield* age(60)
      const after = yield* until(as("owner0").list, (found) => found.pending_wallets.length === 0)
      assert.deepInclude(after.wallets[0], { id: waiting.id, pending_change: null })
      assert.include(value, yield* nextAddress())
    }).pipe(Effect.scoped))

  it.live("is no first one again once the wallet was removed, which is at once", () =>
    Effect.gen(function*() {
      const { age, as, nextAddress, old } = yield* deployment("owner")
      const pending = (yield* as("owner0").put(newAddress.evm())).json.pending_change
      assert.strictEqual((yield* as("owner0").remove).status, 200)
      assert.deepStrictEqual(yield* as("owner0").list, { wallets: [], pending_wallets: [] })
      assert.strictEqual(codeOf(yield* as("owner0").cancel(pending.id)), "404 NOT_FOUND")
      const other = newAddress.evm()
      const waiting = (yield* as("owner0").put(other)).json.pending_change
      assert.isNotNull(waiting)
      assert.strictEqual((yield* Effect.exit(nextAddress()))._tag, "Failure")
      // The one of before takes its time, too: it may have been removed because somebody has its keys.
      assert.isNotNull((yield* as("owner0").put(old.join(" "))).json.pending_change)
      yield* as("owner0").put(other)
      yield* age(day)
      yield* until(as("owner0").list, (found) => found.pending_wallets.length === 0)
      assert.strictEqual(yield* nextAddress(), other)
    }).pipe(Effect.scoped))

  it.live("is replaced by yet another one, canceled, or ended by setting the one that receives", () =>
    Effect.gen(function*() {
      const { age, as, nextAddress, old } = yield* deployment("owner", "owner")
      const [first, second] = [newAddress.evm(), newAddress.evm()]
      const one = (yield* as("owner0").put(first)).json.pending_change
      yield* as("owner1").approve(one.id)
      const again = (yield* as("owner0").put(first)).json.pending_change
      assert.deepInclude(again, { id: one.id, approved_by: "wallet_owner1" })
      const two = (yield* as("owner0").put(second)).json.pending_change
      assert.deepInclude(two, { approved_by: null, in_force_from: null })
      assert.strictEqual(codeOf(yield* as("owner1").approve(one.id)), "404 NOT_FOUND")
      yield* as("owner1").approve(two.id)
      assert.strictEqual(codeOf(yield* as("owner1").cancel(two.id)), "200")
      yield* age(day)
      yield* Effect.sleep("300 millis")
      assert.include(old, yield* nextAddress())

      yield* as("owner0").put(first)
      assert.isNull((yield* as("owner0").put(old.join(" "))).json.pending_change)
      assert.deepStrictEqual((yield* as("owner0").list).pending_wallets, [])
    }).pipe(Effect.scoped))

  it.live("ends with who set it, and takes another word where who approved may not any more", () =>
    Effect.gen(function*() {
      const { age, as, nextAddress, old, people, team } = yield* deployment("owner", "owner", "admin")
      const asked = (yield* as("owner0").put(newAddress.evm())).json.pending_change
      yield* as("admin2").approve(asked.id)
      team.set(11, people.slice(0, 2))
      yield* age(day)
      const [shown] = (yield* until(
        as("owner1").list,
        ({ pending_wallets: [one] }) => one.pending_change.approved_by === null
      )).pending_wallets
      assert.deepInclude(shown.pending_change, { id: asked.id, in_force_from: null })
      yield* as("owner1").approve(asked.id)
      team.set(11, people.slice(1))
      yield* age(day)
      yield* until(as("owner1").list, (found) => found.pending_wallets.length === 0)
      yield* Effect.sleep("300 millis")
      assert.include(old, yield* nextAddress())
    }).pipe(Effect.scoped))

  it.live("begins to receive once, on whichever instance lives, though the one that took it has ended", () =>
    Effect.gen(function*() {
      const { age, as, nextAddress, service, start } = yield* deployment("owner")
      const scope = yield* Scope.make()
      const other = yield* Scope.provide(start, scope)
      const value = newAddress.evm()
      assert.isNotNull((yield* as("owner0", other).put(value)).json.pending_change)
      yield* Scope.close(scope, Exit.void)
      yield* age(day)
      const third = yield* start
      yield* until(as("owner0").list, (found) => found.pending_wallets.length === 0)
      yield* Effect.sleep("2100 millis")
      assert.strictEqual(yield* nextAddress(third), value)
      const [row] = yield* service.sql<{ version: bigint }>`SELECT version FROM receiving_wallets`
      assert.strictEqual(row!.version, 3n)
    }).pipe(Effect.scoped))

  it.live("receives or was canceled, and never both, where both come at the same moment", () =>
    Effect.gen(function*() {
      const { as, backdate, nextAddress, old, service } = yield* deployment("owner")
      const value = newAddress.evm()
      const asked = (yield* as("owner0").put(value)).json.pending_change
      yield* backdate(day)
      const [canceled] = yield* Effect.all([as("owner0").cancel(asked.id), service.timers.wake("wallets")], {
        concurrency: "unbounded"
      })
      yield* until(as("owner0").list, (found) => found.pending_wallets.length === 0)
      yield* Effect.sleep("300 millis")
      const address = yield* nextAddress()
      if (codeOf(canceled) === "200") assert.include(old, address)
      else assert.strictEqual(address, value)
    }).pipe(Effect.scoped))

  it.live("waits where it is the first of a merchant who is paid into the deployment's wallet", () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const chain = Effect.succeed(yield* simulatedNetworks)
      const team = new Map(
        [11, 12].map((id) => [id, [{ person: `owner${id}`, role: "owner" }, { person: `admin${id}`, role: "admin" }]])
      ) as ReadonlyMap<number, ReadonlyArray<Member>>
      const service = yield* instanceOn(database, chain, false, team, true)
      const addressOf = (merchantId: number) =>
        Effect.map(
          service.chains.allocate({ merchantId, environment: "mainnet", family: "evm", invoiceId: randomUUID() }),
          ({ address }) => address
        ).pipe(Effect.orDie)
      yield* addressOf(11)
      const own = newAddresses("evm", 20)
      const put = (key: string, value: ReadonlyArray<string>) =>
        Effect.map(service.put(key, "evm", "pool", value.join(" ")), ({ json }) => json)
      const waiting = yield* put("11m-owner11", own)
      assert.deepInclude(waiting.pending_change, { approved_by: null, in_force_from: null })
      const list = Effect.map(service.call("11m-owner11", "GET", ""), ({ json }) => json)
      assert.deepInclude(yield* list, { wallets: [], pending_wallets: [waiting] })
      assert.notInclude(own, yield* addressOf(11))
      const path = `/evm/changes/${waiting.pending_change.id}`
      assert.strictEqual(
        codeOf(yield* service.call("11m-owner11", "POST", `${path}/approve`)),
        "403 APPROVER_MUST_DIFFER"
      )
      assert.strictEqual(codeOf(yield* service.call("11m-admin11", "POST", `${path}/approve`)), "200")
      yield* service.sql`UPDATE receiving_wallets SET due_at = due_at - ${day}::bigint, proposal = jsonb_set(
        proposal::jsonb, '{agreedAt}', to_jsonb((proposal ->> 'agreedAt')::bigint - ${day}::bigint))::json`.pipe(
        Effect.orDie
      )
      yield* service.timers.wake("wallets")
      yield* until(list, (found) => found.pending_wallets.length === 0)
      assert.include(own, yield* addressOf(11))

      const fresh = newAddresses("evm", 20)
      assert.isNull((yield* put("12m-owner12", fresh)).pending_change, "nothing of it was ever paid there")
      assert.include(fresh, yield* addressOf(12))
    }).pipe(Effect.scoped))

  it.live("is the same one with another first index at once, and gives no address twice", () =>
    Effect.gen(function*() {
      const { as, nextAddress, old, service } = yield* deployment("owner", "admin")
      const put = (startIndex: number) =>
        Effect.map(
          service.put("11m-owner0", "evm", "pool", old.join(" "), { start_index: startIndex }),
          ({ json }) => [json.next_index, json.pending_change]
        )
      const given = [yield* nextAddress(), yield* nextAddress()]
      assert.deepStrictEqual(given, old.slice(0, 2))
      assert.deepStrictEqual(yield* put(0), [2, null])
      given.push(yield* nextAddress())
      assert.deepStrictEqual(yield* put(9), [9, null])
      given.push(yield* nextAddress())
      assert.deepStrictEqual(yield* put(0), [10, null], "what was passed over is not given out later")
      given.push(yield* nextAddress())
      assert.deepStrictEqual(given, [...old.slice(0, 3), ...old.slice(9, 11)])
      assert.deepStrictEqual((yield* as("owner0").list).pending_wallets, [])
    }).pipe(Effect.scoped))

  it.live("is play money's own affair on devnet", () =>
    Effect.gen(function*() {
      const { service } = yield* deployment("owner", "admin")
      yield* service.put("11", "evm", "pool", newAddress.evm())
      assert.isNull((yield* service.put("11", "evm", "pool", newAddress.evm())).json.pending_change)
    }).pipe(Effect.scoped))
})
