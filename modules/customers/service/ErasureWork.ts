/**
 * Carries out erasures in parts. How far one has come is kept after each part: a process that ends repeats one at most.
 */
import { Cause, Effect } from "effect"
import { nowSeconds } from "../../../runtime/Clock.ts"
import { Commit, dieOnReplay, noCause } from "../../../runtime/Commit.ts"
import { PersonalData } from "../../../runtime/PersonalData.ts"
import { Secrets } from "../../../runtime/Secrets.ts"
import { erasureWrite, type Repo } from "../repo.ts"
import { advance, type ErasureState, finish, keeperOf, postpone } from "../rules.ts"

export const erasureTimer = "customer-erasures"

/** Parts of one erasure in one run, so that those of other merchants have their turns. */
const partsInTurn = 50

/** Erasures that one run of the timer reads, at most. */
const duePageSize = 100

const missingKey = "The master key it was asked for under is missing: name it in `secrets.master` again"
const faultOfOurs = "Something failed in the service, and its log says what: it is tried again"

/** The source of the timer. */
export const makeErasureWork = Effect.fnUntraced(function*(repo: Repo) {
  const commit = yield* Commit
  const personalData = yield* PersonalData
  const secrets = yield* Secrets

  const save = (erasure: ErasureState) =>
    commit.append({
      merchantId: erasure.merchantId,
      environment: erasure.environment,
      cause: noCause,
      writes: [erasureWrite(erasure)],
      events: []
    }).pipe(Effect.as(erasure), dieOnReplay)

  const goOn = Effect.fnUntraced(function*(erasure: ErasureState, customerId: string) {
    const { environment, merchantId, until } = erasure
    const person = { merchantId, environment, customerId }
    const keepers = personalData.keepers()
    const keeper = keeperOf(keepers, erasure)
    if (keeper === null) return yield* save(finish(erasure, yield* nowSeconds))
    const after = keeper.name === erasure.keeper ? erasure.after : null
    return yield* keeper.erase({ ...person, until, hashOf: personalData.hashOf(person) }, after).pipe(
      Effect.matchEffect({
        onFailure: (error) => Effect.flatMap(nowSeconds, (now) => save(postpone(erasure, error.message, now))),
        onSuccess: (reached) =>
          Effect.flatMap(nowSeconds, (now) => save(advance(erasure, keepers, keeper.name, reached, now)))
      })
    )
  })

  const carryOut = Effect.fnUntraced(function*(due: ErasureState) {
    const customerId = due.sealedCustomerId === null ? undefined : secrets.open("personal", due.sealedCustomerId)
    if (customerId === undefined) return void (yield* save(postpone(due, missingKey, yield* nowSeconds)))
    let erasure: ErasureState = { ...due, waitingFor: null }
    for (let part = 0; part < partsInTurn && erasure.finishedAt === null && erasure.waitingFor === null; part++) {
      erasure = yield* goOn(erasure, customerId)
    }
  })

  /** A fault of one, also one that nobody expected, leaves those of others to be done. A lost race is found again. */
  const carryOutAlone = (due: ErasureState) =>
    Effect.catchCause(
      Effect.catchTag(carryOut(due), "Conflict", () => Effect.void),
      (cause) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.interrupt
          : Effect.gen(function*() {
            const context = { merchantId: due.merchantId, customer: due.customer }
            yield* Effect.logWarning("an erasure was not carried on; it is tried again", context, cause)
            const stored = yield* repo.find(due, [due.customer])
            if (stored !== null && stored.finishedAt === null) {
              yield* Effect.ignore(save(postpone(stored, faultOfOurs, yield* nowSeconds)))
            }
          })
    )

  return {
    name: erasureTimer,
    batchSize: duePageSize,
    nextDueMillis: Effect.map(repo.nextDue, (due) => due === null ? null : due * 1000),
    run: Effect.fnUntraced(function*(nowMillis: number, limit: number) {
      const due = yield* repo.due(Math.floor(nowMillis / 1000), limit)
      yield* Effect.forEach(due, carryOutAlone, { discard: true })
      return due.length
    })
  }
})
