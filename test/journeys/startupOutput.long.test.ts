/**
 * Goal: whoever starts the service reads where its documentation and its payment page are, and where the demo
 * merchant's keys are kept; the keys themselves are printed at the first start only.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { migratedDatabase } from "../support/Database.ts"
import { mayPrintLink } from "../../runtime/boot/LoginLink.ts"
import { findBundle } from "../support/BuiltService.ts"
import { freePort } from "../support/Ports.ts"
import {
  configOf,
  masterKey,
  rpcToken,
  type Service,
  sources,
  startService,
  temporaryDirectory,
  until
} from "../support/Service.ts"

/** Starts a service as from a terminal, until `done` is printed; answers what was printed. */
const startInTerminal = Effect.fnUntraced(function*(config: object, port: number, done: RegExp) {
  const directory = yield* temporaryDirectory
  const file = join(directory, "config.json")
  writeFileSync(file, JSON.stringify(config))
  const words = [process.execPath, findBundle() ?? sources, "--config", file]
  const environment = {
    PATH: process.env["PATH"],
    RPC_TOKEN: rpcToken,
    MASTER: masterKey,
    TILLWIRE__DATA__DIRECTORY: join(directory, "data"),
    TILLWIRE__HTTP__PORT: String(port),
    TILLWIRE__RPC__PORT: "0"
  }
  let output = ""
  // `script` (util-linux) gives a process a terminal of its own.
  const child = spawn("script", ["-qefc", words.map((word) => `'${word}'`).join(" "), "/dev/null"], {
    cwd: directory,
    env: environment,
    stdio: ["pipe", "pipe", "pipe"]
  })
  let hasEnded = false
  child.once("close", () => hasEnded = true)
  child.stdout.on("data", (chunk) => output += String(chunk))
  yield* Effect.addFinalizer(() =>
    Effect.andThen(
      // As somebody presses Ctrl+C there.
      Effect.sync(() => child.stdin.write("\u0003")),
      until("the terminal ends", Effect.sync(() => hasEnded), (ended) => ended)
    )
  )
  return yield* until("the start has printed its lines", Effect.sync(() => output), (text) => done.test(text))
})

/** It answers before it says so. */
const saidReady = ({ output }: Service) =>
  until("the start is logged", Effect.sync(output), (text) => /"msg":"ready".*\n/.test(text))

describe("a start", () => {
  it.live("names the documentation, the payment page, and later on the file with the demo keys", () =>
    Effect.gen(function*() {
      const { url } = yield* migratedDatabase
      const config = configOf({ database: url, chains: [{ use: "simulated" }] })
      const start = {
        directory: yield* temporaryDirectory,
        config: { ...config, modules: [...config.modules, { use: "docs" }] },
        ownProcess: true
      }
      const first = yield* startService(start)
      const keys = yield* first.keys
      yield* saidReady(first)
      assert.include(first.output(), keys.merchant_key)
      assert.notInclude(first.output(), "/signin/link", "what signs in stands in no log")
      for (const page of [`${first.url}/docs`, `${first.url}/pay/{invoice_id}`]) {
        assert.include(first.output(), `"${page}"`)
      }
      yield* first.stop()

      const again = yield* startService(start)
      yield* saidReady(again)
      assert.include(again.output(), `"${join(again.dataDirectory, "demo-keys.json")}"`)
      for (const secret of [keys.merchant_key, keys.commerce_key]) assert.notInclude(again.output(), secret)

      const page = yield* again.call("/", { headers: { accept: "text/html" } })
      assert.strictEqual(page.status, 200)
      assert.include(page.text, "Running")
      for (const path of ["/dashboard", "/docs", "/health/ready"]) assert.include(page.text, `href="${path}"`)
      assert.strictEqual((yield* again.call("/")).json.error.code, "NOT_FOUND")
    }).pipe(Effect.scoped))

  it.live(
    "in a terminal prints a link that signs in to the dashboard once, where money is not real",
    () =>
      Effect.gen(function*() {
        const port = yield* freePort
        const config = configOf({ database: (yield* migratedDatabase).url, chains: [{ use: "simulated" }] })
        const output = yield* startInTerminal(config, port, /Sign in [^\n]*\n/)
        const [, token = ""] =
          new RegExp(`http://localhost:${port}/dashboard/signin/link#t=([\\w-]{43})`).exec(output) ?? []
        const origin = `http://localhost:${port}`
        const open = Effect.promise(() =>
          fetch(`http://127.0.0.1:${port}/dashboard/signin/link`, {
            method: "POST",
            redirect: "manual",
            headers: {
              "content-type": "application/x-www-form-urlencoded",
              origin,
              "sec-fetch-site": "same-origin"
            },
            body: new URLSearchParams({ token, next: "" })
          }).then(({ status }) => status)
        )
        assert.strictEqual(yield* open, 303)
        assert.strictEqual(yield* open, 401)
      }).pipe(Effect.scoped)
  )

  it.live("in a terminal prints no such link where money is real", () =>
    Effect.gen(function*() {
      const config = {
        ...configOf({ database: (yield* migratedDatabase).url, chains: [{ use: "simulated" }] }),
        environments: ["devnet", "mainnet"],
        rpc: { token: "${env:RPC_TOKEN}" },
        secrets: { master: ["${env:MASTER}"] }
      }
      const output = yield* startInTerminal(config, yield* freePort, /Data [^\n]*\n[^]*\n/)
      assert.notInclude(output, "/signin/link")
    }).pipe(Effect.scoped))

  it("has a link for whoever sits at the machine only", () => {
    const may = (environments: ReadonlyArray<string>, publicUrl: string) =>
      mayPrintLink({ environments, publicUrl } as never)
    for (const url of ["http://localhost:8080", "http://127.0.0.1:8080", "http://[::1]:8080"]) {
      assert.isTrue(may(["devnet"], url), url)
      assert.isFalse(may(["devnet", "mainnet"], url), url)
      assert.isFalse(may(["mainnet"], url), url)
    }
    for (const url of ["https://pay.example", "http://192.168.1.4:8080", "http://localhost.evil.example"]) {
      assert.isFalse(may(["devnet"], url), url)
    }
  })
})
