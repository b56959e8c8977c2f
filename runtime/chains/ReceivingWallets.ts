/** Where funds arrive: whose wallet it is, and the address an invoice was given. */
import { Duration, Effect } from "effect"
import { publicError } from "../../schemas/Errors.ts"
import { descriptorOf, familyOf } from "../../schemas/Network.ts"
import type { Chains } from "../Chains.ts"
import { driversOf, type JournalContext } from "./JournalContext.ts"
import { findOwners } from "./Receivers.ts"
import { accountIndex, walletOwnerWrite } from "./ChainsRepo.ts"
import { toAllocatedTarget } from "./Targets.ts"

type Service = Chains["Service"]

/** A chain takes at most this long to say what a wallet is: its owner waits for the answer. */
const verifyLimit = Duration.seconds(10)

export const wallet = (journal: JournalContext): Service["wallet"] =>
  Effect.fnUntraced(function*(owner) {
    const running = driversOf(journal, owner)
    if (running.length === 0) return null
    const walletOf = journal.merchantWallets.current()
    const own = walletOf === undefined ? null : yield* walletOf(owner)
    return own ?? running.find((each) => each.wallet !== null)?.wallet ?? null
  })

export const readWallet = (journal: JournalContext): Service["readWallet"] => (owner, kind, value) =>
  driversOf(journal, owner)[0]?.readWallet(kind, value) ?? Effect.succeed(null)

export const verifyWallet = (journal: JournalContext): Service["verifyWallet"] => (owner, receivingWallet) => {
  const verify = driversOf(journal, owner).find((driver) => driver.verifyWallet !== null)?.verifyWallet
  return verify == null ? Effect.succeed(null) : verify(receivingWallet).pipe(
    Effect.timeout(verifyLimit),
    Effect.catch((error) =>
      Effect.andThen(
        Effect.logWarning("a receiving wallet could not be looked up on its chain", { family: owner.family }, error),
        Effect.fail(publicError("NETWORK_DEGRADED", {
          message: "The network's nodes do not answer, so nobody can say whether this is a wallet: try again",
          retryAfterSeconds: 5
        }))
      )
    )
  )
}

export const claimWallet = ({ drivers, repo }: JournalContext): Service["claimWallet"] =>
  Effect.fnUntraced(function*(fingerprint, merchantId) {
    if ([...drivers.values()].some(({ wallet }) => wallet?.fingerprint === fingerprint)) return null
    const owner = (yield* repo.walletOwners([fingerprint])).get(fingerprint)
    return owner === undefined ? [walletOwnerWrite(fingerprint, merchantId)] : owner === merchantId ? [] : null
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

export const isReceiveAddress =
  ({ targets }: JournalContext): Service["isReceiveAddress"] => (network, environment, address) => {
    const { has, refresh } = targets.watch(familyOf(network), environment)
    return Effect.map(refresh, () => has(descriptorOf(network).family.accountKey(address)))
  }

export const walletReceiver = ({ repo }: JournalContext): Service["walletReceiver"] =>
  Effect.fnUntraced(function*(network, environment, matchKey) {
    const addresses = yield* repo.addressesByKey([matchKey])
    const receiving = [...addresses, ...yield* repo.targetsByKey(familyOf(network), environment, [matchKey])]
    const merchantId = (yield* findOwners(repo, receiving)).get(matchKey)
    if (merchantId === undefined) return null
    return { merchantId, isAccount: addresses.some(({ walletIndex }) => walletIndex === accountIndex) }
  })
