/**
 * Goal: what a look, a payment and a day cost at a provider is known, and does not grow with open invoices.
 * Method: calls are counted at the rig's node while the chain goes on by five slots between looks, as it does in 2 s.
 */
import { NodeHttpClient } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { base58 } from "@scure/base"
import { Effect, Layer, MutableRef, Redacted, Stream } from "effect"
import { createHash } from "node:crypto"
import type { ChainEvent, ReceiveTarget, WatchSet } from "../../../../runtime/Chains.ts"
import { makeDriver } from "../../../../modules/chains/solana.ts"
import { referenceOf, sharedTargetOf } from "../../../../modules/chains/solana/PaymentCode.ts"
import { watching } from "../../../support/Drivers.ts"
import { SolanaLedger } from "../../../support/SolanaLedger.ts"
import { newAddress, openBank, usdc } from "../../../support/SolanaPayments.ts"
import { solanaNode } from "../../../support/SolanaRig.ts"

/** Slots in the pause between two looks: 2 s at 0.4 s a slot. */
const slotsPerLook = 5

const opened = Effect.gen(function*() {
  const ledger = new SolanaLedger()
  const bank = yield* openBank(ledger)
  const node = yield* solanaNode(ledger)
  const wallet = yield* newAddress
  ledger.advance(200)
  const client = yield* Layer.build(NodeHttpClient.layerUndici)
  const driver = yield* Effect.provide(
    makeDriver({
      environment: "devnet",
      rpc: [Redacted.make(node.url)],
      genesisHash: ledger.genesisHash,
      pollMillis: 10,
      address: wallet
    }),
    client
  )
  /** Follows for so many looks; `between` runs after each of them, before the chain goes on. */
  const followFor = (looks: number, watch: WatchSet, between: (look: number) => Effect.Effect<void>, from?: number) => {
    const done = MutableRef.make(0)
    const recent = from === undefined ? [] : [{ height: BigInt(from), hash: `${from}` }]
    return driver.follow(recent, watch).pipe(
      Stream.tap((event: ChainEvent) =>
        event._tag !== "Finality" ? Effect.void : Effect.suspend(() => {
          MutableRef.update(done, (count) => count + 1)
          return Effect.andThen(between(MutableRef.get(done)), Effect.sync(() => ledger.advance(slotsPerLook)))
        })
      ),
      Stream.filter(({ _tag }) => _tag === "Finality"),
      Stream.take(looks),
      Stream.runDrain
    )
  }
  return { ledger, bank, node, wallet, followFor }
})

const targetOf = (wallet: string, invoice: number) => sharedTargetOf(wallet, `inv_${invoice}`)

const watchOf = (wallet: string, targets: ReadonlyArray<ReceiveTarget>) =>
  watching([wallet, ...targets.map(({ matchKey }) => matchKey)], {
    accounts: [{ key: wallet, isOpen: true }],
    tokens: [usdc]
  })

const sumOf = (counts: Readonly<Record<string, number>>) => Object.values(counts).reduce((sum, each) => sum + each, 0)

/** Looks in two minutes. */
const measuredLooks = 60

/** Calls of two minutes after the start, with `payments` of them. */
const callsOf = Effect.fnUntraced(function*(invoices: number, payments: number) {
  const { bank, followFor, node, wallet } = yield* opened
  const targets = Array.from({ length: invoices }, (_, invoice) => targetOf(wallet, invoice))
  const [first] = targets
  yield* bank.pay({ to: wallet, token: usdc, amount: 1n })
  let counts: Readonly<Record<string, number>> = {}
  yield* followFor(measuredLooks + 1, watchOf(wallet, targets), (look) => {
    if (look === 1) node.count()
    if (look === measuredLooks + 1) counts = node.count()
    return payments > 0 && look % Math.floor(measuredLooks / payments) === 0 && look <= measuredLooks
      ? Effect.asVoid(bank.pay({
        to: wallet,
        token: usdc,
        amount: 5n,
        references: [referenceOf(wallet, first!.memo!)]
      }))
      : Effect.void
  })
  return counts
})

describe("solana's cost", () => {
  it.live(
    "a quiet wallet costs less than two calls a look, whatever the number of its open invoices",
    () =>
      Effect.gen(function*() {
        const one = yield* callsOf(1, 0)
        const many = yield* callsOf(10_000, 0)
        assert.deepStrictEqual(many, one)
        assert.isBelow(sumOf(one), 2 * measuredLooks)
      }).pipe(Effect.scoped)
  )

  it.live("a payment costs a handful of calls", () =>
    Effect.gen(function*() {
      const quiet = yield* callsOf(1, 0)
      const busy = yield* callsOf(1, 10)
      assert.isAtMost((sumOf(busy) - sumOf(quiet)) / 10, 12)
    }).pipe(Effect.scoped))

  it.live("1,000 wallets are looked at in 20 calls, 100 accounts at a time", () =>
    Effect.gen(function*() {
      const { bank, followFor, node, wallet } = yield* opened
      const others = Array.from({ length: 999 }, (_, place) =>
        base58.encode(createHash("sha256").update(`wallet ${place}`).digest()))
      const keys = [wallet, ...others]
      const watch = watching(keys, { accounts: keys.map((key) => ({ key, isOpen: true })), tokens: [usdc] })
      const counts: Array<Readonly<Record<string, number>>> = []
      yield* followFor(4, watch, () => {
        counts.push(node.count())
        return Effect.asVoid(bank.pay({ to: others[5]!, token: usdc, amount: 5n }))
      })
      assert.isAtMost(sumOf(counts[1]!), 25)
    }).pipe(Effect.scoped))

  it.live(
    "a day without the service is caught up in a call for each transaction, and one for 1,000 that are listed",
    () =>
      Effect.gen(function*() {
        const { bank, followFor, ledger, node, wallet } = yield* opened
        const from = ledger.slot
        const target = targetOf(wallet, 0)
        const payments = 300
        for (let count = 0; count < payments; count++) {
          yield* bank.pay({ to: wallet, token: usdc, amount: 5n, references: [referenceOf(wallet, target.memo!)] })
          ledger.advance(Math.floor(216_000 / payments), true)
        }
        node.count()
        yield* followFor(5, watchOf(wallet, [target]), () => Effect.void, from)
        const counts = node.count()
        assert.isAtMost(sumOf(counts), payments + 30)
      }).pipe(Effect.scoped)
  )
})
