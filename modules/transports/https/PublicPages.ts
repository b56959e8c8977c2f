/** Reads what strangers have published, by the way out that deliveries take. */
import { Effect } from "effect"
import { type WebReader, WebReadFailed } from "../../../runtime/PublicWeb.ts"
import type { DeliveryAnswer, TransportFailed, UrlRefused } from "../../../runtime/Webhooks.ts"
import { isPublicName } from "./EgressGuard.ts"
import type { ExchangeRequest } from "./Exchange.ts"
import type { NameResolver } from "./NameResolver.ts"

/** A page of strangers, once its name is known: as `PublicWeb` promises. */
const pageTimeoutMillis = 10_000

const headers = { accept: "application/json", "accept-encoding": "identity", "user-agent": "Service-Web/1" }

/** `check` and `ask` judge an address as they do for deliveries. */
export const makeReader = ({ ask, check, names }: {
  readonly check: (url: string) => Effect.Effect<void, UrlRefused>
  readonly ask: (url: string, request: ExchangeRequest) => Effect.Effect<DeliveryAnswer, TransportFailed>
  readonly names: Pick<NameResolver, "textRecords">
}): WebReader => ({
  page: Effect.fnUntraced(function*(url) {
    yield* Effect.mapError(check(url), () => new WebReadFailed({ isRefused: true }))
    const { body, status } = yield* ask(url, { body: null, headers, timeoutMillis: pageTimeoutMillis }).pipe(
      Effect.mapError(() => new WebReadFailed({ isRefused: false }))
    )
    return { status, text: body }
  }),
  textRecords: (name) =>
    isPublicName(name)
      ? Effect.filterOrFail(
        names.textRecords(name),
        (found) => found !== undefined,
        () => new WebReadFailed({ isRefused: false })
      )
      : Effect.fail(new WebReadFailed({ isRefused: true }))
})
