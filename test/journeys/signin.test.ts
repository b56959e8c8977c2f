/**
 * Goal: the owner of a wallet of any family gets a token that works, and nobody else does. Method: the service as a
 * process with all five drivers and a real EVM node; wallets by other implementations, over HTTP.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { type Hex, keccak256, serializeErc6492Signature } from "viem"
import type { Network } from "../../schemas/Network.ts"
import { pageUrlOf } from "../../schemas/Web.ts"
import { type Anvil, anvil } from "../support/Anvil.ts"
import { migratedDatabase } from "../support/Database.ts"
import { configOf, type Service, startService, temporaryDirectory, type TestResponse } from "../support/Service.ts"
import {
  cardanoWallet,
  contractWalletCode,
  evmWallet,
  type SignInAccount,
  solanaWallet,
  suiWallet,
  tonWallet
} from "../support/SignInWallets.ts"

class Gate extends Context.Service<Gate, {
  readonly node: Anvil
  readonly service: Service
}>()("test/Gate") {
  static readonly layer = Layer.effect(
    Gate,
    Effect.gen(function*() {
      const node = yield* anvil("base")
      const database = yield* migratedDatabase
      const service = yield* startService({
        directory: yield* temporaryDirectory,
        config: configOf({
          database: database.url,
          chains: [{
            use: "evm",
            options: { network: "base", environment: "devnet", rpc: [node.url], pollMillis: 1_000 }
          }]
        })
      })
      return { node, service }
    })
  )
}

const post = (path: string, body: unknown) => Effect.flatMap(Gate, ({ service }) => service.call(path, { body }))

/** The message the service gives out, and what a wallet is told beside it. */
const ask = Effect.fnUntraced(function*(network: Network, address: string) {
  const { service } = yield* Gate
  const answer = yield* post("/api/v1/auth/nonce", { network, address })
  assert.strictEqual(answer.status, 200, answer.text)
  const { message, nonce } = answer.json.data as { readonly message: string; readonly nonce: string }
  const domain = new URL(pageUrlOf(service.url)).host
  return { message, asked: { nonce, domain, issuedAt: Math.floor(Date.now() / 1000) } }
})

type Question = Effect.Success<ReturnType<typeof ask>>

const answerOf = ({ asked, message }: Question, wallet: SignInAccount) =>
  Effect.map(Effect.promise(() => wallet.sign(asked, message)), ({ proof, publicKey, signature }) => ({
    message,
    signature,
    ...(publicKey === null ? {} : { public_key: publicKey }),
    ...(proof === null ? {} : { proof })
  }))

const verify = (body: object) => post("/api/v1/auth/verify", body)

const codeOf = ({ json, status }: TestResponse) => `${status} ${json.error?.code}`

const wallets: ReadonlyArray<readonly [Network, (seed: number) => SignInAccount]> = [
  ["base", evmWallet],
  ["solana", solanaWallet],
  ["ton", tonWallet("v5r1")],
  ["sui", suiWallet("secp256r1")],
  ["cardano", cardanoWallet("test base")]
]

layer(Gate.layer, { excludeTestServices: true })(
  "a wallet signs in to the running service",
  (it) => {
    for (const [network, walletOf] of wallets) {
      it.effect(`on ${network}: its owner, once a message, as the same merchant however the address is written`, () =>
        Effect.gen(function*() {
          const { service } = yield* Gate
          const wallet = walletOf(1)
          const question = yield* ask(network, wallet.address)
          const proof = yield* answerOf(question, wallet)
          const theirs = yield* answerOf(question, walletOf(2))
          assert.strictEqual(codeOf(yield* verify(theirs)), "401 SIGNATURE_INVALID")
          assert.strictEqual(
            codeOf(yield* verify({ ...proof, message: `${proof.message}\nNonce: x` })),
            "401 NONCE_INVALID"
          )
          const opened = yield* verify(proof)
          assert.strictEqual(opened.status, 200, opened.text)
          assert.strictEqual(codeOf(yield* verify(proof)), "401 NONCE_INVALID")
          const listed = yield* service.call("/api/v1/events", {
            headers: { authorization: `Bearer ${opened.json.data.access_token}` }
          })
          assert.strictEqual(listed.status, 200, listed.text)
          const { created, id } = opened.json.data.merchant
          assert.isTrue(created)
          const [spelling = wallet.address] = wallet.spellings
          const again = yield* verify(yield* answerOf(yield* ask(network, spelling), wallet))
          assert.deepInclude(again.json.data.merchant, { id, created: false })
        }))
    }

    it.effect("that is a contract: by its owner's key, on its own chain only, and never before it is deployed", () =>
      Effect.gen(function*() {
        const { node } = yield* Gate
        const contract: SignInAccount = { ...evmWallet(3), address: `0x${keccak256("0x01").slice(26)}` }
        yield* node.rpc("anvil_setCode", contract.address, contractWalletCode(evmWallet(3).address))
        const question = yield* ask("base", contract.address)
        assert.strictEqual(codeOf(yield* verify(yield* answerOf(question, evmWallet(4)))), "401 SIGNATURE_INVALID")
        const proof = yield* answerOf(question, contract)
        const wrapped = serializeErc6492Signature({
          address: contract.address as Hex,
          data: "0x12",
          signature: proof.signature as Hex
        })
        const early = yield* verify({ ...proof, signature: wrapped })
        assert.strictEqual(codeOf(early), "401 SIGNATURE_INVALID")
        assert.include(early.json.error.message, "not deployed yet")
        const opened = yield* verify(proof)
        assert.strictEqual(opened.status, 200, opened.text)
        const elsewhere = yield* verify(yield* answerOf(yield* ask("optimism", contract.address), contract))
        assert.strictEqual(codeOf(elsewhere), "401 SIGNATURE_INVALID")
        assert.include(elsewhere.json.error.message, "there is no node of optimism here")
      }))

    it.effect("only with an address of its network", () =>
      Effect.gen(function*() {
        for (const [network] of wallets) {
          for (const address of ["0x2", "vitalik.eth", "0x7E5F4552091A69125d5DfCb7b8C2659029395BdF", "1".repeat(256)]) {
            const answer = yield* post("/api/v1/auth/nonce", { network, address })
            assert.match(codeOf(answer), /^400 (WALLET_ADDRESS_INVALID|VALIDATION_ERROR)$/, `${network} ${address}`)
          }
        }
        assert.deepStrictEqual((yield* Gate).service.errors(), [])
      }))
  }
)
