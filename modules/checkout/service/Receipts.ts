/** Receipts of paid invoices, for whoever has their links: an accountant, an employer, the payor in ten years. */
import { Context, Effect, Layer } from "effect"
import { Chains } from "../../../runtime/Chains.ts"
import { MerchantClock } from "../../../runtime/MerchantClock.ts"
import { Secrets } from "../../../runtime/Secrets.ts"
import { Settings } from "../../../runtime/Settings.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { isUuid } from "../../../schemas/Ids.ts"
import { familyOf } from "../../../schemas/Network.ts"
import { type Aggregate, Invoices } from "../../invoices/plugin.ts"
import { explorerUrl, InvoiceTerms, paymentIdOf, PayorApi, RefundClaims } from "../../payments/plugin.ts"
import { decisionsOf } from "../rules/Decisions.ts"
import { hasReceipt } from "../rules/Receipts.ts"
import { opensReceipt, receiptTokenOf } from "./ReceiptTokens.ts"
import { countedPayments, type ReceiptView } from "../rules.ts"

export class Receipts extends Context.Service<Receipts, {
  /** The link of an invoice's receipt; null: it has none. */
  readonly urlOf: (current: Aggregate, now: number) => string | null
  /** The invoice whose receipt a token opens. Errors: `NOT_FOUND` for every other token, whatever is wrong with it. */
  readonly open: (invoiceId: string, token: string) => Effect.Effect<Aggregate, PublicError>
  readonly view: (current: Aggregate) => Effect.Effect<ReceiptView>
}>()("tillwire/modules/checkout/Receipts") {
  static readonly layer = Layer.effect(
    Receipts,
    Effect.gen(function*() {
      const chains = yield* Chains
      const claims = yield* RefundClaims
      const clock = yield* MerchantClock
      const invoices = yield* Invoices
      const payorApi = yield* PayorApi
      const terms = yield* InvoiceTerms
      const keys = (yield* Secrets).keys("receipt")
      const { publicUrl } = yield* Settings

      return Receipts.of({
        urlOf: ({ invoice }, now) =>
          hasReceipt(invoice, now)
            ? `${publicUrl}/pay/${invoice.id}/receipt?t=${receiptTokenOf(keys[0], invoice.id)}`
            : null,

        open: Effect.fnUntraced(function*(invoiceId, token) {
          if (!isUuid(invoiceId) || !opensReceipt(keys, invoiceId, token)) return yield* publicError("NOT_FOUND")
          const current = yield* invoices.find(invoiceId)
          if (current === null) return yield* publicError("NOT_FOUND")
          const { environment, merchantId } = current.invoice
          const now = yield* clock.nowSeconds(merchantId, environment)
          return hasReceipt(current.invoice, now) ? current : yield* publicError("NOT_FOUND")
        }),

        view: Effect.fnUntraced(function*(current) {
          const { exceptions, invoice, payments } = current
          const { environment, id, merchantId } = invoice
          const details = yield* payorApi.details(current)
          const targets = yield* chains.targets(id)
          const transfers = new Map((yield* chains.transfers(id)).map((entry) => [paymentIdOf(entry), entry]))
          const refunds = yield* claims.current()?.ofInvoice(merchantId, id) ?? Effect.succeed([])
          return {
            details,
            shopPrice: (yield* terms.of(invoice)).price,
            lines: countedPayments(details).map((payment) => {
              const target = payment.network === null ? undefined : targets.get(familyOf(payment.network))
              return {
                payment,
                symbol: payments.find((one) => one.id === payment.id)?.metadata.token?.symbol ?? null,
                // Money that a person gave to this invoice had come to another address.
                address: target?.matchKey === transfers.get(payment.id)?.matchKey ? target?.address ?? null : null
              }
            }),
            decisions: decisionsOf(
              exceptions,
              refunds,
              ({ network, paymentId, txHash }) =>
                txHash === null ? null : explorerUrl(environment, {
                  network,
                  txHash,
                  sender: payments.find((one) => one.id === paymentId)?.sender ?? null
                })
            )
          }
        })
      })
    })
  )
}
