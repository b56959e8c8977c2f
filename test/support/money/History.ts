/**
 * A seeded history of money: invoices paid right and wrong, reorganisations, late money, refunds, decisions, months
 * that are closed and instances that are killed, all by HTTP; afterwards everything is judged (`Judgement.ts`).
 */
import { Effect } from "effect"
import { judge } from "./Judgement.ts"
import {
  chooseOne,
  type MoneyDeployment,
  type MoneyShop,
  openShop,
  type PaidInvoice,
  type Roll,
  rollOf
} from "./Shop.ts"
import {
  adjust,
  advance,
  closeMonth,
  createInvoice,
  decide,
  decideAtOnce,
  decideUnmatched,
  moveRefund,
  openRefund,
  simulate,
  type StepContext
} from "./Steps.ts"

export interface HistoryOptions {
  readonly seed: number
  readonly rounds: number
  /** Rounds in whose middle an instance is killed. */
  readonly kills: number
  /** Callers that decide on one exception at once. */
  readonly callers: number
}

export interface HistoryReport {
  readonly seed: number
  /** What was broken, one line each. Empty is the only good answer. */
  readonly faults: ReadonlyArray<string>
  readonly steps: ReadonlyArray<string>
  /** How often each call ended how. */
  readonly answers: ReadonlyMap<string, number>
  readonly transfers: number
}

/** Invoices of a history, and steps that are taken side by side. */
const mostInvoices = 40
const mostAtOnce = 4

/** What is done to one invoice, by how often. */
const invoiceSteps = [
  "simulate",
  "simulate",
  "simulate",
  "simulate",
  "refund",
  "move",
  "move",
  "decide",
  "decide"
] as const

const take = (context: StepContext, invoice: PaidInvoice, step: typeof invoiceSteps[number]) => {
  switch (step) {
    case "simulate":
      return simulate(context, invoice)
    case "refund":
      return openRefund(context, invoice)
    case "move":
      return moveRefund(context)
    case "decide":
      return decide(context)
  }
}

/** The newest invoices: those before are mostly paid and done with. */
const newest = 10

/** Invoices that take part in a round, each once: what comes for one of them has an order that is known. */
const someInvoices = ({ invoices }: MoneyShop, roll: Roll): ReadonlyArray<PaidInvoice> => {
  const left = roll(3) === 0 ? [...invoices] : invoices.slice(-newest)
  return Array.from(
    { length: Math.min(1 + roll(mostAtOnce), left.length) },
    () => left.splice(roll(left.length), 1)[0]!
  )
}

/** Steps side by side, each with numbers of its own: no answer that is early or late changes what another one does. */
const workRound = Effect.fnUntraced(function*(deployment: MoneyDeployment, shop: MoneyShop, roll: Roll) {
  const work = someInvoices(shop, roll).map((invoice) => {
    const step = chooseOne(roll, invoiceSteps)!
    shop.steps.push(step)
    return take({ deployment, shop, roll: rollOf(roll(2 ** 30)) }, invoice, step)
  })
  if (shop.invoices.length < mostInvoices && (shop.invoices.length === 0 || roll(2) === 0)) {
    shop.steps.push("create")
    work.push(createInvoice({ deployment, shop, roll: rollOf(roll(2 ** 30)) }))
  }
  yield* Effect.all(work, { concurrency: "unbounded", discard: true })
})

/** After a kill: what the chain has of the invoices whose transfers nobody answered for. */
const askChain = Effect.fnUntraced(function*({ query }: MoneyDeployment, shop: MoneyShop) {
  for (const invoice of shop.invoices.filter(({ isUncertain }) => isUncertain)) {
    const rows = yield* query(`SELECT tx_hash, network || ':' || coalesce(token_address, 'native') AS asset,
      amount::text AS units, status FROM transfers WHERE invoice_id = '${invoice.id}' ORDER BY length(tx_hash), tx_hash`)
    invoice.sent = rows.map((row) => ({
      order: shop.sentCount++,
      asset: row["asset"],
      units: BigInt(row["units"]),
      isOnChain: row["status"] !== "reverted",
      isWaiting: row["status"] === "seen"
    }))
    invoice.isUncertain = false
  }
})

/** Milliseconds into a round at which an instance is killed, at most; and until its last commit has landed. */
const latestKill = 60
const commitMillis = 300

const killRound = Effect.fnUntraced(function*(deployment: MoneyDeployment, shop: MoneyShop, roll: Roll) {
  shop.steps.push("kill")
  const kill = Effect.delay(deployment.kill!, roll(latestKill))
  yield* Effect.all([workRound(deployment, shop, roll), kill], { concurrency: 2, discard: true })
  yield* Effect.sleep(commitMillis)
  yield* askChain(deployment, shop)
})

/** What concerns the whole merchant, one at a time. */
const shopSteps = ["unmatched", "unmatched", "assign", "assign", "adjust", "hours", "days", "close", "callers"] as const

const shopRound = (context: StepContext, callers: number) => {
  const { roll, shop } = context
  const step = chooseOne(roll, shopSteps)!
  shop.steps.push(step)
  switch (step) {
    case "unmatched": {
      const invoice = chooseOne(roll, shop.invoices)
      return invoice === undefined ? Effect.void : simulate(context, invoice, "unmatched")
    }
    case "assign":
      return decideUnmatched(context)
    case "adjust":
      return adjust(context)
    case "hours":
      return advance(context, 60 * (1 + roll(600)))
    case "days":
      return advance(context, 86_400 * (1 + roll(3)))
    // A refund that nobody claims ends after 30 days, and a year of time is all that one export holds.
    case "close":
      return shop.closed.size < 3 ? closeMonth(context) : Effect.void
    case "callers":
      return decideAtOnce(context, callers)
  }
}

/** Of so many rounds, one concerns the whole merchant. */
const shopRoundEvery = 4

/** Runs the history of a seed, and says what was broken. */
export const moneyHistory = Effect.fnUntraced(function*(
  deployment: MoneyDeployment,
  { callers, kills, rounds, seed }: HistoryOptions
) {
  const roll = rollOf(seed)
  const shop = yield* openShop(deployment, seed)
  const killed = new Set(Array.from({ length: kills }, () => roll(rounds)))
  for (let round = 0; round < rounds; round++) {
    if (killed.has(round) && deployment.kill !== null) yield* killRound(deployment, shop, roll)
    else if (round > 2 && roll(shopRoundEvery) === 0) yield* shopRound({ deployment, shop, roll }, callers)
    else yield* workRound(deployment, shop, roll)
    yield* askChain(deployment, shop)
  }
  yield* judge(deployment, shop)
  const report: HistoryReport = {
    seed,
    faults: shop.faults,
    steps: shop.steps,
    answers: shop.answers,
    transfers: shop.invoices.reduce((sum, { sent }) => sum + sent.length, shop.unmatched.length)
  }
  return report
})
