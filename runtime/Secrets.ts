/** Keys for every purpose, all derived from the master secrets (modules/docs/reference/conventions.md#secrets). */
import { Context } from "effect"
import type { KeyObject } from "node:crypto"

/** One purpose, one HKDF label: a key for one is useless for another. */
export type SecretLabel = "session" | "pepper" | "webhook" | "jwt" | "reply"

/** A derived 32-byte key; `id` (0 to 255, a hash of the master) tells which master it came from. */
export interface DerivedKey {
  readonly id: number
  /** A key object, not bytes: handing raw bytes to node:crypto anew each time costs three to seven times the work. */
  readonly key: KeyObject
}

export class Secrets extends Context.Service<Secrets, {
  /** Newest first: the first one makes, all of them check. Never empty. */
  readonly keys: (label: SecretLabel) => readonly [DerivedKey, ...ReadonlyArray<DerivedKey>]
  /** AES-256-GCM under the newest key of `label`: key id, nonce, tag and ciphertext in base64. */
  readonly seal: (label: SecretLabel, plain: string) => string
  /** Opens what {@link seal} made under any master still configured; `undefined` if none fits or it was altered. */
  readonly open: (label: SecretLabel, sealed: string) => string | undefined
}>()("tillwire/runtime/Secrets") {}
