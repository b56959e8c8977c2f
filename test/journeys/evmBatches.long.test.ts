/**
 * Goal: a payout leaves the merchant's own wallet as people approved it, and is paid when a real chain
 * shows it.
 * Method: the service as a process over an EVM node; a wallet that is given nothing but the export.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { getAddress, type Hex } from "viem"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"
import { keylessDeployer } from "../../modules/chains/evm/Contracts.ts"
import { type Anvil, anvil, usdc } from "../support/Anvil.ts"
import { builds } from "../support/ContractRig.ts"
import { callsOf } from "../support/PayoutTown.ts"
import { until } from "../support/Service.ts"
import { assertStatus } from "./Shop.ts"
import { openTown, type Town } from "./Town.ts"

class EvmTown extends Context.Service<EvmTown, Town & { readonly node: Anvil }>()("test/EvmTown") {
  static readonly layer = Layer.effect(
    EvmTown,
    Effect.gen(function*() {
      const node = yield* anvil("base")
      yield* node.token("mint", [node.accounts[1]!, 1_000_000_000n])
      const data = `0x${"0".repeat(64)}${builds["Payer"]!.bytecode.slice(2)}`
      yield* node.send({ to: keylessDeployer, data, gas: 3_000_000n })
      const options = { network: "base", environment: "devnet", rpc: [node.url], pollMillis: 25 }
      const town = yield* openTown({ chains: [{ use: "evm", options }] })
      return { ...town, node }
    })
  )
}

type Credential = Readonly<Record<string, string>>

const send = (by: Credential, path: string, body?: object) =>
  Effect.flatMap(EvmTown, ({ service }) =>
    service.call(path, {
      method: body === undefined ? "GET" : "POST",
      headers: { ...by, "idempotency-key": randomUUID() },
      ...(body === undefined ? {} : { body })
    }))

const ask = (by: Credential, path: string, body?: object) =>
  Effect.map(send(by, path, body), (answer) => {
    const json = assertStatus(200, answer)
    return json.data ?? json
  })

/** A merchant who is signed in. */
const newPerson = Effect.gen(function*() {
  const account = privateKeyToAccount(generatePrivateKey())
  const { message } = yield* ask({}, "/api/v1/auth/nonce", { address: account.address, network: "base" })
  const signature = yield* Effect.promise(() => account.signMessage({ message }))
  const session = yield* ask({}, "/api/v1/auth/verify", { message, signature })
  return { authorization: `Bearer ${session.access_token}` }
})

layer(EvmTown.layer, { excludeTestServices: true })("a batch on a real EVM network", (it) => {
  it.effect("is approved, given to a wallet that signs it, and paid line by line; signed again it pays nothing", () =>
    Effect.gen(function*() {
      const { node } = yield* EvmTown
      const person = yield* newPerson
      const from = getAddress(node.accounts[1]!)
      const { tokens } = yield* ask(person, "/api/v1/merchant/tokens")
      const idOf = (symbol: string) =>
        tokens.find((each: any) => each.network === "base" && each.token_symbol === symbol).id
      const receivers = ["0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359", "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb"]
      const lines = [
        { token_id: idOf("USDC"), token_amount: "12.5", destination: { address: receivers[0] }, reference: "March" },
        { token_id: idOf("ETH"), token_amount: "0.25", destination: { address: receivers[1] } }
      ]
      const batch = yield* ask(person, "/api/v1/batches", { kind: "payouts", network: "base", from, lines })
      const path = `/api/v1/batches/${batch.id}`
      yield* ask(person, `${path}/approve`, {})
      const given = yield* ask(person, `${path}/export`, { part: 1, format: "eip5792" })
      assert.isTrue(given.simulated)
      const sign = Effect.forEach(callsOf(given), ({ data, to, value }) => node.send({ from, to, value, data }))
      yield* sign
      const read = ask(person, `${path}?expand=lines`)
      const paid: any = yield* until("the batch is paid", read, ({ status }: any) => status === "paid")
      assert.deepStrictEqual(paid.lines.map(({ status }: any) => status), ["paid", "paid"])
      assert.strictEqual(BigInt(yield* node.rpc("eth_getBalance", receivers[1], "latest")), 250_000_000_000_000_000n)
      assert.isAbove(Number(paid.parts[0].fee), 0)
      const [, again] = yield* sign
      const receipt = yield* node.rpc("eth_getTransactionReceipt", again)
      assert.strictEqual(receipt.status, "0x0")
      assert.strictEqual(paid.parts[0].tx_hash === again, false)
    }))

  it.effect("is not given out where its wallet has too little, or a line would be refused", () =>
    Effect.gen(function*() {
      const { node } = yield* EvmTown
      const person = yield* newPerson
      const { tokens } = yield* ask(person, "/api/v1/merchant/tokens")
      const token = tokens.find((each: any) => each.network === "base" && each.token_symbol === "USDC").id
      const line = { token_id: token, token_amount: "1000000", destination: { address: getAddress(node.accounts[2]!) } }
      const from = getAddress(node.accounts[1]!) as Hex
      const batch = yield* ask(person, "/api/v1/batches", { kind: "payouts", network: "base", from, lines: [line] })
      yield* ask(person, `/api/v1/batches/${batch.id}/approve`, {})
      const refused = yield* send(person, `/api/v1/batches/${batch.id}/export`, { part: 1, format: "safe" })
      const { error } = assertStatus(409, refused)
      assert.deepStrictEqual([error.code, error.details.tokens[0].token_address], ["INSUFFICIENT_FUNDS", usdc])
    }))
})
