/** Which tables have a partition for each month, how long a month is kept, and how far ahead the months are made. */

/** How long events and their deliveries are kept (modules/docs/reference/events.md#retention). */
export const eventRetentionDays = 365

/** How long attempts are kept (modules/docs/reference/webhooks.md#kept). */
export const attemptRetentionDays = 30

/**
 * Partitioned tables, oldest first within a delivery's life. Each is partitioned by when a row was made, because that
 * is what its rows are kept by, and what is asked for is almost always what was made last.
 *
 *   events              by `ms`, the time in their id
 *   webhook_deliveries  by `created_at`, not by the time of their event: a replay queues events of last year, and what
 *                       is due is looked for all the time. So all that is due lies in the newest partitions
 *   webhook_attempts    by `ended_at`
 */
export const partitionedTables = ["events", "webhook_deliveries", "webhook_attempts"] as const
export type PartitionedTable = (typeof partitionedTables)[number]

/** Days for which rows of a table are kept, at least: a month goes when all of it is older. */
export const retentionDays: Readonly<Record<PartitionedTable, number>> = {
  events: eventRetentionDays,
  webhook_deliveries: eventRetentionDays,
  webhook_attempts: attemptRetentionDays
}

/** Months that are made ahead of the one that is now: so many months nobody need make any. */
export const monthsAhead = 3

/** Days ahead below which an operator is told, while there is still time to find out why no months are made. */
export const leastDaysAhead = 31
