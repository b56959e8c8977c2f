/**
 * How people sign a text by credentials of their own, so that anybody can check later who signed what. Modules that
 * keep credentials register; whoever asks decides what the text says and how often it may be signed.
 */
import { Context, Effect, Layer, type Schema, type Scope } from "effect"
import type { ApprovalAnswer, ApprovalSignature } from "../schemas/Approval.ts"
import { type PublicError, publicError } from "../schemas/Errors.ts"
import type { Family } from "../schemas/Network.ts"
import type { Write } from "./Commit.ts"
import { single } from "./Registry.ts"

/** A text, and the person of a merchant who is to sign it. */
export interface TextToSign {
  readonly merchantId: number
  /** As `Member.person` of runtime/Members.ts. */
  readonly person: string
  readonly text: string
}

/** A signature that was checked. */
export interface TextSignature {
  /** Everything that it takes to check it anew without this service. */
  readonly signature: ApprovalSignature
  /** Epoch seconds from which on its credential may move money on mainnet. */
  readonly moneyFrom: number
  /**
   * The rows that note its use, to be made in the commit of what was signed. Errors: `SIGNATURE_INVALID` where the
   * credential was removed meanwhile.
   */
  readonly use: Effect.Effect<ReadonlyArray<Write>, PublicError>
}

export interface PasskeySigner {
  /** `PublicKeyCredentialRequestOptionsJSON` of this text; null: the person has no passkey. */
  readonly options: (request: TextToSign) => Effect.Effect<Schema.Json | null>
  /** Errors: `SIGNATURE_INVALID`, `SERVICE_UNAVAILABLE`. */
  readonly verify: (request: TextToSign, answer: Schema.Json) => Effect.Effect<TextSignature, PublicError>
}

/** A wallet of a person, as it is asked to sign. */
export interface SigningWallet {
  readonly family: Family
  readonly address: string
  /** Null for an account held by a key; the chain of one that is a contract. */
  readonly chain_id: string | null
}

export interface WalletSigner {
  readonly wallets: (request: TextToSign) => Effect.Effect<ReadonlyArray<SigningWallet>>
  /** Errors: `SIGNATURE_INVALID`, `NETWORK_DEGRADED`. */
  readonly verify: (
    request: TextToSign,
    answer: NonNullable<ApprovalAnswer["wallet"]>
  ) => Effect.Effect<TextSignature, PublicError>
}

interface Signers {
  readonly passkeys: PasskeySigner
  readonly wallets: WalletSigner
}

export class TextSigners extends Context.Service<
  TextSigners,
  Signers & {
    /** For as long as the scope lives; one of each in a deployment. */
    readonly registerPasskeys: (signer: PasskeySigner) => Effect.Effect<void, never, Scope.Scope>
    readonly registerWallets: (signer: WalletSigner) => Effect.Effect<void, never, Scope.Scope>
  }
>()("tillwire/runtime/TextSigners") {}

const noPasskeys: PasskeySigner = {
  options: () => Effect.succeed(null),
  verify: () => publicError("SIGNATURE_INVALID", { message: "Nobody has passkeys in this deployment" })
}

const noWallets: WalletSigner = {
  wallets: () => Effect.succeed([]),
  verify: () => publicError("SIGNATURE_INVALID", { message: "No wallets sign in to this deployment" })
}

const taken = (kind: string): string => `two modules keep ${kind} of people: name one of them in the config file`

export const layer: Layer.Layer<TextSigners> = Layer.sync(TextSigners, () => {
  const passkeys = single<PasskeySigner>(taken("passkeys"))
  const wallets = single<WalletSigner>(taken("wallets"))
  return TextSigners.of({
    passkeys: {
      options: (request) => Effect.suspend(() => (passkeys.current() ?? noPasskeys).options(request)),
      verify: (request, answer) => Effect.suspend(() => (passkeys.current() ?? noPasskeys).verify(request, answer))
    },
    wallets: {
      wallets: (request) => Effect.suspend(() => (wallets.current() ?? noWallets).wallets(request)),
      verify: (request, answer) => Effect.suspend(() => (wallets.current() ?? noWallets).verify(request, answer))
    },
    registerPasskeys: passkeys.register,
    registerWallets: wallets.register
  })
})
