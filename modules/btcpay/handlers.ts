/** HTTP handlers of the calls of shops. They hold no rules. */
import { Cause, Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { randomBytes } from "node:crypto"
import { ErrorPages, RequestInfo } from "../../runtime/Http.ts"
import { jsonBody } from "../../runtime/http/Body.ts"
import { queryOf } from "../../runtime/http/Query.ts"
import { Settings } from "../../runtime/Settings.ts"
import type { EndpointRow } from "../../runtime/webhooks/Endpoints.ts"
import { mayDo } from "../../schemas/Roles.ts"
import { Merchants } from "../auth/plugin.ts"
import { MerchantSettings } from "../settings/plugin.ts"
import { FormatEndpoints } from "../webhooks/plugin.ts"
import {
  btcpay,
  permissionsFor,
  prefixes,
  rightOf,
  serverVersion,
  type ShopPermission,
  type ShopPlugin
} from "./rules.ts"
import { markableAs } from "./rules/Marks.ts"
import {
  allEvents,
  currencyIn,
  type FieldError,
  fieldsOf,
  metadataFault,
  readInvoiceRequest,
  readWebhookRequest,
  speedOf
} from "./rules/Requests.ts"
import { readListQuery } from "./rules/Lists.ts"
import type { Metadata } from "../../schemas/Invoice.ts"
import { type FoundInvoice, type Mark, markRefusals, ShopInvoices } from "./service.ts"
import { Currencies } from "./service/Currencies.ts"
import { ShopRefunds } from "./service/Refunds.ts"
import { invoiceJson } from "./rules/Wire.ts"
import { makeAccess, type Shop } from "./handlers/Access.ts"
import {
  answerFailure,
  fieldErrors,
  invoiceNotFound,
  jsonReply,
  missingPermission,
  nulInUrl,
  renderRefusal,
  unknownCall
} from "./handlers/Refusals.ts"

type HttpMethod = "GET" | "POST" | "PUT" | "DELETE"

/** The store's `displayExpirationTimer` in seconds: BTCPay Server's default. Clients read it; nothing depends on it. */
const timerSeconds = 300

/** Random bytes of a webhook's secret where the shop sent none. */
const secretBytes = 32

const body = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => Effect.map(jsonBody(request), fieldsOf))

const commitCause = Effect.map(RequestInfo, ({ requestId }) => ({ requestId, idempotencyKey: null }))

/** Settings of a store that Tillwire does not have. The getters of clients throw where one of them is absent. */
const storeDefaults = {
  lightningDescriptionTemplate: "",
  lightningAmountInSatoshi: false,
  lightningPrivateRouteHints: false,
  onChainWithLnInvoiceFallback: false,
  redirectAutomatically: false,
  requiresRefundEmail: false,
  lazyPaymentMethods: false,
  payJoinEnabled: false,
  showRecommendedFee: false,
  recommendedFeeBlockTarget: 1,
  networkFeeMode: "Never"
}

type Params = Readonly<Record<string, string | undefined>>

const params: Effect.Effect<Params, never, HttpRouter.RouteContext> = Effect.map(
  HttpRouter.RouteContext,
  ({ params }) => params as Params
)

const webhookJson = ({ filters, id, isSingleAttempt, status, url }: EndpointRow) => {
  const isAll = filters.includes(allEvents)
  return {
    id,
    enabled: status === "enabled",
    automaticRedelivery: !isSingleAttempt,
    url,
    authorizedEvents: { everything: isAll, specificEvents: isAll ? [] : filters }
  }
}

