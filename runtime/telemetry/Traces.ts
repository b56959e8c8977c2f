/**
 * The spans of the service, a closed list (modules/docs/reference/operations.md#traces): a request, a commit, an
 * attempt of a webhook, a turn of a chain, a round of prices. Effect's own spans stay off: they hold SQL, URLs of nodes
 * with their keys, and paths, and making them costs every request. What is not recorded makes no span here, either.
 */
import { Clock, Context, Effect, type Exit, Layer, Random } from "effect"
import type { HttpClient } from "effect/http"
import { inRanges } from "../http/Addresses.ts"
import { Settings } from "../Settings.ts"
import { version } from "./Build.ts"
import { encodeSpans } from "./SpanEncoding.ts"
import { makeSpanExporter, type PushSpan } from "./SpanExporter.ts"
import type { EndedSpan, SpanAttributes } from "./Spans.ts"
import {
  parseTraceparent,
  randomHex,
  type RequestTrace,
  type TraceContext,
  traceOfEvent,
  traceOfRequestId,
  traceRequest
} from "./TraceContext.ts"

/** Work that is recorded, under way. */
export interface Span {
  readonly context: TraceContext
  /** Once, when the work has ended. */
  readonly end: (isFailed: boolean, attributes?: SpanAttributes) => void
}

/** The request of a caller as its headers tell it. */
export interface TracedCall {
  /** A well-formed `X-Request-Id`. */
  readonly requestId: string | undefined
  readonly traceparent: string | undefined
  /** Address of the caller; asked only where it matters. */
  readonly address: () => string | null
  /** Whether it came by the internal port, where only the operator's own services call. */
  readonly isInternal: boolean
  /** Whether another request of this process makes it, under its own id. */
  readonly isLocal: boolean
}

/** An event that is delivered. */
export interface DeliveredEvent {
  readonly id: string
  readonly requestId: string | null
}

export interface TracesShape {
  /** Whether anything may be recorded. */
  readonly isOn: boolean
  /** Decides whether a request is recorded; null: it is not. */
  readonly traceRequest: (call: TracedCall) => RequestTrace | null
  /** Records a request that has been answered. */
  readonly recordRequest: (trace: RequestTrace, name: string, seconds: number, outcome: RecordedOutcome) => void
  /** Begins work for a request, by its id; null: the request is not recorded. */
  readonly beginFor: (requestId: string | null, name: string, attributes: SpanAttributes) => Span | null
  /** Begins an attempt to deliver an event, in the trace of the request that caused it. */
  readonly beginDelivery: (event: DeliveredEvent, attributes: SpanAttributes) => Span | null
  /** Begins work that nobody asked for, in a trace of its own. */
  readonly beginOwn: (name: string, attributes: SpanAttributes) => Span | null
}

/** How a request ended. */
export interface RecordedOutcome {
  readonly isFailed: boolean
  readonly attributes: SpanAttributes
}

/** Records nothing. */
export const noTraces: TracesShape = {
  isOn: false,
  traceRequest: () => null,
  recordRequest: () => {},
  beginFor: () => null,
  beginDelivery: () => null,
  beginOwn: () => null
}

/** Records nothing unless `telemetry.otlp` is configured. */
export const Traces = Context.Reference<TracesShape>("tillwire/runtime/telemetry/Traces", {
  defaultValue: () => noTraces
})

/** Records work as `span` says; failed where it fails in any way, or where its result `isFailure`. */
export const recordIn = <A, E, R>(
  span: Span | null,
  work: Effect.Effect<A, E, R>,
  attributesOf: (exit: Exit.Exit<A, E>) => SpanAttributes = () => ({}),
  isFailure: (result: A) => boolean = () => false
): Effect.Effect<A, E, R> =>
  span === null
    ? work
    : Effect.onExit(work, (exit) =>
      Effect.sync(() => span.end(exit._tag === "Failure" || isFailure(exit.value), attributesOf(exit))))

