/**
 * The commit log: the one way to change state. A commit is rows, the events that tell of them, and the reply to the
 * caller who asked, in one transaction; many commits share one flush.
 */
import { Context, Effect, Schedule, Schema } from "effect"
import type { EventDraft, StoredEvent } from "../schemas/Event.ts"
import type { EventPosition } from "../schemas/Ids.ts"
import type { Environment } from "../schemas/Network.ts"
import { type PublicError, publicError } from "../schemas/Errors.ts"

/** Owner of rows and commits that belong to no merchant (chain cursors, wallet counters). Emits no events. */
export const systemMerchant = 0

/**
 * A whole row. `version` is the one it will have: 1 for a new row, the loaded version + 1 for a change; anything else
 * in the table by then is a {@link Conflict}. Column values are JSON: bigint and numeric as decimal strings,
 * timestamps as ISO text, jsonb as plain JSON; a column left out becomes null.
 */
export interface Write {
  readonly table: string
  readonly row: Readonly<Record<string, unknown>> & { readonly version: number }
}

/** Why the change happens: the request that asked for it, or nothing for background work. */
export interface CommitCause {
  readonly requestId: string | null
  readonly idempotencyKey: string | null
}

/** Background work: no request caused it. */
export const noCause: CommitCause = { requestId: null, idempotencyKey: null }

/**
 * The answer to keep for an idempotency key: first writer wins, every later one gets {@link IdempotentReplay}. Its body
 * is kept as {@link ReplyBody}.
 */
export type ReplyWrite = ReplyBody & {
  /** The caller's, in which a repeat looks for it: a wallet's call may act in the other one. */
  readonly environment: Environment
  /** `<METHOD> <concrete path> <key>`: unique within (merchant, environment). */
  readonly scope: string
  /**
   * SHA-256, hex, of the canonical JSON of the request body, and of the caller's scope where that is not the
   * merchant's.
   */
  readonly fingerprint: string
  readonly status: number
}

/**
 * The body of a stored reply: whole and sealed by `Secrets.seal("reply", …)`, or, where what the commit stores is
 * enough to make the same bytes again, the few words that `ReplyRenderers` (`runtime/Http.ts`) makes them from. A
 * reference is kept readable, so it holds no secret.
 */
export type ReplyBody =
  | { readonly sealedBody: string; readonly reference?: undefined }
  | { readonly reference: string; readonly sealedBody?: undefined }

/**
 * By how much a balance moves. Rows of `account_balances`: (merchant, environment, account, asset) with the two sums.
 * They have no versions, so commits that move the same balance at once do not conflict for that: each flush adds up
 * what its commits move and writes every row once.
 */
export interface BalanceDelta {
  readonly merchantId: number
  readonly environment: Environment
  /** The owner's own name of the account, and of what is counted in it. */
  readonly account: string
  readonly asset: string
  /** Base units, up to 78 digits, and usd_millis. */
  readonly units: bigint
  readonly usdMillis: bigint
  /**
   * Which of the two the balance must hold as much of as the delta takes: a commit that would bring it past zero fails
   * with {@link Conflict}, because others have taken meanwhile what was there when it was read. Its commit names the
   * balance once. Absent: neither.
   */
  readonly mustHold?: { readonly units: boolean; readonly usdMillis: boolean }
}

/** Proof of a held lease: the commit fails with {@link Conflict} if the lease has passed to another holder. */
export interface Fence {
  readonly name: string
  readonly token: bigint
}

/**
 * What every enabled endpoint of a format is sent that has one of `filters` and hears of the environment. It is no
 * event: no list, socket or count of events has it. Nothing is stored where no endpoint wants it.
 */
export interface WebhookMessage {
  /** Name of a `WebhookFormat` (`runtime/Webhooks.ts`). */
  readonly format: string
  /** In the words of the format. */
  readonly type: string
  /** None that selects events: the format's own names. */
  readonly filters: ReadonlyArray<string>
  /** What the format makes the body of each attempt from: frozen with the commit. */
  readonly data: string
}

/** A commit: everything in it is written, or nothing. */
export interface Append {
  readonly merchantId: number
  readonly environment: Environment
  readonly cause: CommitCause
  /** At most {@link maximumWrites}; no two for the same row. */
  readonly writes: ReadonlyArray<Write>
  /** Told in this order, adjacent in the merchant's stream. */
  readonly events: ReadonlyArray<EventDraft>
  /** Absent: none moves. */
  readonly balances?: ReadonlyArray<BalanceDelta>
  readonly reply?: ReplyWrite | undefined
  readonly fence?: Fence
  /**
   * What endpoints of a format of their own are sent, in this order, after what other commits of the merchant sent
   * them. They tell of the commit's events in other words, so a commit without events has none. Absent: nothing.
   */
  readonly messages?: ReadonlyArray<WebhookMessage>
  /**
   * Id of the one endpoint these events are delivered to, whatever its filters, environment and scope, if it is enabled
   * (modules/docs/reference/webhooks.md#endpoints). Absent: every enabled endpoint that matches.
   */
  readonly deliverOnlyTo?: string
}

