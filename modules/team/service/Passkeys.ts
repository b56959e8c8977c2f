/**
 * Passkeys (WebAuthn level 3): what a browser is asked for, and what its answers prove. The verifier is a library that
 * is loaded at the first answer: it takes half a second and 19 MB.
 */
import type { AuthenticationResponseJSON, RegistrationResponseJSON, WebAuthnCredential } from "@simplewebauthn/server"
import { Effect, Schema } from "effect"
import { createHash, randomBytes } from "node:crypto"
import { nowSeconds } from "../../../runtime/Clock.ts"
import { systemMerchant } from "../../../runtime/Commit.ts"
import { uuidOf } from "../../../runtime/Uuid.ts"
import { challengeRandomBytes } from "../../../schemas/Challenge.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { answerWrite, passkeyWrite, sessionWrite } from "../repo.ts"
import { maximumPasskeys, moneyFromOfCredential, type PasskeyState, refreshSession, usePasskey } from "../rules.ts"
import {
  type ChallengePurpose,
  challengeSeconds,
  formChallenge,
  readChallenge,
  type RelyingParty,
  relyingPartyOf
} from "../rules/RelyingParty.ts"
import { waitFactsOf } from "./People.ts"
import { newTokens, type OpenedSession, openSession, requireOpen, sessionView, type TeamSession } from "./Sessions.ts"
import {
  append,
  decideInTurn,
  hashesOf,
  hashOf,
  personActWrites,
  servesMainnet,
  type TeamContext
} from "./TeamContext.ts"

/** COSE names of the signatures that are taken: EdDSA, ES256, RS256. */
const algorithms = [-8, -7, -257]

/** The COSE number of secp256r1, the only curve of ES256 in JOSE (RFC 7518, 3.4). */
const curveP256 = 1

/** Characters of one text in an answer, at most; what authenticators make is far shorter. */
const maximumText = 16_384

const Text = Schema.String.check(Schema.isMaxLength(maximumText))

const common = {
  id: Text,
  rawId: Text,
  type: Schema.Literal("public-key"),
  clientExtensionResults: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)),
  authenticatorAttachment: Schema.optionalKey(Schema.NullOr(Schema.String))
}

const Registration = Schema.Struct({
  ...common,
  response: Schema.Struct({
    clientDataJSON: Text,
    attestationObject: Text,
    transports: Schema.optionalKey(
      Schema.Array(Schema.String.check(Schema.isMaxLength(32))).check(
        Schema.isMaxLength(10)
      )
    )
  })
})

const Assertion = Schema.Struct({
  ...common,
  response: Schema.Struct({
    clientDataJSON: Text,
    authenticatorData: Text,
    signature: Text,
    userHandle: Schema.optionalKey(Schema.NullOr(Text))
  })
})

const refused = (message: string) => publicError("SIGNATURE_INVALID", { message })

const unreadable = refused("This is not what a browser answers for a passkey")

const unproved = refused("The passkey does not prove who you are: try again")

/** `reflect-metadata` first: in a bundle a package of the other one would else run before it, and fail. */
const load = <A>(part: () => Promise<A>) =>
  Effect.tryPromise({ try: () => import("reflect-metadata").then(part), catch: (cause) => cause }).pipe(
    Effect.tapError((cause) => Effect.logError("the library that checks passkeys did not load", cause)),
    Effect.mapError(() =>
      publicError("SERVICE_UNAVAILABLE", {
        message: "Passkeys cannot be checked now, and the operator's log says why: sign in by a link meanwhile"
      })
    )
  )

const library = load(() => import("@simplewebauthn/server"))

const helpers = load(() => import("@simplewebauthn/server/helpers"))

export const partyOf = ({ settings }: TeamContext): RelyingParty => relyingPartyOf(settings.publicUrl)

/** What a challenge is bound to beside its time. */
interface ChallengeUse {
  readonly purpose: ChallengePurpose
  /** The session it is for; empty for a sign-in. */
  readonly session: string
}

const boundTo = ({ purpose, session }: ChallengeUse) => (head: string) => `${purpose} ${session} ${head}`

const newChallenge = Effect.fnUntraced(function*(context: TeamContext, use: ChallengeUse) {
  const expiresAt = (yield* nowSeconds) + challengeSeconds
  const random = yield* Effect.sync(() => randomBytes(challengeRandomBytes))
  return formChallenge(random, expiresAt, (head) => hashOf(context, "challenge", boundTo(use)(head)))
})

