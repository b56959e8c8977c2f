/**
 * Goal: an operator replaces the master key of a busy service and nobody notices: keys, sessions, stored replies and
 * webhooks that were made before work all along, and afterwards without the old key.
 * Method: the real process and the real commands on one database, while a shop makes invoices and its receiver checks
 * every signature; the service is killed in the middle of the work.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { join } from "node:path"
import { fromMasters, sealedPattern } from "../../runtime/Secrets.ts"
import { connect, migratedDatabase } from "../support/Database.ts"
import { freePort } from "../support/Ports.ts"
import { makeReceiver } from "../support/Receiver.ts"
import { makeRestartable } from "../support/Restartable.ts"
import {
  commandLine,
  compileCache,
  configOf,
  masterKey,
  type Service,
  startService,
  temporaryDirectory,
  until
} from "../support/Service.ts"
import { asPayor, newInvoice, openShop, readInvoice, verifySignatures } from "./Shop.ts"

const newKey = "7b".repeat(32)

/** Stored replies beside those of the shop, so that a kill comes in the middle. */
const extraReplies = 8_000

interface Ended {
  readonly code: number | null
  readonly output: string
}

/** A command of the service, as an operator types it. */
const command = (words: ReadonlyArray<string>, { directory, ports }: {
  readonly directory: string
  readonly ports: Service["ports"]
}): Effect.Effect<Ended> =>
  Effect.callback<Ended>((resume) => {
    let output = ""
    const child = spawn(process.execPath, [commandLine(), ...words, "--config", join(directory, "config.json")], {
      cwd: directory,
      env: {
        PATH: process.env["PATH"],
        NODE_COMPILE_CACHE: compileCache,
        TILLWIRE__DATA__DIRECTORY: join(directory, "data"),
        TILLWIRE__HTTP__PORT: String(ports.http),
        TILLWIRE__RPC__PORT: String(ports.rpc)
      }
    })
    child.stdout.on("data", (chunk) => output += String(chunk))
    child.stderr.on("data", (chunk) => output += String(chunk))
    child.once("close", (code) => resume(Effect.succeed({ code, output })))
    return Effect.sync(() => void child.kill("SIGKILL"))
  })

