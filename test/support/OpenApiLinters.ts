/** Other people's judges of an OpenAPI document. Each rejects with what it complains of. */
import { execFile } from "node:child_process"
import { join } from "node:path"

const root = decodeURIComponent(new URL("../..", import.meta.url).pathname)

const run = (words: ReadonlyArray<string>): Promise<void> =>
  new Promise((resolve, reject) => {
    const environment = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" }
    execFile(
      process.execPath,
      [...words],
      { cwd: root, env: environment, maxBuffer: 2 ** 24 },
      (error, output, complaints) => error === null ? resolve() : reject(new Error(`${output}\n${complaints}`))
    )
  })

/** Everything that Redocly recommends. */
export const lintWithRedocly = (file: string): Promise<void> =>
  run([join(root, "node_modules/@redocly/cli/bin/cli.js"), "lint", "--config", ".redocly.yaml", file])

/** Spectral's own rules for OpenAPI, warnings included. */
export const lintWithSpectral = (file: string): Promise<void> =>
  run([
    join(root, "node_modules/@stoplight/spectral-cli/dist/index.js"),
    "lint",
    "--ruleset",
    ".spectral.yaml",
    "--fail-severity",
    "warn",
    file
  ])
