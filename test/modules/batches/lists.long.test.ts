/**
 * Goal: a transfer pays one line, once, also where lists of several batches and other parts look the same to the chain.
 * Method: a whole devnet over HTTP; then a real EVM network, whose lists leave a wallet that is linked, and two
 * processes on one database that look for the same transfer at once.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { encodeFunctionData, erc20Abi } from "viem"
import { generatePrivateKey, type LocalAccount, mnemonicToAccount, privateKeyToAccount } from "viem/accounts"
import { makeProofs } from "../../../modules/batches/repo/Proofs.ts"
import { type Anvil, anvil, usdc } from "../../support/Anvil.ts"
import { connect, migratedDatabase, type TestDatabase } from "../../support/Database.ts"
import { configOf, type Service, startService, temporaryDirectory, until } from "../../support/Service.ts"
import { DevnetService, okData } from "../simulator/DevnetService.ts"
import {
  approve,
  ask,
  giveOut,
  look,
  newShop,
  payout,
  payoutsBatch,
  play,
  read,
  readUntil,
  receiver,
  type Shop
} from "./BatchShop.ts"

const exceptionsOf = (shop: Shop) =>
  Effect.map(ask(shop.key, "/api/v1/exceptions"), ({ data }): ReadonlyArray<any> => data)

const givenOut = Effect.fnUntraced(function*(shop: Shop, amount: string, format: string) {
  const batch = okData(yield* payoutsBatch(shop.key, [yield* payout(amount)]))
  yield* approve(shop, batch)
  okData(yield* giveOut(shop.key, batch, format))
  return batch as { readonly id: string }
})

const lineOf = (shop: Shop, batch: { readonly id: string }) =>
  Effect.map(read(shop, batch), ({ lines: [line] }) => [line.status, line.tx_hash])

layer(DevnetService.layer, { excludeTestServices: true })("lists that look the same", (it) => {
  it.effect("each take a transfer of their own, and none is told twice", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      const first = yield* givenOut(shop, "41", "csv")
      const second = yield* givenOut(shop, "41", "csv")
      const { tx_hash: one } = yield* play(shop, first)
      yield* readUntil(shop, first, "paid")
      yield* look(shop, second)
      yield* look(shop, first)
      assert.deepStrictEqual(yield* lineOf(shop, second), ["pending", null])
      // Whoever sends it: what it looks like decides.
      const { tx_hash: two } = yield* play(shop, first)
      yield* look(shop, first)
      yield* look(shop, second)
      yield* readUntil(shop, second, "paid")
      assert.deepStrictEqual(yield* lineOf(shop, first), ["paid", one])
      assert.deepStrictEqual(yield* lineOf(shop, second), ["paid", two])
      yield* look(shop, first)
      assert.deepStrictEqual(yield* exceptionsOf(shop), [])
      const { tx_hash: three } = yield* play(shop, second)
      yield* look(shop, first)
      const told = yield* until("the third is told", exceptionsOf(shop), (found) => found.length > 0)
      assert.deepStrictEqual(told.map(({ tx_hash, type }) => [tx_hash, type]), [[three, "duplicate_payout"]])
    }))

  it.effect("show what pays them to whoever reads a report, and on their own network only", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      const { services } = yield* DevnetService
      const { shownTransfers } = makeProofs(Context.get(services, SqlClient.SqlClient))
      const batch = yield* givenOut(shop, "47", "eip5792")
      const { tx_hash: txHash } = yield* play(shop, batch)
      yield* readUntil(shop, batch, "paid")
      const shown = (network: "base" | "optimism", environment: "devnet" | "mainnet") =>
        Effect.map(shownTransfers({ network, environment, txHash }), ({ size }) => size)
      assert.strictEqual(yield* shown("base", "devnet"), 1)
      assert.strictEqual(yield* shown("optimism", "devnet"), 0)
      assert.strictEqual(yield* shown("base", "mainnet"), 0)
    }))

  it.effect("as a part with a name of its own leave it what pays it", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      const list = yield* givenOut(shop, "43", "csv")
      const named = yield* givenOut(shop, "43", "eip5792")
      yield* play(shop, named)
      yield* look(shop, list)
      yield* readUntil(shop, named, "paid")
      yield* look(shop, list)
      assert.deepStrictEqual(yield* lineOf(shop, list), ["pending", null])
      assert.deepStrictEqual(yield* exceptionsOf(shop), [])
      yield* play(shop, list)
      yield* readUntil(shop, list, "paid")
      assert.deepStrictEqual(yield* exceptionsOf(shop), [])
    }))
})

type Credential = Readonly<Record<string, string>>

const askAt = (service: Service, by: Credential, path: string, body?: object) =>
  Effect.map(
    service.call(path, {
      method: body === undefined ? "GET" : "POST",
      headers: { ...by, "idempotency-key": randomUUID() },
      ...(body === undefined ? {} : { body })
    }),
    ({ json, status, text }) => {
      assert.strictEqual(status, 200, text)
      return json.data ?? json
    }
  )

const signIn = Effect.fnUntraced(function*(service: Service, account: LocalAccount) {
  const { message } = yield* askAt(service, {}, "/api/v1/auth/nonce", { address: account.address, network: "base" })
  const signature = yield* Effect.promise(() => account.signMessage({ message }))
  const session = yield* askAt(service, {}, "/api/v1/auth/verify", { message, signature })
  return { authorization: `Bearer ${session.access_token}` }
})

/** The account that signs for `node.accounts[1]`, by the words that anvil takes everywhere. */
const payingAccount = mnemonicToAccount("test test test test test test test test test test test junk", {
  addressIndex: 1
})

