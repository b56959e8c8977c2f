/**
 * Goal: what an operator says to the service about a chain repairs it and never costs anybody money, whatever the
 * operator gets wrong and whatever fails meanwhile.
 * Method: the real process on mainnet rules between two endpoints that go wrong on demand, a real node, the real door.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { ringSize } from "../../runtime/chains/Points.ts"
import { anvil } from "../support/Anvil.ts"
import { usdc } from "../support/chaos/TestChain.ts"
import { forgedHeaders, type NodeAnswers } from "../support/NodeProxy.ts"
import { operatedService, reportOf, type RpcAnswer } from "../support/OperatedService.ts"
import { until } from "../support/Service.ts"

const limitMillis = 240_000

// Side by side, because each has a service and a node of its own and mostly waits, one of them for half a minute.
describe.concurrent("a report over the internal port", () => {
  it.live(
    "that names another invoice's address takes nothing from either invoice, and holds neither",
    () =>
      Effect.gen(function*() {
        const { call, caughtUp, endpoints, invoice, node, openShop, order, pay } = yield* operatedService()
        const shop = yield* openShop
        const [payer, named] = [yield* order(shop, 5), yield* order(shop, 5)]
        // Neither endpoint shows the payment at first, so the report is the first that is heard of it.
        for (const endpoint of endpoints) endpoint.set(forgedHeaders)
        const paid = yield* pay(payer.address, 5)
        yield* caughtUp
        assert.strictEqual((yield* call("chains.report", reportOf(paid, named.address))).value?.status, "reported")
        yield* until("the named invoice hears of it", invoice(shop, named.id), ({ payments }) => payments.length > 0)
        for (const endpoint of endpoints) endpoint.set("through")
        yield* node.mine(3)
        const right = yield* call("chains.report", reportOf(paid, payer.address))
        assert.isDefined(right.value, right.text)
        const credited = yield* until(
          "the payer's invoice is paid",
          invoice(shop, payer.id),
          (found) => found.invoice.status === "paid"
        )
        assert.deepStrictEqual(credited.payments.map(({ status }) => status), ["confirmed"])
        const freed = yield* until("the named invoice is free", invoice(shop, named.id), ({ payments }) =>
          payments.every(({ status }) =>
            status === "reverted"
          ))
        assert.strictEqual(freed.invoice.status, "unpaid")
      }).pipe(Effect.scoped),
    limitMillis
  )
})

/** What the door says of a payload: the public code with its field, or what its reader says of one of its fields. */
const refusalOf = ({ error, text, value }: RpcAnswer): string => {
  if (value !== undefined) return `taken: ${text}`
  return error === undefined ? text : `${error.code} ${error.param}: ${error.message}`
}

