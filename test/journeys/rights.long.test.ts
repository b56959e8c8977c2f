/**
 * Goal: nobody does what their role does not allow. Method: every operation behind a credential names its right, and
 * the table of modules/docs/reference/roles.md is compared with the code, cell by cell. Every operation is then called
 * in every role by keys and people of either environment, naming either one, up to the point where its handler begins.
 * What handlers do with an object of another environment than the named one is in matrix.long.test.ts.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import type { HttpApi } from "effect/http-api"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import * as AuditLog from "../../runtime/AuditLog.ts"
import { Commit } from "../../runtime/Commit.ts"
import { Credentials, type Grant, MerchantAuth, plainErrors } from "../../runtime/Http.ts"
import type { CalledEndpoint } from "../../runtime/http/Act.ts"
import { credentials, makeLetMerchantIn } from "../../runtime/http/Authentication.ts"
import { readInput } from "../../runtime/http/NamedInput.ts"
import { type Call, rightOf } from "../../runtime/http/Operation.ts"
import * as Throttling from "../../runtime/http/RateLimiter.ts"
import { endpointsOf } from "../../runtime/http/Routes.ts"
import * as Memory from "../../runtime/ratelimits/Memory.ts"
import { isPublicError } from "../../schemas/Errors.ts"
import { Environment } from "../../schemas/Network.ts"
import {
  allPermissions,
  type Authority,
  KeyPermission,
  mayDo,
  permissionFor,
  type Right,
  rights,
  Role,
  roleHas
} from "../../schemas/Roles.ts"
import { newestVersion } from "../../schemas/Version.ts"
import { settingsLayer } from "../support/Api.ts"

const modules = decodeURIComponent(new URL("../../modules", import.meta.url).pathname)

interface NamedOperation {
  readonly route: string
  readonly right: Right | null
  readonly called: CalledEndpoint
}

const operations = async (): Promise<ReadonlyArray<NamedOperation>> => {
  const files = readdirSync(modules).map((name) => `${modules}/${name}/plugin.ts`).filter((file) => existsSync(file))
  const plugins: ReadonlyArray<{ readonly plugin: { readonly http?: HttpApi.Top } }> = await Promise.all(
    files.map((file) => import(file))
  )
  return plugins.flatMap(({ plugin: { http } }) => http === undefined ? [] : endpointsOf(http))
    .filter(([, { middlewares }]) => [...middlewares].some(({ key }: any) => key === MerchantAuth.key))
    .map(([group, endpoint]) => ({
      route: `${endpoint.method} ${endpoint.path}`,
      right: rightOf({ endpoint, group }),
      called: { endpoint, group } as CalledEndpoint
    }))
}

/** A caller in words, which are its credential here: `key support devnet read,write`. */
interface Caller {
  readonly kind: "key" | "wallet"
  readonly role: Role
  readonly environment: Environment
  readonly permissions: Authority["permissions"]
}

const wordsOf = ({ environment, kind, permissions, role }: Caller): string =>
  [kind, role, environment, permissions.join(",")].join("_")

const grantOf = (words: string): Grant => {
  const [kind, role, environment, permissions] = words.split("_")
  return {
    merchantId: 1,
    environment,
    scope: "merchant",
    kind,
    credential: words,
    apiVersion: newestVersion,
    role,
    permissions: permissions!.split(","),
    person: "owner"
  } as unknown as Grant
}

/** People have all permissions, and their own environment is the merchant's default. */
const callers: ReadonlyArray<Caller> = Role.literals.flatMap((role) =>
  Environment.literals.flatMap((environment) => [
    { kind: "wallet", role, environment, permissions: allPermissions } as const,
    { kind: "key", role, environment, permissions: allPermissions } as const,
    ...KeyPermission.literals.map((permission) =>
      ({ kind: "key", role, environment, permissions: [permission] }) as const
    )
  ])
)

const callOf = ({ called, right }: NamedOperation, caller: Caller, named: Environment | undefined): Call => {
  const words = wordsOf(caller)
  const headers = caller.kind === "key" ? { "x-api-key": words } : { authorization: `Bearer ${words}` }
  return {
    operation: { called, right, isOfApi: true, input: () => readInput(called, {}) } as unknown as Call["operation"],
    request: HttpServerRequest.fromWeb(
      new Request("http://till.test/api/v1/things", { method: called.endpoint.method, headers })
    ),
    query: named === undefined ? {} : { environment: named },
    facts: {
      requestId: "req_1",
      apiVersion: newestVersion,
      answerHeaders: {},
      errorForm: plainErrors,
      merchantId: null
    }
  }
}

/** Where a call reads or acts; null: a key may not name the other environment there. */
const environmentOf = (
  { called: { endpoint, group } }: NamedOperation,
  { environment: own, kind }: Caller,
  named: Environment | undefined
): Environment | null => {
  if (named === undefined || named === own || kind === "wallet") return named ?? own
  const input = readInput({ endpoint, group } as CalledEndpoint, {})
  if (input.acceptsOtherEnvironment) return named
  return input.isWrite || input.unknownParameters === "refused" ? null : own
}