const realChain = (node: Anvil) =>
  [{ use: "evm", options: { network: "base", environment: "devnet", rpc: [node.url], pollMillis: 25 } }] as const

/** A node whose second account has tokens, and two instances that follow it on one database. */
class RealNetwork extends Context.Service<RealNetwork, {
  readonly node: Anvil
  readonly database: TestDatabase
  readonly here: Service
  readonly there: Service
}>()("test/RealNetwork") {
  static readonly layer = Layer.effect(
    RealNetwork,
    Effect.gen(function*() {
      const node = yield* anvil("base")
      yield* node.token("mint", [node.accounts[1]!, 1_000_000_000n])
      const database = yield* migratedDatabase
      const config = configOf({ database: database.url, chains: realChain(node) })
      const start = Effect.flatMap(temporaryDirectory, (directory) => startService({ directory, config }))
      const [here, there] = yield* Effect.all([start, start], { concurrency: 2 })
      return { node, database, here, there }
    })
  )
}

/** A batch of one payout of 2 USDC from the second account, approved. */
const approvedPayout = Effect.fnUntraced(function*(service: Service, person: Credential, amount = "2") {
  const { tokens } = yield* askAt(service, person, "/api/v1/merchant/tokens")
  const token = tokens.find((each: any) => each.network === "base" && each.token_symbol === "USDC").id
  const lines = [{ token_id: token, token_amount: amount, destination: { address: receiver } }]
  const batch = { kind: "payouts", network: "base", from: payingAccount.address, lines }
  const { id } = yield* askAt(service, person, "/api/v1/batches", batch)
  yield* askAt(service, person, `/api/v1/batches/${id}/approve`, {})
  return `/api/v1/batches/${id}`
})

const exportList = (service: Service, by: Credential, path: string) =>
  service.call(`${path}/export`, {
    method: "POST",
    headers: { ...by, "idempotency-key": randomUUID() },
    body: { part: 1, format: "csv" }
  })

const codeOf = ({ json, status }: { readonly json: any; readonly status: number }) =>
  status === 200 ? "given" : json.error.code as string