describe.concurrent("what an operator may not say", () => {
  it.live(
    "is refused with the field, its unit and what it may be, and nothing of it is written",
    () =>
      Effect.gen(function*() {
        const { call, openShop, order, sql, status } = yield* operatedService()
        const shop = yield* openShop
        const { address } = yield* order(shop, 5)
        const { head } = yield* status
        const place = { network: "base", environment: "mainnet" }
        const now = Math.floor(Date.now() / 1000)
        const right = {
          ...place,
          tx_hash: `0x${"ab".repeat(32)}`,
          index: 0,
          match_key: address,
          token_address: null,
          amount: "5",
          from: null,
          height: head,
          block_hash: `0x${"cd".repeat(32)}`,
          block_time: now
        }
        const told = {
          report: right,
          rescan: { ...place, from: "0", to: "0" },
          reanchor: place,
          restored: {
            environment: "mainnet",
            backup_time: now - 5
          }
        }
        const cases: ReadonlyArray<readonly [keyof typeof told, object, ...ReadonlyArray<string>]> = [
          ["rescan", { from: 1 }, "from", "decimal digits"],
          ["rescan", { from: "-1" }, "from", "no sign"],
          ["rescan", { to: "1e3" }, "to", "decimal digits"],
          ["rescan", { to: "9".repeat(60) }, "to", "1 to 18"],
          ["rescan", { from: "1", to: "0" }, "VALIDATION_ERROR from", "1 is above 0"],
          ["rescan", { to: "999999" }, "VALIDATION_ERROR to", `at most ${head}`],
          ["rescan", { network: "solana" }, "UNSUPPORTED_NETWORK network", "config"],
          ["rescan", { network: "dogecoin" }, "network", "arbitrum"],
          ["rescan", { environment: "devnet" }, "UNSUPPORTED_NETWORK network", "devnet"],
          ["rescan", { environment: "prod" }, "environment", "mainnet"],
          ["reanchor", { height: 5 }, "height", "text"],
          ["reanchor", { height: "-5" }, "height", "no sign"],
          ["reanchor", {}, "INVALID_TRANSITION", "rescan them"],
          ["reanchor", { network: "solana" }, "UNSUPPORTED_NETWORK network", "config"],
          ["restored", { backup_time: "now" }, "backup_time", "epoch seconds"],
          ["restored", { backup_time: now + 3_600 }, "VALIDATION_ERROR backup_time", "not in the future"],
          ["restored", { backup_time: now * 1_000 }, "VALIDATION_ERROR backup_time", "epoch seconds"],
          ["restored", { backup_time: -1 }, "VALIDATION_ERROR backup_time", "epoch seconds"],
          ["restored", { skip: -1 }, "VALIDATION_ERROR skip", "0 to 1000"],
          ["restored", { skip: 1_001 }, "VALIDATION_ERROR skip", "0 to 1000"],
          ["restored", { skip: 1.5 }, "skip", "whole number"],
          ["restored", { environment: "devnet" }, "VALIDATION_ERROR environment", "config"],
          ["report", { amount: "0" }, "VALIDATION_ERROR amount", "base units"],
          ["report", { amount: 5 }, "amount", "base units"],
          ["report", { amount: "-5" }, "amount", "no sign"],
          ["report", { amount: "9".repeat(90) }, "amount", "1 to 78"],
          ["report", { index: -1 }, "index", "0 to 2147483647"],
          ["report", { index: 2 ** 31 }, "index", "0 to 2147483647"],
          ["report", { index: 0.5 }, "index", "whole number"],
          ["report", { height: "999999999" }, "VALIDATION_ERROR height", "1000 above"],
          ["report", { block_time: now * 1_000 }, "VALIDATION_ERROR block_time", "epoch seconds"],
          ["report", { block_time: -1 }, "VALIDATION_ERROR block_time", "epoch seconds"],
          ["report", { block_time: "now" }, "block_time", "epoch seconds"],
          ["report", { match_key: `0x${"ef".repeat(20)}` }, "VALIDATION_ERROR match_key", "No invoice of mainnet"],
          ["report", { environment: "devnet" }, "VALIDATION_ERROR match_key", "environment"],
          ["report", { network: "solana", tx_hash: "1".repeat(64) }, "VALIDATION_ERROR match_key", "network"],
          ["report", { network: "solana" }, "VALIDATION_ERROR tx_hash", "base58"],
          ["report", { network: "ton" }, "VALIDATION_ERROR tx_hash", "without 0x"],
          ["report", { tx_hash: "ab".repeat(32) }, "VALIDATION_ERROR tx_hash", "0x and 64 hex digits"],
          ["report", { tx_hash: ` 0x${"ab".repeat(32)}` }, "VALIDATION_ERROR tx_hash", "0x and 64 hex digits"],
          ["report", { tx_hash: "" }, "tx_hash", "1 to 256"],
          ["report", { tx_hash: `balance:${address}:1` }, "VALIDATION_ERROR tx_hash", "transaction"],
          ["report", { tx_hash: "a".repeat(257) }, "tx_hash", "1 to 256"]
        ]
        for (const [name, change, ...words] of cases) {
          const said = refusalOf(yield* call(`chains.${name}`, { ...told[name], ...change }))
          for (const word of words) assert.include(said, word, `${name} ${JSON.stringify(change)}`)
          assert.notInclude(said, "taken")
          assert.notInclude(said, "SERVICE_UNAVAILABLE")
        }
        for (const name of Object.keys(told)) {
          for (const payload of [null, [], "x", 5]) {
            assert.include((yield* call(`chains.${name}`, payload)).text, "Failure")
          }
        }
        const written = yield* Effect.orDie(sql`SELECT id FROM transfers UNION ALL SELECT id FROM chain_repairs
        UNION ALL SELECT backup_time::text FROM restores`)
        assert.deepStrictEqual(written, [])
        // As wallets and explorers show them.
        const upper = { tx_hash: `0x${"AB".repeat(32)}`, match_key: `0x${address.slice(2).toUpperCase()}` }
        assert.strictEqual((yield* call("chains.report", { ...right, ...upper })).value?.status, "reported")
        const [row] = yield* Effect.orDie(sql<any>`SELECT tx_hash, match_key FROM transfers`)
        assert.deepStrictEqual(row, { tx_hash: right.tx_hash, match_key: address })
      }).pipe(Effect.scoped),
    limitMillis
  )
})

/** Blocks from `low` to `high` cannot be read whole. */
const blindBetween = (low: bigint, high: bigint): NodeAnswers => async (call, ask) => {
  const isHidden = call.method === "eth_getBlockReceipts" && BigInt(call.params[0]) >= low &&
    BigInt(call.params[0]) <= high
  if (isHidden) throw new Error("not now")
  return ask(call)
}

/** Blocks above `height` cannot be read whole. */
const blindAbove = (height: bigint): NodeAnswers => async (call, ask) => {
  if (call.method === "eth_getBlockReceipts" && BigInt(call.params[0]) > height) throw new Error("not now")
  return ask(call)
}