const admission = Layer.mergeAll(
  credentials,
  AuditLog.layer,
  Layer.mock(Commit, {}),
  Throttling.layerOver(Memory.layer)
).pipe(Layer.provideMerge(settingsLayer({ environments: ["devnet", "mainnet"] })))

/** The rows of the table: a right, and whether each role has it. */
const documentedRights = () => {
  const lines = readFileSync(`${modules}/docs/reference/roles.md`, "utf8").split("\n").filter((line) =>
    line.startsWith("| ")
  )
  const cells = lines.map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()))
  const roles = cells[0]!.slice(1).map((name) => name.toLowerCase())
  const rows = cells.filter(([name]) => rights.includes(name!.replaceAll("`", "") as Right))
  return rows.map(([name, ...has]) => ({
    right: name!.replaceAll("`", "") as Right,
    roles: roles.filter((_, index) => has[index] === "yes")
  }))
}

describe("rights", () => {
  it("are named by every operation that asks for a credential", async () => {
    const found = await operations()
    assert.isAbove(found.length, 60)
    assert.deepStrictEqual(found.filter(({ right }) => right === null).map(({ route }) => route), [])
  })

  it("to read take only the permission read, and everything that is no GET takes another one", async () => {
    const socketTicket = "POST /api/v1/ws/token"
    for (const { right, route } of await operations()) {
      if (route === socketTicket) continue
      const isRead = permissionFor(right!) === "read"
      const opensMore = route.startsWith("GET ") && (right === "wallets:write" || right!.startsWith("customers:"))
      assert.strictEqual(isRead, route.startsWith("GET ") && !opensMore && right !== "account:write", route)
    }
  })

  it("are as the reference says, for every role with real money", () => {
    const documented = documentedRights()
    assert.deepStrictEqual(documented.map(({ right }) => right), [...rights])
    for (const { right, roles } of documented) {
      const has = Role.literals.filter((role) => roleHas(role, right, "mainnet"))
      assert.deepStrictEqual(has, roles, right)
    }
  })

  it("are more with play money, but never keys, the team or the rules, and a viewer only looks", () => {
    for (const right of rights) {
      for (const role of Role.literals) {
        const live = roleHas(role, right, "mainnet")
        const test = roleHas(role, right, "devnet")
        assert.isTrue(test || !live, `${role} ${right}`)
        if (test !== live) {
          assert.notStrictEqual(role, "viewer")
          assert.notMatch(right, /^(team|rules|audit|account):/)
          if (role !== "developer") assert.notMatch(right, /^keys:/)
        }
      }
    }
  })

  it("of a key are those of its maker that its permissions include", () => {
    const key = (role: Role, ...permissions: Authority["permissions"]): Authority => ({ role, permissions })
    assert.isTrue(mayDo(key("support", "refund"), "refunds:create", "mainnet"))
    assert.isFalse(mayDo(key("support", "read", "write"), "refunds:create", "mainnet"))
    assert.isFalse(mayDo(key("developer", "read", "write", "refund"), "refunds:create", "mainnet"))
    assert.isTrue(mayDo(key("viewer", "read"), "payments:read", "mainnet"))
    assert.isFalse(mayDo(key("owner", "write"), "payments:read", "mainnet"))
    assert.isFalse(mayDo({ ...key("owner", "read"), roleLimits: ["support"] }, "balances:read", "mainnet"))
    assert.isTrue(mayDo({ ...key("owner", "read"), roleLimits: ["viewer"] }, "balances:read", "mainnet"))
  })

  it.effect("are judged in the environment that a call reads or changes, whichever its caller is of", () =>
    Effect.gen(function*() {
      const { register, registerBearer } = yield* Credentials
      yield* register((words) => Effect.succeed(grantOf(words)))
      yield* registerBearer((words) => Effect.succeed(grantOf(words)))
      const letIn = yield* makeLetMerchantIn
      for (const operation of yield* Effect.promise(operations)) {
        for (const caller of callers) {
          for (const named of [undefined, ...Environment.literals]) {
            const acts = environmentOf(operation, caller, named)
            const outcome = yield* Effect.match(
              letIn(callOf(operation, caller, named), () => Effect.succeed("let in")),
              { onSuccess: (done) => done, onFailure: (error) => isPublicError(error) ? error.code : "other" }
            )
            const expected = acts === null
              ? "ENVIRONMENT_FORBIDDEN"
              : mayDo(caller, operation.right!, acts)
              ? "let in"
              : "PERMISSION_DENIED"
            assert.strictEqual(outcome, expected, `${operation.route} by ${wordsOf(caller)}, naming ${named}`)
          }
        }
      }
    }).pipe(Effect.provide(admission)))
})
