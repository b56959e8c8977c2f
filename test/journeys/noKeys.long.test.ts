/**
 * Goal: a signing key is nowhere in the service, which never needs one; the seed of a forwarder is where its owner asks
 * for it and in nothing that others see. Method: the service as a process over an EVM node; a wallet that holds its key
 * in the test alone signs in, approves and pays a batch; then the process's memory, the database and the log are
 * searched for it, in every form it could have.
 */
import { NodeServices } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { closeSync, openSync, readFileSync, readSync } from "node:fs"
import { createWalletClient, http } from "viem"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"
import { baseSepolia } from "viem/chains"
import payerBuild from "../../modules/chains/evm/contracts/Payer.json" with { type: "json" }
import collectorBuild from "../../modules/chains/evm/contracts/Collector.json" with { type: "json" }
import { keylessDeployer } from "../../modules/chains/evm/Contracts.ts"
import { anvil } from "../support/Anvil.ts"
import { callsOf } from "../support/PayoutTown.ts"
import { exchange, until } from "../support/Service.ts"
import { assertStatus } from "./Shop.ts"
import { openTown } from "./Town.ts"

/** Bytes of memory that are read at once; a needle across two reads is found by what they share. */
const readBytes = 16 * 1024 * 1024
const sharedBytes = 4_096

/** Which of the needles are in the memory of a process. Linux: what a debugger would see. */
const foundInMemory = (pid: number, needles: ReadonlyMap<string, Buffer>): ReadonlyArray<string> => {
  const found = new Set<string>()
  const memory = openSync(`/proc/${pid}/mem`, "r")
  const buffer = Buffer.alloc(readBytes)
  try {
    for (const line of readFileSync(`/proc/${pid}/maps`, "utf8").split("\n")) {
      const range = /^([0-9a-f]+)-([0-9a-f]+) rw/u.exec(line)
      if (range === null) continue
      const [start, end] = [Number.parseInt(range[1]!, 16), Number.parseInt(range[2]!, 16)]
      for (let at = start; at < end; at += readBytes - sharedBytes) {
        let read = 0
        try {
          read = readSync(memory, buffer, 0, Math.min(readBytes, end - at), at)
        } catch {
          // A range that was given back since the list was read.
          continue
        }
        const seen = buffer.subarray(0, read)
        for (const [name, needle] of needles) if (seen.includes(needle)) found.add(name)
      }
    }
  } finally {
    closeSync(memory)
  }
  return [...found].toSorted()
}

/** A key in the forms in which a program would have it. */
const formsOf = (name: string, hex: string): ReadonlyArray<readonly [string, Buffer]> => {
  const bytes = Buffer.from(hex, "hex")
  return [
    [`${name} as bytes`, bytes],
    [`${name} as hex`, Buffer.from(hex)],
    [`${name} as HEX`, Buffer.from(hex.toUpperCase())],
    [`${name} as UTF-16`, Buffer.from(hex, "utf16le")],
    [`${name} as base64`, Buffer.from(bytes.toString("base64"))]
  ]
}

