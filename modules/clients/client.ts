/**
 * `tillwire/client`: the API for programs on Effect, typed by the very definitions that the service serves. Calls fail
 * with `PublicError`, which has the code; each write carries an Idempotency-Key.
 *
 * @example
 * const tillwire = yield* make({ baseUrl: "https://pay.example", apiKey: Redacted.make(key) })
 * const { invoice } = yield* tillwire.invoices.create({ query: {}, payload: { amount_usd: 5 } })
 */
import { Context, Effect, Redacted } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { HttpApi, HttpApiClient, type HttpApiGroup } from "effect/http-api"
import { AuthApi } from "../auth/api.ts"
import { EventsApi } from "../events/api.ts"
import { AuditApi } from "../audit/api.ts"
import { CustomersApi } from "../customers/api.ts"
import { BatchesApi } from "../batches/api.ts"
import { ExceptionsApi } from "../exceptions/api.ts"
import { ExportsApi } from "../exports/api.ts"
import { IdentityApi } from "../identity/api.ts"
import { InvoicesApi } from "../invoices/api.ts"
import { LedgerApi } from "../ledger/api.ts"
import { LinksApi } from "../links/api.ts"
import { MetricsApi } from "../metrics/api.ts"
import { NetworksApi } from "../networks/api.ts"
import { PaymentsApi } from "../payments/api.ts"
import { QuotesApi } from "../quotes/api.ts"
import { ReconciliationApi } from "../reconciliation/api.ts"
import { RefundsApi } from "../refunds/api.ts"
import { SearchApi } from "../search/api.ts"
import { SettingsApi } from "../settings/api.ts"
import { StreamsApi } from "../streams/api.ts"
import { TeamApi } from "../team/api.ts"
import { TokensApi } from "../tokens/api.ts"
import { WalletsApi } from "../wallets/api.ts"
import { WebhooksApi } from "../webhooks/api.ts"

export { PublicError } from "../../schemas/Errors.ts"

/** Every call of the built-in modules, but for those that come and go as one: they have a `client.ts` of their own. */
export const TillwireApi = HttpApi.make("tillwire")
  .addHttpApi(AuthApi)
  .addHttpApi(IdentityApi)
  .addHttpApi(TeamApi)
  .addHttpApi(SettingsApi)
  .addHttpApi(MetricsApi)
  .addHttpApi(ExportsApi)
  .addHttpApi(AuditApi)
  .addHttpApi(LedgerApi)
  .addHttpApi(CustomersApi)
  .addHttpApi(ReconciliationApi)
  .addHttpApi(EventsApi)
  .addHttpApi(TokensApi)
  .addHttpApi(WalletsApi)
  .addHttpApi(InvoicesApi)
  .addHttpApi(LinksApi)
  .addHttpApi(QuotesApi)
  .addHttpApi(NetworksApi)
  .addHttpApi(PaymentsApi)
  .addHttpApi(BatchesApi)
  .addHttpApi(ExceptionsApi)
  .addHttpApi(RefundsApi)
  .addHttpApi(SearchApi)
  .addHttpApi(WebhooksApi)
  .addHttpApi(StreamsApi)

/** The Idempotency-Key of the writes made under it; absent: a new UUID for each. Give one to repeat a write safely. */
export const IdempotencyKey = Context.Reference<string | undefined>("tillwire/client/IdempotencyKey", {
  defaultValue: () => undefined
})

export interface ClientOptions {
  /** Where the service is, e.g. `https://pay.example`. */
  readonly baseUrl: string
  /** For a server. Secret. */
  readonly apiKey?: Redacted.Redacted
  /** Of a wallet's sign-in. */
  readonly accessToken?: Redacted.Redacted
  /** Of one payment page. */
  readonly session?: { readonly token: Redacted.Redacted; readonly signature: Redacted.Redacted }
  /** A date; absent: what the key is pinned to. */
  readonly version?: string
}

const headersOf = ({ accessToken, apiKey, session, version }: ClientOptions): Record<string, string> => ({
  ...apiKey === undefined ? {} : { "x-api-key": Redacted.value(apiKey) },
  ...accessToken === undefined ? {} : { authorization: `Bearer ${Redacted.value(accessToken)}` },
  ...session === undefined
    ? {}
    : { "x-session-token": Redacted.value(session.token), "x-signature": Redacted.value(session.signature) },
  ...version === undefined ? {} : { "x-service-version": version }
})

/** A client of one deployment. It does not try again: give it a schedule, and a write its {@link IdempotencyKey}. */
export const make = (options: ClientOptions) => makeClient(TillwireApi, options)

/** {@link make} for the calls of `api`. */
export const makeClient = <ApiId extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<ApiId, Groups>,
  options: ClientOptions
) =>
  HttpApiClient.make(api, {
    baseUrl: options.baseUrl,
    transformClient: HttpClient.mapRequestEffect((request) =>
      Effect.map(IdempotencyKey, (key) => {
        const credential = HttpClientRequest.setHeaders(request, headersOf(options))
        return request.method === "GET"
          ? credential
          : HttpClientRequest.setHeader(credential, "idempotency-key", key ?? crypto.randomUUID())
      })
    )
  })
