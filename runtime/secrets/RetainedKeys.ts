/**
 * Keys that outlive their master. What was sealed is sealed anew when a master key is replaced, but what was only
 * hashed or signed cannot be made anew: an API key's text is kept nowhere, and a receipt's link is in somebody's mail.
 * So the derived keys that check those are kept, sealed under the newest master, and the old master can go.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { MasterKeys, type RetainedKey, type SecretLabel, Secrets } from "../Secrets.ts"

/** How long what a label's keys made is checked after their master is retired. */
interface KeyRetention {
  /**
   * Seconds for which the key is kept; `unlimited`: what it made has no end of its own; `resealed`: all that it made is
   * sealed anew, and the key is not kept.
   */
  readonly keptSeconds: number | "unlimited" | "resealed"
  /** Whether who knows the key can make what is accepted as genuine; it is not kept where its master leaked. */
  readonly authenticates: boolean
}

/** Longer than tickets of sockets and access tokens are good for, and than messages to an address are counted. */
const hourSeconds = 3_600

/** By label: a new one does not compile before it is decided here. */
export const keyRetentions: Readonly<Record<SecretLabel, KeyRetention>> = {
  webhook: { keptSeconds: "resealed", authenticates: false },
  reply: { keptSeconds: "resealed", authenticates: false },
  retained: { keptSeconds: "resealed", authenticates: false },
  // A session of an open invoice has no end.
  session: { keptSeconds: "unlimited", authenticates: true },
  receipt: { keptSeconds: "unlimited", authenticates: true },
  jwt: { keptSeconds: hourSeconds, authenticates: true },
  // Hashes of random texts of 256 bits, which nobody finds from their hashes with or without the key.
  pepper: { keptSeconds: "unlimited", authenticates: false },
  // What stands in place of erased persons, and of the addresses that payments of links were begun from.
  personal: { keptSeconds: "unlimited", authenticates: false },
  mail: { keptSeconds: hourSeconds, authenticates: false }
}

interface Row {
  readonly label: SecretLabel
  readonly keyId: number
  readonly sealedKey: string
}

/** Adds the retained keys of the database to those of this process, and removes those that have ended. */
export const loadRetainedKeys = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const secrets = yield* Secrets
  const { retain } = yield* MasterKeys
  yield* sql`delete from retained_keys where ends_at <= now()`
  const rows = yield* sql<Row>`
    select label, key_id::integer as "keyId", sealed_key as "sealedKey" from retained_keys order by label, key_id`
  const opened = rows.map(({ keyId: id, label, sealedKey }) => ({
    id,
    label,
    text: secrets.open("retained", sealedKey)
  }))
  const closed = opened.filter(({ text }) => text === undefined)
  if (closed.length > 0) {
    yield* Effect.logWarning(
      "Keys of retired master keys cannot be opened, because the master key that they were sealed with is lost: what was "
        + "made under them is refused. Make new API keys; sign-ins and links of receipts are made anew.",
      { labels: closed.map(({ label }) => label) }
    )
  }
  yield* retain(
    opened.flatMap(({ id, label, text }): ReadonlyArray<RetainedKey> =>
      text === undefined ? [] : [{ id, label, bytes: Buffer.from(text, "base64") }]
    )
  )
})

/**
 * Keeps the derived keys of the master with an id, which is configured here. `isCompromised`: not those with which
 * somebody who knows that master opens doors.
 */
export const retainKeysOf = Effect.fnUntraced(function*(id: number, isCompromised: boolean) {
  const sql = yield* SqlClient.SqlClient
  const secrets = yield* Secrets
  for (
    const [label, { keptSeconds, authenticates }] of Object.entries(keyRetentions) as ReadonlyArray<
      [SecretLabel, KeyRetention]
    >
  ) {
    const key = secrets.keys(label).find((each) => each.id === id)
    if (key === undefined || keptSeconds === "resealed" || (isCompromised && authenticates)) continue
    const sealedKey = secrets.seal("retained", key.key.export().toString("base64"))
    yield* sql`insert into retained_keys (label, key_id, sealed_key, ends_at)
      values (${label}, ${id}, ${sealedKey}, now() + ${
      keptSeconds === "unlimited" ? null : keptSeconds
    }::float8 * interval '1 second')
      on conflict (label, key_id) do update set sealed_key = excluded.sealed_key, ends_at = excluded.ends_at`
  }
})
