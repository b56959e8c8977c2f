/**
 * A collector of traces and metrics. It reads what arrives by OpenTelemetry's own definitions
 * (`test/fixtures/otlp/`, from open-telemetry/opentelemetry-proto), and refuses bytes that these do not describe.
 */
import { Effect, type Scope } from "effect"
import protobuf from "protobufjs"
import { makeReceiver, type Receiver } from "./Receiver.ts"

const folder = new URL("../fixtures/otlp/", import.meta.url).pathname

const definitions = (() => {
  const root = new protobuf.Root()
  // The file of the official name `common.proto` is called by what it defines.
  root.resolvePath = (_, target) => folder + (target.endsWith("/common.proto") ? "attributes.proto" : target)
  return root.loadSync([
    "opentelemetry/proto/collector/trace/v1/trace_service.proto",
    "opentelemetry/proto/collector/metrics/v1/metrics_service.proto"
  ])
})()

const requests = {
  "/v1/traces": definitions.lookupType("opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest"),
  "/v1/metrics": definitions.lookupType("opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest")
}

/** Dies at a field that the definitions do not know: decoding alone passes it over. */
const refuseUnknownFields = (type: protobuf.Type, bytes: Uint8Array): void => {
  const reader = protobuf.Reader.create(bytes)
  while (reader.pos < reader.len) {
    const tag = reader.uint32()
    const field = type.fieldsById[tag >>> 3]
    if (field === undefined) throw new Error(`${type.name} has no field ${tag >>> 3}`)
    const { resolvedType } = field.resolve()
    if (resolvedType instanceof protobuf.Type) refuseUnknownFields(resolvedType, reader.bytes())
    else reader.skipType(tag & 7)
  }
}

/** Decodes a body by the definitions. */
const decode = (path: keyof typeof requests, body: Buffer): any => {
  const type = requests[path]
  const message = type.decode(body)
  const problem = type.verify(message)
  if (problem !== null) throw new Error(`${path}: ${problem}`)
  refuseUnknownFields(type, body)
  return type.toObject(message, { longs: String, defaults: false })
}

/** A value as an attribute has it: text, number or fact. */
const valueOf = (value: Record<string, unknown>): string | number | boolean => {
  const [inner] = Object.values(value)
  return typeof inner === "string" && value["stringValue"] === undefined ? Number(inner) : inner as string
}

const attributesOf = (pairs: ReadonlyArray<{ readonly key: string; readonly value: Record<string, unknown> }> = []) =>
  Object.fromEntries(pairs.map(({ key, value }) => [key, valueOf(value)]))

/** A span as it arrived. */
export interface CollectedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string
  readonly name: string
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number
  readonly startNanos: bigint
  readonly endNanos: bigint
  readonly attributes: Readonly<Record<string, string | number | boolean>>
  readonly isFailed: boolean
  readonly links: ReadonlyArray<{ readonly traceId: string; readonly spanId: string }>
}

const hex = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString("hex")

const spanOf = (span: any): CollectedSpan => ({
  traceId: hex(span.traceId),
  spanId: hex(span.spanId),
  parentSpanId: hex(span.parentSpanId),
  name: span.name,
  kind: span.kind,
  startNanos: BigInt(span.startTimeUnixNano),
  endNanos: BigInt(span.endTimeUnixNano),
  attributes: attributesOf(span.attributes),
  isFailed: span.status?.code === 2,
  links: (span.links ?? []).map((link: any) => ({ traceId: hex(link.traceId), spanId: hex(link.spanId) }))
})

const spansIn = (body: any): ReadonlyArray<CollectedSpan> =>
  (body.resourceSpans ?? []).flatMap(({ scopeSpans }: any) => scopeSpans.flatMap(({ spans }: any) => spans.map(spanOf)))

/** The spans of the body of one call. */
export const readSpans = (body: Uint8Array): ReadonlyArray<CollectedSpan> =>
  spansIn(decode("/v1/traces", Buffer.from(body)))

export interface OtlpCollector {
  /** What `telemetry.otlp.url` takes. */
  readonly url: string
  readonly receiver: Receiver
  /** Spans so far, in the order in which they arrived. */
  readonly spans: () => ReadonlyArray<CollectedSpan>
  /** Attributes of the resources that spans and metrics came from. */
  readonly resources: () => ReadonlyArray<Readonly<Record<string, string | number | boolean>>>
  /** Metrics of the newest call, by name. */
  readonly metrics: () => ReadonlyMap<string, any>
  /** Everything that arrived, as text: for whoever looks for a secret. */
  readonly bytes: () => string
}

/** A collector on a free port of this machine. */
export const makeCollector: Effect.Effect<OtlpCollector, never, Scope.Scope> = Effect.map(
  makeReceiver(),
  (receiver) => {
    const bodies = (path: keyof typeof requests) => receiver.arrivals(path).map(({ body }) => decode(path, body))
    const resourcesOf = (path: keyof typeof requests) =>
      bodies(path).flatMap((body) => body.resourceSpans ?? body.resourceMetrics ?? [])
        .map(({ resource }: any) => attributesOf(resource.attributes))
    return {
      url: new URL(receiver.url("/")).origin,
      receiver,
      spans: () => bodies("/v1/traces").flatMap(spansIn),
      resources: () => [...resourcesOf("/v1/traces"), ...resourcesOf("/v1/metrics")],
      metrics: () =>
        new Map(
          (bodies("/v1/metrics").at(-1)?.resourceMetrics ?? [])
            .flatMap(({ scopeMetrics }: any) => scopeMetrics.flatMap(({ metrics }: any) => metrics))
            .map((metric: any) => [metric.name, metric] as const)
        ),
      bytes: () =>
        receiver.arrivals().map(({ body, rawHeaders }) => `${rawHeaders.join("\n")}\n${body.toString("latin1")}`)
          .join("\n")
    }
  }
)
