/**
 * Goal: refunds leave a merchant's own wallet by one signature, once, and are paid only when the chain says so; a line
 * that the chain would refuse is named before anything is signed. Method: a real EVM node and the whole service; a
 * wallet that knows nothing but the exported payload.
 */
import { NodeServices } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { HDKey } from "@scure/bip32"
import { randomBytes, randomUUID } from "node:crypto"
import { createWalletClient, encodeFunctionData, erc20Abi, type Hex, http } from "viem"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"
import { baseSepolia } from "viem/chains"
import payerBuild from "../../modules/chains/evm/contracts/Payer.json" with { type: "json" }
import { keylessDeployer } from "../../modules/chains/evm/Contracts.ts"
import { anvil, usdc } from "../support/Anvil.ts"
import { startLocalService } from "../support/LocalService.ts"
import { exchange, until } from "../support/Service.ts"
import { callsOf } from "../support/PayoutTown.ts"
import { assertStatus } from "./Shop.ts"

/**
 * Refunds that one signature is to pay; the last one goes to a contract that takes no coin. PAYOUT_REFUNDS names
 * another number.
 */
const refundCount = Number(process.env["PAYOUT_REFUNDS"] ?? 12)

/** Code that refuses every call. */
const refusingCode = "0x60006000fd"

it.live(
  "refunds are signed once, the line that would fail is named, and nothing moves the second time",
  () =>
    Effect.gen(function*() {
      const node = yield* anvil("base")
      yield* node.send({ to: keylessDeployer, data: `0x${"0".repeat(64)}${payerBuild.bytecode.slice(2)}` })
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

      // A person of a new merchant, and a wallet with money that the service knows only by its address.
      const owner = privateKeyToAccount(generatePrivateKey())
      const { message } = yield* ok("/api/v1/auth/nonce", {}, { address: owner.address, network: "base" })
      const signature = yield* Effect.promise(() => owner.signMessage({ message }))
      const session = yield* ok("/api/v1/auth/verify", {}, { message, signature })
      const person = { authorization: `Bearer ${session.access_token}` }
      const account = HDKey.fromMasterSeed(randomBytes(32)).derive("m/44'/60'/0'")
      yield* ok("/api/v1/merchant/wallets/evm", person, { kind: "xpub", value: account.publicExtendedKey }, "PUT")
      const treasury = privateKeyToAccount(generatePrivateKey())
      yield* node.send({ to: treasury.address, value: 10n ** 19n })
      yield* node.token("mint", [treasury.address, 10_000_000_000n])

      const pay = Effect.fnUntraced(function*(symbol: string) {
        const made = yield* ok("/api/v1/invoices", person, { amount_usd: 50 })
        const payor = made.payment_session_headers
        const tokens = yield* until(
          `${symbol} is offered`,
          Effect.map(
            exchange(url, "/api/v1/payments/available-tokens?mode=network&network=base", { headers: payor }),
            ({ json }) => json.filter((token: any) => token.token_symbol === symbol)
          ),
          ({ length }) => length > 0
        )
        const shown = yield* ok("/api/v1/payments/payment-addresses", payor, {
          network: "base",
          token_id: tokens[0].id
        })
        const to: string = shown.temp_address
        if (symbol === "USDC") yield* node.token("mint", [to, 50_000_000n])
        else yield* node.send({ to, value: 50n * 10n ** 18n / 3_500n + 10n ** 13n })
        return made.invoice_id as string
      })
      const invoices = yield* Effect.forEach(
        Array.from({ length: refundCount }, (_, place) => place),
        (place) => pay(place === refundCount - 1 ? "ETH" : "USDC")
      )
      yield* node.mine(30)
      const destinations = invoices.map(() => privateKeyToAccount(generatePrivateKey()).address)
      yield* node.rpc("anvil_setCode", destinations.at(-1), refusingCode)
      const refunds = yield* Effect.forEach(
        invoices,
        Effect.fnUntraced(function*(id, place) {
          yield* until("it is paid", ok(`/api/v1/invoices/${id}`, person), ({ status }) => status === "paid")
          return yield* ok("/api/v1/refunds", person, {
            invoice_id: id,
            amount_mode: "remaining",
            reason: "requested_by_customer",
            fee_bearer: "merchant",
            destination: { network: "base", address: destinations[place] },
            auto_approve: true
          })
        })
      )

      const makeBatch = Effect.fnUntraced(function*(ids: ReadonlyArray<string>) {
        const batch = yield* ok("/api/v1/batches", person, {
          kind: "refunds",
          network: "base",
          from: treasury.address,
          refund_ids: ids
        })
        return yield* ok(`/api/v1/batches/${batch.id}/approve`, person, {})
      })
      const giveOut = (id: string, format: string) => ask(`/api/v1/batches/${id}/export`, person, { part: 1, format })

      // The chain is asked before anything is signed: the receiver that takes no coin is named.
      const all = yield* makeBatch(refunds.map(({ id }) => id))
      const refused = yield* giveOut(all.id, "eip5792")
      assert.deepStrictEqual(
        [refused.status, refused.json.error.code, refused.json.error.details.line],
        [409, "PAYOUT_LINE_REFUSED", refundCount],
        refused.text
      )
      yield* ok(`/api/v1/batches/${all.id}/cancel`, person, {})

      // Made anew without it, it is signed by a wallet that knows the payload alone.
      const batch = yield* makeBatch(refunds.slice(0, -1).map(({ id }) => id))
      const given = assertStatus(200, yield* giveOut(batch.id, "eip5792")).data
      assert.strictEqual((yield* giveOut(batch.id, "safe")).json.error.code, "EXPORT_LIVE")
      const wallet = createWalletClient({ account: treasury, chain: baseSepolia, transport: http(node.url) })
      const sign = Effect.forEach(callsOf(given), (call) =>
        Effect.promise(async () => {
          const hash = await wallet.sendTransaction({ ...call, gas: 10_000_000n })
          for (;;) {
            const receipt = await wallet.request({
              method: "eth_getTransactionReceipt" as never,
              params: [hash] as never
            })
            if (receipt !== null) return (receipt as { readonly status: Hex }).status
            await new Promise((resume) => setTimeout(resume, 20))
          }
        }))
      assert.deepStrictEqual(new Set(yield* sign), new Set(["0x1"]))
      const balanceOf = (address: string) =>
        Effect.map(
          node.rpc("eth_call", {
            to: usdc,
            data: encodeFunctionData({ abi: erc20Abi, functionName: "balanceOf", args: [address as Hex] })
          }, "latest"),
          BigInt
        )
      for (const destination of destinations.slice(0, -1)) {
        assert.strictEqual(yield* balanceOf(destination), 50_000_000n)
      }
      assert.strictEqual((yield* sign).at(-1), "0x0", "the contract refuses the second time")
      for (const destination of destinations.slice(0, -1)) {
        assert.strictEqual(yield* balanceOf(destination), 50_000_000n)
      }
      const paid = yield* until(
        "the batch is paid",
        Effect.andThen(node.mine(2), ok(`/api/v1/batches/${batch.id}?expand=lines`, person)),
        ({ status }) => status === "paid"
      )
      assert.strictEqual(paid.lines.length, refundCount - 1)
      for (const { id } of refunds.slice(0, -1)) {
        const refund = yield* ok(`/api/v1/refunds/${id}`, person)
        assert.deepStrictEqual([refund.status, refund.tx_hash], ["succeeded", paid.parts[0].tx_hash])
      }
      const left = yield* ok(`/api/v1/refunds/${refunds.at(-1)!.id}`, person)
      assert.strictEqual(left.status, "processing")
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)) as Effect.Effect<void>
)
