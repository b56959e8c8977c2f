/**
 * Receive targets: one per (invoice, family), from one counter per wallet for the whole deployment, and the set of
 * their match keys in memory that drivers look transfers up in.
 *
 * The set holds every target ever allocated: about 100 bytes each. A counter row and its targets are one commit and a
 * counter's version admits one writer, so a wallet's indices become visible in order: "indices from N on" misses none.
 */
import { Clock, Deferred, Effect, Exit, Queue, Schedule, Semaphore } from "effect"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import type { Environment, Family } from "../../schemas/Network.ts"
import type { AllocatedTarget, WalletOwner, WalletRef, WatchSet } from "../Chains.ts"
import { Commit, Conflict, noCause, systemMerchant } from "../Commit.ts"
import { counterWrite, type Rows, type TargetRow, targetWrite } from "./Rows.ts"

/** Targets one commit allocates, at most: keeps the lone commit under the limit of rows. */
const batchLimit = 200
/** Rows read at once when the set is loaded. */
const loadChunk = 5_000
/** Other instances on the same wallet win at most this often before a caller is refused. */
const conflictRetries = 20

export interface TargetRequest extends WalletOwner {
  readonly invoiceId: string
  readonly refusedTokens?: ReadonlyArray<number>
}

interface Waiting {
  readonly request: TargetRequest
  readonly reply: Deferred.Deferred<AllocatedTarget, PublicError>
}

const walletEnded = publicError("UNSUPPORTED_NETWORK", {
  message: "The receiving wallet of this network has no address left"
})

/** What callers see of a row. */
export const shown = ({ address, matchKey, memo, refusedTokens }: TargetRow): AllocatedTarget => ({
  address,
  matchKey,
  memo,
  refusedTokens
})

const targetIn = (
  targets: ReadonlyMap<string, TargetRow>,
  invoiceId: string
): Exit.Exit<AllocatedTarget, PublicError> => {
  const target = targets.get(invoiceId)
  return target === undefined ? Exit.fail(walletEnded) : Exit.succeed(shown(target))
}

