/**
 * Goal: what was paid to a merchant's forwarders comes to the payee by one signature of anybody, and to nobody else.
 * Method: a real EVM node and the whole service; a wallet that is nobody's and knows only the exported payload.
 */
import { NodeServices } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { createWalletClient, encodeFunctionData, erc20Abi, type Hex, http } from "viem"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"
import { baseSepolia } from "viem/chains"
import collectorBuild from "../../modules/chains/evm/contracts/Collector.json" with { type: "json" }
import { keylessDeployer } from "../../modules/chains/evm/Contracts.ts"
import { anvil, usdc } from "../support/Anvil.ts"
import { startLocalService } from "../support/LocalService.ts"
import { callsOf } from "../support/PayoutTown.ts"
import { exchange, until } from "../support/Service.ts"
import { assertStatus } from "./Shop.ts"

/** Invoices of a run: 200 are one signature; COLLECT_INVOICES names another number. */
const invoiceCount = Number(process.env["COLLECT_INVOICES"] ?? 20)

/** Base units of an invoice of 50 dollars. */
const price = 50_000_000n

it.live(
  "what invoices were paid to forwarders comes to the payee by one signature of anybody",
  () =>
    Effect.gen(function*() {
      const node = yield* anvil("base")
      yield* node.send({ to: keylessDeployer, data: `0x${"0".repeat(64)}${collectorBuild.bytecode.slice(2)}` })
      const { url } = yield* startLocalService([{
        use: "evm",
        options: { network: "base", environment: "devnet", rpc: [node.url], pollMillis: 50 }
      }])
      const ask = (path: string, by: object, body?: object, method?: string) =>
        exchange(url, path, {
          headers: { "idempotency-key": randomUUID(), ...by },
          ...(body === undefined ? {} : { body }),
          ...(method === undefined ? {} : { method })
        })
      const ok = (path: string, by: object, body?: object, method?: string) =>
        Effect.map(ask(path, by, body, method), (answer) => {
          const json = assertStatus(200, answer)
          return json.data ?? json
        })
      const owner = privateKeyToAccount(generatePrivateKey())
      const { message } = yield* ok("/api/v1/auth/nonce", {}, { address: owner.address, network: "base" })
      const signature = yield* Effect.promise(() => owner.signMessage({ message }))
      const session = yield* ok("/api/v1/auth/verify", {}, { message, signature })
      const person = { authorization: `Bearer ${session.access_token}` }
      const payee = privateKeyToAccount(generatePrivateKey()).address
      yield* ok("/api/v1/merchant/wallets/evm", person, { kind: "forwarder", value: payee }, "PUT")

      const pay = Effect.fnUntraced(function*() {
        const made = yield* ok("/api/v1/invoices", person, { amount_usd: 50 })
        const payor = made.payment_session_headers
        const tokens = yield* until(
          "USDC is offered",
          Effect.map(
            exchange(url, "/api/v1/payments/available-tokens?mode=network&network=base", { headers: payor }),
            ({ json }) => json.filter((token: any) => token.token_symbol === "USDC")
          ),
          ({ length }) => length > 0
        )
        const shown = yield* ok("/api/v1/payments/payment-addresses", payor, {
          network: "base",
          token_id: tokens[0].id
        })
        yield* node.token("mint", [shown.temp_address as string, price])
        return made.invoice_id as string
      })
      const invoices = yield* Effect.forEach(Array.from({ length: invoiceCount }), pay)
      yield* node.mine(100)
      yield* Effect.forEach(
        invoices,
        (id) => until("it is paid", ok(`/api/v1/invoices/${id}`, person), ({ status }) => status === "paid")
      )
      const sum = price * BigInt(invoiceCount)

      // Paid, but not swept: the list says what lies there and how it is moved.
      const found = yield* until(
        "all of it is final",
        Effect.andThen(node.mine(1), ok("/api/v1/collectable?network=base", person)),
        ({ data }) => data[0]?.addresses === invoiceCount
      )
      assert.deepInclude(found.data[0], { network: "base", symbol: "USDC", method: "collector" })

      const batch = yield* ok("/api/v1/batches", person, { kind: "collect", network: "base" })
      assert.deepStrictEqual([batch.status, batch.lines_total, batch.parts.length], ["ready", invoiceCount, 1])
      const given = yield* ok(`/api/v1/batches/${batch.id}/export`, person, { part: 1, format: "transactions" })

      // Anybody signs, because it can go to the payee alone.
      const stranger = privateKeyToAccount(generatePrivateKey())
      yield* node.send({ to: stranger.address, value: 10n ** 18n })
      const wallet = createWalletClient({ account: stranger, chain: baseSepolia, transport: http(node.url) })
      const calls = callsOf(given)
      assert.strictEqual(calls.length, 1)
      const hash = yield* Effect.promise(() => wallet.sendTransaction({ ...calls[0]!, gas: 16_000_000n }))
      const receipt = yield* until(
        "it is mined",
        node.rpc("eth_getTransactionReceipt", hash),
        (mined: any) => mined !== null
      )
      assert.strictEqual(receipt.status, "0x1")
      const data = encodeFunctionData({ abi: erc20Abi, functionName: "balanceOf", args: [payee as Hex] })
      assert.strictEqual(BigInt(yield* node.rpc("eth_call", { to: usdc, data }, "latest")), sum)

      yield* until(
        "the batch is paid",
        Effect.andThen(node.mine(2), ok(`/api/v1/batches/${batch.id}`, person)),
        ({ status }) => status === "paid"
      )
      // A collect is no payment: every invoice and the balance are as before.
      for (const id of invoices) assert.strictEqual((yield* ok(`/api/v1/invoices/${id}`, person)).status, "paid")
      const nothing = yield* until(
        "nothing is left to collect",
        Effect.andThen(node.mine(1), ok("/api/v1/collectable?network=base", person)),
        ({ data: rest }) => rest.length === 0
      )
      assert.isFalse(nothing.has_more)
      const again = yield* ask("/api/v1/batches", person, { kind: "collect", network: "base" })
      assert.strictEqual(again.json.error.code, "BATCH_EMPTY")
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)) as Effect.Effect<void>,
  300_000
)