/** The challenge in what a browser signed, which the verifier compares again with what was signed. */
const challengeIn = (clientDataJSON: string): string | undefined => {
  const parsed = Schema.decodeUnknownOption(
    Schema.fromJsonString(Schema.Struct({ challenge: Schema.String }))
  )(Buffer.from(clientDataJSON, "base64url").toString("utf8"))
  return parsed._tag === "Some" ? parsed.value.challenge : undefined
}

/** A challenge that was made here for one of these uses and is open, and the row that uses it up. */
const requireChallenge = Effect.fnUntraced(function*(
  context: TeamContext,
  clientDataJSON: string,
  uses: ReadonlyArray<ChallengeUse>
) {
  const challenge = challengeIn(clientDataJSON)
  const hashesOfHead = (head: string) => uses.flatMap((use) => hashesOf(context, "challenge", boundTo(use)(head)))
  const expiresAt = challenge === undefined ? undefined : readChallenge(challenge, hashesOfHead)
  const now = yield* nowSeconds
  if (challenge === undefined || expiresAt === undefined || now >= expiresAt) {
    return yield* publicError("NONCE_INVALID", { message: "This answer is to no question of ours, or too late" })
  }
  const id = createHash("sha256").update(challenge).digest("hex")
  if (yield* context.repo.isAnswered(id)) {
    return yield* publicError("NONCE_INVALID", { message: "This answer was given before: ask anew" })
  }
  return { challenge, write: answerWrite(id, expiresAt) }
})

const requestFor = (
  context: TeamContext,
  challenge: string,
  allowed: ReadonlyArray<PasskeyState>
): Schema.Json => ({
  challenge,
  rpId: partyOf(context).id,
  timeout: challengeSeconds * 1000,
  userVerification: "required",
  allowCredentials: allowed.map(({ credentialId, transports }) => ({
    id: credentialId,
    type: "public-key",
    transports: [...transports]
  }))
})

const requestOptions = (context: TeamContext, use: ChallengeUse, allowed: ReadonlyArray<PasskeyState>) =>
  Effect.map(newChallenge(context, use), (challenge) => requestFor(context, challenge, allowed))

const forSignIn: ChallengeUse = { purpose: "sign-in", session: "" }

/** What a browser is asked to sign somebody in with: any passkey that it has for this service. */
export const signInOptions = (context: TeamContext) => requestOptions(context, forSignIn, [])

/** The same within a session: one of its person's. */
export const refreshOptions = Effect.fnUntraced(function*(context: TeamContext, session: TeamSession) {
  const passkeys = yield* context.repo.passkeysOf(session.person)
  return yield* requestOptions(context, { purpose: "refresh", session: session.id }, passkeys)
})

/** What a browser is asked to make a new passkey with. */
export const registrationOptions = Effect.fnUntraced(function*(context: TeamContext, session: TeamSession) {
  const passkeys = yield* context.repo.passkeysOf(session.person)
  const person = yield* context.repo.person(session.person)
  const name = person?.email ?? session.name
  const options: Schema.Json = {
    challenge: yield* newChallenge(context, { purpose: "register", session: session.id }),
    rp: { id: partyOf(context).id, name: "Tillwire" },
    user: { id: Buffer.from(session.person).toString("base64url"), name, displayName: session.name },
    pubKeyCredParams: algorithms.map((alg) => ({ type: "public-key", alg })),
    timeout: challengeSeconds * 1000,
    attestation: "none",
    excludeCredentials: passkeys.map(({ credentialId, transports }) => ({
      id: credentialId,
      type: "public-key",
      transports: [...transports]
    })),
    authenticatorSelection: { residentKey: "required", requireResidentKey: true, userVerification: "required" }
  }
  return options
})

export const passkeyIdOf = (credentialId: string): string => `tpk_${uuidOf(`passkey ${credentialId}`)}`

const credentialOf = (passkey: PasskeyState): WebAuthnCredential => ({
  id: passkey.credentialId,
  publicKey: new Uint8Array(Buffer.from(passkey.publicKey, "base64url")),
  counter: passkey.counter,
  transports: [...passkey.transports]
})

