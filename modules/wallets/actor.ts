/** Load, decide, commit: how a merchant's receiving wallets change, and which one receives now. */
import { Context, Effect, Layer } from "effect"
import { nowSeconds } from "../../runtime/Clock.ts"
import { Actors } from "../../runtime/Actors.ts"
import { AuditLog } from "../../runtime/AuditLog.ts"
import { Chains, type WalletOwner, type WalletRef } from "../../runtime/Chains.ts"
import { Commit, decideAnew, type IdempotentReplay, noCause, type Write } from "../../runtime/Commit.ts"
import { sha256 } from "../../runtime/http/CanonicalJson.ts"
import { Members } from "../../runtime/Members.ts"
import { Timers } from "../../runtime/Timers.ts"
import { uuidV7 } from "../../runtime/Uuid.ts"
import { isPublicError, PublicError, publicError } from "../../schemas/Errors.ts"
import type { Environment } from "../../schemas/Network.ts"
import {
  approveProposal,
  newProposal,
  type Proposer,
  requireProposal,
  reviewProposal
} from "../../schemas/Proposals.ts"
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
  dueAt,
  firstAddresses,
  type OwnedWallet,
  startIndexOf,
  startingAt,
  walletActsOf,
  type WalletChange,
  walletObject,
  type WalletProposal,
  type WalletState
} from "./rules.ts"
import { makeRepo, type WalletRow, walletWrite } from "./repo.ts"

/** Rows of wallets that begin to receive in one run of the timer. */
const dueBatch = 100

/** Who puts a wallet in the place of another once it has waited. */
const timerActor = "service:wallets"

/** A merchant's wallets: those that receive, and those that wait to. */
export interface WalletList {
  readonly wallets: ReadonlyArray<ReceivingWallet>
  readonly pending_wallets: ReadonlyArray<ReceivingWallet>
}

/** It does not tell whose invoices. */
const payeeInUseMessage =
  "this is an address that invoices are paid to here, and what is collected to it would pay one: give another of yours"

/** It does not tell who uses the wallet. */
const walletInUseMessage =
  "this wallet is already in use in this deployment: give the key of another account, or another list of addresses"

export class Wallets extends Context.Service<Wallets, {
  readonly list: (merchantId: number, environment: Environment) => Effect.Effect<WalletList>
  /**
   * Makes a wallet the one that later invoices are paid to; those that have an address keep it. Where real money was
   * received in another one before, it waits (modules/docs/reference/wallets.md#replacing-a-wallet). Errors:
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
  /** Another person's word for a wallet that waits. Errors: `NOT_FOUND`, `APPROVER_MUST_DIFFER`, `INVALID_TRANSITION`. */
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
      const members = yield* Members
      const timers = yield* Timers
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

      const bodyOf = (ownedWallet: OwnedWallet, proposal: WalletProposal | null = null) =>
        Effect.flatMap(reader.readStored(ownedWallet), (ref) => {
          if (ref === null) {
            const unknown = { nextIndex: null, highestUsedIndex: null, addressesLeft: null }
            return Effect.succeed(walletObject(ownedWallet, [], unknown, proposal))
          }
          const addresses = firstAddresses(ref)
          return Effect.zipWith(
            chains.walletUse(ref.fingerprint),
            chains.addressesLeft(ref),
            (use, addressesLeft) => walletObject(ownedWallet, addresses, { ...use, addressesLeft }, proposal)
          )
        })

      /** A wallet that waits, as the members of now see it. */
      const review = (merchantId: number, proposal: WalletProposal | null) =>
        proposal === null
          ? Effect.succeed(null)
          : Effect.map(members.list(merchantId), (found) => reviewProposal(proposal, found, "wallets:write"))

      /** Runs in the owner's mailbox; a race lost to another instance is decided anew. */
      const change = <A>(
        owner: WalletOwner,
        { by, cause, reply }: WalletCall<A>,
        decide: (row: WalletRow) => Effect.Effect<
          WalletChange & { readonly result: A; readonly writes?: ReadonlyArray<Write> },
          PublicError
        >
      ): Effect.Effect<A, PublicError | IdempotentReplay> =>
        actors.send(
          "wallets",
          `${owner.merchantId} ${owner.environment} ${owner.family}`,
          Effect.gen(function*() {
            const row = yield* repo.find(owner)
            const reviewed = { ...row, proposal: yield* review(owner.merchantId, row.proposal) }
            const { result, writes = [], ...next } = yield* decide(reviewed)
            const acts = walletActsOf(owner, row, next, sha256, by.credential, cause.requestId)
            const entries = yield* Effect.forEach(acts, auditLog.writesOf)
            const { proposal, wallet } = next
            yield* commit.append({
              merchantId: owner.merchantId,
              environment: owner.environment,
              cause,
              writes: [
                walletWrite(owner, { version: row.version + 1, wallet, proposal }),
                ...writes,
                ...entries.flat()
              ],
              events: [],
              reply: reply(result)
            })
            yield* activeWallets.evict(owner)
            yield* timers.wake("wallets")
            return result
          })
        ).pipe(
          decideAnew()
        )

