/** Codes on paper that sign a person in who has lost everything else. Pure. */

/** Codes of a set. */
export const recoveryCodes = 10

/** Random bits of a code: 12 characters of 5. */
export const recoveryCodeBits = 60

/** Crockford's base 32: no I, L, O and U, so that no character is read as another. */
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

/** The code that 12 random bytes spell, five bits of each: `7Q4M-X0KD-9TRB`. */
export const formRecoveryCode = (bytes: Uint8Array): string =>
  [...bytes.subarray(0, recoveryCodeBits / 5)].map((byte) => alphabet[byte & 31]).join("")
    .replace(/(.{4})(?=.)/g, "$1-")

/** The code that somebody typed, without what writing adds to it; undefined: it can be none. */
export const readRecoveryCode = (text: string): string | undefined => {
  const code = text.toUpperCase().replace(/[\s-]/g, "").replaceAll("O", "0").replace(/[IL]/g, "1")
  return /^[0-9A-HJKMNP-TV-Z]{12}$/.test(code) ? code : undefined
}

/** Tries that an e-mail address has within {@link triesSeconds}, right ones included. */
export const maximumTries = 5
export const triesSeconds = 3_600

/** The moments of tries that still count, with this one; undefined: there were too many before. */
export const nextTry = (tries: ReadonlyArray<number>, now: number): ReadonlyArray<number> | undefined => {
  const counted = tries.filter((at) => at > now - triesSeconds)
  return counted.length < maximumTries ? [...counted, now] : undefined
}

/** Seconds until one more try is taken. */
export const secondsToNextTry = (tries: ReadonlyArray<number>, now: number): number =>
  Math.max(1, Math.min(...tries.filter((at) => at > now - triesSeconds)) + triesSeconds - now)
