/** What a payor sees and does of a refund by its claim link. */
import { Context, Effect, Layer, Result } from "effect"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { descriptorOf } from "../../../schemas/Network.ts"
import { Invoices } from "../../invoices/plugin.ts"
import { type ClaimedRefund, explorerUrl, PayorApi, RefundClaims, type RefundWallet } from "../../payments/plugin.ts"
import { type ClaimAction, claimProblemOf, claimScreenOf, type ClaimView, isSameWallet } from "../rules/Claims.ts"

/** What an action has come to. */
interface Step {
  readonly refund: ClaimedRefund
  readonly entered: RefundWallet
  readonly isChecked: boolean
  /** Why the wallet was not taken. */
  readonly error: PublicError | null
  /** Whether an address is kept that was not given by this action, which wanted to. */
  readonly isLate: boolean
}

const nothing: RefundWallet = { address: "", memo: null }

/** Without a memo where the network has none: no field asks for it there. */
const walletOn = ({ network }: ClaimedRefund, { address, memo }: RefundWallet): RefundWallet => ({
  address,
  memo: descriptorOf(network).family.hasMemo ? memo : null
})

export class Claims extends Context.Service<Claims, {
  /** Whether there are refunds with links in this deployment. */
  readonly isServed: () => boolean
  /**
   * Does what a form asks for, and gives what is to be seen then. Errors: `REFUND_NOT_FOUND` for a token that opens
   * nothing; `SERVICE_UNAVAILABLE`. An address that is not taken is no error but {@link ClaimView.problem}.
   */
  readonly act: (
    refundId: string,
    token: string,
    action: ClaimAction,
    requestId: string
  ) => Effect.Effect<ClaimView, PublicError>
}>()("tillwire/modules/checkout/Claims") {
  static readonly layer = Layer.effect(
    Claims,
    Effect.gen(function*() {
      const claims = yield* RefundClaims
      const invoices = yield* Invoices
      const payorApi = yield* PayorApi

      const open = Effect.fnUntraced(function*(refundId: string, token: string) {
        const opened = yield* claims.current()?.open(refundId, token) ?? Effect.succeed(null)
        return opened ?? (yield* publicError("REFUND_NOT_FOUND"))
      })

      const perform = Effect.fnUntraced(function*(
        refundId: string,
        token: string,
        { name, wallet }: ClaimAction,
        requestId: string
      ): Effect.fn.Return<Step, PublicError> {
        const opened = yield* open(refundId, token)
        const { refund } = opened
        const entered = walletOn(refund, wallet)
        const unchanged: Step = { refund, entered: nothing, isChecked: false, error: null, isLate: false }
        if (name === "open") return unchanged
        if (!refund.canClaim) return { ...unchanged, entered, isLate: name === "claim" }
        if (name === "edit") return { ...unchanged, entered }
        if (name === "check") {
          const checked = yield* Effect.result(opened.check(entered))
          return Result.isSuccess(checked)
            ? { ...unchanged, entered: checked.success, isChecked: true }
            : { ...unchanged, entered, error: checked.failure }
        }
        const claimed = yield* Effect.result(opened.claim(entered, requestId))
        if (Result.isFailure(claimed) && claimed.failure.code !== "INVALID_TRANSITION") {
          return { ...unchanged, entered, error: claimed.failure }
        }
        return { ...unchanged, refund: (yield* open(refundId, token)).refund, entered, isLate: true }
      })

      return Claims.of({
        isServed: () => claims.current() !== undefined,
        act: Effect.fn("Claims.act")(function*(refundId, token, action, requestId) {
          const { entered, error, isChecked, isLate, refund } = yield* perform(refundId, token, action, requestId)
          const problem = error === null ? null : claimProblemOf(error, entered.address)
          if (error !== null && problem === null) return yield* error
          const { destination, environment, invoiceId, network, txHash } = refund
          const aggregate = invoiceId === null ? null : yield* invoices.find(invoiceId)
          if (aggregate === null && invoiceId !== null) return yield* publicError("REFUND_NOT_FOUND")
          const details = yield* payorApi.merchant(refund.merchantId, environment)
          const payment = aggregate?.payments.find(({ id }) => id === refund.paymentId)
          const about = aggregate?.invoice.details
          return {
            screen: claimScreenOf(refund, isChecked),
            refund,
            environment,
            merchant: details.branding.name || details.merchant_name,
            branding: details.branding,
            order: about?.title || about?.description || null,
            explorerUrl: explorerUrl(environment, { network, sender: payment?.sender ?? null, txHash }),
            entered,
            problem,
            isOther: isLate && destination !== null && !isSameWallet(entered, destination, network, environment)
          } satisfies ClaimView
        })
      })
    })
  )
}
