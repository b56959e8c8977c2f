/** Creates, reads, changes and marks the invoices of shops. Their rows change in the commits of the invoices. */
import { Context, Effect, Layer } from "effect"
import { type CommitCause, dieOnReplay } from "../../runtime/Commit.ts"
import type { Grant } from "../../runtime/Http.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import type { Metadata } from "../../schemas/Invoice.ts"
import { type Aggregate, InvoiceHooks, Invoices } from "../invoices/plugin.ts"
import type { ShopRefusal } from "./handlers/Refusals.ts"
import { makeRepo, type ShopInvoice, shopInvoiceWrite } from "./repo.ts"
import { btcpay } from "./rules.ts"
import { canCancel, markableAs } from "./rules/Marks.ts"
import { orderIdOf, redirectWithIds, type ShopRequest } from "./rules/Requests.ts"
import { noFlags, stateOf } from "./rules/Statuses.ts"
import type { paymentMethodJson } from "./rules/Wire.ts"
import { makeAcceptance } from "./service/Acceptance.ts"
import { type FoundInvoice, type FoundInvoices, makeFoundInvoices, type Store } from "./service/FoundInvoices.ts"
import { makeMethods, type Methods } from "./service/Methods.ts"
import { makePaymentRoutes } from "./service/PaymentRoutes.ts"
import { makeShopChanges } from "./service/ShopChanges.ts"
import { registerTerms } from "./service/Terms.ts"

export type { FoundInvoice, Store }

/** A language tag that an invoice may keep (BCP 47, RFC 5646): language and subtags. */
const languageTag = /^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$/

/** Characters of a language tag: the longest that RFC 5646, section 4.4.1, counts on. */
const maximumLanguageLength = 35

const localeIn = (language: string | null): string | null =>
  language !== null && language.length <= maximumLanguageLength && languageTag.test(language) ? language : null

/** Why a mark is refused, and what to do instead: sentences for the owner of the shop. */
export const markRefusals = {
  Invalid: "Money is on its way or was received: this invoice can no longer be marked invalid.",
  Settled:
    "An invoice without a received payment cannot be marked settled. Part payments can be accepted once their time is up."
} as const

export type Mark = keyof typeof markRefusals

export class ShopInvoices extends Context.Service<ShopInvoices, {
  readonly methods: Methods
  readonly create: (store: Store, request: ShopRequest, cause: CommitCause) => Effect.Effect<FoundInvoice, PublicError>
  readonly get: FoundInvoices["get"]
  readonly find: FoundInvoices["find"]
  readonly list: FoundInvoices["list"]
  readonly receivedOfOrder: FoundInvoices["receivedOfOrder"]
  /** Replaces the whole metadata. */
  readonly replaceMetadata: (
    found: FoundInvoice,
    metadata: Metadata,
    cause: CommitCause
  ) => Effect.Effect<FoundInvoice, PublicError>
  /** Null: the invoice cannot be marked so now. A caller without the right to decide is refused with 403. */
  readonly mark: (
    caller: Grant,
    found: FoundInvoice,
    mark: Mark,
    cause: CommitCause
  ) => Effect.Effect<FoundInvoice | null, PublicError | ShopRefusal>
  /** Whether the caller may mark an invoice as settled. */
  readonly maySettle: (caller: Grant) => boolean
  /** The ways to pay an invoice whose address was shown, or by which something came. */
  readonly paymentMethods: (
    found: FoundInvoice
  ) => Effect.Effect<ReadonlyArray<ReturnType<typeof paymentMethodJson>>>
}>()("tillwire/modules/btcpay/ShopInvoices") {
  static readonly layer = Layer.effect(
    ShopInvoices,
    Effect.gen(function*() {
      const hooks = yield* InvoiceHooks
      const invoices = yield* Invoices
      const methods = yield* makeMethods
      const { accept, mayAccept } = yield* makeAcceptance
      const repo = yield* makeRepo

      const { messageOf, runHook } = yield* makeShopChanges(methods, repo)
      yield* hooks.register({ name: btcpay, isLast: true, run: runHook })
      yield* registerTerms(methods, repo)

      const foundInvoices = yield* makeFoundInvoices(repo)

      const reread = Effect.fnUntraced(function*({ current }: FoundInvoice) {
        return (yield* foundInvoices.find(current.invoice.id)) ?? (yield* publicError("INVOICE_NOT_FOUND"))
      })

      const create = Effect.fnUntraced(function*(
        { environment, merchantId }: Store,
        request: ShopRequest,
        cause: CommitCause
      ) {
        const { checkout, confirmations, currency, metadata } = request
        const { redirectURL } = checkout
        const orderId = orderIdOf(metadata)
        const draft = yield* invoices.draft({
          merchantId,
          environment,
          commerce: false,
          amount: request.usd,
          expiresInMillis: request.expiresInMillis,
          customerId: null,
          metadata,
          details: {
            description: request.description,
            title: request.title,
            footer: null,
            customerEmail: request.email,
            returnUrl: null,
            locale: localeIn(checkout.defaultLanguage)
          },
          toleranceBasisPoints: request.toleranceBasisPoints,
          acceptedNetworks: null,
          ...(redirectURL === null ? {} : { returnUrlOf: (id: string) => redirectWithIds(redirectURL, id, orderId) }),
          ...(confirmations === null ? {} : { confirmations })
        })
        const { invoice } = draft
        const current: Aggregate = { invoice, payments: [], exceptions: [] }
        const row: ShopInvoice = {
          merchantId,
          invoiceId: invoice.id,
          version: 1,
          environment,
          orderId,
          currency,
          amount: request.amount,
          checkout,
          flags: noFlags,
          state: stateOf(current, noFlags),
          createdAt: invoice.createdAt
        }
        const message = messageOf({ type: "InvoiceCreated" }, current, invoice.createdAt, "")
        const extra = { writes: [shopInvoiceWrite(row)], events: [], messages: [message] }
        yield* invoices.createWith(draft, extra, cause, undefined).pipe(
          Effect.catchTag("Conflict", (conflict) => Effect.die(conflict)),
          dieOnReplay
        )
        return { current, row }
      })

      return ShopInvoices.of({
        ...foundInvoices,
        methods,
        maySettle: mayAccept,
        create,
        replaceMetadata: Effect.fnUntraced(function*(found, metadata, cause) {
          yield* dieOnReplay(
            invoices.change(
              found.current.invoice.id,
              cause,
              () => Effect.succeed({ commands: [{ _tag: "Amend" as const, metadata }] })
            )
          )
          return yield* reread(found)
        }),
        mark: Effect.fnUntraced(function*(caller, found, mark, cause) {
          if (!markableAs(found.current, found.row.flags).includes(mark)) return null
          if (mark === "Settled") return (yield* accept(caller, found.current, cause)) ? yield* reread(found) : null
          const { aggregate } = yield* dieOnReplay(
            invoices.change(
              found.current.invoice.id,
              cause,
              (current) => Effect.succeed({ commands: canCancel(current) ? [{ _tag: "Cancel" as const }] : [] })
            )
          )
          return aggregate.invoice.status === "canceled" ? yield* reread(found) : null
        }),
        paymentMethods: yield* makePaymentRoutes(methods)
      })
    })
  )
}
