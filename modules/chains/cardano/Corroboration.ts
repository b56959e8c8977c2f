/** What other endpoints have in a block that one of them showed: `ChainDriver.corroborate`. */
import { Effect } from "effect"
import {
  type Answer,
  askAgain,
  attemptAnswer,
  noAnswer,
  type Readers,
  type ShownTransfers,
  toCorroboration
} from "../../../runtime/nodes/Corroboration.ts"
import type { Endpoints } from "../../../runtime/nodes/Endpoints.ts"
import type { ChainDriver, ChainPoint, DriverError } from "../../../runtime/Chains.ts"
import { type Api, readHeader, readWhole } from "./Api.ts"
import { transfersOfBlock } from "./BlockTransfers.ts"

/** A block as an endpoint has it at the height of `point`. */
const readAgain = Effect.fnUntraced(function*(
  api: Api,
  point: ChainPoint,
  isWatched: (address: string) => boolean
): Effect.fn.Return<Answer<ShownTransfers>, DriverError> {
  const header = yield* readHeader(api, point.height)
  if (header === null) return noAnswer
  if (header.hash !== point.hash) return { _tag: "Other" }
  const block = yield* readWhole(api, header)
  const retry = { isExhausted: false, sources: new Map(), findSources: () => Effect.succeed(null) }
  const transfers = block === null ? null : yield* transfersOfBlock(api, block, isWatched, retry)
  return block === null || transfers === null ? noAnswer : { _tag: "Whole", reading: { time: block.time, transfers } }
})

/** `readers`: by the hash of the block. */
export const makeCorroborate = (
  endpoints: Endpoints<Api>,
  readers: Readers<string>
): NonNullable<ChainDriver["corroborate"]> =>
  Effect.fnUntraced(function*(point, watch, isThorough) {
    yield* watch.refresh
    const ask = (api: Api) => attemptAnswer(endpoints, api, (each) => readAgain(each, point, watch.has))
    return toCorroboration(yield* askAgain(endpoints, readers.placeOf(point.hash), isThorough, ask))
  })
