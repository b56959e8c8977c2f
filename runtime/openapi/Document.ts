/**
 * The OpenAPI document: what the endpoints declare, and in one place what they all have in common
 * (modules/docs/reference/conventions.md#the-openapi-document). Made from the schemas that validate requests, so it
 * cannot say anything else.
 */
import { Context, type JsonSchema, Schema } from "effect"
import { HttpApi, type HttpApiEndpoint, type HttpApiGroup, OpenApi } from "effect/http-api"
import { apiVersion } from "../../schemas/Event.ts"
import { codesOf, ConditionalGet, IdempotencyRequired, Idempotent, MerchantAuth, RequiresAllSchemes } from "../Http.ts"
import { familyOf } from "../http/ErrorResponses.ts"
import { endpointsOf } from "../http/Routes.ts"
import { OperatorAuth } from "../OperatorRoutes.ts"
import { commonCodes, hasMiddleware } from "./CommonErrors.ts"
import { errorResponses, shareErrors } from "./ErrorResponses.ts"
import { discriminateEvents, webhooksOf } from "./Events.ts"
import { exampleOf } from "./Examples.ts"
import { operationsPaths, operationsSchemas, operationsSchemes, operationsTag } from "./Operations.ts"
import {
  errorSchemas,
  headers,
  headersOf,
  operatorQueryDescriptions,
  parameters,
  pathDescriptions,
  queryDescriptions,
  type ResponseTraits,
  schemeDescriptions
} from "./SharedComponents.ts"

type Schemas = Readonly<Record<string, JsonSchema.JsonSchema>>

/** What a document is of, apart from its calls. */
export interface DocumentScope {
  readonly title: string
  readonly summary: string
  readonly description: string
  readonly server: { readonly url: string; readonly description: string }
  /** Where whoever runs the service is reached. */
  readonly contactUrl: string
  /** Whether it tells of health and metrics, which are no plugin's calls. */
  readonly hasOperations: boolean
}

const publicDescription =
  `A crypto payments service that merchants run themselves. Amounts are integers of thousandths of a dollar
(\`usd_millis\`) with a \`*_decimal\` companion; times are epoch seconds; every list says \`has_more\`.

Errors have one of two bodies: \`{error, code}\` for tokens, wallets, invoices, payment pages and merchant settings, and
\`{success:false, error:{code, message, param, details, request_id}}\` everywhere else. Each code is explained at
\`/docs/errors/{code}\`; guides are at \`/docs/guides\`. The rules behind the calls are in the
[reference](/docs/reference).`

/** The document of what merchants and payors call, for a service that is reached at `publicUrl`. */
export const publicScope = (publicUrl: string): DocumentScope => ({
  title: "Tillwire",
  summary: "Crypto payments: invoices in dollars, paid in tokens.",
  description: publicDescription,
  server: { url: publicUrl, description: "This deployment." },
  contactUrl: publicUrl,
  hasOperations: true
})

/**
 * The document of the operator API. Its server is the address that it is read from: an operator reaches the internal
 * port by a name that the service cannot know.
 */
export const operatorScope = (publicUrl: string): DocumentScope => ({
  title: "Tillwire for operators",
  summary: "What an operator does to a running service, on its internal port.",
  description:
    `Calls of the operator API. They take the credential \`admin.token\` of the config, and \`X-Operator\` may name who
acts. The rules behind the calls are in the [reference](${publicUrl}/docs/reference/operator-api), and
[a guide](${publicUrl}/docs/guides/operate) says what to do when something is stuck.`,
  server: { url: "/", description: "The internal port that this document was read from." },
  contactUrl: publicUrl,
  hasOperations: false
})

type Content = Readonly<Record<string, { readonly schema: JsonSchema.JsonSchema }>>

const withExample = (content: Content, schemas: Schemas) =>
  Object.fromEntries(
    Object.entries(content).map(([type, media]) => [type, { ...media, example: exampleOf(media.schema, schemas) }])
  )

const isNumberText = ({ pattern, type }: JsonSchema.JsonSchema) =>
  type === "string" && typeof pattern === "string" && pattern.includes("[Ee][+-]?")

