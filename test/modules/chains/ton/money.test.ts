/**
 * Goal: what arrives is credited once and to the right invoice; what bounced, failed, is forged or names none credits
 * nothing.
 * Method: the real virtual machine behind toncenter's API; each test makes it happen and follows until a marker payment
 * behind it is told.
 */
import { assert, describe, it } from "@effect/vitest"
import { Address, beginCell, comment, toNano } from "@ton/core"
import { Effect, type Scope, Stream } from "effect"
import { FetchHttpClient, type HttpClient } from "effect/http"
import { makeDriver } from "../../../../modules/chains/ton.ts"
import type { ChainDriver, ObservedTransfer, SharedWallet, WatchSet } from "../../../../runtime/Chains.ts"
import { watching } from "../../../support/Drivers.ts"
import { sharedWalletKey, tonOptions, walletsOf } from "../../../support/ton/Driver.ts"
import { offChainContent } from "../../../support/ton/Jetton.ts"
import { type TonEndpoint, type TonJetton, TonRig } from "../../../support/TonRig.ts"

interface Town {
  readonly rig: TonRig
  readonly endpoint: TonEndpoint
  readonly driver: ChainDriver
  readonly jetton: TonJetton
  readonly shared: SharedWallet
  readonly wallet: Address
  readonly poolKey: string
  readonly watch: WatchSet
}

const poolKey = `0:${"b1".repeat(32)}`

/** Invoices 0 to 9 of the shared wallet are watched, and one address of a list. */
const town = Effect.gen(function*() {
  const rig = yield* Effect.promise(() => TonRig.make())
  const endpoint = yield* rig.serve()
  const jetton = yield* Effect.promise(() => rig.deployJetton())
  const driver = yield* Effect.orDie(makeDriver(tonOptions([endpoint.url])))
  const { shared } = yield* walletsOf(driver, sharedWalletKey, poolKey)
  const keys = Array.from({ length: 10 }, (_, number) => shared.targetOf(`inv_${number}`).matchKey)
  const watch = watching([...keys, shared.accountKey, poolKey], {
    accounts: [shared.accountKey, poolKey].map((key) => ({ key, isOpen: true })),
    tokens: [jetton.address.toString()]
  })
  const made: Town = { rig, endpoint, driver, jetton, shared, wallet: Address.parse(sharedWalletKey), poolKey, watch }
  return made
})

/** What is told of what `act` makes happen; a payment of 1 Gram to invoice 9 marks the end. */
const emittedBy = Effect.fnUntraced(function*(town: Town, act: () => Promise<unknown>, watch: WatchSet = town.watch) {
  const { driver, rig, shared, wallet } = town
  const [head] = yield* driver.follow([], watch).pipe(Stream.take(1), Stream.runCollect)
  const start = head?._tag === "Forward" ? head.point : null
  yield* Effect.promise(act)
  const marker = yield* Effect.promise(() => rig.pay(wallet, toNano("1"), { text: shared.targetOf("inv_9").memo }))
  const told = yield* driver.follow([start!], watch).pipe(
    Stream.scan(
      (): ReadonlyArray<ObservedTransfer> => [],
      (all, event) => event._tag === "Forward" ? [...all, ...event.transfers] : all
    ),
    Stream.filter((all) => all.some(({ txHash }) => txHash === marker)),
    Stream.runHead
  )
  return told._tag === "Some" ? told.value.filter(({ txHash }) => txHash !== marker) : []
})

const facts = (told: ReadonlyArray<ObservedTransfer>) =>
  told.map(({ amount, matchKey, tokenAddress }) => [matchKey, BigInt(amount), tokenAddress])

const promise = (
  title: string,
  work: (town: Town) => Effect.Effect<void, unknown, HttpClient.HttpClient | Scope.Scope>
) =>
  it.live(
    title,
    () => Effect.flatMap(town, work).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer))
  )

