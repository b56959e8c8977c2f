/**
 * What is known of a network's endpoints, and which of them is asked next. Pure: every observation is a {@link step}
 * from one pool to the next, and times are epoch milliseconds that the caller gives.
 */

/** A head as an endpoint showed it. */
export interface EndpointHead {
  readonly height: bigint
  readonly hash: string
  /** Epoch seconds of the block. */
  readonly time: number
}

/** What is known of one endpoint. */
export interface EndpointState {
  /** The head it showed last; null before the first. */
  readonly head: EndpointHead | null
  /** Hashes of the heads it showed lately, newest first: one that comes back is no movement. */
  readonly recentHeads: ReadonlyArray<string>
  /** When it last showed a head it had not shown lately. */
  readonly movedAt: number
  /** Failed calls since the last good one. */
  readonly failures: number
  /** When the first of these failed; null while it answers. */
  readonly failingSince: number | null
  /** It asked to be left alone until then; null: it did not, or never. */
  readonly pausedUntil: number | null
  /** Good answers since the last failed call. */
  readonly successes: number
  /** Asked last of all, until {@link answersToReturn} good answers in a row. */
  readonly isResting: boolean
  /** Whether its blocks are those that are followed; unknown before a look and after a failure. */
  readonly branch: "unknown" | "followed" | "other"
  /** Since when it is on that branch. */
  readonly branchSince: number
  /**
   * Since when its head lies below everything that was followed, so that there is nothing to compare; null: it does
   * not.
   */
  readonly belowSince: number | null
}

export interface EndpointPool {
  readonly endpoints: ReadonlyArray<EndpointState>
  /** How long a head may stand still; null: for ever, as chains do that make a block only for a transaction. */
  readonly standstillMillis: number | null
  /**
   * How old a head may be by its own time; null: any age. It shows a chain that stood still before this process
   * started, for chains whose blocks come at a steady pace.
   */
  readonly headAgeMillis: number | null
  /** How far a head may lie behind another endpoint's, by the times of the blocks. */
  readonly lagMillis: number
  /** How long an endpoint that gives no answer is waited for. */
  readonly absenceMillis: number
}

/** What differs by network and environment. Without `absenceMillis` it is {@link absenceMillis}, and heads may be old. */
export type PoolLimits =
  & Pick<EndpointPool, "lagMillis" | "standstillMillis">
  & Partial<Pick<EndpointPool, "absenceMillis" | "headAgeMillis">>

/**
 * What a call or a look has shown of an endpoint. `place`: its place in the list of the config, from 0, the best first.
 */
export type Observation =
  | { readonly _tag: "Head"; readonly place: number; readonly head: EndpointHead; readonly at: number }
  | { readonly _tag: "Answered"; readonly place: number; readonly at: number }
  /** `isTimeout`: it cost the whole time limit of a call, which nobody should wait for three times. */
  | { readonly _tag: "Failed"; readonly place: number; readonly isTimeout: boolean; readonly at: number }
  /** It asked to be left alone until then. */
  | { readonly _tag: "Paused"; readonly place: number; readonly until: number }
  /** Its head lies below everything that was followed. */
  | { readonly _tag: "Below"; readonly place: number; readonly at: number }
  /** Its head does not lie there. */
  | { readonly _tag: "NotBelow"; readonly place: number }
  | { readonly _tag: "Branch"; readonly place: number; readonly branch: "followed" | "other"; readonly at: number }

/** Failed calls in a row after which an endpoint rests. One alone only sends that one call to the next endpoint. */
export const failuresToRest = 3
/** Good answers in a row after which it rests no more. */
export const answersToReturn = 3
/** Heads remembered to tell movement from going round: more nodes than a balancer is likely to have. */
const recentHeadsLimit = 16
/** A head may lie this far in the future by its own clock and still show that others are behind it. */
export const clockToleranceMillis = 60_000
/** Endpoints are this long on two branches before it counts: the moment in which one has seen a reorganisation. */
export const disagreementMillis = 10_000

export const emptyPool = (
  count: number,
  limits: PoolLimits,
  at: number
): EndpointPool => ({
  absenceMillis,
  headAgeMillis: null,
  ...limits,
  endpoints: Array.from({ length: count }, () => ({
    head: null,
    recentHeads: [],
    movedAt: at,
    failures: 0,
    failingSince: null,
    pausedUntil: null,
    successes: 0,
    isResting: false,
    branch: "unknown" as const,
    branchSince: at,
    belowSince: null
  }))
})

const afterAnswer = (state: EndpointState): EndpointState => ({
  ...state,
  failures: 0,
  failingSince: null,
  successes: state.successes + 1,
  isResting: state.isResting && state.successes + 1 < answersToReturn
})

const stepEndpoint = (state: EndpointState, observation: Observation): EndpointState => {
  switch (observation._tag) {
    case "Answered":
      return afterAnswer(state)
    case "Failed": {
      const failures = state.failures + 1
      const isResting = state.isResting || observation.isTimeout || failures >= failuresToRest
      const { at } = observation
      const failingSince = state.failingSince ?? at
      return { ...state, failures, failingSince, successes: 0, isResting, branch: "unknown", branchSince: at }
    }
    case "Head": {
      const { at, head } = observation
      const isNew = !state.recentHeads.includes(head.hash)
      return {
        ...state,
        head,
        recentHeads: isNew ? [head.hash, ...state.recentHeads].slice(0, recentHeadsLimit) : state.recentHeads,
        movedAt: isNew ? at : state.movedAt
      }
    }
    case "Paused":
      return { ...state, pausedUntil: observation.until }
    case "Below":
      return { ...state, belowSince: state.belowSince ?? observation.at }
    case "NotBelow":
      return { ...state, belowSince: null }
    case "Branch": {
      const seen = { ...state, belowSince: null }
      return state.branch === observation.branch
        ? seen
        : { ...seen, branch: observation.branch, branchSince: observation.at }
    }
  }
}

