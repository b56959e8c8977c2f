/** Whether a server may answer in place of the primary, by what both say of themselves. Pure. */
import type { StoreError } from "../StoreError.ts"

/** What a server says of itself. */
export interface ServerFacts {
  /** Whether it follows another server and takes no writes. */
  readonly standby: boolean
  /** Equal for a primary and all its standbys, and for no other server. */
  readonly system: string
  /** The database's id, the same on a standby. */
  readonly database: string
  /** Schemas in which the session finds tables. */
  readonly schemas: string
  /** Counts promotions: two servers of one system and one timeline have the same history. */
  readonly timeline: number
  /** Of a primary the end of what is stored, of a standby the end of what it shows; null: it shows nothing yet. */
  readonly position: string | null
}

/**
 * The statement behind {@link ServerFacts}; it takes no right but to connect. A standby that has followed a promotion
 * writes its new timeline down with its next restart point. To a role that has `pg_read_all_stats` it shows it at once.
 */
export const factsStatement = `select pg_is_in_recovery() as standby,
  (select system_identifier from pg_control_system())::text as system,
  (select oid from pg_database where datname = current_database())::text as database,
  current_schemas(false)::text as schemas,
  case when pg_is_in_recovery()
    then greatest((select timeline_id from pg_control_checkpoint()),
      (select min_recovery_end_timeline from pg_control_recovery()), (select received_tli from pg_stat_wal_receiver))
    else ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::integer end as timeline,
  case when pg_is_in_recovery() then pg_last_wal_replay_lsn()
    when current_setting('synchronous_commit') = 'off' then pg_current_wal_insert_lsn()
    else pg_current_wal_flush_lsn() end::text as position`

/** A position in the write-ahead log as a number: `16/B374D848` are two numbers of 32 bits in hex. */
export const positionOf = (text: string): bigint => {
  const [high = "0", low = "0"] = text.split("/")
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`)
}

/** Bytes of the log that a standby has still to show; null: nobody knows. */
export const bytesBehind = (primary: ServerFacts, replica: ServerFacts): number | null => {
  if (primary.position === null || replica.position === null) return null
  const bytes = positionOf(primary.position) - positionOf(replica.position)
  return Number(bytes > 0n ? bytes : 0n)
}

/** Why a server is no replica of the primary, however long one waits; undefined: it is one. */
export const objectionToReplica = (
  primary: ServerFacts,
  replica: ServerFacts,
  where: string
): Pick<StoreError, "what" | "hint"> | undefined => {
  const here = "store.options.replica.url"
  if (!replica.standby) {
    return {
      what: `The server at ${where} is no standby: it is a primary, or was made one.`,
      hint: `Give the address of a streaming standby of the database in store.options.url as ${here}, or remove `
        + "store.options.replica."
    }
  }
  if (replica.system !== primary.system) {
    return {
      what: `The standby at ${where} follows another system than the database in store.options.url: their system `
        + `identifiers are ${replica.system} and ${primary.system}.`,
      hint: `Give the address of a standby of that database as ${here}, or make one: pg_basebackup -R.`
    }
  }
  if (replica.database !== primary.database) {
    return {
      what: `The standby at ${where} is asked for another database than the one in store.options.url.`,
      hint: `Write the same name of the database at the end of ${here}.`
    }
  }
  return replica.schemas === primary.schemas ? undefined : {
    what: `Sessions at ${where} find tables in ${replica.schemas}, those of the primary in ${primary.schemas}.`,
    hint: `Use the same role in both URLs, or give the role of ${here} the same search_path.`
  }
}

/** What may be done with a replica whose primary stood at `primary` when a read began. */
export type Fitness =
  | { readonly _tag: "Ready" }
  /** It may have everything soon. */
  | { readonly _tag: "Behind"; readonly bytes: number | null }
  /** It is no use asking again at once. */
  | { readonly _tag: "Unfit"; readonly reason: string }

export const fitnessOf = (primary: ServerFacts, replica: ServerFacts, where: string): Fitness => {
  if (primary.standby) return { _tag: "Unfit", reason: "the server in store.options.url is a standby itself" }
  const objection = objectionToReplica(primary, replica, where)
  if (objection !== undefined) return { _tag: "Unfit", reason: objection.what }
  if (replica.timeline !== primary.timeline) {
    return {
      _tag: "Unfit",
      reason: `It is on timeline ${replica.timeline} and the primary on ${primary.timeline}: it has not followed a `
        + "promotion yet, or cannot."
    }
  }
  const bytes = bytesBehind(primary, replica)
  return bytes === 0 ? { _tag: "Ready" } : { _tag: "Behind", bytes }
}