layer(RealNetwork.layer, { excludeTestServices: true })("on a real network", (it) => {
  it.effect(
    "a list leaves only a wallet that the merchant has shown to be its own, whoever names it first",
    () =>
      Effect.gen(function*() {
        const { here: service } = yield* RealNetwork
        const stranger = yield* signIn(service, privateKeyToAccount(generatePrivateKey()))
        const early = yield* approvedPayout(service, stranger)
        assert.strictEqual(codeOf(yield* exportList(service, stranger, early)), "WALLET_NOT_LINKED")
        const owner = yield* signIn(service, payingAccount)
        // Nothing that others have named is kept from its owner.
        assert.strictEqual(codeOf(yield* exportList(service, owner, yield* approvedPayout(service, owner))), "given")
        const late = yield* approvedPayout(service, stranger)
        assert.strictEqual(codeOf(yield* exportList(service, stranger, late)), "WALLET_NOT_LINKED")
        // Nor is anybody told what the owner has given out.
        const alike = yield* exportList(service, owner, yield* approvedPayout(service, owner))
        assert.strictEqual(codeOf(alike), "LINES_AMBIGUOUS")
      })
  )

  it.effect("of two lists with equal lines that are exported at once one is given out", () =>
    Effect.gen(function*() {
      const { here: service } = yield* RealNetwork
      const owner = yield* signIn(service, payingAccount)
      for (const amount of ["3", "4", "5"]) {
        const paths = yield* Effect.all([
          approvedPayout(service, owner, amount),
          approvedPayout(service, owner, amount)
        ])
        const answers = yield* Effect.forEach(paths, (path) => exportList(service, owner, path), { concurrency: 2 })
        assert.sameMembers(answers.map(codeOf), ["given", "LINES_AMBIGUOUS"])
      }
    }))

  it.effect("two instances count one transfer for one of two equal lines", () =>
    Effect.gen(function*() {
      const { database, here, node, there } = yield* RealNetwork
      // A session is of the instance's own URL.
      const [person, colleague] = [yield* signIn(here, payingAccount), yield* signIn(there, payingAccount)]
      const make = Effect.tap(approvedPayout(here, person, "7"), (path) => exportList(here, person, path))
      const first = yield* make
      // Two that are given out at once both find no other with the same line: as if the first had come in between.
      const sql = Context.get(yield* Effect.orDie(Layer.build(connect(database))), SqlClient.SqlClient)
      yield* sql`UPDATE batches SET version = version + 1, parts = jsonb_set(parts::jsonb, '{0,export,inputs}', '[]')
        WHERE id = ${first.split("/").at(-1)!}`
      const paths = [first, yield* make]
      const pay = node.send({
        from: node.accounts[1]!,
        to: usdc,
        data: encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [receiver, 7_000_000n] })
      })
      const lookAtOnce = (txHash: string) =>
        Effect.forEach(
          [[here, person, paths[0]!], [there, colleague, paths[1]!]] as const,
          ([service, by, path]) => askAt(service, by, `${path}/sent`, { part: 1, tx_hash: txHash }),
          { concurrency: 2 }
        )
      const lines = Effect.forEach(paths, (path) =>
        Effect.map(askAt(there, colleague, `${path}?expand=lines`), (batch: any) => batch.lines[0]))
      const paid = (found: ReadonlyArray<any>) =>
        found.filter(({ status }) => status === "paid")
      const one = yield* pay
      yield* lookAtOnce(one)
      yield* until("one line is paid", lines, (found) => paid(found).length > 0)
      // Both are looked for once more.
      yield* lookAtOnce(`0x${"ab".repeat(32)}`)
      yield* Effect.sleep("500 millis")
      assert.deepStrictEqual(paid(yield* lines).map(({ tx_hash }) => tx_hash), [one])
      const two = yield* pay
      yield* lookAtOnce(two)
      const both = yield* until("both are paid", lines, (found) => paid(found).length === 2)
      assert.deepStrictEqual(new Set(both.map(({ tx_hash }) => tx_hash)), new Set([one, two]))
      assert.deepStrictEqual((yield* askAt(here, person, "/api/v1/exceptions")).data, [])
    }))
})
