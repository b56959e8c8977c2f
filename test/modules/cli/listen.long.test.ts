/**
 * Goal: a program that `tillwire listen` serves hears of every event, whoever is killed meanwhile, with a signature
 * that it can verify; and what the other commands do is real.
 * Method: the real service and the command as processes, both killed with SIGKILL; a receiver in this process.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createServer, type IncomingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"
import { verify } from "../../../modules/clients/webhooks.ts"
import { startService, temporaryDirectory, until } from "../../support/Service.ts"
import { freePort } from "../../support/Ports.ts"
import { runCommand, startCommand } from "./CommandLine.ts"

interface Received {
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

const startReceiver = Effect.acquireRelease(
  Effect.callback<{ readonly port: number; readonly received: Array<Received>; readonly close: () => void }>(
    (resume) => {
      const received: Array<Received> = []
      const server = createServer((request, response) => {
        let body = ""
        request.on("data", (chunk) => body += String(chunk))
        request.on("end", () => {
          received.push({ url: request.url ?? "", headers: request.headers, body })
          response.end()
        })
      })
      server.listen(0, "127.0.0.1", () => {
        const close = () => server.closeAllConnections() ?? server.close()
        resume(Effect.succeed({ port: (server.address() as AddressInfo).port, received, close }))
      })
    }
  ),
  ({ close }) => Effect.sync(close)
)

const idsIn = (received: ReadonlyArray<Received>) => new Set(received.map(({ body }) => JSON.parse(body).id as string))

describe("tillwire", () => {
  it.live(
    "listen forwards every event, though it and the service are killed with SIGKILL",
    () =>
      Effect.gen(function*() {
        const directory = yield* temporaryDirectory
        const ports = { http: yield* freePort, rpc: yield* freePort }
        const start = { directory, config: new URL("../../../config/devnet.jsonc", import.meta.url).pathname, ports }
        const service = yield* startService(start)
        const { merchant_key } = yield* service.keys
        const environment = { TILLWIRE_URL: service.url, TILLWIRE_API_KEY: merchant_key, XDG_CONFIG_HOME: directory }
        const { port, received } = yield* startReceiver
        const words = ["listen", "--forward-to", `http://127.0.0.1:${port}/hooks?shop=1`]
        const triggerPaid = Effect.gen(function*() {
          const { code, stderr, stdout } = yield* runCommand(["trigger", "paid", "--json"], environment)
          assert.strictEqual(code, 0, stderr)
          return JSON.parse(stdout).event_ids as ReadonlyArray<string>
        })
        const createInvoice = (customer: string) =>
          Effect.map(
            service.call("/api/v1/invoices", {
              headers: { "x-api-key": merchant_key, "idempotency-key": customer },
              body: { amount_usd: 5, customer_id: customer }
            }),
            ({ status }) => assert.strictEqual(status, 200)
          )
        const heardOf = (customer: string) =>
          until(
            `the receiver hears of ${customer}`,
            Effect.sync(() => received),
            (all) => all.some(({ body }) => JSON.parse(body).data.object.customer_id === customer)
          )
        const allReceived = (ids: ReadonlyArray<string>) =>
          until("the receiver has them", Effect.sync(() => idsIn(received)), (seen) => ids.every((id) => seen.has(id)))

        const first = yield* startCommand(words, environment)
        yield* until("it listens", Effect.sync(() => first.output().stderr), (text) => text.includes("secret whsec_"))
        const before = yield* triggerPaid
        yield* allReceived(before)

        first.child.kill("SIGKILL")
        yield* first.ended
        yield* createInvoice("while-nobody-listens")
        yield* service.stop("SIGKILL")
        const second = yield* startCommand(words, environment)
        yield* until("it waits", Effect.sync(() => second.output().stderr), (text) => text.includes("no answer from"))
        const again = yield* startService(start)
        yield* createInvoice("after-the-restart")
        yield* heardOf("while-nobody-listens")
        yield* heardOf("after-the-restart")

        const secret = /secret (whsec_\S+)/.exec(second.output().stderr)![1]!
        assert.include(first.output().stderr, secret)
        again.guard(merchant_key)
        for (const { body, headers, url } of received) {
          assert.strictEqual(url, "/hooks?shop=1")
          assert.isTrue((yield* Effect.promise(() => verify(body, headers, [secret]))).ok)
        }
        yield* until(
          "its line tells what the receiver answered",
          Effect.sync(() => second.output().stdout),
          (text) => /invoice\.created +evt_\S+ {2}-> 200 {2}\d+ ms/.test(text)
        )

        const refused = yield* runCommand(["events", "list"], { ...environment, TILLWIRE_API_KEY: `${merchant_key}x` })
        assert.strictEqual(refused.code, 3, refused.stderr)
        const missing = yield* runCommand(["invoice", "show", "inv_none"], environment)
        assert.strictEqual(missing.code, 4, missing.stderr)
        assert.strictEqual(missing.stdout, "")
      }).pipe(Effect.scoped)
  )
})
