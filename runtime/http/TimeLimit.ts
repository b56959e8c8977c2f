/**
 * No request waits for ever: what hangs on a database that accepts and never answers is refused in time, and while it
 * hangs the next requests are refused sooner.
 */
import { type ProcessTimersShape, systemTimers } from "../Clock.ts"

/**
 * Longest a route may take: above each wait alone (a first request under way 5 s, a commit 5 s), not above their sum.
 */
export const requestLimitMillis = 9_000

/** The limit from the first request that met {@link requestLimitMillis} until one is answered below 300 again. */
export const suspiciousLimitMillis = 2_500

/** How long routes may take, beginning with the usual limit, and by which timers. */
export interface TimeLimitOptions {
  readonly usualMillis?: number
  readonly suspiciousMillis?: number
  readonly timers?: ProcessTimersShape
}

/** The end of a route's time, between those that were set before and after it. */
export interface Deadline {
  atMillis: number
  readonly onLate: () => void
  readonly takeSenderDelay: () => boolean
  /** Undefined: not in a list. */
  list: DeadlineList | undefined
  before: Deadline | undefined
  after: Deadline | undefined
}

/** Deadlines that were all set equally long before their end, so that they end in the order of the list. */
class DeadlineList {
  readonly limitMillis: number
  private readonly timers: ProcessTimersShape
  private first: Deadline | undefined
  private last: Deadline | undefined
  private isWaiting = false
  constructor(limitMillis: number, timers: ProcessTimersShape) {
    this.limitMillis = limitMillis
    this.timers = timers
  }

  add({ takeSenderDelay, onLate }: Pick<Deadline, "takeSenderDelay" | "onLate">): Deadline {
    const deadline: Deadline = { atMillis: 0, onLate, takeSenderDelay, list: this, before: undefined, after: undefined }
    this.append(deadline)
    if (!this.isWaiting) this.wait(this.limitMillis)
    return deadline
  }

  private append(deadline: Deadline): void {
    deadline.atMillis = this.timers.millis() + this.limitMillis
    deadline.list = this
    deadline.before = this.last
    if (this.last === undefined) this.first = deadline
    else this.last.after = deadline
    this.last = deadline
  }

  remove(deadline: Deadline): void {
    const { after, before } = deadline
    if (before === undefined) this.first = after
    else before.after = after
    if (after === undefined) this.last = before
    else after.before = before
    deadline.list = undefined
    deadline.before = undefined
    deadline.after = undefined
  }

  /** One timer for all of them. It is left running when the list is empty: most likely it is not for long. */
  private wait(millis: number): void {
    this.isWaiting = true
    this.timers.after(millis, () => {
      this.isWaiting = false
      const now = this.timers.millis()
      while (this.first !== undefined && this.first.atMillis <= now) {
        const late = this.first
        this.remove(late)
        if (late.takeSenderDelay()) this.append(late)
        else late.onLate()
      }
      if (this.first !== undefined && !this.isWaiting) this.wait(Math.ceil(this.first.atMillis - now))
    })
  }
}

export interface TimeLimit {
  /**
   * Calls `onLate` once, when a route that starts now has taken too long. {@link TimeLimit.stop} takes it back. The
   * time begins again when `takeSenderDelay` says that the route waited for its request: the server limits that.
   */
  readonly start: (onLate: () => void, takeSenderDelay: () => boolean) => Deadline
  /** A route ended in time, with a status, or null where it was not answered. */
  readonly stop: (deadline: Deadline, status: number | null) => void
}

/** The limit of one router. It runs on one timer for each limit and on no fiber, because every request has one. */
export const make = ({
  suspiciousMillis = suspiciousLimitMillis,
  timers = systemTimers,
  usualMillis = requestLimitMillis
}: TimeLimitOptions = {}): TimeLimit => {
  const usual = new DeadlineList(usualMillis, timers)
  const suspicious = new DeadlineList(suspiciousMillis, timers)
  let current = usual
  return {
    start: (onLate, takeSenderDelay) =>
      current.add({
        takeSenderDelay,
        onLate: () => {
          current = suspicious
          onLate()
        }
      }),
    stop: (deadline, status) => {
      deadline.list?.remove(deadline)
      // What was refused or redirected may never have asked the database, so it does not show that this answers again.
      if (status !== null && status < 300) current = usual
    }
  }
}
