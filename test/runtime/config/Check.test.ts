/**
 * Goal: plugins that cannot live together, or not here, are told before any of them starts, with what to do.
 * Method: small plugins, one wrong thing at a time, against the pure check.
 */
import { assert, describe, it } from "@effect/vitest"
import { Context, Layer, Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Rpc, RpcGroup } from "effect/rpc"
import { check, type SelectedPlugin } from "../../../runtime/config/Check.ts"
import type { AnyPlugin } from "../../../runtime/config/Plugins.ts"
import type { Slot } from "../../../runtime/Plugin.ts"

class Offered extends Context.Service<Offered, {}>()("test/Offered") {}

const plugin = (name: string, more: Partial<AnyPlugin> = {}): AnyPlugin => ({
  name,
  slot: "modules",
  layer: () => Layer.empty as Layer.Layer<any>,
  ...more
})

const api = (group: string, method: "get" | "post", path: `/${string}`) =>
  HttpApi.make("test").add(
    HttpApiGroup.make(group).add(
      method === "get"
        ? HttpApiEndpoint.get("call", path, { success: Schema.String })
        : HttpApiEndpoint.post("call", path, { success: Schema.String })
    )
  )

const picked = (plugins: ReadonlyArray<AnyPlugin>, slot?: Slot, options?: unknown): ReadonlyArray<SelectedPlugin> =>
  plugins.map((each, index) => ({
    slot: slot ?? each.slot,
    use: each.name,
    path: [slot ?? each.slot, index],
    plugin: each,
    options
  }))

const messages = (
  entries: ReadonlyArray<SelectedPlugin>,
  environments: ReadonlyArray<"devnet" | "mainnet"> = ["devnet"]
) => check(entries, environments).map(({ message, path }) => `${path.join(".")}: ${message}`)

