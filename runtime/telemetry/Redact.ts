/**
 * Takes secrets out of text on its way to a log (modules/docs/reference/errors.md#secrets-in-logs; header list by
 * measurement: Effect redacts only authorization, cookie, set-cookie and x-api-key by itself).
 */

/** Headers whose values are secrets, or lead to them. */
export const secretHeaders: ReadonlyArray<string> = [
  "authorization",
  "cookie",
  "set-cookie",
  "x-api-key",
  "x-commerce-api-key",
  "x-session-token",
  "x-signature",
  "x-service-signature",
  "webhook-signature",
  "idempotency-key",
  "proxy-authorization"
]

/** Query fields whose values are secrets. */
export const secretQueryFields: ReadonlyArray<string> = [
  "session_token",
  "signature",
  "token",
  "access_token",
  "refresh_token"
]

/** What stands where a secret stood. */
export const redactionMark = "<redacted>"

const names = [...secretHeaders, ...secretQueryFields].join("|")

/**
 * What is replaced, by shape. None of the patterns eats a quote, so a line of JSON stays a line of JSON.
 * In order: passwords in URLs, `name: value` and `name=value` of secret names (quoted or not), keys and session tokens
 * by their prefixes, JSON web tokens.
 */
const shapes: ReadonlyArray<readonly [RegExp, string]> = [
  [/([a-z][a-z0-9+.-]*:\/\/[^\s:/@"'\\]*):[^\s/@"'\\]+@/gi, `$1:${redactionMark}@`],
  [
    new RegExp(
      `((?:^|[^a-z0-9_-])(?:${names})\\\\*["']?\\s*[:=]\\s*\\\\*["']?)(?!<redacted>)(?:(?:bearer|basic)\\s+)?[^\\s"'&,;}\\\\<>]+`,
      "gi"
    ),
    `$1${redactionMark}`
  ],
  [/\b(mk|ck|whsec|pst|rt)_[A-Za-z0-9_+/=.-]{8,}/g, `$1_${redactionMark}`],
  [/\beyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*/g, redactionMark]
]

/** `text` without secrets. Idempotent. Keeps JSON valid. */
export const redactText = (text: string): string =>
  shapes.reduce((clean, [shape, replacement]) => clean.replace(shape, replacement), text)
