/**
 * Goal: a merchant collects from a recovery document alone, with the wallet of his browser.
 * Method: the page that the service serves, in a browser whose wallet (EIP-1193) is an EVM node with an account; the
 * service knows nothing of the chain, and the page may connect to nobody.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { hexToBytes, keccak256, toHex } from "viem"
import { collector, forwarderHash, keylessDeployer } from "../../modules/chains/evm/Contracts.ts"
import { forwarders } from "../../modules/chains/evm/Forwarder.ts"
import { callData, contractRig, nativeCoin } from "../support/ContractRig.ts"
import { migratedDatabase } from "../support/Database.ts"
import { configOf, startService, temporaryDirectory } from "../support/Service.ts"
import { foreignRequests, openContext, openPage } from "./Page.ts"

const seed = keccak256(toHex("the seed of a merchant"))

const makeDesk = Effect.gen(function*() {
  const config = configOf({ database: (yield* migratedDatabase).url, chains: [{ use: "simulated" }] })
  const { url } = yield* startService({
    directory: yield* temporaryDirectory,
    config: { ...config, modules: [...config.modules, { use: "docs" }] }
  })
  const rig = yield* contractRig("prague")
  const usdc = yield* rig.deployUsdc
  return { ...rig, url, usdc, payee: rig.accounts[3]!, signer: rig.accounts[1]! }
})

class RecoveryDesk extends Context.Service<RecoveryDesk, Effect.Success<typeof makeDesk>>()("test/RecoveryDesk") {
  static readonly layer = Layer.effect(this, makeDesk)
}

/** The page, in a browser with a wallet; the wallet counts what it was asked to sign. */
const open = Effect.gen(function*() {
  const { ask, signer, url } = yield* RecoveryDesk
  const context = yield* openContext()
  let signatures = 0
  yield* Effect.promise(async () => {
    await context.exposeFunction("askWallet", (call: { method: string; params?: ReadonlyArray<unknown> }) => {
      if (call.method === "eth_requestAccounts") return { result: [signer] }
      if (call.method === "eth_sendTransaction") signatures++
      return Effect.runPromise(ask(call.method, ...call.params ?? []))
    })
    await context.addInitScript(`window.ethereum = {
      request: async (call) => {
        const { error, result } = await window.askWallet(call)
        if (error !== undefined) throw Object.assign(new Error(error.message), error)
        return result
      }
    }`)
  })
  const opened = yield* openPage(context)
  yield* Effect.promise(() => opened.page.goto(`${url}/docs/recovery`))
  return { ...opened, signatures: () => signatures }
})

const documentOf = (payee: string, nextIndex: number) =>
  JSON.stringify({
    collector: collector.address,
    deployer: keylessDeployer,
    payee,
    seed,
    next_index: nextIndex,
    init_code_hash: forwarderHash
  })

layer(RecoveryDesk.layer, { excludeTestServices: true })("the recovery page", (it) => {
  it.effect("puts the Collector on the network, finds coin and tokens also far behind the document, and collects", () =>
    Effect.gen(function*() {
      const { balance, mint, payee, send, url, usdc } = yield* RecoveryDesk
      const { address } = forwarders(payee, hexToBytes(seed))
      yield* send({ to: address(0), value: 5n })
      yield* mint(usdc, address(3), 10n)
      yield* mint(usdc, address(903), 20n)
      yield* send({ to: address(1_903), value: 7n })
      const before = yield* balance(nativeCoin, payee)
      const opened = yield* open
      const { page } = opened
      yield* Effect.promise(async () => {
        await page.getByLabel("Recovery document").fill(documentOf(payee, 4))
        await page.getByLabel("Addresses of tokens").fill(usdc)
        await page.getByRole("button", { name: "Look" }).click()
        await page.getByRole("button", { name: "Put the Collector on this network" }).click()
        await page.getByText("4 addresses hold something.").waitFor()
        const shown = await page.locator("#rows td:first-child").allTextContents()
        assert.deepStrictEqual(shown, ["0", "3", "903", "1903"])
        await page.getByRole("button", { name: "Collect" }).click()
        await page.getByText("Collected from 4 addresses.").waitFor()
      })
      assert.strictEqual(yield* balance(usdc, payee), 30n)
      assert.strictEqual((yield* balance(nativeCoin, payee)) - before, 12n)
      assert.strictEqual(opened.signatures(), 2)
      assert.deepStrictEqual(foreignRequests(opened, url), [])
      assert.deepStrictEqual(opened.requests.filter((each) => each !== `${url}/docs/recovery`), [])
      assert.deepStrictEqual(opened.complaints, [])
    }).pipe(Effect.scoped))

  it.effect("looks past addresses that were collected before", () =>
    Effect.gen(function*() {
      const { deployFrozen, mint, payee, send, usdc } = yield* RecoveryDesk
      yield* deployFrozen("Collector")
      const { address, salt } = forwarders(payee, hexToBytes(seed))
      // The document ends at 0; only the empty address at 990 says that more were given out.
      yield* mint(usdc, address(990), 1n)
      yield* send({ to: collector.address, data: callData("Collector", "collect", [payee, [usdc], [salt(990)]]) })
      yield* mint(usdc, address(1_900), 2n)
      const { page } = yield* open
      yield* Effect.promise(async () => {
        await page.getByLabel("Recovery document").fill(documentOf(payee, 0))
        await page.getByLabel("Addresses of tokens").fill(usdc)
        await page.getByRole("button", { name: "Look" }).click()
        await page.getByText("1 address holds something.").waitFor()
        await page.getByText(address(1_900)).waitFor()
      })
    }).pipe(Effect.scoped))

  it.effect("says what is wrong with a document, and asks no wallet for it", () =>
    Effect.gen(function*() {
      const { payee } = yield* RecoveryDesk
      const { page } = yield* open
      yield* Effect.promise(async () => {
        await page.getByLabel("Recovery document").fill(documentOf(payee, 0).replace(seed, "0x12"))
        await page.getByRole("button", { name: "Look" }).click()
        await page.getByText("seed must be 0x and 64 hexadecimal digits").waitFor()
      })
    }).pipe(Effect.scoped))
})
