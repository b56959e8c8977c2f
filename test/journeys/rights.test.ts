/**
 * Goal: nobody does what their role does not allow. Method: every operation behind a credential names its right, and
 * the table of modules/docs/reference/roles.md is compared with the code, cell by cell.
 */
import { assert, describe, it } from "@effect/vitest"
import type { HttpApi } from "effect/http-api"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { MerchantAuth } from "../../runtime/Http.ts"
import { rightOf } from "../../runtime/http/Operation.ts"
import { endpointsOf } from "../../runtime/http/Routes.ts"
import { type Authority, mayDo, permissionFor, type Right, rights, Role, roleHas } from "../../schemas/Roles.ts"

const modules = decodeURIComponent(new URL("../../modules", import.meta.url).pathname)

interface NamedOperation {
  readonly route: string
  readonly right: Right | null
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
      right: rightOf({ endpoint, group })
    }))
}

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
  })
})
