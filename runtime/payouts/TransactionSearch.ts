/**
 * What became of one transaction whose hash is known before it is signed, read from every endpoint of a network: it is
 * on the chain where more than half of those that are configured show it, and it never will be where as many have
 * passed the end of its validity and nobody shows it. A driver gives what one endpoint says:
 *
 * ```ts
 * return yield* searchTransaction(network, endpoints, (api) => readReport(api, id))
 * ```
 */
import { Effect, Result } from "effect"
import { type BlockPoint, DriverError } from "../Chains.ts"
import type { Endpoints, NodeEndpoint } from "../nodes/Endpoints.ts"
import { majorityOf } from "./Agreement.ts"

/** A transaction as an endpoint shows it. */
export interface ShownTransaction<A> {
  readonly block: BlockPoint
  /** What else the endpoint says of it. */
  readonly facts: A
}

/** What one endpoint says. Its blocks are read before the transaction: what it does not have then is not in them. */
export interface EndpointReport<A> {
  /** Its newest block, and the newest that is final by the network's rule; below zero: it has none. */
  readonly head: bigint
  readonly final: bigint
  /** Its final block is past the end of the transaction's validity. */
  readonly isOver: boolean
  /** Null: it does not have it. */
  readonly shown: ShownTransaction<A> | null
  /**
   * Transactions that pay what the exported one pays, and could be executed beside it; by the name of each. Absent:
   * nobody looked for any.
   */
  readonly others?: ReadonlyMap<string, ShownTransaction<A>>
}

/** A transaction that most endpoints show. */
export type AgreedTransaction<A> = ShownTransaction<A> & { readonly isFinal: boolean }

/** What they agree about. */
export interface TransactionAgreement<A> {
  readonly shown: AgreedTransaction<A> | null
  /** {@link EndpointReport.others}, those of which they agree. */
  readonly others: ReadonlyArray<AgreedTransaction<A>>
  /** The newest block that is final for most of them. */
  readonly final: bigint
  /** It is not there, and never will be; or it is there for good, and can be executed no second time. */
  readonly isOver: boolean
}

const descending = (one: bigint, other: bigint): number => one === other ? 0 : one > other ? -1 : 1

/**
 * What the reports come to. An endpoint that has not come to the block in which others show the transaction does not
 * contradict them yet, and meanwhile nothing is said; one that has, and does not show it there, does. Whatever most of
 * them say, what one of them shows is never over: money that is believed to be unsent is sent again.
 */
const agreeOnOne = <A>(
  network: string,
  configured: number,
  reports: ReadonlyArray<EndpointReport<A>>,
  failures: ReadonlyArray<DriverError>
): Result.Result<Omit<TransactionAgreement<A>, "others">, DriverError> => {
  const majority = majorityOf(configured)
  if (reports.length < majority) {
    const answers = `${reports.length} of ${configured} endpoints answered, and ${majority} must agree about a payout`
    const reason = [answers, ...failures.map((failure) => failure.reason)].join("; ")
    return Result.fail(new DriverError({ network, reason, kind: "unanswered" }))
  }
  const final = reports.map((report) => report.final).toSorted(descending)[majority - 1]!
  const isPast = reports.filter(({ isOver }) => isOver).length >= majority
  const showing = reports.flatMap(({ shown }) => shown === null ? [] : [shown])
  if (showing.length === 0) return Result.succeed({ shown: null, final, isOver: isPast })
  const largest = [...Map.groupBy(showing, ({ block }) => block.hash).values()]
    .toSorted((one, other) => other.length - one.length)[0]!
  const [shown] = largest as [ShownTransaction<A>]
  const { height } = shown.block
  if (largest.length >= majority) {
    const isFinal = reports.filter((report) =>
      report.shown?.block.hash === shown.block.hash && report.final >= height
    ).length >= majority
    return Result.succeed({ shown: { ...shown, isFinal }, final, isOver: isFinal })
  }
  const contradicts = (report: EndpointReport<A>) =>
    report.shown === null ? report.head >= height : report.shown.block.hash !== shown.block.hash
  // No block after the end of its validity can have it, so most of them have come far enough then.
  if (isPast || reports.some(contradicts)) {
    const reason = `endpoints do not agree whether block ${height} has a payout: wait, or correct the one that is wrong`
    return Result.fail(new DriverError({ network, reason, kind: "contradiction" }))
  }
  return Result.succeed({ shown: null, final: final < height ? final : height - 1n, isOver: false })
}

/** {@link agreeOnOne} of the exported transaction, and of each other one that any of the endpoints shows. */
export const agree = <A>(
  network: string,
  configured: number,
  reports: ReadonlyArray<EndpointReport<A>>,
  failures: ReadonlyArray<DriverError>
): Result.Result<TransactionAgreement<A>, DriverError> =>
  Result.gen(function*() {
    const main = yield* agreeOnOne(network, configured, reports, failures)
    const names = new Set(reports.flatMap(({ others }) => [...others?.keys() ?? []]))
    const others: Array<AgreedTransaction<A>> = []
    let { final, isOver } = main
    for (const name of names) {
      const own = reports.map((report) => ({ ...report, shown: report.others?.get(name) ?? null }))
      const other = yield* agreeOnOne(network, configured, own, failures)
      if (other.final < final) final = other.final
      // It keeps the exported one from nothing, and is nobody's word alone.
      if (other.shown === null) isOver = false
      else others.push(other.shown)
    }
    return { ...main, others, final, isOver }
  })

/** Asks every endpoint; of one that fails, the reason is told where too few of them answer. */
export const searchTransaction = Effect.fnUntraced(function*<Client extends NodeEndpoint, A>(
  network: string,
  { attempt, endpoints }: Pick<Endpoints<Client>, "attempt" | "endpoints">,
  ask: (endpoint: Client) => Effect.Effect<EndpointReport<A>, DriverError>
): Effect.fn.Return<TransactionAgreement<A>, DriverError> {
  const asked = yield* Effect.forEach(
    endpoints,
    (endpoint) => Effect.result(attempt(endpoint, ask)),
    { concurrency: "unbounded" }
  )
  const reports = asked.flatMap((each) => each._tag === "Success" ? [each.success] : [])
  const failures = asked.flatMap((each) => each._tag === "Failure" ? [each.failure] : [])
  return yield* Effect.fromResult(agree(network, endpoints.length, reports, failures))
})
