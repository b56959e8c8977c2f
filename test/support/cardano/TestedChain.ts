/** A Cardano chain as a rig of the conformance suite. */
import { Effect, type Scope } from "effect"
import { disturbancesOf, everySecond } from "../../conformance/chains/Disturbances.ts"
import type { TestedChain } from "../../conformance/chains.ts"
import { indexedWalletOf } from "../Drivers.ts"
import { blockfrost, type BlockfrostFault, refusal } from "./Blockfrost.ts"
import { Ledger, type RigOutput, type RigTransaction } from "./Ledger.ts"
import { driverOn } from "./Rig.ts"

/** The ledger lets no output hold less than about 1 ADA. */
const unit = 1_000_000n

/** Blocks that a server is behind. */
const lagBlocks = 2

interface Fault {
  readonly fault?: BlockfrostFault
  readonly lag?: () => number
}

const withLists =
  (edit: (list: ReadonlyArray<unknown>, path: string) => ReadonlyArray<unknown>): BlockfrostFault =>
  ({ path }, answer) => {
    const { body, ...rest } = answer()
    return { ...rest, body: Array.isArray(body) ? edit(body, path) : body }
  }

const faults = {
  lag: () => ({ lag: () => lagBlocks }),
  turns: () => {
    const isSecond = everySecond()
    return { lag: () => isSecond() ? lagBlocks : 0 }
  },
  duplicates: () => ({ fault: withLists((list) => list.flatMap((each) => [each, each])) }),
  holes: () => ({ fault: withLists((list, path) => path.endsWith("/txs/cbor") ? list.slice(1) : list) }),
  cut: () => ({ fault: "cut" }),
  errors: () => {
    const isSecond = everySecond()
    return {
      fault: (_, answer) => isSecond() ? refusal(503, "Service Unavailable", "Try again.") : answer()
    }
  }
} satisfies Record<string, () => Fault>

export const cardanoChain: Effect.Effect<TestedChain, never, Scope.Scope> = Effect.gen(function*() {
  const ledger = new Ledger(() => Math.floor(Date.now() / 1000))
  const server = yield* blockfrost(ledger)
  const openDriver = Effect.orDie(driverOn([server]))
  const driver = yield* openDriver
  const wallet = indexedWalletOf(driver)
  let last: RigTransaction | null = null
  const mined = (outputs: ReadonlyArray<RigOutput>) =>
    Effect.sync(() => {
      last = ledger.pay(outputs)
      ledger.mine()
      return { txHash: last.txHash }
    })
  return {
    driver,
    openDriver,
    target: wallet.derive,
    unit,
    token: null,
    pay: ({ address }, _token, amount) => mined([{ address, lovelace: amount }]),
    payMany: (to, amount) => mined(to.map(({ address }) => ({ address, lovelace: amount }))),
    mine: (blocks) => Effect.sync(() => ledger.mine(blocks)),
    rollback: {
      drop: (depth) =>
        Effect.sync(() => {
          ledger.rollback(depth)
          ledger.mine(depth)
        }),
      reinclude: (depth) =>
        Effect.sync(() => {
          ledger.rollback(depth)
          ledger.mine(depth)
          ledger.resubmit(last!)
          ledger.mine()
        })
    },
    dropTransaction: null,
    disturbances: disturbancesOf<Fault>((fault) => {
      server.set(fault?.fault ?? "right")
      server.lag(fault?.lag ?? (() => 0))
    }, faults),
    shared: null,
    payWithFee: null,
    payInVain: ({ address }, amount) =>
      Effect.sync(() => {
        const transaction = ledger.insertFailed(address, amount)
        ledger.mine()
        return { txHash: transaction.txHash }
      })
  }
})