      /** What takes the place of what: at once, or once it has waited. */
      const placeOf = Effect.fnUntraced(function*(
        owner: WalletOwner,
        row: WalletRow,
        wallet: WalletState,
        ref: WalletRef,
        by: Proposer,
        now: number
      ) {
        const isSame = (other: WalletState | undefined) =>
          other === undefined
            ? Effect.succeed(false)
            : Effect.map(
              reader.readStored({ ...owner, wallet: other }),
              (found) => found?.fingerprint === ref.fingerprint
            )
        const isReplacing = owner.environment === "mainnet" && row.version > 0
        if (!isReplacing || (yield* isSame(row.wallet ?? undefined))) return { wallet, proposal: null }
        const { proposal } = row
        // Sent again, it does not begin anew.
        if (proposal !== null && proposal.change.startIndex === wallet.startIndex && (yield* isSame(proposal.change))) {
          return { wallet: row.wallet, proposal }
        }
        const found = yield* members.list(owner.merchantId)
        const begun = newProposal(`chg_${yield* uuidV7}`, wallet, by, found, now)
        return isPublicError(begun) ? yield* begun : { wallet: row.wallet, proposal: begun }
      })

      /** The wallet of now is watched: once it has an owner, whose its addresses are is read from there. */
      const watchCurrent = Effect.fnUntraced(function*(owner: WalletOwner) {
        const current = yield* activeWallets.of(owner)
        if (current !== null) yield* chains.watchWallet(current, owner.family)
      })

      /** Puts a wallet in the place of another that has waited, or ends it where the members of now did not agree. */
      const settle = Effect.fnUntraced(function*(owner: WalletOwner) {
        const call = { by: { credential: timerActor, person: null }, cause: noCause, reply: () => undefined }
        yield* change<void>(owner, call, ({ proposal, wallet }) =>
          Effect.map(nowSeconds, (now) => {
            const due = dueAt(proposal)
            return due !== null && now >= due && proposal !== null
              ? { wallet: proposal.change, proposal: null, result: undefined }
              : { wallet, proposal, result: undefined }
          }))
        yield* watchCurrent(owner)
      })

      yield* timers.register({
        name: "wallets",
        batchSize: dueBatch,
        run: Effect.fnUntraced(function*(nowMillis: number, limit: number) {
          const due = yield* repo.due(Math.floor(nowMillis / 1000), limit)
          const settled = yield* Effect.forEach(due, (owner) =>
            settle(owner).pipe(
              Effect.as(1),
              Effect.catch((error) =>
                Effect.as(Effect.logWarning("a receiving wallet still waits; it is tried again", { owner, error }), 0)
              )
            ))
          return settled.reduce((sum, each) => sum + each, 0)
        }),
        nextDueMillis: Effect.map(repo.nextDue, (seconds) => seconds === null ? null : seconds * 1000)
      })

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
              const place = yield* placeOf(owner, row, wallet, ref, call.by, createdAt)
              const shown = place.proposal === null ? wallet : place.proposal.change
              const result = yield* bodyOf({ ...owner, wallet: shown }, place.proposal)
              return { ...place, result, writes: [...claim, ...writes] }
            }))
          yield* watchCurrent(owner)
          return changed
        }),
        recoveries: (owner) =>
          recoveriesOf(forwarders, owner),
        proof: (owner, address) =>
          proofOf(forwarders, owner, address),
        confirmRecovery: confirmRecovery({ ...forwarders, actors, auditLog, commit, evict: walletRecords.evict }),
        approve: (owner, changeId, call) =>
          change(owner, call, ({ proposal, wallet }) =>
            Effect.gen(function*() {
              const waiting = requireProposal(proposal, changeId)
              if (isPublicError(waiting)) return yield* waiting
              const approved = approveProposal(waiting, call.by, yield* nowSeconds)
              if (isPublicError(approved)) return yield* approved
              const result = yield* bodyOf({ ...owner, wallet: approved.change }, approved)
              return { wallet, proposal: approved, result }
            })),
        cancel: (owner, changeId, call) =>
          change(owner, call, ({ proposal, wallet }) => {
            const waiting = requireProposal(proposal, changeId)
            return isPublicError(waiting)
              ? Effect.fail(waiting)
              : Effect.succeed({ wallet, proposal: null, result: undefined })
          }),
        remove: (owner, call) =>
          change(owner, call, ({ wallet }) =>
            wallet === null
              ? Effect.fail(publicError("NOT_FOUND", { message: "There is no wallet of this family" }))
              : Effect.succeed({ wallet: null, proposal: null, result: undefined }))
      })
    })
  )
