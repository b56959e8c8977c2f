/**
 * Goal: bad input gets a clear error on every route, and nothing is lost or half done by it. Method: every operation of
 * the served OpenAPI document is called with its own example in which one field, parameter or path segment after the
 * other is replaced by what does not belong there. Each refusal has a code of the table and a sentence; one that blames
 * a field names it; and afterwards nothing was told and nothing is different.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { errorCodes } from "../../schemas/Errors.ts"
import type { TestRequest, TestResponse } from "../support/Service.ts"
import { assertHarmless } from "./attacks/Assertions.ts"
import { type Operation, operationsOf, plainPath, queryWith } from "./Operations.ts"
import { assertStatus } from "./Shop.ts"
import { ask, type Credential, Tenants, tenants } from "./Tenants.ts"

/** Calls of one operation that are under way. */
const callsAtOnce = 4

/** What stands in for a good value, one after the other. */
const wrong: ReadonlyArray<unknown> = [
  null,
  true,
  -1,
  0,
  1.5,
  9_007_199_254_740_992,
  "",
  " ",
  "x".repeat(3_000),
  "\u202egnp.exe",
  "'; DROP TABLE invoices; --",
  "../../etc/passwd",
  "<script>alert(1)</script>",
  "٣",
  [],
  {},
  [[]],
  { constructor: { prototype: {} } }
]

const wrongQuery = [
  "",
  "abc",
  "-1",
  "0",
  "1e400",
  "99999999999999999999",
  "%27%20OR%20%271%27=%271",
  "%F0%9F%92%A9",
  "%E2%80%AE",
  "true,false",
  "%5B%5D"
]

const wrongSegments = [
  "0",
  "-1",
  "%2e%2e%2f",
  "%F0%9F%92%A9",
  "%27",
  "a%20b",
  "evt_1-",
  "null",
  "00000000-0000-0000-0000-000000000000",
  "x".repeat(300)
]

const errorOf = (
  { json }: TestResponse
): { readonly code: string; readonly message: string; readonly param: string | null } =>
  typeof json?.error === "string"
    ? { code: json.code, message: json.error, param: null }
    : { code: json?.error?.code, message: json?.error?.message, param: json?.error?.param ?? null }

const known: ReadonlySet<string> = new Set(errorCodes)

/** Fields that are right by themselves and wrong beside another, which the answer may name instead. */
const judgedWith: Readonly<Record<string, string>> = { from: "interval", to: "interval" }

/** What is unclear about an answer, if anything; `field` is the one that was made wrong. */
const unclear = (answer: TestResponse, what: string, field: string | undefined): ReadonlyArray<string> => {
  assertHarmless(answer, what)
  if (answer.status < 400) return []
  const { code, message, param } = errorOf(answer)
  if (!known.has(code) || message.length < 10) return [`${what}: ${answer.text}`]
  const names = [field, field === undefined ? undefined : judgedWith[field]].filter((name) => name !== undefined)
  return code !== "VALIDATION_ERROR" || names.length === 0 ||
      names.some((name) => `${message} ${param ?? ""}`.includes(name))
    ? []
    : [`${what} does not name the field: ${answer.text}`]
}

/** What a refused call must leave alone. */
const stateOf = (credential: Credential) =>
  Effect.gen(function*() {
    const { service } = yield* Tenants
    const look = (path: string) =>
      Effect.map(service.call(path, { headers: credential }), (found) => assertStatus(200, found))
    return JSON.stringify([
      (yield* look("/api/v1/events?limit=1")).data.data.map(({ id }: any) => id),
      yield* look("/api/v1/invoices/totals"),
      yield* look("/api/v1/merchant/settings"),
      yield* look("/api/v1/merchant/tokens/policy"),
      (yield* look("/api/v1/merchant/wallets")).wallets,
      (yield* look("/api/v1/api-keys")).data.data.map(({ id, status }: any) => [id, status])
    ])
  })

/**
 * A call that must leave everything as it is whenever it is refused; answers whether it was refused, and how unclearly.
 */
const tryOut = Effect.fnUntraced(function*(
  operation: Operation,
  path: string,
  sent: TestRequest,
  credential: Credential,
  what: string,
  field?: string
) {
  const { service } = yield* Tenants
  const answer = yield* ask(service, credential, path, { method: operation.method, ...sent })
  return {
    isRefused: answer.status >= 400,
    complaints: unclear(answer, `${operation.method} ${path.slice(0, 200)} with ${what}`, field)
  }
})

const shown = (value: unknown) => (JSON.stringify(value) ?? String(value)).slice(0, 60)

layer(tenants, { excludeTestServices: true })("bad input", (it) => {
  it.effect("is refused in words on every route, and a refused call changes nothing", () =>
    Effect.gen(function*() {
      const { a, service } = yield* Tenants
      const document = assertStatus(200, yield* service.call("/openapi.json"))
      const made = assertStatus(
        200,
        yield* ask(service, a.merchant, "/api/v1/invoices", { method: "POST", body: { amount_usd: 5 } })
      )
      let tried = 0
      let refused = 0
      const complaints: Array<string> = []
      for (const operation of operationsOf(document)) {
        const credential = operation.path.startsWith("/api/v1/payments/")
          ? made.payment_session_headers
          : operation.path.includes("/commerce/")
          ? a.commerce
          : a.merchant
        const segments = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
        const plain = plainPath(operation)
        const body = operation.example === undefined ? {} : { body: operation.example }
        const cases: Array<readonly [path: string, sent: TestRequest, what: string, field?: string]> = [
          ...Object.keys(operation.example ?? {}).flatMap((field) =>
            wrong.map((value) =>
              [plain, { body: { ...operation.example, [field]: value } }, `${field}: ${shown(value)}`, field] as const
            )
          ),
          ...operation.example === undefined ? [] : [
            ...["", "{", "[]", "null", "\"text\"", "1", "{\"a\":}", "\ufeff{}"].map((text) =>
              [
                plain,
                { body: text, headers: { "content-type": "application/json" } },
                `the body ${shown(text)}`
              ] as const
            ),
            ...Object.keys(operation.example).map((field) => {
              const { [field]: _, ...rest } = operation.example!
              return [plain, { body: rest }, `no ${field}`] as const
            })
          ],
          ...operation.parameters.filter((parameter) => parameter.in === "query").flatMap(({ name }) =>
            wrongQuery.map((value) =>
              [`${plain}?${queryWith(name, value, operation)}`, body, `${name}=${value}`, name] as const
            )
          ),
          ...segments.flatMap((name) =>
            wrongSegments.map((value) =>
              [operation.path.replaceAll(/\{\w+\}/g, value), body, `${name} ${value.slice(0, 40)}`] as const
            )
          )
        ]
        const before = yield* stateOf(a.merchant)
        // One after the other, either this process or the service would wait for the other one all the time.
        const outcomes = yield* Effect.forEach(
          cases,
          ([path, sent, what, field]) => tryOut(operation, path, sent, credential, what, field),
          { concurrency: callsAtOnce }
        )
        complaints.push(...outcomes.flatMap((outcome) => outcome.complaints))
        tried += outcomes.length
        refused += outcomes.filter(({ isRefused }) => isRefused).length
        const allRefused = outcomes.every(({ isRefused }) => isRefused)
        if (allRefused) assert.strictEqual(yield* stateOf(a.merchant), before, `${operation.method} ${operation.path}`)
      }
      assert.deepStrictEqual(complaints, [])
      assert.isAbove(refused, 1_000, `${tried} calls`)
    }), 300_000)
})
