/**
 * Goal: an invoice that was paid in time never expires, whenever its chain could be read and its transfers were
 * handled. Method: any interleaving of blocks, reading, handling and looks of the clock, over the real machine and the
 * real rule of what a block proves; the model is the chain itself.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import {
  type Aggregate,
  type Command,
  decide,
  type Decision,
  type IncomingTransfer,
  type InvoiceState,
  type ScanProgress
} from "../../../modules/invoices/machine.ts"
import { seenUntilAfterBlock } from "../../../runtime/chains/Confirmations.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import { makeRandom, newInvoice, startSeconds } from "../../fixtures/histories.ts"
import { openExceptionKeys } from "../../support/OpenExceptions.ts"

const invoice: InvoiceState = newInvoice(makeRandom(1), startSeconds, { type: "standard", amount: usdMillis(50_000n) })
const { expiresAt } = invoice

interface Block {
  readonly time: number
  readonly hasPayment: boolean
}

/** The chain, how much of it was read and handled, and the invoice. */
interface World {
  readonly now: number
  readonly blocks: ReadonlyArray<Block>
  readonly read: number
  readonly handled: number
  readonly seenUntil: number | null
  readonly aggregate: Aggregate
  readonly told: ReadonlyArray<string>
}

const Moves = Schema.Array(Schema.Struct({
  kind: Schema.Literals(["mine", "pay", "follow", "read", "handle", "tick", "tick"]),
  /** Seconds that pass before: such that blocks come in the second of the end too, and several in one. */
  after: Schema.Literals([0, 0, 0, 1, 50])
})).check(Schema.isMaxLength(40))

const begin: World = {
  now: expiresAt - 100,
  blocks: [],
  read: 0,
  handled: 0,
  seenUntil: null,
  aggregate: { invoice, payments: [], exceptions: [] },
  told: []
}

const arrivalIn = ({ time }: Block, place: number): IncomingTransfer => ({
  id: `00000000-0000-4000-8000-${String(place).padStart(12, "0")}`,
  network: "base",
  tokenId: 1,
  tokenDecimals: 6,
  txHash: `0x${place}`,
  sender: "0xpayor",
  units: 50_000_000n,
  amount: usdMillis(50_000n),
  seenAt: time,
  metadata: {
    quote: { quote_id: null, exchange_rate: "1", rate_source: "fixed", priced_at: time, pricing: "spot" },
    confirmations: 1,
    required_confirmations: 1,
    block_number: place,
    exception: null,
    token: null
  }
})

const doTo = (world: World, commands: ReadonlyArray<Command>): World => {
  const decision = decide(world.aggregate, commands, world.now) as Decision
  return { ...world, aggregate: decision.next, told: [...world.told, ...decision.events.map(({ type }) => type)] }
}

const sightOf = ({ blocks, handled, read, seenUntil }: World): ScanProgress => ({
  networks: [{ network: "base", seenUntil, isAdvancing: true }],
  handling: blocks.slice(handled, read).some(({ hasPayment }) => hasPayment) ? "under_way" : "done"
})

interface Move {
  readonly kind: (typeof Moves.Type)[number]["kind"]
  readonly after: number
}

const step = (before: World, { after, kind }: Move): World => {
  const world: World = { ...before, now: before.now + after }
  switch (kind) {
    case "mine":
    case "pay":
      return { ...world, blocks: [...world.blocks, { time: world.now, hasPayment: kind === "pay" }] }
    case "follow":
      return (["mine", "read", "handle"] as const).reduce((each, kind) => step(each, { kind, after: 0 }), world)
    case "read": {
      const seenUntil = world.blocks.slice(world.read).reduce(seenUntilAfterBlock, world.seenUntil)
      return { ...world, read: world.blocks.length, seenUntil }
    }
    case "handle": {
      if (world.handled === world.read) return world
      const block = world.blocks[world.handled]!
      const next = { ...world, handled: world.handled + 1 }
      if (!block.hasPayment) return next
      const transfer = arrivalIn(block, world.handled)
      return doTo(next, [
        { _tag: "Observe", transfer },
        { _tag: "Confirm", paymentId: transfer.id, confirmations: 1 }
      ])
    }
    case "tick": {
      const { dueAt } = world.aggregate.invoice
      return dueAt === null || world.now < dueAt ? world : doTo(world, [{ _tag: "Tick", progress: sightOf(world) }])
    }
  }
}

/** The chain goes on past the end, all of it is read and handled, and the clock looks as often as it wants to. */
const finish = (before: World): World => {
  let world = step(before, { kind: "mine", after: Math.max(0, expiresAt + 1 - before.now) })
  world = step(world, { kind: "read", after: 1 })
  while (world.handled < world.read) world = step(world, { kind: "handle", after: 1 })
  return [60, 60].reduce((each, after) => step(each, { kind: "tick", after }), world)
}

describe("expiry and sight", () => {
  it.effect.prop(
    "a payment in a block up to expires_at is never late, and what nobody paid expires",
    [Moves],
    ([moves]) =>
      Effect.sync(() => {
        const world = finish(moves.reduce(step, begin))
        const inTime = world.blocks.some(({ hasPayment, time }) => hasPayment && time <= expiresAt)
        const ever = world.blocks.some(({ hasPayment }) => hasPayment)
        if (inTime) assert.notInclude(world.told, "invoice.expired")
        assert.strictEqual(world.aggregate.invoice.status, ever ? "paid" : "expired")
        assert.notInclude(openExceptionKeys(world.aggregate), "expiry_unseen:")
      }),
    { arbitrary: { runs: 4_000 } }
  )
})
