/** A deployment on the embedded database, and the commands that back it up, as an operator runs them. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { commandLine, compileCache, configOf, type Service, temporaryDirectory } from "./Service.ts"

/** The network that its invoices are paid on. */
export const network = "base"

const ignoreSetPriority = new URL("ignoreSetPriority.ts", import.meta.url).href

/** A command of the service: its exit code and what it printed. Interrupted, it is killed and has ended. */
export const run = (words: ReadonlyArray<string>, cwd: string) =>
  Effect.callback<{ readonly code: number | null; readonly text: string }>((resume) => {
    const child = spawn(process.execPath, ["--import", ignoreSetPriority, commandLine(), ...words], {
      cwd,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, NODE_COMPILE_CACHE: compileCache }
    })
    let text = ""
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (part) => text += String(part))
    const closed = new Promise<void>((resolve) => child.once("close", () => resolve()))
    child.once("close", (code) => resume(Effect.succeed({ code, text })))
    return Effect.andThen(Effect.sync(() => child.kill("SIGKILL")), Effect.promise(() => closed))
  })

/** The same, which must succeed. */
export const succeed = (words: ReadonlyArray<string>, cwd: string) =>
  Effect.map(run(words, cwd), ({ code, text }) => {
    assert.strictEqual(code, 0, text)
    return text
  })

/** A folder with a config of an embedded database, and a key for backups. */
export const makeSite = Effect.fnUntraced(function*(receiver: string) {
  const folder = yield* temporaryDirectory
  const config = {
    ...configOf({
      database: "",
      chains: [{ use: "simulated", options: { networks: [network] } }],
      receivers: [receiver],
      webhooks: { retryBaseSeconds: 0.1, retryFactor: 2 }
    }),
    store: { use: "embedded" },
    data: { directory: join(folder, "data") }
  }
  const file = join(folder, "config.json")
  writeFileSync(file, JSON.stringify(config))
  const identity = join(folder, "key")
  writeFileSync(identity, yield* succeed(["backup", "key"], folder))
  const recipient = /age1\w+/.exec(readFileSync(identity, "utf8"))![0]
  return { folder, file, identity, recipient, config }
})

/** An invoice, and the address that its customer is given. */
export const createInvoice = Effect.fnUntraced(function*(service: Service, key: string) {
  const { json } = yield* service.call("/api/v1/invoices", {
    headers: { "x-api-key": key, "idempotency-key": randomUUID() },
    body: { amount_usd: 5 }
  })
  const headers = json.payment_session_headers
  const { json: list } = yield* service.call(`/api/v1/payments/available-tokens?mode=network&network=${network}`, {
    headers
  })
  const token = list.find(({ token_symbol: symbol }: any) => symbol === "USDC")
  const { text } = yield* service.call("/api/v1/payments/payment-addresses", {
    headers,
    body: { network, token_id: token.id }
  })
  const address = /0x[0-9a-fA-F]{40}/.exec(text)![0].toLowerCase()
  return { id: json.invoice_id as string, address }
})

export const pay = (service: Service, key: string, id: string) =>
  service.call(`/api/v1/devnet/invoices/${id}/simulate`, { headers: { "x-api-key": key }, body: { action: "pay" } })

/** What an invoice is; the HTTP status where it cannot be read. */
export const statusOf = (service: Service, key: string, id: string) =>
  Effect.map(
    service.call(`/api/v1/invoices/${id}`, { headers: { "x-api-key": key } }),
    ({ json, status }) => status === 200 ? (json.data?.status ?? json.status ?? json.invoice?.status) : status
  )
