/**
 * Goal: whoever adds up the exports and the chain by other code comes to what the reconciliation says, and finds what
 * the books have lost or have twice.
 * Method: a real EVM node and the whole service, both at the end of a month; `test/checker/Checker.ts` reads both from
 * outside. Faults are put into the database by SQL.
 */
import { NodeServices } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { secp256k1 } from "@noble/curves/secp256k1.js"
import { HDKey } from "@scure/bip32"
import { randomBytes, randomUUID } from "node:crypto"
import { publicKeyToAddress } from "viem/accounts"
import { bytesToHex } from "viem"
import { check } from "../checker/Checker.ts"
import { anvil, usdc } from "../support/Anvil.ts"
import { startLocalService } from "../support/LocalService.ts"
import { makeMerchants } from "../support/Merchants.ts"
import { exchange, type Service, until } from "../support/Service.ts"
import { assertStatus } from "./Shop.ts"

/** Addresses of the wallet that its owner looks at: more than are given out. */
const lookedAt = 20

/** Where coins go that their owner spends. */
const elsewhere = `0x${"e".repeat(40)}`

/** How long before the end of the month it begins, and how long after it the month is looked at. */
const earlySeconds = 3_600
const lateSeconds = 1_800

/** Blocks after the end of the month: more than a block needs to be final. */
const finalBlocks = 100

/** The end of the running month, and its name. */
const monthEnd = (now: Date) => ({
  period: now.toISOString().slice(0, 7),
  end: Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1) / 1_000
})

/** A clock that can be moved on; waiting goes on as ever. */
const movableClock = Effect.map(Clock.Clock, (clock) => {
  let aheadMillis = 0
  const moved: Clock.Clock = Object.assign(Object.create(clock) as Clock.Clock, {
    currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + aheadMillis,
    currentTimeMillis: Effect.map(clock.currentTimeMillis, (millis) => millis + aheadMillis)
  })
  return { clock: moved, moveBy: (seconds: number) => void (aheadMillis += Math.round(seconds * 1_000)) }
})

/** An address of the wallet, as its owner derives it. */
const addressAt = (account: HDKey, index: number) => {
  const key = secp256k1.Point.fromBytes(account.deriveChild(0).deriveChild(index).publicKey!)
  return publicKeyToAddress(bytesToHex(key.toBytes(false)))
}

/** The service in this process, whose EVM network is the node's. */
const startOn = ({ url }: { readonly url: string }) =>
  startLocalService([{ use: "evm", options: { network: "base", environment: "devnet", rpc: [url], pollMillis: 50 } }])

