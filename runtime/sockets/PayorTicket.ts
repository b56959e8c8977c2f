/**
 * The credential of a payor's socket, `ws_connection.token`: a JWT (HS256) for one invoice, usable for an hour as often
 * as its holder reconnects (modules/docs/reference/websockets.md#tickets).
 */
import { DateTime, Effect } from "effect"
import { errors, jwtVerify } from "jose"
import { createHmac } from "node:crypto"
import { nowSeconds } from "../Clock.ts"
import { Secrets } from "../Secrets.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { isUuid } from "../../schemas/Ids.ts"

/** The audience claim: what the token opens. */
export const payorAudience = "ws.payment"

const issuer = "tillwire"

/** Seconds a ticket is good for (modules/docs/reference/websockets.md#tickets). */
export const ticketSeconds = 3_600

/** Characters of a token, at most: ours have about 300. */
const maximumTokenLength = 2_048

/** What a ticket grants. */
export interface PayorTicket {
  readonly invoiceId: string
  readonly merchantId: number
  /** Epoch seconds. */
  readonly expiresAt: number
}

const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url")

/**
 * Makes a ticket for one invoice. Every view of a payment page has one: signed here and not by jose, whose way over a
 * thread of WebCrypto costs eight times the processor time (measured).
 */
const mint = (
  grant: { readonly invoiceId: string; readonly merchantId: number }
): Effect.Effect<{ readonly token: string; readonly expiresAt: number }, never, Secrets> =>
  Effect.gen(function*() {
    const [{ id, key }] = (yield* Secrets).keys("jwt")
    const now = yield* nowSeconds
    const expiresAt = now + ticketSeconds
    const header = encoded({ alg: "HS256", typ: "JWT", kid: String(id) })
    const claims = encoded({
      merchant: grant.merchantId,
      iss: issuer,
      aud: payorAudience,
      sub: grant.invoiceId,
      iat: now,
      exp: expiresAt
    })
    const signature = createHmac("sha256", key).update(`${header}.${claims}`).digest("base64url")
    return { token: `${header}.${claims}.${signature}`, expiresAt }
  })

/** Reads a ticket under any master still configured: `TOKEN_EXPIRED`, or `TOKEN_INVALID` for everything else. */
const check = (token: string): Effect.Effect<PayorTicket, PublicError, Secrets> =>
  Effect.gen(function*() {
    if (token.length > maximumTokenLength) return yield* publicError("TOKEN_INVALID")
    const keys = (yield* Secrets).keys("jwt")
    const currentDate = yield* Effect.map(DateTime.now, DateTime.toDateUtc)
    const verified = yield* Effect.tryPromise({
      try: () =>
        jwtVerify(
          token,
          ({ kid }) => {
            const key = keys.find(({ id }) => String(id) === kid)
            if (key === undefined) throw new errors.JWKSNoMatchingKey()
            return key.key
          },
          {
            algorithms: ["HS256"],
            audience: payorAudience,
            issuer,
            requiredClaims: ["sub", "exp", "merchant"],
            currentDate
          }
        ),
      catch: (cause) => publicError(cause instanceof errors.JWTExpired ? "TOKEN_EXPIRED" : "TOKEN_INVALID")
    })
    const { exp, merchant, sub } = verified.payload
    if (sub === undefined || !isUuid(sub) || !Number.isSafeInteger(merchant) || exp === undefined) {
      return yield* publicError("TOKEN_INVALID")
    }
    return { invoiceId: sub, merchantId: merchant as number, expiresAt: exp }
  })

export const PayorTickets = { mint, check }
