/**
 * What a driver that follows blocks by looks remembers between two of them, whatever its chain. Pure: times are
 * milliseconds of one clock, as the caller gives them.
 */
import type { ChainEvent, DriverCondition } from "../Chains.ts"

export interface LookState {
  /** Whether the last look reached the end of the chain, so that the next one waits. */
  readonly isIdle: boolean
  /** Null before the first event of it, which is sent however the network stands. */
  readonly condition: DriverCondition | null
  /** When an endpoint on the followed branch last answered. */
  readonly followedAtMillis: number
  /** The endpoint that answered the last look; the others are watched beside it. */
  readonly servingEndpoint: number | null
}

/** Before the first look. */
export const initialLook = (nowMillis: number): LookState => ({
  isIdle: false,
  condition: null,
  followedAtMillis: nowMillis,
  servingEndpoint: null
})

/** A look is over: what it found, and by which endpoint; null: none on the followed branch answered. */
export const onLookEnd = <State extends LookState>(
  state: State,
  events: ReadonlyArray<ChainEvent>,
  servingEndpoint: number | null,
  nowMillis: number
): State => {
  const last = events.at(-1)
  return {
    ...state,
    servingEndpoint,
    followedAtMillis: servingEndpoint === null ? state.followedAtMillis : nowMillis,
    isIdle: last === undefined || (last._tag === "Forward" && !last.isCatchingUp)
  }
}

/** How the endpoints stand to each other: an event where that changed. */
export const onCondition = <State extends LookState>(
  state: State,
  condition: DriverCondition
): readonly [State, ReadonlyArray<ChainEvent>] =>
  condition === state.condition ? [state, []] : [{ ...state, condition }, [{ _tag: "Condition", condition }]]

/**
 * What a look emits. Without an endpoint on the followed branch nothing was seen: the condition alone says that some
 * endpoint answers. `finalized` is the network's finality mark; null: it has none.
 */
export const eventsOfLook = (
  state: LookState,
  events: ReadonlyArray<ChainEvent>,
  conditionEvents: ReadonlyArray<ChainEvent>,
  finalized: bigint | null
): ReadonlyArray<ChainEvent> =>
  state.servingEndpoint === null
    ? [{ _tag: "Condition", condition: state.condition! }]
    : [...events, ...conditionEvents, { _tag: "Finality", finalized }]
