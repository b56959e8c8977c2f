/** Calls for internal services, which create and export batches and never approve: definitions only. */
import { Schema } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { PayoutFormat } from "../../runtime/Payouts.ts"
import { ActorName } from "../../schemas/Auth.ts"
import { Batch, BatchKind, BatchStatus, ReadBatch } from "../../schemas/Batch.ts"
import { PublicError } from "../../schemas/Errors.ts"
import { BatchId, MerchantId } from "../../schemas/Ids.ts"
import { Environment, Network } from "../../schemas/Network.ts"
import { pageLimits } from "../../schemas/Page.ts"
import { PayoutTxHash } from "../../schemas/Refund.ts"
import { BatchExportFields, NewBatch } from "./api.ts"

/** Whose batches. */
const owner = { merchant_id: MerchantId, environment: Environment }

/** Who acts, for the audit log. */
const actor = { actor: ActorName }

const Part = Schema.Int.check(Schema.isGreaterThan(0))

export class BatchesRpc extends RpcGroup.make(
  /** As `POST /api/v1/batches`; a person of the merchant approves it. Errors: as there. */
  Rpc.make("batches.create", { payload: { ...owner, batch: NewBatch, ...actor }, success: Batch, error: PublicError }),
  /** With its lines. Errors: `BATCH_NOT_FOUND`. */
  Rpc.make("batches.get", { payload: { ...owner, batch_id: BatchId }, success: ReadBatch, error: PublicError }),
  /** Newest first; `limit` is 20 unless sent, `next` goes into `after`. Errors: `INVALID_CURSOR`. */
  Rpc.make("batches.list", {
    payload: {
      ...owner,
      kind: Schema.optionalKey(BatchKind),
      status: Schema.optionalKey(BatchStatus),
      network: Schema.optionalKey(Network),
      after: Schema.optionalKey(BatchId),
      limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween(pageLimits)))
    },
    success: Schema.Struct({ batches: Schema.Array(Batch), next: Schema.NullOr(BatchId) }),
    error: PublicError
  }),
  /** Errors: `BATCH_NOT_FOUND`, `BATCH_NOT_CANCELABLE`. */
  Rpc.make("batches.cancel", {
    payload: { ...owner, batch_id: BatchId, ...actor },
    success: Batch,
    error: PublicError
  }),
  /** What a wallet signs, as `POST /api/v1/batches/{id}/export`. Errors: as there. */
  Rpc.make("batches.export", {
    payload: { ...owner, batch_id: BatchId, part: Part, format: PayoutFormat, ...actor },
    success: Schema.Struct(BatchExportFields),
    error: PublicError
  }),
  /** Says where a part was sent, which proves nothing. Errors: as `POST /api/v1/batches/{id}/sent`. */
  Rpc.make("batches.sent", {
    payload: { ...owner, batch_id: BatchId, part: Part, tx_hash: PayoutTxHash },
    success: Batch,
    error: PublicError
  })
) {}
