/**
 * Goal: one table of errors that handlers, reference and tests share, and no route without a limit.
 * Method: every API of every module, read as the reference reads it.
 */
import { assert, describe, it } from "@effect/vitest"
import type { HttpApi, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { readdirSync } from "node:fs"
import { PayorSession } from "../../../modules/payments/api.ts"
import { Anonymous, MerchantAuth } from "../../../runtime/Http.ts"
import { addressLimitOf } from "../../../runtime/http/Operation.ts"
import { commonCodes, hasMiddleware } from "../../../runtime/openapi/CommonErrors.ts"
import { documentOf, publicScope } from "../../../runtime/openapi/Document.ts"
import { type ErrorCode, errorCodes, statusOf } from "../../../schemas/Errors.ts"
import { optionalModules } from "../../support/Removal.ts"

const modules = new URL("../../../modules/", import.meta.url)

/** Where modules were deleted their codes stay in the table, and nobody declares them. */
const whole = optionalModules.every((name) => readdirSync(modules).includes(name))

const apis: ReadonlyArray<HttpApi.Constraint> = await Promise.all(
  readdirSync(modules, { withFileTypes: true })
    .flatMap((entry) => entry.isDirectory() ? [entry.name] : [])
    .filter((name) => readdirSync(new URL(name, modules)).includes("plugin.ts"))
    .map(async (name) => (await import(new URL(`${name}/plugin.ts`, modules).href)).plugin.http)
).then((found) => found.filter((api) => api !== undefined))

const endpoints = (apis as ReadonlyArray<HttpApi.Top>).flatMap((api) =>
  Object.values(api.groups as Readonly<Record<string, HttpApiGroup.Top>>).flatMap((group) =>
    Object.values(group.endpoints as Readonly<Record<string, HttpApiEndpoint.Top>>).map((endpoint) => ({
      group,
      endpoint
    }))
  )
)

/** Codes that no endpoint declares: they come before or instead of one, or before a websocket's upgrade. */
const ofTheDoor: ReadonlySet<ErrorCode> = new Set([
  "METHOD_NOT_ALLOWED",
  "NOT_FOUND",
  "INVALID_FORMAT",
  "ORIGIN_NOT_ALLOWED",
  "HOST_NOT_ALLOWED"
])

/** Published codes whose routes are not built yet, and why. */
const reserved: Readonly<Partial<Record<ErrorCode, string>>> = {
  QUOTE_EXPIRED: "no route of this release takes a quote that can have ended"
}

interface Answer {
  readonly description?: string
  /** An answer that several operations share. */
  readonly $ref?: string
}

const document = documentOf(apis, publicScope("https://till.test")) as unknown as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>
  readonly components: { readonly responses: Readonly<Record<string, Answer>> }
}

/** Codes in the descriptions of a document's answers, each as the table words it. */
const described = (operation: { readonly responses?: Readonly<Record<string, Answer>> }) =>
  Object.entries(operation.responses ?? {}).flatMap(([status, { $ref = "", description }]) => {
    const text = description ?? document.components.responses[$ref.split("/").at(-1)!]?.description ?? ""
    return [...text.matchAll(/`([A-Z][A-Z_]+)`/g)].map(([, code]) => [Number(status), code!] as const)
  })

const operations = Object.values(document.paths).flatMap((path) => Object.values(path))
const declared = operations.flatMap((operation) => described(operation as never))

describe("errors", () => {
  it("that an endpoint declares are in the table, under its status", () => {
    assert.isAbove(declared.length, 100)
    for (const [status, code] of declared) {
      assert.include(errorCodes as ReadonlyArray<string>, code)
      assert.strictEqual(statusOf(code as ErrorCode), status, code)
    }
  })

  it.runIf(whole)("of the table are declared by an endpoint, or come from the door", () => {
    const known = new Set<string>([
      ...declared.map(([, code]) => code),
      ...endpoints.flatMap(({ endpoint }) => commonCodes(endpoint)),
      ...ofTheDoor
    ])
    assert.deepStrictEqual(errorCodes.filter((code) => !known.has(code) && reserved[code] === undefined), [])
    assert.deepStrictEqual(Object.keys(reserved).filter((code) => known.has(code)), [], "no longer reserved")
  })
})

describe("a route", () => {
  it("is held to the limit that its group names, where it names none itself", () => {
    const limitOf = (name: string) =>
      new Set(
        endpoints.filter(({ endpoint, group }) => group.identifier === name && hasMiddleware(endpoint, Anonymous))
          .map(({ endpoint, group }) => addressLimitOf({ endpoint, group } as Parameters<typeof addressLimitOf>[0]))
      )
    assert.deepStrictEqual([...limitOf("tokenBadges")], ["badge"])
    assert.deepStrictEqual([...limitOf("docs")], ["document"])
    assert.isTrue(limitOf("sign-in").has("nonce"))
  })

  it("is limited: by its credential, its session, or its caller's address", () => {
    const limited = [MerchantAuth, PayorSession, Anonymous]
    const free = endpoints.filter(({ endpoint }) => !limited.some((middleware) => hasMiddleware(endpoint, middleware)))
    // Pages count in their handlers, so that a refusal is a page: attack 29 of group C, claimPage.long.test.ts,
    // links/journey.long.test.ts and dashboard.long.test.ts see it.
    const countedByHandlers = new Set(["checkout", "claims", "link-pages", "sign-in-pages", "dashboard-pages"])
    const freeGroups = new Set(free.map(({ group }) => group.identifier))
    assert.deepStrictEqual([...freeGroups].filter((name) => !countedByHandlers.has(name)), [])
    if (whole) assert.deepStrictEqual(freeGroups, countedByHandlers)
  })
})
