/** What the doctor makes of what it measured. Pure: each finding says what is wrong and what to do. */

export type Verdict = "ok" | "warn" | "fail"

export interface Finding {
  readonly check: string
  readonly verdict: Verdict
  readonly what: string
  /** What to do; absent where all is well. */
  readonly fix?: string
}

export const ok = (check: string, what: string): Finding => ({ check, verdict: "ok", what })
export const warn = (check: string, what: string, fix: string): Finding => ({ check, verdict: "warn", what, fix })
export const fail = (check: string, what: string, fix: string): Finding => ({ check, verdict: "fail", what, fix })

/** Major version of Node that the service is written for. */
export const oldestNode = 24

export const nodeFinding = (version: string): Finding =>
  Number.parseInt(version, 10) >= oldestNode
    ? ok("node", `Node ${version}`)
    : fail("node", `Node ${version} is too old`, `Install Node ${oldestNode} or newer (https://nodejs.org)`)

/** Bytes free where the data is: below the first the database is soon full, below the second it stops. */
const lowBytes = 2 * 1024 ** 3
const criticalBytes = 200 * 1024 ** 2

const gibibytes = (bytes: number): string => `${(bytes / 1024 ** 3).toFixed(1)} GiB`

export const diskFinding = (freeBytes: number, directory: string): Finding => {
  const what = `${gibibytes(freeBytes)} free at ${directory}`
  if (freeBytes < criticalBytes) {
    return fail("disk", what, "Free space now: a database on a full disk stops taking payments")
  }
  return freeBytes < lowBytes
    ? warn("disk", what, "Free space, or move data.directory to a larger disk")
    : ok("disk", what)
}

/** What became of an attempt to use a directory. */
export type DirectoryState = "writable" | "absent" | "denied" | "a file" | "open to anybody"

export const directoryFinding = (state: DirectoryState, directory: string): Finding => {
  switch (state) {
    case "writable":
      return ok("data directory", directory)
    case "absent":
      return ok("data directory", `${directory} is made at the first start`)
    case "denied":
      return fail(
        "data directory",
        `${directory} cannot be written`,
        "Give it to the account that runs the service (chown), or set data.directory"
      )
    case "a file":
      return fail("data directory", `${directory} is a file`, "Set data.directory to a directory")
    case "open to anybody":
      return fail(
        "data directory",
        `any user of this machine may write to ${directory}`,
        `Close it: chmod o-w ${directory}`
      )
  }
}

/** Who has a port: nobody, the service itself, or some other program. */
export type PortState = "free" | "the service" | "another program" | "refused by the system"

export const portFinding = (check: string, state: PortState, address: string, setting: string): Finding => {
  switch (state) {
    case "free":
      return ok(check, `${address} is free; the service does not run`)
    case "the service":
      return ok(check, `the service answers at ${address}`)
    case "another program":
      return fail(check, `another program listens on ${address}`, `Stop it, or choose another port: ${setting}`)
    case "refused by the system":
      return fail(
        check,
        `this account may not listen on ${address}`,
        `Use a port above 1023, or another host: ${setting}`
      )
  }
}

/**
 * Seconds by which clocks may differ before doctor warns, and before it fails. A price that is more than 60 s ahead is
 * refused (`PriceRules.maximumAheadSeconds`), receivers refuse signatures beyond 300 s.
 */
export const skewWarnSeconds = 5
export const skewFailSeconds = 60

export const clockFinding = (skewSeconds: number | null, against: string): Finding => {
  if (skewSeconds === null) return ok("clock", "no server of the config tells the time: not compared")
  const what = `${Math.abs(skewSeconds).toFixed(0)} s ${skewSeconds >= 0 ? "ahead of" : "behind"} ${against}`
  const fix = "Turn on time synchronization (timedatectl set-ntp true)"
  if (Math.abs(skewSeconds) > skewFailSeconds) return fail("clock", what, fix)
  return Math.abs(skewSeconds) > skewWarnSeconds ? warn("clock", what, fix) : ok("clock", what)
}

