/** Combines the searches of single endpoints for a part into one answer. Pure. */
import { majorityOf } from "../../../runtime/payouts/Agreement.ts"
import type { PayoutExecution, PayoutSearch } from "../../../runtime/Payouts.ts"

/** The search of one endpoint. */
export interface EndpointView {
  /** Its place in the configuration, from 0. */
  readonly place: number
  /** Every block up to here was searched. */
  readonly head: bigint
  /** The newest block that is final there. */
  readonly final: bigint
  /** The final block up to which its answer is complete. */
  readonly searchedTo: bigint
  /** Oldest first. */
  readonly executions: ReadonlyArray<PayoutExecution>
  /** A final block is later than the part's validity, and the contract agrees with the logs. */
  readonly isOver: boolean
  /** The contract says that an earlier block than those that were searched executed it. */
  readonly isPaidBefore: boolean
}

const keyOf = ({ block, transfers, txHash }: PayoutExecution): string =>
  [
    block.height,
    block.hash,
    txHash,
    ...transfers.map(({ amount, destination, from, index, line, tokenAddress }) =>
      [index, line, tokenAddress, from, destination, amount].join(" ")
    )
  ].join("\n")

const namesOf = (views: ReadonlyArray<EndpointView>): string =>
  views.map(({ place }) => `rpc ${place + 1}`).join(" and ")

const isShown = ({ executions }: EndpointView, key: string): boolean => executions.some((each) => keyOf(each) === key)

/** One execution: final, and with a fee, where enough of the endpoints that show it say so. */
const agreedExecution = (key: string, showing: ReadonlyArray<EndpointView>, needed: number): PayoutExecution => {
  const all = showing.map(({ executions }) => executions.find((each) => keyOf(each) === key)!)
  const fee = [...Map.groupBy(all, (each) => each.fee)].find(([, alike]) => alike.length >= needed)
  const first = all[0]!
  return {
    ...first,
    isFinal: showing.filter(({ final }) => first.block.height <= final).length >= needed,
    fee: fee?.[0] ?? null
  }
}

/** The greatest height that so many endpoints have searched. */
const searchedHeight = (views: ReadonlyArray<EndpointView>, needed: number): bigint =>
  views.map(({ searchedTo }) => searchedTo).toSorted((one, other) => Number(other - one))[needed - 1]!

/** An execution, with the endpoints that show it and those that have its block and do not show it. */
interface Claim {
  readonly key: string
  readonly execution: PayoutExecution
  readonly showing: ReadonlyArray<EndpointView>
  readonly missing: ReadonlyArray<EndpointView>
}

const claimsOf = (views: ReadonlyArray<EndpointView>): ReadonlyArray<Claim> => {
  const executions = new Map(
    views.flatMap((view) => view.executions.map((execution) => [keyOf(execution), execution] as const))
  )
  return [...executions].map(([key, execution]) => ({
    key,
    execution,
    showing: views.filter((view) => isShown(view, key)),
    missing: views.filter((view) => view.head >= execution.block.height && !isShown(view, key))
  }))
}

const contradictionOf = ({ execution: { block, txHash }, missing, showing }: Claim): string =>
  `${namesOf(showing)} shows the payout ${txHash} in block ${block.height}, and ${namesOf(missing)} does not: ` +
  "compare them with a third node, and correct or remove the wrong one"

/**
 * What more than half of the `configured` endpoints show; a sentence for operators where no majority agrees. An
 * endpoint that did not answer counts for neither side. Where neither those that show an execution nor those that miss
 * it are a majority, the answer waits while the block may still change. Once the block is final it is a failure,
 * because a part that may have been executed must not be taken for one that was not.
 */
export const agreementOf = (
  views: ReadonlyArray<EndpointView>,
  configured: number,
  from: bigint
): PayoutSearch | string => {
  const needed = majorityOf(configured)
  if (views.length < needed) {
    return `${views.length} of ${configured} endpoints could be searched for a payout, and ${needed} are needed: ` +
      "wait, or repair or replace those that fail"
  }
  const searched = searchedHeight(views, needed)
  const searchedTo = searched < from ? from - 1n : searched
  const claims = claimsOf(views)
  const agreed = claims.filter(({ showing }) => showing.length >= needed)
  const undecided = claims.filter(({ missing, showing }) => showing.length < needed && missing.length < needed)
  const contradiction = undecided.find(({ execution }) => execution.block.height <= searchedTo)
  if (contradiction !== undefined) return contradictionOf(contradiction)
  const showsAgreed = (view: EndpointView) =>
    view.executions.length === agreed.length && agreed.every(({ key }) => isShown(view, key))
  return {
    executions: agreed.map(({ key, showing }) => agreedExecution(key, showing, needed))
      .toSorted((one, other) => Number(one.block.height - other.block.height)),
    searchedTo,
    isOver: undecided.length === 0 && views.filter((view) => view.isOver && showsAgreed(view)).length >= needed
  }
}

/** Places of endpoints that show an execution in a final block where most endpoints show none. */
export const deniedPlaces = (
  views: ReadonlyArray<EndpointView>,
  { executions, searchedTo }: PayoutSearch
): ReadonlyArray<number> => {
  const agreed = new Set(executions.map(keyOf))
  return views.filter((view) =>
    view.executions.some((each) => each.block.height <= searchedTo && !agreed.has(keyOf(each)))
  ).map(({ place }) => place)
}
