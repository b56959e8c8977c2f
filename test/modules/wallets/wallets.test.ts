/**
 * Goal: a merchant's funds arrive in the wallet the merchant set, no address ever serves two invoices, and what is not
 * a public key of the right kind is refused without being repeated. Method: the real routes, commit log and chains over
 * PostgreSQL; simulated chains, and one driver said to be mainnet's.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { secp256k1 } from "@noble/curves/secp256k1.js"
import { HDKey } from "@scure/bip32"
import { randomBytes, randomUUID } from "node:crypto"
import { publicKeyToAddress } from "viem/accounts"
import { bytesToHex } from "viem/utils"
import * as Actors from "../../../runtime/Actors.ts"
import { Chains, type ReceiveTarget } from "../../../runtime/Chains.ts"
import * as ChainsJournal from "../../../runtime/chains/TransferJournal.ts"
import { Credentials } from "../../../runtime/Http.ts"
import { devnetXpub, make as makeSimulated } from "../../../modules/chains/simulated.ts"
import { WalletsApi } from "../../../modules/wallets/api.ts"
import { migrations, tables } from "../../../modules/wallets/migrations.ts"
import { plugin } from "../../../modules/wallets/plugin.ts"
import type { Principal } from "../../../schemas/Auth.ts"
import { PublicError } from "../../../schemas/Errors.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { toChecksumAddress } from "../../../schemas/EvmAddress.ts"
import { catalogOf } from "../../fixtures/tokens.ts"
import { type Answer, Api, apiLayer, kernel, settingsLayer } from "../../support/Api.ts"
import { operatorKey, solePerson } from "../../fixtures/authorities.ts"

const abandonXpub =
  "xpub6DCoCpSuQZB2jawqnGMEPS63ePKWkwWPH4TU45Q7LPXWuNd8TMtVxRrgjtEshuqpK3mdhaWHPFsBngh5GFZaM6si3yZdUsT8ddYM3PwnATt"
const abandonAddresses = ["0x9858EfFD232B4033E47d90003D41EC34EcaEda94", "0x6Fac4D18c912343BF86fa7049364Dd4E424Ab9C0"]
/** The deployment's own wallet here. */
const devnetAddress = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"

/**
 * `<merchant>`, `<merchant>c` for its commerce key, `<merchant>m` for a person of it on mainnet, `<merchant>k` for its
 * mainnet key, `<merchant>w` for its wallet.
 */
const verify = (key: string) => {
  const [, merchant, what] = /^(\d+)([cmwk]?)$/.exec(key) ?? []
  return Effect.succeed(
    merchant === undefined ? null : {
      merchantId: Number.parseInt(merchant, 10),
      environment: what === "m" || what === "k" ? "mainnet" : "devnet",
      scope: what === "c" ? "commerce" : "merchant",
      kind: what === "w" || what === "m" ? "wallet" : "key",
      credential: `key_${key}`,
      apiVersion: "2026-01-15",
      ...(what === "w" || what === "m" ? solePerson : operatorKey)
    } as Principal
  )
}

/** Simulated EVM on devnet, and a driver for mainnet that sees no blocks and has no wallet of its own. */
const drivers = Layer.effectDiscard(Effect.gen(function*() {
  const chains = yield* Chains
  const { drivers: [driver] } = yield* makeSimulated({ networks: ["base"], blockMillis: 3_600_000 })
  yield* chains.register(driver!)
  yield* chains.register({ ...driver!, environment: "mainnet", wallet: null, follow: () => Stream.never })
}))

const served = apiLayer(
  [WalletsApi],
  Layer.mergeAll(
    plugin.layer({}),
    Layer.effectDiscard(Effect.flatMap(Credentials, (credentials) => credentials.register(verify)))
  ) as never,
  drivers.pipe(
    Layer.provideMerge(ChainsJournal.layer),
    Layer.provideMerge(Layer.mergeAll(Actors.layer, catalogOf())),
    Layer.provideMerge(
      kernel([{ name: "wallets", migrations, tables }], settingsLayer({ environments: ["devnet", "mainnet"] }))
    )
  )
) as unknown as Layer.Layer<Api | Chains>

