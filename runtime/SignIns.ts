/**
 * Wallet sign-in: drivers register, each knows how the wallets of its networks sign a text and how that is checked. The
 * module that owns merchants makes the challenge, keeps its nonce, and gives out tokens.
 */
import { Context, Effect, Layer, Schema, type Scope } from "effect"
import type { Family, Network } from "../schemas/Network.ts"

/** What a wallet is asked to sign: everything the message names, decided by us. Times are epoch seconds. */
export interface Challenge {
  /** Canonical form, as {@link SignInDriver.canonicalAddress} gives it. */
  readonly address: string
  readonly network: Network
  /** Chain or network id as the family's standard spells it, e.g. `8453`, `mainnet`. */
  readonly chainId: string
  /** Host of the service's public URL, with its port if it has one. */
  readonly domain: string
  readonly uri: string
  readonly statement: string
  /** 32 hex digits: 16 random bytes. */
  readonly nonce: string
  readonly issuedAt: number
  readonly expiresAt: number
}

/** What comes back. Strings exactly as the caller sent them, each at most 16 KiB; `proof` is unread JSON. */
export interface SignInProof {
  /** Byte for byte the message that was issued: the caller has compared it. */
  readonly message: string
  readonly signature: string
  readonly publicKey: string | null
  readonly proof: Schema.Json | null
}

/** Who signed: the account's identity within its family, however its address is written. */
export interface WalletIdentity {
  readonly family: Family
  /** Canonical address. */
  readonly address: string
  /** Null for an account held by a key; the chain id of one that is a contract (EIP-1271): it exists there only. */
  readonly chainId: string | null
}

/** Something we depend on did not answer: says nothing about the signature, and another try may succeed. */
export class SignInUnavailable extends Schema.TaggedError<SignInUnavailable>()("SignInUnavailable", {
  reason: Schema.String
}) {
  override get message() {
    return this.reason
  }
}

/**
 * Accounts or signatures of this kind cannot sign in here (a multisig, a contract on a network without a node): no
 * other try of the same will. Says nothing about the signature. `reason` is a sentence for the caller.
 */
export class SignInRefused extends Schema.TaggedError<SignInRefused>()("SignInRefused", {
  reason: Schema.String
}) {
  override get message() {
    return this.reason
  }
}

/** How wallets of one family prove who they are. */
export interface SignInDriver {
  /** `siwe`, `siws`, …: unique. */
  readonly name: string
  readonly family: Family
  /**
   * The canonical form of an address of the family; null when it is none (checksums are checked where there are any).
   */
  readonly canonicalAddress: (text: string) => string | null
  /**
   * The accounts, by their canonical addresses, each of which proves by signing in that its holder also has an address.
   * Absent: only the address itself.
   */
  readonly accountsOf?: (address: string) => ReadonlyArray<string>
  /** The family's id of a network in an environment, as its messages name it; null: not one of this family. */
  readonly chainId: (network: Network, environment: "devnet" | "mainnet") => string | null
  /** The text to sign (CAIP-122; EIP-4361 on EVM). Pure. */
  readonly message: (challenge: Challenge) => string
  /**
   * Who signed `proof` over the challenge; null unless the signature, by itself, proves the challenge's address. Never
   * trusts a claimed address or key. At most 3 s. Whether the challenge is still open is the caller's to know.
   */
  readonly verify: (
    challenge: Challenge,
    proof: SignInProof
  ) => Effect.Effect<WalletIdentity | null, SignInRefused | SignInUnavailable>
}

/** Sign-in by wallets. Drivers of families register here. */
export class SignIns extends Context.Service<SignIns, {
  /** Adds a driver for as long as the scope lives. Two of one family are a bug. */
  readonly register: (driver: SignInDriver) => Effect.Effect<void, never, Scope.Scope>
  readonly driver: (family: Family) => SignInDriver | undefined
}>()("tillwire/runtime/SignIns") {}

export const layer: Layer.Layer<SignIns> = Layer.sync(SignIns, () => {
  const drivers = new Map<Family, SignInDriver>()
  return SignIns.of({
    register: (driver) =>
      Effect.acquireRelease(
        drivers.has(driver.family)
          ? Effect.die(new Error(`two sign-in drivers for ${driver.family}: remove one of them from the config`))
          : Effect.sync(() => void drivers.set(driver.family, driver)),
        () => Effect.sync(() => void drivers.delete(driver.family))
      ),
    driver: (family) => drivers.get(family)
  })
})
