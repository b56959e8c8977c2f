/**
 * Which trace something belongs to, as W3C Trace Context writes it, and how a trace goes through the database: in the
 * request id. A commit stores that id with each event, and a delivery is claimed with it, so a trace survives a restart
 * and reaches other instances without a column of its own. Pure.
 */
import { hash, randomBytes } from "node:crypto"

/** A place in a trace: what a child names as its parent. */
export interface TraceContext {
  /** 32 lower-case hex digits, not all 0. */
  readonly traceId: string
  /** 16 lower-case hex digits, not all 0. */
  readonly spanId: string
}

/** What a caller says of its own trace. */
export interface CallerTrace extends TraceContext {
  /** Whether the caller records its part. */
  readonly isSampled: boolean
}

const traceparentPattern = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** Reads a `traceparent`; null: there is none, or it breaks the rules of the recommendation, section 3.2. */
export const parseTraceparent = (text: string | undefined): CallerTrace | null => {
  if (text === undefined || text.length > 256) return null
  const match = traceparentPattern.exec(text)
  if (match === null) return null
  const [, version, traceId = "", spanId = "", flags = "", rest] = match
  // Version ff is none; the first version ends after the flags, and later ones may go on behind a dash.
  if (version === "ff" || version === "00" && rest !== undefined) return null
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

/** The header for a receiver, of a trace that is recorded: others have none. */
export const formatTraceparent = ({ spanId, traceId }: TraceContext): string => `00-${traceId}-${spanId}-01`

/** Hex digits of an id, at random. An id of zeros alone, which is none, comes up never. */
export const randomHex = (bytes: 8 | 16): string => randomBytes(bytes).toString("hex")

/** The request id of a request that is recorded and named none itself: 56 characters, as a caller's may have 64. */
export const tracedRequestId = ({ spanId, traceId }: TraceContext): string => `req_${traceId}-${spanId}-01`

const tracedLength = 56
const tracedPattern = /^req_([0-9a-f]{32})-([0-9a-f]{16})-01$/

/** Whether an id says by itself that its request is recorded: nobody outside may choose one. */
export const isTracedRequestId = (id: string): boolean => id.length === tracedLength && tracedPattern.test(id)

/** What the service names a request that is not recorded: `req_` and a UUID. */
const isPlainRequestId = (id: string): boolean => /^req_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)

/** By the first 52 bits of the trace's id, so that every instance and every attempt decides the same. */
const isWithin = (traceId: string, ratio: number): boolean =>
  Number.parseInt(traceId.slice(0, 13), 16) < ratio * 2 ** 52

/** The trace of something that has a name and no trace: the same for the same name, and unlike any other's. */
const derived = (name: string, ratio: number): TraceContext | null => {
  if (ratio <= 0) return null
  const digest = hash("sha256", name, "hex")
  const traceId = digest.slice(0, 32)
  return isWithin(traceId, ratio) ? { traceId, spanId: digest.slice(32, 48) } : null
}

/**
 * Where the request with this id stands in its trace; null: it is not recorded. `ratio` decides for ids that callers
 * chose, as it did when the request came.
 */
export const traceOfRequestId = (id: string, ratio: number): TraceContext | null => {
  if (id.length === tracedLength) {
    const match = tracedPattern.exec(id)
    if (match !== null) return { traceId: match[1]!, spanId: match[2]! }
  }
  return isPlainRequestId(id) ? null : derived(id, ratio)
}

/** The trace of the deliveries of an event that no request caused; null: they are not recorded. */
export const traceOfEvent = (eventId: string, ratio: number): Pick<TraceContext, "traceId"> | null =>
  derived(eventId, ratio)

/** A request as the entry knows it. */
export interface ArrivingRequest {
  /** A well-formed `X-Request-Id`. */
  readonly requestId: string | undefined
  readonly caller: CallerTrace | null
  /** Whether the caller's trace is gone on with, and its decision is followed. */
  readonly isCallerTrusted: boolean
  /** Whether another request of this process makes it, under its own id: it is recorded as a part of that one. */
  readonly isLocal: boolean
  readonly ratio: number
}

/** What a recorded request's span is. */
export interface RequestTrace extends TraceContext {
  readonly parentSpanId: string | null
  /** The caller's span, where it is not the parent. */
  readonly link: TraceContext | null
}

/**
 * Decides once, at the entry, whether a request is recorded; null: it is not. A trusted caller decides for its trace.
 * An untrusted one does not: it could make the service record everything, or write into somebody else's trace, so its
 * span is only linked to. A caller that names the request itself is linked to as well, as its name has no room for a
 * trace.
 */
export const traceRequest = (
  { caller, isCallerTrusted, isLocal, ratio, requestId }: ArrivingRequest,
  random: () => number
): RequestTrace | null => {
  const link = caller === null ? null : { traceId: caller.traceId, spanId: caller.spanId }
  if (requestId !== undefined) {
    const own = traceOfRequestId(requestId, ratio)
    if (own === null) return null
    return isLocal
      ? { traceId: own.traceId, spanId: randomHex(8), parentSpanId: own.spanId, link: null }
      : { ...own, parentSpanId: null, link }
  }
  if (isCallerTrusted && caller !== null) {
    return caller.isSampled
      ? { traceId: caller.traceId, spanId: randomHex(8), parentSpanId: caller.spanId, link: null }
      : null
  }
  return ratio > 0 && random() < ratio
    ? { traceId: randomHex(16), spanId: randomHex(8), parentSpanId: null, link }
    : null
}
