/**
 * Goal: whatever is wrong with a config is told at once, at its place, with what to do; nothing wrong starts.
 * Method: configs written to a folder of their own and loaded as the service loads them, reports compared whole.
 */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Path, Redacted } from "effect"
import { load } from "../../../runtime/Config.ts"

const fixture = (name: string) =>
  decodeURIComponent(new URL(`../../fixtures/plugins/${name}`, import.meta.url).pathname)
const acme = fixture("acme-prices.ts")

interface Given {
  readonly text: string
  readonly environment?: Readonly<Record<string, string>>
  readonly files?: Readonly<Record<string, string>>
}

/** Loads `text` from `c.jsonc` in a folder of its own, beside `files`. */
const loading = ({ environment = {}, files = {}, text }: Given) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const folder = yield* fs.makeTempDirectoryScoped()
    for (const [name, content] of Object.entries({ ...files, "c.jsonc": text })) {
      yield* fs.writeFileString(path.join(folder, name), content)
    }
    const file = path.join(folder, "c.jsonc")
    const short = (report: string) => report.replaceAll(`${folder}/`, "")
    return yield* load({ file, environment }).pipe(Effect.mapError((error) => short(error.report)))
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))

const reportOf = (given: Given) => Effect.flip(Effect.asVoid(loading(given)))

describe("a config", () => {
  it.effect("of one line has every default", () =>
    Effect.gen(function*() {
      const { plugins, settings } = yield* loading({ text: `{ "environments": ["devnet"] }` })
      assert.deepStrictEqual(settings, {
        environments: ["devnet"],
        http: { host: "127.0.0.1", port: 8080, trustProxy: [], allowedOrigins: [], processes: 1 },
        rpc: { host: "127.0.0.1", port: 8081, allowedHosts: [] },
        data: { directory: ".tillwire" },
        store: { use: "embedded" },
        chains: [],
        prices: [],
        tokenSources: [],
        transports: [],
        signIns: [],
        modules: [],
        pricing: { depeg: "market" },
        webhooks: {},
        limits: {
          store: "memory",
          keyPerMinute: 100,
          keyInFlight: 20,
          sessionPerMinute: 120,
          payorPerMinute: 300,
          anonymousPerMinute: 30,
          noncePerMinute: 10,
          pagePerMinute: 300,
          claimPerMinute: 20,
          linkPerMinute: 20,
          documentPerMinute: 120,
          badgePerMinute: 1_000
        },
        telemetry: { logs: "auto", level: "info", levels: {}, requests: "all", payments: true }
      })
      assert.deepStrictEqual(plugins, [])
    }))

  it.effect("of a cluster is one line, has all roles, and needs a database that several instances can use", () =>
    Effect.gen(function*() {
      const store = (more: string) =>
        `"store": { "use": "postgres", "options": { "url": "postgresql://till@db/till"${more} } }`
      const { settings } = yield* loading({ text: `{ "environments": ["devnet"], "cluster": {}, ${store("")} }` })
      assert.deepStrictEqual(settings.cluster, { roles: ["api", "follower", "worker"], takeoverSeconds: 6 })
      assert.match(
        String(yield* reportOf({ text: `{ "environments": ["devnet"], "cluster": {} }` })),
        /c\.jsonc:1:42 +cluster: an embedded database serves one instance only: use a PostgreSQL of your own/u
      )
      assert.include(
        yield* reportOf({
          text: `{ "environments": ["devnet"], "cluster": {}, ${store(", \"maxConnections\": 3")} }`
        }),
        "holds one connection for its locks: write 4 or more"
      )
      assert.include(
        yield* reportOf({
          text: `{ "environments": ["devnet"], "http": { "processes": 2 }, "cluster": { "roles": ["worker"] }, ${
            store("")
          } }`
        }),
        "this instance has no role \"api\" and serves no public port"
      )
      for (const wrong of [`"roles": []`, `"roles": ["everything"]`, `"takeoverSeconds": 5`]) {
        yield* reportOf({ text: `{ "environments": ["devnet"], "cluster": { ${wrong} }, ${store("")} }` })
      }
    }))

  it.effect("may have comments, trailing commas and references", () =>
    Effect.gen(function*() {
      const { plugins, settings } = yield* loading({
        text: `{
          // play money
          "environments": ["devnet",],
          "data": { "directory": "/var/\${env:NAME}/till" },
          "prices": [{ "use": "${acme}", "options": { "rate": "1.5", "key": "\${file:./key}" } }],
        }`,
        environment: { NAME: "lib" },
        files: { key: "s3cret\n" }
      })
      assert.strictEqual(settings.data.directory, "/var/lib/till")
      const options = plugins[0]?.options as { readonly key: Redacted.Redacted }
      assert.strictEqual(Redacted.value(options.key), "s3cret")
    }))
})

