/** A chain with the Collector, a token as costly as USDC, a merchant who is paid, and strangers. */
import { Context, Effect, Layer } from "effect"
import { type Hex, hexToBytes, keccak256, toHex } from "viem"
import { collector } from "../../modules/chains/evm/Contracts.ts"
import { forwarderAddress, forwarderSalt } from "../../modules/chains/evm/Forwarder.ts"
import { callData, contractRig, nativeCoin, type Transaction } from "./ContractRig.ts"

const seed = hexToBytes(keccak256(toHex("the seed of the tests")))

export interface CollectCall extends Transaction {
  readonly payee?: string
}

const makeTown = (hardfork: string) =>
  Effect.gen(function*() {
    const rig = yield* contractRig(hardfork)
    const [, stranger, other, payee] = rig.accounts as unknown as readonly [Hex, Hex, Hex, Hex]
    const deployment = yield* rig.deployFrozen("Collector")
    const usdc = yield* rig.deployUsdc
    const minter = yield* rig.deploy("Minter")
    // Whoever receives a token for the first time costs more: the merchant has some.
    yield* rig.mint(usdc, payee, 1n)
    let nextIndex = 0

    /** So many addresses that nobody has used, of `to`. */
    const newAddresses = (count: number, to: string = payee) =>
      Array.from({ length: count }, () => {
        const salt = forwarderSalt(seed, nextIndex++) as Hex
        return { salt, address: forwarderAddress(to, salt) as Hex }
      })
    const newAddress = (to?: string) => newAddresses(1, to)[0]!

    const collectCall = (
      tokens: ReadonlyArray<string>,
      salts: ReadonlyArray<string>,
      { payee: to = payee, ...more }: CollectCall = {}
    ): Transaction => ({ to: collector.address, data: callData("Collector", "collect", [to, tokens, salts]), ...more })

    const collect = (tokens: ReadonlyArray<string>, salts: ReadonlyArray<string>, more?: CollectCall) =>
      rig.send(collectCall(tokens, salts, more))

    const simulateCollect = (tokens: ReadonlyArray<string>, salts: ReadonlyArray<string>, more?: CollectCall) =>
      Effect.map(
        rig.simulate("Collector", collectCall(tokens, salts, more)),
        ({ error, result }) => error ?? Number(BigInt(result!))
      )

    const mintMany = (token: string, to: ReadonlyArray<string>, each: bigint) =>
      rig.send({ to: minter, data: callData("Minter", "mint", [token, to, each]) })

    /** How much more `owner` has after `effect`. */
    const gain = <A, E, R>(token: string, owner: string, effect: Effect.Effect<A, E, R>) =>
      Effect.gen(function*() {
        const before = yield* rig.balance(token, owner)
        const result = yield* effect
        return { gained: (yield* rig.balance(token, owner)) - before, result }
      })

    /** Sends the native coin. */
    const pay = (to: string, value: bigint, more: Transaction = {}) => rig.send({ to, value, ...more })

    const totalOf = (token: string, owners: ReadonlyArray<string>) =>
      Effect.map(
        Effect.forEach(owners, (owner) => rig.balance(token, owner)),
        (balances) => balances.reduce((sum, balance) => sum + balance, 0n)
      )

    return {
      ...rig,
      stranger,
      other,
      payee,
      usdc,
      deploymentGas: deployment.gasUsed,
      newAddresses,
      newAddress,
      collectCall,
      collect,
      simulateCollect,
      mintMany,
      gain,
      pay,
      totalOf,
      nativeCoin
    }
  })

export class CollectTown extends Context.Service<CollectTown, Effect.Success<ReturnType<typeof makeTown>>>()(
  "test/CollectTown"
) {
  /** One node for all tests of a file. */
  static readonly layer = (hardfork: string) => Layer.effect(this, makeTown(hardfork))
}
