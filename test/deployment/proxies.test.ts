/**
 * Goal: the proxies of `config/deployment/` work as they are written: they end TLS, name the caller whatever it says
 * itself, pass websockets on, and keep no secret. Method: the real program reads the real file, of which only names,
 * ports and certificates are others, in front of the real service.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { request, type RequestOptions } from "node:https"
import { join } from "node:path"
import { WebSocket } from "ws"
import { migratedDatabase } from "../support/Database.ts"
import { makeKey } from "../support/Merchants.ts"
import { freePort } from "../support/Ports.ts"
import { configOf, startService, temporaryDirectory, until } from "../support/Service.ts"

const fileOf = (name: string): string =>
  readFileSync(new URL(`../../config/deployment/${name}`, import.meta.url), "utf8")
const pemPath = (name: "cert" | "key"): string => new URL(`../support/tls/${name}.pem`, import.meta.url).pathname

/** A proxy: how its example is read on this machine, and by which command. */
interface ProxyProgram {
  readonly command: string
  /** Writes its files below `folder`, and answers the words of its command. */
  readonly prepare: (
    folder: string,
    ports: { readonly proxy: number; readonly service: number }
  ) => ReadonlyArray<string>
}

const replaceOnce = (text: string, from: string, to: string): string => {
  assert.include(text, from)
  return text.replace(from, to)
}

const nginx: ProxyProgram = {
  command: "nginx",
  prepare: (folder, ports) => {
    const edits: ReadonlyArray<readonly [string, string]> = [
      ["server 127.0.0.1:8080;", `server 127.0.0.1:${ports.service};`],
      ["listen 80;\n  listen [::]:80;", `listen unix:${folder}/plain.sock;`],
      ["listen 443 ssl http2;\n  listen [::]:443 ssl http2;", `listen 127.0.0.1:${ports.proxy} ssl http2;`],
      ["/var/log/nginx/tillwire.log", join(folder, "tillwire.log")],
      ["/etc/letsencrypt/live/pay.example.com/fullchain.pem", pemPath("cert")],
      ["/etc/letsencrypt/live/pay.example.com/privkey.pem", pemPath("key")]
    ]
    const site = edits.reduce((text, [from, to]) => replaceOnce(text, from, to), fileOf("nginx.conf"))
    writeFileSync(join(folder, "site.conf"), site)
    const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map((name) => `${name}_temp_path ${join(folder, name)};`)
    writeFileSync(
      join(folder, "nginx.conf"),
      `daemon off; pid ${folder}/pid; error_log ${folder}/error.log; events {}\n` +
        `http { access_log ${folder}/access.log; ${paths.join(" ")} include ${folder}/site.conf; }`
    )
    return ["-e", join(folder, "error.log"), "-c", join(folder, "nginx.conf")]
  }
}

const caddy: ProxyProgram = {
  command: "caddy",
  prepare: (folder, ports) => {
    // No HTTP/3: whoever names a free port here holds its UDP port.
    const edits: ReadonlyArray<readonly [string, string]> = [
      [
        "{\n\tlog default {",
        "{\n\tadmin off\n\tservers {\n\t\tprotocols h1 h2\n\t}\n\tauto_https disable_redirects\n\tlog default {"
      ],
      ["pay.example.com {", `https://127.0.0.1:${ports.proxy} {\n\ttls ${pemPath("cert")} ${pemPath("key")}`],
      ["127.0.0.1:8080", `127.0.0.1:${ports.service}`]
    ]
    const site = edits.reduce((text, [from, to]) => replaceOnce(text, from, to), fileOf("Caddyfile"))
    writeFileSync(join(folder, "Caddyfile"), site)
    return ["run", "--adapter", "caddyfile", "--config", join(folder, "Caddyfile")]
  }
}

const runProxy = (
  { command, prepare }: ProxyProgram,
  servicePort: number
): Effect.Effect<{ readonly folder: string; readonly port: number; readonly said: () => string }, never, Scope.Scope> =>
  Effect.gen(function*() {
    const folder = join(yield* temporaryDirectory, command)
    mkdirSync(folder)
    const port = yield* freePort
    const words = prepare(folder, { proxy: port, service: servicePort })
    let said = ""
    yield* Effect.acquireRelease(
      Effect.sync((): ChildProcess => {
        const child = spawn(command, words, { env: { ...process.env, HOME: folder, XDG_DATA_HOME: folder } })
        for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => said += String(text))
        return child
      }),
      (child) => Effect.sync(() => child.kill("SIGKILL"))
    )
    return { folder, port, said: () => said }
  })

const send = (port: number, path: string, options: RequestOptions = {}, body?: string) =>
  Effect.callback<{ readonly status: number; readonly headers: NodeJS.Dict<string | string[]>; readonly text: string }>(
    (resume) => {
      const sent = request(
        { host: "127.0.0.1", port, path, rejectUnauthorized: false, agent: false, ...options },
        (answer) => {
          let text = ""
          answer.on("data", (part) => text += String(part))
          answer.once(
            "end",
            () => resume(Effect.succeed({ status: answer.statusCode ?? 0, headers: answer.headers, text }))
          )
        }
      )
      sent.once("error", (error) => resume(Effect.succeed({ status: 0, headers: {}, text: error.message })))
      sent.end(body)
    }
  )

/** The first frame of a websocket. */
const firstFrame = (url: string, headers: Record<string, string>) =>
  Effect.callback<any>((resume) => {
    const socket = new WebSocket(url, { rejectUnauthorized: false, headers })
    socket.once("message", (data) => {
      socket.terminate()
      resume(Effect.succeed(JSON.parse(String(data))))
    })
    socket.once("error", (error) => resume(Effect.succeed(error.message)))
  })

