/** Where funds arrive: whose wallet it is, and the address an invoice was given. */
import { Duration, Effect } from "effect"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { type Family, familyOf, familyRecord } from "../../schemas/Network.ts"
import { shownAddresses, type WalletKind } from "../../schemas/Wallet.ts"
import {
  type Chains,
  type DriverError,
  type IndexedWallet,
  maximumWalletAddresses,
  type ReceiveTarget
} from "../Chains.ts"
import { machineMillis } from "../Clock.ts"
import { databaseMessage } from "../store/StoreError.ts"
import { driversOf, type JournalContext } from "./JournalContext.ts"
import { findOwners } from "./Receivers.ts"
import { accountIndex, cursorId, walletOwnerWrite } from "./ChainsRepo.ts"
import { retryDeadlocks, toAllocatedTarget } from "./Targets.ts"
import { range, sliceMillis, yieldToEventLoop } from "./AddressDerivation.ts"
import { firstFillCount } from "./WalletAddresses.ts"

type Service = Chains["Service"]

/** A chain takes at most this long to say what a wallet is: its owner waits for the answer. */
const verifyLimit = Duration.seconds(10)

/** What a chain says of a wallet, or that it cannot say it now. */
const withVerifyLimit = (family: Family) => <A>(ask: Effect.Effect<A, DriverError>): Effect.Effect<A, PublicError> =>
  ask.pipe(
    Effect.timeout(verifyLimit),
    Effect.catch((error) =>
      Effect.andThen(
        Effect.logWarning("an address could not be looked up on its chain", { family }, error),
        Effect.fail(publicError("NETWORK_DEGRADED", {
          message: "The network's nodes do not answer, so nobody can say whether this is a wallet: try again",
          retryAfterSeconds: 5
        }))
      )
    )
  )

export const wallet = (journal: JournalContext): Service["wallet"] =>
  Effect.fnUntraced(function*(owner) {
    const running = driversOf(journal, owner)
    if (running.length === 0) return null
    const merchantWallets = journal.merchantWallets.current()
    const own = merchantWallets === undefined ? null : yield* merchantWallets.current(owner)
    return own ?? running.find((each) => each.wallet !== null)?.wallet ?? null
  })

export const readWallet = (journal: JournalContext): Service["readWallet"] => (owner, kind, value, seed) =>
  driversOf(journal, owner)[0]?.readWallet(kind, value, seed) ?? Effect.succeed(null)

export const verifyWallet = (journal: JournalContext): Service["verifyWallet"] => (owner, receivingWallet) => {
  const verify = driversOf(journal, owner).find((driver) => driver.verifyWallet !== null)?.verifyWallet
  return verify == null ? Effect.succeed(null) : verify(receivingWallet).pipe(withVerifyLimit(owner.family))
}

export const claimWallet = ({ drivers, repo }: JournalContext): Service["claimWallet"] =>
  Effect.fnUntraced(function*(fingerprint, merchantId) {
    if ([...drivers.values()].some(({ wallet }) => wallet?.fingerprint === fingerprint)) return null
    const owner = (yield* repo.walletOwners([fingerprint])).get(fingerprint)
    return owner === undefined ? [walletOwnerWrite(fingerprint, merchantId)] : owner === merchantId ? [] : null
  })

/** Addresses that one merchant names, at most: each is kept for ever, and a merchant may send another list at will. */
const maximumClaims = 100_000

/**
 * The indices of a wallet that are claimed: of a list all, of a key those its owner compares and those given out next.
 */
const claimedIndices = (kind: WalletKind, { size, startIndex }: IndexedWallet, nextIndex: number) => {
  if (kind === "pool") return range(0, size ?? 0)
  const from = Math.max(startIndex, nextIndex)
  const end = Math.min(from + firstFillCount, size ?? Number.POSITIVE_INFINITY)
  return [...range(0, Math.min(shownAddresses, from)), ...range(from, end)]
}

/** Derives what is claimed in slices, so that nobody waits for a long list. */
const deriveAll = Effect.fnUntraced(function*(wallet: IndexedWallet, indices: ReadonlyArray<number>) {
  const addresses: Array<ReceiveTarget> = []
  const millis = yield* machineMillis
  let sliceStart = millis()
  for (const index of indices) {
    addresses.push(wallet.derive(index))
    if (millis() - sliceStart < sliceMillis) continue
    yield* yieldToEventLoop
    sliceStart = millis()
  }
  return addresses
})

