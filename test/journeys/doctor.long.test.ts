/**
 * Goal: `tillwire doctor` finds each of the faults that keep a deployment from working, says what to do about it, and
 * ends with the exit code that the guide names.
 * Method: the faults are real: ports, files, a database and its role, nodes, price sources, a proxy. All of those that
 * one config can have are made at once, and one run of the command must name every one; then a running service has
 * those that only it can have.
 */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { randomBytes } from "node:crypto"
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Finding } from "../../modules/cli/doctor/Findings.ts"
import { httpServer } from "../fixtures/httpServer.ts"
import { runCommand } from "../modules/cli/CommandLine.ts"
import { anvil } from "../support/Anvil.ts"
import { connect, migratedDatabase, type TestDatabase, urlOf } from "../support/Database.ts"
import { freePort } from "../support/Ports.ts"
import { answers, makeReceiver } from "../support/Receiver.ts"
import { configOf, startService, temporaryDirectory, until } from "../support/Service.ts"
import { assertStatus, openShop } from "./Shop.ts"

const sqlOf = (database: TestDatabase) =>
  Effect.map(Layer.build(connect(database)), (services) => Context.get(services, SqlClient.SqlClient))

/** A role of the server that may read everything in a database and make nothing; dropped with the scope. */
const readerOf = Effect.fnUntraced(function*(database: TestDatabase) {
  const role = `reader_${randomBytes(6).toString("hex")}`
  const password = randomBytes(6).toString("hex")
  const sql = yield* sqlOf(database)
  yield* Effect.acquireRelease(
    Effect.orDie(sql.unsafe(`CREATE ROLE ${role} LOGIN PASSWORD '${password}'`)),
    () => Effect.orDie(Effect.andThen(sql.unsafe(`DROP OWNED BY ${role}`), sql.unsafe(`DROP ROLE ${role}`)))
  )
  yield* Effect.orDie(sql.unsafe(`GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role}`))
  return urlOf({ ...database, username: role, password }, database.database)
})

/** A node of another chain, whose machine has a wrong clock. */
const foreignNode = httpServer((request, response) => {
  let text = ""
  request.on("data", (chunk) => text += String(chunk)).on("end", () => {
    const { id = 1 } = text === "" ? {} : JSON.parse(text)
    response.sendDate = false
    response.setHeader("date", "Thu, 01 Jan 2026 00:00:00 GMT").setHeader("content-type", "application/json")
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result: "0x5" }))
  })
})

/** A price source as CoinGecko answers, with prices ten minutes old. */
const stalePrices = httpServer((_request, response) => {
  const at = Math.floor(Date.now() / 1000) - 600
  response.setHeader("content-type", "application/json")
  response.end(JSON.stringify({
    "ethereum": { usd: 3500.5, last_updated_at: at },
    "usd-coin": { usd: 1, last_updated_at: at }
  }))
})

const run = Effect.fnUntraced(function*(file: string, environment: Readonly<Record<string, string>> = {}) {
  const { code, stderr, stdout } = yield* runCommand(["doctor", "--json", "-c", file], environment)
  assert.strictEqual(stdout.trim().startsWith("{"), true, stderr)
  return { code, text: stdout + stderr, findings: JSON.parse(stdout).data as ReadonlyArray<Finding> }
})

const assertFound = (findings: ReadonlyArray<Finding>, check: string, what: RegExp, fix: RegExp) => {
  const found = findings.filter((finding) => finding.check === check && what.test(finding.what))
  assert.lengthOf(found, 1, `${check}: ${what} in ${JSON.stringify(findings, null, 1)}`)
  assert.match(found[0]!.fix ?? "", fix, check)
  return found[0]!
}

