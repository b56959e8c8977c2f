/** Load, decide, commit: how a merchant's receiving wallets change, and which one receives now. */
import { Context, Effect, Layer } from "effect"
import { nowSeconds } from "../../runtime/Clock.ts"
import { Actors } from "../../runtime/Actors.ts"
import { AuditLog } from "../../runtime/AuditLog.ts"
import { Chains, type WalletOwner } from "../../runtime/Chains.ts"
import { Commit, decideAnew, type IdempotentReplay, type Write } from "../../runtime/Commit.ts"
import { sha256 } from "../../runtime/http/CanonicalJson.ts"
import { uuidV7 } from "../../runtime/Uuid.ts"
import { PublicError, publicError } from "../../schemas/Errors.ts"
import type { Environment } from "../../schemas/Network.ts"
import type { ConfirmedForwarder, ForwarderProof, ForwarderRecovery, ReceivingWallet } from "../../schemas/Wallet.ts"
import { TokenCatalog } from "../../runtime/TokenCatalog.ts"
import type { NewWallet, WalletCall } from "./actor/Calls.ts"
import { makeActiveWallets } from "./actor/ActiveWallets.ts"
import { claimPayee, forwarderIn, type ForwarderServices, proofOf, recoveriesOf } from "./actor/Forwarders.ts"
import { confirmRecovery } from "./actor/RecoveryConfirmation.ts"
import { makeWalletRecords } from "./actor/WalletRecords.ts"
import { invalidWallet, keepValue, readNew } from "./actor/NewWallets.ts"
import { makeWalletReader } from "./actor/WalletReader.ts"
import { watchWallets } from "./actor/WalletWatch.ts"
import {
  conflictMessage,
  firstAddresses,
  type OwnedWallet,
  startIndexOf,
  startingAt,
  walletActOf,
  walletObject,
  type WalletState
} from "./rules.ts"
import { makeRepo, type WalletRow, walletWrite } from "./repo.ts"

/** It does not tell whose invoices. */
const payeeInUseMessage =
  "this is an address that invoices are paid to here, and what is collected to it would pay one: give another of yours"

/** It does not tell who uses the wallet. */
const walletInUseMessage =
  "this wallet is already in use in this deployment: give the key of another account, or another list of addresses"

export class Wallets extends Context.Service<Wallets, {
  readonly list: (merchantId: number, environment: Environment) => Effect.Effect<ReadonlyArray<ReceivingWallet>>
  /**
   * Makes a wallet the one that later invoices are paid to; those that have an address keep it. Errors:
   * `UNSUPPORTED_NETWORK` where no driver of the family runs, `WALLET_INVALID`, also for a wallet in which another
   * merchant or the deployment itself receives, in either environment, or that names one address of theirs,
   * `VALIDATION_ERROR` for `start_index`.
   */
  readonly put: (
    owner: WalletOwner,
    newWallet: NewWallet,
    call: WalletCall<ReceivingWallet>
  ) => Effect.Effect<ReceivingWallet, PublicError | IdempotentReplay>
  /** The recovery documents of an owner's forwarders, that of the one which receives now first. */
  readonly recoveries: (owner: WalletOwner) => Effect.Effect<ReadonlyArray<ForwarderRecovery>>
  /** What shows that an address of a forwarder pays to its payee. `NOT_FOUND` where it is none of the owner's. */
  readonly proof: (owner: WalletOwner, address: string) => Effect.Effect<ForwarderProof, PublicError>
  /**
   * Takes the checksum of a recovery document, which only who has the document can name: from then on the forwarder
   * gives out addresses where money is real. Errors: `VALIDATION_ERROR` where it is the checksum of none of the
   * owner's.
   */
  readonly confirmRecovery: (
    owner: WalletOwner,
    checksum: string,
    call: WalletCall<ConfirmedForwarder>
  ) => Effect.Effect<ConfirmedForwarder, PublicError | IdempotentReplay>
  /** From then on the deployment's own wallet receives, if there is one. `NOT_FOUND` where there is none to remove. */
  readonly remove: (owner: WalletOwner, call: WalletCall<void>) => Effect.Effect<
    void,
    PublicError | IdempotentReplay
  >
}>()("tillwire/modules/wallets/Wallets") {}

export interface WalletOptions {
  /** See {@link ForwarderServices.isOnMainnet}. */
  readonly mainnetForwarders: boolean
}

