/** Spans as OTLP writes them (`opentelemetry/proto/trace/v1/trace.proto`). Pure. */
import type { OtlpTracer } from "effect/observability"
import { OtlpResource } from "effect/observability"
import type { TraceContext } from "./TraceContext.ts"

/** What a span may say of its work: numbers, states, ids of merchants and events, never of customers; no address. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | null>>

/** On which side of a call the work is done. */
export type SpanKind = "internal" | "server" | "client"

const kindNumbers: Readonly<Record<SpanKind, number>> = { internal: 1, server: 2, client: 3 }

export type OtlpSpan = OtlpTracer.TraceData["resourceSpans"][number]["scopeSpans"][number]["spans"][number]

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

const statusUnset = 0
const statusError = 2

/** Null attributes are left out. A span that went well has no status: OpenTelemetry leaves `Ok` to operators. */
export const otlpSpanOf = (span: EndedSpan): OtlpSpan => ({
  traceId: span.traceId,
  spanId: span.spanId,
  parentSpanId: span.parentSpanId ?? undefined,
  name: span.name,
  kind: kindNumbers[span.kind],
  startTimeUnixNano: String(span.startNanos),
  endTimeUnixNano: String(span.endNanos),
  attributes: OtlpResource.entriesToAttributes(
    Object.entries(span.attributes).filter(([, value]) => value !== null)
  ),
  droppedAttributesCount: 0,
  events: [],
  droppedEventsCount: 0,
  status: { code: span.isFailed ? statusError : statusUnset },
  links: span.link === null
    ? []
    : [{ traceId: span.link.traceId, spanId: span.link.spanId, attributes: [], droppedAttributesCount: 0 }],
  droppedLinksCount: 0
})
