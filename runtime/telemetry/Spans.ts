/** What a span is, before it is written (`SpanEncoding.ts`). */
import type { TraceContext } from "./TraceContext.ts"

/** What a span may say of its work: counts, states, ids of merchants and events, never of customers; no address. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | null>>

/** On which side of a call the work is done. */
export type SpanKind = "internal" | "server" | "client"

/** A piece of work that has ended. */
export interface EndedSpan extends TraceContext {
  readonly name: string
  readonly kind: SpanKind
  readonly parentSpanId: string | null
  readonly link: TraceContext | null
  readonly startNanos: bigint
  readonly endNanos: bigint
  readonly attributes: SpanAttributes
  readonly isFailed: boolean
}