describe("money on TON", () => {
  promise(
    "counts what a wallet without code receives, though the transaction is aborted (trap 1)",
    (town) =>
      Effect.gen(function*() {
        const { rig, shared, wallet } = town
        const { matchKey, memo } = shared.targetOf("inv_1")
        const told = yield* emittedBy(town, () => rig.pay(wallet, toNano("1.5"), { text: memo }))
        assert.isTrue(
          rig.transactions.some(({ transaction: { description } }) =>
            description.type === "generic" && description.aborted && description.computePhase.type === "skipped"
          )
        )
        assert.deepStrictEqual(facts(told), [[matchKey, toNano("1.5"), null]])
      })
  )

  promise(
    "finds the first jettons a wallet ever gets, whose account was on no list before (trap 4)",
    (town) =>
      Effect.gen(function*() {
        const { endpoint, jetton, rig, shared, wallet } = town
        const { matchKey, memo } = shared.targetOf("inv_1")
        const told = yield* emittedBy(town, () => rig.payJetton(jetton, wallet, 7n, { text: memo }))
        assert.deepStrictEqual(facts(told), [[matchKey, 7n, jetton.address.toString()]])
        assert.isAbove(endpoint.calls.get("runGetMethod") ?? 0, 0)
      })
  )

  promise("finds jettons that came without a notification, with their memo", (town) =>
    Effect.gen(function*() {
      const { jetton, rig, shared, wallet } = town
      const { matchKey, memo } = shared.targetOf("inv_2")
      const told = yield* emittedBy(town, () => rig.payJetton(jetton, wallet, 8n, { text: memo, forwardAmount: 0n }))
      assert.deepStrictEqual(facts(told), [[matchKey, 8n, jetton.address.toString()]])
      assert.strictEqual(told[0]!.from, rig.payer.address.toString({ bounceable: false, testOnly: true }))
    }))

  promise("reads a memo that stands in the body itself, as some wallets write it", (town) =>
    Effect.gen(function*() {
      const { jetton, rig, shared, wallet } = town
      const { matchKey, memo } = shared.targetOf("inv_3")
      const told = yield* emittedBy(town, async () => {
        const from = await jetton.walletOf(rig.payer.address)
        const body = beginCell().storeUint(0x0f8a7ea5, 32).storeUint(0, 64).storeCoins(9n).storeAddress(wallet)
          .storeAddress(rig.payer.address).storeBit(0).storeCoins(1n).storeBit(0).storeSlice(comment(memo!).asSlice())
        await rig.act(() => rig.payer.send({ to: from, value: toNano("0.3"), body: body.endCell() }))
      })
      assert.deepStrictEqual(facts(told), [[matchKey, 9n, jetton.address.toString()]])
    }))

  promise("credits nothing of what bounced, failed or was forged (trap 14)", (town) =>
    Effect.gen(function*() {
      const { jetton, rig, shared, wallet } = town
      const { memo } = shared.targetOf("inv_4")
      const evil = yield* Effect.promise(() => rig.chain.treasury("evil"))
      const forged = yield* Effect.promise(() => rig.deployJetton(undefined, evil))
      const own = yield* Effect.promise(() => jetton.walletOf(wallet))
      const credit = beginCell().storeUint(0x178d4519, 32).storeUint(0, 64).storeCoins(99n).storeAddress(evil.address)
        .storeAddress(evil.address).storeCoins(0).storeMaybeRef(comment(memo!)).endCell()
      const notification = beginCell().storeUint(0x7362d09c, 32).storeUint(0, 64).storeCoins(99n)
        .storeAddress(evil.address).storeMaybeRef(comment(memo!)).endCell()
      const told = yield* emittedBy(town, async () => {
        await rig.pay(wallet, toNano("2"), { text: memo, bounce: true })
        await rig.payJetton(forged, wallet, 99n, { text: memo, from: evil })
        await rig.pay(wallet, toNano("0.05"), { body: notification, from: evil })
        // To our jetton wallet itself, before and after it exists, by whoever is not its master.
        await rig.pay(own, toNano("0.1"), { body: credit, from: evil })
        await rig.payJetton(jetton, wallet, 1n, { text: memo, value: toNano("0.001") })
      })
      assert.deepStrictEqual(facts(told), [])
    }))

  promise(
    "tells money without a memo, or with a wrong one, under the wallet's key, and no advertisement",
    (town) =>
      Effect.gen(function*() {
        const { rig, shared, wallet } = town
        const told = yield* emittedBy(town, async () => {
          await rig.pay(wallet, toNano("0.3"))
          await rig.pay(wallet, toNano("0.4"), { text: shared.targetOf("inv_unknown").memo })
          await rig.pay(wallet, 1n, { text: "free coins at an address on the web" })
        })
        assert.deepStrictEqual(facts(told), [[shared.accountKey, toNano("0.3"), null], [
          shared.accountKey,
          toNano("0.4"),
          null
        ]])
      })
  )

  promise("gives money whose comment names several invoices to none of them", (town) =>
    Effect.gen(function*() {
      const { jetton, rig, shared, wallet } = town
      const [one, two] = [shared.targetOf("inv_1"), shared.targetOf("inv_2")]
      const told = yield* emittedBy(town, async () => {
        await rig.pay(wallet, toNano("1"), { text: `${one.memo} ${two.memo}` })
        await rig.payJetton(jetton, wallet, 5n, { text: `for ${two.memo}, not ${one.memo}` })
        // The same memo twice names one invoice, and a code that was never given out names none.
        await rig.pay(wallet, toNano("2"), { text: `${one.memo} ${one.memo!.toLowerCase()}` })
        await rig.pay(wallet, toNano("3"), { text: `${shared.targetOf("inv_unknown").memo} ${two.memo}` })
      })
      assert.deepStrictEqual(facts(told), [
        [shared.accountKey, toNano("1"), null],
        [shared.accountKey, 5n, jetton.address.toString()],
        [one.matchKey, toNano("2"), null],
        [two.matchKey, toNano("3"), null]
      ])
    }))

  promise("gives each of several payments in one message a transfer of its own", (town) =>
    Effect.gen(function*() {
      const { poolKey, rig, shared, wallet } = town
      const [one, two] = [shared.targetOf("inv_1"), shared.targetOf("inv_2")]
      const told = yield* emittedBy(town, () =>
        rig.payMany([
          { address: wallet, value: toNano("1"), text: one.memo },
          { address: wallet, value: toNano("2"), text: two.memo },
          { address: wallet, value: toNano("3"), text: one.memo },
          { address: Address.parse(poolKey), value: 5n, text: null }
        ]))
      assert.deepStrictEqual(facts(told).toSorted((a, b) => Number(BigInt(a[1]!) - BigInt(b[1]!))), [
        [poolKey, 5n, null],
        [one.matchKey, toNano("1"), null],
        [two.matchKey, toNano("2"), null],
        [one.matchKey, toNano("3"), null]
      ])
      assert.strictEqual(new Set(told.map(({ index, txHash }) => `${txHash} ${index}`)).size, 4)
    }))

  promise(
    "waits for the block of the masterchain that makes each transaction of a trace final",
    (town) =>
      Effect.gen(function*() {
        const { driver, jetton, rig, shared, wallet, watch } = town
        const [head] = yield* driver.follow([], watch).pipe(Stream.take(1), Stream.runCollect)
        const start = head?._tag === "Forward" ? head.point : null
        const { memo } = shared.targetOf("inv_5")
        const hash = yield* Effect.promise(() => rig.payJetton(jetton, wallet, 5n, { text: memo, hopBlocks: 3 }))
        const due = rig.transactions.find(({ transaction }) => transaction.hash().toString("hex") === hash)!.seqno
        const forwards = yield* driver.follow([start!], watch).pipe(
          Stream.tap(() => Effect.sync(() => rig.mine())),
          Stream.filter((event) => event._tag === "Forward"),
          Stream.takeUntil(({ transfers }) => transfers.length > 0),
          Stream.runCollect
        )
        assert.isAtLeast(Number(forwards.at(-1)!.point.height), due)
        assert.strictEqual(forwards.at(-1)!.transfers[0]!.at!.height, BigInt(due))
      })
  )

  promise(
    "looks seldom at addresses that are no longer open, and misses nothing there",
    (town) =>
      Effect.gen(function*() {
        const { jetton, rig, shared, poolKey } = town
        const watch = watching([shared.targetOf("inv_9").matchKey, shared.accountKey, poolKey], {
          accounts: [{ key: shared.accountKey, isOpen: true }, { key: poolKey, isOpen: false }],
          tokens: [jetton.address.toString()]
        })
        const told = yield* emittedBy(town, async () => {
          await rig.pay(Address.parse(poolKey), toNano("3"))
          await rig.payJetton(jetton, Address.parse(poolKey), 4n)
        }, watch)
        assert.deepStrictEqual(facts(told), [[poolKey, toNano("3"), null], [poolKey, 4n, jetton.address.toString()]])
      })
  )

  promise(
    "says what a jetton's master says, and fetches nothing that is not on the chain",
    (town) =>
      Effect.gen(function*() {
        const { driver, jetton, rig } = town
        const { readToken, tokenDecimals } = driver
        assert.deepStrictEqual(yield* readToken!(jetton.address.toString()), { symbol: "USDT", decimals: 6 })
        const elsewhere = yield* Effect.promise(() => rig.deployJetton(offChainContent("https://example.com/j.json")))
        assert.deepStrictEqual(yield* readToken!(elsewhere.address.toRawString()), { symbol: null, decimals: null })
        assert.deepStrictEqual(
          yield* Effect.all([jetton.address.toRawString(), sharedWalletKey, "nonsense"].map(tokenDecimals!)),
          [6, null, null]
        )
      })
  )

  promise(
    "takes a wallet, deployed or not, and refuses a jetton's account or another contract",
    (town) =>
      Effect.gen(function*() {
        const { driver, jetton, rig } = town
        const check = Effect.fnUntraced(function*(kind: "address" | "pool", value: string) {
          const wallet = yield* driver.readWallet(kind, value)
          return typeof wallet === "string" ? yield* Effect.die(wallet) : yield* driver.verifyWallet!(wallet)
        })
        const payer = rig.payer.address.toRawString()
        const account = yield* Effect.promise(() => jetton.walletOf(rig.payer.address))
        assert.isNull(yield* check("address", payer))
        assert.isNull(yield* check("address", sharedWalletKey))
        assert.match((yield* check("address", account.toRawString())) ?? "", /keeps one jetton/)
        const isTokenAccount = driver.isTokenAccount!
        assert.isTrue(yield* isTokenAccount(account.toString()), "ours or not, no refund goes there")
        assert.isFalse(yield* isTokenAccount(payer))
        assert.isFalse(yield* isTokenAccount(sharedWalletKey), "the chain has not seen it")
        assert.isFalse(yield* isTokenAccount(jetton.address.toRawString()))
        assert.match((yield* check("address", jetton.address.toRawString())) ?? "", /no wallet that is known/)
        assert.match((yield* check("pool", `${payer} ${account.toRawString()}`)) ?? "", /^address 2 of the list/)
      })
  )
})
