/**
 * Combines the searches of all endpoints for an exported part: an execution counts where more than half of the
 * configured endpoints show it. A driver gives the search of one endpoint:
 *
 * ```ts
 * const reports = yield* askEach(endpoints, (node) => searchNode(node, request))
 * return yield* Effect.fromResult(agreeOnSearch(network, request.from, reports))
 * ```
 */
import { Effect, Result } from "effect"
import { DriverError } from "../Chains.ts"
import type { Endpoints, NodeEndpoint } from "../nodes/Endpoints.ts"
import type { PayoutExecution, PayoutSearch } from "../Payouts.ts"

/** The answer of an endpoint; a sentence where it failed. */
export type Report<A> = Result.Result<A, string>

/** The search of one endpoint for a part. */
export interface EndpointSearch {
  /** Every block up to this one is final for it, and was searched. */
  readonly searchedTo: bigint
  /** See {@link PayoutSearch.isOver}. */
  readonly isOver: boolean
  readonly executions: ReadonlyArray<PayoutExecution>
}

/** Endpoints that must agree: more than half of those that are configured. */
export const majorityOf = (configured: number): number => Math.floor(configured / 2) + 1

/** Asks every endpoint at once. Never fails. */
export const askEach = <Client extends NodeEndpoint, A>(
  { attempt, endpoints }: Pick<Endpoints<Client>, "attempt" | "endpoints">,
  ask: (endpoint: Client) => Effect.Effect<A, DriverError>
): Effect.Effect<ReadonlyArray<Report<A>>> =>
  Effect.forEach(
    endpoints,
    (endpoint) => Effect.map(Effect.result(attempt(endpoint, ask)), Result.mapError(({ reason }) => reason)),
    { concurrency: "unbounded" }
  )

/** The answers, if as many endpoints answered as must agree. */
export const answersOf = <A>(
  network: string,
  reports: ReadonlyArray<Report<A>>
): Result.Result<ReadonlyArray<A>, DriverError> => {
  const answers = reports.flatMap((report) => Result.isSuccess(report) ? [report.success] : [])
  if (answers.length >= majorityOf(reports.length)) return Result.succeed(answers)
  const failures = reports.flatMap((report) => Result.isFailure(report) ? [report.failure] : []).join("; ")
  const reason = `${answers.length} of ${reports.length} endpoints answered, and ${majorityOf(reports.length)} must ` +
    `agree about a payout: ${failures}`
  return Result.fail(new DriverError({ network, reason, kind: "unanswered" }))
}

/**
 * The height that more than half of `configured` endpoints have reached, by what those that answered say. From there on
 * an export is searched for: a single endpoint that names one too high would hide what lies below it, and one that is
 * behind would let what was paid before the export count for it.
 */
export const heightOfMost = (heights: ReadonlyArray<bigint>, configured: number): bigint =>
  heights.toSorted((one, other) => one < other ? 1 : one > other ? -1 : 0)[majorityOf(configured) - 1]!

/** {@link heightOfMost} of what endpoints answer. Fails where too few of them do. */
export const readHeightOfMost = Effect.fnUntraced(function*<Client extends NodeEndpoint>(
  network: string,
  endpoints: Pick<Endpoints<Client>, "attempt" | "endpoints">,
  readHeight: (endpoint: Client) => Effect.Effect<bigint, DriverError>
): Effect.fn.Return<bigint, DriverError> {
  const heights = yield* Effect.fromResult(answersOf(network, yield* askEach(endpoints, readHeight)))
  return heightOfMost(heights, endpoints.endpoints.length)
})

/** What endpoints must show alike of a transaction: which it is, and each transfer with its sender, who is booked. */
export const transactionContent = ({ transfers, txHash }: Pick<PayoutExecution, "transfers" | "txHash">): string =>
  JSON.stringify([
    txHash,
    transfers.map((
      { amount, destination, from, index, line, tokenAddress }
    ) => [index, line, from, destination, tokenAddress, `${amount}`])
  ])

/** The same of one execution, with where it is. */
const contentOf = (execution: PayoutExecution): string =>
  JSON.stringify([`${execution.block.height}`, execution.block.hash, transactionContent(execution)])

const byHeight = (one: PayoutExecution, other: PayoutExecution): number =>
  one.block.height < other.block.height ? -1 : one.block.height > other.block.height ? 1 : 0

const smaller = (one: bigint, other: bigint): bigint => one < other ? one : other

/**
 * What the reports come to. `from`: blocks below were searched before. An endpoint whose search has not come to a block
 * does not contradict those that show an execution there: meanwhile nothing is said of it, and the part is not over.
 * One that has come so far does: then somebody is wrong, and nothing is believed.
 */
export const agreeOnSearch = (
  network: string,
  from: bigint,
  reports: ReadonlyArray<Report<EndpointSearch>>
): Result.Result<PayoutSearch, DriverError> =>
  Result.flatMap(answersOf(network, reports), (answers): Result.Result<PayoutSearch, DriverError> => {
    const majority = majorityOf(reports.length)
    const agreed: Array<PayoutExecution> = []
    const undecided: Array<PayoutExecution> = []
    const groups = Map.groupBy(answers.flatMap(({ executions }) => executions), contentOf)
    for (const [content, group] of groups) {
      const [execution] = group as [PayoutExecution]
      const { height } = execution.block
      if (group.length >= majority) {
        agreed.push({ ...execution, isFinal: group.filter(({ isFinal }) => isFinal).length >= majority })
        continue
      }
      const isDenied = answers.some(({ executions, searchedTo }) =>
        searchedTo >= height && !executions.some((each) => contentOf(each) === content)
      )
      if (isDenied) {
        const reason = `endpoints do not agree whether transaction ${execution.txHash} of block ${height} executes a ` +
          "payout: compare with an explorer, and correct or remove the endpoint that is wrong"
        return Result.fail(new DriverError({ network, reason, kind: "contradiction" }))
      }
      undecided.push(execution)
    }
    const furthest = answers.map(({ searchedTo }) => searchedTo)
      .toSorted((one, other) => one < other ? 1 : one > other ? -1 : 0)[majority - 1]!
    const searchedTo = undecided.reduce((least, { block }) => smaller(least, block.height - 1n), furthest)
    return Result.succeed({
      executions: agreed.toSorted(byHeight),
      searchedTo: searchedTo < from - 1n ? from - 1n : searchedTo,
      isOver: undecided.length === 0 && answers.filter(({ isOver }) => isOver).length >= majority
    })
  })
