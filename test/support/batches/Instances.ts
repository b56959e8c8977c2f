/** The service as processes on one database, each of which can be killed and started again on its ports. */
import { Effect, Fiber, Redacted, type Scope } from "effect"
import { RpcClient } from "effect/rpc"
import { LedgerRpc } from "../../../modules/ledger/rpc.ts"
import * as InternalRpc from "../../../runtime/rpc/Client.ts"
import { MerchantId } from "../../../schemas/Ids.ts"
import { freePort } from "../Ports.ts"
import { makeRestartable } from "../Restartable.ts"
import {
  exchange,
  rpcToken,
  type Start,
  startService,
  temporaryDirectory,
  type TestRequest,
  type TestResponse
} from "../Service.ts"
import type { MoneyDeployment } from "../money/Shop.ts"

/** A service of several processes. */
export interface BatchDeployment extends MoneyDeployment {
  /** Kills a process in the middle of whatever it does; it starts again while the others go on. */
  readonly killInstance: (instance: number) => Effect.Effect<void>
  /** Why batches could not be looked for, as the processes that run now have printed it. */
  readonly warnings: () => ReadonlyArray<string>
}

/** What every process is started with. */
export type InstanceStart = Pick<Start, "config" | "environment" | "program">

/** One request; undefined where the connection ended without an answer. */
const ask = (url: string, path: string, sent: TestRequest): Effect.Effect<TestResponse | undefined> =>
  Effect.map(
    Effect.catchDefect(exchange(url, path, sent), () => Effect.succeed(undefined)),
    (answer) =>
      answer === undefined || answer.status === 0 || (answer.text === "" && answer.status === 200) ? undefined : answer
  )

export const startInstances = Effect.fnUntraced(function*(
  count: number,
  start: InstanceStart,
  query: MoneyDeployment["query"]
): Effect.fn.Return<BatchDeployment, never, Scope.Scope> {
  const one = Effect.gen(function*() {
    const directory = yield* temporaryDirectory
    const ports = { http: yield* freePort, rpc: yield* freePort }
    const restartable = yield* makeRestartable(startService({ directory, ports, ...start }))
    return { ...restartable, url: `http://127.0.0.1:${ports.http}`, rpcUrl: `http://127.0.0.1:${ports.rpc}` }
  })
  const instances = yield* Effect.forEach(Array.from({ length: count }), () => one, { concurrency: "unbounded" })
  const boots: Array<Fiber.Fiber<void>> = []
  /** One at a time: somebody always answers. */
  const running = Effect.suspend(() => Effect.forEach(boots.splice(0), Fiber.join))
  const killInstance = (instance: number) =>
    Effect.gen(function*() {
      yield* running
      const { boot, end } = instances[instance]!
      yield* end("SIGKILL")
      // Another process would wait for the leases of one that is gone.
      yield* query("update leases set until = '-infinity'")
      boots.push(yield* Effect.forkDetach(boot))
    })
  yield* Effect.addFinalizer(() => running)
  return {
    ask: (instance, path, sent) => ask(instances[instance]!.url, path, sent),
    instances: count,
    kill: killInstance(count - 1),
    killInstance,
    check: (merchantId) =>
      Effect.flatMap(
        Effect.andThen(running, RpcClient.make(LedgerRpc)),
        (client) => client["ledger.check"]({ merchant_id: MerchantId.make(merchantId) })
      ).pipe(
        Effect.scoped,
        Effect.provide(
          InternalRpc.layer({ url: instances[0]!.rpcUrl, token: Redacted.make(rpcToken) })
        ),
        Effect.map(({ differences }) => differences),
        Effect.orDie
      ),
    query,
    warnings: () =>
      instances.flatMap(({ current }) => current()?.output().split("\n") ?? []).filter((line) =>
        line.includes("a batch could not")
      )
  }
})
