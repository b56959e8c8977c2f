/**
 * What is kept of the persons who are a merchant's customers. Each module that keeps some says by a keeper how it is
 * read and erased; a module that is not loaded takes its part with it.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import type { SqlClient } from "effect/sql"
import type { PublicError } from "../schemas/Errors.ts"
import { anonymousForm, type HashOf, isAnonymous, type Person, type Redact } from "../schemas/PersonalData.ts"
import { groupRollups } from "./commit/RollupDeltas.ts"
import { makePersonalEvents, type PersonalEvents } from "./eventbus/PersonalEvents.ts"
import { hmacUnder } from "./Hmac.ts"
import type { Rollup } from "./Rollups.ts"
import { Secrets } from "./Secrets.ts"

export type { Person, Redact } from "../schemas/PersonalData.ts"

/** An erasure under way. */
export interface Erasure extends Person {
  /** What stands in place of each value, also of `customerId`. */
  readonly hashOf: HashOf
  /** An id of version 7 made when the erasure was asked for: what is newer is of a customer who came back. */
  readonly until: string
}

/** Something that is kept of a person, as an export shows it. */
export interface PersonalRecord {
  readonly kind: string
  /** Rendered as JSON, integers beyond its numbers as text. */
  readonly data: unknown
}

/** A part of the records, and where to go on; null: there are no more. */
export interface PersonalRecords {
  readonly records: ReadonlyArray<PersonalRecord>
  readonly next: string | null
}

/** How a module shows and erases what it keeps of a person. */
export interface PersonalDataKeeper {
  /** Unique. */
  readonly name: string
  /** A bounded part of what is kept, behind `after`; null: from the beginning. */
  readonly records: (person: Person, after: string | null) => Effect.Effect<PersonalRecords>
  /** A sentence that says what must be done before an erasure is possible; null: nothing. */
  readonly obstacle: (person: Person) => Effect.Effect<string | null>
  /**
   * Erases a bounded part of what is behind `after`, and says where to go on; null: nothing is left. A repeat erases
   * nothing more, so a process that ended in the middle does no harm. Fails where something came in between.
   */
  readonly erase: (erasure: Erasure, after: string | null) => Effect.Effect<string | null, PublicError>
}

/** What is kept of persons, for exports and erasures. Modules that keep some register here. */
export class PersonalData extends Context.Service<PersonalData, {
  /** For as long as the scope lives. */
  readonly register: (keeper: PersonalDataKeeper) => Effect.Effect<void, never, Scope.Scope>
  /** How objects of this kind are redacted in stored events; those of other kinds hold nothing personal. */
  readonly registerObject: (object: string, redact: Redact) => Effect.Effect<void, never, Scope.Scope>
  /** In the order they registered, which is that of the config file. */
  readonly keepers: () => ReadonlyArray<PersonalDataKeeper>
  /** The hashes of one person's values, under the newest master key. */
  readonly hashOf: (person: Person) => HashOf
  /** What may stand in place of the person's id: a hash for each master key in use, the newest first. */
  readonly anonymousIds: (person: Person) => readonly [string, ...ReadonlyArray<string>]
  /** A merchant's text that may be personal, where only a proof of it is kept: the hash under the newest master key. */
  readonly proofOf: (merchantId: number, text: string) => string
  readonly events: PersonalEvents
}>()("tillwire/runtime/PersonalData") {}

const make = Effect.fnUntraced(function*(rollups: ReadonlyArray<Rollup>) {
  const keys = (yield* Secrets).keys("personal").map(({ key }) => hmacUnder(key))
  const [newest] = keys as [ReturnType<typeof hmacUnder>]
  let keepers: ReadonlyArray<PersonalDataKeeper> = []
  const redactions = new Map<string, Redact>()

  const hashUnder =
    (hmac: ReturnType<typeof hmacUnder>, { customerId, environment, merchantId }: Person): HashOf => (value) =>
      isAnonymous(value)
        ? value
        : anonymousForm(hmac(JSON.stringify([merchantId, environment, customerId, value]), "utf8"))

  return PersonalData.of({
    register: (keeper) =>
      Effect.acquireRelease(
        Effect.sync(() => void (keepers = [...keepers, keeper])),
        () => Effect.sync(() => void (keepers = keepers.filter((each) => each !== keeper)))
      ),
    registerObject: (object, redact) =>
      Effect.acquireRelease(
        Effect.sync(() => void redactions.set(object, redact)),
        () => Effect.sync(() => void redactions.delete(object))
      ),
    keepers: () => keepers,
    hashOf: (person) => hashUnder(newest, person),
    anonymousIds: (person) => {
      const [first, ...rest] = keys.map((hmac) => hashUnder(hmac, person)(person.customerId))
      return [first!, ...rest]
    },
    proofOf: (merchantId, text) => anonymousForm(newest(JSON.stringify([merchantId, text]), "utf8")),
    events: yield* makePersonalEvents(redactions, groupRollups(rollups))
  })
})

/** `rollups`: the sums that commits keep. */
export const layer = (
  rollups: ReadonlyArray<Rollup>
): Layer.Layer<PersonalData, never, Secrets | SqlClient.SqlClient> => Layer.effect(PersonalData, make(rollups))
