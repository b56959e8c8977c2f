/**
 * Keys that outlive their master. What was sealed is sealed anew when a master key is replaced, but what was only
 * hashed or signed cannot be made anew: an API key's text is kept nowhere, and a receipt's link is in somebody's mail.
 * So the derived keys that check those are kept, sealed under the newest master, and the old master can go.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type CarriedKey, MasterKeys, type SecretLabel, Secrets } from "../Secrets.ts"

/** What becomes of what a label's keys made, once their master is retired. */
interface Carriage {
  /**
   * Seconds after which nothing that the key made is good any more; `unlimited`: it has no end of its own; `resealed`:
   * all of it is sealed anew, and the key is not carried.
   */
  readonly lasts: number | "unlimited" | "resealed"
  /** Whether somebody who knows the key makes what is accepted; such a key is not carried where a master leaked. */
  readonly opensDoors: boolean
}

/** Longer than tickets of sockets and access tokens are good for, and than messages to an address are counted. */
const hourSeconds = 3_600

/** By label: a new one does not compile before it is decided here. */
export const carriages: Readonly<Record<SecretLabel, Carriage>> = {
  webhook: { lasts: "resealed", opensDoors: false },
  reply: { lasts: "resealed", opensDoors: false },
  carried: { lasts: "resealed", opensDoors: false },
  // A session of an open invoice has no end.
  session: { lasts: "unlimited", opensDoors: true },
  receipt: { lasts: "unlimited", opensDoors: true },
  jwt: { lasts: hourSeconds, opensDoors: true },
  // Hashes of random texts of 256 bits, which nobody finds from their hashes with or without the key.
  pepper: { lasts: "unlimited", opensDoors: false },
  // What stands in place of erased persons, and of the addresses that payments of links were begun from.
  personal: { lasts: "unlimited", opensDoors: false },
  mail: { lasts: hourSeconds, opensDoors: false }
}

interface Row {
  readonly label: SecretLabel
  readonly keyId: number
  readonly sealedKey: string
}

/** Adds the carried keys of the database to those of this process, and removes those that have ended. */
export const loadCarriedKeys = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const secrets = yield* Secrets
  const { carry } = yield* MasterKeys
  yield* sql`delete from carried_keys where ends_at <= now()`
  const rows = yield* sql<Row>`
    select label, key_id::integer as "keyId", sealed_key as "sealedKey" from carried_keys order by label, key_id`
  const opened = rows.map(({ keyId: id, label, sealedKey }) => ({
    id,
    label,
    text: secrets.open("carried", sealedKey)
  }))
  const closed = opened.filter(({ text }) => text === undefined)
  if (closed.length > 0) {
    yield* Effect.logWarning(
      "Keys of retired master keys cannot be opened, because the master key that they were sealed with is lost: what was "
        + "made under them is refused. Make new API keys; sign-ins and links of receipts are made anew.",
      { labels: closed.map(({ label }) => label) }
    )
  }
  yield* carry(
    opened.flatMap(({ id, label, text }): ReadonlyArray<CarriedKey> =>
      text === undefined ? [] : [{ id, label, bytes: Buffer.from(text, "base64") }]
    )
  )
})

/**
 * Keeps the derived keys of the master with an id, which is configured here. `isCompromised`: not those with which
 * somebody who knows that master opens doors.
 */
export const carryKeysOf = Effect.fnUntraced(function*(id: number, isCompromised: boolean) {
  const sql = yield* SqlClient.SqlClient
  const secrets = yield* Secrets
  for (const [label, { lasts, opensDoors }] of Object.entries(carriages) as ReadonlyArray<[SecretLabel, Carriage]>) {
    const key = secrets.keys(label).find((each) => each.id === id)
    if (key === undefined || lasts === "resealed" || (isCompromised && opensDoors)) continue
    const sealedKey = secrets.seal("carried", key.key.export().toString("base64"))
    yield* sql`insert into carried_keys (label, key_id, sealed_key, ends_at)
      values (${label}, ${id}, ${sealedKey}, now() + ${
      lasts === "unlimited" ? null : lasts
    }::float8 * interval '1 second')
      on conflict (label, key_id) do update set sealed_key = excluded.sealed_key, ends_at = excluded.ends_at`
  }
})
