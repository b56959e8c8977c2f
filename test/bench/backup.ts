/**
 * What creates take while a backup of the embedded database is made, beside without one, by turns in one run. The
 * database has `--rows` invoices, written in bulk.
 */
import { generateX25519Identity, identityToRecipient } from "age-encryption"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Client } from "pg"
import { makeMerchants } from "../support/Merchants.ts"
import { commandLine, configOf, startService } from "../support/Service.ts"
import type { Bench } from "./Bench.ts"
import { invoiceBody } from "./create.ts"
import { copies, spanSeconds, sums } from "./list.ts"
import { drive, type LoadSpec, warmUp } from "./load.ts"
import { median, type ReportLine } from "./Report.ts"

const section = "backup"

/** The goal: p99 of creates beside a backup, over the same without one. */
const mostTimes = 1.5

const merchantCount = 20
const windowSeconds = 10
/** Creates that are due each second: a busy day of a large shop, and far from what the service can do. */
const createsEachSecond = 50

/** A backup in a process of its own, as an operator runs it, until the scope closes. */
const backup = (folder: string, target: string, recipient: string, more: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const words = [
        "backup",
        "create",
        "--to",
        target,
        "--recipient",
        recipient,
        "--config",
        join(folder, "config.json")
      ]
      const child = spawn(process.execPath, [commandLine(), ...words, ...more], { cwd: folder, stdio: "ignore" })
      return { child, ended: new Promise<number | null>((resolve) => child.once("close", resolve)) }
    }),
    ({ child, ended }) =>
      Effect.promise(async () => {
        child.kill("SIGTERM")
        await ended
      })
  )

const fill = (dataDirectory: string, rows: number) =>
  Effect.promise(async () => {
    const client = new Client({ host: join(dataDirectory, "postgres"), user: "tillwire", database: "tillwire" })
    await client.connect()
    try {
      await client.query(copies(rows, Math.floor(Date.now() / 1_000) - spanSeconds))
      await client.query(sums)
      await client.query("vacuum analyze invoices, rollups")
    } finally {
      await client.end()
    }
  })

export const backups = ({ progress, rounds, rows }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const folder = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "till-bench-"))),
      (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
    )
    const chains = [{ use: "simulated", options: { networks: ["base"] } }]
    const config = {
      ...configOf({ database: "", chains }),
      store: { use: "embedded" },
      data: { directory: join(folder, "data") },
      telemetry: { logs: "json", level: "info" }
    }
    const service = yield* startService({ directory: folder, config })
    const recipient = yield* Effect.promise(async () => identityToRecipient(await generateX25519Identity()))
    const merchants = yield* makeMerchants(service, merchantCount)
    const load: LoadSpec = {
      port: service.ports.http,
      callers: 32,
      seconds: windowSeconds,
      rate: createsEachSecond,
      method: "POST",
      paths: ["/api/v1/invoices"],
      keys: merchants.map(({ key }) => key),
      body: invoiceBody,
      keyed: true
    }
    yield* warmUp(service.pid, { ...load, seconds: 3 })
    progress(`filling ${rows.toLocaleString("en")} invoices`)
    yield* fill(service.dataDirectory, rows)
    const measured: Array<{ readonly without: number; readonly beside: number; readonly full: number }> = []
    for (let round = 0; round < rounds; round++) {
      const beside = (name: string, more: ReadonlyArray<string>) =>
        Effect.scoped(Effect.gen(function*() {
          const target = join(folder, `${name}-${round}`)
          const { child } = yield* backup(folder, target, recipient, more)
          // The first answer waits for a checkpoint, which is a part of a backup.
          const { p99 } = yield* drive(service.pid, load)
          if (child.exitCode !== null) {
            const bytes = statSync(target, { throwIfNoEntry: false })?.size
            progress(`the backup ended before the window (code ${child.exitCode}, ${bytes} bytes): more --rows`)
          }
          return p99
        }))
      const without = (yield* drive(service.pid, load)).p99
      const limited = yield* beside("limited", [])
      const full = yield* beside("full", ["--rate", "1000"])
      measured.push({ without, beside: limited, full })
      progress(
        `p99 without ${without.toFixed(1)} ms, beside a backup ${limited.toFixed(1)}, without --rate ${full.toFixed(1)}`
      )
    }
    const line = (
      what: string,
      of: (round: typeof measured[number]) => number,
      unit: string,
      goal?: number
    ): ReportLine => ({
      section,
      what,
      value: median(measured.map(of)),
      unit,
      ...(goal === undefined ? {} : { goal: { atMost: goal } })
    })
    return [
      line("p99 of creates without a backup", ({ without }) => without, "ms"),
      line("p99 of creates beside one", ({ beside }) => beside, "ms"),
      line("beside one / without", ({ beside, without }) => beside / without, "x", mostTimes),
      line("beside one of 1,000 MB a second / without", ({ full, without }) => full / without, "x")
    ]
  }))
