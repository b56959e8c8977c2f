/** Invoices of shops: made, read, changed and marked; what is kept of them changes in the commits of the invoices. */
import { Context, Effect, Layer } from "effect"
import { AuditLog } from "../../runtime/AuditLog.ts"
import { Chains } from "../../runtime/Chains.ts"
import { type CommitCause, dieOnReplay, type WebhookMessage } from "../../runtime/Commit.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import type { Principal } from "../../schemas/Auth.ts"
import type { Metadata } from "../../schemas/Invoice.ts"
import { isUuid } from "../../schemas/Ids.ts"
import { type Environment, familyOf } from "../../schemas/Network.ts"
import { type Aggregate, type HookInput, InvoiceHooks, Invoices, type PaymentState } from "../invoices/plugin.ts"
import { PaymentQuotes } from "../quotes/plugin.ts"
import { makeRepo, type ShopInvoice, type ShopInvoiceFilter, shopInvoiceWrite } from "./repo.ts"
import { btcpay, storeIdOf } from "./rules.ts"
import { acceptanceOf, markableAs, mayMark } from "./rules/Marks.ts"
import { allEvents, filledRedirect, orderIdOf, type ShopRequest } from "./rules/Requests.ts"
import { eventsOf, flagsAfter, noFlags, type ShopEvent, type ShopState, stateOf } from "./rules/Statuses.ts"
import { makeMethods, type Methods } from "./service/Methods.ts"
import { methodOfPayment, paymentMethodJson, type PaymentRoute, webhookData } from "./rules/Wire.ts"

/** An invoice of a shop with what the shop asked of it. */
export interface FoundInvoice {
  readonly current: Aggregate
  readonly row: ShopInvoice
}

/** Whose invoices. */
export type Store = Pick<Principal, "credential" | "environment" | "merchantId">

/** How a language tag is spelt that an invoice may keep. */
const locale = /^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$/

const localeIn = (language: string | null): string | null =>
  language !== null && language.length <= 35 && locale.test(language) ? language : null

/** What an invoice is not, where a mark is refused: sentences for the owner of the shop. */
export const markRefusals = {
  Invalid: "Money is on its way or was received: this invoice can no longer be marked invalid.",
  Settled:
    "An invoice without a received payment cannot be marked settled. Part payments can be accepted once their time is up."
} as const

export type Mark = keyof typeof markRefusals

const isSameState = (a: ShopState, b: ShopState): boolean =>
  a.status === b.status && a.additionalStatus === b.additionalStatus

