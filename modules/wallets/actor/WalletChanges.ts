/** How a merchant's receiving wallet changes: at once, or once another one has waited to take its place. */
import { Effect } from "effect"
import type { Actors } from "../../../runtime/Actors.ts"
import type { AuditLog } from "../../../runtime/AuditLog.ts"
import type { Chains, WalletOwner, WalletRef } from "../../../runtime/Chains.ts"
import { nowSeconds } from "../../../runtime/Clock.ts"
import { type Commit, decideAnew, type IdempotentReplay, noCause, type Write } from "../../../runtime/Commit.ts"
import { sha256 } from "../../../runtime/http/CanonicalJson.ts"
import type { Members } from "../../../runtime/Members.ts"
import type { Timers } from "../../../runtime/Timers.ts"
import { uuidV7 } from "../../../runtime/Uuid.ts"
import { isPublicError, type PublicError } from "../../../schemas/Errors.ts"
import {
  approveProposal,
  newProposal,
  type Proposer,
  requireProposal,
  reviewProposal
} from "../../../schemas/Proposals.ts"
import type { ReceivingWallet } from "../../../schemas/Wallet.ts"
import { type makeRepo, type WalletRow, walletWrite } from "../repo.ts"
import {
  dueAt,
  firstAddresses,
  type OwnedWallet,
  walletActsOf,
  type WalletChange,
  walletObject,
  type WalletProposal,
  type WalletState
} from "../rules.ts"
import type { WalletCall } from "./Calls.ts"
import type { WalletReader } from "./WalletReader.ts"

/** The timer that puts wallets in the place of others. */
export const timerName = "wallets"

/** Who puts a wallet in the place of another once it has waited. */
const timerActor = "service:wallets"

export interface WalletChangeServices {
  readonly actors: Actors["Service"]
  readonly auditLog: AuditLog["Service"]
  readonly chains: Chains["Service"]
  readonly commit: Commit["Service"]
  readonly members: Members["Service"]
  readonly repo: Effect.Success<typeof makeRepo>
  readonly reader: WalletReader
  readonly timers: Timers["Service"]
  /** The wallet that receives now; null: none of the owner's. */
  readonly current: (owner: WalletOwner) => Effect.Effect<WalletRef | null>
  /** Has it read anew. */
  readonly evict: (owner: WalletOwner) => Effect.Effect<void>
}

/** A wallet on the wire. */
const makeBody =
  ({ chains, reader }: Pick<WalletChangeServices, "chains" | "reader">) =>
  (ownedWallet: OwnedWallet, proposal: WalletProposal | null = null) =>
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

export const makeWalletChanges = (
  { actors, auditLog, chains, commit, current, evict, members, reader, repo, timers }: WalletChangeServices
) => {
  const bodyOf = makeBody({ chains, reader })

  /** A wallet that waits, under the current members. */
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
        yield* evict(owner)
        yield* timers.wake(timerName)
        return result
      })
    ).pipe(
      decideAnew()
    )

  /** The wallet in force and the one that waits, after a wallet was set. */
  const replaceWallet = Effect.fnUntraced(function*(
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
    // Without a wallet of its own a merchant is paid into the deployment's, so that one is replaced.
    const isReplacing = owner.environment === "mainnet"
      && (row.version > 0 || ((yield* chains.wallet(owner)) !== null && (yield* chains.hasTargets(owner))))
    if (!isReplacing || (yield* isSame(row.wallet ?? undefined))) return { wallet, proposal: null }
    const { proposal } = row
    // Sent again, it does not begin anew.
    if (proposal !== null && proposal.change.startIndex === wallet.startIndex && (yield* isSame(proposal.change))) {
      return { wallet: row.wallet, proposal }
    }
    const found = yield* members.list(owner.merchantId)
    const newChange = newProposal(`chg_${yield* uuidV7}`, wallet, by, found, now)
    return isPublicError(newChange) ? yield* newChange : { wallet: row.wallet, proposal: newChange }
  })

  /** Watches the current wallet, because its addresses are attributed to a merchant through its owner. */
  const watchCurrent = Effect.fnUntraced(function*(owner: WalletOwner) {
    const found = yield* current(owner)
    if (found !== null) yield* chains.watchWallet(found, owner.family)
  })

  /** Puts a wallet in the place of another that has waited, or ends it where the current members do not allow it. */
  const applyDueChange = Effect.fnUntraced(function*(owner: WalletOwner) {
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

  const approve = (owner: WalletOwner, changeId: string, call: WalletCall<ReceivingWallet>) =>
    change(owner, call, ({ proposal, wallet }) =>
      Effect.gen(function*() {
        const waiting = requireProposal(proposal, changeId)
        if (isPublicError(waiting)) return yield* waiting
        const approved = approveProposal(waiting, call.by, yield* nowSeconds)
        if (isPublicError(approved)) return yield* approved
        const result = yield* bodyOf({ ...owner, wallet: approved.change }, approved)
        return { wallet, proposal: approved, result }
      }))

  const cancel = (owner: WalletOwner, changeId: string, call: WalletCall<void>) =>
    change(owner, call, ({ proposal, wallet }) => {
      const waiting = requireProposal(proposal, changeId)
      return isPublicError(waiting)
        ? Effect.fail(waiting)
        : Effect.succeed({ wallet, proposal: null, result: undefined })
    })

  return { approve, bodyOf, cancel, change, replaceWallet, review, applyDueChange, watchCurrent }
}
