/** Tickets: made for a credential, used up once on any instance. */
import { Context, Effect, Layer } from "effect"
import { createHash, randomBytes } from "node:crypto"
import { inBatches, runPeriodically } from "../../runtime/Retention.ts"
import type { RedeemTicket, StreamGrant } from "../../runtime/sockets/EventsRoute.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { isTicket, maximumTickets, ticketBytes, ticketOf } from "./rules.ts"
import * as Repo from "./repo.ts"

const idOf = (ticket: string): string => createHash("sha256").update(ticket).digest("hex")

export class Tickets extends Context.Service<Tickets, {
  /**
   * A ticket that stands for `grant` for `seconds`, once. Errors: `RATE_LIMIT_EXCEEDED` while its credential has 100
   * unused ones.
   */
  readonly make: (
    grant: StreamGrant,
    seconds: number
  ) => Effect.Effect<{ readonly ticket: string; readonly expiresAt: number }, PublicError>
  /** Uses a ticket up. Errors: `TOKEN_INVALID` for one that is unknown or used, `TOKEN_EXPIRED`. */
  readonly redeem: RedeemTicket
}>()("tillwire/modules/streams/Tickets") {
  static readonly layer = Layer.effect(
    Tickets,
    Effect.gen(function*() {
      const repo = yield* Repo.make
      return Tickets.of({
        make: Effect.fnUntraced(function*(grant, seconds) {
          const ticket = yield* Effect.sync(() => ticketOf(randomBytes(ticketBytes)))
          const expiresAt = yield* repo.add(idOf(ticket), grant, seconds)
          if (expiresAt === undefined) {
            return yield* publicError("RATE_LIMIT_EXCEEDED", {
              message: `At most ${maximumTickets} unused tickets at once`,
              retryAfterSeconds: 1,
              details: { retry_after_seconds: 1 }
            })
          }
          return { ticket, expiresAt }
        }),
        redeem: Effect.fnUntraced(function*(ticket) {
          const found = isTicket(ticket) ? yield* repo.take(idOf(ticket)) : undefined
          if (found === undefined) {
            return yield* publicError("TOKEN_INVALID", {
              message: "This is no ticket, or one that was used: get one from POST /api/v1/ws/token for each connection"
            })
          }
          return found.isGood
            ? found.grant
            : yield* publicError("TOKEN_EXPIRED", { message: "This ticket has ended: get a new one" })
        })
      })
    })
  )
}

/** Deletes tickets that were never used, in small batches, on one instance at a time. */
export const pruneTickets = Effect.flatMap(
  Repo.make,
  ({ prune }) => runPeriodically("streams-prune", "1 minute", inBatches(prune))
)
