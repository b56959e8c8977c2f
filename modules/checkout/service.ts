/**
 * What a payor sees and does: gathers a page's facts from the services of the payor's API, and takes its orders to
 * them.
 */
import { Context, Effect, Layer } from "effect"
import { Chains } from "../../runtime/Chains.ts"
import type { CommitCause } from "../../runtime/Commit.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { Secrets } from "../../runtime/Secrets.ts"
import { TokenCatalog } from "../../runtime/TokenCatalog.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import type { Branding } from "../../schemas/MerchantSettings.ts"
import { familyOf } from "../../schemas/Network.ts"
import { PayorSessions } from "../auth/plugin.ts"
import { type Aggregate, Invoices, isPayable, newestFirst, type WithLastEvent } from "../invoices/plugin.ts"
import {
  explorerUrl,
  InvoiceTerms,
  PayorApi,
  PayorDetails,
  RefundClaims,
  SimulatedPayments
} from "../payments/plugin.ts"
import { MerchantSettings } from "../settings/plugin.ts"
import { decisionsOf } from "./rules/Decisions.ts"
import {
  canRestart,
  isCoveredByEvents,
  isReturnDue,
  replacementFor,
  screenOf,
  sortPaymentMethods,
  type View
} from "./rules.ts"
import { Receipts } from "./service/Receipts.ts"
import { type FormAction, returnUrlOf, type SessionCredentials } from "./pages/PageRequest.ts"

/** What a payor's request adds to the invoice. */
export interface ViewRequest {
  /** The list is asked for though a route is chosen. */
  readonly change: boolean
  /** {@link View.currency} */
  readonly currency: string | null
  /** Whether a person opens the page now: then a single way to pay is chosen without being asked. */
  readonly isNavigation: boolean
  readonly tab: View["tab"]
  /** {@link View.isPhone} */
  readonly isPhone: boolean
  readonly refund: View["refund"]
  /** {@link View.canSetRefundAddress} */
  readonly canSetRefundAddress: boolean
  /** The token that was just chosen and had no price, of which no quote tells. */
  readonly unpricedToken: number | null
  /** The token chosen at this merchant before, if that is known. */
  readonly lastToken: number | null
  /** {@link View.path} */
  readonly path: string
  /** {@link View.query} */
  readonly query: string
}

/** Where a payor goes after a form. */
export type Outcome =
  | {
    readonly _tag: "Page"
    readonly refund?: NonNullable<View["refund"]>
    readonly chosenToken?: number
    readonly change?: true
    /** {@link ViewRequest.unpricedToken} */
    readonly unpricedToken?: number
  }
  | { readonly _tag: "OtherInvoice"; readonly id: string; readonly credentials: SessionCredentials }

/** Hashes of sent payments that the page of one invoice may tell; what comes beyond is let fall. */
const maximumSentHashes = 5

/** Invoices whose told hashes are counted. */
const sentInvoices = 10_000

/** Refusals that a fresh look at the page explains better than an error would. */
const explainedByPage: ReadonlySet<string> = new Set(["INVOICE_NOT_PAYABLE", "ROUTE_LOCKED"])

