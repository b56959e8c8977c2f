/**
 * Searches every endpoint of a network for one transaction whose hash is known before it is signed. It is on the chain
 * where more than half of the configured endpoints show it. It never will be where as many have passed the end of its
 * validity and no endpoint shows it. A driver gives the report of one endpoint:
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
  /**
   * What endpoints must show alike, beside the block, to agree: which transaction it is, and whom it pays what. They
   * must write it alike too.
   */
  readonly content: string
}

/**
 * The report of one endpoint. It reads its newest blocks before the transaction, so a transaction that it does not have
 * is in none of these blocks.
 */
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

/** What the endpoints agree about. */
export interface TransactionAgreement<A> {
  readonly shown: AgreedTransaction<A> | null
  /** {@link EndpointReport.others}, those of which they agree. */
  readonly others: ReadonlyArray<AgreedTransaction<A>>
  /** The newest block that is final for most of them. */
  readonly final: bigint
  /** It is not there, and never will be; or it is there for good, and can be executed no second time. */
  readonly isOver: boolean
}

const contentOf = ({ block, content }: ShownTransaction<unknown>): string => JSON.stringify([block.hash, content])

const descending = (one: bigint, other: bigint): number => one === other ? 0 : one > other ? -1 : 1

/**
 * Combines the reports. An endpoint that has not reached the block of the transaction does not contradict those that
 * show it, and until it has, the answer is that nothing is there yet. An endpoint that has the block and not the
 * transaction contradicts them, and so does one that shows something else in its place there. A transaction that a
 * single endpoint shows is never over, because money that is wrongly believed to be unsent is sent a second time.
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
  const largest = [...Map.groupBy(showing, contentOf).values()]
    .toSorted((one, other) => other.length - one.length)[0]!
  const [shown] = largest as [ShownTransaction<A>]
  const { height } = shown.block
  if (largest.length >= majority) {
    const isFinal = reports.filter((report) =>
      report.shown !== null && contentOf(report.shown) === contentOf(shown) && report.final >= height
    ).length >= majority
    return Result.succeed({ shown: { ...shown, isFinal }, final, isOver: isFinal })
  }
  const contradicts = (report: EndpointReport<A>) =>
    report.shown === null ? report.head >= height : contentOf(report.shown) !== contentOf(shown)
  // Most endpoints have passed the end of its validity here, so they have every block that could hold it.
  if (isPast || reports.some(contradicts)) {
    const reason =
      `endpoints do not agree what block ${height} has of a payout: wait, or correct or remove the one that is wrong`
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

/** Asks every endpoint. The reasons of those that fail are in the error where too few answer. */
export const searchTransaction = Effect.fnUntraced(function*<Client extends NodeEndpoint, A>(
  network: string,
  { attempt, endpoints }: Pick<Endpoints<Client>, "attempt" | "endpoints">,
  ask: (endpoint: Client) => Effect.Effect<EndpointReport<A>, DriverError>
): Effect.fn.Return<TransactionAgreement<A>, DriverError> {
  const results = yield* Effect.forEach(
    endpoints,
    (endpoint) => Effect.result(attempt(endpoint, ask)),
    { concurrency: "unbounded" }
  )
  const reports = results.flatMap((each) => each._tag === "Success" ? [each.success] : [])
  const failures = results.flatMap((each) => each._tag === "Failure" ? [each.failure] : [])
  return yield* Effect.fromResult(agree(network, endpoints.length, reports, failures))
})
