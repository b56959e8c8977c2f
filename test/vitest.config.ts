/**
 * One PostgreSQL for the run, one database for each file that asks for it. `npm test` runs the files that take less
 * than 5 s each beside others on two cores, and some longer ones of money and delivery; `npm run test:long` runs those
 * with `.long.` in their names: crashes, long histories, attacks, many processes. Without a mode, all of them run.
 */
import { statfsSync } from "node:fs"
import { defineConfig } from "vitest/config"
import { LongestFirst } from "./support/LongestFirst.ts"

/**
 * Real parts: generous, because a hung test is found by its name, not by its speed. With half a core for all of it, the
 * longest but a few of their own limit took 51 s (measured).
 */
const testTimeoutMillis = 180_000

/**
 * Databases come and go by the hundred: one takes 8 to 12 ms in memory, and 190 to 440 ms on the disk it was measured
 * on.
 */
const memory = "/dev/shm"

/** What the files of a run may grow to, several times over; where less is free, they are where they always are. */
const roomBytes = 4_000_000_000

const freeBytes = () => {
  try {
    const { bavail, bsize } = statfsSync(memory)
    return Math.min(bavail * bsize, process.availableMemory())
  } catch {
    return 0
  }
}

if (process.env["TMPDIR"] === undefined && freeBytes() > roomBytes) process.env["TMPDIR"] = memory

/** The container lane needs Docker; where none answers it runs nothing and says why, which is not a failure. */
const dockerMissing = async () => {
  const { getContainerRuntimeClient } = await import("testcontainers")
  return getContainerRuntimeClient().then(() => undefined, (cause: unknown) => String(cause))
}

const skipped = process.env["TEST_STORE"] === "container" ? await dockerMissing() : undefined
if (skipped !== undefined) console.warn(`container lane skipped, no Docker answers: ${skipped}`)

const longFiles = "test/**/*.long.test.ts"

/** A long file that the command line names runs with `npm test` as well. */
const isLongFileNamed = process.argv.some((word) => word.endsWith(".long.test.ts"))

const otherSuites = ["test/bench/**", "test/browser/**", "test/engines/**", "test/plugins/**"]

export default defineConfig(({ mode }) => ({
  root: new URL("..", import.meta.url).pathname,
  test: {
    include: skipped !== undefined ? [] : [mode === "long" ? longFiles : "test/**/*.test.ts"],
    exclude: mode === "short" && !isLongFileNamed ? [...otherSuites, longFiles] : otherSuites,
    passWithNoTests: skipped !== undefined,
    setupFiles: ["test/support/Seed.ts"],
    globalSetup: skipped === undefined ? ["test/support/globalSetup.ts"] : [],
    sequence: { sequencer: LongestFirst },
    testTimeout: testTimeoutMillis,
    hookTimeout: testTimeoutMillis,
    pool: "forks",
    // Twice the cores of the machine it is made for: many tests wait for a time to pass, or for the database.
    maxWorkers: 4,
    // A process for each file would load the same modules 165 times. None of them keeps state: everything is in a
    // scope.
    isolate: false
  }
}))
