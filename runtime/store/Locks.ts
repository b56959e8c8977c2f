/** The advisory locks this service takes, in one place so that no two meanings share a number. */

/** First key of every advisory lock of this service: "TILL" in ASCII. */
export const lockSpace = 0x54494c4c

export const advisoryLock = {
  /** Held by the transaction of each migration step. */
  migrations: 1,
  /** Held for life by the one service that owns an embedded server. */
  service: 2,
  /** Held by the transaction that counts sums anew. */
  rollups: 3
} as const