describe("doctor", () => {
  it.live(
    "finds fourteen faults of a deployment in one run, says for each what to do, and ends with 1",
    () =>
      Effect.gen(function*() {
        const directory = yield* temporaryDirectory
        const secret = (name: string, text: string, mode = 0o600) => {
          writeFileSync(join(directory, name), text)
          chmodSync(join(directory, name), mode)
          return `\${file:./${name}}`
        }
        const node = yield* foreignNode
        const yesterday = String(Math.floor(Date.now() / 1000) - 86_400)
        const old = yield* anvil("ethereum", "mainnet", undefined, undefined, ["--timestamp", yesterday])
        const database = yield* migratedDatabase
        const sql = yield* sqlOf(database)
        yield* sql`INSERT INTO master_keys (place, check_value, kept_in) VALUES (1, ${
          "ab".repeat(32)
        }, 'secrets.master')`
        yield* sql`DELETE FROM migrations_audit`
        mkdirSync(join(directory, "data"))
        chmodSync(join(directory, "data"), 0o777)
        const port = Number(new URL(node).port)
        const file = join(directory, "config.json")
        writeFileSync(
          file,
          JSON.stringify({
            environments: ["mainnet"],
            http: { port, publicUrl: `http://127.0.0.1:${port}` },
            rpc: { port: yield* freePort, token: secret("rpc_token", randomBytes(32).toString("hex")) },
            secrets: { master: [secret("master_key", randomBytes(32).toString("hex"), 0o644)] },
            data: { directory: join(directory, "data") },
            store: { use: "postgres", options: { url: secret("database_url", yield* readerOf(database)) } },
            chains: [
              {
                use: "evm",
                options: {
                  network: "base",
                  environment: "mainnet",
                  rpc: [secret("foreign_node", node), secret("silent_node", `http://127.0.0.1:${yield* freePort}`)]
                }
              },
              {
                use: "evm",
                options: { network: "ethereum", environment: "mainnet", rpc: [secret("old_node", old.url)] }
              }
            ],
            prices: [
              { use: "coingecko", options: { baseUrl: yield* stalePrices } },
              { use: "kraken", options: { baseUrl: `http://127.0.0.1:${yield* freePort}` } }
            ],
            webhooks: { proxyUrl: `http://127.0.0.1:${yield* freePort}` },
            modules: [{ use: "audit" }]
          })
        )

        const { code, findings, text } = yield* run(file)
        const expected: ReadonlyArray<readonly [check: string, what: RegExp, fix: RegExp]> = [
          ["config", /mainnet needs an https URL/, /Correct the file/],
          ["data directory", /any user of this machine may write/, /chmod o-w/],
          ["secret files", /any user of this machine may read .*master_key/, /chmod o-r .*master_key/],
          ["public port", /another program listens/, /http\.port/],
          ["database", /role may not make tables/, /GRANT CREATE/],
          ["database tables", /audit 0001_initial/, /tillwire migrate up/],
          ["master key", /belongs to the master key abababab/, /Put the key abababab into secrets\.master again/],
          ["nodes of base, rpc 1 of 2", /on chain 5/, /chains\[0\]\.options\.rpc\[0\]/],
          ["nodes of base, rpc 2 of 2", /rpc 2 of 2/, /chains\[0\]\.options\.rpc\[1\]/],
          ["nodes of ethereum", /newest block is \d+ s old/, /add another one to chains\[1\]\.options\.rpc/],
          ["price source coingecko", /oldest price is 6\d\d s old/, /another source/],
          ["prices (mainnet)", /nothing can be quoted/, /add or replace/],
          ["webhook proxy", /ECONNREFUSED/, /webhooks\.proxyUrl/],
          ["clock", /ahead of 127\.0\.0\.1/, /timedatectl/]
        ]
        for (const [check, what, fix] of expected) assertFound(findings, check, what, fix)
        const verdicts = new Map(findings.map(({ check, verdict }) => [check, verdict]))
        for (const check of ["database tables", "price source coingecko"]) {
          assert.strictEqual(verdicts.get(check), "warn")
        }
        assert.strictEqual(code, 1)
        const guide = readFileSync(new URL("../../modules/docs/guides/cli.md", import.meta.url), "utf8")
        assert.match(guide.replaceAll(/\s+/g, " "), /It ends with 1 if anything fails/)
        for (const name of ["rpc_token", "master_key"]) {
          assert.notInclude(text, readFileSync(join(directory, name), "utf8"))
        }
      }).pipe(Effect.scoped)
  )

  it.live(
    "finds an endpoint that was disabled, of a service that runs and has the rest in order",
    () =>
      Effect.gen(function*() {
        const directory = yield* temporaryDirectory
        const receiver = yield* makeReceiver()
        const database = yield* migratedDatabase
        const service = yield* startService({
          directory,
          config: configOf({
            database: database.url,
            receivers: [receiver.host],
            chains: [{ use: "simulated", options: { networks: ["base"] } }]
          })
        })
        const { merchant_key: key } = yield* service.keys
        const shop = yield* openShop(service, receiver, key)
        receiver.script(shop.hooks, answers(410))
        const headers = { "x-api-key": key }
        const { data: { data: [endpoint] } } = assertStatus(200, yield* service.call("/api/v1/webhooks", { headers }))
        assertStatus(
          200,
          yield* service.call(`/api/v1/webhooks/${endpoint.id}/test`, { headers, body: {} })
        )
        yield* until(
          "the endpoint is disabled",
          service.call("/api/v1/webhooks", { headers }),
          ({ json }) => json.data.data[0].status === "disabled"
        )
        const { code, findings } = yield* run(join(directory, "config.json"), {
          TILLWIRE_URL: service.url,
          TILLWIRE_API_KEY: key,
          TILLWIRE__HTTP__PORT: String(service.ports.http),
          TILLWIRE__RPC__PORT: String(service.ports.rpc),
          TILLWIRE__DATA__DIRECTORY: service.dataDirectory
        })
        assertFound(findings, "public port", /the service answers/, /^$/)
        assertFound(findings, "webhooks", /is disabled/, /tillwire webhooks recover/)
        assertFound(findings, "master key", /It is the one/, /^$/)
        assertFound(findings, "database tables", /those of this version/, /^$/)
        assertFound(findings, "secret files", /config\.json, which holds .*rpc\.token/, /chmod o-r/)
        assert.strictEqual(code, 1)
      }).pipe(Effect.scoped)
  )
})
