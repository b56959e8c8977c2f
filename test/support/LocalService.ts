/** The whole service in the test's own process, on a database of its own: nobody can kill it. */
import { Context, Effect, FileSystem, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { boot, ServiceInfo } from "../../runtime/boot.ts"
import { load } from "../../runtime/Config.ts"
import { TimerPace } from "../../runtime/Timers.ts"
import { migratedDatabase } from "./Database.ts"
import { configOf, rpcToken } from "./Service.ts"
import { shortTimerPace } from "./TimerPace.ts"

/** Starts it with these drivers of chains; it ends with the scope. */
export const startLocalService = Effect.fnUntraced(function*(chains: Parameters<typeof configOf>[0]["chains"]) {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped()
  const database = yield* migratedDatabase
  const config = {
    ...configOf({ database: database.url, chains }),
    http: { port: 0 },
    rpc: { port: 0, token: rpcToken },
    data: { directory: `${folder}/data` },
    telemetry: { logs: "json", level: "error" }
  }
  const file = `${folder}/config.json`
  yield* fs.writeFileString(file, JSON.stringify(config))
  const context = yield* Layer.build(boot(yield* load({ file, environment: {} }), randomUUID())).pipe(
    Effect.provideService(TimerPace, shortTimerPace)
  )
  const { internalUrl, url } = Context.get(context, ServiceInfo)
  // The boot says only that it runs; what it runs is all there.
  const sql = Context.get(context as unknown as Context.Context<SqlClient.SqlClient>, SqlClient.SqlClient)
  return { url, internalUrl, sql }
})
