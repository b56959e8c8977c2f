/** Batches (modules/docs/reference/batches.md#calls): definitions only. Wrapped family. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import {
  environmentErrors,
  errors,
  IdempotencyRequired,
  Idempotent,
  listErrors,
  listParameterCodes,
  MerchantAuth,
  ParameterCodes,
  WrappedErrors
} from "../../runtime/Http.ts"
import { PayoutFormat } from "../../runtime/Payouts.ts"
import { HasOwnProof, RightOf, RightsOf } from "../../runtime/Rights.ts"
import { SimulatedOutcome } from "../../runtime/SimulatedWallets.ts"
import { ApprovalBody, approvalErrors, ApprovalList, OneApprovalChallenge } from "../../schemas/Approval.ts"
import {
  Batch,
  BatchKind,
  BatchStatus,
  exampleBatch,
  maximumReference,
  ReadBatch,
  validityLimits
} from "../../schemas/Batch.ts"
import { EpochSeconds, PathId } from "../../schemas/Ids.ts"
import { maximumNote } from "../../schemas/Exception.ts"
import { Metadata } from "../../schemas/Invoice.ts"
import { Environment, Network } from "../../schemas/Network.ts"
import { cursorQuery, pageQuery } from "../../schemas/Page.ts"
import { PayoutTxHash } from "../../schemas/Refund.ts"
import { success } from "../../schemas/Success.ts"
import { CollectableGroup } from "./api/Collectable.ts"

const exampleAddress = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

const Address = Schema.String.check(Schema.isMaxLength(128)).annotate({ examples: [exampleAddress] })

const optional = <S extends Schema.Top>(schema: S, description: string) =>
  Schema.optionalKey(Schema.NullOr(schema)).annotate({ description })

/** Entries of a list in a request, at most: more than any batch may have, so that the batch's own limit is named. */
const maximumEntries = 1_000

export const NewBatchLine = Schema.Struct({
  token_id: Schema.Int.annotate({ description: "A token of the network, as GET /api/v1/merchant/tokens lists it" }),
  token_amount: Schema.String.check(Schema.isMaxLength(80)).annotate({
    description: "Whole tokens as a decimal number",
    examples: ["12.5"]
  }),
  destination: Schema.Struct({
    address: Address,
    memo: Schema.optionalKey(Schema.NullOr(Schema.String.check(Schema.isMaxLength(120)))).annotate({
      description: "What the receiver asks for beside the address"
    })
  }),
  reference: optional(
    Schema.String.check(Schema.isMaxLength(maximumReference)),
    `Words of yours, at most ${maximumReference} characters; some networks show them to everybody`
  )
})

export const NewBatch = Schema.Struct({
  kind: BatchKind,
  network: Network,
  from: optional(Address, "The wallet that pays and signs; `collect` can do without"),
  refund_ids: optional(
    Schema.Union([
      Schema.Literal("all"),
      Schema.Array(Schema.String).check(Schema.isMinLength(1), Schema.isMaxLength(maximumEntries))
    ]),
    "For `refunds`: ids, or `all`: every refund of the network that is processing and in no batch, the oldest first"
  ),
  lines: optional(
    Schema.Array(NewBatchLine).check(Schema.isMinLength(1), Schema.isMaxLength(maximumEntries)),
    "For `payouts`, and only there"
  ),
  token_ids: optional(
    Schema.Array(Schema.Int).check(Schema.isMinLength(1), Schema.isMaxLength(maximumEntries)),
    "For `collect`, and only there: absent: every token"
  ),
  valid_for_seconds: optional(
    Schema.Int.check(Schema.isBetween(validityLimits)),
    `How long an export can be signed, where the network lets that be chosen; ${validityLimits.default} if not said`
  ),
  metadata: Schema.optionalKey(Metadata)
}).annotate({
  identifier: "NewBatch",
  examples: [{ kind: "refunds", network: "base", from: exampleAddress, refund_ids: "all" }]
})

const OneBatch = success(Batch).annotate({
  identifier: "OneBatch",
  examples: [{ success: true, data: exampleBatch }]
})

