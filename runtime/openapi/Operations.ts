/**
 * What probes and scrapers of an operator ask, in the OpenAPI document. The routes are in
 * `runtime/telemetry/Routes.ts`: both listeners have them, so they are no part of a plugin's API.
 */
import { type JsonSchema, Schema } from "effect"
import { HealthReport } from "../telemetry/HealthReport.ts"
import { errorResponses } from "./ErrorResponses.ts"
import { exampleOf } from "./Examples.ts"
import { headersOf } from "./SharedComponents.ts"

const reportSchema = Schema.toJsonSchemaDocument(HealthReport).definitions["HealthReport"] ?? {}

/** For `components.schemas`. */
export const operationsSchemas: Readonly<Record<string, JsonSchema.JsonSchema>> = { HealthReport: reportSchema }

/** For `components.securitySchemes`. */
export const operationsSchemes = {
  opsToken: {
    description: "The operator's token for metrics, `ops.token` of the config.",
    type: "http",
    scheme: "bearer"
  }
}

export const operationsTag = { name: "operations", description: "What an operator's probes and metrics ask." }

const commonFields = {
  tags: [operationsTag.name],
  parameters: [{ $ref: "#/components/parameters/RequestId" }],
  security: []
}

const unlimitedHeaders = (status: number) => headersOf(status, { isLimited: false })

const liveSchema = { type: "object", properties: { status: { const: "ok" } }, required: ["status"] }

const reportContent = (example: unknown) => ({
  "application/json": { schema: { $ref: "#/components/schemas/HealthReport" }, example }
})

const readyExample = exampleOf(reportSchema, {}) as Record<string, unknown>

const unreadyExample = {
  ...readyExample,
  status: "unavailable",
  unavailable: [{ check: "accepting", message: "The service is stopping." }],
  checks: { ...readyExample["checks"] as object, accepting: { ok: false } }
}

const metricsExample = `# HELP tillwire_ready 1 while the service accepts requests
# TYPE tillwire_ready gauge
tillwire_ready 1
`

const { 401: unauthorized } = errorResponses(["UNAUTHORIZED"], "wrapped")

/** For `paths`. */
export const operationsPaths = {
  "/health/live": {
    get: {
      ...commonFields,
      operationId: "operations.live",
      summary: "See whether the process runs",
      description:
        "200 while the process answers at all. For a liveness probe: it asks neither the database nor a network.",
      responses: {
        200: {
          description: "The process runs.",
          headers: unlimitedHeaders(200),
          content: { "application/json": { schema: liveSchema, example: { status: "ok" } } }
        }
      }
    }
  },
  "/health/ready": {
    get: {
      ...commonFields,
      operationId: "operations.ready",
      summary: "See whether the service can do its work",
      description:
        "For a readiness probe: 503 means that this instance should get no requests now, and `unavailable` says why. "
        + "`degraded` is 200: it serves, and an operator should look.",
      responses: {
        200: { description: "It serves.", headers: unlimitedHeaders(200), content: reportContent(readyExample) },
        503: {
          description: "Send it no requests now.",
          headers: unlimitedHeaders(503),
          content: reportContent(unreadyExample)
        }
      }
    }
  },
  "/metrics": {
    get: {
      ...commonFields,
      operationId: "operations.metrics",
      summary: "Scrape the metrics",
      description:
        "All metrics of this instance as Prometheus text, each name prefixed `tillwire_`. Needs `ops.token` on the "
        + "public port; on the internal port, while that listens on loopback, it is open.",
      security: [{ opsToken: [] }],
      responses: {
        200: {
          description: "The metrics, in the Prometheus text format 0.0.4.",
          headers: unlimitedHeaders(200),
          content: { "text/plain": { schema: { type: "string" }, example: metricsExample } }
        },
        401: { ...unauthorized, headers: unlimitedHeaders(401) }
      }
    }
  }
}
