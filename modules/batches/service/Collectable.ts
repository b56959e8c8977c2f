/** What lies on the addresses of forwarders, and how it is collected. */
import { Effect } from "effect"
import type { PayoutDriver } from "../../../runtime/Payouts.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import type { Network } from "../../../schemas/Network.ts"
import type { BatchOwner, BatchServices } from "./BatchServices.ts"
import type { Plan } from "./Plans.ts"

/** Lines of a collect, in parts that one signature moves. */
export interface CollectPlan extends Plan {
  readonly sizes: ReadonlyArray<number>
  /** Nothing of it has left in this block or an earlier one. */
  readonly searchedTo: bigint
}

export const planCollect = (
  _services: BatchServices,
  _owner: BatchOwner,
  _network: Network,
  _tokenIds: ReadonlyArray<number> | null,
  _driver: PayoutDriver
): Effect.Effect<CollectPlan, PublicError> => Effect.fail(publicError("BATCH_EMPTY"))
