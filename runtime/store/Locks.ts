/** The advisory locks this service takes, in one place so that no two meanings share a number. */

/** First key of the advisory locks below: "TILL" in ASCII. */
export const lockSpace = 0x54494c4c

/** First key of the locks that replays of webhook deliveries take; the second is a hash of the endpoint's id. */
export const replayLockSpace = 0x54494c4d

/**
 * First key of the locks that keep claims of addresses and allocations apart; the second is a hash of the family's
 * name. It stands as a number in `claim_addresses_v1.sql` and `allocate_targets_v1.sql`.
 */
export const addressLockSpace = 0x54494c4e

/**
 * First key of the locks that put allocations from one wallet in turn; the second is a hash of its fingerprint. It
 * stands as a number in `allocate_targets_v2.sql` and `allocate_shared_targets_v2.sql`.
 */
export const walletLockSpace = 0x54494c57

export const advisoryLock = {
  /** Held by the transaction of each migration step. */
  migrations: 1,
  /** Held for life by the one service that owns an embedded server. */
  service: 2,
  /** Held by the transaction that counts sums anew. */
  rollups: 3,
  /** Held by a transaction that removes old events; shared by those that count sums from them. */
  pruning: 4,
  /** Held by the transaction that compares the master key with the one the database remembers. */
  masterKey: 5,
  /** Held by a transaction that makes partitions; it stands as a number in `partition_months_v1.sql`. */
  partitions: 6
} as const
