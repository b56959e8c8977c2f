/** One lane for the whole suite: one PostgreSQL for the run, one database for each file that asks for it. */
import { defineConfig } from "vitest/config"

/** Real parts on two shared cores: generous, because a hung test is found by its name, not by its speed. */
const testTimeoutMillis = 30_000

export default defineConfig({
  root: new URL("..", import.meta.url).pathname,
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/bench/**"],
    globalSetup: ["test/support/globalSetup.ts"],
    testTimeout: testTimeoutMillis,
    hookTimeout: testTimeoutMillis,
    pool: "forks",
    maxWorkers: 2
  }
})