it.live.skipIf(process.platform !== "linux")(
  "a wallet's key is nowhere in the service, and a forwarder's seed in nothing that others see",
  () =>
    Effect.gen(function*() {
      const node = yield* anvil("base")
      for (const { bytecode } of [payerBuild, collectorBuild]) {
        yield* node.send({ to: keylessDeployer, data: `0x${"0".repeat(64)}${bytecode.slice(2)}` })
      }
      const { service, sql } = yield* openTown({
        chains: [{ use: "evm", options: { network: "base", environment: "devnet", rpc: [node.url], pollMillis: 25 } }]
      })
      const ask = (path: string, by: object, body?: object, method?: string) =>
        Effect.map(
          exchange(service.url, path, {
            headers: { "idempotency-key": randomUUID(), ...by },
            ...(body === undefined ? {} : { body }),
            ...(method === undefined ? {} : { method })
          }),
          (answer) => {
            const json = assertStatus(200, answer)
            return json.data ?? json
          }
        )
      const key = generatePrivateKey()
      const wallet = privateKeyToAccount(key)
      yield* node.send({ to: wallet.address, value: 10n ** 19n })
      yield* node.token("mint", [wallet.address, 1_000_000_000n])
      const { message } = yield* ask("/api/v1/auth/nonce", {}, { address: wallet.address, network: "base" })
      const signature = yield* Effect.promise(() => wallet.signMessage({ message }))
      const session = yield* ask("/api/v1/auth/verify", {}, { message, signature })
      const person = { authorization: `Bearer ${session.access_token}` }

      const payee = privateKeyToAccount(generatePrivateKey()).address
      yield* ask("/api/v1/merchant/wallets/evm", person, { kind: "forwarder", value: payee }, "PUT")
      const { wallets: [recovery] } = yield* ask("/api/v1/merchant/wallets/evm/recovery", person)
      const seed: string = recovery.seed.replace(/^0x/u, "")
      assert.match(seed, /^[0-9a-f]{64}$/u)

      const { tokens } = yield* ask("/api/v1/merchant/tokens", person)
      const token = tokens.find((each: any) => each.network === "base" && each.token_symbol === "USDC").id
      const batch = yield* ask("/api/v1/batches", person, {
        kind: "payouts",
        network: "base",
        from: wallet.address,
        lines: [{
          token_id: token,
          token_amount: "5",
          destination: { address: privateKeyToAccount(generatePrivateKey()).address }
        }]
      })
      yield* ask(`/api/v1/batches/${batch.id}/approve`, person, {})
      const given = yield* ask(`/api/v1/batches/${batch.id}/export`, person, { part: 1, format: "eip5792" })
      const client = createWalletClient({ account: wallet, chain: baseSepolia, transport: http(node.url) })
      for (const call of callsOf(given)) {
        yield* Effect.promise(() => client.sendTransaction({ ...call, gas: 5_000_000n }))
      }
      yield* until(
        "the batch is paid",
        Effect.andThen(node.mine(1), ask(`/api/v1/batches/${batch.id}`, person)),
        ({ status }) => status === "paid"
      )

      // What a payor and the merchant's listeners are told of an invoice on a forwarder.
      const invoice = yield* ask("/api/v1/invoices", person, { amount_usd: 5 })
      const payor = invoice.payment_session_headers
      const shown = yield* ask("/api/v1/payments/payment-addresses", payor, { network: "base", token_id: token })
      const told = JSON.stringify([
        invoice,
        shown,
        yield* ask("/api/v1/payments/available-tokens?mode=network&network=base", payor),
        yield* ask("/api/v1/events?limit=100", person),
        yield* ask("/api/v1/audit-log?limit=100", person),
        yield* ask("/api/v1/merchant/wallets", person)
      ])
      assert.isFalse(told.toLowerCase().includes(seed), "the seed of a forwarder was told")
      assert.isFalse(service.output().toLowerCase().includes(seed), "the seed of a forwarder was logged")

      // The search finds what is there: the address of the wallet, which the service knows.
      const known = Buffer.from(wallet.address.slice(2))
      const secret = key.slice(2)
      const needles = new Map<string, Buffer>([["the address", known], ...formsOf("the key", secret)])
      assert.deepStrictEqual(foundInMemory(service.pid, needles), ["the address"])
      assert.isFalse(service.output().toLowerCase().includes(secret))
      const tables = yield* Effect.orDie(
        sql<{ name: string }>`SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'`
      )
      let hasAddress = false
      for (const { name } of tables) {
        const rows = yield* Effect.orDie(sql<{ text: string }>`SELECT t::text AS text FROM ${sql(name)} t`)
        for (const { text } of rows) {
          assert.isFalse(text.toLowerCase().includes(secret), `${name} holds the wallet's key`)
          if (text.includes(wallet.address)) hasAddress = true
        }
      }
      assert.isTrue(hasAddress, "the search of the tables finds what is there")
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)) as Effect.Effect<void>
)
