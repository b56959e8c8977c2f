/**
 * Delivers webhooks over HTTP(S): one undici pool per origin, kept alive, no redirects, TLS always verified. Chosen for
 * its cost: 210 to 250 microseconds of CPU a delivery, against 1,000 and more for `fetch`.
 */
import { Clock, Effect, Layer, Schedule, Schema, Scope } from "effect"
import { createSecureContext, rootCertificates } from "node:tls"
import type { buildConnector } from "undici"
import * as Plugin from "../../runtime/Plugin.ts"
import { PublicWeb } from "../../runtime/PublicWeb.ts"
import { Settings } from "../../runtime/Settings.ts"
import { maximumInFlight } from "../../runtime/webhooks/DeliveryRepo.ts"
import {
  type DeliveryAnswer,
  type DeliveryRequest,
  TransportFailed,
  UrlRefused,
  Webhooks
} from "../../runtime/Webhooks.ts"
import { maximumHeaderBytes } from "./https/Answer.ts"
import { checkUrl, egressPolicy, hostOf } from "./https/EgressGuard.ts"
import { exchange, type ExchangeRequest, type PoolEntry } from "./https/Exchange.ts"
import { proxyOf, throughProxy } from "./https/Proxy.ts"
import { makeNameResolver } from "./https/NameResolver.ts"
import { makeReader } from "./https/PublicPages.ts"

/** Name, TCP, proxy and TLS together. */
const defaultConnectTimeoutMillis = 5_000

/**
 * How long one address of a name may take before the next one is tried beside it; Node's 250 ms is less than some
 * roads.
 */
const addressTimeoutMillis = 1_000

/**
 * Sockets per origin: all that an instance sends at once. Fewer, and dead or slow paths of one host would hold up the
 * live ones of other merchants there.
 */
const connectionsPerOrigin = maximumInFlight

/** Origins with an open pool; past it the one unused for longest is closed. */
const maximumPools = 512

/** A pool that nobody used for this long is closed; a kept-alive socket goes earlier. */
const idlePoolMillis = 60_000
const idleSocketMillis = 15_000

const Options = Schema.Struct({
  /** PEM certificates to trust besides the system's, as text or `"${file:/path}"`: a private authority. */
  ca: Schema.optionalKey(Schema.String.check(Schema.isPattern(/-----BEGIN CERTIFICATE-----/, {
    // A path alone would be taken for certificates of which none can be read, and every delivery would fail.
    expected: "certificates in PEM form, of a file by \"${file:/path}\""
  }))),
  /** `address` or `address:port` of the name servers to ask instead of the system's. */
  nameservers: Schema.optionalKey(Schema.NonEmptyArray(Schema.String.check(
    Schema.isPattern(/^(?:\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?|[0-9a-f:]*:[0-9a-f:]*|\[[0-9a-f:]+\]:\d{1,5})$/i, {
      expected: "an IP address, with :port where it is not 53"
    })
  ))),
  /**
   * Whether deliveries may go to addresses that `http.publicUrl` resolves to: for a service behind a network that
   * fronts its merchants' receivers too. Its host name is refused all the same. Default false.
   */
  allowSharedAddresses: Schema.optionalKey(Schema.Boolean)
})

/** Loaded with the first delivery: an idle service does without its 10 MB. */
const loadUndici = Effect.promise(() => import("undici"))