const call = (
  key: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {}
) =>
  Effect.flatMap(Api, (api) =>
    api.call(`/api/v1/merchant/wallets${path}`, {
      method,
      headers: { "x-api-key": key, ...headers },
      ...(body === undefined ? {} : { body })
    }))

const put = (key: string, kind: string, value: string, more: object = {}) =>
  call(key, "PUT", "/evm", { kind, value, ...more })

const refused = (answer: Answer, status: number, code: string) => {
  assert.deepStrictEqual([answer.status, answer.json.code], [status, code], answer.text)
  assert.deepStrictEqual(Object.keys(answer.json), ["error", "code"])
}

const allocate = (merchantId: number, environment: Environment = "devnet", invoiceId: string = randomUUID()) =>
  Effect.flatMap(Chains, (chains) => chains.allocate({ merchantId, environment, family: "evm", invoiceId }))

const addressOf = ({ address }: ReceiveTarget) => address

/** The address at `0/index` of an account, by code that is not ours. */
const addressAt = (account: HDKey, index: number) => {
  const key = secp256k1.Point.fromBytes(account.deriveChild(0).deriveChild(index).publicKey!)
  return publicKeyToAddress(bytesToHex(key.toBytes(false)))
}

const newXpub = () => HDKey.fromMasterSeed(randomBytes(32)).derive("m/44'/60'/0'").publicExtendedKey

/** Addresses nobody has: from a number. */
const poolOf = (...numbers: ReadonlyArray<number>) =>
  numbers.map((each) => `0x${each.toString(16).padStart(40, "0")}`).join("\n")

