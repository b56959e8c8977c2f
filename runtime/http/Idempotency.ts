/** Requests that may be sent twice and must act once (modules/docs/reference/idempotency.md#what-a-repeat-gets). */
import { Cause, Clock, Deferred, Effect, Exit, Metric, type Schema, type Scope } from "effect"
import { Headers, HttpServerResponse } from "effect/http"
import type { SqlClient } from "effect/sql"
import type { Principal } from "../../schemas/Auth.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { Commit, IdempotentReplay, type ReplyWrite } from "../Commit.ts"
import { type Idempotency, jsonText, ReplyRenderers } from "../Http.ts"
import type { Leases } from "../Leases.ts"
import { Secrets } from "../Secrets.ts"
import { jsonBody, responseText } from "./Body.ts"
import { hmacUnder } from "../Hmac.ts"
import { canonicalJson, sha256 } from "./CanonicalJson.ts"
import { errorResponse, publicErrorOf } from "./ErrorResponses.ts"
import type { Call } from "./Operation.ts"
import { boundPath } from "./Paths.ts"
import { makeRecentKeys } from "./RecentKeys.ts"
import { makeFind, prunePeriodically, readReply, type ReplyRow, type StoredReply } from "./Replies.ts"
import { initializeSeries } from "../Telemetry.ts"

/**
 * How long a second request waits for the first one with its key
 * (modules/docs/reference/idempotency.md#while-the-first-call-runs).
 */
export const waitMillis = 5_000

/** Errors that a repeat gets again, because they were decided by running the request. */
const storedErrors: ReadonlySet<number> = new Set([409, 410, 422])

const isStored = (status: number): boolean => (status >= 200 && status < 300) || storedErrors.has(status)

/** 1 to 255 visible ASCII characters. Node joins two headers with ", ", so a repeated one holds a space. */
const keyPattern = /^[\x21-\x7e]{1,255}$/

/**
 * The key a header carries; undefined when malformed. `"abc"` in quotes, the form of the IETF draft, is the same key as
 * `abc`.
 */
export const readKey = (header: string): string | undefined => {
  if (!keyPattern.test(header)) return undefined
  const key = header.length > 1 && header.startsWith("\"") && header.endsWith("\"") ? header.slice(1, -1) : header
  return key === "" ? undefined : key
}

/**
 * SHA-256 of the canonical form of a body; the empty body has a fingerprint of its own. A key of commerce scope asks
 * something else than a merchant's with the same body: it must never be given what only the merchant's may see.
 */
const fingerprintOf = (body: Schema.Json | undefined, { scope }: Principal): string => {
  const mark = scope === "merchant" ? "" : `${scope} `
  return sha256(body === undefined ? mark : `${mark}${canonicalJson(body)}`)
}

const replays = Metric.counter("idempotency_replays_total", {
  description: "Repeats answered with the stored reply",
  incremental: true
})

const replayHeaders = Headers.fromRecordUnsafe({ "idempotent-replayed": "true" })

/** A stored reply as the answer to a repeat; another body under the same key is refused. */
const answerRepeat = (
  { fingerprint, status, body }: StoredReply,
  fingerprintSent: string
): Effect.Effect<HttpServerResponse.HttpServerResponse, PublicError> => {
  if (fingerprint !== fingerprintSent) return Effect.fail(publicError("IDEMPOTENCY_KEY_REUSED"))
  const response = body === "" ? HttpServerResponse.empty({ status }) : jsonText(body, status)
  return Effect.as(Metric.update(replays, 1), HttpServerResponse.setHeaders(response, replayHeaders))
}

const inProgress = publicError("IDEMPOTENCY_REQUEST_IN_PROGRESS", { retryAfterSeconds: 1 })

const replayedBy = (cause: Cause.Cause<unknown>): IdempotentReplay | undefined => {
  const error = Cause.squash(cause)
  return error instanceof IdempotentReplay ? error : undefined
}

/** Whether to look up a stored reply. Not where the database did not answer: it would be waited for a second time. */
const canBeLookedUp = (cause: Cause.Cause<unknown>): boolean =>
  !Cause.hasInterruptsOnly(cause) && publicErrorOf(cause)?.status !== 503

/** A request that sent no key: its commits carry no reply. */
export const withoutKey: typeof Idempotency.Service = { key: null, reply: () => undefined }

/** A call and the key it was sent with. */
interface KeyedCall {
  readonly call: Call
  readonly principal: Principal
  readonly key: string
  /** Where its reply is stored: the `scope` of `ReplySlot` in `Replies.ts`. */
  readonly replyScope: string
  /** Where it is stored if another master key was the newest then; none where the scope does not depend on a key. */
  readonly otherScopes: ReadonlyArray<string>
  readonly fingerprint: string
}