describe("plugins", () => {
  it("that fit together are no problem", () => {
    const entries = picked([
      plugin("a", { http: api("a", "get", "/a/:id") }),
      plugin("b", { needs: { a: Offered }, http: api("b", "post", "/a/:id") })
    ])
    assert.deepStrictEqual(messages(entries), [])
  })

  it("commit rows to tables of their own: not to each other's, and not to the runtime's", () => {
    const entries = picked([
      plugin("a", { tables: ["a_rows"] }),
      plugin("b", { tables: ["b_rows", "a_rows"] }),
      plugin("c", { tables: ["webhook_endpoints"] })
    ])
    assert.deepStrictEqual(messages(entries), [
      `modules.1.use: the table "a_rows" is in "a" and in "b": remove one of the two`,
      `modules.2.use: the table "webhook_endpoints" is the runtime's own: remove "c", or tell its author`
    ])
  })

  it("that serve the operator's routes in public, or others among the operator's, are refused", () => {
    const entries = picked([
      plugin("a", { http: api("a", "get", "/admin/v1/a") }),
      plugin("b", { operator: api("b", "get", "/api/v1/b") }),
      plugin("c", { operator: api("c", "get", "/admin/v1/networks") })
    ])
    assert.deepStrictEqual(messages(entries).toSorted(), [
      "modules.0.use: its public route /admin/v1/a is in the operator's place: remove \"a\", or tell its author",
      "modules.1.use: its operator's route /api/v1/b is not below /admin/v1/: remove \"b\", or tell its author",
      "modules.2.use: the operator's route GET /admin/v1/networks is the runtime's own: remove \"c\", or tell its author"
    ])
  })

  it("of one name are refused, except one driver for several chains", () => {
    const chain = plugin("evm", { slot: "chains" })
    assert.deepStrictEqual(messages(picked([chain, chain])), [])
    assert.deepStrictEqual(messages(picked([plugin("a"), plugin("a")])), [
      `modules.1.use: the plugin "a" is here twice: remove one of the entries`
    ])
    assert.strictEqual(messages(picked([chain, plugin("evm", { slot: "chains" })])).length, 1)
  })

  it("say what they need, and that it must come first", () => {
    const needy = plugin("needy", { needs: { offering: Offered } })
    assert.deepStrictEqual(messages(picked([needy])), [
      `modules.0.use: "needy" needs "offering": add { "use": "offering" } before it`
    ])
    assert.deepStrictEqual(messages(picked([needy, plugin("offering")])), [
      `modules.0.use: "needy" needs "offering", which comes after it: move "offering" before it`
    ])
    assert.deepStrictEqual(messages(picked([plugin("offering"), needy])), [])
  })

  it("stay in their slot", () => {
    assert.deepStrictEqual(messages(picked([plugin("kraken", { slot: "prices" })], "modules")), [
      `modules.0.use: "kraken" belongs in "prices", not in "modules": move the entry there`
    ])
  })

  it("do not share an HTTP group, which would silently replace the other's handlers", () => {
    const entries = picked([
      plugin("a", { http: api("same", "get", "/a") }),
      plugin("b", { http: api("same", "get", "/b") })
    ])
    assert.deepStrictEqual(messages(entries), [
      `modules.1.use: the HTTP group "same" is in "a" and in "b": remove one of the two`
    ])
  })

  it("do not share a route, whatever its parameters are called", () => {
    const entries = picked([
      plugin("a", { http: api("a", "get", "/x/:id/y") }),
      plugin("b", { http: api("b", "get", "/x/:other/y") })
    ])
    assert.deepStrictEqual(messages(entries), [
      `modules.1.use: GET /x/:_/y is in "a" and in "b": remove one of the two`
    ])
  })

  it("do not share a route or a call with the runtime", () => {
    const entries = picked([
      plugin("a", { http: api("a", "get", "/metrics"), rpc: RpcGroup.make(Rpc.make("health.check")) as never })
    ])
    assert.deepStrictEqual(messages(entries), [
      `modules.0.use: GET /metrics is the runtime's own: remove "a", or tell its author`,
      `modules.0.use: the RPC "health.check" is the runtime's own: remove "a", or tell its author`
    ])
  })

  it("do not share an RPC tag", () => {
    const group = RpcGroup.make(Rpc.make("x.get")) as never
    assert.deepStrictEqual(messages(picked([plugin("a", { rpc: group }), plugin("b", { rpc: group })])), [
      `modules.1.use: the RPC "x.get" is in "a" and in "b": remove one of the two`
    ])
  })

  it("serve only environments the deployment serves", () => {
    const chain = plugin("evm", { slot: "chains" })
    assert.deepStrictEqual(messages(picked([chain], "chains", { environment: "mainnet" }), ["devnet"]), [
      `chains.0.options.environment: this deployment serves "devnet" only: remove the entry, `
      + `or add "mainnet" to "environments"`
    ])
    assert.deepStrictEqual(messages(picked([chain], "chains", { environment: "mainnet" }), ["devnet", "mainnet"]), [])
  })

  it("made for devnet never start on mainnet", () => {
    const simulated = plugin("simulated", { slot: "chains", environments: ["devnet"] })
    assert.deepStrictEqual(messages(picked([simulated]), ["mainnet"]), [
      `chains.0.use: "simulated" is made for devnet only, and this deployment serves "mainnet": remove it`
    ])
    assert.deepStrictEqual(messages(picked([simulated], "chains", { environment: "mainnet" }), ["mainnet"]), [
      `chains.0.options.environment: "simulated" never serves mainnet: it is made for devnet only`
    ])
    assert.deepStrictEqual(messages(picked([simulated]), ["devnet", "mainnet"]), [])
  })

  it("are judged all at once", () => {
    const entries = picked([
      plugin("a", { needs: { gone: Offered }, http: api("same", "get", "/a") }),
      plugin("b", { needs: { gone: Offered }, http: api("same", "get", "/a") })
    ])
    assert.strictEqual(messages(entries).length, 4)
  })
})
