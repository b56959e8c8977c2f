/**
 * Goal: in a browser people raise limits of real money together, and prove anew who they are where that takes it.
 * Method: the service as it is started with mainnet, without the script; a passkey in software answers as a browser
 * does, and time passes by turning the dates of sign-ins back.
 */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { assertion, register } from "../support/Authenticator.ts"
import { connect, migratedDatabase } from "../support/Database.ts"
import { freePort } from "../support/Ports.ts"
import { configOf, masterKey, rpcToken, startService, temporaryDirectory } from "../support/Service.ts"
import { printedLoginLink } from "./LoginLink.ts"

const form = (fields: Readonly<Record<string, string>>) => new URLSearchParams(fields).toString()

const shop = Effect.gen(function*() {
  const database = yield* migratedDatabase
  const directory = yield* temporaryDirectory
  const ports = { http: yield* freePort, rpc: yield* freePort }
  // Browsers know passkeys of names only.
  const origin = `http://localhost:${ports.http}`
  const environment = { RPC_TOKEN: rpcToken, MASTER: masterKey }
  const service = yield* startService({
    directory,
    ports,
    config: {
      ...configOf({ database: database.url, chains: [{ use: "simulated" }], http: { publicUrl: origin } }),
      environments: ["devnet", "mainnet"],
      // A config that serves mainnet names its secrets and never holds one.
      rpc: { token: "${env:RPC_TOKEN}" },
      secrets: { master: ["${env:MASTER}"] }
    },
    environment
  })
  const { merchant_id: merchant } = yield* service.keys
  const sql = Context.get(yield* Layer.build(Layer.orDie(connect(database))), SqlClient.SqlClient)
  const home = `/dashboard/${merchant}/mainnet`
  const headers = (cookies: string) => ({
    "content-type": "application/x-www-form-urlencoded",
    origin,
    "sec-fetch-site": "same-origin",
    ...(cookies === "" ? {} : { cookie: cookies })
  })
  const post = (cookies: string, path: string, fields: Readonly<Record<string, string>>) =>
    service.call(path, { method: "POST", headers: headers(cookies), body: form(fields) })
  const cookiesOf = (
    answer: { readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>> }
  ) => [answer.headers["set-cookie"] ?? []].flat().map((cookie) => cookie.split(";")[0]).join("; ")
  const signIn = Effect.fnUntraced(function*() {
    const url = yield* printedLoginLink({ service, directory, merchant, environment })
    return cookiesOf(yield* post("", "/dashboard/signin/link", { token: new URL(url).hash.slice(3), next: "" }))
  })
  return {
    cookiesOf,
    home,
    post,
    signIn,
    service,
    origin,
    see: (cookies: string, path: string) => service.call(path, { headers: { cookie: cookies } }),
    act: (cookies: string, path: string, fields: Readonly<Record<string, string>>) =>
      post(cookies, `${home}${path}`, { form_key: randomUUID(), ...fields }),
    makeStale: Effect.orDie(sql`UPDATE team_sessions SET fresh_until = 0`)
  }
})

const limits = { auto_approve_limit: "900", auto_approve_limit_day: "", payout_limit_batch: "", payout_limit_day: "" }

it.live(
  "higher limits are approved by another person, after a fresh proof to which the page leads and back",
  () =>
    Effect.gen(function*() {
      const { act, cookiesOf, home, origin, post, see, service, signIn, makeStale } = yield* shop
      const owner = yield* signIn()
      const invited = yield* act(owner, "/team", { action: "invite", role: "admin", email: "ines@shop.example" })
      const [, token = ""] = /#t=([\w-]+)/.exec(invited.text) ?? []
      const admin = cookiesOf(yield* post("", "/dashboard/invitation", { token, name: "Ines" }))
      const asked = yield* act(owner, "/limits", { action: "save", ...limits })
      assert.include(String(asked.headers.location), "notice=change_waits", asked.text)
      const waiting = (yield* see(owner, `${home}/limits`)).text
      assert.include(waiting, "$900.00")
      assert.include(waiting, "Another owner or admin must approve it")
      assert.notInclude(waiting, "Approve this change", "not who proposed it")
      const [, change = ""] = /name="change" value="(chg_[\w-]+)"/.exec(waiting) ?? []

      // Whoever has just joined waits a day before money; until then the change is theirs to cancel only.
      const early = yield* act(admin, "/limits", { action: "approve", change })
      assert.strictEqual(early.status, 403)
      const page = (yield* see(admin, `${home}/limits`)).text
      assert.include(page, "Approve this change")

      const account = (yield* see(owner, `${home}/account`)).text
      const [, options = ""] = /data-new-passkey="([^"]+)"/.exec(account) ?? []
      const { answer: made, credential } = register(JSON.parse(options.replaceAll("&quot;", "\"")), origin)
      const added = yield* act(owner, "/account", {
        action: "add_passkey",
        name: "Laptop",
        answer: JSON.stringify(made)
      })
      assert.include(String(added.headers.location), "notice=passkey_added", added.text)
      yield* makeStale
      const stale = yield* act(owner, "/limits", { action: "save", ...limits, auto_approve_limit: "950" })
      assert.strictEqual(stale.status, 303)
      const proof = String(stale.headers.location)
      assert.strictEqual(proof, `/dashboard/signin/again?next=${encodeURIComponent(`${home}/limits`)}`)
      const again = yield* see(owner, proof)
      assert.strictEqual(again.status, 200)
      assert.include(again.text, "Is it still you?")
      assert.match(again.text, /\/dashboard\/assets\/sign-\w+\.js/, "the script that asks wallets")
      assert.include(again.text, `value="${home}/limits"`)

      // Nobody is proved by nothing, by an invented answer, or from another site.
      for (const answer of ["", "{}", "not json"]) {
        const refused = yield* post(owner, "/dashboard/signin/again", { answer, next: `${home}/limits` })
        assert.isAtLeast(refused.status, 400, answer)
      }
      const foreign = yield* service.call("/dashboard/signin/again", {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded", origin: "https://evil.example", cookie: owner },
        body: form({ answer: "{}", next: home })
      })
      assert.strictEqual(foreign.status, 403)
      const unproved = yield* act(owner, "/limits", { action: "save", ...limits, auto_approve_limit: "950" })
      assert.include(String(unproved.headers.location), "/dashboard/signin/again")

      const question = JSON.parse((yield* post(owner, "/dashboard/signin/passkey-options", {})).text)
      const answer = JSON.stringify(assertion(credential, question, origin))
      const proved = yield* post(owner, "/dashboard/signin/again", { answer, next: `${home}/limits` })
      assert.deepStrictEqual([proved.status, proved.headers.location], [303, `${home}/limits`])
      const fresh = cookiesOf(proved)
      const saved = yield* act(fresh, "/limits", { action: "save", ...limits, auto_approve_limit: "950" })
      assert.include(String(saved.headers.location), "notice=change_waits", saved.text)
      assert.strictEqual((yield* see(owner, `${home}/limits`)).status, 303, "the tokens of before are worth nothing")

      // To cancel takes no fresh proof.
      yield* makeStale
      const now = (yield* see(fresh, `${home}/limits`)).text
      const [, second = ""] = /name="change" value="(chg_[\w-]+)"/.exec(now) ?? []
      const canceled = yield* act(fresh, "/limits", { action: "cancel", change: second })
      assert.include(String(canceled.headers.location), "notice=change_canceled", canceled.text)
    }).pipe(Effect.scoped)
)
