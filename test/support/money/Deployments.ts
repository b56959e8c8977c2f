/** Services that a history of money runs against: two processes on one database, or one in the test's own process. */
import { NodeServices } from "@effect/platform-node"
import { Effect, Exit, Redacted, Scope } from "effect"
import { RpcClient } from "effect/rpc"
import { LedgerRpc } from "../../../modules/ledger/rpc.ts"
import * as InternalRpc from "../../../runtime/rpc/Client.ts"
import { MerchantId } from "../../../schemas/Ids.ts"
import { freePort } from "../Ports.ts"
import {
  configOf,
  exchange,
  rpcToken,
  type Service,
  startService,
  temporaryDirectory,
  type TestRequest,
  type TestResponse
} from "../Service.ts"
import { startLocalService } from "../LocalService.ts"
import type { MoneyDeployment } from "./Shop.ts"

/** A network whose blocks stop takes no payment after a minute. */
const blockMillis = 1_000
const networks = ["base", "ethereum"]

const checkBy = (url: string) => (merchantId: number) =>
  Effect.flatMap(
    RpcClient.make(LedgerRpc),
    (client) => client["ledger.check"]({ merchant_id: MerchantId.make(merchantId) })
  ).pipe(
    Effect.scoped,
    Effect.provide(InternalRpc.layer({ url, token: Redacted.make(rpcToken) })),
    Effect.map(({ differences }) => differences),
    Effect.orDie
  )

/** One request; undefined where the connection ended without an answer. */
const ask = (url: string, path: string, sent: TestRequest): Effect.Effect<TestResponse | undefined> =>
  Effect.map(
    Effect.catchDefect(exchange(url, path, sent), () => Effect.succeed(undefined)),
    (answer) =>
      answer === undefined || answer.status === 0 || (answer.text === "" && answer.status === 200)
        ? undefined
        : answer
  )

/** A service in this process: nobody can kill it. */
export const localDeployment = Effect.gen(function*() {
  const { internalUrl, sql, url } = yield* startLocalService([{ use: "simulated", options: { networks, blockMillis } }])
  const deployment: MoneyDeployment = {
    ask: (_, path, sent) => ask(url, path, sent),
    instances: 1,
    kill: null,
    check: checkBy(internalUrl),
    query: (text) => Effect.orDie(sql.unsafe<Record<string, any>>(text))
  }
  return { ...deployment, internalUrl, url }
}).pipe(Effect.provide(NodeServices.layer))

/** Two processes on one database; the second one is killed and started again on the same ports. */
export const twoProcesses = Effect.fnUntraced(function*(
  database: string,
  query: MoneyDeployment["query"]
) {
  const config = {
    ...configOf({
      database,
      chains: [{ use: "simulated", options: { networks, blockMillis } }],
      // A token of one is good at the other.
      http: { publicUrl: "https://pay.example" }
    }),
    telemetry: { logs: "json", level: "info" }
  }
  const start = Effect.fnUntraced(function*() {
    const directory = yield* temporaryDirectory
    const ports = { http: yield* freePort, rpc: yield* freePort }
    return { start: startService({ directory, config, ports }), url: `http://127.0.0.1:${ports.http}` }
  })
  const [steady, mortal] = [yield* start(), yield* start()]
  const first = yield* steady.start
  let living: { readonly service: Service; readonly scope: Scope.Closeable } | null = null
  const boot = Effect.gen(function*() {
    const scope = yield* Scope.make()
    living = { service: yield* Scope.provide(mortal.start, scope), scope }
  })
  const end = (signal: "SIGKILL" | "SIGTERM") =>
    Effect.suspend(() => {
      const dying = living
      living = null
      return dying === null
        ? Effect.void
        : Effect.andThen(dying.service.stop(signal), Scope.close(dying.scope, Exit.void))
    })
  yield* Effect.acquireRelease(boot, () => end("SIGTERM"))
  const kill = Effect.gen(function*() {
    yield* end("SIGKILL")
    yield* query("update leases set until = '-infinity'")
    yield* boot
  })
  const deployment: MoneyDeployment = {
    ask: (instance, path, sent) => ask(instance === 0 ? first.url : mortal.url, path, sent),
    instances: 2,
    kill,
    check: checkBy(first.rpcUrl),
    query
  }
  return { deployment, errors: () => first.errors() }
})