for (const proxy of [nginx, caddy]) {
  const isMissing = spawnSync(proxy.command, ["version"]).error !== undefined
  describe.skipIf(isMissing)(`${proxy.command} in front of the service`, () => {
    it.live("ends TLS, names the caller whatever it says, passes websockets on and keeps no link", () =>
      Effect.gen(function*() {
        const service = yield* startService({
          directory: yield* temporaryDirectory,
          config: configOf({
            database: (yield* migratedDatabase).url,
            chains: [{ use: "simulated" }],
            http: { publicUrl: "https://pay.example.com", trustProxy: ["127.0.0.1"] }
          })
        })
        const { folder, port, said } = yield* runProxy(proxy, service.ports.http)
        const isServing = ({ status }: { readonly status: number }) => status === 200
        yield* until("the proxy serves", send(port, "/health/ready"), isServing, 30_000)

        const { merchant_id: merchant, merchant_key: key } = yield* service.keys
        const invoice = yield* send(port, "/api/v1/invoices", {
          method: "POST",
          headers: { "x-api-key": key, "idempotency-key": "behind-a-proxy", "content-type": "application/json" }
        }, JSON.stringify({ amount_usd: 5 }))
        assert.strictEqual(invoice.status, 200, invoice.text)
        assert.strictEqual(invoice.headers["strict-transport-security"], "max-age=31536000")
        const { payment_url: link } = JSON.parse(invoice.text)
        const { pathname, search } = new URL(link)
        assert.strictEqual((yield* send(port, pathname + search)).status, 303)

        const elsewhere = "203.0.113.7"
        const bound = yield* makeKey(service, merchant, [elsewhere])
        const spoofed = { "x-api-key": bound, "x-forwarded-for": elsewhere }
        assert.strictEqual((yield* send(port, "/api/v1/invoices", { headers: spoofed })).status, 403)
        const near = yield* makeKey(service, merchant, ["127.0.0.1"])
        assert.strictEqual((yield* send(port, "/api/v1/invoices", { headers: { "x-api-key": near } })).status, 200)

        const frame = yield* firstFrame(`wss://127.0.0.1:${port}/ws/merchant/events`, { "x-api-key": key })
        assert.strictEqual(frame.type, "ready", JSON.stringify(frame))

        yield* service.stop()
        assert.strictEqual((yield* send(port, pathname + search, { headers: { "x-api-key": key } })).status, 502)
        const kept = [
          said(),
          ...readdirSync(folder).filter((name) => name.endsWith(".log")).map((name) =>
            readFileSync(join(folder, name), "utf8")
          )
        ].join("\n")
        for (const secret of [search.slice(1), key, bound]) assert.notInclude(kept, secret)
      }).pipe(Effect.scoped))
  })
}

describe.skipIf(spawnSync("systemd-analyze", ["--version"]).error !== undefined)("the unit of systemd", () => {
  it("has only what systemd knows", () => {
    // What it runs is not installed on this machine; everything else has to be right.
    const unit = new URL("../../config/deployment/tillwire.service", import.meta.url).pathname
    const { stderr } = spawnSync("systemd-analyze", ["verify", unit], { encoding: "utf8" })
    const complaints = stderr.split("\n").filter((line) =>
      line.includes("tillwire.service") && !line.includes("/opt/tillwire/node is not executable")
    )
    assert.deepStrictEqual(complaints, [])
  })
})

describe("the manifests of Kubernetes", () => {
  it("keep the data directory inside its volume, because everybody may write into an emptyDir itself", () => {
    const text = readFileSync(new URL("../../config/deployment/kubernetes.yaml", import.meta.url), "utf8")
    const volume = /name: data, mountPath: ([^ }]+)/.exec(text)?.[1] ?? assert.fail("no volume named data")
    const directory = /name: TILLWIRE__DATA__DIRECTORY, value: ([^ }]+)/.exec(text)?.[1] ?? volume
    assert.isTrue(directory.startsWith(`${volume}/`), `${directory} is not inside ${volume}`)
  })

  it("leave a pod its port while calls are still sent to it, and then as long as a stop may take", () => {
    const text = readFileSync(new URL("../../config/deployment/kubernetes.yaml", import.meta.url), "utf8")
    const numberIn = (pattern: RegExp) => Number(pattern.exec(text)?.[1] ?? assert.fail(`no ${pattern}`))
    const wait = numberIn(/preStop:\s+exec: { command: \[sleep, "(\d+)"\] }/)
    assert.isAtLeast(wait, 5)
    assert.isAtLeast(numberIn(/terminationGracePeriodSeconds: (\d+)/), wait + 20)
  })
})

describe("the secrets of compose", () => {
  it.live("are made once, each of 32 random bytes, in a folder of its owner", () =>
    Effect.gen(function*() {
      const folder = yield* temporaryDirectory
      const script = new URL("../../config/deployment/secrets.sh", import.meta.url).pathname
      const read = () => {
        execFileSync("sh", [script], { cwd: folder })
        return readdirSync(join(folder, ".secrets")).map((name) => readFileSync(join(folder, ".secrets", name), "utf8"))
      }
      const made = read()
      assert.strictEqual(new Set(made).size, 4)
      for (const secret of made) assert.match(secret, /^[0-9a-f]{64}$/)
      assert.deepStrictEqual(read(), made, "another run leaves them as they are")
    }).pipe(Effect.scoped))
})
