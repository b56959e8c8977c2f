/**
 * The published OpenAPI document as a judge: whatever a service answered is held against what the document says of it.
 * A status, a header or a field that the document does not have is as wrong as one that it has and the answer lacks.
 */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js"
import { readFileSync } from "node:fs"
import type { IncomingHttpHeaders } from "node:http"

/** What was answered to a call. */
export interface ObservedResponse {
  readonly method: string
  /** Path and query, as they were sent. */
  readonly path: string
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** Headers that HTTP and browsers know, of which the document of an API says nothing. */
const unspoken: ReadonlySet<string> = new Set([
  "access-control-allow-headers",
  "access-control-allow-methods",
  "access-control-allow-origin",
  "access-control-expose-headers",
  "access-control-max-age",
  "allow",
  "cache-control",
  "connection",
  "content-encoding",
  "content-length",
  "content-security-policy",
  "content-type",
  "cross-origin-opener-policy",
  "date",
  "keep-alive",
  "permissions-policy",
  "referrer-policy",
  "transfer-encoding",
  "vary",
  "x-content-type-options"
])

/** Calls of which the committed document says nothing, because `config/devnet.jsonc` does not load their plugin. */
const ofOtherPlugins: ReadonlyArray<string> = ["/api/commerce/retailers/callbacks/", "/api/v1/orderbook"]

/** What an error looks like where no operation of the document answers: one of these that the document has. */
const errorNames = ["FlatError", "WrappedError"]

type Json = Readonly<Record<string, any>>

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

/**
 * The schema with every object closed that lists its fields: the document leaves them open, for clients, not for us.
 */
const closed = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(closed)
  if (!isObject(value)) return value
  const inner = Object.fromEntries(
    Object.entries(value).map((
      [key, each]
    ) => [key, key === "examples" || key === "const" || key === "enum" ? each : closed(each)])
  )
  return isObject(value["properties"]) && value["additionalProperties"] === undefined
    ? { ...inner, additionalProperties: false }
    : inner
}

interface Operation {
  readonly method: string
  readonly pointer: string
  readonly responses: Json
}

interface Path {
  readonly template: string
  readonly segments: ReadonlyArray<string>
  readonly operations: ReadonlyMap<string, Operation>
}

const segmentsOf = (path: string): ReadonlyArray<string> => path.split("/").slice(1)

const isParameter = (segment: string): boolean => segment.startsWith("{")

const fits = (template: ReadonlyArray<string>, segments: ReadonlyArray<string>): boolean =>
  template.length === segments.length &&
  template.every((part, index) => isParameter(part) ? segments[index] !== "" : part === segments[index])

/** Fixed segments win over parameters. */
const parameters = ({ segments }: Path): number => segments.filter(isParameter).length

const escaped = (name: string): string => name.replaceAll("~", "~0").replaceAll("/", "~1")

