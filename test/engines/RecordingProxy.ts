/**
 * The proxy that a browser of these tests is told to use. It lets through what goes to the service, refuses and keeps
 * what goes elsewhere, and has the page tell what it complains of: by the browser's own reports of the security policy,
 * and by a few lines before the page's script, which the policy allows as it allows the script.
 */
import { Effect, type Scope } from "effect"
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"

/** One request of the browser. */
export interface RecordedRequest {
  readonly method: string
  /** Absolute; of a tunnel, as sockets and https begin, `host:port`. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
}

export interface RecordingProxy {
  /** `host:port`. */
  readonly host: string
  readonly asked: ReadonlyArray<RecordedRequest>
  /** What went, or wanted to go, to another origin. */
  readonly foreign: () => ReadonlyArray<string>
  /** Exceptions, console messages, and breaches of the security policy. */
  readonly complaints: Array<string>
  /** Sockets of the page that are open. */
  readonly sockets: () => number
  /** What becomes of the next requests. */
  readonly set: (way: Partial<ProxyMode>) => void
}

interface ProxyMode {
  /** Nothing comes through. */
  readonly isShut: boolean
  /** Sockets do not come through, open ones end. */
  readonly hasSockets: boolean
  /** Headers that do not come through. */
  readonly without: RegExp
  /** The browser has no Trusted Types: no interface, and nothing in the policy that it would know. */
  readonly hasTrustedTypes: boolean
}

/** What a policy says of Trusted Types. */
const trustedTypes = /; (?:require-trusted-types-for|trusted-types) [^;]*/g

/** Where the lines below tell what they see. */
const reports = "/door/"
const reportPath = `${reports}policy`

/** A browser's own report of a breach, in short. */
const reported = (text: string): string => {
  const report = JSON.parse(text)["csp-report"]
  return `report: ${report["violated-directive"]} ${report["blocked-uri"]}`
}

/**
 * Runs before the page's script: tells what a console would show, and notes when each screen came, in epoch
 * milliseconds.
 */
const watching = `{
  const tell = (text) => navigator.sendBeacon("${reports}console", text)
  addEventListener("error", ({ error, message, target }) =>
    tell("exception: " + (message ?? target.outerHTML) + " " + (error?.stack ?? "")), true)
  addEventListener("unhandledrejection", ({ reason }) => tell("rejection: " + reason + " " + reason?.stack))
  for (const level of ["error", "warn", "log"]) {
    const own = console[level]
    console[level] = (...args) => {
      tell(level + ": " + args.join(" "))
      own.apply(console, args)
    }
  }
  document.addEventListener("securitypolicyviolation", ({ blockedURI, sample, violatedDirective }) =>
    tell("policy: " + [violatedDirective, blockedURI, sample].join(" ")))
  window.came = {}
  new MutationObserver(() => {
    const { screen } = document.querySelector("[data-screen]").dataset
    came[screen] ??= performance.timeOrigin + performance.now()
  }).observe(document.getElementById("state"), { childList: true })
}
`

const bodyOf = async (message: IncomingMessage): Promise<string> => (await message.toArray()).join("")

/** A proxy before the service at `service`; it is gone with the scope. */
export const makeRecordingProxy = (service: string): Effect.Effect<RecordingProxy, never, Scope.Scope> =>
  Effect.gen(function*() {
    const { host, hostname, port } = new URL(service)
    const asked: Array<RecordedRequest> = []
    const complaints: Array<string> = []
    const open = new Set<Socket>()
    let way: ProxyMode = { isShut: false, hasSockets: true, without: /^$/, hasTrustedTypes: true }

    const policyOf = (policy: string) => {
      const known = way.hasTrustedTypes ? policy : policy.replace(trustedTypes, "")
      return `${known}; report-uri ${reportPath}`
    }

    const forward = (incoming: IncomingMessage, response: ServerResponse, path: string) => {
      const isScript = path.startsWith("/assets/")
      const kept = Object.entries(incoming.headers).filter(([name]) =>
        !way.without.test(name) && name !== "proxy-connection" && !(isScript && name === "accept-encoding")
      )
      const asked = { hostname, port, path, method: incoming.method, headers: Object.fromEntries(kept) }
      const onward = request(asked, (answer) => {
        const { "content-length": length, "content-security-policy": policy, ...headers } = answer.headers
        response.writeHead(answer.statusCode ?? 502, {
          ...headers,
          ...length === undefined || isScript ? {} : { "content-length": length },
          ...policy === undefined ? {} : { "content-security-policy": policyOf(String(policy)) }
        })
        if (isScript) response.write(way.hasTrustedTypes ? watching : `delete window.trustedTypes\n${watching}`)
        answer.pipe(response)
      })
      onward.on("error", () => response.destroy())
      incoming.pipe(onward)
    }

    const server = createServer((incoming, response) => {
      const { headers, method = "", url = "" } = incoming
      const target = URL.canParse(url) ? new URL(url) : undefined
      if (target?.host === host && target.pathname.startsWith(reports)) {
        void bodyOf(incoming).then((text) => complaints.push(target.pathname === reportPath ? reported(text) : text))
        return void response.writeHead(204).end()
      }
      asked.push({ method, url, headers })
      if (target?.host !== host || way.isShut) return void response.writeHead(502).end()
      forward(incoming, response, `${target.pathname}${target.search}`)
    })
    /** Leads a socket to the service; `begin` says the first words on it. */
    const lead = (incoming: IncomingMessage, socket: Socket, isOurs: boolean, begin: (onward: Socket) => void) => {
      socket.on("error", () => socket.destroy())
      const { headers, method = "", url = "" } = incoming
      asked.push({ method, url, headers })
      if (!isOurs || way.isShut || !way.hasSockets) return void socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n")
      const onward = connect(Number(port), hostname).on("error", () => socket.destroy())
      onward.once("connect", () => {
        open.add(socket)
        begin(onward)
        onward.pipe(socket)
        socket.pipe(onward)
      })
      onward.once("close", () => socket.destroy())
      socket.once("close", () => {
        open.delete(socket)
        onward.destroy()
      })
    }
    // Firefox leads the page's socket through a tunnel; WebKit asks the proxy for it.
    const established = "HTTP/1.1 200 Connection Established\r\n\r\n"
    server.on(
      "connect",
      (incoming, socket: Socket) => lead(incoming, socket, incoming.url === host, () => void socket.write(established))
    )
    server.on("upgrade", (incoming, socket: Socket) => {
      const { host: target, pathname, search } = new URL(incoming.url ?? "")
      lead(incoming, socket, target === host, (onward) => {
        const { rawHeaders } = incoming
        const lines = rawHeaders.flatMap((name, at) => at % 2 === 0 ? [`${name}: ${rawHeaders[at + 1]}`] : [])
        onward.write([`GET ${pathname}${search} HTTP/1.1`, ...lines, "\r\n"].join("\r\n"))
      })
    })
    yield* Effect.acquireRelease(
      Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () =>
        Effect.callback<void>((resume) => {
          for (const socket of open) socket.destroy()
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        })
    )
    return {
      host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
      asked,
      complaints,
      sockets: () => open.size,
      foreign: () => asked.map(({ url }) => url).filter((url) => url !== host && URL.parse(url)?.host !== host),
      set: (next) => {
        way = { ...way, ...next }
        if (way.isShut || !way.hasSockets) { for (const socket of open) socket.destroy() }
      }
    }
  })