export class ShopInvoices extends Context.Service<ShopInvoices, {
  readonly methods: Methods
  readonly create: (store: Store, request: ShopRequest, cause: CommitCause) => Effect.Effect<FoundInvoice, PublicError>
  /** Null: no invoice of this store that a shop made. */
  readonly get: (merchantId: number, environment: Environment, id: string) => Effect.Effect<FoundInvoice | null>
  /** By id alone, for links that shops give out. */
  readonly find: (id: string) => Effect.Effect<FoundInvoice | null>
  /** Newest first. */
  readonly list: (store: Store, filter: ShopInvoiceFilter) => Effect.Effect<ReadonlyArray<FoundInvoice>>
  /** Replaces the whole metadata. */
  readonly replaceMetadata: (
    found: FoundInvoice,
    metadata: Metadata,
    cause: CommitCause
  ) => Effect.Effect<FoundInvoice, PublicError>
  /** Null: it cannot be marked so. */
  readonly mark: (
    store: Store,
    found: FoundInvoice,
    mark: Mark,
    cause: CommitCause
  ) => Effect.Effect<FoundInvoice | null, PublicError>
  /** The ways to pay an invoice whose address was shown, or by which something came. */
  readonly paymentMethods: (
    found: FoundInvoice
  ) => Effect.Effect<ReadonlyArray<ReturnType<typeof paymentMethodJson>>>
}>()("tillwire/modules/btcpay/ShopInvoices") {
  static readonly layer = Layer.effect(
    ShopInvoices,
    // oxlint-disable-next-line max-lines-per-function -- one closure over the services that each call takes
    Effect.gen(function*() {
      const auditLog = yield* AuditLog
      const chains = yield* Chains
      const hooks = yield* InvoiceHooks
      const invoices = yield* Invoices
      const methods = yield* makeMethods
      const quotes = yield* PaymentQuotes
      const repo = yield* makeRepo

      const targetOf = (invoiceId: string, { network }: Pick<PaymentState, "network">) =>
        Effect.map(chains.target(invoiceId, familyOf(network)), (target) => target?.address ?? "")

      const messageOf = (
        event: ShopEvent,
        current: Aggregate,
        now: number,
        destination: string
      ): WebhookMessage => {
        const { environment, merchantId } = current.invoice
        const payment = "payment" in event
          ? { methodId: methodOfPayment(event.payment, methods.idsIn(environment)), destination }
          : null
        return {
          format: btcpay,
          type: event.type,
          filters: [event.type, allEvents],
          data: webhookData(event, current, storeIdOf(merchantId, environment), now, payment)
        }
      }

      /** Keeps the shop's row with every change of its invoice, and tells the shop. */
      const follow = Effect.fnUntraced(function*({ before, decision, now }: HookInput) {
        const row = yield* repo.find(before.invoice.id)
        if (row === null) return {}
        const after = decision.next
        const events = eventsOf({ before, after, flags: row.flags })
        const messages = yield* Effect.forEach(events, (event) =>
          Effect.map(
            "payment" in event ? targetOf(after.invoice.id, event.payment) : Effect.succeed(""),
            (destination) => messageOf(event, after, now, destination)
          ))
        const flags = flagsAfter(row.flags, before, after)
        const state = stateOf(after, flags)
        const orderId = orderIdOf(after.invoice.metadata)
        const isChanged = !isSameState(state, row.state) || orderId !== row.orderId ||
          JSON.stringify(flags) !== JSON.stringify(row.flags)
        return {
          messages,
          writes: isChanged ? [shopInvoiceWrite({ ...row, version: row.version + 1, flags, state, orderId })] : []
        }
      })
      yield* hooks.register({ name: btcpay, isLast: true, run: follow })

      const find = Effect.fnUntraced(function*(id: string) {
        const row = isUuid(id) ? yield* repo.find(id) : null
        const current = row === null ? null : yield* invoices.find(row.invoiceId)
        return row === null || current === null ? null : { current, row }
      })

      const again = Effect.fnUntraced(function*({ current }: FoundInvoice) {
        return (yield* find(current.invoice.id)) ?? (yield* publicError("INVOICE_NOT_FOUND"))
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
            title: null,
            footer: null,
            customerEmail: request.email,
            returnUrl: null,
            locale: localeIn(checkout.defaultLanguage)
          },
          toleranceBasisPoints: request.toleranceBasisPoints,
          acceptedNetworks: null,
          ...(redirectURL === null ? {} : { returnUrlOf: (id: string) => filledRedirect(redirectURL, id, orderId) }),
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

      const accept = Effect.fnUntraced(function*(store: Store, { current }: FoundInvoice, cause: CommitCause) {
        const acceptable = acceptanceOf(current)
        if (acceptable === null) return false
        const resolution = {
          action: "accept" as const,
          note: "Marked settled by the shop",
          actor: store.credential,
          invoiceId: null
        }
        const decided = yield* invoices.resolveException(store.merchantId, acceptable, {
          resolution,
          cause,
          check: (record) => record.exception.status === "open" ? null : publicError("EXCEPTION_ALREADY_RESOLVED"),
          reply: () => undefined,
          writes: ({ exception }) =>
            auditLog.writesOf({
              merchantId: store.merchantId,
              environment: store.environment,
              actor: store.credential,
              action: "exception.resolve",
              subject: { object: "exception", id: exception.id },
              before: { status: exception.status, type: exception.type },
              after: { status: "resolved", action: "accept" },
              requestId: cause.requestId
            })
        }).pipe(dieOnReplay)
        return decided.exception.status === "resolved"
      })

      return ShopInvoices.of({
        methods,
        create,
        find,
        get: (merchantId, environment, id) =>
          Effect.map(
            find(id),
            (found) => found?.row.merchantId === merchantId && found.row.environment === environment ? found : null
          ),
        list: Effect.fnUntraced(function*({ environment, merchantId }, filter) {
          const rows = yield* repo.list(merchantId, environment, filter)
          const found = yield* Effect.forEach(
            rows,
            (row) => Effect.map(invoices.find(row.invoiceId), (current) => current === null ? [] : [{ current, row }]),
            {
              concurrency: 4
            }
          )
          return found.flat()
        }),
        replaceMetadata: Effect.fnUntraced(function*(found, metadata, cause) {
          yield* dieOnReplay(
            invoices.change(
              found.current.invoice.id,
              cause,
              () => Effect.succeed({ commands: [{ _tag: "Amend" as const, metadata }] })
            )
          )
          return yield* again(found)
        }),
        mark: Effect.fnUntraced(function*(store, found, mark, cause) {
          if (!markableAs(found.current, found.row.flags).includes(mark)) return null
          if (mark === "Settled") {
            return (yield* accept(store, found, cause)) ? yield* again(found) : null
          }
          const { aggregate } = yield* dieOnReplay(
            invoices.change(
              found.current.invoice.id,
              cause,
              (current) => Effect.succeed({ commands: mayMark(current) ? [{ _tag: "Cancel" as const }] : [] })
            )
          )
          return aggregate.invoice.status === "canceled" ? yield* again(found) : null
        }),
        paymentMethods: Effect.fnUntraced(function*({ current, row }) {
          const { invoice } = current
          const ids = methods.idsIn(invoice.environment)
          const shown = yield* quotes.routes(invoice.id)
          const byMethod = new Map<string, PaymentRoute>()
          for (const quote of shown) {
            const methodId = ids.get(quote.tokenId)
            const symbol = methods.symbolOf(quote.tokenId)
            if (methodId === undefined || symbol === undefined) continue
            byMethod.set(methodId, {
              methodId,
              token: { symbol, decimals: quote.decimals },
              address: yield* targetOf(invoice.id, quote),
              link: yield* methods.linkOf(quote),
              quote,
              payments: []
            })
          }
          for (const payment of current.payments.toSorted((a, b) => a.ordinal - b.ordinal)) {
            const methodId = methodOfPayment(payment, ids)
            const known: PaymentRoute = byMethod.get(methodId) ?? {
              methodId,
              token: { symbol: payment.metadata.token?.symbol ?? "", decimals: payment.tokenDecimals ?? 0 },
              address: yield* targetOf(invoice.id, payment),
              link: "",
              quote: null,
              payments: []
            }
            byMethod.set(methodId, { ...known, payments: [...known.payments, payment] })
          }
          return [...byMethod.values()].map((route) => paymentMethodJson(current, row, route))
        })
      })
    })
  )
}
