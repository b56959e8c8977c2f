/** The operations of a served OpenAPI document, with what a test needs to call each of them. */
import { randomUUID } from "node:crypto"

/** A JSON Schema of the document, as far as tests read it. */
export type JsonSchema = Readonly<Record<string, any>>

export interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly schema?: JsonSchema
}

export interface Operation {
  readonly method: string
  readonly path: string
  readonly parameters: ReadonlyArray<Parameter>
  /** A good body; undefined where none is taken. */
  readonly example: Readonly<Record<string, unknown>> | undefined
  /** The schema of the body, its references followed. */
  readonly body: JsonSchema | undefined
}

/** Follows a `$ref` of the document. */
export const resolveReference = (document: any, value: any): any =>
  value?.$ref === undefined
    ? value
    : resolveReference(document, value.$ref.slice(2).split("/").reduce((at: any, key: string) => at[key], document))

/** A schema without references and with the properties of its `allOf` among its own. */
const flat = (document: any, value: any): JsonSchema => {
  const { allOf = [], ...own } = resolveReference(document, value) ?? {}
  return allOf.map((part: any) => flat(document, part)).reduce(
    (all: JsonSchema, part: JsonSchema) => ({ ...all, ...part }),
    own
  )
}

/** The schemas of what a value may be, null left out. */
export const alternatives = (document: any, value: any): ReadonlyArray<JsonSchema> => {
  const { anyOf, const: only, ...own } = flat(document, value)
  return anyOf === undefined
    ? [only === undefined ? own : { ...own, enum: [only] }]
    : anyOf.flatMap((one: any) => alternatives(document, one)).filter(({ type }: JsonSchema) => type !== "null")
}

export const operationsOf = (document: any): ReadonlyArray<Operation> =>
  Object.entries<any>(document.paths).flatMap(([path, item]) =>
    Object.entries<any>(item).filter(([method]) => method !== "parameters").map(([method, operation]) => {
      const content = resolveReference(document, operation.requestBody)?.content?.["application/json"]
      const schema = resolveReference(document, content?.schema)
      return {
        method: method.toUpperCase(),
        path,
        parameters: [...item.parameters ?? [], ...operation.parameters ?? []].map((each) =>
          resolveReference(document, each)
        ),
        example: content === undefined
          ? undefined
          : content.example ?? Object.values<any>(content.examples ?? {})[0]?.value ?? schema?.examples?.[0] ?? {},
        body: content === undefined ? undefined : flat(document, schema)
      }
    })
  )

/** Segments that are not just an id. */
const wellFormed: Readonly<Record<string, string>> = {
  kind: "invoices",
  family: "evm",
  eventId: "evt_1700000000000-1",
  tokenId: "1",
  network: "base"
}

/** The path of an operation with a good segment in each place; the ids are those of nothing. */
export const plainPath = ({ path }: Operation): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => wellFormed[name] ?? randomUUID())

/** Parameters that a call cannot do without. */
const needed: Readonly<Record<string, string>> = { amount: "5000", network: "base", to: "2", token_id: "1" }

/** Of two parameters of which one must be sent, `amount` is. */
const isNeeded = (each: Parameter, name: string) =>
  each.required === true || each.name === "amount" && name !== "amount_usd"

/** The query with one parameter as given, already escaped, and the needed others in order. */
export const queryWith = (name: string, value: string, { parameters }: Operation): string =>
  [
    ...parameters.filter((each) => each.in === "query" && each.name !== name && isNeeded(each, name))
      .map((each) => `${each.name}=${needed[each.name] ?? "1"}`),
    `${encodeURIComponent(name)}=${value}`
  ].join("&")
