/**
 * `secrets status` and `secrets rotate` of the command line: asked of the running service over its internal port, a
 * page at a time. Whoever stops the command stops the work; called again it goes through all once more and writes only
 * what is left.
 */
import { Console, Effect, Schema } from "effect"
import { RpcClient } from "effect/rpc"
import { PublicError } from "../../schemas/Errors.ts"
import { printHost } from "../boot/Listener.ts"
import { monotonicMillis } from "../Clock.ts"
import * as Client from "../rpc/Client.ts"
import { rpcToken } from "../rpc/Credential.ts"
import { Settings } from "../Settings.ts"
import { addCounts, noCounts, type PageCounts } from "./Reseal.ts"
import { type NamedKey, type PagePosition, SecretsRpc } from "./SecretsRpc.ts"

export type RotationCall =
  | { readonly action: "status" }
  | { readonly action: "rotate"; readonly finish: boolean; readonly isCompromised: boolean }

/** The service does not answer, or does not do it; the message says why. */
export class RotationFailed extends Schema.TaggedError<RotationFailed>()("RotationFailed", { reason: Schema.String }) {
  override get message() {
    return this.reason
  }
}

/** Milliseconds between two lines of progress. */
const progressMillis = 1_000

/** Passes of one command over all values: rows that a commit had at the first one are free at the next. */
const passes = 3

/** A line for each key. Pure. */
export const keyLines = (keys: ReadonlyArray<NamedKey>): ReadonlyArray<string> =>
  keys.map(({ is_configured: isConfigured, kept_in: keptIn, name, processes, retired, since }) => {
    const state = retired === null ? "needed" : `retired on ${retired}`
    const use = processes.length === 0 ? "" : `, makes new values in ${processes.length} running processes`
    return `${name}  ${state}, in use since ${since} from ${keptIn}${use}${
      isConfigured ? "" : ", not configured at this instance"
    }`
  })

/** What an operator does next. Pure. */
export const advice = (keys: ReadonlyArray<NamedKey>, { closed, older }: PageCounts): string => {
  const lost = closed === 0
    ? ""
    : ` ${closed} values are sealed under a key that is not configured; nobody can read them without it.`
  const needed = keys.filter(({ retired }) => retired === null)
  if (needed.length <= 1) {
    return `One master key is needed. Every other one may be removed from secrets.master.${lost}`
  }
  const next = older === 0
    ? "Nothing is sealed under an older key. Run secrets rotate --finish before you remove it from secrets.master."
    : `${older} values are sealed under an older key: run secrets rotate.`
  return `${next}${lost}`
}

/** Runs a call against the running service, and answers what stands on standard output at its end. */
export const rotationCommand = Effect.fnUntraced(function*(call: RotationCall) {
  const { rpc } = yield* Settings
  const url = `http://${printHost(rpc.host)}:${rpc.port}`
  const token = yield* rpcToken
  const run = Effect.gen(function*() {
    const client = yield* RpcClient.make(SecretsRpc)

    const pass = Effect.fnUntraced(function*(onlyCounts: boolean) {
      let counts = noCounts
      let columnCounts = noCounts
      let printedAt = yield* monotonicMillis
      for (let position: PagePosition | null | undefined; position !== null;) {
        const found: Effect.Success<ReturnType<typeof client["secrets.reseal"]>> = yield* client["secrets.reseal"]({
          only_count: onlyCounts,
          ...(position === undefined ? {} : { position })
        })
        counts = addCounts(counts, found)
        columnCounts = addCounts(columnCounts, found)
        const now = yield* monotonicMillis
        const isColumnOver = found.next === null || found.next.after === null
        if (now - printedAt >= progressMillis || (isColumnOver && columnCounts.rows > 0)) {
          printedAt = now
          const { resealed, rows } = columnCounts
          yield* Console.error(`${found.column}: ${rows} rows read, ${resealed} values sealed anew`)
        }
        if (isColumnOver) columnCounts = noCounts
        position = found.next
      }
      return counts
    })

    let counts = yield* pass(call.action === "status")
    if (call.action === "rotate") {
      for (let done = 1; counts.older > 0 && done < passes; done++) counts = yield* pass(false)
    }
    const { keys, unattended } = call.action === "rotate" && call.finish
      ? yield* client["secrets.finish"]({ is_compromised: call.isCompromised })
      : yield* client["secrets.keys"]()
    return [
      ...keyLines(keys),
      ...unattended.map((column) =>
        `${column} belongs to a module that is not in the config: what it holds is not sealed anew`
      ),
      advice(keys, counts)
    ].join("\n")
  })
  return yield* run.pipe(
    Effect.scoped,
    Effect.provide(Client.layer({ url, token })),
    Effect.mapError((error) =>
      new RotationFailed({
        reason: error instanceof PublicError
          ? error.message
          : `the service does not answer at ${url}: start it with this config file, then call this again; `
            + "it goes on with what is left"
      })
    )
  )
})