const make = (options: typeof Options.Type, connectTimeoutMillis: number) =>
  Effect.gen(function*() {
    const webhooks = yield* Webhooks
    const settings = yield* Settings
    const policy = yield* Effect.fromResult(egressPolicy(settings))
    const proxy = settings.webhooks.proxyUrl === undefined ? undefined : proxyOf(settings.webhooks.proxyUrl)
    const names = yield* makeNameResolver({
      nameservers: options.nameservers ?? [],
      ownHost: options.allowSharedAddresses === true ? undefined : hostOf(settings.publicUrl)
    })

    const secureContext = createSecureContext({
      minVersion: "TLSv1.2",
      ...(options.ca === undefined ? {} : { ca: [options.ca, ...rootCertificates] })
    })
    const scope = yield* Effect.scope
    const client = yield* Effect.cached(
      Effect.gen(function*() {
        const undici = yield* loadUndici
        const connector = (more: buildConnector.BuildOptions) =>
          undici.buildConnector({
            timeout: connectTimeoutMillis,
            autoSelectFamilyAttemptTimeout: addressTimeoutMillis,
            allowH2: false,
            secureContext,
            rejectUnauthorized: true,
            ...more
          })
        const connectLocal = connector({})
        const connectPublic = proxy === undefined
          ? connector({ lookup: names.lookup as never })
          : yield* throughProxy(proxy, { connectTimeoutMillis, direct: connectLocal, secureContext })
        return { Pool: undici.Pool, connectLocal, connectPublic }
      }).pipe(Scope.provide(scope))
    )

    const pools = yield* Effect.acquireRelease(
      Effect.sync(() => new Map<string, PoolEntry>()),
      (all) => Effect.promise(() => Promise.allSettled([...all.values()].map(({ pool }) => pool.destroy())))
    )

    const closeWhere = (stale: (slot: PoolEntry) => boolean) => {
      for (const [key, slot] of pools) {
        if (slot.activeRequests === 0 && stale(slot)) {
          pools.delete(key)
          void slot.pool.close().catch(() => slot.pool.destroy())
        }
      }
    }

    const poolFor = (
      { Pool, connectLocal, connectPublic }: Effect.Success<typeof client>,
      url: URL,
      local: boolean,
      now: number
    ): PoolEntry => {
      const key = `${local ? "local" : "public"} ${url.origin}`
      const known = pools.get(key)
      if (known !== undefined) return known
      if (pools.size >= maximumPools) {
        const oldest = Math.min(
          ...[...pools.values()].filter(({ activeRequests }) => activeRequests === 0).map(({ usedAt }) => usedAt)
        )
        closeWhere(({ usedAt }) => usedAt <= oldest)
      }
      const pool = new Pool(url.origin, {
        connections: connectionsPerOrigin,
        pipelining: 1,
        allowH2: false,
        keepAliveTimeout: idleSocketMillis,
        keepAliveMaxTimeout: idlePoolMillis,
        maxHeaderSize: maximumHeaderBytes,
        connect: local ? connectLocal : connectPublic
      })
      const slot = { pool, usedAt: now, activeRequests: 0 }
      pools.set(key, slot)
      return slot
    }

    const checkTarget = (text: string) => checkUrl(text, { ...policy, ownAddresses: names.ownAddresses() })

    const check = (text: string) =>
      Effect.gen(function*() {
        const verdict = checkTarget(text)
        if (verdict._tag === "Refused") return yield* new UrlRefused({ reason: verdict.reason })
        // A proxy resolves names where we may not be able to.
        if (verdict.local || proxy !== undefined) return
        const reason = yield* names.refusal(verdict.url.hostname)
        if (reason !== undefined) return yield* new UrlRefused({ reason })
      })

    const clock = yield* Clock.Clock
    const ask = (text: string, request: ExchangeRequest): Effect.Effect<DeliveryAnswer, TransportFailed> =>
      Effect.suspend(() => {
        const verdict = checkTarget(text)
        if (verdict._tag === "Refused") {
          return Effect.fail(new TransportFailed({ reason: verdict.reason, isOurFault: false, timedOut: false }))
        }
        const { local, url } = verdict
        return Effect.flatMap(client, (loaded) => {
          const now = clock.currentTimeMillisUnsafe()
          const entry = poolFor(loaded, url, local, now)
          entry.usedAt = now
          return exchange(entry, url, request)
        })
      })
    const send = (request: DeliveryRequest) => ask(request.url, request)

    yield* Clock.currentTimeMillis.pipe(
      Effect.map((now) => closeWhere(({ usedAt }) => usedAt < now - idlePoolMillis)),
      Effect.repeat(Schedule.spaced(idlePoolMillis)),
      Effect.forkScoped
    )
    if (proxy !== undefined) yield* Effect.logInfo(`webhooks leave through the proxy ${proxy.hostname}:${proxy.port}`)
    yield* (yield* PublicWeb).register(makeReader({ ask, check, names }))
    yield* webhooks.register({ name: "https", schemes: ["https:", "http:"], check, send })
  })

/** As the plugin's, with its own patience for connections, in milliseconds. */
export const layerWith = (options: typeof Options.Type, limits: { readonly connectTimeoutMillis: number }) =>
  Layer.effectDiscard(make(options, limits.connectTimeoutMillis))

export const plugin = Plugin.make({
  name: "https",
  slot: "transports",
  options: Options,
  layer: (options) => layerWith(options, { connectTimeoutMillis: defaultConnectTimeoutMillis })
})
