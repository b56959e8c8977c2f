/** The command by which an operator lets somebody in: `login`, as the README runs it. */
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { findBundle } from "../support/BuiltService.ts"
import { type Service, sources } from "../support/Service.ts"

/** The link that it prints; `member` by an e-mail address, absent: the first owner. */
export const loginLink = (
  { service, directory, environment = {}, merchant }: {
    readonly service: Service
    readonly directory: string
    readonly merchant: number
    /** What the config file names: secrets. */
    readonly environment?: Readonly<Record<string, string>>
  },
  member?: string
): Effect.Effect<string> =>
  Effect.promise(async () => {
    const named = member === undefined ? [] : ["--member", member]
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [
        findBundle() ?? sources,
        "login",
        "--config",
        join(directory, "config.json"),
        "--merchant",
        String(merchant),
        ...named
      ],
      { env: { ...process.env, ...environment, TILLWIRE__RPC__PORT: String(service.ports.rpc) } }
    )
    return stdout.trim()
  })