describe("a wrong config", () => {
  const cases: ReadonlyArray<Given & { readonly promise: string; readonly report: string }> = [
    {
      promise: "tells all problems at once, in the order of the file",
      text: `{
  "environments": ["testnet"],
  "http": { "prot": 8080, "host": 7 },
  "rpc": { "port": 99999 },
  "prices": [{ "use": "krakn" }],
  "data": { "directory": "\${env:DATA_DIRECTORY}" }
}`,
      report: `c.jsonc: 6 problems
  c.jsonc:2:20  environments[0]: expected "devnet" | "mainnet"
    2 |   "environments": ["testnet"],
      |                    ^^^^^^^^^
  c.jsonc:3:13  http.prot: unknown key "prot". Did you mean "port"?
    3 |   "http": { "prot": 8080, "host": 7 },
      |             ^^^^^^
  c.jsonc:3:35  http.host: expected string
    3 |   "http": { "prot": 8080, "host": 7 },
      |                                   ^
  c.jsonc:4:20  rpc.port: expected a value between 0 and 65535
    4 |   "rpc": { "port": 99999 },
      |                    ^^^^^
  c.jsonc:5:23  prices[0].use: no built-in plugin "krakn" in prices, and no package of that name. Did you mean "kraken"?
    5 |   "prices": [{ "use": "krakn" }],
      |                       ^^^^^^^
  c.jsonc:6:27  data.directory: environment variable DATA_DIRECTORY is not set
    6 |   "data": { "directory": "\${env:DATA_DIRECTORY}" }
      |                           ^^^^^^^^^^^^^^^^^^^^^`
    },
    {
      promise: "names the new name of a driver that moved to its feature",
      text: `{
  "environments": ["devnet"],
  "modules": [{ "use": "settlements/direct" }, { "use": "retailers/http" }]
}`,
      report: `c.jsonc: 2 problems
  c.jsonc:3:24  modules[0].use: "settlements/direct" is called "settlement/direct" now: write { "use": "settlement/direct" }
    3 |   "modules": [{ "use": "settlements/direct" }, { "use": "retailers/http" }]
      |                        ^^^^^^^^^^^^^^^^^^^^
  c.jsonc:3:57  modules[1].use: "retailers/http" is called "retail/http" now: write { "use": "retail/http" }
    3 |   "modules": [{ "use": "settlements/direct" }, { "use": "retailers/http" }]
      |                                                         ^^^^^^^^^^^^^^^^`
    },
    {
      promise: "names the variable where the value came from the environment",
      text: `{ "environments": ["devnet"] }`,
      environment: {
        TILLWIRE__HTTP__PORT: "eighty",
        TILLWIRE__RPC__PROT: "1",
        TILLWIRE__TELEMETRY__LEVEL: "loud",
        TILLWIRE__HTTP__HOST__NAME: "x"
      },
      report: `c.jsonc: 4 problems
  TILLWIRE__HTTP__HOST__NAME  http.host: there is nothing below this key, "name" included
  TILLWIRE__HTTP__PORT  http.port: expected JSON, such as 8080, true or ["devnet"]
  TILLWIRE__RPC__PROT  rpc: unknown key "prot". Did you mean "port"?
  TILLWIRE__TELEMETRY__LEVEL  telemetry.level: expected "debug" | "info" | "warn" | "error"`
    },
    {
      promise: "says what is not JSON, and what is written twice",
      text: `{
  "environments": ["devnet"],
  "http": { "port": 1, "port": 2 },
  "data": }
}`,
      report: `c.jsonc: 2 problems
  c.jsonc:3:24  the key "port" is written twice: keep one
    3 |   "http": { "port": 1, "port": 2 },
      |                        ^^^^^^
  c.jsonc:4:11  not valid JSONC: value expected
    4 |   "data": }
      |           ^`
    },
    {
      promise: "says which reference leads nowhere, once",
      text: `{
  "environments": ["devnet"],
  "rpc": { "token": "\${file:./absent}" },
  "http": { "publicUrl": "http://\${env:HOST}/\${nonsense}" }
}`,
      environment: { HOST: "" },
      files: {},
      report: `c.jsonc: 3 problems
  c.jsonc:3:22  rpc.token: file not found: absent
    3 |   "rpc": { "token": "\${file:./absent}" },
      |                      ^^^^^^^^^^^^^^^^
  c.jsonc:4:34  http.publicUrl: environment variable HOST is empty
    4 |   "http": { "publicUrl": "http://\${env:HOST}/\${nonsense}" }
      |                                  ^^^^^^^^^^^
  c.jsonc:4:46  http.publicUrl: \${nonsense} is not a reference: write \${env:NAME} or \${file:/path}
    4 |   "http": { "publicUrl": "http://\${env:HOST}/\${nonsense}" }
      |                                              ^^^^^^^^^^^`
    },
    {
      promise: "refuses a page without TLS where mainnet is served",
      text: `{
  "environments": ["devnet", "mainnet"],
  "http": { "allowedOrigins": ["https://shop.example", "http://localhost:5173"] }
}`,
      report: `c.jsonc: 1 problem
  c.jsonc:3:56  http.allowedOrigins[1]: a page without TLS, where mainnet is served: write https, or remove it
    3 |   "http": { "allowedOrigins": ["https://shop.example", "http://localhost:5173"] }
      |                                                        ^^^^^^^^^^^^^^^^^^^^^^^`
    },
    {
      promise: "refuses secrets written out for mainnet, and does not repeat them",
      text: `{
  "environments": ["mainnet"],
  "rpc": { "token": "canary-rpc-canary", "port": "x" },
  "ops": { "token": "canary-ops-canary" },
  "secrets": { "master": ["canary-master"] },
  "store": { "use": "postgres", "options": { "url": "postgres://till:canary@db/till" } },
  "webhooks": { "proxyUrl": "http://canary@proxy:3128" }
}`,
      report: `c.jsonc: 6 problems
  c.jsonc:3:21  rpc.token: a secret written out in a mainnet config: write "\${env:NAME}" or "\${file:/path}"
    3 |   "rpc": { "token": *******************, "port": "x" },
      |                     ^^^^^^^^^^^^^^^^^^^
  c.jsonc:3:50  rpc.port: expected number
    3 |   "rpc": { "token": *******************, "port": "x" },
      |                                                  ^^^
  c.jsonc:4:21  ops.token: a secret written out in a mainnet config: write "\${env:NAME}" or "\${file:/path}"
    4 |   "ops": { "token": ******************* },
      |                     ^^^^^^^^^^^^^^^^^^^
  c.jsonc:5:27  secrets.master[0]: a secret written out in a mainnet config: write "\${env:NAME}" or "\${file:/path}"
    5 |   "secrets": { "master": [***************] },
      |                           ^^^^^^^^^^^^^^^
  c.jsonc:6:53  store.options.url: a secret written out in a mainnet config: write "\${env:NAME}" or "\${file:/path}"
    6 |   "store": { "use": "postgres", "options": { "url": ******************************** } },
      |                                                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  c.jsonc:7:29  webhooks.proxyUrl: a secret written out in a mainnet config: write "\${env:NAME}" or "\${file:/path}"
    7 |   "webhooks": { "proxyUrl": ************************** }
      |                             ^^^^^^^^^^^^^^^^^^^^^^^^^^`
    },
    {
      promise: "refuses the password of a replica written out for mainnet as that of its primary",
      text: `{
  "environments": ["mainnet"],
  "store": { "use": "postgres", "options": {
    "url": "postgres://db/till",
    "replica": { "url": "postgres://till:canary@db2/till" }
  } }
}`,
      report: `c.jsonc: 1 problem
  c.jsonc:5:25  store.options.replica.url: a secret written out in a mainnet config: write "\${env:NAME}" or "\${file:/path}"
    5 |     "replica": { "url": ********************************* }
      |                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^`
    },
    {
      promise: "opens no operator API without a log of what operators do, or by a credential of somebody else",
      text: `{
  "environments": ["devnet"],
  "ops": { "token": "one-and-the-same-credential" },
  "admin": { "token": "one-and-the-same-credential" }
}`,
      report: `c.jsonc: 2 problems
  c.jsonc:4:23  admin.token: it is another credential too: make one for operators alone (openssl rand -hex 32)
    4 |   "admin": { "token": ***************************** }
      |                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  c.jsonc:4:23  admin.token: what operators do must be kept: add { "use": "audit" } to "modules", or remove "admin" to close the operator API
    4 |   "admin": { "token": ***************************** }
      |                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^`
    },
    {
      promise: "says which stores there are, and what their options are",
      text: `{
  "environments": ["devnet"],
  "store": { "use": "sqlite" }
}`,
      report: `c.jsonc: 1 problem
  c.jsonc:3:21  store.use: no store "sqlite": use "embedded" or "postgres"
    3 |   "store": { "use": "sqlite" }
      |                     ^^^^^^^^`
    },
    {
      promise: "says that a package is not installed",
      text: `{
  "environments": ["devnet"],
  "modules": [{ "use": "@acme/till-slack" }, { "use": "./gone.ts" }]
}`,
      report: `c.jsonc: 2 problems
  c.jsonc:3:24  modules[0].use: package "@acme/till-slack" is not installed: npm install @acme/till-slack
    3 |   "modules": [{ "use": "@acme/till-slack" }, { "use": "./gone.ts" }]
      |                        ^^^^^^^^^^^^^^^^^^
  c.jsonc:3:55  modules[1].use: file not found: gone.ts
    3 |   "modules": [{ "use": "@acme/till-slack" }, { "use": "./gone.ts" }]
      |                                                       ^^^^^^^^^^^`
    }
  ]
  for (const { promise, report, ...given } of cases) {
    it.effect(promise, () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* reportOf(given), report)
      }))
  }
})

