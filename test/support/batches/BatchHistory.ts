/**
 * A seeded history of batches: two operators on two processes make, approve, give out and cancel; a wallet signs what
 * it was ever given, late, twice, changed, or line by line; blocks come and go, time passes, endpoints lie, processes
 * are killed. Afterwards everything becomes final and is judged (`BatchJudgement.ts`).
 */
import { Effect } from "effect"
import { chooseOne, rollOf } from "../money/Shop.ts"
import { judgeBatches } from "./BatchJudgement.ts"
import {
  approve,
  cancel,
  deliver,
  exportPart,
  killDuring,
  look,
  makePayouts,
  makeRefunds,
  mine,
  moveRefund,
  pass,
  passTime,
  payList,
  race,
  reorganise,
  sign,
  tellDuplicates
} from "./BatchSteps.ts"
import type { BatchDeployment } from "./Instances.ts"
import { openBatchShop, type StepContext } from "./Operators.ts"
import type { PayingChain } from "./PayingChain.ts"

export interface BatchHistoryOptions {
  readonly seed: number
  readonly steps: number
  /** Steps during which a process is killed. */
  readonly kills: number
}

export interface BatchHistoryReport {
  /** What was broken, one line each. Empty is the only good answer. */
  readonly faults: ReadonlyArray<string>
  readonly steps: ReadonlyArray<string>
  /** How often each call ended how. */
  readonly answers: ReadonlyMap<string, number>
  readonly kills: number
  /** Transfers of the wallet that are final in the end; those of them that came twice; exports given out. */
  readonly transfers: number
  readonly second: number
  readonly exports: number
}

type Step = (context: StepContext) => Effect.Effect<unknown>

/** What people do with batches: two of these may happen at once, and a process may be killed during each. */
const acts: Readonly<Record<string, Step>> = {
  payouts: makePayouts,
  refunds: makeRefunds,
  approve,
  cancel,
  export: exportPart,
  deliver,
  move: moveRefund,
  look
}

/** What happens, each as often as it stands here. */
const happenings = [
  ...["payouts", "payouts", "refunds", "refunds", "approve", "cancel", "move", "export", "export"],
  ...["deliver", "deliver", "deliver", "deliver", "deliver", "deliver", "deliver"],
  ...["sign", "sign", "sign", "sign", "sign", "list", "list", "list"],
  ...["mine", "mine", "mine", "deep", "reorganise", "reorganise", "reorganise", "pass", "pass"],
  ...["look", "look", "look", "race", "race", "race", "disturb", "heal"]
] as const

const actNames = [
  "payouts",
  "refunds",
  "refunds",
  "approve",
  "cancel",
  "export",
  "export",
  "deliver",
  "deliver",
  "move"
]

const oneAct = ({ roll }: StepContext): string => chooseOne(roll, actNames)!

const take = (context: StepContext): Effect.Effect<unknown> => {
  const { chain, roll, shop } = context
  const name = chooseOne(roll, happenings)!
  const note = (text: string) => void shop.steps.push(text)
  switch (name) {
    case "sign":
      return note(name), sign(context)
    case "list":
      return note(name), payList(context)
    case "mine":
      return note(name), mine(context, 1 + roll(2))
    case "deep":
      return note(name), mine(context, chain.finality + 1)
    case "reorganise":
      return note(name), reorganise(context)
    case "pass":
      return note(name), pass(context)
    case "disturb":
      return note(chain.disturb(roll)), Effect.void
    case "heal":
      return note(name), Effect.sync(chain.heal)
    case "race": {
      const [one, other] = [oneAct(context), oneAct(context)]
      return note(`${one}+${other}`), race(context, acts[one]!, acts[other]!)
    }
    default:
      return note(name), acts[name]!(context)
  }
}

const killStep = (context: StepContext): Effect.Effect<unknown> => {
  const { roll, shop } = context
  const name = roll(2) === 0 ? "export" : chooseOne(roll, Object.keys(acts))!
  shop.steps.push(`kill:${name}`)
  return killDuring(context, acts[name]!)
}

const settlingMillis = 60_000

/** A part that the chain guards and that somebody may still execute. */
const openParts = ({ deployment: { query }, shop }: StepContext) =>
  query(`SELECT count(*)::int AS count FROM batches b, json_array_elements(b.parts) p
    WHERE b.merchant_id = ${shop.id} AND p ->> 'status' IN ('out', 'seen') AND p -> 'export' ->> 'validUntil' IS NOT NULL`)

/** All is well again, every export is over, and all that was sent is final. Then everything is signed once more. */
const settle = Effect.fnUntraced(function*(context: StepContext) {
  const { chain, shop } = context
  chain.heal()
  const latest = Math.max(0, ...shop.given.map(({ validUntil }) => validUntil ?? 0))
  yield* passTime(context, Math.max(0, latest - (yield* chain.time)) + 10)
  const end = Date.now() + settlingMillis
  for (;;) {
    yield* mine(context, chain.finality + 1)
    yield* look(context)
    if ((yield* openParts(context))[0]!["count"] === 0) break
    if (Date.now() > end) return void shop.faults.push("a part that is over stays open")
  }
  for (const { batch, payload, validUntil } of shop.given) {
    if (validUntil !== null) yield* chain.sign(shop.wallet, payload, "as_given", shop.thief, batch.id)
  }
  yield* mine(context, chain.finality + 1)
  yield* look(context)
})

/** Runs the history of a seed, and says what was broken. */
export const batchHistory = Effect.fnUntraced(function*(
  deployment: BatchDeployment,
  chain: PayingChain,
  { kills, seed, steps }: BatchHistoryOptions
) {
  const roll = rollOf(seed)
  const withRefunds = roll(3) > 0
  const shop = yield* openBatchShop(deployment, chain, { seed, withRefunds })
  const context: StepContext = { deployment, chain, shop, roll }
  const killed = new Set(Array.from({ length: kills }, () => 3 + roll(Math.max(1, steps - 3))))
  yield* makePayouts(context)
  // What is wrong once is found wrong again and again: the judges say the rest.
  for (let step = 0; step < steps && shop.faults.length === 0; step++) {
    yield* killed.has(step) ? killStep(context) : take(context)
    yield* tellDuplicates(context)
  }
  yield* settle(context)
  yield* judgeBatches(context)
  const moved = yield* chain.moved(shop.wallet)
  const receivers = new Set(moved.map(({ to }) => to)).size
  const report: BatchHistoryReport = {
    faults: shop.faults,
    steps: shop.steps,
    answers: shop.answers,
    kills: shop.kills,
    transfers: moved.length,
    second: moved.length - receivers,
    exports: shop.given.length
  }
  return report
})