/**
 * Rows in one commit, at most: a batch that collects 1,000 balances has a row for each, and one for each of its parts.
 */
export const maximumWrites = 2_000

/** An event after its commit. */
export interface CommittedEvent extends StoredEvent {
  readonly merchantId: number
  readonly position: EventPosition
  readonly invoiceId: string | null
  readonly orderId: string | null
  readonly customerId: string | null
  readonly commerce: boolean
  /** Whether the payor is told of it. */
  readonly isForPayors: boolean
  /** Deliveries queued with the event. */
  readonly pendingWebhooks: number
  /** Ids of their endpoints; undefined where another instance committed it. */
  readonly webhookEndpoints?: ReadonlyArray<string>
  /** Ids of the endpoints that get messages of its commit, at the last event of that; else absent. */
  readonly messageEndpoints?: ReadonlyArray<string>
}

/** What was committed. */
export interface CommitResult {
  readonly events: ReadonlyArray<CommittedEvent>
}

/**
 * A row was not at the expected version, a fence was lost, or a balance does not hold what is taken: load again, decide
 * again. Nothing was written.
 */
export class Conflict extends Schema.TaggedError<Conflict>()("Conflict", { table: Schema.String }) {}

/** Runs a change again that lost a race, up to `times` more often, `pauseMillis` apart; then its `Conflict` remains. */
export const retryConflicts =
  (times: number, pauseMillis = 0) => <A, E, R>(change: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.retry(change, {
      while: (error) => error instanceof Conflict,
      times,
      ...(pauseMillis === 0 ? {} : { schedule: Schedule.spaced(pauseMillis) })
    })

/** How often a change that lost a race is decided anew before its caller is told to try again. */
const conflictRetries = 3

/**
 * Runs a change that loads and decides, and runs it again while other commits are faster, `times` more often at most
 * ({@link conflictRetries} where nothing is said). Errors: its own, but `SERVICE_UNAVAILABLE` in place of its last
 * {@link Conflict}.
 */
export const decideAnew =
  (times = conflictRetries) =>
  <A, E, R>(change: Effect.Effect<A, E, R>): Effect.Effect<A, Exclude<E, Conflict> | PublicError, R> =>
    Effect.mapError(
      retryConflicts(times)(change),
      (error) =>
        error instanceof Conflict
          ? publicError("SERVICE_UNAVAILABLE", {
            retryAfterSeconds: 1,
            reason: `rows of ${error.table} were changed by others each of ${
              times + 1
            } times that the change was decided`
          })
          : error as Exclude<E, Conflict>
    )

/** Another commit holds this idempotency scope already: its reply is the answer. Nothing was written. */
export class IdempotentReplay extends Schema.TaggedError<IdempotentReplay>()("IdempotentReplay", {
  fingerprint: Schema.String,
  status: Schema.Int,
  /** One of the two, as in {@link ReplyBody}. */
  sealedBody: Schema.NullOr(Schema.String),
  reference: Schema.NullOr(Schema.String)
}) {}

/** Why something changes, and the answer to keep for a repeat, made of what the change makes. */
export interface IdempotentCall<A> {
  readonly cause: CommitCause
  readonly reply: (result: A) => ReplyWrite | undefined
}

/**
 * For a commit that carries the reply of `Idempotency` (`runtime/Http.ts`): another process that used the same key was
 * first, so its stored reply is the answer. The failure leaves the handler as a defect, whatever the handler's error
 * type, and the idempotency middleware answers it; so pipe this last, after anything that catches defects. Nothing of
 * this request was written. A commit without a reply never fails so: there it only takes the error from the type.
 *
 * @example
 * yield* commit.append({ …, reply: idempotency.reply(200, body) }).pipe(dieOnReplay)
 */
export const dieOnReplay = <A, E, R>(
  self: Effect.Effect<A, E, R>
): Effect.Effect<A, Exclude<E, IdempotentReplay>, R> =>
  Effect.catch(self, (error) =>
    (error as { readonly _tag?: unknown } | null)?._tag === "IdempotentReplay"
      ? Effect.die(error)
      : Effect.fail(error as Exclude<E, IdempotentReplay>))

/** Writes rows, events and stored replies in one transaction. */
export class Commit extends Context.Service<Commit, {
  /**
   * Writes a commit, resolved after COMMIT. Errors: {@link Conflict}; {@link IdempotentReplay} only with a `reply`;
   * `SERVICE_UNAVAILABLE` when the database cannot be reached or does not answer in 5 s (whether it was written is then
   * unknown: an idempotency key or the row's version tells), and within 3 s, with nothing written, when another session
   * of the database holds a lock it needs. A row the table refuses is a bug and a defect.
   */
  readonly append: (commit: Append) => Effect.Effect<CommitResult, Conflict | IdempotentReplay | PublicError>
}>()("tillwire/runtime/Commit") {}