describe("a plugin's options", () => {
  it.effect("are refused where they stand", () =>
    Effect.gen(function*() {
      const report = yield* reportOf({
        text: `{ "environments": ["devnet"], "prices": [{
  "use": "${acme}",
  "options": { "raet": "1", "maxAgeSeconds": 1.5 }
}] }`
      })
      assert.strictEqual(
        report,
        `c.jsonc: 3 problems
  c.jsonc:3:14  prices[0].options: "rate" is missing
    3 |   "options": { "raet": "1", "maxAgeSeconds": 1.5 }
      |              ^
  c.jsonc:3:16  prices[0].options.raet: unknown key "raet". Did you mean "rate"?
    3 |   "options": { "raet": "1", "maxAgeSeconds": 1.5 }
      |                ^^^^^^
  c.jsonc:3:46  prices[0].options.maxAgeSeconds: expected an integer
    3 |   "options": { "raet": "1", "maxAgeSeconds": 1.5 }
      |                                              ^^^`
      )
    }))

  it.effect("that the plugin keeps secret are refused on mainnet when written out", () =>
    Effect.gen(function*() {
      const text = (key: string) =>
        `{ "environments": ["mainnet"], "prices": [{ "use": "${acme}",
  "options": { "rate": "1", "key": "${key}" } }] }`
      const report = yield* reportOf({ text: text("canary") })
      assert.include(report, "prices[0].options.key: a secret written out in a mainnet config")
      assert.notInclude(report, "canary")
      const { plugins } = yield* loading({ text: text("${env:KEY}"), environment: { KEY: "canary" } })
      assert.strictEqual(plugins.length, 1)
    }))
})

