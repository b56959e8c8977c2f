/** Rules of tickets: who may have one for which stream, and what it looks like. Pure. */
import type { KeyScope, Principal } from "../../schemas/Auth.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"

/**
 * Seconds a ticket may live (modules/docs/reference/websockets.md#tickets): long enough to open a socket, too short to
 * be worth stealing.
 */
export const ticketSeconds = { minimum: 1, maximum: 60 } as const

/** Unused tickets of one credential at once: a page needs one, and a minute of calls at the limit makes 100. */
export const maximumTickets = 100

/** Random bytes of a ticket. */
export const ticketBytes = 32

const ticketPattern = /^wst_[A-Za-z0-9_-]{43}$/

/** Whether a text can be a ticket: anything else, a key or an access token above all, is not looked up. */
export const isTicket = (text: string): boolean => ticketPattern.test(text)

export const ticketOf = (random: Uint8Array): string => `wst_${Buffer.from(random).toString("base64url")}`

/** Why a caller gets no ticket for a stream: a commerce key has the commerce stream only. */
export const objectionTo = ({ scope }: Pick<Principal, "scope">, requested: KeyScope): PublicError | undefined =>
  scope === "commerce" && requested === "merchant"
    ? publicError("SCOPE_MISMATCH", {
      message: "A commerce key opens the commerce stream only: ask for scope commerce"
    })
    : undefined
