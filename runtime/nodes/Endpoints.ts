/**
 * The nodes of one network: ordered endpoints, failover, and proof of the chain before any trust. A driver gives the
 * addresses, a client of its protocol and a proof:
 *
 * ```ts
 * const endpoints = yield* Endpoints.make({
 *   network: "solana",
 *   environment,
 *   addresses: options.rpc.map((url) => ({ url })), // an API key: { url, headers: { project_id: key } }
 *   limits: headLimits({ network: "solana", environment, frozenSeconds: options.frozenSeconds }),
 *   client: (connection) => jsonRpcClient(connection, { kindOf, isExact: true }),
 *   prove: (client) =>
 *     Effect.map(client.call("getGenesisHash", [], Schema.String), (found) =>
 *       found === genesis ? null : `is on the network ${found}, and ${network} is ${genesis} here: correct the url`)
 * })
 * yield* endpoints.verify
 * const slot = yield* endpoints.withFailover((client) => client.call("getSlot", [], Schema.BigInt))
 * ```
 *
 * Beside it: `JsonRpc.ts` (clients of JSON-RPC), `Rest.ts` (JSON over GET and POST; 404 as an answer), `Heads.ts`
 * (which endpoint serves a look, and whether the chain stands still), `AccountPoll.ts` (the loop of a driver that asks
 * for accounts), `EndpointPool.ts` (which endpoint is asked next: pure), `NodeHttp.ts` (one exchange). Other protocols
 * call `connection.send`, which gives status, headers and bytes.
 *
 * An answer 429 (or 503 with `Retry-After`) is the kind `rate_limited`: the endpoint gets no call until the time it
 * asked for is over, at most 30 s; calls meanwhile fail at once, so that {@link Endpoints.withFailover} asks the next.
 */
import { Clock, Context, Effect, MutableRef, Redacted } from "effect"
import { HttpClient } from "effect/http"
import type { Environment, Network } from "../../schemas/Network.ts"
import { DriverError, type DriverErrorKind } from "../Chains.ts"
import { endpointGaugesFromZero, reportEndpoints } from "./EndpointGauges.ts"
import {
  afterClockChange,
  emptyPool,
  type EndpointPool,
  endpointsByPreference,
  type EndpointStanding,
  isPaused,
  type Observation,
  type PoolLimits,
  step
} from "./EndpointPool.ts"
import { plainHttpRefusal, urlRefusal } from "./EndpointUrl.ts"
import { type EndpointAddress, exchange, type NodeRequest, type NodeResponse } from "./NodeHttp.ts"

/** One endpoint: everything read through it comes from the same node, as far as its operator keeps that promise. */
export interface NodeEndpoint {
  readonly network: Network
  /** Its place in the configuration, from 0. */
  readonly place: number
  /** What messages call it: `rpc 1 of 2`. */
  readonly name: string
}

/** What a client of a protocol is made of. */
export interface Connection extends NodeEndpoint {
  /** Sends one call; the chain is proven before the first. */
  readonly send: (request: NodeRequest) => Effect.Effect<NodeResponse, DriverError>
  /** An error that names the endpoint and what was asked of it. */
  readonly fail: (subject: string, reason: string, kind?: DriverErrorKind) => DriverError
}

export interface Endpoints<Client extends NodeEndpoint> {
  /** In the order of the configuration. */
  readonly endpoints: ReadonlyArray<Client>
  readonly pool: () => EndpointPool
  readonly observe: (observation: Observation) => void
  /** Runs `work` against an endpoint, and keeps whether it answered. */
  readonly attempt: <A>(
    endpoint: Client,
    work: (endpoint: Client) => Effect.Effect<A, DriverError>
  ) => Effect.Effect<A, DriverError>
  /**
   * Runs `work` against the first endpoint in the pool's order; on failure against the next, each at most once. One
   * failure sends only this work to the next endpoint.
   */
  readonly withFailover: <A>(
    work: (endpoint: Client) => Effect.Effect<A, DriverError>
  ) => Effect.Effect<A, DriverError>
  /**
   * Asks every endpoint for its chain: fails with a message for people when one that answers is on another chain. One
   * that does not answer yet is asked again before its first call.
   */
  readonly verify: Effect.Effect<void, DriverError>
  /** Sets the gauges of the endpoints, and logs each endpoint whose standing changed since the last report. */
  readonly report: Effect.Effect<void>
}