const propertiesOf = (schema: Schema.Top | undefined): Schemas =>
  schema === undefined
    ? {}
    : (Schema.toJsonSchemaDocument(Schema.toType(schema)).schema["properties"] ?? {}) as Schemas

/** A number of the query is text on the wire; the document says which number it spells. */
const parametersOf = (operation: OpenApi.OpenAPISpecOperation, endpoint: HttpApiEndpoint.Top) => {
  const typed = propertiesOf(endpoint.query)
  const isOperators = hasMiddleware(endpoint, OperatorAuth)
  const queries = isOperators ? operatorQueryDescriptions : queryDescriptions
  const named = operation.parameters.map((parameter) => {
    const own = parameter.schema as JsonSchema.JsonSchema
    const { description: ownDescription, ...rest } = isNumberText(own) ? typed[parameter.name] ?? own : own
    const known = parameter.in === "path" ? pathDescriptions : queries
    return { ...parameter, description: ownDescription ?? known[parameter.name] ?? parameter.name, schema: rest }
  })
  const isMerchants = hasMiddleware(endpoint, MerchantAuth) && endpoint.path.startsWith("/api/")
  const shared: ReadonlyArray<keyof typeof parameters> = [
    ...isMerchants && !named.some(({ name }) => name === "environment") ? ["Environment" as const] : [],
    ...hasMiddleware(endpoint, IdempotencyRequired) ? ["IdempotencyKeyRequired" as const] : [],
    ...hasMiddleware(endpoint, Idempotent) ? ["IdempotencyKey" as const] : [],
    ...Context.get(endpoint.annotations, ConditionalGet) ? ["IfNoneMatch" as const] : [],
    ...isOperators ? ["Operator" as const] : [],
    "ServiceVersion",
    "RequestId"
  ]
  return [...named, ...shared.map((name) => ({ $ref: `#/components/parameters/${name}` }))]
}

const complete = (
  operation: OpenApi.OpenAPISpecOperation,
  group: HttpApiGroup.Top,
  endpoint: HttpApiEndpoint.Top,
  schemas: Schemas
) => {
  const traits: ResponseTraits = {
    isReplayable: hasMiddleware(endpoint, IdempotencyRequired) || hasMiddleware(endpoint, Idempotent),
    isConditional: Context.get(endpoint.annotations, ConditionalGet)
  }
  const successes = Object.entries(operation.responses).filter(([status]) => Number(status) < 400)
  const same = { 304: { description: "Nothing has changed.", headers: headersOf(304, traits) } }
  const declared = [...endpoint.error].flatMap(codesOf)
  const { requestBody } = operation
  return {
    ...operation,
    parameters: parametersOf(operation, endpoint),
    security: Context.get(group.annotations, RequiresAllSchemes)
      ? [Object.assign({}, ...operation.security)]
      : operation.security,
    ...requestBody === undefined
      ? {}
      : { requestBody: { ...requestBody, content: withExample(requestBody.content as Content, schemas) } },
    responses: {
      ...Object.fromEntries(successes.map(([status, response]) => [status, {
        ...response,
        headers: { ...response.headers, ...headersOf(Number(status), traits) },
        ...response.content === undefined ? {} : { content: withExample(response.content as Content, schemas) }
      }])),
      ...traits.isConditional === true ? same : {}
    },
    errors: errorResponses([...declared, ...commonCodes(endpoint)], familyOf(endpoint))
  }
}

/** The bounds of every integer that JSON carries exactly: they say nothing of a field. */
const isNoBound = (key: string, value: unknown) =>
  key === "minimum" && value === Number.MIN_SAFE_INTEGER || key === "maximum" && value === Number.MAX_SAFE_INTEGER

/** Bodies may hold more than they must: unknown fields of a request are ignored, and an answer may gain fields. */
const isClosing = (key: string, value: unknown) => key === "additionalProperties" && typeof value === "boolean"

/** JSON Schema's patterns are in Unicode mode; half of the tools have none and refuse what only that mode knows. */
const isUnicodeOnly = (key: string, value: unknown) =>
  key === "pattern" && typeof value === "string" && value.includes("\\p{")

