/** A chain, its API and a driver that follows it, for tests: what is told is kept as the journal would. */
import { assert } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type { ChainDriver, ChainEvent, ChainPoint, ObservedTransfer, WatchSet } from "../../../runtime/Chains.ts"
import { indexedWalletOf, watching } from "../Drivers.ts"
import { type Blockfrost, blockfrost } from "./Blockfrost.ts"
import { Ledger, type RigTransaction } from "./Ledger.ts"
import { driverOn } from "./Rig.ts"

export const ada = 1_000_000n

/** What a follower would know. */
export interface Story {
  readonly points: ReadonlyArray<ChainPoint>
  readonly transfers: ReadonlyMap<string, ObservedTransfer & { readonly height: bigint }>
  readonly rollbacks: number
  readonly failures: ReadonlyArray<string>
  readonly conditions: ReadonlyArray<string>
  readonly looks: number
}

export const untold: Story = { points: [], transfers: new Map(), rollbacks: 0, failures: [], conditions: [], looks: 0 }

const tell = (story: Story, event: ChainEvent): Story => {
  switch (event._tag) {
    case "Forward": {
      const { height } = event.point
      if (story.points[0] !== undefined) assert.strictEqual(height, story.points[0].height + 1n, "no block is skipped")
      const transfers = new Map(story.transfers)
      for (const transfer of event.transfers) {
        transfers.set(`${transfer.txHash}:${transfer.index}`, { ...transfer, height })
      }
      return { ...story, points: [event.point, ...story.points].slice(0, 128), transfers }
    }
    case "Rollback":
      return {
        ...story,
        rollbacks: story.rollbacks + 1,
        points: story.points.filter(({ height }) => height <= event.to.height),
        transfers: new Map([...story.transfers].filter(([, { height }]) => height <= event.to.height))
      }
    case "Condition":
      return { ...story, conditions: [...story.conditions, event.condition] }
    case "Finality":
      return { ...story, looks: story.looks + 1 }
    case "Gone":
      return story
  }
}

/** Follows until `done`, again after each failure, as the follower does. */
export const followUntil = Effect.fnUntraced(function*(
  driver: ChainDriver,
  start: Story,
  watch: WatchSet,
  done: (story: Story) => boolean
) {
  let story = start
  while (!done(story)) {
    const outcome = yield* driver.follow(story.points, watch).pipe(
      Stream.takeUntil((event) => {
        story = tell(story, event)
        return done(story)
      }),
      Stream.runDrain,
      Effect.result
    )
    if (outcome._tag === "Failure") {
      story = { ...story, failures: [...story.failures, outcome.failure.reason] }
      yield* Effect.sleep(20)
    }
  }
  return story
})

export interface Town {
  readonly ledger: Ledger
  readonly server: Blockfrost
  readonly driver: ChainDriver
  readonly address: (index: number) => string
  readonly watch: WatchSet
  readonly start: Story
}

export const watched = 3

/** A chain, one server, a driver that has seen the first block. */
export const town = Effect.fnUntraced(function*(more: Parameters<typeof driverOn>[1] = {}) {
  const ledger = new Ledger()
  const server = yield* blockfrost(ledger)
  const driver = yield* driverOn([server], more)
  const address = (index: number) => indexedWalletOf(driver).derive(index).address
  const watch = watching(Array.from({ length: watched }, (_, index) => address(index)))
  const start = yield* followUntil(driver, untold, watch, ({ points }) => points.length > 0)
  return { ledger, server, driver, address, watch, start } satisfies Town
})

export const pay = ({ address, ledger }: Town, index: number, lovelace: bigint): RigTransaction => {
  const transaction = ledger.pay([{ address: address(index), lovelace }])
  ledger.mine()
  return transaction
}

export const amounts = ({ transfers }: Story) => [...transfers.values()].map(({ amount }) => BigInt(amount))

export const has = (count: number) => ({ transfers }: Story) => transfers.size >= count
export const reaches = (ledger: Ledger) => ({ points }: Story) => points[0]?.height === BigInt(ledger.tip.height)
