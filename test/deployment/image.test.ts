/**
 * Goal: the image of `Dockerfile` serves with a read-only root as an account without rights, and stops in order. Only
 * in the lane of containers (`TEST_STORE=container`): it needs a Docker engine and images to build on, which
 * `IMAGE_BUILD_BASE` and `IMAGE_BASE` may name where no registry is reached.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFileSync, spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { migratedDatabase } from "../support/Database.ts"
import { freePort } from "../support/Ports.ts"
import { configOf, exchange, rpcToken, temporaryDirectory, until } from "../support/Service.ts"

const root = decodeURIComponent(new URL("../..", import.meta.url).pathname)

const docker = (...words: ReadonlyArray<string>): string =>
  execFileSync("docker", words, { encoding: "utf8", cwd: root, stdio: ["ignore", "pipe", "pipe"] }).trim()

const baseArguments = [["BUILD_BASE", "IMAGE_BUILD_BASE"], ["BASE", "IMAGE_BASE"]].flatMap(([name, variable]) => {
  const base = process.env[variable!]
  return base === undefined ? [] : ["--build-arg", `${name}=${base}`]
})

/** Building installs all packages. */
const patienceMillis = 900_000

describe.skipIf(process.env["TEST_STORE"] !== "container")("the image", () => {
  it.live(
    "serves as an account without rights and with a read-only root, and stops in order",
    () =>
      Effect.gen(function*() {
        const image = "tillwire-test"
        // From the engine's own network a mirror of the registry on this machine would not be reached.
        docker("build", "--network", "host", "--tag", image, ...baseArguments, ".")
        const folder = yield* temporaryDirectory
        const port = yield* freePort
        const config = configOf({
          database: (yield* migratedDatabase).url,
          chains: [{ use: "simulated" }],
          http: { host: "127.0.0.1", port }
        })
        const file = join(folder, "config.json")
        writeFileSync(file, JSON.stringify({ ...config, rpc: { token: rpcToken, port: yield* freePort } }), {
          mode: 0o644
        })
        const container = yield* Effect.acquireRelease(
          Effect.sync(() =>
            docker(
              "run",
              "--detach",
              "--network=host",
              "--read-only",
              "--cap-drop=ALL",
              "--security-opt=no-new-privileges",
              "--tmpfs=/tmp",
              `--env=TILLWIRE__HTTP__PORT=${port}`,
              `--volume=${file}:/etc/tillwire/config.jsonc:ro`,
              image
            )
          ),
          (id) => Effect.sync(() => docker("rm", "--force", "--volumes", id))
        )
        const health = exchange(`http://127.0.0.1:${port}`, "/health/ready").pipe(
          Effect.map(({ status }) => status),
          Effect.catchDefect(() => Effect.succeed(0))
        )
        yield* until("the container serves", health, (status) => status === 200)
        assert.strictEqual(docker("exec", container, "id", "-u"), "10001")
        assert.notStrictEqual(spawnSync("docker", ["exec", container, "touch", "/opt/tillwire/x"]).status, 0)
        assert.include(docker("exec", container, "cat", "/opt/tillwire/sbom.cdx.json"), "\"CycloneDX\"")
        docker("stop", container)
        assert.strictEqual(docker("inspect", container, "--format={{.State.ExitCode}}"), "0")
        assert.include(docker("logs", container), "\"msg\":\"stopped\"")
      }).pipe(Effect.scoped),
    patienceMillis
  )
})