export interface EndpointsOptions<Client extends NodeEndpoint> {
  readonly network: Network
  readonly environment: Environment
  /** Best first. On mainnet plain http is refused, but for this machine and private hosts. */
  readonly addresses: ReadonlyArray<EndpointAddress>
  /** The option that holds the addresses, for messages; absent: `rpc`. */
  readonly label?: string
  readonly limits: PoolLimits
  readonly client: (connection: Connection) => Client
  /**
   * Asks an endpoint which chain it is on. Null: the right one; else what follows the endpoint's name in a sentence for
   * people: "is on chain 5, but base is chain 8453 here: correct the url".
   */
  readonly prove: (client: Client) => Effect.Effect<string | null, DriverError>
}

/** Failures after which an endpoint is none the worse: it answered, and does not have what was asked for. */
const isAbsence = ({ kind }: DriverError): boolean => kind === "pruned" || kind === "not_found"

/** What the parts of a network's endpoints share. */
interface EndpointsContext<Client extends NodeEndpoint> extends EndpointsOptions<Client> {
  readonly http: HttpClient.HttpClient
  readonly clock: Clock.Clock
  readonly pool: MutableRef.MutableRef<EndpointPool>
  /** The date less the time that no correction of the clock moves: it changes where the clock is set. */
  readonly clockOffset: MutableRef.MutableRef<number>
}

/** Corrections of the clock by less are as good as none, and come all the time. */
const clockChangeMillis = 1_000

const offsetOf = (clock: Clock.Clock): number =>
  clock.currentTimeMillisUnsafe() - Number(clock.monotonicTimeNanosUnsafe()) / 1e6

/**
 * The pool as it is by the clock as it is: where that was set since, an endpoint would else be left alone for an hour,
 * or count as away for one, and others would decide without it.
 */
const poolIn = (
  { clock, clockOffset, pool }: Pick<EndpointsContext<never>, "clock" | "clockOffset" | "pool">
): EndpointPool => {
  const offset = offsetOf(clock)
  const change = offset - MutableRef.get(clockOffset)
  if (Math.abs(change) >= clockChangeMillis) {
    MutableRef.set(clockOffset, offset)
    MutableRef.update(pool, (before) => afterClockChange(before, change))
  }
  return MutableRef.get(pool)
}

const nowMillisOf = ({ clock }: { readonly clock: Clock.Clock }): number => clock.currentTimeMillisUnsafe()

const observeIn = (
  context: Pick<EndpointsContext<never>, "clock" | "clockOffset" | "pool">,
  observation: Observation
): void => void MutableRef.set(context.pool, step(poolIn(context), observation))

const nameOf = ({ addresses, label = "rpc" }: Pick<EndpointsOptions<never>, "addresses" | "label">, place: number) =>
  `${label} ${place + 1} of ${addresses.length}`

/** Fails where an address cannot be used; no message names more of it than its place in the list. */
const checkAddresses = Effect.fnUntraced(function*(
  options: Pick<EndpointsOptions<never>, "addresses" | "environment" | "label" | "network">
) {
  const refusalOf = options.environment === "mainnet" ? plainHttpRefusal : urlRefusal
  for (const [place, { url }] of options.addresses.entries()) {
    const refusal = refusalOf(Redacted.value(url))
    if (refusal === null) continue
    return yield* new DriverError({ network: options.network, reason: `${nameOf(options, place)}: ${refusal}` })
  }
})

/** How calls are sent to an endpoint, whatever chain it is on. */
const connectionOf = <Client extends NodeEndpoint>(
  context: EndpointsContext<Client>,
  place: number
): Connection => {
  const { addresses, http, network } = context
  const name = nameOf(context, place)
  const fail: Connection["fail"] = (subject, reason, kind) =>
    new DriverError({ network, reason: `${name}, ${subject}: ${reason}`, ...(kind === undefined ? {} : { kind }) })
  const onPause = (until: number) => observeIn(context, { _tag: "Paused", place, until })
  return {
    network,
    place,
    name,
    fail,
    send: (request) =>
      Effect.suspend(() =>
        isPaused(poolIn(context), place, nowMillisOf(context))
          ? Effect.fail(fail(request.subject, "left alone for a moment, as it asked", "rate_limited"))
          : exchange(http, { network, name, address: addresses[place]!, onPause }, request)
      )
  }
}

/** An endpoint's client, which asks for its chain before its first call; and that question alone. */
const provenClient = <Client extends NodeEndpoint>(context: EndpointsContext<Client>, place: number) => {
  const { client, network, prove } = context
  const connection = connectionOf(context, place)
  const isProven = MutableRef.make(false)
  const proof = prove(client(connection)).pipe(
    Effect.tap((refusal) => Effect.sync(() => MutableRef.set(isProven, refusal === null))),
    Effect.map((refusal) =>
      refusal === null ? null : new DriverError({ network, reason: `${connection.name} ${refusal}` })
    )
  )
  const proveOnce = Effect.suspend(() =>
    MutableRef.get(isProven)
      ? Effect.void
      : Effect.flatMap(proof, (refusal) => refusal === null ? Effect.void : Effect.fail(refusal))
  )
  return {
    client: client({ ...connection, send: (request) => Effect.andThen(proveOnce, connection.send(request)) }),
    proof
  }
}