const OneReadBatch = success(ReadBatch).annotate({
  identifier: "OneReadBatch",
  examples: [{ success: true, data: exampleBatch }]
})

const BatchList = success(
  Schema.Struct({ object: Schema.tag("list"), data: Schema.Array(Batch), has_more: Schema.Boolean })
).annotate({
  identifier: "BatchList",
  examples: [{ success: true, data: { object: "list", data: [exampleBatch], has_more: false } }]
})

const Part = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maximumEntries })).annotate({
  description: "Which part of the batch, from 1"
})

export const BatchExport = Schema.Struct({ part: Part, format: PayoutFormat }).annotate({
  identifier: "NewBatchExport",
  examples: [{ part: 1, format: "eip5792" }]
})

/** A part as it was given out. */
export const BatchExportFields = {
  object: Schema.tag("batch_export"),
  batch_id: Schema.String,
  part: Schema.Int,
  format: PayoutFormat,
  payload: Schema.String.annotate({ description: "JSON text of what the wallet takes, or the text of a file" }),
  valid_until: Schema.NullOr(EpochSeconds).annotate({
    description: "By the network's clock; null: it can be executed at any time, and twice"
  }),
  lines: Schema.Int,
  simulated: Schema.Boolean.annotate({
    description: "The network was asked what would happen, and it would succeed"
  }),
  notices: Schema.Array(Schema.String).annotate({ description: "For whoever signs" })
}

const ExportedPart = success(
  Schema.Struct(BatchExportFields)
).annotate({
  identifier: "ExportedPart",
  examples: [{
    success: true,
    data: {
      object: "batch_export",
      batch_id: exampleBatch.id,
      part: 1,
      format: "eip5792",
      payload: "{\"version\":\"2.0.0\",\"chainId\":\"0x2105\",\"atomicRequired\":true,\"calls\":[]}",
      valid_until: 1_766_406_896 as never,
      lines: 1,
      simulated: true,
      notices: []
    }
  }]
})

const SimulatedPart = success(Schema.Struct({
  object: Schema.tag("batch_simulation"),
  batch_id: Schema.String,
  part: Schema.Int,
  tx_hash: Schema.NullOr(Schema.String).annotate({ description: "Null: the network refused it, and nothing moved" })
})).annotate({
  identifier: "SimulatedPart",
  examples: [{
    success: true,
    data: { object: "batch_simulation", batch_id: exampleBatch.id, part: 1, tx_hash: `0x${"ab".repeat(32)}` }
  }]
})

const expand = Schema.optionalKey(Schema.Literal("lines")).annotate({ description: "`lines`: with its lines" })

const found = ["SCOPE_MISMATCH", "BATCH_NOT_FOUND", ...environmentErrors] as const

