/** When the retailer of an order is called: for an answer, for tracking, and again after no answer. */
import type { OrderState } from "./State.ts"

/** Seconds until a call to the retailer that was begun counts as lost with its process: a call ends within 10 s. */
export const callSeconds = 60

/** Seconds between two looks at an order whose retailer owes an answer. */
export const answerSeconds = 60

/**
 * Seconds between two looks at an order that is placed or under way, at least and at most
 * (modules/docs/reference/retailers.md#tracking).
 */
export const leastTrackingSeconds = 30
const mostTrackingSeconds = 3_600

/** One look an eighth of the time since it last changed: often while something happens, rarely once nothing does. */
export const trackingSeconds = ({ updatedAt }: Pick<OrderState, "updatedAt">, now: number): number =>
  Math.min(mostTrackingSeconds, Math.max(leastTrackingSeconds, Math.floor((now - updatedAt) / 8)))

/** Seconds until the first repeat of a call without an answer; doubled with each one, up to the second figure. */
const firstBackoffSeconds = 30
const maximumBackoffSeconds = 3_600

/** Calls without an answer after which a placement or a cancellation is given up: about five hours. */
export const maximumTries = 12

/** Seconds to wait after so many calls without an answer. */
export const backoffSeconds = (tries: number): number =>
  Math.min(maximumBackoffSeconds, firstBackoffSeconds * 2 ** Math.min(tries - 1, 16))