/** The pool after an observation. */
export const step = (pool: EndpointPool, observation: Observation): EndpointPool => ({
  ...pool,
  endpoints: pool.endpoints.map((state, place) =>
    place === observation.place ? stepEndpoint(state, observation) : state
  )
})

/**
 * The pool after the system's clock was set forward by so many milliseconds, or back where they are below zero: what
 * has lasted for some time has lasted as long, and a pause is no longer and no shorter.
 */
export const afterClockChange = (pool: EndpointPool, millis: number): EndpointPool => {
  const moved = (time: number | null): number | null => time === null ? null : time + millis
  return {
    ...pool,
    endpoints: pool.endpoints.map((state) => ({
      ...state,
      movedAt: state.movedAt + millis,
      failingSince: moved(state.failingSince),
      pausedUntil: moved(state.pausedUntil),
      branchSince: state.branchSince + millis,
      belowSince: moved(state.belowSince)
    }))
  }
}

/** Whether an endpoint asked to be left alone and that time is not over. */
export const isPaused = (pool: EndpointPool, place: number, now: number): boolean => {
  const { pausedUntil } = pool.endpoints[place]!
  return pausedUntil !== null && now < pausedUntil
}

/** Whether an endpoint's head is old or stands still for too long, or lies too far behind another endpoint's. */
export const isFrozen = (pool: EndpointPool, place: number, now: number): boolean => {
  const state = pool.endpoints[place]!
  const { head } = state
  if (head === null) return false
  if (pool.standstillMillis !== null && now - state.movedAt >= pool.standstillMillis) return true
  if (pool.headAgeMillis !== null && now - head.time * 1000 >= pool.headAgeMillis) return true
  return pool.endpoints.some((other) =>
    other.head !== null && other.branch !== "other" && !other.isResting && other.head.height > head.height &&
    other.head.time * 1000 <= now + clockToleranceMillis &&
    (other.head.time - head.time) * 1000 >= pool.lagMillis
  )
}

/**
 * An endpoint that gives no answer is waited for so long before others decide without it: two calls' time limits, so
 * that no short absence of an honest node leaves a wrong one alone.
 */
export const absenceMillis = 30_000

/** Whether an endpoint has given no answer for so long that nobody waits for it. */
export const isAway = (pool: EndpointPool, place: number, now: number): boolean => {
  const { failingSince } = pool.endpoints[place]!
  return failingSince !== null && now - failingSince >= pool.absenceMillis
}

/** How an endpoint stands, for whoever looks after it. */
export type EndpointStanding = "ok" | "failing" | "frozen"

/** How an endpoint stands: a call that fails now and then is no news. */
export const standingOf = (pool: EndpointPool, place: number, now: number): EndpointStanding =>
  isAway(pool, place, now) ? "failing" : isFrozen(pool, place, now) ? "frozen" : "ok"

/**
 * Whether the heads of all endpoints that answer have lain below everything that was followed for so long that they are
 * not only a moment behind.
 */
export const isAllBelow = (pool: EndpointPool, now: number): boolean =>
  pool.endpoints.some(({ belowSince }) => belowSince !== null) &&
  pool.endpoints.every(({ belowSince }, place) =>
    isAway(pool, place, now) || (belowSince !== null && now - belowSince >= absenceMillis)
  )

/** Whether what an endpoint does not tell is a reason to wait: it moves, and it answered not long ago. */
export const isExpectedToAnswer = (pool: EndpointPool, place: number, now: number): boolean =>
  !isAway(pool, place, now) && !isFrozen(pool, place, now)

/** Whether asking an endpoint is worth its time limit: not while it rests and its last call failed. */
export const isWorthAsking = (pool: EndpointPool, place: number): boolean => {
  const { failingSince, isResting } = pool.endpoints[place]!
  return !isResting || failingSince === null
}

const rankOf = (pool: EndpointPool, place: number, now: number): number => {
  const { branch, isResting } = pool.endpoints[place]!
  return isPaused(pool, place, now) ? 4 : isResting ? 3 : branch === "other" ? 2 : isFrozen(pool, place, now) ? 1 : 0
}

/**
 * Places in the order they are asked: as configured, but after all others those that stand still, then those on another
 * branch, then those that rest, then those that asked to be left alone.
 */
export const endpointsByPreference = (pool: EndpointPool, now: number): ReadonlyArray<number> =>
  pool.endpoints.map((_, place) => place)
    .sort((one, other) => rankOf(pool, one, now) - rankOf(pool, other, now) || one - other)

/** Endpoints on the branch that is followed and on others, for longer than a reorganisation takes to get around. */
export const branchCounts = (pool: EndpointPool, now: number) => ({
  followed: pool.endpoints.filter(({ branch }) => branch === "followed").length,
  other:
    pool.endpoints.filter(({ branch, branchSince }) => branch === "other" && now - branchSince >= disagreementMillis)
      .length
})

/**
 * How the network stands after a look that the endpoint at `servingEndpoint` answered (null: no endpoint on the
 * followed branch did). Of more than two endpoints the branch with more of them is believed.
 */
export const conditionOf = (pool: EndpointPool, servingEndpoint: number | null, now: number) => {
  const { followed, other } = branchCounts(pool, now)
  if (other > 0 && other >= followed) return "disagreement" as const
  return servingEndpoint !== null && isFrozen(pool, servingEndpoint, now) ? "frozen" as const : "ok" as const
}