export class Checkout extends Context.Service<Checkout, {
  /** How the merchant of an invoice wants its page to be. */
  readonly branding: (current: Aggregate) => Effect.Effect<Branding>
  /**
   * Everything the page of an invoice is drawn from. Errors: `SERVICE_UNAVAILABLE`. Writes nothing, but for a new quote
   * where another amount remains, and the route of a single way to pay where {@link ViewRequest.isNavigation}: the same
   * address each time, as if the payor had chosen it.
   */
  readonly view: (snapshot: WithLastEvent, request: ViewRequest) => Effect.Effect<View, PublicError>
  /**
   * Does what a form asks for. Errors: those of the payor's API; `DEVNET_ONLY` where nobody can pay with play money,
   * `INVOICE_NOT_PAYABLE` for a restart that the merchant or the invoice does not allow.
   */
  readonly act: (
    current: Aggregate,
    act: Exclude<FormAction, { readonly _tag: "Language" }>,
    cause: CommitCause
  ) => Effect.Effect<Outcome, PublicError>
}>()("tillwire/modules/checkout/Checkout") {
  static readonly layer = Layer.effect(
    Checkout,
    // oxlint-disable-next-line max-lines-per-function -- one page request, from session to answer
    Effect.gen(function*() {
      const catalog = yield* TokenCatalog
      const chains = yield* Chains
      const clock = yield* MerchantClock
      const payorApi = yield* PayorApi
      const claims = yield* RefundClaims
      const merchantSettings = yield* MerchantSettings
      const payorDetails = yield* PayorDetails
      const simulated = yield* SimulatedPayments
      const receipts = yield* Receipts
      const invoiceTerms = yield* InvoiceTerms
      const restart = yield* makeRestart

      const branding = ({ invoice }: Aggregate) =>
        Effect.map(merchantSettings.get(invoice.merchantId, invoice.environment), (settings) => settings.branding)

      const tokenOf = (id: number | null | undefined): View["token"] => {
        const token = id === null || id === undefined ? undefined : catalog.get(id)
        return token === undefined
          ? null
          : { id: token.id, symbol: token.symbol, network: token.network, stable: token.stable }
      }

      const view = Effect.fnUntraced(function*(snapshot: WithLastEvent, request: ViewRequest) {
        const { aggregate: current, lastEventId } = snapshot
        const { invoice, payments } = current
        const now = yield* clock.nowSeconds(invoice.merchantId, invoice.environment)
        const payable = isPayable(invoice, now)
        const details = yield* payorApi.details(current)
        const terms = yield* invoiceTerms.of(invoice)
        const pageBranding = yield* branding(current)
        const offeredMethods = payable ? sortPaymentMethods(yield* payorApi.tokens(current, {})) : []
        const payableMethods = offeredMethods.filter(({ unavailable_reason }) => unavailable_reason === null)
        const unpricedMethod = payableMethods.find(({ id }) => id === request.unpricedToken)
        const currentAddress = !payable
          ? null
          : unpricedMethod === undefined
          ? yield* payorApi.currentAddress(current)
          : yield* Effect.catch(
            payorApi.address(current, unpricedMethod.network, unpricedMethod.id),
            () => payorApi.currentAddress(current)
          )
        const onlyMethod =
          currentAddress === null && request.isNavigation && !request.change && request.currency === null &&
            payableMethods.length === 1
            ? payableMethods[0]!
            : null
        // The list is shown instead then, and the payor who goes on from there is told what hinders it.
        const address = onlyMethod === null
          ? currentAddress
          : yield* Effect.catch(
            payorApi.address(current, onlyMethod.network, onlyMethod.id),
            () => Effect.succeed(null)
          )
        const refunds = payable
          ? []
          : yield* claims.current()?.ofInvoice(invoice.merchantId, invoice.id) ?? Effect.succeed([])
        const screen = screenOf({ details, address, payable, change: request.change, now })
        const listedMethods = screen === "choose"
          ? yield* payorApi.withNetworkFees(invoice.environment, offeredMethods)
          : []
        const token = tokenOf(
          address?.supported_token_id ?? details.locked_token_id ?? newestFirst(payments)[0]?.tokenId
        )
        const preselected = [token?.id, request.lastToken, payableMethods.length === 1 ? payableMethods[0]!.id : null]
          .find((id) => payableMethods.some((way) => way.id === id))
        const relevantNetworks = new Set([
          address?.network,
          ...payments.filter(({ status }) => status === "pending").map(({ network }) => network)
        ])
        const payeeProof = address === null || !pageBranding.show_payee_proof
          ? null
          : yield* chains.forwarderProof(
            {
              merchantId: invoice.merchantId,
              environment: invoice.environment,
              family: familyOf(address.network)
            },
            address.temp_address
          )
        const socket = screen === "canceled" ? null : address?.ws_connection ?? (yield* payorApi.ticket(invoice))
        const pageView: View = {
          screen,
          details,
          shopPrice: terms.price,
          tokens: listedMethods,
          estimates: listedMethods.length === 0 ? new Map() : payorApi.estimates(current, listedMethods),
          payable,
          address,
          token,
          preselectedToken: preselected ?? null,
          currency: screen === "choose" ? request.currency : null,
          canChange: details.locked_token_id === null && payableMethods.length > 1,
          decisions: payable ?
            [] :
            decisionsOf(
              current.exceptions,
              refunds,
              ({ network, paymentId, txHash }) =>
                txHash === null ? null : explorerUrl(invoice.environment, {
                  network,
                  txHash,
                  sender: payments.find(({ id }) => id === paymentId)?.sender ?? null
                })
            ),
          allowRestart: canRestart(current, pageBranding.allow_restart && terms.canRestart, now),
          payeeProof,
          returnUrl: returnUrlOf(details.payment_return_url, invoice.id, invoice.status),
          returnsAutomatically: isReturnDue(screen, invoice, terms.returnsAutomatically, now),
          isOfferLimited: terms.offeredTokens !== null,
          canSetRefundAddress: request.canSetRefundAddress,
          receiptUrl: receipts.urlOf(current, now),
          degradedNetwork: chains.status(invoice.environment, invoice.merchantId)
            .find(({ healthy, network }) => !healthy && relevantNetworks.has(network))?.network ?? null,
          simulator: invoice.environment === "devnet" && simulated.current() !== null,
          refund: request.refund,
          tab: request.tab,
          isPhone: request.isPhone,
          createdAt: invoice.createdAt,
          now,
          aheadSeconds: clock.aheadSeconds(invoice.merchantId, invoice.environment),
          path: request.path,
          query: request.query,
          socketUrl: socket === null ? null : `${socket.ws_url}&token=${socket.token}`,
          since: isCoveredByEvents(screen) ? lastEventId : null
        }
        return pageView
      })

      /** Back to the page, which shows the address also without a price. */
      const withPriceState = ({ estimated_token_amount, supported_token_id }: NonNullable<View["address"]>) =>
        estimated_token_amount === null ? { unpricedToken: supported_token_id } : {}

      const choose = Effect.fnUntraced(function*(
        current: Aggregate,
        tokenId: number
      ): Effect.fn.Return<Outcome, PublicError> {
        const network = catalog.get(tokenId)?.network
        if (network === undefined) return yield* publicError("TOKEN_NOT_ACCEPTED")
        return {
          _tag: "Page",
          chosenToken: tokenId,
          ...withPriceState(yield* payorApi.address(current, network, tokenId))
        }
      })

      const refresh = Effect.fnUntraced(function*(current: Aggregate): Effect.fn.Return<Outcome, PublicError> {
        const currentAddress = yield* payorApi.currentAddress(current)
        if (currentAddress === null) return { _tag: "Page" }
        return {
          _tag: "Page",
          ...withPriceState(yield* payorApi.address(current, currentAddress.network, currentAddress.supported_token_id))
        }
      })

      const simulate = Effect.fnUntraced(function*(
        current: Aggregate,
        what: Extract<FormAction, { readonly _tag: "Simulate" }>["what"]
      ): Effect.fn.Return<Outcome, PublicError> {
        const pay = simulated.current()
        if (pay === null || current.invoice.environment !== "devnet") return yield* publicError("DEVNET_ONLY")
        yield* pay(current, what)
        return { _tag: "Page" }
      })

      const refund = ({ invoice }: Aggregate, network: string, address: string) =>
        payorDetails.saveRefundAddress(invoice, { network, address, memo: null }).pipe(
          Effect.as<Outcome>({ _tag: "Page", refund: "saved" }),
          Effect.catch((error) =>
            error.code === "WALLET_ADDRESS_INVALID"
              ? Effect.succeed<Outcome>({ _tag: "Page", refund: "refused" })
              : Effect.fail(error)
          )
        )

      /** How many hashes each invoice's page has told; the oldest invoice is forgotten first. */
      const sentCounts = new Map<string, number>()

      /**
       * What a wallet of the payor's says it has sent. It is for the log alone: a page may say anything, so no state
       * follows from it, and a payment is what the network shows.
       */
      const noteSent = ({ invoice }: Aggregate, txHash: string) => {
        const count = sentCounts.get(invoice.id) ?? 0
        if (count >= maximumSentHashes) return Effect.void
        if (count === 0 && sentCounts.size >= sentInvoices) sentCounts.delete(sentCounts.keys().next().value!)
        sentCounts.set(invoice.id, count + 1)
        return Effect.logInfo("a payor's wallet says that it has sent a payment").pipe(
          Effect.annotateLogs({ invoice_id: invoice.id, tx_hash: txHash })
        )
      }

      const perform = (
        current: Aggregate,
        act: Exclude<FormAction, { readonly _tag: "Language" }>,
        cause: CommitCause
      ): Effect.Effect<Outcome, PublicError> => {
        switch (act._tag) {
          case "Choose":
            return choose(current, act.tokenId)
          case "Refresh":
            return refresh(current)
          case "Restart":
            return Effect.flatMap(
              Effect.zip(branding(current), invoiceTerms.of(current.invoice)),
              ([look, terms]) => restart(current, look.allow_restart && terms.canRestart, cause)
            )
          case "Simulate":
            return simulate(current, act.what)
          case "Sent":
            return Effect.as(noteSent(current, act.txHash), { _tag: "Page" })
          case "Refund":
            return refund(current, act.network, act.address)
        }
      }

      return Checkout.of({
        branding,
        view,
        act: (current, act, cause) =>
          Effect.catch(perform(current, act, cause), (error): Effect.Effect<Outcome, PublicError> => {
            // The list of networks would not tell that the address was not kept.
            if (act._tag === "Restart" || act._tag === "Refund") return Effect.fail(error)
            if (explainedByPage.has(error.code)) return Effect.succeed({ _tag: "Page" })
            return error.code === "NETWORK_DEGRADED"
              ? Effect.succeed({ _tag: "Page", change: true })
              : Effect.fail(error)
          })
      })
    })
  )
}

