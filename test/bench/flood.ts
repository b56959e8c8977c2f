/**
 * A flood of transfers of a token nobody lists, 16,000 in one block, and the honest payment beside them: how soon it is
 * credited, where the flood goes to its own invoice and where it goes to another one of another merchant.
 */
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { devnetXpub } from "../../modules/chains/simulated.ts"
import { type Anvil, anvil } from "../support/Anvil.ts"
import { configOf, type Service, startService, temporaryDirectory, until } from "../support/Service.ts"
import { sendFakeTransfers } from "../support/FakeTransfers.ts"
import type { Bench } from "./Bench.ts"
import { createDatabase, onDatabase, urlOf } from "./Database.ts"
import { median, type ReportLine } from "./Report.ts"

const fakes = 16_000
const database = "flood_till"
/** Before there was any limit, the payment was not credited within 400 s. */
const patienceMillis = 60_000

/** A new invoice of 10 dollars and its address. */
const opened = (service: Service, key: string) =>
  Effect.gen(function*() {
    const { json } = yield* service.call("/api/v1/invoices", {
      headers: { "x-api-key": key, "idempotency-key": randomUUID() },
      body: { amount: 10_000 }
    })
    const headers = json.payment_session_headers as Readonly<Record<string, string>>
    const tokens = yield* service.call("/api/v1/payments/available-tokens?mode=network&network=base", { headers })
    const token = tokens.json.find((each: any) => each.token_symbol === "USDC")
    const shown = yield* service.call("/api/v1/payments/payment-addresses", {
      headers,
      body: { network: "base", token_id: token.id }
    })
    return { id: json.invoice_id as string, address: shown.json.temp_address as string }
  })

/**
 * Milliseconds from the honest payment's block to the paid invoice, with the flood at `target` in it or the one before.
 */
const credited = (
  node: Anvil,
  query: (text: string) => Effect.Effect<ReadonlyArray<any>>,
  honest: { readonly id: string; readonly address: string },
  target: string,
  contract: string,
  isBefore: boolean
) =>
  Effect.gen(function*() {
    yield* node.rpc("evm_setAutomine", false)
    yield* sendFakeTransfers(node, { contract, count: fakes, from: node.accounts[1]!, to: target })
    if (isBefore) yield* node.mine(1)
    yield* node.token("mint", [honest.address, 10_000_000n])
    yield* node.mine(1)
    const mined = performance.now()
    yield* node.rpc("evm_setAutomine", true)
    const block = yield* node.rpc("eth_getBlockByNumber", "latest", false)
    yield* until(
      "the honest payment is credited",
      query(`select status from invoices where id = '${honest.id}'`),
      ([row]) => row.status === "paid",
      patienceMillis
    )
    const millis = performance.now() - mined
    return { millis, transactions: block.transactions.length as number }
  })

export const flood = ({ progress, rounds, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const node = yield* anvil("base")
    yield* node.rpc("evm_setBlockGasLimit", "0x3b9aca00")
    yield* createDatabase(server, database)
    const options = {
      network: "base",
      environment: "devnet",
      rpc: [node.url],
      xpub: devnetXpub,
      // The first addresses of this key are the node's own accounts.
      startIndex: 10,
      pollMillis: 100
    }
    const service = yield* startService({
      directory: yield* temporaryDirectory,
      config: {
        ...configOf({ database: urlOf(server, database), chains: [{ use: "evm", options }] }),
        telemetry: { logs: "json", level: "info" }
      }
    })
    const query = (text: string) => onDatabase(server, database, async (client) => (await client.query(text)).rows)
    const { merchant_key: key } = yield* service.keys
    const floods = [
      { where: "its own address", isOwn: true, isBefore: false, times: [] as Array<number> },
      { where: "its own address, a block before", isOwn: true, isBefore: true, times: [] as Array<number> },
      { where: "another invoice, a block before", isOwn: false, isBefore: true, times: [] as Array<number> }
    ]
    for (let round = 1; round <= rounds; round++) {
      for (const [place, { isBefore, isOwn, times, where }] of floods.entries()) {
        const honest = yield* opened(service, key)
        const target = isOwn ? honest : yield* opened(service, key)
        const contract = `0x${(0xbad000 + round * floods.length + place).toString(16).padStart(40, "0")}`
        const { millis, transactions } = yield* credited(node, query, honest, target.address, contract, isBefore)
        times.push(millis)
        const [rows] = yield* query(
          "select count(*)::int as n, count(*) filter (where handled <> status)::int as left from transfers"
        )
        progress(
          `flood ${round}/${rounds}, at ${where}: ${millis.toFixed(0)} ms, ${transactions} transactions, `
            + `journal ${rows.n} rows, ${rows.left} of them waiting`
        )
      }
    }
    const section = "flood"
    return floods.map(({ times, where }): ReportLine => ({
      section,
      what: `honest payment credited, flood at ${where}`,
      value: median(times),
      unit: "ms",
      goal: { atMost: 2_000 },
      note: `slowest ${Math.max(...times).toFixed(0)} ms; ${fakes} fake transfers in a block`
    }))
  }))