/** Records work that nobody asked for, in a trace of its own. */
export const recordOwn = <A, E, R>(
  name: string,
  attributes: SpanAttributes,
  work: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => Effect.flatMap(Traces, ({ beginOwn }) => recordIn(beginOwn(name, attributes), work))

/** What the recorder needs to know. */
export interface TraceOptions {
  /** Of requests without a trusted caller's decision, and of everything else: between 0 and 1. */
  readonly ratio: number
  /** Address ranges of callers whose traces are gone on with. */
  readonly trustedCallers: ReadonlyArray<string>
}

/** The recorder itself, over wherever spans go. `random` answers numbers from 0 up to 1. */
export const makeTraces = (
  { ratio, trustedCallers }: TraceOptions,
  clock: Clock.Clock,
  random: () => number,
  push: PushSpan
): TracesShape => {
  const isTrusted = inRanges(trustedCallers)
  const nowNanos = () => clock.currentTimeNanosUnsafe()
  const begin = (
    span: Omit<EndedSpan, "spanId" | "startNanos" | "endNanos" | "isFailed" | "link">
  ): Span => {
    const context = { traceId: span.traceId, spanId: randomHex(8) }
    const startNanos = nowNanos()
    return {
      context,
      end: (isFailed, attributes = {}) =>
        push({
          ...span,
          ...context,
          link: null,
          startNanos,
          endNanos: nowNanos(),
          attributes: { ...span.attributes, ...attributes },
          isFailed
        })
    }
  }
  return {
    isOn: true,
    traceRequest: ({ address, isInternal, isLocal, requestId, traceparent }) => {
      const caller = parseTraceparent(traceparent)
      const isCallerTrusted = caller !== null &&
        (isInternal || trustedCallers.length > 0 && isTrusted(address() ?? ""))
      return traceRequest({ requestId, caller, isCallerTrusted, isLocal, ratio }, random)
    },
    recordRequest: (trace, name, seconds, { attributes, isFailed }) => {
      const endNanos = nowNanos()
      const startNanos = endNanos - BigInt(Math.round(seconds * 1e9))
      push({ ...trace, name, kind: "server", startNanos, endNanos, attributes, isFailed })
    },
    beginFor: (requestId, name, attributes) => {
      const trace = requestId === null ? null : traceOfRequestId(requestId, ratio)
      return trace === null
        ? null
        : begin({ traceId: trace.traceId, parentSpanId: trace.spanId, name, kind: "internal", attributes })
    },
    beginDelivery: ({ id, requestId }, attributes) => {
      const name = "webhook attempt"
      const kind = "client"
      if (requestId === null) {
        const trace = traceOfEvent(id, ratio)
        return trace === null ? null : begin({ ...trace, parentSpanId: null, name, kind, attributes })
      }
      const trace = traceOfRequestId(requestId, ratio)
      return trace === null
        ? null
        : begin({ traceId: trace.traceId, parentSpanId: trace.spanId, name, kind, attributes })
    },
    beginOwn: (name, attributes) =>
      ratio > 0 && random() < ratio
        ? begin({ traceId: randomHex(16), parentSpanId: null, name, kind: "internal", attributes })
        : null
  }
}

/** A signal's path below the collector's URL: `https://collector:4318` and `https://collector:4318/otlp` alike. */
export const signalUrl = (url: string, signal: "traces" | "metrics"): string => {
  const target = new URL(url)
  target.pathname = `${target.pathname.replace(/\/+$/, "")}/v1/${signal}`
  return target.href
}

/** How the service names itself to the collector. */
export const resourceOf = (instanceId: string) => ({
  serviceName: "tillwire",
  serviceVersion: version(),
  attributes: { "service.instance.id": instanceId }
})

/** Records to the collector of `telemetry.otlp`; without one, {@link Traces} stays as it is and costs nothing. */
export const layer: Layer.Layer<never, never, HttpClient.HttpClient | Settings> = Layer.unwrap(
  Effect.gen(function*() {
    const { instanceId, telemetry: { otlp } } = yield* Settings
    if (otlp === undefined || otlp.traces === 0 && otlp.trustedCallers.length === 0) return Layer.empty
    return Layer.effect(
      Traces,
      Effect.gen(function*() {
        const { attributes, serviceName, serviceVersion } = resourceOf(instanceId)
        const source = {
          resource: { "service.name": serviceName, "service.version": serviceVersion, ...attributes },
          name: serviceName,
          version: serviceVersion
        }
        const push = yield* makeSpanExporter({
          url: signalUrl(otlp.url, "traces"),
          headers: otlp.headers,
          encode: (spans) => encodeSpans(source, spans)
        })
        const random = yield* Random.Random
        const options = { ratio: otlp.traces, trustedCallers: otlp.trustedCallers }
        return makeTraces(options, yield* Clock.Clock, () => random.nextDoubleUnsafe(), push)
      })
    )
  })
)