/** An answer that a passkey which is good gave to `challenge`, and the passkey as it is after it. */
const checkAssertion = Effect.fnUntraced(
  function*(context: TeamContext, answer: typeof Assertion.Type, challenge: string) {
    const passkey = yield* context.repo.passkey(passkeyIdOf(answer.id))
    if (passkey?.status !== "active" || passkey.credentialId !== answer.id) {
      return yield* refused("This passkey is unknown here, or was removed")
    }
    const handle = answer.response.userHandle
    if (typeof handle === "string" && handle !== "" && handle !== Buffer.from(passkey.person).toString("base64url")) {
      return yield* unproved
    }
    const { verifyAuthenticationResponse } = yield* library
    const party = partyOf(context)
    const result = yield* Effect.tryPromise({
      try: () =>
        verifyAuthenticationResponse({
          response: { ...answer, clientExtensionResults: {} } as unknown as AuthenticationResponseJSON,
          expectedChallenge: challenge,
          expectedOrigin: party.origin,
          expectedRPID: party.id,
          credential: credentialOf(passkey),
          requireUserVerification: true
        }),
      catch: () => unproved
    })
    if (!result.verified) return yield* unproved
    return usePasskey(passkey, result.authenticationInfo.newCounter, yield* nowSeconds)
  }
)

const readAssertion = (input: unknown) =>
  Effect.mapError(Schema.decodeUnknownEffect(Assertion)(input), () => unreadable)

/** The passkey that answered, as it is after it, and the rows that note it. */
const proveAssertion = Effect.fnUntraced(
  function*(context: TeamContext, input: unknown, ...uses: ReadonlyArray<ChallengeUse>) {
    const answer = yield* readAssertion(input)
    const { challenge, write } = yield* requireChallenge(context, answer.response.clientDataJSON, uses)
    const used = yield* checkAssertion(context, answer, challenge)
    return { passkey: used, writes: [write, passkeyWrite(used)] }
  }
)

/** What a browser is asked for to answer `challenge` by a passkey of a person; null: the person has none. */
export const signingOptions = (context: TeamContext, person: string, challenge: string) =>
  Effect.map(
    context.repo.passkeysOf(person),
    (passkeys) => passkeys.length === 0 ? null : requestFor(context, challenge, passkeys)
  )

/** The answer of a passkey of a person to `challenge`, which is used up elsewhere; and the passkey after it. */
export const proveSigning = Effect.fnUntraced(
  function*(context: TeamContext, person: string, challenge: string, input: unknown) {
    const answer = yield* readAssertion(input)
    const passkey = yield* checkAssertion(context, answer, challenge)
    return passkey.person === person ? { answer: answer.response, passkey } : yield* unproved
  }
)

/** The rows that note the use of a passkey as it is now; `SIGNATURE_INVALID` where it was removed meanwhile. */
export const noteSigning = Effect.fnUntraced(function*(context: TeamContext, { counter, id }: PasskeyState) {
  const passkey = yield* context.repo.passkey(id)
  if (passkey?.status !== "active") return yield* refused("This passkey was removed")
  return [passkeyWrite(usePasskey(passkey, Math.max(passkey.counter, counter), yield* nowSeconds))]
})

/** A public key as browsers and libraries read it: a JSON Web Key (RFC 7517, RFC 8037). */
export const publicKeyOf = Effect.fnUntraced(function*({ publicKey }: PasskeyState) {
  const { cose, decodeCredentialPublicKey } = yield* helpers
  const key = decodeCredentialPublicKey(new Uint8Array(Buffer.from(publicKey, "base64url")))
  const text = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString("base64url")
  const jwk: Readonly<Record<string, Schema.Json>> = cose.isCOSEPublicKeyOKP(key)
    ? { kty: "OKP", crv: "Ed25519", x: text(key.get(cose.COSEKEYS.x)) }
    : cose.isCOSEPublicKeyRSA(key)
    ? { kty: "RSA", n: text(key.get(cose.COSEKEYS.n)), e: text(key.get(cose.COSEKEYS.e)) }
    : cose.isCOSEPublicKeyEC2(key) && key.get(cose.COSEKEYS.crv) === curveP256
    ? {
      kty: "EC",
      crv: "P-256",
      x: text(key.get(cose.COSEKEYS.x)),
      y: text(key.get(cose.COSEKEYS.y))
    }
    : yield* unproved
  return jwk
})

/** By which the answers of one passkey are taken one after the other; an answer without it is refused anyway. */
const answeringCredential = (answer: unknown): string => {
  const id: unknown = (answer as { readonly id?: unknown } | null)?.id
  return typeof id === "string" ? id.slice(0, 1_024) : ""
}