export const claimAddresses = ({ repo }: JournalContext): Service["claimAddresses"] =>
  Effect.fnUntraced(function*(owner, kind, receiving) {
    const { fingerprint } = receiving
    const indices = receiving._tag === "SharedWallet"
      ? [0]
      : claimedIndices(kind, receiving, (yield* repo.counter(fingerprint))?.nextIndex ?? 0)
    const addresses = receiving._tag === "SharedWallet"
      ? [{ address: receiving.address, matchKey: receiving.accountKey }]
      : yield* deriveAll(receiving, indices)
    const conflict = yield* repo.claimAddresses({
      ...owner,
      fingerprint,
      kind,
      matchKeys: addresses.map(({ matchKey }) => matchKey),
      limit: maximumClaims
    }).pipe(
      retryDeadlocks,
      Effect.tapError((error) => Effect.logWarning("addresses of a receiving wallet could not be claimed", error)),
      Effect.mapError((error) =>
        publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1, reason: databaseMessage(error) })
      )
    )
    if (conflict === null) return null
    const { place, reason } = conflict
    return reason === "too_many"
      ? { reason, limit: maximumClaims }
      : { reason, index: indices[place!]!, address: addresses[place!]!.address }
  })

export const walletUse = ({ repo }: JournalContext): Service["walletUse"] => (fingerprint) =>
  Effect.zipWith(repo.counter(fingerprint), repo.highestUsedIndex(fingerprint), (counter, highestUsedIndex) => ({
    nextIndex: counter?.nextIndex ?? null,
    highestUsedIndex
  }))

export const allocate = (journal: JournalContext): Service["allocate"] => {
  const walletOf = wallet(journal)
  return Effect.fnUntraced(function*(request) {
    // What was allocated once stays, whatever has become of the wallet since.
    const given = yield* journal.targets.target(request.invoiceId, request.family)
    if (given !== null) return toAllocatedTarget(given)
    const receiving = yield* walletOf(request)
    if (receiving === null) return yield* publicError("UNSUPPORTED_NETWORK")
    return yield* journal.targets.allocate(receiving, request)
  })
}

export const target = ({ targets }: JournalContext): Service["target"] => (invoiceId, family) =>
  Effect.map(targets.target(invoiceId, family), (found) => found === null ? null : toAllocatedTarget(found))

export const targets = ({ repo }: JournalContext): Service["targets"] => (invoiceId) =>
  Effect.map(
    repo.targetsOfInvoice(invoiceId),
    (found) => new Map(found.map((row) => [row.family, toAllocatedTarget(row)]))
  )

export const hasTargets = ({ repo }: JournalContext): Service["hasTargets"] => (owner) => repo.hasTargets(owner)

export const isReceiveAddress = ({ repo, targets }: JournalContext): Service["isReceiveAddress"] =>
  Effect.fnUntraced(function*(network, environment, address) {
    const family = familyOf(network)
    yield* targets.refresh
    if (targets.isOwn(family, environment, address)) return true
    // Of a long list only the next ones are watched; all of it was claimed.
    return yield* repo.isClaimed(family, familyRecord(family).accountKey(address))
  })

export const isTokenAccount =
  (journal: JournalContext): Service["isTokenAccount"] => (network, environment, address) => {
    const ask = journal.drivers.get(cursorId(network, environment))?.isTokenAccount
    return ask == null ? Effect.succeed(false) : ask(address).pipe(withVerifyLimit(familyOf(network)))
  }

export const walletReceiver = ({ repo }: JournalContext): Service["walletReceiver"] =>
  Effect.fnUntraced(function*(network, environment, matchKey) {
    const addresses = yield* repo.addressesByKey([matchKey])
    const receiving = [...addresses, ...yield* repo.targetsByKey(familyOf(network), environment, [matchKey])]
    const merchantId = (yield* findOwners(repo, receiving)).get(matchKey)
    if (merchantId === undefined) return null
    const isAccount = addresses.some(({ walletIndex }) => walletIndex === accountIndex)
    const { fingerprint, walletIndex } = receiving[0]!
    return { merchantId, isAccount, fingerprint, walletIndex }
  })

/** `Chains.walletAddresses`. */
export const walletAddresses =
  (journal: JournalContext): Service["walletAddresses"] => ({ environment, matchKey, merchantId, network }) =>
    Effect.gen(function*() {
      const found = yield* walletReceiver(journal)(network, environment, matchKey)
      if (found === null || found.merchantId !== merchantId) return []
      const addresses = yield* journal.repo.addressesOfWallet(found.fingerprint, maximumWalletAddresses + 1)
      return addresses.length > maximumWalletAddresses ? [] : addresses
    })
