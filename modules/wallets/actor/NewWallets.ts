/** A wallet as its owner gives it: what addresses are derived from, and what is kept of it for ever. */
import { Effect } from "effect"
import type { WalletOwner, WalletRef } from "../../../runtime/Chains.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import type { NewWallet } from "./Calls.ts"
import { valueWrite, type WalletValue } from "../repo.ts"
import { forwarderIn, type ForwarderServices, readForwarder } from "./Forwarders.ts"

export const invalidWallet = (message: string): PublicError =>
  publicError("WALLET_INVALID", { message, param: "value" })

/** Reads the wallet, and asks its chain where that can tell. */
export const readNew = Effect.fnUntraced(function*(
  services: ForwarderServices,
  owner: WalletOwner,
  { kind, value }: NewWallet
): Effect.fn.Return<WalletRef, PublicError> {
  const { chains, reader } = services
  const found = kind === "forwarder"
    ? yield* readForwarder(services, owner, value)
    : yield* reader.read(owner, kind, value)
  if (found === null) {
    return yield* publicError("UNSUPPORTED_NETWORK", {
      message: `No driver of the ${owner.family} family runs for ${owner.environment} here`,
      param: "family"
    })
  }
  if (typeof found === "string") return yield* invalidWallet(found)
  const doubt = yield* chains.verifyWallet(owner, found)
  return doubt === null ? found : yield* invalidWallet(doubt)
})

/** What is kept of a wallet that is set at `createdAt`. */
export const keepValue = Effect.fnUntraced(function*(
  { chains, repo }: ForwarderServices,
  owner: WalletOwner,
  wallet: WalletRef,
  given: NewWallet,
  createdAt: number
) {
  const { fingerprint } = wallet
  const forwarder = forwarderIn(wallet)
  const earlier = yield* repo.value(fingerprint)
  // The same wallet may be written in another way.
  const value = forwarder?.payee ?? given.value
  const seed = forwarder?.seed ?? null
  const facts = forwarder === null ? null : yield* chains.forwarderFacts(owner, forwarder.payee)
  const record: WalletValue = earlier ?? {
    ...owner,
    fingerprint,
    version: 1,
    kind: given.kind,
    value,
    seed,
    isPayeeContract: facts === null ? null : [...facts.values()].some((each) => each?.isPayeeContract === true),
    recoveryConfirmedAt: null,
    createdAt
  }
  return {
    value,
    seed,
    writes: earlier === null ? [valueWrite(record)] : []
  }
})