export const signInByPasskey = (context: TeamContext, answer: unknown) =>
  decideInTurn(
    context,
    "token",
    `passkey ${answeringCredential(answer)}`,
    Effect.gen(function*() {
      const { passkey, writes } = yield* proveAssertion(context, answer, forSignIn)
      return yield* openSession(context, {
        person: passkey.person,
        method: "passkey",
        passkey: passkey.id,
        moneyFrom: Math.max(passkey.moneyFrom, yield* nowSeconds),
        writes
      })
    })
  )

/**
 * A fresh authentication within a session: both tokens change. It takes the answer to a question of its own, and to one
 * for a sign-in.
 */
export const refreshByPasskey = (context: TeamContext, { id, person }: TeamSession, answer: unknown) =>
  decideInTurn(
    context,
    "person",
    person,
    Effect.gen(function*() {
      const before = yield* requireOpen(context, id)
      const { passkey, writes } = yield* proveAssertion(
        context,
        answer,
        { purpose: "refresh", session: id },
        forSignIn
      )
      if (passkey.person !== before.person) return yield* unproved
      const owner = yield* context.repo.person(before.person)
      if (owner === undefined) return yield* publicError("TOKEN_INVALID")
      const { hashes, tokens } = yield* newTokens(context)
      const now = yield* nowSeconds
      const session = refreshSession(before, hashes, passkey, now)
      yield* append(context, systemMerchant, [...writes, sessionWrite(session)])
      const opened: OpenedSession = { session: sessionView(session, owner), ...tokens }
      return opened
    })
  )

/** What a browser made, if it proves a new passkey. */
const proveRegistration = Effect.fnUntraced(function*(context: TeamContext, input: unknown, use: ChallengeUse) {
  const answer = yield* Effect.mapError(Schema.decodeUnknownEffect(Registration)(input), () => unreadable)
  const { challenge, write } = yield* requireChallenge(context, answer.response.clientDataJSON, [use])
  const { verifyRegistrationResponse } = yield* library
  const party = partyOf(context)
  const result = yield* Effect.tryPromise({
    try: () =>
      verifyRegistrationResponse({
        response: { ...answer, clientExtensionResults: {} } as unknown as RegistrationResponseJSON,
        expectedChallenge: challenge,
        expectedOrigin: party.origin,
        expectedRPID: party.id,
        requireUserVerification: true,
        supportedAlgorithmIDs: algorithms
      }),
    catch: () => unproved
  })
  return result.verified ? { ...result.registrationInfo.credential, write, answer } : yield* unproved
})

/** Adds a passkey to a session's person. It waits as long as the session does, and a day more where others wait. */
export const addPasskey = (context: TeamContext, { id, person }: TeamSession, name: string, answer: unknown) =>
  decideInTurn(
    context,
    "person",
    person,
    Effect.gen(function*() {
      const session = yield* requireOpen(context, id)
      const made = yield* proveRegistration(context, answer, { purpose: "register", session: id })
      const now = yield* nowSeconds
      if (servesMainnet(context) && now >= session.freshUntil) return yield* publicError("FRESH_PROOF_REQUIRED")
      const passkeyId = passkeyIdOf(made.id)
      const before = yield* context.repo.passkey(passkeyId)
      if (before?.status === "active") {
        return yield* publicError("INVALID_TRANSITION", { message: "This passkey signs somebody in already" })
      }
      if ((yield* context.repo.passkeysOf(person)).length >= maximumPasskeys) {
        return yield* publicError("INVALID_TRANSITION", { message: "A person may have 20 passkeys: remove one first" })
      }
      const passkey: PasskeyState = {
        id: passkeyId,
        person: session.person,
        name,
        credentialId: made.id,
        publicKey: Buffer.from(made.publicKey).toString("base64url"),
        counter: made.counter,
        transports: [...made.answer.response.transports ?? []],
        status: "active",
        moneyFrom: moneyFromOfCredential(yield* waitFactsOf(context, person), session.moneyFrom, now),
        createdAt: now,
        lastUsedAt: null,
        version: (before?.version ?? 0) + 1
      }
      const entries = yield* personActWrites(context, person, {
        action: "passkey.add",
        subject: { object: "passkey", id: passkeyId },
        before: {},
        after: { money_from: passkey.moneyFrom },
        requestId: null
      })
      yield* append(context, systemMerchant, [made.write, passkeyWrite(passkey), ...entries])
      return passkey
    })
  )
