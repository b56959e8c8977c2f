/**
 * An instance that gives out addresses of one wallet and does nothing else: the chains without HTTP. A measurement and
 * a test of several instances start it, and kill it.
 */
import { Context, Effect, Layer } from "effect"
import { readWallet } from "../../modules/chains/evm/Wallet.ts"
import { devnetXpub, make as makeSimulated } from "../../modules/chains/simulated.ts"
import { Chains, type IndexedWallet } from "../../runtime/Chains.ts"
import { follow, instance, invoiceId } from "../runtime/chains/ChainsInstance.ts"
import type { TestDatabase } from "./Database.ts"
import { answerQuestions, say, specification } from "./Process.ts"

/** A key's addresses are derived by arithmetic of a curve, a forwarder's by hashes. */
export type AllocationWallet = "xpub" | "forwarder"

export interface AllocationProcessSpecification {
  readonly database: TestDatabase
  readonly wallet: AllocationWallet
}

/** Allocate for so long, so many at once. */
export interface AllocationQuestion {
  /** Number of the first invoice: nobody else has those from here on. */
  readonly first: number
  readonly callers: number
  readonly seconds: number
}

export interface AllocationAnswer {
  /** Milliseconds of each allocation. */
  readonly waits: ReadonlyArray<number>
}

const payee = "0xAb5801a7D398351b8bE11C439e05C5B3259aeC9B"

const readKind = Effect.fnUntraced(function*(kind: AllocationWallet) {
  const found = yield* kind === "xpub"
    ? readWallet("xpub", devnetXpub)
    : readWallet("forwarder", payee, "5e".repeat(32))
  if (typeof found === "string") throw new Error(found)
  return found as IndexedWallet
})

const serve = Effect.gen(function*() {
  const { database, wallet } = specification<AllocationProcessSpecification>()
  const context = yield* Layer.build(instance(database))
  const { drivers } = yield* makeSimulated({ networks: ["base"], blockMillis: 3_600_000 })
  yield* follow([{ ...drivers[0]!, wallet: yield* readKind(wallet) }]).pipe(Effect.provideContext(context))
  const chains = Context.get(context, Chains)
  answerQuestions<AllocationQuestion>(({ callers, first, seconds }) => {
    const end = performance.now() + seconds * 1_000
    const waits: Array<number> = []
    let next = first
    const call = Effect.suspend(() => {
      const start = performance.now()
      return Effect.map(
        chains.allocate({ merchantId: 1, invoiceId: invoiceId(next++), environment: "devnet", family: "evm" }),
        () => void waits.push(performance.now() - start)
      )
    })
    const caller = Effect.whileLoop({ while: () => performance.now() < end, body: () => call, step: () => undefined })
    const all = Effect.all(Array.from({ length: callers }, () => caller), { concurrency: "unbounded", discard: true })
    return Effect.runPromise(Effect.as(all, { waits } satisfies AllocationAnswer))
  })
  say({})
  return yield* Effect.never
})

await Effect.runPromise(Effect.scoped(serve))