/** What a key's request came to: the response, and the reply that is now stored, if any. */
interface Outcome {
  readonly response: HttpServerResponse.HttpServerResponse
  readonly storedReply: StoredReply | null
}

/** What a call does once it is known to be the first with its key. */
type ActOnce = (
  idempotency: typeof Idempotency.Service
) => Effect.Effect<HttpServerResponse.HttpServerResponse, unknown>

/** Acts, or answers what a call with the same key was answered. */
export type AnswerOnce = (
  call: Call,
  principal: Principal,
  act: ActOnce
) => Effect.Effect<HttpServerResponse.HttpServerResponse, unknown>

// oxlint-disable-next-line max-lines-per-function -- one protocol: look-up, claim and wait
const make = Effect.gen(function*() {
  const commit = yield* Commit
  const secrets = yield* Secrets
  const context = { secrets, renderers: yield* ReplyRenderers }
  const find = yield* makeFind
  const hashes = secrets.keys("personal").map(({ key }) => hmacUnder(key))
  /**
   * The path as it is, and not as {@link boundPath} gives it: in a person's name upper case is not lower case. Hashed
   * under each key, the newest first.
   */
  const hiddenPaths = (url: string): ReadonlyArray<string> =>
    hashes.map((hashUnder) => `personal:${hashUnder(url.split("?")[0]!, "utf8")}`)
  const underWay = new Map<string, Deferred.Deferred<StoredReply | null>>()
  const remember = makeRecentKeys()

  const replyWrite = (
    { principal, replyScope }: KeyedCall,
    { body, fingerprint, status }: StoredReply,
    reference?: string
  ): ReplyWrite => ({
    environment: principal.environment,
    scope: replyScope,
    fingerprint,
    status,
    ...(reference === undefined ? { sealedBody: secrets.seal("reply", body) } : { reference })
  })

  const answerStored = (row: ReplyRow, { fingerprint, principal }: KeyedCall) =>
    Effect.flatMap(
      readReply(context, principal.merchantId, row),
      (storedReply) =>
        Effect.map(answerRepeat(storedReply, fingerprint), (response): Outcome => ({ response, storedReply }))
    )

  /** Stores a reply that no commit of the handler carried. The act is done: a failure to store it is only logged. */
  const storeReply = (
    keyed: KeyedCall,
    response: HttpServerResponse.HttpServerResponse,
    carried: StoredReply | undefined
  ): Effect.Effect<Outcome, PublicError> => {
    const body = responseText(response)
    if (!isStored(response.status) || body === undefined) return Effect.succeed({ response, storedReply: null })
    const storedReply: StoredReply = { fingerprint: keyed.fingerprint, status: response.status, body }
    if (carried?.status === storedReply.status && carried.body === body) {
      return Effect.succeed({ response, storedReply })
    }
    const { requestId } = keyed.call.facts
    return commit.append({
      merchantId: keyed.principal.merchantId,
      environment: keyed.principal.environment,
      cause: { requestId, idempotencyKey: keyed.key },
      writes: [],
      events: [],
      reply: replyWrite(keyed, storedReply)
    }).pipe(
      Effect.as<Outcome>({ response, storedReply }),
      Effect.catchTags({
        IdempotentReplay: (replayed) => answerStored(replayed, keyed),
        Conflict: (conflict) => Effect.die(conflict),
        PublicError: (error) =>
          Effect.as(
            Effect.annotateLogs(Effect.logWarning("a reply was not stored", error), { requestId }),
            { response, storedReply: null }
          )
      })
    )
  }

  /** What the stored reply of a call answers, or null where none is stored. */
  const findStoredReply = (keyed: KeyedCall) => {
    const { environment, merchantId } = keyed.principal
    return Effect.forEach(
      [keyed.replyScope, ...keyed.otherScopes],
      (scope) => find({ merchantId, environment, scope }),
      { concurrency: "unbounded" }
    ).pipe(
      Effect.map((rows) => rows.find((row) => row !== null)),
      Effect.flatMap((found) => found === undefined ? Effect.succeed(null) : answerStored(found, keyed))
    )
  }

  /** What a refusal comes to: it is stored where it was decided by running the handler. */
  const refusal = (keyed: KeyedCall, cause: Cause.Cause<unknown>, carried: StoredReply | undefined) => {
    const error = publicErrorOf(cause)
    if (error === undefined || !storedErrors.has(error.status)) return Effect.failCause(cause)
    const { errorForm, requestId } = keyed.call.facts
    return storeReply(keyed, errorResponse(error, errorForm.family, requestId), carried)
  }

  /**
   * Runs the handler, which may carry the reply in its own commit. Where a call that `mayBeRepeat` is refused, its
   * stored reply is looked up: what it did the first time may be why.
   */
  const run = (act: ActOnce, keyed: KeyedCall, mayBeRepeat: boolean): Effect.Effect<Outcome, unknown> => {
    let carried: StoredReply | undefined
    const reply = (status: number, body: string, reference?: string): ReplyWrite => {
      carried = { fingerprint: keyed.fingerprint, status, body }
      return replyWrite(keyed, carried, reference)
    }
    return act({ key: keyed.key, reply }).pipe(
      Effect.matchCauseEffect({
        onSuccess: (response) => storeReply(keyed, response, carried),
        onFailure: (cause): Effect.Effect<Outcome, unknown> => {
          const replayed = replayedBy(cause)
          if (replayed !== undefined) return answerStored(replayed, keyed)
          if (!mayBeRepeat || !canBeLookedUp(cause)) return refusal(keyed, cause, carried)
          return Effect.flatMap(
            findStoredReply(keyed),
            (outcome) => outcome === null ? refusal(keyed, cause, carried) : Effect.succeed(outcome)
          )
        }
      })
    )
  }

  /**
   * The stored reply of a call is looked up before it is run. For a call that acts by one commit it is not, because the
   * commit finds it, unless the key was sent a short time ago: each repeat that only the commit finds makes the whole
   * batch be written again. The commit finds no reply of another scope.
   */
  const lookUpThenRun = (act: ActOnce, keyed: KeyedCall, slot: string): Effect.Effect<Outcome, unknown> => {
    const { actsByOneCommit } = keyed.call.operation
    if (actsByOneCommit && keyed.otherScopes.length === 0 && !remember(slot)) return run(act, keyed, true)
    return Effect.flatMap(
      findStoredReply(keyed),
      (outcome) => outcome === null ? run(act, keyed, false) : Effect.succeed(outcome)
    )
  }

  /** One request per key at a time; the others get its reply, or their turn when it left none. */
  const runOrAwaitFirst = (
    act: ActOnce,
    keyed: KeyedCall,
    deadline: number
  ): Effect.Effect<HttpServerResponse.HttpServerResponse, unknown> => {
    const { merchantId, environment } = keyed.principal
    const slot = `${merchantId} ${environment} ${keyed.replyScope}`
    const first = underWay.get(slot)
    if (first === undefined) {
      const storedReplyOfFirst = Deferred.makeUnsafe<StoredReply | null>()
      underWay.set(slot, storedReplyOfFirst)
      return lookUpThenRun(act, keyed, slot).pipe(
        Effect.onExit((exit) =>
          Effect.sync(() => {
            underWay.delete(slot)
            Deferred.doneUnsafe(
              storedReplyOfFirst,
              Exit.succeed(exit._tag === "Success" ? exit.value.storedReply : null)
            )
          })
        ),
        Effect.map(({ response }) => response)
      )
    }
    return Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Deferred.await(first).pipe(
        Effect.timeoutOrElse({ duration: Math.max(0, deadline - now), orElse: () => Effect.fail(inProgress) }),
        Effect.flatMap((storedReply) =>
          storedReply === null
            ? Effect.suspend(() => runOrAwaitFirst(act, keyed, deadline))
            : answerRepeat(storedReply, keyed.fingerprint)
        )
      ))
  }

  const answerOnce: AnswerOnce = (call, principal, act) => {
    const { operation, request } = call
    const header = request.headers["idempotency-key"]
    if (header === undefined) {
      return operation.idempotency === "required"
        ? Effect.fail(publicError("IDEMPOTENCY_KEY_MISSING"))
        : act(withoutKey)
    }
    const key = readKey(header)
    if (key === undefined) return Effect.fail(publicError("IDEMPOTENCY_KEY_INVALID"))
    return Effect.flatMapEager(jsonBody(request), (body) => {
      const fingerprint = fingerprintOf(body, principal)
      const paths = operation.hasPersonalPath ? hiddenPaths(request.url) : [boundPath(request.url)]
      // No part has a space in it, so no two scopes are the same text.
      const owner = operation.hasPrivateReplies ? ` ${principal.credential}` : ""
      const [replyScope, ...otherScopes] = paths.map((path) => `${request.method} ${path} ${key}${owner}`)
      return Effect.clockWith((clock) =>
        runOrAwaitFirst(
          act,
          { call, principal, key, replyScope: replyScope!, otherScopes, fingerprint },
          clock.currentTimeMillisUnsafe() + waitMillis
        )
      )
    })
  }
  return answerOnce
})

/** Implements `Idempotent` and `IdempotencyRequired`: one memory of requests under way for both. */
export const makeAnswerOnce: Effect.Effect<
  AnswerOnce,
  never,
  Commit | Secrets | Leases | ReplyRenderers | SqlClient.SqlClient | Scope.Scope
> = Effect.gen(function*() {
  const answerOnce = yield* make
  yield* initializeSeries(replays)
  yield* prunePeriodically
  return answerOnce
})
