/**
 * Heads of a network that is asked and not followed block by block: which endpoint serves a look, whether the chain
 * stands still, and the watch over endpoints that serve none.
 */
import { Clock, Effect } from "effect"
import type { Environment, Network } from "../../schemas/Network.ts"
import { descriptorOf } from "../../schemas/Network.ts"
import { type DriverCondition, DriverError } from "../Chains.ts"
import {
  conditionOf,
  type EndpointHead,
  endpointsByPreference,
  isAllBelow,
  isAway,
  isFrozen,
  isPaused,
  type PoolLimits
} from "./EndpointPool.ts"
import type { Endpoints, NodeEndpoint } from "./Endpoints.ts"
import { type HeadSupport, isFarAhead, isFarBelow, nearHeights, supportOf } from "./HeadSupport.ts"

/**
 * How long heads may stand still: as the network's descriptor says on mainnet, or as the option `frozenSeconds` says;
 * on devnet for ever unless that option is set, because test networks halt and are started anew.
 */
export const standstillLimits = (options: {
  readonly network: Network
  readonly environment: Environment
  readonly frozenSeconds?: number | undefined
}): Pick<PoolLimits, "lagMillis" | "standstillMillis"> => {
  const { environment, frozenSeconds, network } = options
  const millis = (frozenSeconds ?? descriptorOf(network).standstillSeconds) * 1000
  return {
    lagMillis: millis,
    standstillMillis: environment === "devnet" && frozenSeconds === undefined ? null : millis
  }
}

/**
 * As {@link standstillLimits}, for chains whose blocks come at a steady pace: a head counts as frozen by its own time
 * too, so that a chain that stood still before this process started is seen at the first look.
 */
export const headLimits = (options: Parameters<typeof standstillLimits>[0]): PoolLimits => {
  const limits = standstillLimits(options)
  return { ...limits, headAgeMillis: limits.standstillMillis }
}

/** What a look came to, and how the network stands after it. */
export interface Look<A> {
  readonly place: number
  readonly head: EndpointHead
  readonly result: A
  readonly condition: DriverCondition
}

/** Reads an endpoint's newest point. */
export type ReadHead<Client> = (endpoint: Client) => Effect.Effect<EndpointHead, DriverError>

/** Reads an endpoint's head, which the pool learns of. */
const observeHead = Effect.fnUntraced(function*<Client extends NodeEndpoint>(
  endpoints: Endpoints<Client>,
  endpoint: Client,
  readHead: ReadHead<Client>
) {
  const head = yield* readHead(endpoint)
  endpoints.observe({ _tag: "Head", place: endpoint.place, head, at: yield* Clock.currentTimeMillis })
  return head
})

/** What the other endpoints, asked now, say of a head that one shows. One that was away for long is not waited for. */
const readSupport = Effect.fnUntraced(function*<Client extends NodeEndpoint>(
  endpoints: Endpoints<Client>,
  place: number,
  head: EndpointHead,
  readHead: ReadHead<Client>,
  lastHeight: bigint
): Effect.fn.Return<HeadSupport> {
  const before = yield* Clock.currentTimeMillis
  const others = endpoints.endpoints.filter((other) => other.place !== place)
  if (others.length === 0 || !isFarAhead(head, lastHeight, before)) return "supported"
  const answers = yield* Effect.forEach(
    others,
    (other) => Effect.result(endpoints.attempt(other, (each) => observeHead(endpoints, each, readHead))),
    { concurrency: "unbounded" }
  )
  const nowMillis = yield* Clock.currentTimeMillis
  const pool = endpoints.pool()
  const heads = answers.flatMap((answer) => answer._tag === "Success" ? [answer.success] : [])
  const support = supportOf(head, heads, { nowMillis, lagMillis: pool.lagMillis })
  if (support === "contradicted") {
    observeBranch(endpoints, place, "other", nowMillis)
    for (const [index, { place: otherPlace }] of others.entries()) {
      if (answers[index]!._tag === "Success") observeBranch(endpoints, otherPlace, "followed", nowMillis)
    }
  }
  if (support !== "unknown") return support
  const isWaitedFor = others.some((other, index) =>
    answers[index]!._tag === "Failure" && !isAway(pool, other.place, nowMillis)
  )
  return isWaitedFor ? "unknown" : "supported"
})

const observeBranch = <Client extends NodeEndpoint>(
  endpoints: Endpoints<Client>,
  place: number,
  branch: "followed" | "other",
  at: number
) => endpoints.observe({ _tag: "Branch", place, branch, at })

const unsupportedHead = ({ name, network }: NodeEndpoint, { height }: EndpointHead, lastHeight: bigint) =>
  new DriverError({
    network,
    reason: `${name}: its newest block is ${height}, far above ${lastHeight}, and no other ` +
      "endpoint is near it: make sure that it is on this network, and that the others are not being synchronised anew",
    kind: "contradiction"
  })

const farBelow = (network: Network, lastHeight: bigint) =>
  new DriverError({
    network,
    reason:
      `the newest block of every endpoint that answers lies more than ${nearHeights} below ${lastHeight}, up to which ` +
      "it was followed: an endpoint named a height that the chain has not reached, or the chain was started anew. Make " +
      "sure that the endpoints are on the right network, then call chains.reanchor on the rpc port",
    condition: "no_common_block"
  })