/** Whether https webhooks leave: `error` of a connection to the proxy that they leave by. */
export const proxyFinding = (error: string | null, address: string): Finding =>
  error === null
    ? ok("webhook proxy", `${address} takes connections`)
    : fail(
      "webhook proxy",
      `${address} takes no connection (${error}), so no https webhook leaves`,
      "Start the proxy, or correct webhooks.proxyUrl"
    )

/** Days before a certificate ends from which on it is worth a look. */
const certificateWarnDays = 14

/** A server's certificate, or why there is no connection by TLS. */
export type CertificateState =
  | { readonly _tag: "Valid"; readonly daysLeft: number }
  | { readonly _tag: "Refused"; readonly reason: string }
  /** Nothing takes a connection there, or nobody knows the name. */
  | { readonly _tag: "Unreachable"; readonly reason: string }
  | { readonly _tag: "NoTls" }

export const certificateFinding = (state: CertificateState, host: string, isMainnet: boolean): Finding => {
  switch (state._tag) {
    case "NoTls":
      return isMainnet
        ? fail(
          "tls",
          `${host} is served without TLS`,
          "Put a proxy with a certificate before it, and set http.publicUrl to https://…"
        )
        : ok("tls", "not used on this machine")
    case "Refused":
      return fail("tls", `${host}: ${state.reason}`, "Renew the certificate for this name, or correct http.publicUrl")
    case "Unreachable":
      return fail(
        "tls",
        `${host} is not reached: ${state.reason}`,
        "Give the name its DNS record, start the proxy that ends TLS there, or correct http.publicUrl"
      )
    case "Valid":
      return state.daysLeft < certificateWarnDays
        ? warn("tls", `the certificate of ${host} ends in ${Math.floor(state.daysLeft)} days`, "Renew it")
        : ok("tls", `the certificate of ${host} is good for ${Math.floor(state.daysLeft)} days`)
  }
}

/** An endpoint of webhooks as the API lists it. */
export interface EndpointState {
  readonly id: string
  readonly url: string
  readonly status: string
  readonly consecutive_failures: number
}

export const webhookFindings = (endpoints: ReadonlyArray<EndpointState>): ReadonlyArray<Finding> => {
  if (endpoints.length === 0) return [ok("webhooks", "no endpoint is registered")]
  const broken = endpoints.flatMap(({ consecutive_failures, id, status, url }): ReadonlyArray<Finding> => {
    if (status === "disabled") {
      return [fail(
        "webhooks",
        `${id} is disabled: ${url}`,
        `Repair the receiver, enable the endpoint, then: tillwire webhooks recover ${id} --since 1d`
      )]
    }
    return consecutive_failures === 0 ? [] : [warn(
      "webhooks",
      `${consecutive_failures} attempts in a row failed at ${url}`,
      `See why: tillwire webhooks deliveries ${id} --status failed`
    )]
  })
  return broken.length > 0 ? broken : [ok("webhooks", `${endpoints.length} endpoints, none fails`)]
}

/** What the service itself says of its work. */
export interface HealthState {
  readonly unavailable: ReadonlyArray<{ readonly check: string; readonly message: string }>
  readonly degraded: ReadonlyArray<{ readonly check: string; readonly message: string }>
}

/** Heads and lag of networks, the age of prices, due work: what runs knows them, and says what to do. */
export const healthFindings = ({ degraded, unavailable }: HealthState): ReadonlyArray<Finding> => {
  const split = (message: string): readonly [what: string, fix: string] => {
    const at = message.search(/(?::|\.)\s/)
    return at === -1 ? [message, "See the log of the service"] : [message.slice(0, at), message.slice(at + 1).trim()]
  }
  const found = [
    ...unavailable.map(({ check, message }) => fail(check, ...split(message))),
    ...degraded.map(({ check, message }) => warn(check, ...split(message)))
  ]
  return found.length > 0 ? found : [ok("health", "database, networks, prices and due work are as they should be")]
}

/** The exit of a doctor: warnings are no failure. */
export const hasFailed = (findings: ReadonlyArray<Finding>): boolean =>
  findings.some(({ verdict }) => verdict === "fail")