/** A choice of one value is that value: generators tell the members of a union apart by a `const`. */
const asConstant = (value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> => {
  const { enum: values, ...rest } = value
  return Array.isArray(values) && values.length === 1 ? { ...rest, const: values[0] } : value
}

/** Each alternative once, and no choice where there is one. */
const choice = (anyOf: unknown): object => {
  if (!Array.isArray(anyOf)) return anyOf === undefined ? {} : { anyOf }
  const distinct = [...new Map(anyOf.map((one) => [JSON.stringify(one), one as object])).values()]
  return distinct.length === 1 ? distinct[0] ?? {} : { anyOf: distinct }
}

/** Schemas as a reader wants them: open, without bounds that bind nothing, and no choice of one. */
const simplify = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(simplify)
  if (typeof value !== "object" || value === null) return value
  const { anyOf, ...rest } = asConstant(value as Readonly<Record<string, unknown>>)
  return Object.fromEntries(
    Object.entries({ ...choice(anyOf), ...rest })
      .filter(([key, inner]) => !isClosing(key, inner) && !isNoBound(key, inner) && !isUnicodeOnly(key, inner))
      .map(([key, inner]) => [key, simplify(inner)])
  )
}

/** The path of an endpoint as OpenAPI spells it. */
const pathOf = (endpoint: HttpApiEndpoint.Top) => endpoint.path.replaceAll(/:(\w+)/g, "{$1}")

type Operation = ReturnType<typeof complete>

const namesIn = (path: string) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? "")

/** The operation under `path`, which is its own path but for the names of the parameters. */
const withPathParameters = (operation: Operation, own: string, path: string): Operation => {
  const names = new Map(namesIn(own).map((name, index) => [name, namesIn(path)[index] ?? name]))
  const parameters = operation.parameters.map((parameter) =>
    "in" in parameter && parameter.in === "path"
      ? { ...parameter, name: names.get(parameter.name) ?? parameter.name }
      : parameter
  )
  return { ...operation, parameters }
}

/** Whether two pieces of a document say the same. */
const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

/**
 * What `effect` says of an API, group by group: of all groups at once it takes half a second, during which no request
 * is answered. Where two groups describe different schemas by one name it must be asked of all, because it renames them
 * then.
 */
function* specOf(api: HttpApi.Top): Generator<undefined, OpenApi.OpenAPISpec> {
  const paths: Record<string, OpenApi.OpenAPISpecPathItem> = {}
  const schemas: Record<string, JsonSchema.JsonSchema> = {}
  const securitySchemes: Record<string, OpenApi.OpenAPISecurityScheme> = {}
  const tags: Array<OpenApi.OpenAPISpecTag> = []
  const alone = HttpApi.make(api.identifier) as unknown as HttpApi.Top
  let spec = OpenApi.fromApi(alone as never)
  for (const group of Object.values(api.groups)) {
    yield
    spec = OpenApi.fromApi(alone.add(group as never) as never)
    for (const [path, operations] of Object.entries(spec.paths)) paths[path] = { ...paths[path], ...operations }
    for (const [name, schema] of Object.entries(spec.components.schemas)) {
      if (schemas[name] !== undefined && !isSame(schemas[name], schema)) return OpenApi.fromApi(api as never)
      schemas[name] = schema
    }
    Object.assign(securitySchemes, spec.components.securitySchemes)
    tags.push(...spec.tags)
  }
  return { ...spec, paths, tags, components: { ...spec.components, schemas, securitySchemes } }
}

/** Adds what `value` refers to, as pointers into the document. */
const addReferences = (value: unknown, found: Set<string>): void => {
  if (typeof value !== "object" || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    if (key === "$ref" && typeof inner === "string") found.add(inner)
    else addReferences(inner, found)
  }
}

/** The shared components of a kind that the calls of this document refer to. */
const referred = <A>(kind: string, all: Readonly<Record<string, A>>, references: ReadonlySet<string>) =>
  Object.fromEntries(Object.entries(all).filter(([name]) => references.has(`#/components/${kind}/${name}`)))

/**
 * One document of all `apis`. It is made in steps of a few milliseconds, so that a running service can answer requests
 * between them.
 */