const makeContext = Effect.fnUntraced(function*(path: string, callsPerMinute: number) {
  const { publicUrl } = yield* Settings
  const endpoints = yield* FormatEndpoints
  const invoices = yield* ShopInvoices
  const merchants = yield* Merchants
  const settings = yield* MerchantSettings
  const currencies = yield* Currencies
  const refunds = yield* ShopRefunds
  const access = yield* makeAccess(callsPerMinute)
  const { methods } = invoices

  const methodsOf = ({ caller }: Shop) => methods.list(caller.merchantId, caller.environment)

  const repliesOf = Effect.fnUntraced(function*(shop: Shop, found: ReadonlyArray<FoundInvoice>) {
    const listed = (yield* methodsOf(shop)).map(({ id }) => id)
    const maySettle = invoices.maySettle(shop.caller)
    return found.map(({ current, row }) =>
      invoiceJson(current, row, {
        checkoutLink: `${publicUrl}${path}/i/${current.invoice.id}`,
        markable: markableAs(current, row.flags).filter((mark) => mark !== "Settled" || maySettle),
        methods: listed
      })
    )
  })

  const replyOf = (shop: Shop, found: FoundInvoice) => Effect.map(repliesOf(shop, [found]), ([reply]) => reply)

  const invoiceOf = Effect.fnUntraced(function*({ caller }: Shop, id: string | undefined) {
    const found = yield* invoices.get(caller.merchantId, caller.environment, (id ?? "").toLowerCase())
    return found ?? (yield* invoiceNotFound)
  })

  const canRefund = ({ caller }: Shop): boolean =>
    refunds.areServed() && mayDo(caller, rightOf["btcpay.store.cancreatenonapprovedpullpayments"], caller.environment)

  const storeOf = Effect.fnUntraced(function*(shop: Shop) {
    const { environment, merchantId } = shop.caller
    const merchant = yield* merchants.get(merchantId)
    const own = yield* settings.get(merchantId, environment)
    const [first] = yield* methodsOf(shop)
    return {
      id: shop.storeId,
      name: own.branding.name || (merchant?.name ?? ""),
      website: "",
      supportUrl: null,
      defaultCurrency: "USD",
      invoiceExpiration: Math.floor(own.invoice_default_expires_in / 1_000),
      monitoringExpiration: own.late_window_seconds,
      displayExpirationTimer: timerSeconds,
      speedPolicy: speedOf(own.confirmation_policy),
      paymentTolerance: Math.floor(own.payment_tolerance_bps / 100),
      defaultLang: own.branding.default_locale,
      defaultPaymentMethod: first?.id ?? "",
      anyoneCanCreateInvoice: false,
      archived: false,
      ...storeDefaults
    }
  })

  return {
    access,
    canRefund,
    currencies,
    endpoints,
    invoiceOf,
    invoices,
    methods,
    methodsOf,
    refunds,
    repliesOf,
    replyOf,
    storeOf
  }
})

type Context = Effect.Success<ReturnType<typeof makeContext>>

/** One call: the permission that it needs, and the effect that answers it. */
interface Call {
  readonly method: HttpMethod
  /** Below `/api/v1`. `:s` is a Store ID, `:i` an invoice, `:w` a webhook; without `:s` it is the key's own store. */
  readonly path: string
  readonly permission: ShopPermission
  readonly act: (shop: Shop, params: Params) => Effect.Effect<unknown, unknown, HttpServerRequest.HttpServerRequest>
}

const viewInvoices: ShopPermission = "btcpay.store.canviewinvoices"
const createInvoices: ShopPermission = "btcpay.store.cancreateinvoice"
const modifyInvoices: ShopPermission = "btcpay.store.canmodifyinvoices"
const viewSettings: ShopPermission = "btcpay.store.canviewstoresettings"
const modifyWebhooks: ShopPermission = "btcpay.store.webhooks.canmodifywebhooks"
const createRefunds: ShopPermission = "btcpay.store.cancreatenonapprovedpullpayments"

/** Calls about the key, its store and how it can be paid. */
const storeCalls = (context: Context, plugin: ShopPlugin): ReadonlyArray<Call> => {
  const { canRefund, methods, methodsOf, storeOf } = context
  return [
    {
      method: "GET",
      path: "/server/info",
      permission: viewSettings,
      act: Effect.fnUntraced(function*(shop) {
        const listed = yield* methodsOf(shop)
        return {
          version: serverVersion,
          onion: null,
          supportedPaymentMethods: listed.map(({ id }) => id),
          fullySynched: methods.isReady(shop.caller.merchantId, shop.caller.environment, listed),
          syncStatus: []
        }
      })
    },
    {
      method: "GET",
      path: "/api-keys/current",
      permission: viewSettings,
      act: (shop) =>
        Effect.succeed({
          apiKey: shop.key,
          label: shop.caller.keyName ?? "",
          permissions: permissionsFor(plugin, shop.storeId, canRefund(shop))
        })
    },
    {
      method: "GET",
      path: "/stores",
      permission: viewSettings,
      act: (shop) => Effect.map(storeOf(shop), (store) => [store])
    },
    { method: "GET", path: "/stores/:s", permission: viewSettings, act: storeOf },
    {
      method: "GET",
      path: "/stores/:s/payment-methods",
      permission: viewSettings,
      act: (shop) =>
        Effect.map(methodsOf(shop), (listed) =>
          Object.fromEntries(listed.map(({ id, token }) => [id, {
            enabled: true,
            paymentMethodId: id,
            paymentMethod: id,
            cryptoCode: token.symbol,
            data: {}
          }])))
    },
    {
      method: "GET",
      path: "/stores/:s/payment-methods/OnChain",
      permission: viewSettings,
      act: (shop) =>
        Effect.map(methodsOf(shop), (listed) => listed.map(({ id }) => ({ cryptoCode: id, enabled: true })))
    },
    {
      method: "GET",
      path: "/stores/:s/payment-methods/LightningNetwork",
      permission: viewSettings,
      act: () => Effect.succeed([])
    },
    {
      method: "GET",
      path: "/stores/:s/rates/configuration/:source",
      permission: viewSettings,
      act: () =>
        Effect.succeed({ spread: "0", preferredSource: "tillwire", isCustomScript: false, effectiveScript: null })
    }
  ]
}

