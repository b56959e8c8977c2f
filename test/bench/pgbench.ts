/** PostgreSQL's own load generator, where the machine has it. */
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { DatabaseServer } from "./Database.ts"

export const pgbenchClients = 8

const seconds = 4

/** Where Debian and the manuals put it. */
export const findPgbench = (): string | undefined => {
  const debian = "/usr/lib/postgresql"
  const versions = existsSync(debian) ? readdirSync(debian).toSorted().toReversed() : []
  return [
    ...versions.map((version) => join(debian, version, "bin", "pgbench")),
    "/usr/bin/pgbench",
    "/usr/local/bin/pgbench"
  ]
    .find((path) => existsSync(path))
}

/** Transactions of `text` a second. */
export const pgbench = (program: string, { host }: DatabaseServer, database: string, text: string) =>
  Effect.callback<number>((resume) => {
    const folder = mkdtempSync(join(tmpdir(), "till-bench-"))
    const script = join(folder, "script.sql")
    writeFileSync(script, text)
    const child = spawn(program, [
      ...["-h", host, "-U", "postgres", "-n", "-M", "prepared", "-f", script],
      ...["-c", String(pgbenchClients), "-j", "1", "-T", String(seconds), database]
    ], { stdio: ["ignore", "pipe", "pipe"] })
    let output = ""
    child.stdout.on("data", (chunk) => output += String(chunk))
    child.stderr.on("data", (chunk) => output += String(chunk))
    child.once("close", () => {
      rmSync(folder, { recursive: true, force: true })
      const tps = /tps = ([\d.]+)/.exec(output)?.[1]
      resume(tps === undefined ? Effect.die(new Error(`pgbench: ${output}`)) : Effect.succeed(Number(tps)))
    })
    return Effect.sync(() => {
      child.kill("SIGKILL")
      rmSync(folder, { recursive: true, force: true })
    })
  })
