/** Wallets of kind `forwarder`: the seed of one, who may be its payee, and how it is recovered. */
import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import type { Chains, Forwarder, WalletOwner, WalletRef } from "../../../runtime/Chains.ts"
import type { TokenCatalog } from "../../../runtime/TokenCatalog.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { readAddress } from "../../../schemas/Address.ts"
import { familyOf, familyRecord, networks } from "../../../schemas/Network.ts"
import type { ForwarderProof, ForwarderRecovery } from "../../../schemas/Wallet.ts"
import type { makeRepo, WalletValue } from "../repo.ts"
import { recoveryDocument } from "../rules/Recovery.ts"
import type { WalletReader } from "./WalletReader.ts"

const seedLength = 32

export const forwarderIn = (wallet: WalletRef | string | null): Forwarder | null =>
  wallet !== null && typeof wallet !== "string" && wallet._tag === "IndexedWallet" ? wallet.forwarder ?? null : null

export interface ForwarderServices {
  readonly chains: Chains["Service"]
  readonly catalog: TokenCatalog["Service"]
  readonly repo: Effect.Success<typeof makeRepo>
  readonly reader: WalletReader
  /** Whether the operator allows them where money is real. */
  readonly isOnMainnet: boolean
}

const refuse = (message: string) => publicError("WALLET_INVALID", { message, param: "value" })

/** A payee whose money nobody could move, or that would be paid by itself. */
const checkPayee = Effect.fnUntraced(function*(
  { catalog, chains }: ForwarderServices,
  owner: WalletOwner,
  payee: string
): Effect.fn.Return<void, PublicError> {
  const ofFamily = catalog.list(owner.environment).filter(({ network }) => familyOf(network) === owner.family)
  if (ofFamily.some(({ address }) => address?.toLowerCase() === payee.toLowerCase())) {
    return yield* refuse("this is a token's own address, from which nobody could take the money: give your wallet's")
  }
  const facts = yield* chains.forwarderFacts(owner, payee)
  const unanswered = [...facts].filter(([, each]) => each === null).map(([each]) => each)
  if (unanswered.length > 0) {
    return yield* publicError("NETWORK_DEGRADED", {
      message: `${
        unanswered.join(", ")
      } does not answer, so nobody can say whether this address can be paid there: try again`,
      retryAfterSeconds: 15
    })
  }
})

/**
 * A wallet that pays to `payee`: the one that was set before for the same payee, else one of a new seed. Answers what
 * the driver says of the payee where it is none.
 */
export const readForwarder = Effect.fnUntraced(function*(
  services: ForwarderServices,
  owner: WalletOwner,
  payee: string
): Effect.fn.Return<WalletRef | string | null, PublicError> {
  if (owner.environment === "mainnet" && !services.isOnMainnet) {
    return yield* publicError("WALLET_INVALID", {
      message:
        "kind: forwarders are for devnet until somebody outside has reviewed their contracts. An operator who has " +
        "had them reviewed may set mainnetForwarders in the options of the module wallets",
      param: "kind"
    })
  }
  const { chains, reader, repo } = services
  const seed = yield* Effect.sync(() => randomBytes(seedLength).toString("hex"))
  // Not by the reader, which would remember a wallet that may never be set.
  const newWallet = yield* chains.readWallet(owner, "forwarder", payee, seed)
  const forwarder = forwarderIn(newWallet)
  if (forwarder === null) return newWallet
  yield* checkPayee(services, owner, forwarder.payee)
  const earlier = (yield* repo.forwarders(owner)).find(({ value }) => value === forwarder.payee)
  return yield* reader.read(owner, "forwarder", forwarder.payee, earlier?.seed ?? seed)
})

/** A wallet that was ever set, as addresses are derived from it. */
export const readValue = ({ reader }: Pick<ForwarderServices, "reader">, record: WalletValue) =>
  Effect.map(
    reader.read(record, record.kind, record.value, record.seed ?? undefined),
    (found) => typeof found === "string" ? null : found
  )

/** An owner's recovery documents, that of the wallet which receives now first. */
export const recoveriesOf = Effect.fnUntraced(function*(
  services: Pick<ForwarderServices, "chains" | "reader" | "repo">,
  owner: WalletOwner
): Effect.fn.Return<ReadonlyArray<ForwarderRecovery>> {
  const { chains, repo } = services
  const { wallet } = yield* repo.find(owner)
  const records = yield* repo.forwarders(owner)
  const documents = yield* Effect.forEach(
    records,
    Effect.fnUntraced(function*(each) {
      const forwarder = forwarderIn(yield* readValue(services, each))
      if (forwarder === null) return []
      const { nextIndex } = yield* chains.walletUse(each.fingerprint)
      return [recoveryDocument({
        forwarder,
        nextIndex: nextIndex ?? 0,
        isCurrent: wallet?.kind === "forwarder" && wallet.seed === each.seed,
        recoveryConfirmedAt: each.recoveryConfirmedAt,
        createdAt: each.createdAt
      })]
    })
  )
  return documents.flat().toSorted((one, other) => Number(other.is_current) - Number(one.is_current))
})

/** What shows that an address which an owner's invoice was given pays to the payee. */
export const proofOf = Effect.fnUntraced(function*(
  services: Pick<ForwarderServices, "chains">,
  owner: WalletOwner,
  text: string
): Effect.fn.Return<ForwarderProof, PublicError> {
  const network = networks.find((each) => familyOf(each) === owner.family)!
  const address = readAddress(network, owner.environment, text.trim())
  if (address === null) {
    return yield* publicError("VALIDATION_ERROR", {
      message: "address: this is not an address of the family with a right checksum",
      param: "address"
    })
  }
  const proof = yield* services.chains.forwarderProof(owner, address)
  return proof ?? (yield* publicError("NOT_FOUND", {
    message: "No invoice of yours was given this address of a forwarder"
  }))
})

/**
 * Makes the payee its owner's, as an address is that invoices share: what is collected would else be credited to an
 * invoice that was given this address. False: somebody is paid there already.
 */
export const claimPayee = Effect.fnUntraced(function*(
  { chains }: Pick<ForwarderServices, "chains">,
  owner: WalletOwner,
  wallet: WalletRef
): Effect.fn.Return<boolean, PublicError> {
  const forwarder = forwarderIn(wallet)
  if (forwarder === null) return true
  const { fingerprint } = wallet
  const { payee } = forwarder
  const conflict = yield* chains.claimAddresses(owner, "address", {
    _tag: "SharedWallet",
    fingerprint,
    address: payee,
    accountKey: familyRecord(owner.family).accountKey(payee),
    targetOf: () => ({ address: payee, matchKey: payee, memo: null })
  })
  return conflict === null
})
