/**
 * Goal: no web page reaches the internal port through a name that it made point there.
 * Method: every kind of Host against the rule, and raw requests against a running service.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { isHostName, makeHostCheck } from "../../../runtime/rpc/Hosts.ts"
import { migratedDatabase } from "../../support/Database.ts"
import { configOf, rpcToken, type Service, startService, temporaryDirectory } from "../../support/Service.ts"
import { sendRaw, statusesIn } from "../../journeys/attacks/AttackedService.ts"

describe("the internal port", () => {
  const isAllowed = makeHostCheck(["0.0.0.0", "tillwire", "Payments.Internal", "pay_1"])

  it("is served by localhost, by any address and by the names of its settings, with or without a port", () => {
    for (
      const host of [
        undefined,
        "localhost",
        "localhost:8081",
        "LOCALHOST.",
        "127.0.0.1",
        "127.0.0.1:8081",
        "[::1]:8081",
        "10.1.2.3:1",
        "[fd00::2]",
        "0.0.0.0:8081",
        "tillwire:8081",
        "payments.internal",
        "PAYMENTS.INTERNAL.:8081",
        "pay_1"
      ]
    ) assert.isTrue(isAllowed(host), host)
  })

  it("is not served by any other name, however it is dressed up", () => {
    for (
      const host of [
        "evil.example",
        "evil.example:8081",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "tillwire.evil.example",
        "",
        "xtillwire",
        "127.0.0.1 ",
        "[127.0.0.1]",
        "[tillwire]",
        "::1",
        "a@localhost",
        "localhost:",
        "localhost:8081:1",
        "0x7f.1",
        "2130706433",
        "evil.example#localhost",
        "[::1",
        "[fe80::1%eth0]"
      ]
    ) assert.isFalse(isAllowed(host), host)
  })

  it("takes names and nothing else into its setting", () => {
    for (const name of ["tillwire", "a.b.internal", "pay_1", "x", "1"]) assert.isTrue(isHostName(name), name)
    for (
      const name of [
        "",
        "tillwire:8081",
        "http://tillwire",
        "*.internal",
        "*",
        "a b",
        "-a",
        "a.",
        "x".repeat(254),
        "[::1]"
      ]
    ) {
      assert.isFalse(isHostName(name), name)
    }
  })
})

class Deployment extends Context.Service<Deployment, Service>()("test/Deployment") {
  static readonly layer = Layer.effect(
    Deployment,
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const config = configOf({ database: database.url, chains: [{ use: "simulated" }] })
      return yield* startService({
        directory: yield* temporaryDirectory,
        config: { ...config, rpc: { ...config.rpc, allowedHosts: ["tillwire"] } }
      })
    })
  )
}

layer(Deployment.layer, { excludeTestServices: true })("a running service", (it) => {
  it.effect("answers a foreign host name on its internal port with 421, whatever is called, and says which setting is meant", () =>
    Effect.gen(function*() {
      const service = yield* Deployment
      const call = (host: string, line: string) =>
        sendRaw(
          service.rpcUrl,
          `${line} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${rpcToken}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`
        )
      for (const line of ["GET /metrics", "GET /health/ready", "POST /rpc", "GET /nowhere", "OPTIONS /rpc"]) {
        const refused = yield* call("evil.example:8081", line)
        assert.deepStrictEqual(statusesIn(refused), [421], line)
        assert.include(refused.text, "\"code\":\"HOST_NOT_ALLOWED\"")
        assert.include(refused.text, "rpc.allowedHosts")
      }
      // The authority of an absolute target counts before the header (RFC 9112, section 3.2.2).
      assert.deepStrictEqual(statusesIn(yield* call("localhost", "GET http://evil.example/metrics")), [421])
      for (const host of ["localhost:8081", "127.0.0.1", "tillwire:8081"]) {
        assert.deepStrictEqual(statusesIn(yield* call(host, "GET /metrics")), [200], host)
      }
      // The public port serves every name: it decides nothing there.
      const open = yield* sendRaw(
        service.url,
        "GET /health/live HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n"
      )
      assert.deepStrictEqual(statusesIn(open), [200])
    }))
})
