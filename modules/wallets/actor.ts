/** Load, decide, commit: how a merchant's receiving wallets change, and which one receives now. */
import { Clock, Context, Effect, Layer } from "effect"
import { Actors } from "../../runtime/Actors.ts"
import { Chains, type WalletOwner, type WalletRef } from "../../runtime/Chains.ts"
import { Commit, type CommitCause, type Replayed, type ReplyWrite } from "../../runtime/Commit.ts"
import { uuidV7 } from "../../runtime/Uuid.ts"
import { publicError, PublicError } from "../../schemas/Errors.ts"
import type { Environment } from "../../schemas/Network.ts"
import type { ReceivingWallet, WalletKind } from "../../schemas/Wallet.ts"
import { firstAddresses, type OwnedWallet, startIndexOf, walletObject, type WalletState } from "./machine.ts"
import { makeRepo, type WalletRow, walletWrite } from "./repo.ts"

/** Milliseconds for which a merchant's wallet is not read again: payors see a change of it after as long at most. */
const cacheMillis = 2_000

/** Wallets remembered at once; the oldest is forgotten first. */
const cacheCapacity = 10_000

/** How often a change that lost a race is decided anew. */
const conflictRetries = 3

/** A wallet as its owner gives it. */
export interface GivenWallet {
  readonly kind: WalletKind
  readonly value: string
  readonly startIndex: number | undefined
}

type Reply<A> = (shown: A) => ReplyWrite | undefined

export class Wallets extends Context.Service<Wallets, {
  readonly list: (merchantId: number, environment: Environment) => Effect.Effect<ReadonlyArray<ReceivingWallet>>
  /**
   * Makes a wallet the one that later invoices are paid to; those that have an address keep it. Errors:
   * `UNSUPPORTED_NETWORK` where no driver of the family runs, `WALLET_INVALID`, `VALIDATION_ERROR` for `start_index`.
   */
  readonly put: (
    owner: WalletOwner,
    given: GivenWallet,
    cause: CommitCause,
    reply: Reply<ReceivingWallet>
  ) => Effect.Effect<ReceivingWallet, PublicError | Replayed>
  /** From then on the deployment's own wallet receives, if there is one. `NOT_FOUND` where there is none to remove. */
  readonly remove: (owner: WalletOwner, cause: CommitCause, reply: Reply<void>) => Effect.Effect<
    void,
    PublicError | Replayed
  >
}>()("tillwire/modules/wallets/Wallets") {
  static readonly layer = Layer.effect(Wallets, Effect.gen(function*() {
    const actors = yield* Actors
    const chains = yield* Chains
    const commit = yield* Commit
    const repo = yield* makeRepo
    const receiving = yield* makeReceiving

    const show = (owned: OwnedWallet) => {
      const ref = readAgain(chains, owned)
      if (ref === null) {
        return Effect.succeed(walletObject(owned, [], { nextIndex: null, highestUsedIndex: null }))
      }
      const addresses = firstAddresses(ref.size, (index) => ref.derive(index, "").address)
      return Effect.map(chains.walletUse(ref.fingerprint), (use) => walletObject(owned, addresses, use))
    }

    /** Runs in the owner's mailbox; a race lost to another instance is decided anew. */
    const change = <A>(
      owner: WalletOwner,
      cause: CommitCause,
      decide: (row: WalletRow) => Effect.Effect<
        { readonly wallet: WalletState | null; readonly shown: A; readonly reply: ReplyWrite | undefined },
        PublicError
      >
    ): Effect.Effect<A, PublicError | Replayed> =>
      actors.send("wallets", `${owner.merchantId} ${owner.environment} ${owner.family}`, Effect.gen(function*() {
        const row = yield* repo.find(owner)
        const { reply, shown, wallet } = yield* decide(row)
        yield* commit.append({
          merchantId: owner.merchantId,
          environment: owner.environment,
          cause,
          writes: [walletWrite(owner, { version: row.version + 1, wallet })],
          events: [],
          ...(reply === undefined ? {} : { reply })
        })
        receiving.forget(owner)
        return shown
      })).pipe(
        Effect.retry({ times: conflictRetries, while: (error) => error._tag === "Conflict" }),
        Effect.catchTag("Conflict", () => Effect.fail(publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 })))
      )

    const read = (owner: WalletOwner, { kind, value }: GivenWallet): WalletRef | PublicError => {
      const found = chains.readWallet(owner, kind, value)
      if (found === null) {
        return publicError("UNSUPPORTED_NETWORK", {
          message: `No driver of the ${owner.family} family runs for ${owner.environment} here`,
          param: "family"
        })
      }
      return typeof found === "string" ? publicError("WALLET_INVALID", { message: found, param: "value" }) : found
    }

    yield* chains.registerWallets(receiving.of)

    return Wallets.of({
      list: (merchantId, environment) =>
        Effect.flatMap(repo.list(merchantId, environment), (owned) =>
          Effect.forEach(owned, show)),
      put: Effect.fnUntraced(function*(owner, given, cause, reply) {
        const ref = read(owner, given)
        if (ref instanceof PublicError) return yield* ref
        const { nextIndex } = yield* chains.walletUse(ref.fingerprint)
        const startIndex = startIndexOf(owner.environment, given.kind, given.startIndex, nextIndex !== null)
        if (startIndex instanceof PublicError) return yield* startIndex
        const id = `wal_${yield* uuidV7}`
        return yield* change(owner, cause, () =>
          Effect.gen(function*() {
            const createdAt = Math.floor((yield* Clock.currentTimeMillis) / 1000)
            const wallet: WalletState = { id, kind: given.kind, value: given.value, startIndex, createdAt }
            const shown = yield* show({ ...owner, wallet })
            return { wallet, shown, reply: reply(shown) }
          }))
      }),
      remove: (owner, cause, reply) =>
        change(owner, cause, ({ wallet }) =>
          wallet === null
            ? Effect.fail(publicError("NOT_FOUND", { message: "There is no wallet of this family" }))
            : Effect.succeed({ wallet: null, shown: undefined, reply: reply() }))
    })
  }))
}

