/**
 * Due work as rows: one fiber per source, asleep until the earliest row is due. No promise lives only in memory. All
 * sources look again when a merchant's clock moves; see `timers/MerchantDue.ts` for rows that come due by it.
 */
import { Context, type Effect, type Scope } from "effect"

/** Rows of one kind that fall due: invoices to expire, retries to make. */
export interface DueSource {
  /** Unique; names the lease, so one instance at a time works on it. */
  readonly name: string
  /** Epoch milliseconds of the earliest due row, or null when there is none. */
  readonly nextDueMillis: Effect.Effect<number | null>
  /**
   * Handles up to `limit` rows due at `nowMillis` and says how many; each row's own version makes a repeat harmless.
   */
  readonly run: (nowMillis: number, limit: number) => Effect.Effect<number>
  /** Rows per run: 100 or more, see the architecture's measurements. */
  readonly batchSize: number
}

export class Timers extends Context.Service<Timers, {
  readonly register: (source: DueSource) => Effect.Effect<void, never, Scope.Scope>
  /** Says that a row may be due earlier than the source's fiber knows: it looks again. */
  readonly wake: (name: string) => Effect.Effect<void>
}>()("tillwire/runtime/Timers") {}
