/**
 * The pace of a service under test: it looks ten times as often for due rows that nobody told it of, as those of mail,
 * notices and batches are, which costs it 1 % of a core, and it takes over sooner from a process that was killed.
 */
export const shortTimerPace = { pollMillis: 500, leaseMillis: 5_000 }
