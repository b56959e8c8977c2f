/** The measurements of the doctor: each asks one thing of the machine or the network and never fails. */
import { Effect } from "effect"
import { constants, promises, type Stats } from "node:fs"
import { createConnection, createServer, isIP } from "node:net"
import { connect as connectTls } from "node:tls"
import type { CertificateState, DirectoryState, HealthState, PortState } from "./Findings.ts"

/** Milliseconds that one measurement may take. */
export const probeTimeoutMillis = 5_000

const millisOfDay = 86_400_000

/** A GET: its status, JSON and headers; undefined without an answer in time. */
export const get = (url: string): Effect.Effect<
  { readonly status: number; readonly json: unknown; readonly date: string | null } | undefined
> =>
  Effect.tryPromise((signal) =>
    fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(probeTimeoutMillis)]), redirect: "manual" }).then(
      (response) =>
        response.text().then((text) => ({
          status: response.status,
          json: response.headers.get("content-type")?.includes("json") === true
            ? JSON.parse(text) as unknown
            : undefined,
          date: response.headers.get("date")
        }))
    )
  ).pipe(Effect.orElseSucceed(() => undefined))

/** The health of a service that answers at `url`; undefined: nobody answers, or somebody else. */
export const healthAt = (url: string): Effect.Effect<HealthState | undefined> =>
  Effect.map(get(`${url}/health/ready`), (answer) => {
    const report = answer?.json as Partial<HealthState> | undefined
    return Array.isArray(report?.degraded) && Array.isArray(report.unavailable)
      ? { degraded: report.degraded, unavailable: report.unavailable }
      : undefined
  })

/** Whether a port can be opened. */
const canListen = (host: string, port: number): Effect.Effect<string | null> =>
  Effect.callback((resume) => {
    const server = createServer()
    server.once("error", (error: NodeJS.ErrnoException) => resume(Effect.succeed(error.code ?? error.message)))
    server.listen({ host, port }, () => server.close(() => resume(Effect.succeed(null))))
  })

export const portState = (host: string, port: number, isService: boolean): Effect.Effect<PortState> =>
  isService ?
    Effect.succeed("the service") :
    Effect.map(canListen(host, port), (error) =>
      error === null ? "free" : error === "EACCES" ? "refused by the system" : "another program")

/** Why an address takes no connection; null: it does. */
export const connectionError = (host: string, port: number): Effect.Effect<string | null> =>
  Effect.callback<string | null>((resume) => {
    const socket = createConnection({ host, port, timeout: probeTimeoutMillis })
    const end = (error: string | null) => {
      socket.destroy()
      resume(Effect.succeed(error))
    }
    socket.once("connect", () => end(null))
    socket.once("timeout", () => end(`no answer in ${probeTimeoutMillis / 1000} s`))
    socket.once("error", (error: NodeJS.ErrnoException) => end(error.code ?? error.message))
    return Effect.sync(() => socket.destroy())
  })

/** Any user of the machine may write (mode bits, stat(2)). */
const writableByOthers = 0o002

const stateOf = (stats: Stats, canWrite: boolean): DirectoryState => {
  if (!stats.isDirectory()) return "a file"
  if (!canWrite) return "denied"
  return (stats.mode & writableByOthers) === 0 ? "writable" : "open to anybody"
}

export const directoryState = (directory: string): Effect.Effect<DirectoryState> =>
  Effect.gen(function*() {
    const stats = yield* Effect.tryPromise(() => promises.stat(directory))
    const access = yield* Effect.exit(Effect.tryPromise(() => promises.access(directory, constants.W_OK)))
    return stateOf(stats, access._tag === "Success")
  }).pipe(Effect.orElseSucceed(() => "absent" as const))

/** Bytes that are free at a directory or the nearest one above that exists. */
export const freeBytes = (directory: string): Effect.Effect<number | undefined> =>
  Effect.tryPromise(() => promises.statfs(directory)).pipe(
    Effect.map(({ bavail, bsize }) => bavail * bsize),
    Effect.catch(() => {
      const above = directory.replace(/\/[^/]*\/?$/, "")
      return above === directory || above === "" ? Effect.undefined : freeBytes(above)
    })
  )

/** Faults from before a certificate is shown: of the name, or of the way there. */
const connectionFaults = new Set([
  "ENOTFOUND",
  "EAI_AGAIN",
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ETIMEDOUT"
])

/** The certificate at an https URL. */
export const certificateAt = (url: string, nowMillis: number): Effect.Effect<CertificateState> => {
  const { hostname, port, protocol } = new URL(url)
  if (protocol !== "https:") return Effect.succeed({ _tag: "NoTls" })
  return Effect.callback<CertificateState>((resume) => {
    const socket = connectTls({
      host: hostname,
      port: port === "" ? 443 : Number(port),
      ...(isIP(hostname) === 0 ? { servername: hostname } : {})
    }, () => {
      const end = Date.parse(socket.getPeerCertificate().valid_to)
      resume(Effect.succeed({ _tag: "Valid", daysLeft: (end - nowMillis) / millisOfDay }))
      socket.destroy()
    })
    socket.setTimeout(
      probeTimeoutMillis,
      () =>
        socket.destroy(
          Object.assign(new Error(`no answer in ${probeTimeoutMillis / 1000} s`), { code: "ETIMEDOUT" })
        )
    )
    socket.on("error", (error: NodeJS.ErrnoException) =>
      resume(Effect.succeed({
        _tag: connectionFaults.has(error.code ?? "") ? "Unreachable" : "Refused",
        reason: `${error.message} (${error.code ?? "TLS"})`
      })))
  })
}

/** Seconds that this machine's clock is ahead of a server's; null: it tells no time. */
export const clockSkew = (date: string | null | undefined, nowMillis: number): number | null => {
  const millis = date === null || date === undefined ? Number.NaN : Date.parse(date)
  return Number.isNaN(millis) ? null : (nowMillis - millis) / 1000
}
