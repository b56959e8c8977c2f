/**
 * The match keys that drivers look transfers up in, in memory: of every target ever allocated and of every address that
 * is watched ahead, about 100 bytes each; and the accounts of families whose drivers ask for accounts.
 *
 * A look reads the wallets that changed since the look before, by the transaction that changed them (`changed_by`): all
 * that were committed in between, and those of transactions that were under way then.
 */
import { Effect, MutableRef, Semaphore } from "effect"
import { Environment, Family, familyRecord } from "../../schemas/Network.ts"
import type { ReceiveTarget, WatchSet } from "../Chains.ts"
import { machineMillis } from "../Clock.ts"
import type { ChainsRepo, TargetRow, WalletLook } from "./ChainsRepo.ts"
import { makeWatchedAccounts, type WatchedAccounts } from "./WatchedAccounts.ts"

/** Rows read at once when the set is loaded. */
const loadChunk = 5_000

/** After so long a look reads every wallet: whatever no look before it was shown is found then. */
const wholeLookMillis = 600_000

/** What the last look says of the next one. */
export interface PreviousLook extends Pick<WalletLook, "lowestRunning" | "server"> {
  /** When every wallet was read, in milliseconds that no clock sets. */
  readonly wholeAt: number
}

/** Everything that was read of wallets. Replaced as a whole where everything has to be read again. */
interface ReadWallets {
  readonly wallets: Map<string, { readonly index: number; readonly batch: number }>
  /** Null: nothing was read. */
  readonly previous: MutableRef.MutableRef<PreviousLook | null>
}

const nothingRead = (): ReadWallets => ({ wallets: new Map(), previous: MutableRef.make(null) })

/**
 * Whether what changed since the last look can be asked for. A server that was started since may be another one, whose
 * transactions have other numbers, and a number below the last one says the same.
 */
export const isSameServer = (
  previous: Pick<PreviousLook, "lowestRunning" | "server">,
  look: Pick<PreviousLook, "lowestRunning" | "server">
): boolean => look.server === previous.server && look.lowestRunning >= previous.lowestRunning

/** The sets of all families, and the one look that fills them. */
export const make = Effect.fnUntraced(function*(repo: ChainsRepo) {
  const millis = yield* machineMillis
  const keys = new Map<string, Set<string>>()
  /** What addresses of ours in another form are known by, in either environment. */
  const owners = new Map<Family, Set<string>>(Family.literals.map((family) => [family, new Set()]))
  const accounts = new Map<string, WatchedAccounts>()
  const read = MutableRef.make(nothingRead())
  const refreshLock = yield* Semaphore.make(1)

  const keysOf = (family: Family, environment: Environment): Set<string> => {
    const name = `${family}:${environment}`
    const found = keys.get(name) ?? new Set()
    keys.set(name, found)
    return found
  }

  const addOwner = (family: Family, receiver: Pick<ReceiveTarget, "address" | "memo">): void => {
    const found = owners.get(family)!
    for (const key of familyRecord(family).ownerKeys(receiver)) found.add(key)
  }

  const addTarget = (target: TargetRow): void => {
    const { environment, family, matchKey } = target
    keysOf(family, environment).add(matchKey)
    addOwner(family, target)
    accounts.get(`${family}:${environment}`)?.addTarget(target)
  }

  const loadTargets = Effect.fnUntraced(function*(fingerprint: string, from: number, nextIndex: number) {
    for (let index = from; index < nextIndex;) {
      const chunk = yield* repo.targetsOfWallet(fingerprint, index, loadChunk)
      chunk.forEach(addTarget)
      index = chunk.length < loadChunk ? nextIndex : chunk[chunk.length - 1]!.walletIndex + 1
    }
  })

  /** Watched in both environments: they share the counter, so either may give the address out. */
  const loadUnusedAddresses = Effect.fnUntraced(function*(fingerprint: string, batch: number) {
    for (const address of yield* repo.addressesAbove(fingerprint, batch)) {
      addOwner(address.family, address)
      for (const environment of Environment.literals) {
        keysOf(address.family, environment).add(address.matchKey)
        accounts.get(`${address.family}:${environment}`)?.addAddress(address)
      }
    }
  })

  /** Every wallet, or those that changed since the last look, and what the next look is to know. */
  const lookAtWallets = Effect.fnUntraced(function*(previous: PreviousLook | null) {
    const now = millis()
    if (previous !== null && now - previous.wholeAt < wholeLookMillis) {
      const look = yield* repo.walletsChangedSince(previous.lowestRunning)
      if (isSameServer(previous, look)) return { ...look, wholeAt: previous.wholeAt }
    }
    return { ...yield* repo.wallets, wholeAt: now }
  })

  const refresh = refreshLock.withPermits(1)(Effect.gen(function*() {
    const { previous, wallets } = MutableRef.get(read)
    const look = yield* lookAtWallets(MutableRef.get(previous))
    for (const { batch, fingerprint, nextIndex } of look.wallets) {
      const before = wallets.get(fingerprint) ?? { index: 0, batch: 0 }
      if (nextIndex > before.index) yield* loadTargets(fingerprint, before.index, nextIndex)
      if (batch > before.batch) yield* loadUnusedAddresses(fingerprint, before.batch)
      wallets.set(fingerprint, { index: Math.max(nextIndex, before.index), batch: Math.max(batch, before.batch) })
    }
    // Last: a look that fails in between is made again as a whole.
    const { lowestRunning, server, wholeAt } = look
    MutableRef.set(previous, { lowestRunning, server, wholeAt })
  }))

  const watch = (family: Family, environment: Environment): Pick<WatchSet, "has" | "refresh"> => {
    const set = keysOf(family, environment)
    return { has: (matchKey) => set.has(matchKey), refresh }
  }

  /** Whether an address, in the form `readAddress` gives, is one of ours in this form or another. */
  const isOwn = (family: Family, environment: Environment, address: string): boolean =>
    familyRecord(family).addressKeys(address).some((key) =>
      keysOf(family, environment).has(key) || owners.get(family)!.has(key)
    )

  /** Everything is read again where the first driver of a family asks for accounts: keys alone were kept of it. */
  const watchAccounts = (family: Family, environment: Environment): WatchedAccounts => {
    const name = `${family}:${environment}`
    const found = accounts.get(name)
    if (found !== undefined) return found
    const made = makeWatchedAccounts()
    accounts.set(name, made)
    // A look that is under way goes on with what it had: it has told the new accounts only a part.
    MutableRef.set(read, nothingRead())
    return made
  }

  yield* refresh
  return { addTarget, isOwn, refresh, watch, watchAccounts }
})