describe("the collector of traces", () => {
  it.effect("has its credential named on mainnet, and other headers written out", () =>
    Effect.gen(function*() {
      const text = (credential: string) =>
        `{ "environments": ["mainnet"], "telemetry": { "otlp": { "url": "https://collector.example",
  "headers": { "authorization": "${credential}", "x-scope-orgid": "shop" } } } }`
      const report = yield* reportOf({ text: text("Bearer canary") })
      assert.include(report, "telemetry.otlp.headers.authorization: a secret written out in a mainnet config")
      assert.notInclude(report, "canary")
      assert.notInclude(report, "x-scope-orgid: ")
      const { settings } = yield* loading({ text: text("Bearer ${env:OTLP}"), environment: { OTLP: "canary" } })
      assert.deepInclude(settings.telemetry.otlp, { traces: 0.01, metrics: true, trustedCallers: [] })
      assert.strictEqual(settings.telemetry.otlp?.headers["authorization"], "Bearer canary")
    }))

  it.effect("has no credential in its URL, and a share between 0 and 1", () =>
    Effect.gen(function*() {
      const report = yield* reportOf({
        text: `{ "environments": ["devnet"], "telemetry": { "otlp": { "url": "https://me:canary@collector.example",
  "traces": 1.5 } } }`
      })
      assert.include(report, "telemetry.otlp.url: expected an http or https URL")
      assert.include(report, "telemetry.otlp.traces: ")
    }))
})

