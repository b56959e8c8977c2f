/**
 * Processes that run one service after another for the files of a worker. A process of its own costs a service 1.3 s of
 * processor time until it is ready, and its first calls several times what later ones cost, because nothing is compiled
 * yet; in a process that ran one before, a start takes 0.25 s.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import type { HostMessage } from "./hostProcess.ts"

/** Services that one process runs at most: whatever they leave behind goes with it. */
const servicesPerProcess = 40

/** Processes of a worker that wait for their next service, at most; each is some 300 MB. */
const maximumWaiting = 3

/** What a process runs, and who hears of it. */
export interface Hosted {
  readonly file: string
  readonly directory: string
  readonly environment: Readonly<Record<string, string>>
  readonly onOutput: (text: string) => void
  /** The exit code; null: by a signal. */
  readonly onEnd: (code: number | null) => void
}

interface Host {
  readonly child: ChildProcess
  served: number
  current: Hosted | undefined
  lastLine: string
  /** The end of the output, where {@link lastLine} may have begun. */
  rest: string
}

const waiting = new Map<string, Array<Host>>()

const release = (entry: string, host: Host) => {
  const hosts = waiting.get(entry) ?? []
  waiting.set(entry, hosts)
  if (host.served < servicesPerProcess && hosts.length < maximumWaiting) hosts.push(host)
  else host.child.disconnect()
}

const startHost = (entry: string, environment: Readonly<Record<string, string | undefined>>): Host => {
  const child = spawn(process.execPath, [entry], {
    cwd: "/",
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    env: environment
  })
  const host: Host = { child, served: 0, current: undefined, lastLine: "", rest: "" }
  child.stdout!.setEncoding("utf8").on("data", (text: string) => {
    const { current } = host
    if (current === undefined) return
    const all = host.rest + text
    const end = all.indexOf(`${host.lastLine}\n`)
    if (end === -1) {
      current.onOutput(text)
      host.rest = all.slice(-host.lastLine.length)
      return
    }
    current.onOutput(all.slice(host.rest.length, Math.max(end, host.rest.length)))
    host.current = undefined
    current.onEnd(0)
    release(entry, host)
  })
  child.stderr!.setEncoding("utf8").on("data", (text: string) => host.current?.onOutput(text))
  child.once("close", (code) => {
    host.current?.onEnd(code)
    host.current = undefined
    waiting.set(entry, (waiting.get(entry) ?? []).filter((each) => each !== host))
  })
  // The worker ends when its files are done; the process ends with it.
  child.unref()
  child.channel?.unref()
  for (const output of [child.stdout, child.stderr]) (output as unknown as { unref: () => void }).unref()
  return host
}

/** A service that runs, as far as its process goes. */
export interface RunningProcess {
  readonly pid: number | undefined
  readonly kill: (signal: "SIGTERM" | "SIGKILL") => void
}

/**
 * Runs a service in a process of `entry` that waits, or in a new one that has `environment` for good. What SIGTERM does
 * to a process of its own is done to the service, SIGKILL ends the process.
 */
export const runHosted = (
  entry: string,
  environment: Readonly<Record<string, string | undefined>>,
  hosted: Hosted
): RunningProcess => {
  const found = waiting.get(entry)?.pop()
  const host = found?.child.connected === true ? found : startHost(entry, environment)
  host.current = hosted
  host.served++
  host.lastLine = `service ${randomBytes(8).toString("hex")} has stopped`
  host.rest = ""
  const tell = (message: HostMessage) => void host.child.send(message)
  const { directory, environment: own, file } = hosted
  tell({ start: { file, directory, environment: own, lastLine: host.lastLine } })
  return {
    pid: host.child.pid,
    kill: (signal) => signal === "SIGTERM" ? tell("stop") : void host.child.kill(signal)
  }
}
