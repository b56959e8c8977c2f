/** Receipts: who has left an e-mail address gets one message once the invoice is paid, whichever comes first. */
import { Effect } from "effect"
import { Commit, noCause, type Write } from "../../../runtime/Commit.ts"
import { Mail } from "../../../runtime/Mail.ts"
import { MerchantClock } from "../../../runtime/MerchantClock.ts"
import { negotiateLanguage } from "../../../schemas/Languages.ts"
import { usdDecimal } from "../../../schemas/Money.ts"
import { descriptorOf } from "../../../schemas/Network.ts"
import { isCounted } from "../../../schemas/Payment.ts"
import {
  type Aggregate,
  type HookInput,
  type HookResult,
  InvoiceHooks,
  Invoices,
  tokenAmount
} from "../../invoices/plugin.ts"
import { MerchantSettings } from "../../settings/plugin.ts"
import { type InvoiceOwner, makeRepo } from "../repo.ts"
import { receiptMail } from "../rules/ReceiptMail.ts"
import { shopAmountOf } from "../rules/ShopPrice.ts"
import { InvoiceTerms } from "./InvoiceTerms.ts"

/**
 * Seconds after the payment in which an address still gets a receipt: shorter than it is kept that one was sent. Paid
 * anew after a reversal that took longer, an invoice has another one.
 */
const lateSeconds = 86_400

export const makeReceipts = Effect.gen(function*() {
  const clock = yield* MerchantClock
  const commit = yield* Commit
  const invoices = yield* Invoices
  const repo = yield* makeRepo
  const mail = yield* Mail
  const settings = yield* MerchantSettings
  const terms = yield* InvoiceTerms

  /** What stores the receipt of an invoice that is paid, to an address; nothing where there was one before. */
  const draft = Effect.fnUntraced(function*(
    { invoice, payments }: Aggregate,
    email: string,
    now: number
  ): Effect.fn.Return<ReadonlyArray<Write>> {
    const { customerId, details, environment, id, merchantId, paidAt, status } = invoice
    if (!mail.isEnabled() || status !== "paid" || paidAt === null || now > paidAt + lateSeconds) return []
    const { branding } = yield* settings.get(merchantId, environment)
    const { price } = yield* terms.of(invoice)
    const language = negotiateLanguage([details.locale, branding.default_locale].filter((tag) => tag !== null)) ?? "en"
    return yield* mail.draftOnce({
      id: `receipt_${id}`,
      merchantId,
      environment,
      kind: "receipt",
      to: email,
      language,
      ...receiptMail(language, {
        merchant: branding.name,
        title: details.title,
        amountUsd: usdDecimal(invoice.amountPaid),
        shopAmount: price === null
          ? null
          : `${shopAmountOf(price, invoice.amountPaid, invoice.amount, "received")} ${price.currency}`,
        payments: payments.filter((payment) => isCounted(payment.status)).map((payment) => ({
          amount: tokenAmount(payment),
          symbol: payment.metadata.token?.symbol ?? null,
          network: descriptorOf(payment.network).label,
          txHash: payment.txHash
        })),
        paidAt,
        invoiceId: id
      }),
      customerId,
      maximumPerHour: null
    })
  })

  /**
   * Stores a receipt where both the payment and the address are there by now: two commits at once may each have missed
   * the other. It never fails, because whoever calls has done its own work.
   */
  const catchUp = Effect.fnUntraced(function*({ invoiceId, merchantId }: InvoiceOwner) {
    const contact = mail.isEnabled() ? yield* repo.contact({ merchantId, invoiceId }) : null
    const found = contact === null || contact.email === null ? null : yield* invoices.find(invoiceId)
    if (contact?.email == null || found === null || found.invoice.status !== "paid") return
    const { environment } = found.invoice
    const writes = yield* draft(found, contact.email, yield* clock.nowSeconds(merchantId, environment))
    if (writes.length === 0) return
    // A conflict: another commit has stored it.
    yield* Effect.ignore(commit.append({ merchantId, environment, cause: noCause, writes, events: [] }))
  })

  return { draft, catchUp }
})

/** In the commit by which an invoice becomes paid. */
export const registerReceipts = Effect.gen(function*() {
  const receipts = yield* makeReceipts
  const mail = yield* Mail
  const repo = yield* makeRepo
  yield* (yield* InvoiceHooks).register({
    name: "receipts",
    run: Effect.fnUntraced(function*({ before, decision: { next }, now }: HookInput) {
      if (!mail.isEnabled() || next.invoice.status !== "paid" || before.invoice.status === "paid") {
        return {} satisfies HookResult
      }
      const owner = { merchantId: next.invoice.merchantId, invoiceId: next.invoice.id }
      const contact = yield* repo.contact(owner)
      return contact === null || contact.email === null
        ? { afterCommit: receipts.catchUp(owner) } satisfies HookResult
        : { writes: yield* receipts.draft(next, contact.email, now) } satisfies HookResult
    })
  })
})
