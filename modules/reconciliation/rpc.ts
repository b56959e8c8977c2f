/** Reconciliation for internal services: definitions only. */
import { Rpc, RpcGroup } from "effect/rpc"
import { Schema } from "effect"
import { PublicError } from "../../schemas/Errors.ts"
import { MerchantId } from "../../schemas/Ids.ts"
import { Environment } from "../../schemas/Network.ts"
import { ReconciliationReport } from "./api.ts"

export class ReconciliationRpc extends RpcGroup.make(
  /** A month of a merchant, like 2026-11; a closed one as it was closed. Errors: `VALIDATION_ERROR` for any other text. */
  Rpc.make("reconciliation.report", {
    payload: { merchant_id: MerchantId, environment: Environment, period: Schema.String },
    success: ReconciliationReport,
    error: PublicError
  })
) {}
