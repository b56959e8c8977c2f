/**
 * The batch as it crosses the wire (modules/docs/reference/batches.md): money that leaves by the merchant's own
 * signature.
 */
import { Schema } from "effect"
import { ApprovalSummary } from "./Approval.ts"
import { BatchId, EpochSeconds, RefundId } from "./Ids.ts"
import { Metadata, WireAmount } from "./Invoice.ts"
import { UsdDecimal } from "./Money.ts"
import { Environment, Network } from "./Network.ts"

/** What a batch pays: refunds, payouts of the merchant's own, or what lies on forwarders to their payee. */
export const BatchKind = Schema.Literals(["refunds", "payouts", "collect"])
export type BatchKind = typeof BatchKind.Type

/** Complete for v1. The transitions are in modules/batches/machine.ts. */
export const BatchStatus = Schema.Literals([
  "pending_approval",
  "ready",
  "open",
  "paid",
  "partly_paid",
  "canceled",
  "expired"
])
export type BatchStatus = typeof BatchStatus.Type

/** What one signature pays: see {@link BatchStatus}. */
export const BatchPartStatus = Schema.Literals(["ready", "out", "lapsed", "seen", "paid", "mismatch", "released"])
export type BatchPartStatus = typeof BatchPartStatus.Type

export const BatchLineStatus = Schema.Literals(["pending", "seen", "paid", "mismatch", "released"])
export type BatchLineStatus = typeof BatchLineStatus.Type

/** Characters of a payout's own words, at most: they stand in files and on some chains. */
export const maximumReference = 64

/** Seconds for which an export can be signed, where the network lets that be chosen. */
export const validityLimits = { minimum: 300, maximum: 604_800, default: 86_400 } as const

const exampleAddress = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

/** The example of the documentation. */
export const exampleBatch = {
  id: BatchId.make("bat_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10"),
  object: "batch",
  kind: "refunds",
  status: "ready",
  environment: "mainnet",
  network: "base",
  from: exampleAddress,
  lines_total: 1,
  amount: 5_000,
  amount_decimal: "5.000",
  amount_unit: "usd_millis",
  currency: "usd",
  totals: [{ token_id: 5, symbol: "USDC", token_amount: "5.000000" }],
  parts: [{
    part: 1,
    status: "ready",
    lines: 1,
    reference: "bat_0193a5b27c4170009d4b6f5b1c3b2a10/1",
    format: null,
    unguarded: false,
    valid_until: null,
    tx_hash: null,
    fee: null,
    releasable_at: null,
    releases: []
  }],
  content_hash: "0a3e5f0c1d7b4c9f8e2a6b5d4c3f2e1d0a3e5f0c1d7b4c9f8e2a6b5d4c3f2e1d",
  approval_code: "0a3e5f0c",
  approvals_required: 1,
  approvals: [{ by: "wallet:0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", at: 1_766_320_500 }],
  valid_for_seconds: 86_400,
  created_by: "key_5f0b1c9e3d2a4b8e",
  created_at: 1_766_320_496,
  updated_at: 1_766_320_500,
  expires_at: 1_766_406_900,
  closed_at: null,
  metadata: {}
} as const

const TokenAmount = Schema.String.annotate({ description: "Whole tokens, as a decimal number" })

export const BatchLine = Schema.Struct({
  line: Schema.Int.annotate({ description: "Its place in the batch, from 1" }),
  part: Schema.Int,
  status: BatchLineStatus,
  token_id: Schema.NullOr(Schema.Int).annotate({ description: "Null for a token that is not in the catalogue" }),
  symbol: Schema.String,
  token_address: Schema.NullOr(Schema.String).annotate({ description: "Null for the network's own coin" }),
  token_amount: TokenAmount,
  units: Schema.String.annotate({ description: "The same in base units of the token" }),
  amount: WireAmount.annotate({ description: "usd_millis by which the line is booked" }),
  amount_decimal: UsdDecimal,
  destination: Schema.Struct({ address: Schema.String, memo: Schema.NullOr(Schema.String) }),
  source_address: Schema.NullOr(Schema.String).annotate({
    description: "Of a batch of kind collect: the address that is emptied"
  }),
  reference: Schema.String,
  refund_id: Schema.NullOr(RefundId),
  tx_hash: Schema.NullOr(Schema.String)
})

