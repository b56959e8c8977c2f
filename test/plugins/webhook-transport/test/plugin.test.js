import { Effect } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { transportChecks } from "tillwire/plugin/testing"
import { plugin } from "../dist/plugin.js"

/** A program with a socket, until the scope closes. */
const receiver = Effect.acquireRelease(
  Effect.callback((resume) => {
    const folder = mkdtempSync(join(tmpdir(), "acme-socket-"))
    const path = join(folder, "orders.sock")
    const delivered = []
    const server = createServer((request, response) => {
      let body = ""
      request.setEncoding("utf8").on("data", (chunk) => body += chunk)
      request.on("end", () => {
        delivered.push({ headers: request.headers, body })
        response.end()
      })
    })
    let held = 0
    server.on("connection", (connection) => {
      held += 1
      connection.once("close", () => held -= 1)
    })
    server.listen(path, () => resume(Effect.succeed({ folder, path, delivered, server, held: () => held })))
  }),
  ({ folder, server }) =>
    Effect.sync(() => {
      server.closeAllConnections()
      server.close()
      rmSync(folder, { recursive: true })
    })
)

const subject = Effect.map(receiver, ({ delivered, folder, path }) => ({
  layer: plugin.layer({ sockets: { orders: path, gone: join(folder, "gone.sock") } }),
  url: "unix://orders",
  failing: "unix://gone",
  refused: "unix://other",
  delivered: Effect.sync(() => [...delivered])
}))

for (const { name, run } of transportChecks(subject)) test(name, run)
