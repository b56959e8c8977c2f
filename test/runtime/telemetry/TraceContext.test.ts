/** Goal: which trace something belongs to is the same on every instance, and nobody outside decides it. */
import { assert, describe, it } from "@effect/vitest"
import {
  type ArrivingRequest,
  formatTraceparent,
  isTracedRequestId,
  parseTraceparent,
  tracedRequestId,
  traceOfEvent,
  traceOfRequestId,
  traceRequest
} from "../../../runtime/telemetry/TraceContext.ts"

const traceId = "0af7651916cd43dd8448eb211c80319c"
const spanId = "b7ad6b7169203331"

describe("a traceparent", () => {
  it("is read as the recommendation says", () => {
    assert.deepStrictEqual(parseTraceparent(`00-${traceId}-${spanId}-01`), { traceId, spanId, isSampled: true })
    assert.deepStrictEqual(parseTraceparent(`00-${traceId}-${spanId}-00`), { traceId, spanId, isSampled: false })
    // A later version may have more fields and more flags.
    assert.deepStrictEqual(parseTraceparent(`cc-${traceId}-${spanId}-03-more`), { traceId, spanId, isSampled: true })
  })

  it("is ignored where it breaks the rules", () => {
    const zeros = "0".repeat(32)
    for (
      const text of [
        undefined,
        "",
        `ff-${traceId}-${spanId}-01`,
        `00-${traceId}-${spanId}-01-more`,
        `00-${zeros}-${spanId}-01`,
        `00-${traceId}-${zeros.slice(16)}-01`,
        `00-${traceId.toUpperCase()}-${spanId}-01`,
        `00-${traceId}-${spanId}`,
        `cc-${traceId}-${spanId}-01-${"x".repeat(300)}`
      ]
    ) assert.isNull(parseTraceparent(text), String(text))
  })

  it("is written as it is read", () => {
    const context = { traceId, spanId }
    assert.deepStrictEqual(parseTraceparent(formatTraceparent(context)), { ...context, isSampled: true })
  })
})

describe("a request id", () => {
  it("carries the trace of its request to whoever reads the event, whatever its ratio", () => {
    const id = tracedRequestId({ traceId, spanId })
    assert.match(id, /^[A-Za-z0-9_-]{1,64}$/)
    assert.isTrue(isTracedRequestId(id))
    for (const ratio of [0, 0.5, 1]) assert.deepStrictEqual(traceOfRequestId(id, ratio), { traceId, spanId })
  })

  it("of the service's own says that its request is not traced", () => {
    assert.isNull(traceOfRequestId("req_a79618e8-f1bd-4399-9450-622d888b45e7", 1))
  })

  it("that a caller chose has one trace, on every instance", () => {
    const trace = traceOfRequestId("order-4711", 1)
    assert.deepStrictEqual(traceOfRequestId("order-4711", 1), trace)
    assert.match(formatTraceparent(trace!), /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
    assert.notDeepEqual(traceOfRequestId("order-4712", 1), trace)
  })

  it("that a caller chose is traced as often as the ratio says", () => {
    const share = (ratio: number) =>
      Array.from({ length: 20_000 }, (_, n) => traceOfRequestId(`order-${n}`, ratio)).filter((each) => each !== null)
        .length / 20_000
    assert.strictEqual(share(0), 0)
    assert.approximately(share(0.25), 0.25, 0.02)
    assert.strictEqual(share(1), 1)
  })
})

describe("an event that no request caused", () => {
  it("has one trace for all attempts of its deliveries", () => {
    assert.deepStrictEqual(traceOfEvent("evt_1", 1), traceOfEvent("evt_1", 1))
    assert.isNull(traceOfEvent("evt_1", 0))
  })
})

describe("the entry", () => {
  const caller = { traceId, spanId, isSampled: true }
  const arriving: ArrivingRequest = {
    requestId: undefined,
    caller: null,
    isCallerTrusted: false,
    isLocal: false,
    ratio: 0.5
  }

  it("traces the share of requests that the ratio says", () => {
    assert.isNull(traceRequest(arriving, () => 0.5))
    assert.isNotNull(traceRequest(arriving, () => 0.49))
    assert.isNull(traceRequest({ ...arriving, ratio: 0 }, () => 0))
    assert.isNotNull(traceRequest({ ...arriving, ratio: 1 }, () => 0.999))
  })

  it("goes on with the trace of a trusted caller, and does not trace what that one does not", () => {
    const trusted = { ...arriving, caller, isCallerTrusted: true, ratio: 0 }
    assert.deepInclude(traceRequest(trusted, () => 0.9), { traceId, parentSpanId: spanId, link: null })
    assert.isNull(traceRequest({ ...trusted, caller: { ...caller, isSampled: false }, ratio: 1 }, () => 0))
  })

  it("only links to the trace of anybody else, who decides nothing", () => {
    assert.isNull(traceRequest({ ...arriving, caller }, () => 0.9))
    const traced = traceRequest({ ...arriving, caller }, () => 0)
    assert.notStrictEqual(traced?.traceId, traceId)
    assert.deepInclude(traced, { parentSpanId: null, link: { traceId, spanId } })
  })

  it("makes a call of a page a part of the page's request", () => {
    const outer = { traceId, spanId }
    const inner = traceRequest({ ...arriving, requestId: tracedRequestId(outer), isLocal: true, ratio: 0 }, () => 0)
    assert.deepInclude(inner, { traceId, parentSpanId: spanId })
    assert.notStrictEqual(inner?.spanId, spanId)
  })
})
