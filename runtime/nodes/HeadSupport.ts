/**
 * Whether a head that lies far above what was read is believed. Following never goes back to a lower height by itself,
 * so one endpoint that names a height or a time that the chain has not reached yet would end it. Pure.
 *
 *   a head that is near, or the only endpoint's --> supported
 *   far ahead, and another endpoint is near it --> supported
 *   far ahead, and the newest block of another endpoint is recent and far below --> contradicted
 *   far ahead, and none of the others tells anything of use --> unknown
 *
 * A head that lies far below says that such an answer was believed, or that the chain was started anew.
 */
import { clockToleranceMillis, type EndpointHead } from "./EndpointPool.ts"

/** What the other endpoints say of a head. */
export type HeadSupport = "supported" | "contradicted" | "unknown"

/** Heights by which honest endpoints differ at most: minutes of the fastest network, and far more than one lags. */
export const nearHeights = 1_000n

/** Whether a head needs another endpoint's word. `lastHeight`: the height up to which the chain was read. */
export const isFarAhead = (head: EndpointHead, lastHeight: bigint, nowMillis: number): boolean =>
  head.height > lastHeight + nearHeights || isInFuture(head, nowMillis)

/** Whether a head lies so far below the height up to which the chain was read that no lag explains it. */
export const isFarBelow = ({ height }: Pick<EndpointHead, "height">, lastHeight: bigint): boolean =>
  height + nearHeights < lastHeight

const isInFuture = ({ time }: EndpointHead, nowMillis: number): boolean =>
  time * 1000 > nowMillis + clockToleranceMillis

const isNear = (head: EndpointHead, other: EndpointHead, nowMillis: number): boolean =>
  other.height + nearHeights >= head.height && (!isInFuture(head, nowMillis) || isInFuture(other, nowMillis))

/** What the heads of other endpoints, read just now, say of one. One whose newest block is old is behind, and no proof. */
export const supportOf = (
  head: EndpointHead,
  others: ReadonlyArray<EndpointHead>,
  options: { readonly nowMillis: number; readonly lagMillis: number }
): HeadSupport => {
  const { lagMillis, nowMillis } = options
  if (others.some((other) => isNear(head, other, nowMillis))) return "supported"
  return others.some(({ time }) => nowMillis - time * 1000 < lagMillis) ? "contradicted" : "unknown"
}
