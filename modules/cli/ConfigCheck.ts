/** Everything that a start finds wrong with a config, without a start. */
import { Effect } from "effect"
import { FetchHttpClient } from "effect/http"
import { loadAndCheck } from "../../runtime/config/StartCheck.ts"
import { NodeProof } from "../../runtime/nodes/Endpoints.ts"
import { environment } from "./Environment.ts"

/** Reads and checks the config of `file`; with `connect` every node is asked as well. Fails with the report. */
export const checkConfig = Effect.fnUntraced(function*(file: string, connect: boolean) {
  const check = loadAndCheck({ file, environment: yield* environment })
  return yield* check.pipe(
    Effect.provideService(NodeProof, connect ? "required" : "skipped"),
    Effect.provide(FetchHttpClient.layer)
  )
})
