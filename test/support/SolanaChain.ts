/** A chain of Solana as a rig of the conformance suite. */
import { NodeHttpClient } from "@effect/platform-node"
import { Effect, Layer, Redacted, Schedule, Scope } from "effect"
import { makeDriver, type SolanaOptions } from "../../modules/chains/solana.ts"
import { referenceOf, sharedTargetOf } from "../../modules/chains/solana/PaymentCode.ts"
import type { ReceiveTarget } from "../../runtime/Chains.ts"
import { disturbancesOf, everySecond } from "../conformance/chains/Disturbances.ts"
import type { TestedChain } from "../conformance/chains.ts"
import { SolanaLedger } from "./SolanaLedger.ts"
import { newAddress, openBank, type Payment, usdc } from "./SolanaPayments.ts"
import { type RigFault, type SolanaNode, solanaNode } from "./SolanaRig.ts"

/** The client lives as long as the test: a layer provided to `makeDriver` alone would close under the driver. */
export const driverOn = (ledger: SolanaLedger, nodes: ReadonlyArray<SolanaNode>, more: Partial<SolanaOptions> = {}) =>
  Effect.flatMap(Layer.build(NodeHttpClient.layerUndici), (client) =>
    Effect.provide(
      makeDriver({
        environment: "devnet",
        rpc: nodes.map(({ url }) => Redacted.make(url)) as never,
        genesisHash: ledger.genesisHash,
        pollMillis: 10,
        ...more
      }),
      client
    ))

/** A chain with a funded bank, nodes in front of it, and a driver that follows one wallet there. */
export const openSolana = (
  more: Partial<SolanaOptions> = {},
  count = 1,
  now: ConstructorParameters<typeof SolanaLedger>[0] = null
) =>
  Effect.gen(function*() {
    const ledger = new SolanaLedger(now)
    const bank = yield* openBank(ledger)
    const nodes = yield* Effect.forEach(Array.from({ length: count }), () => solanaNode(ledger))
    const wallet = yield* newAddress
    // The bank's own transactions are out of the way of what is counted.
    ledger.advance(200)
    const openDriver = Effect.orDie(driverOn(ledger, nodes, { address: wallet, ...more }))
    const driver = yield* openDriver
    const target = (invoice: number | string) => sharedTargetOf(wallet, `inv_${invoice}`)
    /** Pays as a payment link says, and the chain confirms it. */
    const pay = (to: ReceiveTarget, token: string | null, amount: bigint, extra: Partial<Payment> = {}) =>
      Effect.map(
        bank.pay({
          to: to.address,
          token,
          amount,
          ...to.memo === null ? {} : { references: [referenceOf(to.address, to.memo)] },
          ...extra
        }),
        (txHash) => {
          ledger.advance()
          return { txHash }
        }
      )
    return { ledger, bank, nodes, node: nodes[0]!, wallet, driver, openDriver, target, pay }
  })

/** What the suite pays is enough for an account to exist. */
export const unit = 1_000_000n

/** Slots that a node, and its index, are behind. */
const lagSlots = 5
const indexLagSlots = 40

interface Fault {
  readonly fault?: RigFault
  readonly indexLag?: number
}

const answersTo = (wanted: string, edit: (answer: any) => unknown): Fault => ({
  fault: ({ method }, answer) => method === wanted ? { result: edit(answer()) } : undefined
})

const faults = {
  lag: () => answersTo("getSlot", (slot) => slot - lagSlots),
  index_lag: () => ({ indexLag: indexLagSlots }),
  duplicates: () => answersTo("getSignaturesForAddress", (list) => list?.flatMap((each: unknown) => [each, each])),
  holes: () => answersTo("getTransaction", () => null),
  cut: () => ({ fault: () => "cut" }),
  errors: () => {
    const isSecond = everySecond()
    return { fault: () => isSecond() ? { status: 503, body: "Service unavailable" } : undefined }
  }
} satisfies Record<string, () => Fault>

export const conformanceOn = Effect.fnUntraced(function*(
  { bank, driver, ledger, node, openDriver, pay, target, wallet }: Effect.Success<ReturnType<typeof openSolana>>
) {
  const scope = yield* Scope.Scope
  const rig: TestedChain = {
    driver,
    openDriver,
    target,
    unit,
    token: usdc,
    pay,
    mine: (blocks) => Effect.sync(() => ledger.advance(blocks)),
    payMany: null,
    rollback: null,
    dropTransaction: (txHash) =>
      Effect.gen(function*() {
        ledger.drop(txHash)
        ledger.advance(40)
        yield* Effect.forkIn(Effect.repeat(Effect.sync(() => ledger.advance()), Schedule.spaced(20)), scope)
      }),
    disturbances: disturbancesOf<Fault>((fault) => {
      node.set(fault?.fault ?? null)
      ledger.indexLag = fault?.indexLag ?? 0
    }, faults),
    shared: {
      accountKey: wallet,
      payWithoutMemo: (token, amount) => pay({ address: wallet, matchKey: wallet, memo: null }, token, amount)
    },
    payWithFee: (to, amount) =>
      Effect.map(pay(to, bank.feeToken, amount), (mined) => {
        // Of a token that no catalogue has the wallet's own transactions tell, which are looked at now and then.
        ledger.advance(80)
        return { ...mined, arrives: amount - amount / 100n }
      }),
    payInVain: (to, amount) => pay(to, usdc, 10n ** 18n + amount)
  }
  return rig
})

/** Its blocks have the time of their making, as those of a chain have on which invoices are paid. */
export const solanaChain: Effect.Effect<TestedChain, never, Scope.Scope> = Effect.flatMap(
  openSolana({}, 1, () => Date.now() / 1000),
  conformanceOn
)
