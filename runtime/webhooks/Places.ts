/**
 * The places that the endpoints of one kind share on an instance: those that answer well and quickly have theirs, all
 * others have theirs, so that no number of the others keeps a quick one waiting
 * (modules/docs/reference/webhooks.md#in-flight). No effects.
 */
import type { EndpointQueue } from "./EndpointQueue.ts"

export interface Places {
  /** Rows that may be on their way before the next one waits. */
  readonly maximumInFlight: number
  /** Rows that may be held before nothing more is claimed. */
  readonly maximumHeld: number
  inFlight: number
  held: number
  /** Queues that may send, in turn. */
  readonly ready: Array<EndpointQueue>
}

/** Rows that may be claimed now, by the kinds of their endpoints. */
export interface FreeSlots {
  /** Of endpoints that answer well and quickly. */
  readonly slots: number
  /** Of all others. */
  readonly otherSlots: number
  /** Of them, of those that are failing. */
  readonly failingSlots: number
}

/** Nobody has any of them yet. */
export const makePlaces = (limits: Pick<Places, "maximumHeld" | "maximumInFlight">): Places => ({
  ...limits,
  inFlight: 0,
  held: 0,
  ready: []
})

/**
 * Rows that may be claimed once `ended` more are written; 0 where it is better to wait for results, because a claim of
 * few rows costs what one of many does.
 */
export const freeSlotsOf = ({ held, maximumHeld }: Places, ended: number): number => {
  const free = maximumHeld - held + ended
  return free < maximumHeld / 4 ? 0 : free
}
