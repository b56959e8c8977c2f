/**
 * Goal: what an operator says to the service about a chain repairs it and never costs anybody money, whatever the
 * operator gets wrong and whatever fails meanwhile.
 * Method: the real process on mainnet rules between two endpoints that go wrong on demand, a real node, the real door.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { withLogs } from "../support/NodeProxy.ts"
import { reportOf, town } from "../support/Operator.ts"
import { until } from "../support/Service.ts"

const limitMillis = 240_000

describe("a report over the internal door", () => {
  it.live("that names another invoice's address takes nothing from either invoice, and holds neither", () =>
    Effect.gen(function*() {
      const { call, caughtUp, endpoints, invoice, node, openShop, order, pay } = yield* town()
      const shop = yield* openShop
      const [payer, named] = [yield* order(shop, 5), yield* order(shop, 5)]
      // Neither endpoint shows the payment at first, so the report is the first that is heard of it.
      for (const endpoint of endpoints) endpoint.set(withLogs(() => []))
      const paid = yield* pay(payer.address, 5)
      yield* caughtUp
      assert.strictEqual((yield* call("chains.report", reportOf(paid, named.address))).value?.status, "reported")
      yield* until("the named invoice hears of it", invoice(shop, named.id), ({ payments }) => payments.length > 0)
      for (const endpoint of endpoints) endpoint.set("through")
      yield* node.mine(3)
      const right = yield* call("chains.report", reportOf(paid, payer.address))
      assert.isDefined(right.value, right.text)
      const credited = yield* until("the payer's invoice is paid", invoice(shop, payer.id), (found) =>
        found.invoice.status === "paid")
      assert.deepStrictEqual(credited.payments.map(({ status }) => status), ["confirmed"])
      const freed = yield* until("the named invoice is free", invoice(shop, named.id), ({ payments }) =>
        payments.every(({ status }) => status === "reverted"))
      assert.strictEqual(freed.invoice.status, "unpaid")
    }).pipe(Effect.scoped), limitMillis)
})
