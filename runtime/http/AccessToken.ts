/**
 * The credential a wallet signs in for: a JWT (EdDSA) that any service can check with the published keys
 * (modules/docs/reference/authentication.md#access-tokens). What it says of its session is checked against the session
 * by whoever owns it.
 */
import { DateTime, Effect } from "effect"
import { errors, jwtVerify, SignJWT } from "jose"
import { createHash, createPrivateKey, createPublicKey, hkdfSync, type KeyObject, randomUUID } from "node:crypto"
import { nowSeconds } from "../Clock.ts"
import { type DerivedKey, Secrets } from "../Secrets.ts"
import { Settings } from "../Settings.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"

/** The audience claim: what the token opens. Tickets of sockets have another. */
export const accessAudience = "api"

/** Seconds a token is good for (modules/docs/reference/authentication.md#access-tokens). */
export const accessSeconds = 900

/** The header's `typ` (RFC 9068), so that no other JWT of ours passes for one. */
const tokenType = "at+jwt"

/** Characters of a token, at most: ours have about 600. What is longer is not looked at. */
export const maximumTokenLength = 2_048

/** What a token is made for. */
export interface AccessSubject {
  readonly merchantId: number
  /** `ses_<uuid>`: the session it ends with. */
  readonly sessionId: string
  /** `siw_<uuid>`: the wallet that signed in. */
  readonly walletId: string
}

/** What a token says, once its signature and its time were found good. */
export interface AccessClaims extends AccessSubject {
  /** Epoch seconds. */
  readonly expiresAt: number
}

/** A public key as `/.well-known/jwks.json` shows it (RFC 8037). */
export interface PublicJwk {
  readonly kty: "OKP"
  readonly crv: "Ed25519"
  readonly x: string
  /** Its thumbprint (RFC 7638): equal keys have equal ids on every instance. */
  readonly kid: string
  readonly use: "sig"
  readonly alg: "EdDSA"
}

/** An Ed25519 seed as PKCS #8 begins (RFC 8410). */
const pkcs8Prefix = Buffer.from("302e020100300506032b657004220420", "hex")
const seedBytes = 32

/** The derivation's label: the secret that payors' tickets are signed with is never itself a private key. */
const seedLabel = "tillwire/jwt/ed25519"

interface SigningKey {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  readonly published: PublicJwk
}

const signingKeyOf = ({ key }: DerivedKey): SigningKey => {
  const seed = Buffer.from(hkdfSync("sha256", key, Buffer.alloc(0), seedLabel, seedBytes))
  const privateKey = createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: "der", type: "pkcs8" })
  const publicKey = createPublicKey(privateKey)
  const x = publicKey.export({ format: "jwk" }).x ?? ""
  const kid = createHash("sha256").update(JSON.stringify({ crv: "Ed25519", kty: "OKP", x })).digest("base64url")
  return { privateKey, publicKey, published: { kty: "OKP", crv: "Ed25519", x, kid, use: "sig", alg: "EdDSA" } }
}

const subjectPattern = /^merchant:([1-9]\d{0,9})$/

/** Whether a claim is a count of seconds, not text, a fraction or what JSON reads as infinite. */
const isSeconds = (value: unknown): value is number => Number.isSafeInteger(value)

const claimsOf = (payload: Readonly<Record<string, unknown>>): AccessClaims | undefined => {
  const { exp, iat, sid, sub, wallet } = payload
  const merchant = typeof sub === "string" ? subjectPattern.exec(sub)?.[1] : undefined
  if (merchant === undefined || typeof sid !== "string" || typeof wallet !== "string") return undefined
  if (!isSeconds(exp) || !isSeconds(iat) || exp - iat > accessSeconds) return undefined
  return { merchantId: Number.parseInt(merchant, 10), sessionId: sid, walletId: wallet, expiresAt: exp }
}

/**
 * Makes and checks tokens under keys derived from the master secrets: the newest signs, all that are still configured
 * check, and all are published.
 */
export const makeAccessTokens = Effect.gen(function*() {
  const signingKeys = (yield* Secrets).keys("jwt").map(signingKeyOf)
  const newest = signingKeys[0]!
  const byId = new Map(signingKeys.map((key) => [key.published.kid, key.publicKey]))
  const issuer = (yield* Settings).publicUrl

  /** The public key a header names. Nothing else of the header is looked at: neither `jwk` nor a URL. */
  const keyNamed = (kid: string | undefined): KeyObject => {
    const key = byId.get(kid ?? "")
    if (key === undefined) throw new errors.JWKSNoMatchingKey()
    return key
  }

  /** A new token, good for {@link accessSeconds}. */
  const mint = Effect.fnUntraced(function*({ merchantId, sessionId, walletId }: AccessSubject) {
    const now = yield* nowSeconds
    return yield* Effect.promise(() =>
      new SignJWT({ roles: ["merchant"], sid: sessionId, wallet: walletId })
        .setProtectedHeader({ alg: "EdDSA", typ: tokenType, kid: newest.published.kid })
        .setIssuer(issuer)
        .setAudience(accessAudience)
        .setSubject(`merchant:${merchantId}`)
        .setJti(randomUUID())
        .setIssuedAt(now)
        .setExpirationTime(now + accessSeconds)
        .sign(newest.privateKey)
    )
  })

  /**
   * What a token says. Fails with `TOKEN_EXPIRED`, or with `TOKEN_INVALID` for everything else that is wrong with it.
   */
  const check = Effect.fnUntraced(function*(token: string): Effect.fn.Return<AccessClaims, PublicError> {
    if (token.length > maximumTokenLength) return yield* publicError("TOKEN_INVALID")
    const currentDate = yield* Effect.map(DateTime.now, DateTime.toDateUtc)
    const { payload } = yield* Effect.tryPromise({
      try: () =>
        jwtVerify(token, ({ kid }) => keyNamed(kid), {
          algorithms: ["EdDSA"],
          typ: tokenType,
          audience: accessAudience,
          issuer,
          requiredClaims: ["sub", "jti", "iat", "exp", "sid", "wallet"],
          currentDate
        }),
      catch: (cause) => publicError(cause instanceof errors.JWTExpired ? "TOKEN_EXPIRED" : "TOKEN_INVALID")
    })
    return claimsOf(payload) ?? (yield* publicError("TOKEN_INVALID"))
  })

  return { mint, check, published: signingKeys.map(({ published }) => published) }
})

export type AccessTokens = Effect.Success<typeof makeAccessTokens>
