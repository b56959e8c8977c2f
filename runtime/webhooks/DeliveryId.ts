/**
 * The id of a delivery begins with the millisecond it was made in (RFC 9562, version 7; `delivery_id_v1.sql`), which
 * says in which partition it is. Those from before there were partitions do not.
 */

/** Epoch milliseconds at which a delivery was made; undefined: its id does not say it. */
export const millisOfId = (id: string): number | undefined =>
  id[14] === "7" ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : undefined
