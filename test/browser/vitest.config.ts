/** The browser's lane: one browser and one PostgreSQL for the run, one service for each file that asks for it. */
import { defineConfig } from "vitest/config"
import { browser } from "../support/Browser.ts"

/** A page, a service and an EVM node on two shared cores: a hung test is found by its name, not by its speed. */
const testTimeoutMillis = 180_000

const path = browser()
if (path === undefined) console.warn("browser suite skipped: no Chromium is here, and none could be installed")

export default defineConfig({
  root: new URL("../..", import.meta.url).pathname,
  test: {
    include: path === undefined ? [] : ["test/browser/**/*.test.ts"],
    passWithNoTests: path === undefined,
    globalSetup: path === undefined ? [] : ["test/support/globalSetup.ts", "test/browser/globalSetup.ts"],
    testTimeout: testTimeoutMillis,
    hookTimeout: testTimeoutMillis,
    pool: "forks",
    maxWorkers: 1
  }
})
