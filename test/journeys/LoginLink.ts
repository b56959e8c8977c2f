/** Links that let somebody in to the dashboard: from the internal port, as `login` asks for them, and printed by it. */
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { commandLine, compileCache, exchange, rpcToken, type Service } from "../support/Service.ts"

/** Whom a link is for. */
interface Login {
  readonly service: Pick<Service, "rpcUrl">
  readonly merchant: number
}

/**
 * A link for `member`, an e-mail address; absent: for the first owner. It is asked of the internal port, because the
 * command loads the whole service to ask the same: 1.3 s of processor time.
 */
export const loginLink = ({ merchant, service }: Login, member?: string): Effect.Effect<string> =>
  Effect.map(
    exchange(service.rpcUrl, "/rpc", {
      headers: { authorization: `Bearer ${rpcToken}`, "content-type": "application/ndjson" },
      body: `${
        JSON.stringify({
          _tag: "Request",
          id: "1",
          tag: "team.loginLink",
          payload: { merchant_id: merchant, member },
          headers: []
        })
      }\n`
    }),
    ({ text }) => {
      const answers = text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line))
      const link = answers.find(({ _tag }) => _tag === "Exit")?.exit.value?.url
      if (typeof link !== "string") throw new Error(`no link: ${text}`)
      return link
    }
  )

/** The same as the command prints it, which is how an operator gets it. */
export const printedLoginLink = (
  { directory, environment = {}, merchant, service }: Omit<Login, "service"> & {
    readonly service: Service
    /** Holds the config file. */
    readonly directory: string
    /** What the config file names: secrets. */
    readonly environment?: Readonly<Record<string, string>>
  },
  member?: string
): Effect.Effect<string> =>
  Effect.promise(async () => {
    const named = member === undefined ? [] : ["--member", member]
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [commandLine(), "login", "--config", join(directory, "config.json"), "--merchant", String(merchant), ...named],
      {
        env: {
          ...process.env,
          NODE_COMPILE_CACHE: compileCache,
          ...environment,
          TILLWIRE__RPC__PORT: String(service.ports.rpc)
        }
      }
    )
    return stdout.trim()
  })
