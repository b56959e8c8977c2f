/**
 * A passkey authenticator in software (WebAuthn level 3) whose credentials sign by ES256 of node:crypto. It answers as
 * a browser does, and lies on request, so that a test can forge any part of an answer.
 */
import { createHash, createSign, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto"

/** CBOR (RFC 8949), as far as an authenticator writes it. */
type Cbor = number | string | Uint8Array | ReadonlyMap<number | string, Cbor>

const head = (major: number, value: number): Buffer => {
  const first = major << 5
  if (value < 24) return Buffer.of(first | value)
  if (value < 256) return Buffer.of(first | 24, value)
  return Buffer.of(first | 25, value >> 8, value & 255)
}

const cbor = (value: Cbor): Buffer => {
  if (typeof value === "number") return value < 0 ? head(1, -1 - value) : head(0, value)
  if (typeof value === "string") return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value])
  const entries = [...value as ReadonlyMap<number | string, Cbor>]
  return Buffer.concat([head(5, entries.length), ...entries.flatMap(([key, item]) => [cbor(key), cbor(item)])])
}

const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64url")

const sha256 = (bytes: Uint8Array | string): Buffer => createHash("sha256").update(bytes).digest()

export interface Credential {
  readonly id: string
  readonly userHandle: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  counter: number
}

/** Where an answer is given, and what of it is not as it should be. */
export interface Circumstances {
  readonly origin: string
  readonly rpId: string
  readonly challenge: string
  readonly userVerified: boolean
  readonly userPresent: boolean
  readonly type: string
  readonly counter: number
  readonly signer: KeyObject
  readonly userHandle: string
  /** Changes what was signed, after it was signed. */
  readonly tamper: (authenticatorData: Buffer) => Buffer
}

const flagsOf = (userPresent: boolean, userVerified: boolean, hasCredential: boolean): number =>
  (userPresent ? 1 : 0) | (userVerified ? 4 : 0) | (hasCredential ? 64 : 0)

const clientData = (type: string, challenge: string, origin: string): Buffer =>
  Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }))

const authenticatorData = (rpId: string, flags: number, counter: number, more: Uint8Array = Buffer.alloc(0)) => {
  const count = Buffer.alloc(4)
  count.writeUInt32BE(counter)
  return Buffer.concat([sha256(rpId), Buffer.of(flags), count, more])
}

/** The answer of `navigator.credentials.create`, and the credential that it made. */
export const register = (options: any, origin: string, lies: Partial<Circumstances> = {}) => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const id = randomBytes(32)
  const { x, y } = publicKey.export({ format: "jwk" })
  const key = cbor(
    new Map<number, Cbor>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, Buffer.from(x!, "base64url")],
      [-3, Buffer.from(y!, "base64url")]
    ])
  )
  const attested = Buffer.concat([Buffer.alloc(16), Buffer.of(0, id.length), id, key])
  const flags = flagsOf(lies.userPresent ?? true, lies.userVerified ?? true, true)
  const data = authenticatorData(lies.rpId ?? options.rp.id, flags, 0, attested)
  const attestation = cbor(
    new Map<string, Cbor>([["fmt", "none"], ["attStmt", new Map()], ["authData", lies.tamper?.(data) ?? data]])
  )
  const credential: Credential = {
    id: base64url(id),
    userHandle: options.user.id,
    privateKey,
    publicKey,
    counter: 0
  }
  const answer = {
    id: credential.id,
    rawId: credential.id,
    type: "public-key",
    clientExtensionResults: {},
    response: {
      clientDataJSON: base64url(
        clientData(lies.type ?? "webauthn.create", lies.challenge ?? options.challenge, lies.origin ?? origin)
      ),
      attestationObject: base64url(attestation),
      transports: ["internal"]
    }
  }
  return { answer, credential }
}

/** The answer of `navigator.credentials.get`. */
export const assertion = (
  credential: Credential,
  options: any,
  origin: string,
  lies: Partial<Circumstances> = {}
) => {
  const counter = lies.counter ?? ++credential.counter
  const data = authenticatorData(
    lies.rpId ?? options.rpId,
    flagsOf(lies.userPresent ?? true, lies.userVerified ?? true, false),
    counter
  )
  const client = clientData(lies.type ?? "webauthn.get", lies.challenge ?? options.challenge, lies.origin ?? origin)
  const signature = createSign("sha256").update(Buffer.concat([data, sha256(client)]))
    .sign(lies.signer ?? credential.privateKey)
  return {
    id: credential.id,
    rawId: credential.id,
    type: "public-key",
    clientExtensionResults: {},
    response: {
      clientDataJSON: base64url(client),
      authenticatorData: base64url(lies.tamper?.(data) ?? data),
      signature: base64url(signature),
      userHandle: lies.userHandle ?? credential.userHandle
    }
  }
}
