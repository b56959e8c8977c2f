/** Refunds whose payor says by a link where they go: the module that keeps them, if there is one. */
import { Context, Effect, Layer, type Scope } from "effect"
import { single } from "../../../runtime/Registry.ts"
import type { PublicError } from "../../../schemas/Errors.ts"
import type { InvoiceId } from "../../../schemas/Ids.ts"
import type { Environment, Network } from "../../../schemas/Network.ts"
import type { RefundReason, RefundStatus } from "../../../schemas/Refund.ts"

/** Where a refund goes, on its network. */
export interface RefundWallet {
  readonly address: string
  readonly memo: string | null
}

/** What its payor may know of a refund. */
export interface ClaimedRefund {
  readonly id: string
  readonly merchantId: number
  readonly environment: Environment
  /** Null: of money that pays no invoice. */
  readonly invoiceId: InvoiceId | null
  /** Of which payment; null: of no single one. */
  readonly paymentId: string | null
  readonly status: RefundStatus
  /** Whether the payor may say now where it goes. */
  readonly canClaim: boolean
  readonly network: Network
  readonly tokenSymbol: string
  /** What is sent, in whole tokens. */
  readonly tokenAmount: string
  /** What is kept of it for the network; null: nothing is. */
  readonly tokenFee: string | null
  readonly reason: RefundReason
  readonly destination: RefundWallet | null
  readonly txHash: string | null
  /** Epoch seconds at which it ends without an address; null: it does not. */
  readonly endsAt: number | null
}

/** What the token of a link opens. */
export interface OpenRefund {
  readonly refund: ClaimedRefund
  /**
   * A wallet in the form it is kept in. Errors: `WALLET_ADDRESS_INVALID` with its reason in the details
   * ({@link RefusedAddress}), `VALIDATION_ERROR` for the memo, `NETWORK_DEGRADED` and `SERVICE_UNAVAILABLE`.
   */
  readonly check: (wallet: RefundWallet) => Effect.Effect<RefundWallet, PublicError>
  /**
   * Fixes where it goes, by the request of this id. Errors: those, and `INVALID_TRANSITION` where that is not open any
   * more.
   */
  readonly claim: (wallet: RefundWallet, requestId: string) => Effect.Effect<void, PublicError>
}

/** Opens a refund by its id and the token of its link; null: they open nothing. Errors: `SERVICE_UNAVAILABLE`. */
export type OpenClaim = (refundId: string, token: string) => Effect.Effect<OpenRefund | null, PublicError>

/** The refunds that payors are told of. */
export interface PayorRefunds {
  readonly open: OpenClaim
  /** Of an invoice, oldest first. */
  readonly ofInvoice: (merchantId: number, invoiceId: string) => Effect.Effect<ReadonlyArray<ClaimedRefund>>
}

/** Who keeps refunds with links, if anyone here does: that module registers itself. */
export class RefundClaims extends Context.Service<RefundClaims, {
  /** Adds it for as long as the scope lives. One per deployment. */
  readonly register: (refunds: PayorRefunds) => Effect.Effect<void, never, Scope.Scope>
  /** Undefined where nobody does. */
  readonly current: () => PayorRefunds | undefined
}>()("tillwire/modules/payments/RefundClaims") {
  static readonly layer = Layer.sync(
    RefundClaims,
    () =>
      RefundClaims.of(single<PayorRefunds>("two modules keep refunds with links: remove one of them from the config"))
  )
}