export const make = Effect.fnUntraced(function*(rows: Rows, commit: Commit["Service"]) {
  const scope = yield* Effect.scope
  const keys = new Map<string, Set<string>>()
  const known = new Map<string, number>()
  const oneRefresh = yield* Semaphore.make(1)

  const keysOf = (family: Family, environment: Environment): Set<string> => {
    const name = `${family}:${environment}`
    const found = keys.get(name) ?? new Set()
    keys.set(name, found)
    return found
  }

  const loadWallet = Effect.fnUntraced(function*(fingerprint: string, nextIndex: number) {
    for (let from = known.get(fingerprint) ?? 0; from < nextIndex;) {
      const chunk = yield* rows.targetsOfWallet(fingerprint, from, loadChunk)
      for (const target of chunk) keysOf(target.family, target.environment).add(target.matchKey)
      from = chunk.length < loadChunk ? nextIndex : chunk[chunk.length - 1]!.walletIndex + 1
      known.set(fingerprint, from)
    }
  })

  const refresh = oneRefresh.withPermits(1)(Effect.gen(function*() {
    for (const { fingerprint, nextIndex } of yield* rows.counters) {
      if (nextIndex > (known.get(fingerprint) ?? 0)) yield* loadWallet(fingerprint, nextIndex)
    }
  }))

  const watch = (family: Family, environment: Environment): WatchSet => {
    const set = keysOf(family, environment)
    return { has: (matchKey) => set.has(matchKey), refresh }
  }

  /**
   * A target for each request, from index `first` on, passing over those that another wallet gave out already: two lists
   * may name one address. None for the requests that come after the end of the wallet.
   */
  const assign = Effect.fnUntraced(function*(wallet: WalletRef, first: number, requests: ReadonlyArray<TargetRequest>) {
    const assigned: Array<TargetRow> = []
    let left = requests
    let index = first
    while (left.length > 0 && index < (wallet.size ?? Number.POSITIVE_INFINITY)) {
      const tried = left.slice(0, (wallet.size ?? Number.POSITIVE_INFINITY) - index).map((request, place): TargetRow => ({
        ...wallet.derive(index + place, request.invoiceId),
        ...request,
        refusedTokens: request.refusedTokens ?? [],
        fingerprint: wallet.fingerprint,
        walletIndex: index + place
      }))
      const taken = new Set(yield* rows.takenKeys(tried[0]!.family, tried.map(({ matchKey }) => matchKey)))
      assigned.push(...tried.filter(({ matchKey }) => !taken.has(matchKey)))
      left = left.filter((_, place) => place >= tried.length || taken.has(tried[place]!.matchKey))
      index += tried.length
    }
    return { assigned, nextIndex: index }
  })

  /** One commit for all of `waiting`: the counter and a row each; those that have a target already get that one. */
  const allocateAll = Effect.fnUntraced(function*(wallet: WalletRef, family: Family, waiting: ReadonlyArray<Waiting>) {
    // The counter first: whoever allocates between the two reads moves it, and the commit below conflicts.
    const counter = yield* rows.counter(wallet.fingerprint)
    const requests = [...new Map(waiting.map(({ request }) => [request.invoiceId, request])).values()]
    const held = yield* rows.targetsByInvoice(family, requests.map(({ invoiceId }) => invoiceId))
    const targets = new Map(held.map((target) => [target.invoiceId, target]))
    const first = counter === null ? wallet.startIndex : counter.nextIndex
    const { assigned, nextIndex } = yield* assign(
      wallet,
      first,
      requests.filter(({ invoiceId }) => !targets.has(invoiceId))
    )
    if (assigned.length > 0) {
      const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      yield* commit.append({
        merchantId: systemMerchant,
        environment: assigned[0]!.environment,
        cause: noCause,
        writes: [
          counterWrite(wallet.fingerprint, nextIndex, (counter?.version ?? 0) + 1),
          ...assigned.map((target) => targetWrite(target, now))
        ],
        events: []
      })
      for (const target of assigned) {
        keysOf(target.family, target.environment).add(target.matchKey)
        targets.set(target.invoiceId, target)
      }
    }
    return targets
  })

  const serve = (wallet: WalletRef, family: Family, queue: Queue.Queue<Waiting>) =>
    Effect.gen(function*() {
      const waiting = yield* Queue.takeBetween(queue, 1, batchLimit)
      const targets = yield* allocateAll(wallet, family, waiting).pipe(
        Effect.retry({ while: (error) => error instanceof Conflict, schedule: Schedule.recurs(conflictRetries) }),
        Effect.tapError((error) => Effect.logWarning("receive targets could not be allocated", error)),
        Effect.mapError((error) =>
          error._tag === "PublicError"
            ? error
            : publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 })
        ),
        Effect.exit
      )
      for (const { reply, request } of waiting) {
        yield* Deferred.done(reply, Exit.match(targets, {
          onFailure: (cause): Exit.Exit<AllocatedTarget, PublicError> => Exit.failCause(cause),
          onSuccess: (found) => targetIn(found, request.invoiceId)
        }))
      }
    }).pipe(Effect.forever)

  const queues = new Map<string, Queue.Queue<Waiting>>()
  const queueOf = Effect.fnUntraced(function*(wallet: WalletRef, family: Family) {
    const name = `${wallet.fingerprint}:${family}`
    const found = queues.get(name)
    if (found !== undefined) return found
    const queue = yield* Queue.unbounded<Waiting>()
    queues.set(name, queue)
    yield* Effect.forkIn(Effect.interruptible(serve(wallet, family, queue)), scope)
    return queue
  }, Effect.uninterruptible)

  const target = Effect.fnUntraced(function*(invoiceId: string, family: Family) {
    const found = (yield* rows.targetsByInvoice(family, [invoiceId]))[0]
    return found ?? null
  })

  const allocate = Effect.fnUntraced(function*(wallet: WalletRef, request: TargetRequest) {
    const queue = yield* queueOf(wallet, request.family)
    const reply = yield* Deferred.make<AllocatedTarget, PublicError>()
    yield* Queue.offer(queue, { request, reply })
    return yield* Deferred.await(reply)
  })

  yield* refresh
  return { allocate, target, watch }
})
