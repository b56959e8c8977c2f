/** {@link OperatorDocumentApi} over the APIs that were declared by the time it is first asked for. */
import { Effect } from "effect"
import { runInSlices } from "../http/Preparation.ts"
import * as Operations from "../Operations.ts"
import { OperatorRoutes } from "../OperatorRoutes.ts"
import { Settings } from "../Settings.ts"
import { documentSteps, operatorScope } from "./Document.ts"
import { OperatorDocumentApi } from "./OperatorApi.ts"

export const handlers = Operations.group(
  OperatorDocumentApi,
  "operatorDocument",
  Effect.fn(function*(group) {
    const { apis } = yield* OperatorRoutes
    const { publicUrl } = yield* Settings
    const document = yield* Effect.cached(
      Effect.suspend(() => runInSlices(documentSteps(apis(), operatorScope(publicUrl))))
    )
    return group.handle("read", () => document)
  })
)
