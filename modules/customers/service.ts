/** Erasures: asked for in one commit, and carried out in parts, each of which may be repeated. */
import { Context, Effect, Layer } from "effect"
import { Actors } from "../../runtime/Actors.ts"
import { AuditLog } from "../../runtime/AuditLog.ts"
import { nowSeconds } from "../../runtime/Clock.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { Commit, decideAnew, type IdempotentCall, type IdempotentReplay } from "../../runtime/Commit.ts"
import { type Person, PersonalData } from "../../runtime/PersonalData.ts"
import { Secrets } from "../../runtime/Secrets.ts"
import { Timers } from "../../runtime/Timers.ts"
import { uuidV7Ahead } from "../../runtime/Uuid.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { erasureWrite, makeRepo } from "./repo.ts"
import { customerActOf, type ErasureState, request } from "./rules.ts"
import { erasureTimer, makeErasureWork } from "./service/ErasureWork.ts"

/** A call that erases, and who made it. */
export interface ErasureCall extends IdempotentCall<ErasureState> {
  readonly actor: string
}

export class Erasures extends Context.Service<Erasures, {
  /**
   * Asks for an erasure; one that is under way, or left nothing, is the answer as it stands. Errors: `NOT_FOUND` where
   * nothing is kept and nothing was erased; `INVALID_TRANSITION` where something must be done before, in its message.
   */
  readonly request: (person: Person, call: ErasureCall) => Effect.Effect<ErasureState, PublicError | IdempotentReplay>
  /** The last one of a customer; null: there was none. */
  readonly find: (person: Person) => Effect.Effect<ErasureState | null>
}>()("tillwire/modules/customers/Erasures") {
  static readonly layer = Layer.effect(Erasures, Effect.suspend(() => make))
}

const make = Effect.gen(function*() {
  const actors = yield* Actors
  const auditLog = yield* AuditLog
  const clock = yield* MerchantClock
  const commit = yield* Commit
  const personalData = yield* PersonalData
  const secrets = yield* Secrets
  const timers = yield* Timers
  const repo = yield* makeRepo

  const isKept = (person: Person) =>
    Effect.reduce(personalData.keepers(), () => false, (found, keeper) =>
      found
        ? Effect.succeed(true)
        : Effect.map(keeper.records(person, null), ({ next, records }) => records.length > 0 || next !== null))

  const obstacleOf = (person: Person) =>
    Effect.reduce(
      personalData.keepers(),
      (): string | null => null,
      (found, keeper) => found === null ? keeper.obstacle(person) : Effect.succeed(found)
    )

  const find = (person: Person) => repo.find(person, personalData.anonymousIds(person))

  /** One that waits is tried again at once; any other goes on by itself. */
  const hasten = Effect.fnUntraced(
    function*(erasure: ErasureState, { cause, reply }: IdempotentCall<ErasureState>) {
      const now = yield* nowSeconds
      if (erasure.waitingFor === null || erasure.dueAt === null || erasure.dueAt <= now) return erasure
      const { environment, merchantId } = erasure
      const hastened = { ...erasure, version: erasure.version + 1, dueAt: now }
      yield* commit.append({
        merchantId,
        environment,
        cause,
        writes: [erasureWrite(hastened)],
        events: [],
        reply: reply(hastened)
      })
      yield* timers.wake(erasureTimer)
      return hastened
    }
  )

  const requestOnce = Effect.fnUntraced(function*(person: Person, { actor, cause, reply }: ErasureCall) {
    const before = yield* find(person)
    if (before !== null && before.finishedAt === null) return yield* hasten(before, { cause, reply })
    if (!(yield* isKept(person))) {
      return before ?? (yield* publicError("NOT_FOUND", {
        message:
          "Nothing is kept of a customer with this id in this environment: see whether the id is spelt as you sent it"
      }))
    }
    const obstacle = yield* obstacleOf(person)
    if (obstacle !== null) return yield* publicError("INVALID_TRANSITION", { message: obstacle })
    const { customerId, environment, merchantId } = person
    const erasure = request(
      {
        merchantId,
        environment,
        customer: personalData.hashOf(person)(customerId),
        sealedCustomerId: secrets.seal("personal", customerId),
        until: yield* uuidV7Ahead(clock.aheadSeconds(merchantId, environment))
      },
      before,
      yield* nowSeconds
    )
    yield* commit.append({
      merchantId,
      environment,
      cause,
      writes: [
        erasureWrite(erasure),
        ...yield* auditLog.writesOf(customerActOf("customer.erase", erasure, actor, cause.requestId))
      ],
      events: [],
      reply: reply(erasure)
    })
    yield* timers.wake(erasureTimer)
    return erasure
  })

  yield* timers.register(yield* makeErasureWork(repo))

  return Erasures.of({
    find,
    // One mailbox a merchant: two calls for one customer are one erasure.
    request: (person, call) =>
      actors.send("customer-erasures", String(person.merchantId), requestOnce(person, call)).pipe(decideAnew())
  })
})
