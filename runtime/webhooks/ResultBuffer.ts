/** Results that wait to be written, and for how long they may. No effects; times are monotonic milliseconds. */
import { maximumQuickInFlight } from "./DeliveryRepo.ts"
import type { DeliveryResult } from "./DeliveryRepo.ts"

/**
 * Results that are enough for a batch: they are written without waiting for more. With twice as many, deliveries were a
 * sixth faster (measured), but a process that was killed left twice as many deliveries to be sent again.
 */
export const maximumBatchResults = maximumQuickInFlight

/**
 * How long results wait for more of them while deliveries are on their way. Nobody waits for a result to be written,
 * and the shorter it is, the fewer deliveries are sent again after the process was killed.
 */
const gatherMillis = 5

/** A result on its way to the database; one that `wasSent` took a slot. */
export interface QueuedResult {
  readonly result: DeliveryResult
  readonly wasSent: boolean
}

export class ResultBuffer {
  private queued: Array<QueuedResult> = []
  private sinceMillis = 0

  /** Keeps a result; answers whether somebody has to look when it is due: it is the first, or completes a batch. */
  put(result: QueuedResult, nowMillis: number): boolean {
    if (this.queued.length === 0) this.sinceMillis = nowMillis
    return this.queued.push(result) === 1 || this.queued.length >= maximumBatchResults
  }

  /** In how many milliseconds results are to be written; `isIdle`: no more are to be expected soon. */
  dueInMillis(nowMillis: number, isIdle: boolean): number {
    if (this.queued.length === 0) return Infinity
    return isIdle || this.queued.length >= maximumBatchResults
      ? 0
      : Math.max(0, this.sinceMillis + gatherMillis - nowMillis)
  }

  /** Takes them all out. */
  take(): ReadonlyArray<QueuedResult> {
    const all = this.queued
    this.queued = []
    return all
  }
}