export class BatchesGroup extends HttpApiGroup.make("batches").add(
  HttpApiEndpoint.post("create", "/", {
    payload: NewBatch,
    success: OneBatch,
    error: errors(
      "wrapped",
      "SCOPE_MISMATCH",
      "VALIDATION_ERROR",
      "UNSUPPORTED_NETWORK",
      "BATCH_EMPTY",
      "BATCH_TOO_LARGE",
      "BATCH_LIMIT_REACHED",
      "PAYOUT_LIMIT_EXCEEDED",
      "AMOUNT_BELOW_MINIMUM",
      "WALLET_ADDRESS_INVALID",
      "REFUND_NOT_FOUND",
      "REFUND_IN_BATCH",
      "INVALID_TRANSITION",
      "TOKEN_NOT_FOUND",
      "TOKEN_NETWORK_MISMATCH",
      "NETWORK_DEGRADED",
      "SERVICE_UNAVAILABLE",
      ...environmentErrors
    )
  }).middleware(IdempotencyRequired).annotateMerge(OpenApi.annotations({
    summary: "Make a batch",
    description:
      "Refunds, payouts of your own, or what lies on forwarders, put together for one wallet to sign. It never "
      + "changes: a wrong one is canceled and made anew."
  })),
  HttpApiEndpoint.get("list", "/", {
    query: {
      ...pageQuery,
      kind: Schema.optionalKey(BatchKind).annotate({ description: "Only those of this kind" }),
      status: Schema.optionalKey(BatchStatus).annotate({ description: "Only those that are so now" }),
      network: Schema.optionalKey(Network).annotate({ description: "Only those of this network" })
    },
    success: BatchList,
    error: errors("wrapped", ...listErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "List batches, newest first",
    description: "A cursor is the id of a batch of the same environment."
  })),
  HttpApiEndpoint.get("retrieve", "/:id", {
    params: { id: PathId },
    query: { environment: Schema.optionalKey(Environment), expand },
    success: OneReadBatch,
    error: errors("wrapped", "VALIDATION_ERROR", ...found)
  }).annotateMerge(OpenApi.annotations({
    summary: "Retrieve a batch",
    description: "What it pays, how far it is, and by which transactions."
  })),
  HttpApiEndpoint.post("challengeApproval", "/:id/approve/challenge", {
    params: { id: PathId },
    success: OneApprovalChallenge,
    error: errors("wrapped", "CREDENTIAL_NOT_ALLOWED", "INVALID_TRANSITION", ...found)
  }).annotate(RightOf, "batches:approve").annotate(HasOwnProof, true).annotateMerge(OpenApi.annotations({
    summary: "Ask what to sign to approve a batch",
    description:
      "What is paid, and the hash of all lines, in words, for you alone and for 5 minutes. Nothing is stored."
  })),
  HttpApiEndpoint.post("approve", "/:id/approve", {
    params: { id: PathId },
    payload: [ApprovalBody, Schema.Void],
    success: OneBatch,
    error: errors(
      "wrapped",
      "CREDENTIAL_NOT_ALLOWED",
      "APPROVER_MUST_DIFFER",
      "INVALID_TRANSITION",
      ...approvalErrors,
      ...found
    )
  }).middleware(Idempotent).annotate(RightOf, "batches:approve").annotate(HasOwnProof, true).annotateMerge(
    OpenApi.annotations({
      summary: "Approve a batch",
      description:
        "It may be paid: these lines, by this wallet, on this network. Only a person approves, and signs what it "
        + "approves: always with real money, on devnet where it wants to. Compare `approval_code` first."
    })
  ),
  HttpApiEndpoint.get("approvals", "/:id/approvals", {
    params: { id: PathId },
    query: { environment: Schema.optionalKey(Environment), ...cursorQuery },
    success: ApprovalList,
    error: errors("wrapped", "INVALID_LIMIT", "INVALID_CURSOR", ...found)
  }).annotateMerge(OpenApi.annotations({
    summary: "List what people signed to approve a batch, newest first",
    description: "Everything that it takes to check anywhere who approved what. A cursor is the id of an approval."
  })),
  HttpApiEndpoint.post("cancel", "/:id/cancel", {
    params: { id: PathId },
    success: OneBatch,
    error: errors("wrapped", "BATCH_NOT_CANCELABLE", ...found)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Cancel a batch",
    description:
      "At once while nothing was given out. Else no more is, and it ends when what was given out is paid or can "
      + "no longer be."
  })),
  HttpApiEndpoint.post("export", "/:id/export", {
    params: { id: PathId },
    payload: BatchExport,
    success: ExportedPart,
    error: errors(
      "wrapped",
      "VALIDATION_ERROR",
      "APPROVAL_REQUIRED",
      "EXPORT_LIVE",
      "LINES_AMBIGUOUS",
      "BATCH_PAID",
      "INVALID_TRANSITION",
      "PAYOUT_LINE_REFUSED",
      "NOTHING_TO_COLLECT",
      "COLLECTOR_MISSING",
      "PAYER_MISSING",
      "INSUFFICIENT_FUNDS",
      "WALLET_NOT_SPENDABLE",
      "WALLET_NOT_LINKED",
      "AMOUNT_BELOW_MINIMUM",
      "UNSUPPORTED_NETWORK",
      "NETWORK_DEGRADED",
      "SERVICE_UNAVAILABLE",
      ...found
    )
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Give a part to a wallet",
    description:
      "What the wallet signs, built from the network as it is now. While it can be executed the same is answered "
      + "again, and nothing else."
  })),
  HttpApiEndpoint.post("release", "/:id/release", {
    params: { id: PathId },
    payload: Schema.Struct({
      part: Part,
      note: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(maximumNote)).annotate({
        description: `Why it will not be paid any more, for people: at most ${maximumNote} characters`,
        examples: ["The list was deleted from the wallet's tool before anybody signed it"]
      })
    }).annotate({
      identifier: "ReleasedPart",
      examples: [{ part: 1, note: "The list was deleted from the wallet's tool before anybody signed it" }]
    }),
    success: OneBatch,
    error: errors(
      "wrapped",
      "VALIDATION_ERROR",
      "CREDENTIAL_NOT_ALLOWED",
      "APPROVER_MUST_DIFFER",
      "INVALID_TRANSITION",
      "UNSUPPORTED_NETWORK",
      "NETWORK_DEGRADED",
      "SERVICE_UNAVAILABLE",
      ...found
    )
  }).middleware(Idempotent).annotate(RightOf, "batches:approve").annotateMerge(OpenApi.annotations({
    summary: "Release a list",
    description:
      "Of a part that was given out as `csv`: what it has not paid will not be paid by it. Only a signed-in person says "
      + "so, two where two people may approve, 7 days after its export at the earliest."
  })),
  HttpApiEndpoint.post("sent", "/:id/sent", {
    params: { id: PathId },
    payload: Schema.Struct({
      part: Part,
      tx_hash: PayoutTxHash.annotate({ description: "Of the transaction that was sent" })
    }).annotate({
      identifier: "SentPart",
      examples: [{ part: 1, tx_hash: `0x${"ab".repeat(32)}` }]
    }),
    success: OneBatch,
    error: errors("wrapped", "VALIDATION_ERROR", "INVALID_TRANSITION", ...found)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Say where a part was sent",
    description:
      "Where to look, which is sometimes quicker. It proves nothing: a line is paid when the network shows it."
  }))
)
  .prefix("/api/v1/batches")
  .middleware(MerchantAuth)
  .annotate(RightsOf, { read: "batches:read", write: "batches:create" })
  .middleware(WrappedErrors)
  .annotate(ParameterCodes, listParameterCodes)
  .annotateMerge(OpenApi.annotations({
    title: "Batches",
    description: "Money that leaves by your own signature: the service holds no key."
  }))
{}

