/**
 * The clocks on the page: by the server's time, shown and spoken when the time is nearly over, and a look at its end.
 */
import { backoffMillis } from "./ConnectionState.ts"
import { makeTimer } from "./Timer.ts"
import type { Announce } from "./Announce.ts"

/** `4:32`, or `1:04:32` from an hour on. A begun second counts, so that 0:00 is the end. */
export const clockText = (seconds: number): string => {
  const left = Math.max(0, Math.ceil(seconds))
  const minutes = Math.floor(left / 60)
  const pad = (value: number) => String(value).padStart(2, "0")
  return (left < 3600 ? minutes : `${Math.floor(minutes / 60)}:${pad(minutes % 60)}`) + `:${pad(left % 60)}`
}

/** Whether a clock is shown in place of words: in its last quarter, so that nobody is hurried before. */
export const isUrgent = (left: number, whole: number): boolean => left <= whole / 4

/** The minute that a clock has just passed, of those it is spoken at for who does not see it; else undefined. */
export const spokenMinutes = (before: number, left: number): number | undefined =>
  [1, 5].find((minutes) => left <= minutes * 60 && before > minutes * 60)

/**
 * Seconds by which a server's clock may be past what it told: it tells whole seconds, rounded down, and is heard later.
 */
const pastSeconds = 2

/** How far the server's clock is ahead, where it is by `least` or a bit more: as known, as far as that may be. */
export const skewOf = (previous: number, least: number): number =>
  Math.min(Math.max(previous, least), least + pastSeconds)

export interface Clocks {
  /** Sets all clocks by the server's, in epoch seconds; what is no time changes nothing. */
  readonly set: (now: unknown) => void
  /** The same by a fragment's data, which also tells how many seconds the merchant's time is ahead of the server's. */
  readonly setBy: (data: DOMStringMap) => void
  /** Brings what is on the page up to the second, now and from now on. */
  readonly tick: () => void
}

/** `onEnd` is called once the time of a clock is over, and again, ever later, for as long as that clock is there. */
export const makeClocks = (state: HTMLElement, announce: Announce, onEnd: () => void): Clocks => {
  const seconds = () => performance.now() / 1000
  const timer = makeTimer()
  /** The server's clock less the browser's running time, in seconds: a payor who sets the clock changes nothing. */
  let skew: number | undefined
  let ahead = 0
  /** By the clocks when they were last looked at; 0: there were none. */
  let before = 0
  let overChecks = 0
  let nextCheck = 0
  const announcements = new Set<string>()

  const update = (clock: HTMLElement, left: number) => {
    if (clock instanceof HTMLProgressElement) clock.value = Math.max(0, left)
    else clock.textContent = clockText(left)
    const { ends, from } = clock.dataset
    const urgent = isUrgent(left, Number(ends) - Number(from))
    clock.toggleAttribute("data-urgent", urgent)
    return urgent
  }

  const announceMinutes = ({ dataset }: HTMLElement, ends: number, now: number) => {
    const text = dataset[`say-${spokenMinutes(ends - (before || now), ends - now)}`]
    if (!text || announcements.has(ends + text)) return
    announcements.add(ends + text)
    announce(text)
  }

  const checkEnd = (now: number) => {
    if (now < nextCheck) return
    nextCheck = now + backoffMillis(++overChecks, Math.random()) / 1000
    onEnd()
  }

  const tick = () => {
    const now = seconds() + (skew ?? 0) + ahead
    const all = state.querySelectorAll<HTMLElement>("[data-ends]")
    let isOver = false
    let firstEnd = Infinity
    let countdown: Element | null = null
    for (const clock of all) {
      const ends = Number(clock.dataset.ends)
      isOver ||= ends <= now
      if (update(clock, ends - now) && ends < firstEnd) {
        firstEnd = ends
        countdown = clock.closest(".clock")
      }
      announceMinutes(clock, ends, now)
    }
    // Never two: the one that ends first is a clock, the other stays words.
    for (const box of state.querySelectorAll(".clock")) box.toggleAttribute("data-countdown", box === countdown)
    // Without a clock no second is watched: the next one starts with what is left then.
    before = all.length > 0 ? now : 0
    if (isOver) checkEnd(now)
    else overChecks = nextCheck = 0
    if (all.length > 0) timer.set(1000 - now * 1000 % 1000, tick)
  }

  const set = (now: unknown) => {
    if (!(Number(now) > 0)) return
    const least = Number(now) - seconds()
    skew = skewOf(skew ?? least, least)
  }

  return {
    tick,
    set,
    setBy: (data) => {
      set(data.now)
      ahead = Number(data.ahead ?? 0)
    }
  }
}
