/** How often a message is tried, what becomes of it, and to whom it is sent. Pure. Times are epoch seconds. */

/** Messages that one address gets of one merchant within an hour, at most: nobody is flooded by a shop. */
export const recipientMessagesPerHour = 5

/** Seconds of an hour, over which messages are counted. */
export const hourSeconds = 3_600

/** Characters of a message's text, at most: ours have less than a tenth, so more is a bug. */
export const maximumTextCharacters = 20_000

/** Characters of a subject, at most: mail programs show less. */
const maximumSubjectCharacters = 150

/** Seconds between an attempt and the next one; the sum is 22 h, in which an operator sees that mail does not go. */
const pauses = [60, 300, 900, 1_800, 3_600, 7_200, 14_400, 21_600, 28_800] as const

/** Attempts of a message, at most. */
export const maximumAttempts = pauses.length + 1

/** Seconds after which a message is not sent any more: nobody expects it, and what it tells may not be true. */
export const maximumAgeSeconds = 2 * 86_400

/** Seconds for which it is kept what became of a message: time for whoever asks why none came. */
export const keptSeconds = 7 * 86_400

/**
 * An address that means one mailbox to every mail server, on a host that has a name: the form without quotes, comments
 * and brackets (RFC 5321, 4.1.2), also with letters beyond ASCII (RFC 6531).
 */
const atom = "[\\p{L}\\p{N}!#$%&'*+/=?^_`{|}~-]+"
const label = "[\\p{L}\\p{N}](?:[\\p{L}\\p{N}\\p{M}-]{0,61}[\\p{L}\\p{N}\\p{M}])?"
const addressPattern = new RegExp(`^(?=.{1,64}@)${atom}(?:\\.${atom})*@(?:${label}\\.)+(?=[^.]*\\p{L})${label}$`, "u")

/** Whether mail is sent to an address. */
export const isMailbox = (address: string): boolean => address.length <= 254 && addressPattern.test(address)

/**
 * Seconds that an attempt has its message for itself: more than {@link attemptTimeoutMillis} for each round of a batch.
 * A process that was killed after it has sent, and before it has written so, makes the one copy that there may be.
 */
export const attemptSeconds = 180

/** Milliseconds an attempt may take. */
export const attemptTimeoutMillis = 40_000

/** When a message whose attempt failed is tried again; null: never. */
export const nextAttemptAt = (attempts: number, createdAt: number, now: number): number | null => {
  const pause = pauses[attempts - 1]
  return pause === undefined || now + pause > createdAt + maximumAgeSeconds ? null : now + pause
}

/** On one line and cut; play money is called so, because a receipt of it looks like any other. */
export const subjectLine = (subject: string, environment: "devnet" | "mainnet"): string => {
  // But for the marks that isolate a name in a line of the other direction (Unicode UAX #9).
  const line = subject.replace(/(?:(?![\u2068\u2069])[\p{C}\p{Z}])+/gu, " ").trim()
  return [...`${environment === "devnet" ? "[devnet] " : ""}${line}`].slice(0, maximumSubjectCharacters).join("")
}