const webhookCalls = ({ endpoints }: Context): ReadonlyArray<Call> => {
  const read = Effect.flatMap(body, (fields) => {
    const request = readWebhookRequest(fields)
    return "url" in request ? Effect.succeed(request) : Effect.fail(fieldErrors(request))
  })
  const create: Call["act"] = Effect.fnUntraced(function*({ caller }) {
    const { automaticRedelivery, isEnabled, secret: sent, types, url } = yield* read
    const secret = sent ?? randomBytes(secretBytes).toString("hex")
    const created = yield* endpoints.create(caller, btcpay, {
      url,
      isEnabled,
      isSingleAttempt: !automaticRedelivery,
      filters: types ?? [allEvents],
      secret
    }, yield* commitCause)
    return { ...webhookJson(created), secret }
  })
  const list: Call["act"] = ({ caller }) =>
    Effect.map(endpoints.list(caller, btcpay), (found) => found.map(webhookJson))
  const get: Call["act"] = ({ caller }, { w = "" }) => Effect.map(endpoints.get(caller, btcpay, w), webhookJson)
  const change: Call["act"] = Effect.fnUntraced(function*({ caller }, { w = "" }) {
    const { automaticRedelivery, isEnabled, secret, types, url } = yield* read
    const changed = yield* endpoints.change(caller, btcpay, w, {
      url,
      isEnabled,
      isSingleAttempt: !automaticRedelivery,
      filters: types ?? [allEvents],
      ...(secret === null ? {} : { secret })
    }, yield* commitCause)
    return webhookJson(changed)
  })
  const remove: Call["act"] = Effect.fnUntraced(function*({ caller }, { w = "" }) {
    yield* endpoints.remove(caller, btcpay, w, yield* commitCause)
    return HttpServerResponse.empty({ status: 200 })
  })
  return [
    { method: "POST", path: "/stores/:s/webhooks", permission: modifyWebhooks, act: create },
    { method: "GET", path: "/stores/:s/webhooks", permission: modifyWebhooks, act: list },
    ...["/stores/:s/webhooks/:w", "/webhooks/:w"].flatMap((path): ReadonlyArray<Call> => [
      { method: "GET", path, permission: modifyWebhooks, act: get },
      { method: "PUT", path, permission: modifyWebhooks, act: change },
      { method: "DELETE", path, permission: modifyWebhooks, act: remove }
    ])
  ]
}

/** A change without metadata would remove the order number, by which refunds find the invoice. */
const noMetadata: FieldError = {
  path: "metadata",
  message: "Send all metadata as an object: it replaces what the invoice has."
}

const markIn = (status: unknown): Mark | null => status === "Invalid" || status === "Settled" ? status : null