describe.concurrent("a reanchor", () => {
  it.live(
    "goes on after its process was killed, and credits each payment of the gap once",
    () =>
      Effect.gen(function*() {
        const { call, caughtUp, endpoints, invoice, node, openShop, order, restart, sql, status } =
          yield* operatedService()
        const shop = yield* openShop
        const orders = [yield* order(shop, 5), yield* order(shop, 5)]
        // Another beginning, another history. A fork of the node would do too, but now and then one stops to answer for
        // good when several calls ask it for what it has to ask the node for.
        const { timestamp } = yield* node.rpc("eth_getBlockByNumber", "0x0", false)
        const other = yield* anvil("base", "mainnet", undefined, undefined, [
          "--timestamp",
          String(Number(timestamp) + 1)
        ])
        yield* other.setCode(usdc)
        yield* node.mine(ringSize + 80)
        yield* caughtUp
        yield* other.mine(5)
        yield* other.token("mint", [orders[0]!.address, 5_000_000n], { at: usdc })
        yield* other.mine(20)
        yield* other.token("mint", [orders[1]!.address, 5_000_000n], { at: usdc })
        yield* other.mine(ringSize + 100)
        const first = BigInt(yield* node.rpc("eth_blockNumber")) - BigInt(ringSize + 80)
        for (const endpoint of endpoints) {
          endpoint.lead(other.url)
          endpoint.set(blindBetween(first + 16n, first + 40n))
        }
        yield* until("the chain is lost", status, ({ condition }) => condition === "no_common_block")
        yield* sql`UPDATE invoices SET expires_at = ${Math.floor(Date.now() / 1000)}, due_at = 0`.pipe(Effect.orDie)
        assert.isDefined((yield* call("chains.reanchor", { network: "base", environment: "mainnet" })).value)
        const repair = Effect.map(status, ({ repairs }) => repairs.find(({ kind }: any) => kind === "reanchor"))
        yield* until("it is half way", repair, (found) => found?.next === (first + 16n).toString())
        yield* restart("SIGKILL")
        assert.deepInclude(yield* repair, { status: "running", next: (first + 16n).toString() })
        const waiting = yield* invoice(shop, orders[1]!.id)
        assert.strictEqual(waiting.invoice.status, "unpaid")
        for (const endpoint of endpoints) endpoint.set("through")
        yield* until("it is done", repair, (found) => found?.status === "done")
        for (const { id } of orders) {
          const found = yield* until("the invoice is paid", invoice(shop, id), (each) => each.invoice.status === "paid")
          assert.deepStrictEqual(found.payments.map(({ status: state }) => state), ["confirmed"])
          assert.strictEqual(found.invoice.amount_paid, 5_000)
        }
      }).pipe(Effect.scoped),
    limitMillis
  )
})

describe.concurrent("a rescan", () => {
  it.live(
    "goes on after its endpoints failed half way and its process was killed, and credits each payment once",
    () =>
      Effect.gen(function*() {
        const { another, call, caughtUp, endpoints, invoice, node, openShop, order, pay, restart, sql, status } =
          yield* operatedService()
        const shop = yield* openShop
        for (const endpoint of endpoints) endpoint.set(forgedHeaders)
        const orders = [yield* order(shop, 5), yield* order(shop, 5)]
        const first = yield* pay(orders[0]!.address, 5)
        yield* node.mine(30)
        const second = yield* pay(orders[1]!.address, 5)
        yield* node.mine(5)
        yield* caughtUp
        const searched = Effect.orDie(sql<any>`SELECT searched::text FROM chain_cursors WHERE environment = 'mainnet'`)
        yield* until(
          "the blocks are searched in vain",
          searched,
          ([row]) => BigInt(row?.searched ?? -1) >= second.height
        )
        for (const endpoint of endpoints) {
          endpoint.set(blindAbove(first.height + 12n))
        }
        const rescan = {
          network: "base",
          environment: "mainnet",
          from: first.height.toString(),
          to: (yield* status).head
        }
        // Two at once are one.
        const asked = yield* Effect.all([call("chains.rescan", rescan), call("chains.rescan", rescan)], {
          concurrency: 2
        })
        for (const { text, value } of asked) assert.include(["waiting", "running"], value?.status, text)
        const repair = Effect.map(status, ({ repairs }) => repairs.find(({ kind }: any) => kind === "rescan"))
        yield* until("it is half way", repair, (found) => found?.next === (first.height + 13n).toString())
        const other = yield* another
        yield* restart("SIGKILL", Effect.sync(() => endpoints[1].set("through")))
        const done = yield* until("it is done", repair, (found) => found?.status === "done")
        assert.strictEqual(done.next, (BigInt(rescan.to) + 1n).toString())
        const seen = yield* call("chains.rescan", rescan, other)
        assert.isDefined(seen.value, seen.text)
        for (const { id } of orders) {
          const found = yield* until("the invoice is paid", invoice(shop, id), (each) => each.invoice.status === "paid")
          assert.deepStrictEqual(found.payments.map(({ status: state }) => state), ["confirmed"])
          assert.strictEqual(found.invoice.amount_paid, 5_000)
        }
      }).pipe(Effect.scoped),
    limitMillis
  )
})