it.live(
  "a month of the exports and the chain comes to what the reconciliation says, and no fault hides in it",
  () =>
    Effect.gen(function*() {
      const { clock, moveBy } = yield* movableClock
      const now = new Date()
      // In the last hours of a month it is the next one whose end is looked at.
      const { end, period } = monthEnd(new Date(now.getTime() + 2 * earlySeconds * 1_000))
      const aheadSeconds = end - earlySeconds - Math.floor(now.getTime() / 1_000)
      moveBy(aheadSeconds)
      const node = yield* anvil("base")
      yield* node.rpc("evm_increaseTime", aheadSeconds)
      yield* node.mine(1)
      const { internalUrl, sql, url } = yield* Effect.provideService(startOn(node), Clock.Clock, clock)
      const [merchant] = yield* makeMerchants({ rpcUrl: internalUrl } as Service, 1)
      const headers = { "x-api-key": merchant!.key }
      const call = (path: string, body?: object, method?: string, more: object = headers) =>
        Effect.map(
          exchange(url, path, {
            ...(body === undefined ? {} : { body }),
            ...(method === undefined ? {} : { method }),
            headers: { ...more, "idempotency-key": randomUUID() }
          }),
          (answer) => assertStatus(200, answer)
        )
      const account = HDKey.fromMasterSeed(randomBytes(32)).derive("m/44'/60'/0'")
      yield* call("/api/v1/merchant/wallets/evm", { kind: "xpub", value: account.publicExtendedKey }, "PUT")
      const addresses = Array.from({ length: lookedAt }, (_, index) => addressAt(account, index))

      /** An invoice that is paid with so much more than it asks for, in base units. */
      const pay = Effect.fnUntraced(function*(symbol: string, more = 0n) {
        const made = yield* call("/api/v1/invoices", { amount_usd: 50 })
        const session = made.payment_session_headers
        const tokens = yield* until(
          `${symbol} is offered`,
          Effect.map(
            exchange(url, "/api/v1/payments/available-tokens?mode=network&network=base", { headers: session }),
            ({ json }) => json.filter((token: any) => token.token_symbol === symbol)
          ),
          ({ length }) => length > 0
        )
        const shown = yield* call(
          "/api/v1/payments/payment-addresses",
          { network: "base", token_id: tokens[0].id },
          "POST",
          session
        )
        const to: string = shown.temp_address
        if (symbol === "USDC") yield* node.token("mint", [to, 50_000_000n + more])
        else yield* node.send({ to, value: 50n * 10n ** 18n / 3_500n + 10n ** 13n + more })
        yield* node.mine(30)
        yield* until("it is paid", call(`/api/v1/invoices/${made.invoice_id}`), ({ status }) => status === "paid")
        return { id: made.invoice_id as string, to }
      })
      const paid = yield* pay("USDC")
      yield* pay("USDC", 7_000_000n)
      const coins = yield* pay("ETH")
      // Money that names no invoice: it comes to an address that was never given out.
      yield* node.token("mint", [coins.to, 3_000_000n])
      yield* node.mine(30)

      // The owner spends some coins, then the month ends.
      yield* node.rpc("anvil_impersonateAccount", coins.to)
      yield* node.send({ from: coins.to, to: elsewhere, value: 10n ** 15n, gas: 21_000n })
      yield* node.rpc("evm_increaseTime", earlySeconds + 60)
      const lastOfMonth = BigInt(yield* node.rpc("eth_blockNumber"))
      yield* node.mine(finalBlocks)
      // A wallet that cannot be read yet is tried again after a minute.
      yield* until(
        "a block of the next month is final",
        Effect.orDie(sql<{ finalized: bigint | null }>`SELECT finalized FROM chain_cursors`),
        ([cursor]) => (cursor?.finalized ?? 0n) > lastOfMonth
      )
      moveBy(earlySeconds + lateSeconds)
      const report = yield* until(
        "the wallet's balances are read",
        call(`/api/v1/reconciliation?period=${period}`),
        ({ data }) => data.wallets.length > 1 && data.wallets.every((each: any) => each.chain_balance !== null)
      )
      const checked = () =>
        Effect.promise(() =>
          check({ service: url, key: merchant!.key, node: node.url, network: "base", addresses, period })
        )
      const { findings, rollForwards } = yield* checked()
      assert.deepStrictEqual(findings, [])
      assert.sameMembers(rollForwards.map(({ asset }) => asset), [`base:${usdc}`, "base:native"])
      assert.deepStrictEqual(report.data.differences.map(({ cause }: any) => cause), ["external_spend"])

      const transactionOf = sql`SELECT balance_transaction_id FROM invoice_payments WHERE invoice_id = ${paid.id}::uuid`
      // A doubled credit: the same payment is booked twice.
      yield* sql`INSERT INTO ledger_entries SELECT merchant_id, transaction_id, step, line + 1, version, environment, kind,
      debit, credit, asset, units, usd_millis, created_at, payment_id FROM ledger_entries
      WHERE step = 1 AND transaction_id = (${transactionOf})`
      const doubled = yield* checked()
      assert.isTrue(doubled.findings.some((each) => /the books have/.test(each)), doubled.findings.join("\n"))
      yield* sql`DELETE FROM ledger_entries WHERE line > 1 AND transaction_id = (${transactionOf})`
      assert.deepStrictEqual((yield* checked()).findings, [])

      // A lost transfer: nothing here knows of a payment that the chain has.
      yield* sql`DELETE FROM ledger_entries WHERE transaction_id = (${transactionOf})`
      yield* sql`DELETE FROM transfers WHERE invoice_id = ${paid.id}`
      yield* sql`DELETE FROM invoice_payments WHERE invoice_id = ${paid.id}::uuid`
      const lost = yield* checked()
      assert.isTrue(
        lost.findings.some((each) => /no export knows the transactions 0x/.test(each)),
        lost.findings.join("\n")
      )
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
)
