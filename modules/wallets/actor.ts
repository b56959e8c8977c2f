/** Load, decide, commit: how a merchant's receiving wallets change, and which one receives now. */
import { Context, Effect, Layer } from "effect"
import { nowSeconds } from "../../runtime/Clock.ts"
import { Actors } from "../../runtime/Actors.ts"
import { AuditLog } from "../../runtime/AuditLog.ts"
import { Chains, type WalletOwner } from "../../runtime/Chains.ts"
import { Commit, type IdempotentReplay } from "../../runtime/Commit.ts"
import { Members } from "../../runtime/Members.ts"
import { Timers } from "../../runtime/Timers.ts"
import { registerDueProposals } from "../../runtime/timers/DueProposals.ts"
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
import { makeWalletChanges, timerName } from "./actor/WalletChanges.ts"
import { watchWallets } from "./actor/WalletWatch.ts"
import { conflictMessage, startIndexOf, startingAt, type WalletState } from "./rules.ts"
import { makeRepo } from "./repo.ts"

/** It does not tell whose invoices. */
const payeeInUseMessage =
  "this is an address that invoices are paid to here, and what is collected to it would pay one: give another of yours"

/** It does not tell who uses the wallet. */
const walletInUseMessage =
  "this wallet is already in use in this deployment: give the key of another account, or another list of addresses"

/** A merchant's wallets: those that receive, and those that wait to. */
export interface WalletList {
  readonly wallets: ReadonlyArray<ReceivingWallet>
  readonly pending_wallets: ReadonlyArray<ReceivingWallet>
}

export class Wallets extends Context.Service<Wallets, {
  readonly list: (merchantId: number, environment: Environment) => Effect.Effect<WalletList>
  /**
   * Makes a wallet the one that later invoices are paid to; those that have an address keep it. On mainnet the
   * replacement of one that was ever set waits, or of the deployment's of which invoices had addresses
   * (modules/docs/reference/wallets.md#replacing-a-wallet). Errors:
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
  /** The approval of another person for a wallet that waits. Errors: `NOT_FOUND`, `APPROVER_MUST_DIFFER`, `INVALID_TRANSITION`. */
  readonly approve: (
    owner: WalletOwner,
    changeId: string,
    call: WalletCall<ReceivingWallet>
  ) => Effect.Effect<ReceivingWallet, PublicError | IdempotentReplay>
  /** Ends a wallet that waits. Errors: `NOT_FOUND`. */
  readonly cancel: (
    owner: WalletOwner,
    changeId: string,
    call: WalletCall<void>
  ) => Effect.Effect<void, PublicError | IdempotentReplay>
  /**
   * From then on the deployment's own wallet receives, if there is one, and none waits. `NOT_FOUND` where there is none
   * to remove.
   */
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

      const { approve, bodyOf, cancel, change, replaceWallet, review, applyDueChange, watchCurrent } =
        makeWalletChanges({
          actors,
          auditLog,
          chains,
          commit,
          members: yield* Members,
          repo,
          reader,
          timers: yield* Timers,
          current: activeWallets.of,
          evict: activeWallets.evict
        })

      yield* registerDueProposals({ name: timerName, due: repo.due, nextDue: repo.nextDue, applyDueChange })

      yield* chains.registerWallets({ current: activeWallets.of, withFingerprint: walletRecords.of })

      yield* watchWallets({ chains, commit, repo, reader })

      return Wallets.of({
        list: Effect.fnUntraced(function*(merchantId, environment) {
          const rows = yield* repo.list(merchantId, environment)
          const wallets = yield* Effect.forEach(
            rows.flatMap(({ owner, wallet }) => wallet === null ? [] : [{ ...owner, wallet }]),
            (owned) => bodyOf(owned)
          )
          const pending = yield* Effect.forEach(rows, ({ owner, proposal }) =>
            Effect.flatMap(review(merchantId, proposal), (reviewed) =>
              reviewed === null
                ? Effect.succeed([])
                : Effect.map(bodyOf({ ...owner, wallet: reviewed.change }, reviewed), (body) => [body])))
          return { wallets, pending_wallets: pending.flat() }
        }),
        put: Effect.fnUntraced(function*(owner, given, call) {
          const reading = yield* readNew(forwarders, owner, given)
          const id = `wal_${yield* uuidV7}`
          const changed = yield* change(owner, call, (row) =>
            Effect.gen(function*() {
              // Again of a forwarder: one call at a time chooses the seed of a payee.
              const ref = forwarderIn(reading) === null ? reading : yield* readNew(forwarders, owner, given)
              const { nextIndex } = yield* chains.walletUse(ref.fingerprint)
              const startIndex = startIndexOf(owner.environment, given.kind, given.startIndex, nextIndex !== null)
              if (startIndex instanceof PublicError) {
                return yield* startIndex
              }
              // Addresses first: of a list that is another's too, the refusal names an entry.
              const conflict = yield* chains.claimAddresses(owner, given.kind, startingAt(ref, startIndex))
              if (conflict !== null) {
                return yield* invalidWallet(conflictMessage(given.kind, conflict))
              }
              if (!(yield* claimPayee(forwarders, owner, ref))) {
                return yield* invalidWallet(payeeInUseMessage)
              }
              const claim = yield* chains.claimWallet(ref.fingerprint, owner.merchantId)
              if (claim === null) {
                return yield* invalidWallet(walletInUseMessage)
              }
              const createdAt = yield* nowSeconds
              const { seed, value, writes } = yield* keepValue(forwarders, owner, ref, given, createdAt)
              const wallet: WalletState = { id, kind: given.kind, value, seed, startIndex, createdAt }
              const place = yield* replaceWallet(owner, row, wallet, ref, call.by, createdAt)
              const shown = place.proposal === null ? wallet : place.proposal.change
              const result = yield* bodyOf({ ...owner, wallet: shown }, place.proposal)
              return { ...place, result, writes: [...claim, ...writes] }
            }))
          yield* watchCurrent(owner)
          return changed
        }),
        recoveries: (owner) =>
          recoveriesOf(forwarders, owner),
        proof: (owner, address) => proofOf(forwarders, owner, address),
        confirmRecovery: confirmRecovery({ ...forwarders, actors, auditLog, commit, evict: walletRecords.evict }),
        approve,
        cancel,
        remove: (owner, call) =>
          change(owner, call, ({ wallet }) =>
            wallet === null
              ? Effect.fail(publicError("NOT_FOUND", { message: "There is no wallet of this family" }))
              : Effect.succeed({ wallet: null, proposal: null, result: undefined }))
      })
    })
  )
