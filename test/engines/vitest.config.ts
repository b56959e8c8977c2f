/** The lane of the other engines: the payment page in Firefox and in WebKit, where they are or can be installed. */
import { defineConfig } from "vitest/config"
import { engines, installMissing } from "./Engines.ts"

/** A browser, a service and two EVM nodes on two shared cores: a hung test is found by its name, not by its speed. */
const testTimeoutMillis = 120_000

for (const name of installMissing()) console.warn(`${name} is skipped: it is not here, and could not be installed`)
const isEmpty = engines().length === 0

export default defineConfig({
  root: new URL("../..", import.meta.url).pathname,
  test: {
    include: isEmpty ? [] : ["test/engines/**/*.test.ts"],
    passWithNoTests: isEmpty,
    globalSetup: isEmpty ? [] : ["test/support/globalSetup.ts"],
    testTimeout: testTimeoutMillis,
    hookTimeout: testTimeoutMillis,
    pool: "forks",
    maxWorkers: 1
  }
})