export function* documentSteps(apis: ReadonlyArray<HttpApi.Constraint>, scope: DocumentScope) {
  const merged = apis.reduce<HttpApi.Top>(
    (api, next) => api.addHttpApi(next as never) as unknown as HttpApi.Top,
    HttpApi.make("tillwire") as unknown as HttpApi.Top
  )
  const spec = yield* specOf(merged)
  const plainSchemas: Record<string, JsonSchema.JsonSchema> = {}
  const allSchemas = {
    ...spec.components.schemas,
    ...errorSchemas,
    ...scope.hasOperations ? operationsSchemas : {}
  }
  // By name: a new schema then adds lines to the committed document and moves none.
  for (const [name, schema] of Object.entries(allSchemas).toSorted(([one], [other]) => one < other ? -1 : 1)) {
    plainSchemas[name] = simplify(schema) as JsonSchema.JsonSchema
    yield
  }
  const schemas = discriminateEvents(plainSchemas)
  const deliveries = webhooksOf(schemas)
  const operationsByPath: Record<string, Record<string, Operation>> = {}
  const pathByShape = new Map<string, string>()
  for (const [group, endpoint] of endpointsOf(merged)) {
    yield
    const own = pathOf(endpoint)
    const method = endpoint.method.toLowerCase() as "get"
    const operation = spec.paths[own]?.[method]
    if (operation === undefined) continue
    const shape = own.replaceAll(/\{\w+\}/g, "{}")
    const path = pathByShape.get(shape) ?? own
    pathByShape.set(shape, path)
    const described = simplify(operation) as OpenApi.OpenAPISpecOperation
    operationsByPath[path] = {
      ...operationsByPath[path],
      [method]: withPathParameters(complete(described, group, endpoint, schemas), own, path)
    }
  }
  yield
  const { paths: calls, responses } = shareErrors(operationsByPath)
  const paths = scope.hasOperations ? { ...calls, ...operationsPaths } : calls
  const references = new Set<string>()
  for (const operations of [...Object.values(paths), responses]) {
    yield
    addReferences(operations, references)
  }
  return {
    openapi: spec.openapi,
    info: {
      title: scope.title,
      version: apiVersion,
      summary: scope.summary,
      description: scope.description,
      contact: { name: "The operator of this service", url: scope.contactUrl },
      license: { name: "MIT", identifier: "MIT" }
    },
    servers: [scope.server],
    tags: [...simplify(spec.tags) as typeof spec.tags, ...scope.hasOperations ? [operationsTag] : []],
    paths,
    ...deliveries.webhooks,
    components: {
      // An error body is the only schema that no call need have.
      schemas: Object.fromEntries(
        Object.entries(schemas).filter(([name]) =>
          !(name in errorSchemas) || references.has(`#/components/schemas/${name}`)
        )
      ),
      securitySchemes: {
        ...Object.fromEntries(
          Object.entries(spec.components.securitySchemes).map(([name, scheme]) => [
            name,
            { description: schemeDescriptions[name] ?? name, ...scheme }
          ])
        ),
        ...scope.hasOperations ? operationsSchemes : {}
      },
      parameters: { ...referred("parameters", parameters, references), ...deliveries.parameters },
      headers: referred("headers", headers, references),
      responses
    }
  }
}

type Document = ReturnType<typeof documentSteps> extends Generator<unknown, infer A> ? A : never

/** The document of {@link documentSteps} at once: it takes up to a second. */
export const documentOf = (apis: ReadonlyArray<HttpApi.Constraint>, scope: DocumentScope): Document => {
  const steps = documentSteps(apis, scope)
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** The document as one line of JSON, in steps as short as those of {@link documentSteps}. */
export function* textSteps({ components, paths, ...document }: Document): Generator<undefined, string> {
  const fields: Array<string> = []
  for (const [path, operations] of Object.entries(paths)) {
    fields.push(`${JSON.stringify(path)}:${JSON.stringify(operations)}`)
    yield
  }
  const head = JSON.stringify(document).slice(0, -1)
  return `${head},"paths":{${fields.join(",")}},"components":${JSON.stringify(components)}}`
}

/** The document as it is committed: one value a line, ending without a newline. */
export const textOf = (document: Document): string => JSON.stringify(document, null, 2)