const invoiceCalls = (context: Context): ReadonlyArray<Call> => {
  const { currencies, invoiceOf, invoices, methodsOf, refunds, repliesOf, replyOf } = context
  const create: Call["act"] = Effect.fnUntraced(function*(shop) {
    const fields = yield* body
    const listed = yield* methodsOf(shop)
    const currency = yield* currencies.find(currencyIn(fields))
    const request = readInvoiceRequest(fields, {
      environment: shop.caller.environment,
      methods: new Set(listed.map(({ id }) => id)),
      currency
    })
    if (!("usd" in request)) {
      const unpriced = request.find(({ path }: FieldError) => path === "currency")
      // Plugins show no reason to the customer, so the log tells the operator.
      if (unpriced !== undefined) {
        yield* Effect.annotateLogs(Effect.logWarning(`an invoice of a shop is refused: ${unpriced.message}`), {
          merchant: shop.caller.merchantId
        })
      }
      return yield* fieldErrors(request)
    }
    return yield* replyOf(shop, yield* invoices.create(shop.caller, request, yield* commitCause))
  })
  const list: Call["act"] = Effect.fnUntraced(function*(shop) {
    const { url } = yield* HttpServerRequest.HttpServerRequest
    const filter = readListQuery(queryOf(url))
    if (!("take" in filter)) return yield* fieldErrors(filter)
    return yield* repliesOf(shop, yield* invoices.list(shop.caller, filter))
  })
  const get: Call["act"] = (shop, { i }) => Effect.flatMap(invoiceOf(shop, i), (found) => replyOf(shop, found))
  const amend: Call["act"] = Effect.fnUntraced(function*(shop, { i }) {
    const found = yield* invoiceOf(shop, i)
    const { metadata } = yield* body
    const fault = metadata == null ? noMetadata : metadataFault(metadata)
    if (fault !== undefined) return yield* fieldErrors([fault])
    return yield* replyOf(shop, yield* invoices.replaceMetadata(found, metadata as Metadata, yield* commitCause))
  })
  const paymentMethods: Call["act"] = (shop, { i }) =>
    Effect.flatMap(invoiceOf(shop, i), (found) => invoices.paymentMethods(found))
  const mark: Call["act"] = Effect.fnUntraced(function*(shop, { i }) {
    const found = yield* invoiceOf(shop, i)
    const wanted = markIn((yield* body)["status"])
    if (wanted === null) return yield* fieldErrors([{ path: "status", message: "Must be Invalid or Settled." }])
    const marked = yield* invoices.mark(shop.caller, found, wanted, yield* commitCause)
    return marked === null
      ? yield* fieldErrors([{ path: "status", message: markRefusals[wanted] }])
      : yield* replyOf(shop, marked)
  })
  const refund: Call["act"] = Effect.fnUntraced(function*(shop) {
    if (!refunds.areServed()) {
      return yield* missingPermission(
        createRefunds,
        "This server makes no refunds: ask its operator to load the module refunds."
      )
    }
    const made = yield* refunds.create(shop, yield* body)
    return "id" in made ? made : yield* fieldErrors(made)
  })
  return [
    { method: "POST", path: "/stores/:s/invoices", permission: createInvoices, act: create },
    { method: "GET", path: "/stores/:s/invoices", permission: viewInvoices, act: list },
    { method: "POST", path: "/stores/:s/pull-payments", permission: createRefunds, act: refund },
    ...["/stores/:s/invoices/:i", "/invoices/:i"].flatMap((path): ReadonlyArray<Call> => [
      { method: "GET", path, permission: viewInvoices, act: get },
      { method: "PUT", path, permission: modifyInvoices, act: amend },
      { method: "GET", path: `${path}/payment-methods`, permission: viewInvoices, act: paymentMethods },
      { method: "POST", path: `${path}/status`, permission: modifyInvoices, act: mark }
    ])
  ]
}

/** Every call that takes a key, for one plugin. `GET /health` takes none and is in `handlers/Browser.ts`. */
export const callsOf = (context: Context, plugin: ShopPlugin): ReadonlyArray<Call> => [
  ...storeCalls(context, plugin),
  ...webhookCalls(context),
  ...invoiceCalls(context)
]

/** Mounts the calls below `path`, once for each {@link ShopPlugin}: their lists of permissions differ. */
export const shopRoutes = (path: string, callsPerMinute: number) =>
  HttpRouter.use(Effect.fnUntraced(function*(router) {
    const context = yield* makeContext(path, callsPerMinute)
    const serve = ({ act, permission }: Call) =>
      Effect.gen(function*() {
        const { url } = yield* HttpServerRequest.HttpServerRequest
        if (url.includes("%00")) return yield* nulInUrl
        const pathParams = yield* params
        const answer = yield* context.access(permission, pathParams["s"] ?? null, (shop) => act(shop, pathParams))
        return HttpServerResponse.isHttpServerResponse(answer) ? answer : jsonReply(answer)
      }).pipe(Effect.catchCause(answerFailure))
    const errorPages = yield* ErrorPages
    for (const plugin of ["woocommerce", "prestashop"] as const) {
      const api = `${path}${prefixes[plugin]}/api/v1` as const
      yield* errorPages.register(api as `/${string}`, renderRefusal)
      for (const call of callsOf(context, plugin)) {
        yield* router.add(call.method, `${api}${call.path}` as `/${string}`, serve(call))
      }
      yield* router.add("*", `${api}/*` as `/${string}`, answerFailure(Cause.fail(unknownCall)))
    }
  }))