type ChainsService = typeof Chains.Service

/**
 * A stored wallet, read; null while no driver of its family runs. It was readable when it was given, so one that is not
 * now is a fault of the deployment, and paying into another wallet instead would be worse than refusing.
 */
const readAgain = (chains: ChainsService, { wallet, ...owner }: OwnedWallet): WalletRef | null => {
  const ref = chains.readWallet(owner, wallet.kind, wallet.value)
  if (typeof ref === "string") throw new Error(`receiving wallet ${wallet.id} cannot be read any more`)
  return ref === null ? null : { ...ref, startIndex: wallet.startIndex }
}

/** The wallets that receive now, remembered for {@link cacheMillis}: reading an xpub takes a millisecond. */
const makeReceiving = Effect.gen(function*() {
  const chains = yield* Chains
  const repo = yield* makeRepo
  const known = new Map<string, { readonly ref: WalletRef | null; readonly until: number }>()
  const keyOf = ({ environment, family, merchantId }: WalletOwner) => `${merchantId} ${environment} ${family}`

  const of = Effect.fnUntraced(function*(owner: WalletOwner) {
    const key = keyOf(owner)
    const now = yield* Clock.currentTimeMillis
    const hit = known.get(key)
    if (hit !== undefined && now < hit.until) return hit.ref
    const { wallet } = yield* repo.find(owner)
    const ref = wallet === null ? null : readAgain(chains, { ...owner, wallet })
    known.delete(key)
    if (known.size >= cacheCapacity) known.delete(known.keys().next().value!)
    known.set(key, { ref, until: now + cacheMillis })
    return ref
  })

  return { of, forget: (owner: WalletOwner) => void known.delete(keyOf(owner)) }
})
