/** Everything that a start finds wrong with a config, without a start. */
import { Effect } from "effect"
import { load } from "../../runtime/Config.ts"
import { environment } from "./Environment.ts"

/** Reads and checks the config of `file`; with `connect` every node is asked as well. Fails with the report. */
export const checkConfig = Effect.fnUntraced(function*(file: string, connect: boolean) {
  yield* Effect.annotateCurrentSpan({ connect })
  return yield* load({ file, environment: yield* environment })
})
