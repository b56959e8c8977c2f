/** Who is calling: credentials as they look, and what they entitle to. */
import { Schema } from "effect"
import { KeyId, MerchantId } from "./Ids.ts"
import { Environment } from "./Network.ts"

/** `merchant` keys see the whole account; `commerce` keys only commerce records of their environment (contract §5). */
export const KeyScope = Schema.Literals(["merchant", "commerce"])
export type KeyScope = typeof KeyScope.Type

/** The merchant on whose behalf a request is made, and through which key. */
export const Principal = Schema.Struct({
  merchantId: MerchantId,
  environment: Environment,
  scope: KeyScope,
  keyId: KeyId
})
export type Principal = typeof Principal.Type

/** `mk_live_` / `mk_dev_` merchant, `ck_live_` / `ck_dev_` commerce, 32 base62 characters, 6 of CRC32. */
export const apiKeyPattern = /^(mk|ck)_(live|dev)_[0-9A-Za-z]{32}[0-9A-Za-z]{6}$/

/** First part of a key: tells its scope and environment, and lets secret scanners find it. */
export const apiKeyPrefix = (scope: KeyScope, environment: Environment): string =>
  `${scope === "merchant" ? "mk" : "ck"}_${environment === "mainnet" ? "live" : "dev"}_`
