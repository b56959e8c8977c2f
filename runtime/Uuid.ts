/** Fresh identifiers, from the system's cryptographic random source. */
import { Clock, Context, Effect } from "effect"
import { randomUUID } from "node:crypto"

export { uuidOf } from "../schemas/NamedUuid.ts"

/** Of one millisecond at most as many are told apart in order: 12 bits. Beyond, they are unique and in no order. */
const maximumSequence = 4_095

/** Makes UUIDs of version 7 that count those of one millisecond. */
const makeSequence = () => {
  /** The millisecond of the last one, and how many were made in it before. */
  let lastMillis = -1
  let sequence = 0
  return (millis: number, random: () => string): string => {
    sequence = millis === lastMillis ? Math.min(sequence + 1, maximumSequence) : 0
    lastMillis = millis
    const time = millis.toString(16).padStart(12, "0")
    return `${time.slice(0, 8)}-${time.slice(8)}-7${sequence.toString(16).padStart(3, "0")}${random().slice(18)}`
  }
}

/** Where UUIDs come from: what is random of them, and how many there were in a millisecond. */
export interface UuidSourceShape {
  readonly random: () => string
  /** UUIDs of version 7 of a time in milliseconds, and those of a time that is ahead. */
  readonly timed: (millis: number) => string
  readonly timedAhead: (millis: number) => string
}

/** A source of UUIDs that counts for itself. `random`: UUIDs of version 4. */
export const makeUuidSource = (random: () => string): UuidSourceShape => {
  const [next, nextAhead] = [makeSequence(), makeSequence()]
  return {
    random,
    timed: (millis) => next(millis, random),
    timedAhead: (millis) => nextAhead(millis, random)
  }
}

const systemSource = makeUuidSource(randomUUID)

/** Of the process, from the system's cryptographic source, unless a simulation repeats a run. */
export const UuidSource: Context.Reference<UuidSourceShape> = Context.Reference<UuidSourceShape>(
  "tillwire/runtime/UuidSource",
  { defaultValue: () => systemSource }
)

/** A random UUID (RFC 9562, version 4). */
export const uuidV4: Effect.Effect<string> = Effect.map(UuidSource, ({ random }) => random())

/**
 * A UUID that sorts by the time it was made (RFC 9562, version 7): 48 bits of milliseconds, 12 bits that count what
 * this process made in the same one (section 6.2, method 1), 62 random bits.
 */
export const uuidV7: Effect.Effect<string> = Effect.zipWith(
  Clock.currentTimeMillis,
  UuidSource,
  (millis, { timed }) => timed(millis)
)

/**
 * The same for an object that is listed by its time, of a merchant whose clock is some seconds ahead. Those ahead are
 * counted apart: of one millisecond and two merchants they may be in no order.
 */
export const uuidV7Ahead = (seconds: number): Effect.Effect<string> =>
  seconds === 0
    ? uuidV7
    : Effect.zipWith(
      Clock.currentTimeMillis,
      UuidSource,
      (millis, { timedAhead }) => timedAhead(millis + seconds * 1000)
    )
