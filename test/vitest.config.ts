/** One lane for the whole suite: one PostgreSQL for the run, one database for each file that asks for it. */
import { defineConfig } from "vitest/config"

/** Real parts on two shared cores: generous, because a hung test is found by its name, not by its speed. */
const testTimeoutMillis = 30_000

/** The container lane needs Docker; where none answers it runs nothing and says why, which is not a failure. */
const dockerMissing = async () => {
  const { getContainerRuntimeClient } = await import("testcontainers")
  return getContainerRuntimeClient().then(() => undefined, (cause: unknown) => String(cause))
}

const skipped = process.env["TEST_STORE"] === "container" ? await dockerMissing() : undefined
if (skipped !== undefined) console.warn(`container lane skipped, no Docker answers: ${skipped}`)

export default defineConfig({
  root: new URL("..", import.meta.url).pathname,
  test: {
    include: skipped === undefined ? ["test/**/*.test.ts"] : [],
    exclude: ["test/bench/**", "test/browser/**"],
    passWithNoTests: skipped !== undefined,
    globalSetup: skipped === undefined ? ["test/support/globalSetup.ts"] : [],
    testTimeout: testTimeoutMillis,
    hookTimeout: testTimeoutMillis,
    pool: "forks",
    maxWorkers: 2
  }
})
