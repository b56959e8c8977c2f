/**
 * An internal service in a process of its own: a typed client of the exported groups. Reads one call a line from
 * standard input, `{ id, call, payload }`, and writes what comes of it as lines `{ id, value | item | error }`.
 */
import { Cause, Effect, Redacted, Stream } from "effect"
import { RpcClient } from "effect/rpc"
import { createInterface } from "node:readline"
import { AuthRpc } from "../../modules/auth/rpc.ts"
import { EventsRpc } from "../../modules/events/rpc.ts"
import { InvoicesRpc } from "../../modules/invoices/rpc.ts"
import { PaymentsRpc } from "../../modules/payments/rpc.ts"
import { SettlementsRpc } from "../../modules/settlement/rpc.ts"
import { WebhooksRpc } from "../../modules/webhooks/rpc.ts"
import { ChainsRpc } from "../../runtime/chains/ChainsRpc.ts"
import * as RpcDoor from "../../runtime/rpc/Client.ts"
import { HealthRpc } from "../../runtime/rpc/HealthRpc.ts"

const group = AuthRpc.merge(EventsRpc, InvoicesRpc, PaymentsRpc, SettlementsRpc, WebhooksRpc, ChainsRpc, HealthRpc)

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

Effect.runFork(program.pipe(Effect.scoped, Effect.provide(RpcDoor.layer({ url, token: Redacted.make(token) }))))