/**
 * Begins anew what ended with nothing received: one new invoice, however often and wherever it is asked for, because
 * its id is kept with it in one commit, in the place of a reply to an idempotency key, for as long as a restart is
 * offered.
 */
const makeRestart = Effect.gen(function*() {
  const clock = yield* MerchantClock
  const invoices = yield* Invoices
  const secrets = yield* Secrets
  const sessions = yield* PayorSessions

  return Effect.fnUntraced(function*(
    current: Aggregate,
    isAllowed: boolean,
    cause: CommitCause
  ): Effect.fn.Return<Outcome, PublicError> {
    const { environment, id: endedId, merchantId } = current.invoice
    const now = yield* clock.nowSeconds(merchantId, environment)
    if (!canRestart(current, isAllowed, now)) return yield* publicError("INVOICE_NOT_PAYABLE")
    const draft = yield* invoices.draft(replacementFor(current.invoice))
    const newId: string = draft.invoice.id
    const id = yield* invoices.create(draft, cause, {
      environment,
      scope: `POST /pay/${endedId} restart`,
      fingerprint: endedId,
      status: 303,
      sealedBody: secrets.seal("reply", newId)
    }).pipe(
      Effect.as(newId),
      Effect.catchTag("IdempotentReplay", ({ sealedBody }) => {
        const invoiceId = sealedBody === null ? undefined : secrets.open("reply", sealedBody)
        return invoiceId === undefined
          ? Effect.die(new Error("A stored reply cannot be opened: is an older master secret missing?"))
          : Effect.succeed(invoiceId)
      })
    )
    const next = yield* invoices.find(id)
    if (next === null) return yield* publicError("SESSION_INVALID")
    return { _tag: "OtherInvoice", id, credentials: sessions.mint(id, next.invoice.createdAt * 1000) }
  })
})