/**
 * What {@link Endpoints.verify} does: `asked` at a start, where a node that does not answer yet is asked again later;
 * `required`: it must answer now; `skipped`: no node is asked, while only a config is checked.
 */
export const NodeProof = Context.Reference<"asked" | "required" | "skipped">("tillwire/runtime/NodeProof", {
  defaultValue: () => "asked"
})

/** See {@link Endpoints.verify}. */
const verifyAll = (
  nodes: ReadonlyArray<{ readonly proof: Effect.Effect<DriverError | null, DriverError> }>
): Effect.Effect<void, DriverError> =>
  Effect.gen(function*() {
    const extent = yield* NodeProof
    if (extent === "skipped") return
    const whenSilent = (error: DriverError) =>
      extent === "required"
        ? Effect.fail(error)
        : Effect.as(
          Effect.logWarning("a node does not answer yet", { network: error.network, reason: error.reason }),
          null
        )
    yield* Effect.forEach(nodes, ({ proof }) =>
      proof.pipe(
        Effect.catch(whenSilent),
        Effect.flatMap((refusal) => refusal === null ? Effect.void : Effect.fail(refusal))
      ), { discard: true, concurrency: "unbounded" })
  })

/** See {@link Endpoints.attempt}. */
const attemptIn = <Client extends NodeEndpoint>(context: EndpointsContext<Client>): Endpoints<Client>["attempt"] =>
(
  endpoint,
  work
) => {
  const { place } = endpoint
  const onError = (error: DriverError): Observation => {
    const at = nowMillisOf(context)
    return isAbsence(error)
      ? { _tag: "Answered", place, at }
      : { _tag: "Failed", isTimeout: error.kind === "timeout", place, at }
  }
  return work(endpoint).pipe(
    Effect.tap(() => Effect.sync(() => observeIn(context, { _tag: "Answered", place, at: nowMillisOf(context) }))),
    Effect.tapError((error) => Effect.sync(() => observeIn(context, onError(error))))
  )
}

/** See {@link Endpoints.withFailover}. */
const failoverIn = <Client extends NodeEndpoint>(
  context: EndpointsContext<Client>,
  endpoints: ReadonlyArray<Client>
): Endpoints<Client>["withFailover"] => {
  const attempt = attemptIn(context)
  return Effect.fnUntraced(function*(work) {
    let last = new DriverError({ network: context.network, reason: "no endpoint" })
    for (const place of endpointsByPreference(poolIn(context), nowMillisOf(context))) {
      const outcome = yield* Effect.result(attempt(endpoints[place]!, work))
      if (outcome._tag === "Success") return outcome.success
      last = outcome.failure
    }
    return yield* last
  })
}

/** Makes {@link Endpoints.report}, which keeps the standings for the next report. */
const reportIn = <Client extends NodeEndpoint>(context: EndpointsContext<Client>): Endpoints<Client>["report"] => {
  const standings = MutableRef.make<ReadonlyArray<EndpointStanding>>([])
  return Effect.suspend(() => reportEndpoints(context, poolIn(context), MutableRef.get(standings))).pipe(
    Effect.map((now) => void MutableRef.set(standings, now))
  )
}

/** Fails where an address cannot be used. */
export const make = Effect.fnUntraced(function*<Client extends NodeEndpoint>(options: EndpointsOptions<Client>) {
  const { addresses, environment, limits, network } = options
  const http = yield* HttpClient.HttpClient
  const clock = yield* Clock.Clock
  yield* checkAddresses(options)
  yield* endpointGaugesFromZero({ network, environment })
  const pool = MutableRef.make(emptyPool(addresses.length, limits, clock.currentTimeMillisUnsafe()))
  const clockOffset = MutableRef.make(offsetOf(clock))
  const context: EndpointsContext<Client> = { ...options, http, clock, pool, clockOffset }
  const nodes = addresses.map((_, place) => provenClient(context, place))
  const endpoints = nodes.map(({ client }) => client)
  const made: Endpoints<Client> = {
    endpoints,
    pool: () => poolIn(context),
    observe: (observation) => observeIn(context, observation),
    attempt: attemptIn(context),
    withFailover: failoverIn(context, endpoints),
    verify: verifyAll(nodes),
    report: reportIn(context)
  }
  return made
})