/** The wallet of play money. */
export class BatchSimulationGroup extends HttpApiGroup.make("batchSimulation").add(
  HttpApiEndpoint.post("simulate", "/:id/simulate", {
    params: { id: PathId },
    payload: Schema.Struct({
      part: Part,
      outcome: SimulatedOutcome.annotate({
        description: "`once`: the wallet pays it as it was given out; `twice`: once more right after; "
          + "`changed_destination`: the first line goes to somebody else; `late`: after its time; `frozen_recipient`: a "
          + "receiver is frozen. What the network would refuse moves nothing"
      })
    }).annotate({ identifier: "BatchSimulation", examples: [{ part: 1, outcome: "once" }] }),
    success: SimulatedPart,
    error: errors("wrapped", "DEVNET_ONLY", "VALIDATION_ERROR", "INVALID_TRANSITION", "UNSUPPORTED_NETWORK", ...found)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Sign a part with play money",
    description: "Devnet, on simulated networks: what the wallet would do with the export that was given out last."
  }))
)
  .prefix("/api/v1/devnet/batches")
  .middleware(MerchantAuth)
  .annotate(RightsOf, { read: "batches:read", write: "batches:create" })
  .middleware(WrappedErrors)
  .annotateMerge(OpenApi.annotations({
    title: "Batch simulation",
    description: "Devnet: a wallet of play money."
  }))
{}

export class BatchesApi
  extends HttpApi.make("batches").add(BatchesGroup).add(BatchSimulationGroup).add(CollectableGroup)
{}