/** Whether an endpoint's head lies far below what was read, which the pool learns of. */
const observeBelow = <Client extends NodeEndpoint>(
  endpoints: Endpoints<Client>,
  place: number,
  head: EndpointHead,
  lastHeight: bigint | null,
  at: number
): boolean => {
  if (lastHeight === null) return false
  const isBelow = isFarBelow(head, lastHeight)
  endpoints.observe(isBelow ? { _tag: "Below", place, at } : { _tag: "NotBelow", place })
  return isBelow
}

/**
 * One look at the chain: reads a head and does `work` at the same endpoint, the first in the pool's order that answers.
 * One whose head stands still is passed over while another may move; where all stand still the first of them serves,
 * and the condition is `frozen`. Fails with the last endpoint's error where none answers.
 *
 * `lastHeight`: the height up to which the chain was read. Where it is given, an endpoint whose head lies far above it
 * is passed over unless another supports it, and counts as on another branch where one contradicts it. One whose head
 * lies far below is passed over while another may be near; where all do for long, the look fails with
 * `no_common_block`, because nothing would be read until the chain has come that far. Null: nothing was read yet, and
 * the first head is where reading begins; or blocks are followed by their hashes, which say as much.
 */
export const look = Effect.fnUntraced(function*<Client extends NodeEndpoint, A>(
  endpoints: Endpoints<Client>,
  readHead: ReadHead<Client>,
  work: (endpoint: Client, head: EndpointHead) => Effect.Effect<A, DriverError>,
  lastHeight: bigint | null = null
): Effect.fn.Return<Look<A>, DriverError> {
  const unsupported: Array<DriverError> = []
  const ask = (place: number, hasNext: boolean, isFallback: boolean) =>
    endpoints.attempt(
      endpoints.endpoints[place]!,
      Effect.fnUntraced(function*(endpoint) {
        const head = yield* observeHead(endpoints, endpoint, readHead)
        const nowMillis = yield* Clock.currentTimeMillis
        if (observeBelow(endpoints, place, head, lastHeight, nowMillis) && !isFallback) return "below" as const
        if (hasNext && isFrozen(endpoints.pool(), place, nowMillis)) return "frozen" as const
        if (lastHeight !== null && (yield* readSupport(endpoints, place, head, readHead, lastHeight)) !== "supported") {
          unsupported.push(unsupportedHead(endpoint, head, lastHeight))
          return "unsupported" as const
        }
        const result = yield* work(endpoint, head)
        const condition = conditionOf(endpoints.pool(), place, yield* Clock.currentTimeMillis)
        return { place, head, result, condition }
      })
    )
  const places = endpointsByPreference(endpoints.pool(), yield* Clock.currentTimeMillis)
  let frozenEndpoint: number | null = null
  let belowEndpoint: number | null = null
  let last = new DriverError({ network: endpoints.endpoints[0]!.network, reason: "no endpoint" })
  for (const [index, place] of places.entries()) {
    const hasNext = places.slice(index + 1).some((each) => !endpoints.pool().endpoints[each]!.isResting)
    const outcome = yield* Effect.result(ask(place, hasNext, false))
    if (outcome._tag === "Failure") last = outcome.failure
    else if (outcome.success === "frozen") frozenEndpoint ??= place
    else if (outcome.success === "below") belowEndpoint ??= place
    else if (outcome.success !== "unsupported") return outcome.success
  }
  if (lastHeight !== null && belowEndpoint !== null && isAllBelow(endpoints.pool(), yield* Clock.currentTimeMillis)) {
    return yield* farBelow(endpoints.endpoints[0]!.network, lastHeight)
  }
  const fallback = frozenEndpoint ?? belowEndpoint
  const served = fallback === null ? null : yield* ask(fallback, false, true)
  return served === null || typeof served === "string" ? yield* unsupported[0] ?? last : served
})

/** An endpoint that named a head that no other had is believed again once it is near the one that serves. */
const forgive = Effect.fnUntraced(function*<Client extends NodeEndpoint>(
  endpoints: Endpoints<Client>,
  place: number,
  head: EndpointHead,
  servingEndpoint: number | null
) {
  const nowMillis = yield* Clock.currentTimeMillis
  const { endpoints: states } = endpoints.pool()
  const served = servingEndpoint === null ? null : states[servingEndpoint]!.head
  const isApart = states[place]!.branch === "other"
  if (isApart && served !== null && !isFarAhead(head, served.height, nowMillis)) {
    observeBranch(endpoints, place, "followed", nowMillis)
  }
})

/**
 * Reads the heads of the endpoints that did not serve the last look, so that one that failed comes back and one that
 * serves and lags behind them is seen; and updates the metrics of the endpoints. Never fails.
 */
export const watchOthers = Effect.fnUntraced(function*<Client extends NodeEndpoint>(
  endpoints: Endpoints<Client>,
  servingEndpoint: number | null,
  readHead: ReadHead<Client>
) {
  const nowMillis = yield* Clock.currentTimeMillis
  const others = endpoints.endpoints.length === 1
    ? []
    : endpoints.endpoints.filter(({ place }) =>
      place !== servingEndpoint && !isPaused(endpoints.pool(), place, nowMillis)
    )
  yield* Effect.forEach(
    others,
    (endpoint) =>
      endpoints.attempt(endpoint, (each) => observeHead(endpoints, each, readHead)).pipe(
        Effect.flatMap((head) => forgive(endpoints, endpoint.place, head, servingEndpoint)),
        Effect.catch((error) => Effect.logDebug("an endpoint does not answer", error.reason))
      ),
    { discard: true, concurrency: "unbounded" }
  )
  yield* endpoints.report
})
