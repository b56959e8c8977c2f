/** The ledger for operators: definitions only. */
import { Schema } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { PublicError } from "../../schemas/Errors.ts"
import { MerchantId } from "../../schemas/Ids.ts"
import { Environment } from "../../schemas/Network.ts"

const Amounts = Schema.Struct({
  /** Base units. */
  units: Schema.String,
  usd_millis: Schema.Int
})

/** A balance that is not what it should be. */
export const BookDifference = Schema.Struct({
  /** 0: the operator's own books. */
  merchant_id: Schema.Int,
  environment: Environment,
  account: Schema.String,
  asset: Schema.String,
  /** What it was compared with: its entries, or the objects that they are about: payments, exceptions, refunds, adjustments. */
  against: Schema.Literals(["entries", "objects"]),
  held: Amounts,
  expected: Amounts
})

export class LedgerRpc extends RpcGroup.make(
  /**
   * Adds up every entry and every object that is booked, as of one moment and beside running commits, and compares: the
   * balances that differ, 1,000 at most, and how many more there are. It reads all of them, so it takes seconds per
   * million.
   */
  Rpc.make("ledger.check", {
    payload: { merchant_id: Schema.optionalKey(MerchantId) },
    success: Schema.Struct({
      is_balanced: Schema.Boolean,
      differences: Schema.Array(BookDifference),
      more: Schema.Int
    }),
    error: PublicError
  })
) {}