const BatchFields = {
  id: BatchId,
  object: Schema.tag("batch"),
  kind: BatchKind,
  status: BatchStatus,
  environment: Environment,
  network: Network,
  from: Schema.NullOr(Schema.String).annotate({ description: "The wallet that pays" }),
  lines_total: Schema.Int,
  amount: WireAmount,
  amount_decimal: UsdDecimal,
  amount_unit: Schema.Literal("usd_millis"),
  currency: Schema.Literal("usd"),
  totals: Schema.Array(
    Schema.Struct({ token_id: Schema.NullOr(Schema.Int), symbol: Schema.String, token_amount: TokenAmount })
  ),
  parts: Schema.Array(Schema.Struct({
    part: Schema.Int,
    status: BatchPartStatus,
    lines: Schema.Int,
    reference: Schema.String.annotate({ description: "Names the part for ever, also on chains that carry a text" }),
    format: Schema.NullOr(Schema.String).annotate({ description: "Of its last export" }),
    unguarded: Schema.Boolean.annotate({ description: "Its last export can be executed late and twice" }),
    valid_until: Schema.NullOr(EpochSeconds),
    tx_hash: Schema.NullOr(Schema.String),
    fee: Schema.NullOr(Schema.String).annotate({
      description: "What the network took for it, in base units of its coin; the wallet paid it"
    }),
    releasable_at: Schema.NullOr(EpochSeconds).annotate({
      description: "When people may release it at the earliest; null: they may not, or have"
    }),
    releases: Schema.Array(Schema.Struct({ by: Schema.String, at: EpochSeconds, note: Schema.String })).annotate({
      description: "Who said that what is not paid of it will not be"
    })
  })),
  content_hash: Schema.String.annotate({
    description: "SHA-256, hex, of what people approve: id, kind, merchant, environment, network, from, " +
      "valid_for_seconds and the lines in their order"
  }),
  approval_code: Schema.String.annotate({ description: "Its first eight digits, to be compared by people" }),
  approvals_required: Schema.Int,
  approvals: Schema.Array(ApprovalSummary),
  valid_for_seconds: Schema.Int,
  created_by: Schema.String,
  created_at: EpochSeconds,
  updated_at: EpochSeconds,
  expires_at: Schema.NullOr(EpochSeconds).annotate({
    description: "When it ends by itself if nothing more of it is given out; null: something is out, or it is over"
  }),
  closed_at: Schema.NullOr(EpochSeconds),
  metadata: Metadata
}

/** As events carry it. */
export const Batch = Schema.Struct(BatchFields).annotate({
  identifier: "Batch",
  description: "Money that leaves by the merchant's own signature.",
  examples: [exampleBatch]
})
export type Batch = typeof Batch.Type

/** As it is read: with its lines where `expand=lines` asks for them. */
export const ReadBatch = Schema.Struct({ ...BatchFields, lines: Schema.optionalKey(Schema.Array(BatchLine)) })
  .annotate({ identifier: "ReadBatch", examples: [exampleBatch] })

/**
 * Names a part for ever, in 38 characters and its number, so that a chain's text can carry it.
 *
 * @example
 * partReference({ batchId: "bat_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10", part: 1 })
 * // => "bat_0193a5b27c4170009d4b6f5b1c3b2a10/1"
 */
export const partReference = ({ batchId, part }: { readonly batchId: string; readonly part: number }): string =>
  `${batchId.replaceAll("-", "")}/${part}`
