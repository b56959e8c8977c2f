import { Effect } from "effect"
import { createServer } from "node:http"
import { test } from "node:test"
import { priceSourceChecks } from "tillwire/plugin/testing"
import { plugin } from "../dist/plugin.js"

const known = { ethereum: "3500.25", "usd-coin": "1.0001" }

/** A server that speaks as Acme Markets does, until the scope closes. */
const serverWith = (status) =>
  Effect.acquireRelease(
    Effect.callback((resume) => {
      const server = createServer((request, response) => {
        const ids = new URL(request.url, "http://acme").searchParams.get("ids").split(",")
        const at = Math.floor(Date.now() / 1000)
        response.writeHead(status, { "content-type": "application/json" })
        response.end(JSON.stringify(ids.filter((id) => id in known).map((id) => ({ id, usd: known[id], at }))))
      })
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => server.closeAllConnections() ?? server.close())
  )

const subjectWith = (status) =>
  Effect.map(serverWith(status), (server) => ({
    name: "acme-price",
    layer: plugin.layer({ baseUrl: `http://127.0.0.1:${server.address().port}` }),
    known
  }))

for (const { name, run } of priceSourceChecks(subjectWith(200), subjectWith(503))) test(name, run)