/** A judge by one document. Validators are compiled when they are first needed. */
export const checkerFor = (document: Json) => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, validateSchema: false })
  const id = "https://tillwire.test/openapi.json"
  ajv.addSchema(
    { $id: id, ...Object.fromEntries(["paths", "components"].map((part) => [part, closed(document[part])])) } as never
  )
  const validators = new Map<string, ValidateFunction>()
  const validatorAt = (pointer: string): ValidateFunction => {
    const known = validators.get(pointer) ?? ajv.compile({ $ref: `${id}#${pointer}` })
    validators.set(pointer, known)
    return known
  }
  ajv.addSchema({
    $id: `${id}/any-error`,
    anyOf: errorNames.filter((name) => name in document["components"].schemas).map((name) => ({
      $ref: `${id}#/components/schemas/${name}`
    }))
  })
  const isError = ajv.getSchema(`${id}/any-error`) as ValidateFunction

  const paths: ReadonlyArray<Path> = Object.entries<Json>(document["paths"]).map(([template, operations]) => ({
    template,
    segments: segmentsOf(template),
    operations: new Map(
      Object.entries<Json>(operations).map(([method, { responses }]) => [
        method.toUpperCase(),
        {
          method,
          pointer: `/paths/${encodeURIComponent(escaped(template))}/${method}/responses`,
          responses
        } as Operation
      ])
    )
  })).toSorted((one, other) => parameters(one) - parameters(other))

  /** A part of the document, and where it stands. */
  const resolved = (value: Json, pointer: string): readonly [Json, string] => {
    const { $ref } = value as { readonly $ref?: string }
    if ($ref === undefined) return [value, pointer]
    return [$ref.slice(2).split("/").reduce<any>((at, key) => at[key], document), $ref.slice(1)]
  }

  const faultsOf = (validate: ValidateFunction, value: unknown, what: string): ReadonlyArray<string> => {
    if (validate(value)) return []
    // Of a union each member complains; the deepest complaint is about the member that was meant.
    const depth = ({ instancePath }: { readonly instancePath: string }) => instancePath.split("/").length
    const [first] = (validate.errors ?? []).toSorted((one, other) => depth(other) - depth(one))
    return [
      `${what}${first?.instancePath ?? ""} ${first?.message ?? "is wrong"} ${JSON.stringify(first?.params ?? {})}`
    ]
  }

  const headerFaults = (headers: IncomingHttpHeaders, documented: Json, at: string): ReadonlyArray<string> => {
    const known = new Map(
      Object.entries<Json>(documented).map(([name, header]) => [
        name.toLowerCase(),
        resolved(header, `${at}/headers/${escaped(name)}`)
      ])
    )
    const undocumented = Object.keys(headers).filter((name) => !unspoken.has(name) && !known.has(name))
    return [
      ...undocumented.map((name) => `the header ${name} is not documented`),
      ...[...known].flatMap(([name, [header, pointer]]) => {
        const value = headers[name]
        if (value === undefined) return header["required"] === true ? [`the header ${name} is missing`] : []
        const isNumber = header["schema"].type === "integer"
        return faultsOf(validatorAt(`${pointer}/schema`), isNumber ? Number(value) : value, `the header ${name}`)
      })
    ]
  }

  const bodyFaults = (
    { headers, method, text }: ObservedResponse,
    content: Json | undefined,
    at: string
  ): ReadonlyArray<string> => {
    if (content === undefined || method === "HEAD") return text === "" ? [] : ["a body is not documented"]
    if (headers["content-encoding"] !== undefined) return []
    const type = headers["content-type"]?.split(";")[0] ?? "no content type"
    if (content[type] === undefined) return [`a body of ${type} is not documented`]
    const value = type === "application/json" ? JSON.parse(text) : text
    return faultsOf(validatorAt(`${at}/content/${encodeURIComponent(escaped(type))}/schema`), value, "the body")
  }

  const withoutOperation = (
    { headers, method, path, status, text }: ObservedResponse,
    found: Path | undefined
  ): ReadonlyArray<string> => {
    if (found === undefined && !/^\/(?:api|admin)\//.test(path)) return []
    if (found !== undefined && method === "OPTIONS" && status === 204) {
      return text === ""
        ? []
        : ["a body is not documented"]
    }
    if (status < 400) return [`${found === undefined ? "the path" : "the method"} is not documented`]
    if (status === 405 && headers.allow === undefined) return ["the header allow is missing"]
    return method === "HEAD" ? [] : faultsOf(isError, JSON.parse(text), "the body")
  }

  /**
   * What the answer does that the document does not say, in a sentence each. Of pages and files it says nothing; with
   * `isOwnRoute`, for routes that a test brings itself, also of no path that the document does not have.
   */
  return (answer: ObservedResponse, isOwnRoute = false): ReadonlyArray<string> => {
    const pathname = answer.path.split("?")[0] ?? ""
    if (ofOtherPlugins.some((start) => pathname.startsWith(start))) return []
    const segments = segmentsOf(pathname)
    const path = paths.find((each) => fits(each.segments, segments))
    const operation = path?.operations.get(answer.method === "HEAD" ? "GET" : answer.method)
    if (path === undefined && isOwnRoute) return []
    if (operation === undefined) return withoutOperation(answer, path)
    const documented = operation.responses[answer.status]
    if (documented === undefined) return [`status ${answer.status} is not documented: ${answer.text.slice(0, 300)}`]
    const [response, at] = resolved(documented, `${operation.pointer}/${answer.status}`)
    return [
      ...headerFaults(answer.headers, response["headers"] ?? {}, at),
      ...bodyFaults(answer, response["content"], at)
    ]
  }
}

let judge: ReturnType<typeof checkerFor> | undefined

/** {@link checkerFor} the committed document, which is read once a process, when something was answered. */
export const violations = (answer: ObservedResponse, isOwnRoute = false): ReadonlyArray<string> => {
  judge ??= checkerFor(JSON.parse(readFileSync(new URL("../../modules/docs/openapi.json", import.meta.url), "utf8")))
  return judge(answer, isOwnRoute)
}