describe("an environment variable", () => {
  const config = (text: string, environment: Readonly<Record<string, string>>) =>
    Effect.map(loading({ text, environment }), (loaded) => loaded)

  it.effect("sets the key its name spells, whatever its case and underscores", () =>
    Effect.gen(function*() {
      const { settings } = yield* config(`{ "environments": ["devnet"], "http": { "port": 1 } }`, {
        TILLWIRE__HTTP__PORT: "8000",
        TILLWIRE__HTTP__PUBLIC_URL: "https://pay.example.com",
        TILLWIRE__DATA__DIRECTORY: "/data",
        TILLWIRE__RPC__PORT: "0",
        TILLWIRE__ENVIRONMENTS: `["devnet", "mainnet"]`,
        TILLWIRE__WEBHOOKS__RETRYBASESECONDS: "0.5",
        TILLWIRE__SECRETS__MASTER__0: "abc",
        UNRELATED: "1"
      })
      assert.deepStrictEqual(settings.http, {
        host: "127.0.0.1",
        port: 8000,
        publicUrl: "https://pay.example.com",
        trustProxy: [],
        allowedOrigins: [],
        processes: 1
      })
      assert.strictEqual(settings.data.directory, "/data")
      assert.strictEqual(settings.rpc.port, 0)
      assert.deepStrictEqual([...settings.environments], ["devnet", "mainnet"])
      assert.strictEqual(settings.webhooks.retryBaseSeconds, 0.5)
      assert.deepStrictEqual(settings.secrets?.master, ["abc"])
    }))

  it.effect("of a name of its own sets the proxy of webhooks, unless the key's own variable does; neither is repeated", () =>
    Effect.gen(function*() {
      const text = `{ "environments": ["devnet"], "webhooks": { "proxyUrl": "http://file:1" } }`
      const proxy = (environment: Readonly<Record<string, string>>) =>
        Effect.map(config(text, environment), ({ settings }) => settings.webhooks.proxyUrl)
      assert.strictEqual(yield* proxy({}), "http://file:1")
      assert.strictEqual(yield* proxy({ WEBHOOK_PROXY_URL: "" }), "http://file:1")
      assert.strictEqual(yield* proxy({ WEBHOOK_PROXY_URL: "https://u:p@named:2" }), "https://u:p@named:2")
      const both = { WEBHOOK_PROXY_URL: "http://named:2", TILLWIRE__WEBHOOKS__PROXY_URL: "http://key:3" }
      assert.strictEqual(yield* proxy(both), "http://key:3")
      for (const wrong of ["socks5://canary@host:1", "http://canary@host:1/path", "host:canary"]) {
        const report = yield* reportOf({ text, environment: { WEBHOOK_PROXY_URL: wrong } })
        assert.include(report, "webhooks.proxyUrl: expected http://host:port or https://host:port")
        assert.include(report, "WEBHOOK_PROXY_URL")
        assert.notInclude(report, "canary")
      }
    }))

  it.effect("reaches into plugins and the store, typed by their own schemas", () =>
    Effect.gen(function*() {
      const { plugins, store } = yield* config(
        `{ "environments": ["mainnet"], "prices": [{ "use": "${acme}", "options": { "rate": "1" } }] }`,
        {
          TILLWIRE__PRICES__0__OPTIONS__RATE: "2",
          TILLWIRE__PRICES__0__OPTIONS__MAX_AGE_SECONDS: "60",
          TILLWIRE__PRICES__0__OPTIONS__KEY: "secret",
          TILLWIRE__STORE__USE: "postgres",
          TILLWIRE__STORE__OPTIONS__URL: "postgres://till:pw@db/till",
          TILLWIRE__STORE__OPTIONS__MAX_CONNECTIONS: "7"
        }
      )
      const options = plugins[0]?.options as { readonly rate: string; readonly maxAgeSeconds: number }
      assert.deepStrictEqual([options.rate, options.maxAgeSeconds], ["2", 60])
      assert.strictEqual(store.use, "postgres")
      assert.strictEqual(store.options.maxConnections, 7)
    }))
})

describe("a config file", () => {
  it.effect("that is named but absent is told by name", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(load({ file: "/nowhere/c.jsonc", environment: {} }))
      assert.strictEqual(error.report, "config file not found: /nowhere/c.jsonc. Name one with --config <file>.")
    }).pipe(Effect.provide(NodeServices.layer)))
})