layer(served)("receiving wallets", (it) => {
  it.effect("receive what the merchant's later invoices are paid, and show the owner's own first addresses", () =>
    Effect.gen(function*() {
      const before = randomUUID()
      assert.strictEqual(addressOf(yield* allocate(1, "devnet", before)), devnetAddress)
      const answer = yield* put("1", "xpub", abandonXpub)
      assert.strictEqual(answer.status, 200, answer.text)
      assert.deepStrictEqual(Object.keys(answer.json), [
        "id",
        "family",
        "kind",
        "environment",
        "value_preview",
        "first_addresses",
        "payee",
        "next_index",
        "highest_used_index",
        "addresses_left",
        "created_at",
        "pending_change"
      ])
      assert.deepStrictEqual(answer.json.first_addresses.slice(0, 2), abandonAddresses)
      assert.strictEqual(answer.json.value_preview, "xpub6DCoCpSu…wnATt")
      assert.strictEqual(answer.json.next_index, 0)
      assert.strictEqual(addressOf(yield* allocate(1)), abandonAddresses[0])
      assert.strictEqual(addressOf(yield* allocate(1, "devnet", before)), devnetAddress, "an address stays")
      const { json: { wallets: [listed, ...others] } } = yield* call("1", "GET", "")
      assert.deepStrictEqual(others, [])
      assert.deepStrictEqual(listed, { ...answer.json, next_index: 1 })
      const gone = yield* call("1", "DELETE", "/evm")
      assert.deepStrictEqual(gone.json, { success: true })
      refused(yield* call("1", "DELETE", "/evm"), 404, "NOT_FOUND")
      assert.notInclude(abandonAddresses, addressOf(yield* allocate(1)))
    }))

  it.effect("that somebody else receives in are refused, and it is not said whose they are", () =>
    Effect.gen(function*() {
      const xpub = newXpub()
      assert.strictEqual((yield* put("21", "xpub", xpub)).status, 200)
      assert.strictEqual((yield* put("21", "xpub", xpub)).status, 200, "its owner gives it again")
      assert.strictEqual(
        (yield* put("21m", "xpub", xpub, { start_index: 0 })).status,
        200,
        "and in the other environment"
      )
      for (const key of ["22", "22m"]) {
        const answer = yield* put(key, "xpub", ` ${xpub} `, { start_index: 0 })
        refused(answer, 400, "WALLET_INVALID")
        assert.include(answer.json.error, "already in use in this deployment")
        assert.notMatch(answer.text, /\b21\b/, "an address may hold these figures; a word may not be them")
      }
      assert.strictEqual((yield* call("21", "DELETE", "/evm")).status, 200)
      refused(yield* put("22", "xpub", xpub), 400, "WALLET_INVALID")
      assert.strictEqual((yield* put("21", "pool", poolOf(0xa1, 0xa2))).status, 200)
      refused(yield* put("22", "pool", poolOf(0xa1, 0xa2).replace("\n", ",")), 400, "WALLET_INVALID")
      refused(yield* put("22", "xpub", devnetXpub), 400, "WALLET_INVALID")
    }))

  it.effect("are set and removed on mainnet by a person only: a key that is lost must not say where money goes", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* put("24m", "pool", poolOf(0xb1))).status, 200)
      refused(yield* put("24k", "pool", poolOf(0xb2)), 403, "CREDENTIAL_NOT_ALLOWED")
      refused(yield* call("24k", "DELETE", "/evm"), 403, "CREDENTIAL_NOT_ALLOWED")
      const { json: { wallets: [kept] } } = yield* call("24k", "GET", "")
      assert.deepStrictEqual(kept.first_addresses, [`0x${"0".repeat(38)}b1`].map((each) => toChecksumAddress(each)))
    }))

  it.effect("of two merchants who give one at once one gets it", () =>
    Effect.gen(function*() {
      for (let round = 0; round < 5; round++) {
        const xpub = newXpub()
        const statuses = yield* Effect.forEach(["23", "24", "25"], (key) =>
          Effect.map(put(key, "xpub", xpub), ({ status }) => status), { concurrency: "unbounded" })
        assert.deepStrictEqual(statuses.toSorted(), [200, 400, 400])
      }
    }))

  it.effect("never give one address twice, however many ask at once", () =>
    Effect.gen(function*() {
      yield* put("26", "xpub", newXpub())
      const given = yield* Effect.forEach(Array.from({ length: 200 }), () => allocate(26), { concurrency: "unbounded" })
      assert.strictEqual(new Set(given.map(addressOf)).size, 200)
    }))

  it.effect("that are lists are used in order, once each, passing over what another list gave out", () =>
    Effect.gen(function*() {
      yield* put("32", "pool", poolOf(1, 2))
      assert.strictEqual(addressOf(yield* allocate(32)).toLowerCase(), poolOf(1))
      assert.strictEqual(addressOf(yield* allocate(32)).toLowerCase(), poolOf(2))
      yield* put("32", "pool", poolOf(3, 2, 4))
      assert.strictEqual(addressOf(yield* allocate(32)).toLowerCase(), poolOf(3))
      assert.strictEqual(addressOf(yield* allocate(32)).toLowerCase(), poolOf(4))
      const ended = yield* Effect.flip(allocate(32))
      assert.instanceOf(ended, PublicError)
      assert.strictEqual(ended.code, "UNSUPPORTED_NETWORK")
      yield* put("32", "pool", poolOf(3, 2, 4, 5))
      const { json } = yield* call("32", "GET", "")
      assert.strictEqual(json.wallets[0].next_index, 0, "a longer list is another wallet")
      assert.strictEqual(addressOf(yield* allocate(32)).toLowerCase(), poolOf(5))
    }))

  it.effect("are refused unless public and of the family, and a pasted secret is never repeated", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [string, string, string]> = [
        ["xpub", `0x${"ab".repeat(32)}`, "PRIVATE"],
        ["xpub", Array.from({ length: 12 }, () => "abandon").join(" "), "recovery phrase"],
        ["xpub", abandonXpub.replace("wnATt", "wnATs"), "checksum"],
        ["xpub", abandonAddresses[0]!, "xpub"],
        ["pool", `${poolOf(1)},0x${"ab".repeat(32)}`, "entry 2 looks like a PRIVATE key"],
        ["pool", poolOf(7, 7), "twice"],
        ["pool", poolOf(0), "entry 1"],
        ["pool", abandonAddresses[0]!.replace("9858Ef", "9858eF"), "checksum"],
        ["address", abandonAddresses[0]!, "tell invoices apart"]
      ]
      for (const [kind, value, reason] of cases) {
        const answer = yield* put("41", kind, value)
        refused(answer, 400, "WALLET_INVALID")
        assert.include(answer.json.error, reason)
        assert.notInclude(answer.text, value)
      }
      refused(yield* put("41", "xprv", abandonXpub), 400, "VALIDATION_ERROR")
      refused(yield* put("41", "xpub", ""), 400, "VALIDATION_ERROR")
      refused(yield* call("41", "PUT", "/dogecoin", { kind: "xpub", value: abandonXpub }), 400, "VALIDATION_ERROR")
      for (const family of ["solana", "ton", "sui", "cardano"]) {
        refused(
          yield* call("41", "PUT", `/${family}`, { kind: "xpub", value: abandonXpub }),
          400,
          "UNSUPPORTED_NETWORK"
        )
      }
      assert.deepStrictEqual((yield* call("41", "GET", "")).json, { wallets: [], pending_wallets: [] })
    }))

  it.effect("belong to one merchant and one environment, and to keys of merchant scope", () =>
    Effect.gen(function*() {
      yield* put("51", "pool", poolOf(51))
      assert.deepStrictEqual((yield* call("52", "GET", "")).json.wallets, [])
      assert.deepStrictEqual((yield* call("51m", "GET", "")).json.wallets, [])
      assert.strictEqual((yield* call("51m", "GET", "?environment=devnet")).json.wallets.length, 1)
      refused(yield* call("52", "DELETE", "/evm"), 404, "NOT_FOUND")
      refused(yield* call("51c", "GET", ""), 403, "SCOPE_MISMATCH")
      refused(yield* put("51c", "pool", poolOf(52)), 403, "SCOPE_MISMATCH")
      refused(yield* put("51", "pool", poolOf(52), { environment: "mainnet" }), 403, "ENVIRONMENT_FORBIDDEN")
      const named = yield* put("51w", "pool", poolOf(53), { environment: "mainnet" })
      assert.deepStrictEqual([named.status, named.json.environment], [200, "mainnet"])
      assert.strictEqual(addressOf(yield* allocate(51, "mainnet")).toLowerCase(), poolOf(53))
      assert.strictEqual(addressOf(yield* allocate(51)).toLowerCase(), poolOf(51))
    }))

  it.effect("of mainnet say where their addresses start, unless the deployment has given some out", () =>
    Effect.gen(function*() {
      const account = HDKey.fromMasterSeed(randomBytes(32)).derive("m/44'/60'/0'")
      const unsaid = yield* put("61m", "xpub", account.publicExtendedKey)
      refused(unsaid, 400, "VALIDATION_ERROR")
      assert.include(unsaid.json.error, "start_index")
      const said = yield* put("61m", "xpub", account.publicExtendedKey, { start_index: 7 })
      assert.deepStrictEqual([said.status, said.json.next_index], [200, 7])
      assert.strictEqual(addressOf(yield* allocate(61, "mainnet")), addressAt(account, 7))
      assert.strictEqual((yield* put("61m", "xpub", account.publicExtendedKey)).status, 200, "its counter is known")
      const raised = yield* put("61m", "xpub", account.publicExtendedKey, { start_index: 90 })
      assert.deepStrictEqual([raised.status, raised.json.next_index], [200, 90], "raised, it is passed over to")
      assert.strictEqual(addressOf(yield* allocate(61, "mainnet")), addressAt(account, 90))
    }))

  it.effect("may be set twice with one idempotency key: the second answer is the first", () =>
    Effect.gen(function*() {
      const key = { "idempotency-key": randomUUID() }
      const body = { kind: "pool", value: poolOf(71) }
      const first = yield* call("71", "PUT", "/evm", body, key)
      const second = yield* call("71", "PUT", "/evm", body, key)
      assert.strictEqual(second.text, first.text)
      assert.strictEqual(second.headers.get("idempotent-replayed"), "true")
    }))
})
