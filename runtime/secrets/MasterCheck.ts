/**
 * The database remembers which master keys it was used with, by values from which the keys cannot be found, and which
 * of them it still needs. Without one of those API keys or webhook secrets would be unusable, so the service refuses to
 * start.
 */
import { Effect, Result } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { type CheckValue, MasterKeys, Secrets, SecretsError } from "../Secrets.ts"
import { Settings } from "../Settings.ts"
import { loadRetainedKeys } from "./RetainedKeys.ts"
import { advisoryLock, lockSpace } from "../store/Locks.ts"

/** How many of the newest sealed values of each kind are tried when the database remembers no key yet. */
const sampleCount = 20

/** Characters of a check value that name a key in messages and in `secrets.lostKeys`. */
const fingerprintLength = 8

/** What the table remembers of a key. */
export interface RememberedKey {
  readonly value: CheckValue
  /** The setting or file it came from. */
  readonly keptIn: string
  /** `YYYY-MM-DD`, UTC. */
  readonly since: string
  /** `YYYY-MM-DD`, UTC: nothing needs the key since then. Null: it is needed. */
  readonly retired: string | null
}

/** What the database shows about the keys it was used with. */
export interface Evidence {
  /** The keys it was used with, the last one last; a key may be there twice. Empty: none is remembered yet. */
  readonly keys: ReadonlyArray<RememberedKey>
  /**
   * Whether a given key opens the sealed values; `none`: there are none, or a key is remembered and they were not read.
   */
  readonly sealedValues: "none" | "opens" | "closed"
}

/** The keys this service was given. */
export interface GivenKeys {
  /** Newest first, never empty. */
  readonly values: ReadonlyArray<CheckValue>
  /** The setting or the file they come from. */
  readonly keptIn: string
  /** Whether `keptIn` is a file that the service makes where there is none. */
  readonly isFile: boolean
  /** Whether that file was absent at this start: the key given is a new one, not written yet. */
  readonly isFileAbsent: boolean
  /** Fingerprints of keys that the operator has given up. */
  readonly lostKeys: ReadonlyArray<string>
}

/** The name of a key in messages. It may be shown: the key cannot be found from it. */
export const fingerprintOf = (value: CheckValue): string => value.slice(0, fingerprintLength)

const consequence = "Without it no API key, session or webhook secret in this database works; invoices, payments and "
  + "events stay readable."

/** What a start changes about what the database remembers. */
export interface KeyDecision {
  /** Whether the newest given key is to be remembered as the last one. */
  readonly remember: boolean
  /** Keys that the operator has given up just now. */
  readonly givenUp: ReadonlyArray<CheckValue>
}

/** Why the service must not start with the given keys, and what to do about it. */
export interface KeyRefusal {
  readonly what: string
  readonly fix: string
}

const rotateCommand = "`secrets rotate --finish`"

/** Why a key that is still needed is missed, and what to do. */
const missingKey = (missing: RememberedKey, isLast: boolean, givenKeys: GivenKeys): KeyRefusal => {
  const name = fingerprintOf(missing.value)
  const finding = givenKeys.isFileAbsent ? "is missing" : `gives ${givenKeys.values.map(fingerprintOf).join(", ")}`
  const belongs = `this database belongs to the master key ${name}, in use since ${missing.since} from `
    + `${missing.keptIn}, and ${givenKeys.keptIn} ${finding}.`
  const unfinished = isLast
    ? ""
    : ` It was replaced, but the rotation is not finished: ${rotateCommand} says when this key can be removed.`
  return {
    what: `${belongs}${unfinished}`,
    fix: `${restoreAdvice(givenKeys, `the key ${name}`)} ${consequence} ${giveUpAdvice(givenKeys, name)}`
  }
}

/**
 * What is to be remembered of the given keys, or why the service must not start. Pure.
 *
 * Every key that is not retired must be among the given ones, at any place: a key is replaced by putting the new one
 * before it. A retired one must not come first again.
 */