export const walletsLayer = ({ mainnetForwarders }: WalletOptions) =>
  Layer.effect(
    Wallets,
    Effect.gen(function*() {
      const actors = yield* Actors
      const auditLog = yield* AuditLog
      const chains = yield* Chains
      const commit = yield* Commit
      const repo = yield* makeRepo
      const reader = yield* makeWalletReader
      const forwarders: ForwarderServices = {
        chains,
        catalog: yield* TokenCatalog,
        repo,
        reader,
        isOnMainnet: mainnetForwarders
      }
      const walletRecords = yield* makeWalletRecords({ repo, reader })
      const activeWallets = yield* makeActiveWallets(reader)

      const bodyOf = (ownedWallet: OwnedWallet) =>
        Effect.flatMap(reader.readStored(ownedWallet), (ref) => {
          if (ref === null) {
            return Effect.succeed(
              walletObject(ownedWallet, [], { nextIndex: null, highestUsedIndex: null, addressesLeft: null })
            )
          }
          const addresses = firstAddresses(ref)
          return Effect.zipWith(
            chains.walletUse(ref.fingerprint),
            chains.addressesLeft(ref),
            (use, addressesLeft) => walletObject(ownedWallet, addresses, { ...use, addressesLeft })
          )
        })

      /** Runs in the owner's mailbox; a race lost to another instance is decided anew. */
      const change = <A>(
        owner: WalletOwner,
        { actor, cause, reply }: WalletCall<A>,
        decide: (row: WalletRow) => Effect.Effect<
          {
            readonly wallet: WalletState | null
            readonly result: A
            readonly writes?: ReadonlyArray<Write>
          },
          PublicError
        >
      ): Effect.Effect<A, PublicError | IdempotentReplay> =>
        actors.send(
          "wallets",
          `${owner.merchantId} ${owner.environment} ${owner.family}`,
          Effect.gen(function*() {
            const row = yield* repo.find(owner)
            const { result, wallet, writes = [] } = yield* decide(row)
            const act = walletActOf(owner, row.wallet, wallet, sha256, actor, cause.requestId)
            yield* commit.append({
              merchantId: owner.merchantId,
              environment: owner.environment,
              cause,
              writes: [
                walletWrite(owner, { version: row.version + 1, wallet }),
                ...writes,
                ...yield* auditLog.writesOf(act)
              ],
              events: [],
              reply: reply(result)
            })
            yield* activeWallets.evict(owner)
            return result
          })
        ).pipe(
          decideAnew()
        )

      yield* chains.registerWallets({ current: activeWallets.of, withFingerprint: walletRecords.of })

      yield* watchWallets({ chains, commit, repo, reader })

      return Wallets.of({
        list: (merchantId, environment) =>
          Effect.flatMap(repo.list(merchantId, environment), (owned) => Effect.forEach(owned, bodyOf)),
        put: Effect.fnUntraced(function*(owner, given, call) {
          const reading = yield* readNew(forwarders, owner, given)
          const id = `wal_${yield* uuidV7}`
          const changed = yield* change(owner, call, () =>
            Effect.gen(function*() {
              // Again of a forwarder: one call at a time chooses the seed of a payee.
              const ref = forwarderIn(reading) === null ? reading : yield* readNew(forwarders, owner, given)
              const { nextIndex } = yield* chains.walletUse(ref.fingerprint)
              const startIndex = startIndexOf(owner.environment, given.kind, given.startIndex, nextIndex !== null)
              if (startIndex instanceof PublicError) return yield* startIndex
              // Addresses first: of a list that is another's too, the refusal names an entry.
              const conflict = yield* chains.claimAddresses(owner, given.kind, startingAt(ref, startIndex))
              if (conflict !== null) return yield* invalidWallet(conflictMessage(given.kind, conflict))
              if (!(yield* claimPayee(forwarders, owner, ref))) return yield* invalidWallet(payeeInUseMessage)
              const claim = yield* chains.claimWallet(ref.fingerprint, owner.merchantId)
              if (claim === null) return yield* invalidWallet(walletInUseMessage)
              const createdAt = yield* nowSeconds
              const { seed, value, writes } = yield* keepValue(forwarders, owner, ref, given, createdAt)
              const wallet: WalletState = { id, kind: given.kind, value, seed, startIndex, createdAt }
              const result = yield* bodyOf({ ...owner, wallet })
              return { wallet, result, writes: [...claim, ...writes] }
            }))
          // Once it has an owner: whose its addresses are is read from there.
          const current = yield* activeWallets.of(owner)
          if (current !== null) yield* chains.watchWallet(current, owner.family)
          return changed
        }),
        recoveries: (owner) => recoveriesOf(forwarders, owner),
        proof: (owner, address) => proofOf(forwarders, owner, address),
        confirmRecovery: confirmRecovery({ ...forwarders, actors, auditLog, commit, evict: walletRecords.evict }),
        remove: (owner, call) =>
          change(owner, call, ({ wallet }) =>
            wallet === null
              ? Effect.fail(publicError("NOT_FOUND", { message: "There is no wallet of this family" }))
              : Effect.succeed({ wallet: null, result: undefined }))
      })
    })
  )
