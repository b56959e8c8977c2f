/**
 * Goal: whoever sends a wrong value learns from the answer alone which one it is and what may be sent in its place.
 * Method: every field of every body and every query parameter of the served OpenAPI document is sent once with a value
 * for each of its rules that breaks it: another type, a value outside the list, a number or a length out of range. What
 * the document says about the field must stand in the message, and no name of the code.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { errorCodes } from "../../schemas/Errors.ts"
import type { TestResponse } from "../support/Service.ts"
import { alternatives, type JsonSchema, type Operation, operationsOf, plainPath, queryWith } from "./Operations.ts"
import { assertStatus } from "./Shop.ts"
import { ask, makeWebhook, Tenants, tenants } from "./Tenants.ts"

/** Parameters of the query that take any text: what nothing has or is called leads to nothing. */
const freeText = new Set([
  "customer_id",
  "invoice_id",
  "order_id",
  "search",
  "wallet_address",
  "payer_wallet_address",
  "event_id",
  "since"
])

interface Case {
  readonly value: unknown
  /** What the message must say for a reader to know what may be sent. */
  readonly says: ReadonlyArray<string | RegExp>
}

const words: Readonly<Record<string, RegExp>> = {
  integer: /integer/,
  number: /number|dollars/,
  string: /text|URL|id\b|UUID|address|time|date|colour|language|one of|like|type/i,
  boolean: /true or false/,
  array: /list/,
  object: /object/
}

/** A value of a type that `options` do not have. */
const ofOtherType = (options: ReadonlyArray<JsonSchema>): unknown => {
  const types = new Set(options.map(({ type }) => type))
  if (options.length === 0 || options.some(({ type }) => type === undefined)) return undefined
  return !types.has("boolean") ? true : { nothing: "of this" }
}

/** Numbers as messages may write them: 1000000 or 1,000,000. */
const figure = (value: number): RegExp =>
  new RegExp(`\\b(${value}|${value.toLocaleString("en-US")}${value % 1024 === 0 ? `|${value / 1024} KiB` : ""})\\b`)

const isBound = (value: unknown): value is number =>
  typeof value === "number" && Math.abs(value) < Number.MAX_SAFE_INTEGER

/** One case for each rule of a field. */
const casesOf = (document: any, schema: JsonSchema): ReadonlyArray<Case> => {
  const options = alternatives(document, schema)
  const other = ofOtherType(options)
  const literals = options.flatMap((one) => one["enum"] ?? [])
  const cases: Array<Case> = []
  if (other !== undefined) {
    cases.push({
      value: other,
      says: literals.length > 0
        ? literals.map(String)
        : [new RegExp(options.map(({ type }) => words[type]?.source).join("|"), "i")]
    })
  }
  if (literals.length > 0 && options.every((one) => one["enum"] !== undefined)) {
    cases.push({ value: "nonsense", says: literals.map(String) })
  }
  for (const { items, maximum, maxItems, maxLength, minimum, minItems, type } of options) {
    if (isBound(maximum)) cases.push({ value: maximum + 1, says: [figure(maximum)] })
    if (isBound(minimum)) cases.push({ value: minimum - 1, says: [figure(minimum)] })
    if (type === "integer") cases.push({ value: 1.5, says: [words["integer"]!] })
    if (type === "string" && isBound(maxLength)) {
      cases.push({ value: "x".repeat(maxLength + 1), says: [figure(maxLength)] })
    }
    if (type === "array" && isBound(maxItems)) {
      cases.push({
        value: Array.from({ length: maxItems + 1 }, () => alternatives(document, items)[0]?.["enum"]?.[0] ?? 1),
        says: []
      })
    }
    if (type === "array" && minItems > 0) cases.push({ value: [], says: [figure(minItems)] })
  }
  return cases
}

/** Names of the code that mean nothing to a caller. */
const internal =
  /\b[A-Z][a-z]+[A-Z]\w+|\bExpected\b|\bMissing key\b|undefined|RegExp|\bregex|<filter>|Schema\b|a value (with|between)/

const errorOf = (
  { json }: TestResponse
): { readonly code: string; readonly message: string; readonly param: string | null } =>
  typeof json?.error === "string"
    ? { code: json.code, message: json.error, param: null }
    : { code: json?.error?.code, message: json?.error?.message, param: json?.error?.param ?? null }

/** What is unclear about the refusal of a wrong `field`. */
const unclear = (answer: TestResponse, what: string, field: string, says: Case["says"]): ReadonlyArray<string> => {
  if (answer.status < 400) return [`${what}: taken (${answer.status})`]
  const { code, message } = errorOf(answer)
  const complaint = (why: string) => [`${what}: ${why}: ${answer.status} ${code} ${message}`]
  if (answer.status !== 400) return complaint("no 400")
  if (!(errorCodes as ReadonlyArray<string>).includes(code)) return complaint("no known code")
  if (!message.includes(field)) return complaint("the field is not named")
  if (internal.test(message)) return complaint(`a name of the code, ${internal.exec(message)?.[0]}`)
  const missing = says.filter((part) => typeof part === "string" ? !message.includes(part) : !part.test(message))
  return missing.length === 0 ? [] : complaint(`does not say ${missing.join(", ")}`)
}

/** A field of a body: where it is, its rules, and the whole body with a value in its place. */
interface Field {
  readonly path: ReadonlyArray<string | number>
  readonly schema: JsonSchema
}

