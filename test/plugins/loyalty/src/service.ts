/** Gives points for paid invoices, and takes them when they are redeemed. */
import { Context, Effect, Layer } from "effect"
import {
  Commit,
  type CommittedEvent,
  decideAnew,
  dieOnReplay,
  EventBus,
  eventIdOf,
  type IdempotentCall,
  noCause,
  PersonalData,
  type PublicError,
  publicError,
  readEventId,
  retryConflicts
} from "tillwire/plugin"
import { accountWrite, type Cursor, cursorWrite, makeRepo } from "./repo.ts"
import { type Account, pointsOf, withPoints } from "./rules.ts"

/** Events that one commit counts. */
const pageSize = 200

/** Another instance may count the same events: the later one loads again and finds them counted. */
const retries = 5

export class Loyalty extends Context.Service<Loyalty, {
  readonly account: (owner: Pick<Account, "merchantId" | "environment" | "customerId">) => Effect.Effect<Account>
  /** Fails with `VALIDATION_ERROR` where there are fewer points. */
  readonly redeem: (
    owner: Pick<Account, "merchantId" | "environment" | "customerId">,
    points: number,
    call: IdempotentCall<Account>
  ) => Effect.Effect<Account, PublicError>
}>()("acme-loyalty/Loyalty") {
  static readonly layer = Layer.effect(
    Loyalty,
    Effect.gen(function*() {
      const bus = yield* EventBus
      const commit = yield* Commit
      const personalData = yield* PersonalData
      const repo = yield* makeRepo

      const account: Loyalty["Service"]["account"] = (owner) =>
        Effect.map(repo.accounts(owner, [owner.customerId]), ([found]) => found!)

      const redeem: Loyalty["Service"]["redeem"] = (owner, points, call) =>
        Effect.gen(function*() {
          const before = yield* account(owner)
          if (before.points < points) {
            return yield* publicError("VALIDATION_ERROR", {
              message: `The customer has ${before.points} points: redeem at most so many`,
              param: "points"
            })
          }
          const after = withPoints(before, -points)
          yield* commit.append({
            merchantId: owner.merchantId,
            environment: owner.environment,
            cause: call.cause,
            writes: [accountWrite(after)],
            events: [],
            reply: call.reply(after)
          })
          return after
        }).pipe(decideAnew(), dieOnReplay)

      /** Counts what the merchant's stream has behind the cursor, and says where it is then. */
      const countPage = Effect.fnUntraced(function*(cursor: Cursor) {
        const { environment, merchantId } = cursor
        const events = yield* bus.readAfter({ merchantId, position: readEventId(cursor.eventId)!, limit: pageSize })
        const last = events.at(-1)
        if (last === undefined) return null
        const points = pointsOf(events.filter((event) => event.environment === environment))
        const accounts = yield* repo.accounts(cursor, [...points.keys()])
        const next = { ...cursor, version: cursor.version + 1, eventId: last.id }
        yield* commit.append({
          merchantId,
          environment,
          cause: noCause,
          writes: [
            cursorWrite(next),
            ...accounts.map((each) => accountWrite(withPoints(each, points.get(each.customerId) ?? 0)))
          ],
          events: []
        })
        return next
      })

      const findCursor = ({ environment, merchantId, position }: CommittedEvent) =>
        Effect.map(
          repo.cursors,
          (cursors): Cursor =>
            cursors.find((each) => each.merchantId === merchantId && each.environment === environment) ??
              { merchantId, environment, version: 0, eventId: eventIdOf({ ms: position.ms - 1n, seq: position.seq }) }
        )

      const countAll = (start: Effect.Effect<Cursor>) =>
        Effect.gen(function*() {
          let cursor: Cursor | null = yield* start
          while (cursor !== null) {
            cursor = yield* countPage(cursor)
          }
        }).pipe(
          retryConflicts(retries),
          Effect.catch((error) => Effect.logWarning("points are counted later, with the next event", error))
        )

      // The bus tells what is committed from now on. What was committed before is found from the cursors.
      yield* bus.subscribe("acme-loyalty", (events) => {
        const streams = Map.groupBy(events, ({ environment, merchantId }) => `${merchantId} ${environment}`)
        return Effect.forEach([...streams.values()], ([first]) => countAll(findCursor(first!)), { discard: true })
      })
      yield* Effect.flatMap(
        repo.cursors,
        (cursors) => Effect.forEach(cursors, (cursor) => countAll(Effect.succeed(cursor)), { discard: true })
      )

      yield* personalData.register({
        name: "acme-loyalty",
        records: (person) =>
          Effect.map(account(person), ({ points, version }) => ({
            records: version === 0 ? [] : [{ kind: "loyalty_account", data: { points } }],
            next: null
          })),
        obstacle: () => Effect.succeed(null),
        erase: (erasure) => Effect.as(repo.erase(erasure), null)
      })
      return { account, redeem }
    })
  )
}
