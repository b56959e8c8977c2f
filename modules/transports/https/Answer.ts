/** What is kept of an answer, and why there was none: limits, text, and whose fault it is. Pure. */
import { TransportFailed } from "../../../runtime/Webhooks.ts"
import { AddressRefused, NameUnresolved } from "./NameResolver.ts"
import { ProxyRefused } from "./Proxy.ts"

/**
 * An answer's body is read so far, as it was sent: what is packed is not unpacked. Nothing a receiver says needs more.
 */
export const maximumAnswerBytes = 64 * 1024

/** What is kept of it, in bytes of UTF-8 (modules/docs/reference/webhooks.md#kept). */
export const keptAnswerBytes = 4 * 1024

/** Bytes of all headers of an answer. As Node's own servers take. */
export const maximumHeaderBytes = 16 * 1024

/** Answers of status 1xx before the real one: none means anything here, so a receiver that sends more is broken. */
export const maximumInterimAnswers = 8

/** A success that is too long to be one. */
export class AnswerTooLong extends Error {
  readonly code = "ANSWER_TOO_LONG"
  constructor() {
    super(`the answer is longer than ${maximumAnswerBytes} bytes`)
  }
}

/** A receiver that says "wait" and never anything else. */
export class TooManyInterimAnswers extends Error {
  readonly code = "TOO_MANY_INTERIM_ANSWERS"
  constructor() {
    super(`more than ${maximumInterimAnswers} answers of status 1xx`)
  }
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
const encoder = new TextEncoder()

/**
 * Bytes as text that a database takes: no NUL, U+FFFD for what is no UTF-8, a character cut at the end left out, and at
 * most {@link keptAnswerBytes} again when written as UTF-8.
 */
export const storableText = (bytes: Uint8Array): string => {
  const text = decoder.decode(bytes.subarray(0, keptAnswerBytes), { stream: true }).replaceAll("\u0000", "")
  // Forgets the cut character, which would begin the next text.
  decoder.decode()
  return text.slice(0, encoder.encodeInto(text, new Uint8Array(keptAnswerBytes)).read)
}

/** Faults of this machine, which say nothing of the receiver and spend no attempt. */
const ownFaults: ReadonlySet<string> = new Set([
  "EMFILE",
  "ENFILE",
  "ENOBUFS",
  "ENOMEM",
  "EADDRNOTAVAIL",
  "ENETDOWN",
  "UND_ERR_DESTROYED",
  "UND_ERR_CLOSED"
])

/** The receiver was too slow, by our clock or by the kernel's. */
const timeouts: ReadonlySet<string> = new Set([
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
  "ETIMEDOUT"
])

/** What an error of a socket, a look-up or the HTTP client says of the attempt. */
export const failureOf = (cause: unknown): TransportFailed => {
  if (cause instanceof AddressRefused) {
    return new TransportFailed({ reason: cause.reason, isOurFault: false, timedOut: false })
  }
  if (cause instanceof NameUnresolved) {
    return new TransportFailed({ reason: cause.message, isOurFault: cause.isOurFault, timedOut: false })
  }
  if (cause instanceof ProxyRefused) {
    return new TransportFailed({ reason: cause.reason, isOurFault: cause.own, timedOut: cause.timedOut })
  }
  const { code = "error", message = "" } = cause as { readonly code?: string; readonly message?: string }
  return new TransportFailed({
    reason: `${code}: ${message}`.trimEnd(),
    isOurFault: ownFaults.has(code),
    timedOut: timeouts.has(code)
  })
}