/** Every field of a body with those inside it, three levels deep. */
const fieldsOf = (document: any, schema: JsonSchema, path: Field["path"] = []): ReadonlyArray<Field> =>
  path.length > 4 ? [] : alternatives(document, schema).flatMap((one) => [
    ...Object.entries<any>(one["properties"] ?? {}).flatMap(([name, inner]) => [
      { path: [...path, name], schema: inner },
      ...fieldsOf(document, inner, [...path, name])
    ]),
    ...one["items"] === undefined ? [] : [
      { path: [...path, 0], schema: one["items"] },
      ...fieldsOf(document, one["items"], [...path, 0])
    ]
  ])

/** The least value that a schema takes. */
const leastOf = (document: any, schema: JsonSchema): unknown => {
  const { enum: literals, examples, minimum, properties, required, type } = alternatives(document, schema)[0] ?? {}
  if (type === "object") {
    return Object.fromEntries((required ?? []).map((name: string) => [name, leastOf(document, properties[name])]))
  }
  return literals?.[0] ?? examples?.[0] ?? (type === "string" ? "x" : minimum ?? 1)
}

/** `body`, which `schema` describes, with `value` at `path`; what is needed beside it and absent is put in. */
const withValue = (document: any, schema: JsonSchema, body: any, path: Field["path"], value: unknown): any => {
  const [head, ...rest] = path
  if (head === undefined) return value
  const container =
    alternatives(document, schema).find(({ items, properties }) =>
      typeof head === "number" ? items !== undefined : properties?.[head] !== undefined
    ) ?? {}
  if (typeof head === "number") return [withValue(document, container["items"], body?.[0], rest, value)]
  return {
    ...leastOf(document, container) as object,
    ...body,
    [head]: withValue(document, container["properties"][head], body?.[head], rest, value)
  }
}

const credentialOf = (
  { method, path }: Operation,
  { a, payor }: { readonly a: Tenants["Service"]["a"]; readonly payor: any }
) =>
  path.startsWith("/api/v1/payments/")
    ? payor
    : path.includes("/commerce/")
    ? a.commerce
    : path.startsWith("/api/v1/auth/wallets") && method === "POST"
    ? a.jwt
    : a.merchant

layer(tenants, { excludeTestServices: true })("a refused value", (it) => {
  it.effect("is named with what may be sent in its place, in every body and every query", () =>
    Effect.gen(function*() {
      const { a, service } = yield* Tenants
      const document = assertStatus(200, yield* service.call("/openapi.json"))
      const made = assertStatus(
        200,
        yield* ask(service, a.merchant, "/api/v1/invoices", { method: "POST", body: { amount_usd: 5 } })
      )
      const endpoint = yield* makeWebhook(service, a, a.merchant)
      const complaints: Array<string> = []
      let tried = 0
      for (const operation of operationsOf(document)) {
        const { method } = operation
        const credential = credentialOf(operation, { a, payor: made.payment_session_headers })
        const path = operation.path.startsWith("/api/v1/webhooks/{id}")
          ? operation.path.replace("{id}", endpoint)
          : plainPath(operation)
        const what = `${method} ${operation.path}`
        const send = (at: string, body: unknown) =>
          Effect.tap(ask(service, credential, at, { method, ...body === undefined ? {} : { body } }), () =>
            Effect.sync(() => tried++))
        for (const field of fieldsOf(document, operation.body ?? {})) {
          for (const { says, value } of casesOf(document, field.schema)) {
            const name = String(field.path.findLast((part) =>
              typeof part === "string"
            ))
            const answer = yield* send(
              path,
              withValue(document, operation.body ?? {}, operation.example, field.path, value)
            )
            complaints.push(
              ...unclear(answer, `${what} ${field.path.join(".")}=${JSON.stringify(value).slice(0, 30)}`, name, says)
            )
          }
        }
        for (const body of operation.body === undefined ? [] : ["[]", "7", "\"text\""]) {
          complaints.push(...unclear(yield* send(path, body), `${what} body ${body}`, "body", [/object/]))
        }
        for (const name of (operation.body?.["required"] ?? []) as ReadonlyArray<string>) {
          const { [name]: _, ...rest } = operation.example ?? {}
          complaints.push(...unclear(yield* send(path, rest), `${what} without ${name}`, name, [/required|missing/]))
        }
        for (const { in: place, name, schema = {} } of operation.parameters) {
          if (place !== "query") continue
          const query = (value: string) => send(`${path}?${queryWith(name, value, operation)}`, operation.example)
          const cases = casesOf(document, schema).filter(({ value }) =>
            typeof value !== "boolean" && typeof value !== "object"
          )
          if (schema["type"] === "integer" || schema["type"] === "number") {
            cases.push({ value: "abc", says: [words[schema["type"]]!] })
          }
          if (cases.length === 0 && !freeText.has(name)) {
            cases.push({ value: "☃", says: [words["string"]!] })
          }
          for (const { says, value } of cases) {
            complaints.push(
              ...unclear(
                yield* query(encodeURIComponent(String(value))),
                `${what}?${name}=${String(value).slice(0, 20)}`,
                name,
                says
              )
            )
          }
        }
      }
      assert.isAbove(tried, 500)
      assert.deepStrictEqual(complaints, [])
    }), 300_000)
})
