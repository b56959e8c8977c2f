/**
 * An internal service in a process of its own: a typed client of the exported groups. Reads one call a line from
 * standard input, `{ id, call, payload }`, and writes what comes of it as lines `{ id, value | item | error }`.
 */
import { Cause, Effect, Predicate, Redacted, Stream } from "effect"
import { type Rpc, RpcClient, type RpcGroup } from "effect/rpc"
import { globSync } from "node:fs"
import { createInterface } from "node:readline"
import { ChainsRpc } from "../../runtime/chains/ChainsRpc.ts"
import * as InternalRpc from "../../runtime/rpc/Client.ts"
import { HealthRpc } from "../../runtime/rpc/HealthRpc.ts"

const modules = new URL("../../modules/", import.meta.url)

/** What every module there is exports for the internal port. */
const exported = await Promise.all(
  globSync("*/rpc.ts", { cwd: modules.pathname }).map((path) => import(new URL(path, modules).href))
)
const isGroup = (value: unknown): value is RpcGroup.Any & RpcGroup.RpcGroup<Rpc.Any> =>
  Predicate.hasProperty(value, "requests") && Predicate.hasProperty(value, "merge")

const group = HealthRpc.merge(ChainsRpc, ...exported.flatMap((module) => Object.values(module).filter(isGroup)))

const [url = "", token = ""] = process.argv.slice(2)

const tell = (line: object) => Effect.sync(() => process.stdout.write(`${JSON.stringify(line)}\n`))

const nameOf = (cause: Cause.Cause<unknown>) => {
  const error = Cause.squash(cause) as { readonly _tag?: string; readonly code?: string; readonly message?: string }
  return { tag: error._tag ?? "Defect", code: error.code ?? null, message: error.message ?? "" }
}

const program = Effect.gen(function*() {
  const client = (yield* RpcClient.make(group)) as unknown as Readonly<
    Record<string, (payload: unknown) => Effect.Effect<unknown> | Stream.Stream<unknown>>
  >
  const context = yield* Effect.context<never>()
  createInterface({ input: process.stdin }).on("line", (line) => {
    const { call, id, payload } = JSON.parse(line)
    const answer = client[call]!(payload)
    const done = Stream.isStream(answer)
      ? Stream.runForEach(answer, (item) => tell({ id, item }))
      : Effect.flatMap(answer, (value) => tell({ id, value: value ?? null }))
    Effect.runForkWith(context)(Effect.catchCause(done, (cause) => tell({ id, error: nameOf(cause) })))
  })
  return yield* Effect.never
})

Effect.runFork(program.pipe(Effect.scoped, Effect.provide(InternalRpc.layer({ url, token: Redacted.make(token) }))))