export const checkKeys = (
  { keys, sealedValues }: Evidence,
  givenKeys: GivenKeys
): Result.Result<KeyDecision, KeyRefusal> => {
  const newest = givenKeys.values[0]!
  const last = keys.at(-1)
  if (last === undefined) {
    if (sealedValues !== "closed" || givenKeys.lostKeys.includes("unknown")) {
      return Result.succeed({ remember: true, givenUp: [] })
    }
    return Result.fail({
      what: givenKeys.isFileAbsent
        ? `${givenKeys.keptIn} is missing, and this database holds values sealed with the key that was in such a file.`
        : `no key of ${givenKeys.keptIn} opens the sealed values in this database: they were made with another master key.`,
      fix: `${restoreAdvice(givenKeys, "the key it was made with")} ${consequence} ${
        giveUpAdvice(givenKeys, "unknown")
      }`
    })
  }
  const needed = keys.filter(({ retired }) => retired === null)
  const absent = needed.filter(({ value }) => !givenKeys.values.includes(value))
  const missing = absent.findLast(({ value }) => !givenKeys.lostKeys.includes(fingerprintOf(value)))
  if (missing !== undefined) return Result.fail(missingKey(missing, missing.value === last.value, givenKeys))
  const former = needed.some(({ value }) => value === newest) ? undefined : keys.find(({ value }) => value === newest)
  if (former !== undefined) {
    return Result.fail({
      what: `the master key ${
        fingerprintOf(newest)
      } was retired on ${former.retired}, and ${givenKeys.keptIn} gives it first.`,
      fix: `Put ${fingerprintOf(last.value)} first again, or a new key: openssl rand -hex 32.`
    })
  }
  return Result.succeed({ remember: newest !== last.value, givenUp: [...new Set(absent.map(({ value }) => value))] })
}

const restoreAdvice = ({ isFile, keptIn }: GivenKeys, key: string) =>
  isFile
    ? `Put ${key} back into ${keptIn}, from your copy of that file or of the data directory it was in.`
    : `Put ${key} into secrets.master again, after the new one if you are replacing it.`

const giveUpAdvice = ({ isFile }: GivenKeys, name: string) =>
  `If it is lost for good, ${isFile ? "set secrets.master to a new key (openssl rand -hex 32) and " : "set "}`
  + `secrets.lostKeys to ["${name}"], start, and make new API keys and webhook secrets.`

/** The keys that the database was used with, the last one last. */
export const rememberedKeys = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<RememberedKey>`
    select check_value as value, kept_in as "keptIn", to_char(adopted_at at time zone 'UTC', 'YYYY-MM-DD') as since,
      to_char(retired_at at time zone 'UTC', 'YYYY-MM-DD') as retired
    from master_keys order by place`
})

/** From now on nothing needs these keys. */
export const retireKeys = Effect.fnUntraced(function*(values: ReadonlyArray<CheckValue>) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`update master_keys set retired_at = now()
    where retired_at is null and check_value = any (${[...values]}::text[])`
})

/** One transaction under the lock by which starts and the end of a rotation come one after the other. */
export const underMasterLock = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    return yield* sql.withTransaction(
      Effect.andThen(sql`select pg_advisory_xact_lock(${lockSpace}, ${advisoryLock.masterKey})`, work)
    )
  })

/** The newest sealed values of webhook endpoints and stored replies. */
const sealedSamples = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<{ label: "webhook" | "reply"; sealed: string }>`
    (select 'webhook' as label, sealed_secret as sealed from webhook_endpoints order by updated_at desc limit ${sampleCount})
    union all
    (select 'reply', sealed_body from idempotency where sealed_body is not null
      order by created_at desc limit ${sampleCount})`
})

/**
 * Checks the keys against the database, remembers the newest and adds the retained ones, in one transaction under a
 * lock. Fails when the database needs a master key that is not given. Needs the runtime's tables.
 */
export const checkMaster: Effect.Effect<
  void,
  SecretsError | SqlError.SqlError,
  SqlClient.SqlClient | Secrets | Settings | MasterKeys
> = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const secrets = yield* Secrets
  const { secrets: setting } = yield* Settings
  const keys = yield* MasterKeys
  const givenKeys: GivenKeys = {
    ...keys,
    isFileAbsent: keys.keepDraft !== undefined,
    lostKeys: setting?.lostKeys ?? []
  }
  // When two instances start at once on an empty database, the second must have the first one's key.
  yield* underMasterLock(Effect.gen(function*() {
    const remembered = yield* rememberedKeys
    const samples = remembered.length === 0 ? yield* sealedSamples : []
    const opens = samples.some(({ label, sealed }) => secrets.open(label, sealed) !== undefined)
    const result = checkKeys(
      { keys: remembered, sealedValues: samples.length === 0 ? "none" : opens ? "opens" : "closed" },
      givenKeys
    )
    if (Result.isFailure(result)) {
      const { fix, what } = result.failure
      const summary = givenKeys.isFileAbsent ? "The master key is missing" : "The master key is not the right one"
      return yield* new SecretsError({ reason: `${summary}: ${what} ${fix}` })
    }
    const decision = result.success
    yield* loadRetainedKeys
    // The file before the row: a database must never belong to a key that is kept nowhere.
    if (keys.keepDraft !== undefined) yield* keys.keepDraft
    if (decision.remember) {
      yield* sql`insert into master_keys (place, check_value, kept_in)
        select coalesce(max(place), 0) + 1, ${givenKeys.values[0]!}, ${givenKeys.keptIn} from master_keys`
    }
    if (decision.givenUp.length > 0) yield* retireKeys(decision.givenUp)
  }))
})
