/**
 * Goal: two exports of one part on Solana are never both executed, whatever wallets, nodes and forks do meanwhile.
 * Method: wallets keep every export and execute any of them at any time, one of three nodes hides, lies or is away,
 * transactions are dropped and included again; a part is exported anew only when a search says that it is over.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { PayoutExport } from "../../../../runtime/Payouts.ts"
import { memoInstruction, newAddress, usdc } from "../../../support/SolanaPayments.ts"
import { lineOf, openPayouts, readPayload } from "../../../support/SolanaPayouts.ts"
import type { SolanaNode } from "../../../support/SolanaRig.ts"

const rounds = 15
const stepsPerRound = 14
const unit = 1_000_000n

/** The same numbers in every run. */
const makeRandom = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor(state / 2_147_483_648 * below)
  }
}

/** What a node may do wrong. */
const faults: ReadonlyArray<(node: SolanaNode) => void> = [
  (node) => node.set(null),
  (node) => node.set(() => "cut"),
  (node) => node.set(({ method }) => method === "getSignaturesForAddress" ? { result: [] } : undefined),
  (node) => node.set(({ method }) => method === "getTransaction" ? { result: null } : undefined),
  (node) =>
    node.set(({ method }, answer) => {
      if (method !== "getEpochInfo") return undefined
      const { absoluteSlot, blockHeight }: any = answer()
      return { result: { absoluteSlot: absoluteSlot + 900, blockHeight: blockHeight + 900 } }
    }),
  (node) =>
    node.set(({ method }, answer) => {
      if (method !== "getLatestBlockhash") return undefined
      const result: any = answer()
      result.value.lastValidBlockHeight -= 140
      return { result }
    })
]

describe("an export of a part on Solana that follows another", () => {
  it.live("is never executed beside it", () =>
    Effect.gen(function*() {
      const { build, ledger, nodes, partOf, search, sign } = yield* openPayouts(3)
      const random = makeRandom(11)
      let exportsAnew = 0
      let executions = 0
      for (let round = 1; round <= rounds; round++) {
        const part = partOf([lineOf(yield* newAddress, null, 2n * unit), lineOf(yield* newAddress, usdc, unit)], round)
        const exported: Array<PayoutExport> = []
        const signatures: Array<Set<string>> = []
        const giveOut = Effect.gen(function*() {
          const given = yield* Effect.option(build(part))
          if (given._tag === "None") return
          exported.push(given.value)
          signatures.push(new Set())
        })
        yield* giveOut
        for (let step = 0; step < stepsPerRound; step++) {
          ledger.advance([1, 5, 40, 110][random(4)]!)
          for (const node of nodes) node.set(null)
          faults[random(faults.length)]!(nodes[random(3)]!)
          const at = exported.length === 0 ? -1 : random(exported.length)
          switch (random(4)) {
            case 0: {
              if (at < 0) break
              const added = random(2) === 0 ? [] : [memoInstruction(`wallet ${step}`)]
              const wire = yield* sign(exported[at]!, added)
              const txHash = yield* Effect.option(Effect.try({ try: () => ledger.execute(wire), catch: String }))
              if (txHash._tag === "Some") signatures[at]!.add(txHash.value)
              break
            }
            case 1: {
              const last = ledger.transactions.at(-1)!
              if (ledger.commitmentOf(last) === "finalized") break
              ledger.drop(last.signature)
              ledger.advance(random(8))
              ledger.include(last)
              break
            }
            default: {
              const current = exported.at(-1)
              if (current === undefined) {
                yield* giveOut
                break
              }
              const found = yield* Effect.option(search(part, current))
              if (found._tag === "None" || !found.value.isOver || found.value.executions.length > 0) break
              exportsAnew += 1
              yield* giveOut
            }
          }
        }
        for (const node of nodes) node.set(null)
        const succeeded = signatures.map((all) =>
          ledger.transactions.filter(({ error, signature }) => error === null && all.has(signature)).length
        )
        executions += succeeded.reduce((sum, count) => sum + count, 0)
        assert.isAtMost(
          succeeded.filter((count) => count > 0).length,
          1,
          `part ${round}: ${exported.map(({ payload }) => readPayload(payload).lastValidBlockHeight)}, ${succeeded}`
        )
      }
      // The test would prove nothing without these.
      assert.isAbove(exportsAnew, 3)
      assert.isAbove(executions, 3)
    }).pipe(Effect.scoped))
})
