/**
 * Goal: every simulated network is followed as a real one of its family is, and shows what is peculiar to the family.
 * Method: the suite of all drivers on one network of each family; then heights, marks, memos, links and wallets.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { ChainDriver, SharedWallet } from "../../../runtime/Chains.ts"
import { silenceMillis } from "../../../runtime/chains/FollowerState.ts"
import { readAddress } from "../../../schemas/Address.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { type Network, networks } from "../../../schemas/Network.ts"
import type { Token } from "../../../schemas/Token.ts"
import { make } from "../../../modules/chains/simulated.ts"
import { watching } from "../../support/Drivers.ts"
import { invoiceOf, simulatedChain, targetOf, tokens, triedNetworks } from "../../support/SimulatedChain.ts"
import { chainConformance } from "../../conformance/chains.ts"

const sharedWalletOf = ({ network, wallet }: ChainDriver): SharedWallet => {
  if (wallet?._tag !== "SharedWallet") throw new Error(`${network} has no shared wallet`)
  return wallet
}

for (const network of triedNetworks) {
  chainConformance(`simulated, ${network}`, simulatedChain(network))
}
chainConformance("simulated, solana with a slow index", simulatedChain("solana", 3))

const drivers = Effect.map(make({ blockMillis: 3_600_000 }), (made) => made.drivers)

const driverOf = (network: Network) => Effect.map(drivers, (all) => all.find((driver) => driver.network === network)!)

const tokenOf = (network: Network, address: string | null) =>
  ({ network, environment: "devnet", address, decimals: 6 }) as Token

const words = { label: "Demo Store", message: "Order 7 & more" }

describe("simulated networks", () => {
  it.effect("are all ten, each with addresses that are right in the form of its family", () =>
    Effect.gen(function*() {
      const all = yield* drivers
      assert.sameMembers(all.map(({ network }) => network), [...networks])
      for (const { network, wallet } of all) {
        const targets = [0, 1].map((invoice) =>
          wallet!._tag === "SharedWallet" ? wallet!.targetOf(invoiceOf(invoice)) : wallet!.derive(invoice)
        )
        for (const { address } of targets) assert.strictEqual(readAddress(network, "devnet", address), address, network)
        assert.strictEqual(new Set(targets.map(({ matchKey }) => matchKey)).size, 2, network)
      }
    }).pipe(Effect.scoped))

  it.effect("of one shared wallet have memos that people can type, and that are the same for the same invoice", () =>
    Effect.gen(function*() {
      for (const network of ["solana", "ton"] as const) {
        const wallet = sharedWalletOf(yield* driverOf(network))
        const [memo, again, other] = [1, 1, 2].map((invoice) => wallet.targetOf(invoiceOf(invoice)).memo!)
        assert.match(memo!, /^[0-9A-HJKMNP-TV-Z]{12}$/)
        assert.deepStrictEqual([again === memo, other === memo], [true, false])
      }
    }).pipe(Effect.scoped))

  it.effect("give the links of their family, with its words, memo and reference", () =>
    Effect.gen(function*() {
      const link = Effect.fnUntraced(function*(network: Network, address: string | null) {
        const driver = yield* driverOf(network)
        return driver.paymentUri(targetOf(driver, 1), tokenOf(network, address), baseUnits(1_500_000n), words)
      })
      const solana = new URL((yield* link("solana", tokens.solana))!)
      assert.deepStrictEqual(
        [...solana.searchParams.keys()],
        ["amount", "spl-token", "reference", "label", "message", "memo"]
      )
      assert.strictEqual(solana.searchParams.get("amount"), "1.5")
      assert.strictEqual(solana.searchParams.get("message"), words.message)
      const reference = solana.searchParams.get("reference")!
      assert.strictEqual(readAddress("solana", "devnet", reference), reference)
      assert.match((yield* link("ton", null))!, /^ton:\/\/transfer\/0Q[\w-]{46}\?amount=1500000&text=[0-9A-Z]{12}$/)
      assert.match((yield* link("sui", tokens.sui))!, /^sui:0x[0-9a-f]{64}$/)
      assert.match((yield* link("cardano", null))!, /^web\+cardano:addr_test1\w+\?amount=1\.5$/)
      assert.isNull(yield* link("cardano", "00"))
    }).pipe(Effect.scoped))

  it.live("skip slots on Solana, and its finality mark is behind the head; TON and Sui are final at once", () =>
    Effect.gen(function*() {
      for (const [network, lag] of [["solana", 32], ["ton", 0], ["sui", 0]] as const) {
        const { driver, mine } = yield* simulatedChain(network)
        const events = yield* driver.follow([], watching([])).pipe(
          Stream.tap((event) => event._tag === "Finality" ? mine(1) : Effect.void),
          Stream.take(80),
          Stream.runCollect
        )
        const heads = events.flatMap((event) => event._tag === "Forward" ? [Number(event.point.height)] : [])
        const marks = events.flatMap((event) => event._tag === "Finality" ? [Number(event.finalized)] : [])
        assert.lengthOf(heads, 40)
        const steps = new Set(heads.slice(1).map((head, place) => head - heads[place]!))
        assert.sameMembers([...steps], network === "solana" ? [1, 2] : [1], network)
        assert.strictEqual(marks.at(-1), heads.at(-1 - lag), network)
      }
    }).pipe(Effect.scoped))

  it.effect("answer while nothing happens on them, so that none is called silent between two blocks", () =>
    Effect.gen(function*() {
      for (const network of triedNetworks) {
        const driver = yield* driverOf(network)
        let answers = 0
        yield* Effect.forkScoped(
          Stream.runForEach(driver.follow([], watching([])), () => Effect.sync(() => void answers++)),
          { startImmediately: true }
        )
        for (let minute = 0; minute < 3; minute++) {
          yield* TestClock.adjust(silenceMillis - 1)
          assert.isAbove(answers, 0, network)
          answers = 0
        }
      }
    }).pipe(Effect.scoped))

  it.live("tell a transfer only once their index has it, and vouch for no second before that", () =>
    Effect.gen(function*() {
      const { drivers: [driver], service } = yield* make({
        networks: ["solana"],
        blockMillis: 3_600_000,
        indexLagBlocks: 2
      })
      const { matchKey } = targetOf(driver!, 1)
      const forwards = driver!.follow([], watching([matchKey])).pipe(
        Stream.filter((event) => event._tag === "Forward"),
        Stream.tap(() => service.mine("solana", 1))
      )
      yield* Effect.forkScoped(Effect.delay(
        service.transfer({ network: "solana", to: matchKey, tokenAddress: null, amount: baseUnits(5n) }),
        "50 millis"
      ))
      const all = yield* forwards.pipe(
        Stream.takeUntil(({ transfers }) => transfers.length > 0),
        Stream.runCollect
      )
      const last = all.at(-1)!
      const at = last.transfers[0]!.at!
      const heights = all.map(({ point }) => point.height)
      assert.isAtLeast(heights.filter((height) => height >= at.height).length, 2)
      for (const { seenUntil, time, transfers } of all) {
        assert.isBelow(seenUntil!, time)
        if (transfers.length === 0) assert.isBelow(seenUntil!, at.time)
      }
    }).pipe(Effect.scoped))

  it.effect("take wallets of merchants where addresses are enough, and never repeat what they refuse", () =>
    Effect.gen(function*() {
      const read = Effect.fnUntraced(function*(network: Network, kind: "address" | "pool" | "xpub", value: string) {
        return yield* (yield* driverOf(network)).readWallet(kind, value)
      })
      const solana = "HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk"
      const ton = "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs"
      const sui = ["1", "2"].map((digit) => `0x${digit.repeat(64)}`)
      const shared = yield* read("solana", "address", solana)
      assert.strictEqual((shared as SharedWallet).address, solana)
      const [friendly, raw] = [
        yield* read("ton", "address", ton),
        yield* read("ton", "address", "0:b113a994b5024a16719f69139328eb759596c38a25f59028b146fecdc3621dfe")
      ] as ReadonlyArray<SharedWallet>
      assert.strictEqual(friendly!.fingerprint, raw!.fingerprint, "one account in two spellings is one wallet")
      assert.strictEqual(friendly!.accountKey, raw!.accountKey)
      const pool = yield* read("sui", "pool", sui.join("\n"))
      assert.deepInclude(pool, { _tag: "IndexedWallet", size: 2 })
      const secret = "kitten".repeat(6)
      for (
        const [network, kind, value] of [
          ["solana", "address", secret],
          ["solana", "pool", `${solana} ${secret}`],
          ["ton", "address", "5f".repeat(32)],
          ["ton", "pool", ton],
          ["sui", "pool", [sui[0], sui[0]].join(" ")],
          ["sui", "address", sui[0]!],
          ["cardano", "xpub", secret]
        ] as const
      ) {
        const refusal = yield* read(network, kind, value)
        assert.isString(refusal, `${network} ${kind}`)
        assert.notInclude(refusal as string, value)
      }
    }).pipe(Effect.scoped))
})