describe("a master key", () => {
  it.live(
    "is replaced under load, across a kill, and what was made before works without the old key",
    () =>
      Effect.gen(function*() {
        const database = yield* migratedDatabase
        const receiver = yield* makeReceiver()
        const directory = yield* temporaryDirectory
        const ports = { http: yield* freePort, rpc: yield* freePort }
        let masters = [masterKey]
        const start = Effect.suspend(() =>
          startService({
            directory,
            ports,
            config: {
              ...configOf({
                database: database.url,
                chains: [{ use: "simulated", options: { networks: ["base"] } }],
                receivers: [receiver.host],
                webhooks: { retryBaseSeconds: 0.1, retryFactor: 2 }
              }),
              secrets: { master: masters }
            }
          })
        )
        const run = yield* makeRestartable(start)
        const restart = (signal: "SIGTERM" | "SIGKILL", ...keys: ReadonlyArray<string>) =>
          Effect.andThen(run.end(signal), Effect.suspend(() => (masters = [...keys], run.boot)))
        const first = run.current()!
        const { merchant_key: key } = yield* first.keys
        const opened = yield* openShop(first, receiver, key)
        const shop = () => ({ ...opened, service: run.current()! })
        const invoice = yield* newInvoice(opened, { amount_usd: 5000 })
        const call = { headers: { "x-api-key": key, "idempotency-key": randomUUID() }, body: { amount_usd: 700 } }
        const reply = yield* first.call("/api/v1/invoices", call)
        const query = (text: string) =>
          Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe<{ n: number }>(text)).pipe(
            Effect.provide(connect(database), { local: true }),
            Effect.orDie
          )
        const counted = (where: string) =>
          Effect.map(query(`SELECT count(*)::integer AS n FROM idempotency WHERE ${where}`), ([row]) => row!.n)
        const old = yield* fromMasters([Buffer.from(masterKey, "hex")])
        yield* query(`INSERT INTO idempotency (merchant_id, environment, scope, fingerprint, status, sealed_body)
          SELECT 1, 'devnet', 'GET /seeded ' || n, 'f', 200, '${old.seal("reply", "{}")}'
          FROM generate_series(1, ${extraReplies}) n`)
        const isOld = `sealed_body ~ '${sealedPattern(old.keys("reply")[0].id)}'`

        yield* restart("SIGTERM", newKey, masterKey)
        let made = 2
        const load = yield* Effect.forkChild(Effect.forever(Effect.gen(function*() {
          yield* Effect.sleep("50 millis")
          const service = run.current()
          if (service === null) return
          const answered = yield* service.call("/api/v1/invoices", {
            headers: { "x-api-key": key, "idempotency-key": randomUUID() },
            body: { amount_usd: 1000 }
          }).pipe(Effect.catchDefect(() => Effect.succeed(null)))
          // What the killed process left unanswered is nobody's invoice here.
          if (answered !== null) {
            assert.strictEqual(answered.status, 200, answered.text)
            made++
          }
        })))

        // The second half of it would take half a minute, so that no kill comes after the work, however late it is.
        yield* query("CREATE TABLE slow_work AS SELECT 1")
        yield* query(`CREATE FUNCTION work_slowly() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN
            IF NEW.scope >= 'GET /seeded 5' AND EXISTS (SELECT FROM slow_work) THEN PERFORM pg_sleep(0.01); END IF;
            RETURN NEW;
          END $$`)
        yield* query("CREATE TRIGGER slow BEFORE UPDATE ON idempotency FOR EACH ROW EXECUTE FUNCTION work_slowly()")

        // Killed in the middle of the work: the command says what to do, and the next one does what is left.
        const interrupted = yield* Effect.forkChild(command(["secrets", "rotate"], { directory, ports }))
        yield* until(
          "some are sealed anew",
          counted(`scope LIKE 'GET /seeded%' AND NOT ${isOld}`),
          (n) => n > 500
        )
        yield* restart("SIGKILL", newKey, masterKey)
        yield* query("DELETE FROM slow_work")
        const ended = yield* Fiber.join(interrupted)
        assert.strictEqual(ended.code, 1, ended.output)
        assert.include(
          ended.output,
          "start it with this config file, then call this again; it goes on with what is left"
        )
        assert.isAbove(yield* counted(isOld), 0)
        // The killed process counts as one that makes values for a minute; it made them with the new key.
        const finished = yield* command(["secrets", "rotate", "--finish"], { directory, ports })
        assert.strictEqual(finished.code, 0, finished.output)
        assert.match(finished.output, /idempotency\.sealed_body: \d+ rows read, \d+ values sealed anew/)
        assert.include(finished.output, "One master key is needed. Every other one may be removed from secrets.master.")
        assert.notInclude(finished.output, newKey)
        assert.strictEqual(yield* counted(isOld), 0)

        yield* restart("SIGTERM", newKey)
        assert.strictEqual((yield* readInvoice(shop(), invoice.id)).id, invoice.id)
        yield* asPayor(shop(), invoice, "available-tokens?mode=network&network=base")
        const repeated = yield* run.current()!.call("/api/v1/invoices", call)
        assert.strictEqual(repeated.headers["idempotent-replayed"], "true")
        assert.strictEqual(repeated.text, reply.text)
        yield* Fiber.interrupt(load)
        yield* newInvoice(shop(), { amount_usd: 4200 })
        // A delivery that was under way at the kill comes twice, so events are counted and not arrivals.
        yield* until(
          "every event has come",
          Effect.sync(() =>
            new Set(receiver.arrivals(opened.hooks).map(({ body }) => JSON.parse(body.toString("utf8")).id)).size
          ),
          (events) => events > made
        )
        for (const arrival of receiver.arrivals(opened.hooks)) verifySignatures(arrival, opened.secret)
        assert.deepStrictEqual(run.current()!.errors(), [])
      }).pipe(Effect.scoped)
  )
})
