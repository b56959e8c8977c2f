/**
 * `Chains` over the store: drivers are followed, their transfers journalled and handed over. See runtime/Chains.ts.
 *
 *   ChainRegistry      drivers, how each chain is, and how far it was read
 *   ReceivingWallets   where funds arrive
 *   TransferReports    transfers that a watcher elsewhere reports
 *   RepairRequests     what operators ask of followers
 *   BalanceComparisons addresses whose native balance is compared
 */
import { Effect, Layer, Queue, Schedule, Semaphore } from "effect"
import type { SqlClient } from "effect/sql"
import { BackgroundWork } from "../BackgroundWork.ts"
import { nowSeconds } from "../Clock.ts"
import { type ChainDriver, Chains, type JournalEntry, type MerchantWallets } from "../Chains.ts"
import { Commit } from "../Commit.ts"
import { Leases } from "../Leases.ts"
import { single } from "../Registry.ts"
import { SimulatedWallets } from "../SimulatedWallets.ts"
import { TokenCatalog } from "../TokenCatalog.ts"
import { addressBalances, walletRecord } from "./AddressBalances.ts"
import { reconcile } from "./BalanceComparisons.ts"
import { coverage, makeReadiness, register, status } from "./ChainRegistry.ts"
import { finalityOf } from "./Confirmations.ts"
import type { Follower } from "./Followers.ts"
import { forwarderFacts, forwarderProof, makeForwarderFacts, obstacleTo } from "./ForwarderFacts.ts"
import { dispatchTransfers } from "./TransferDispatcher.ts"
import { driverOf, followerOf, type JournalContext, type OutageCheck } from "./JournalContext.ts"
import {
  allocate,
  claimAddresses,
  claimWallet,
  hasTargets,
  isReceiveAddress,
  isTokenAccount,
  readWallet,
  target,
  targets,
  verifyWallet,
  wallet,
  walletAddresses,
  walletReceiver,
  walletUse
} from "./ReceivingWallets.ts"
import { declareRestore, reanchor, repairs, rescan } from "./RepairRequests.ts"
import { make as makeRows, transferWrite } from "./ChainsRepo.ts"
import { make as makeTargets } from "./Targets.ts"
import { readTransaction } from "./TransactionReading.ts"
import { confirmReported, report } from "./TransferReports.ts"
import { walletBalances } from "./WalletBalances.ts"
import { make as makeAddresses } from "./WalletAddresses.ts"

/** How often reported entries of networks without a driver are looked at, beside the look after each handling. */
const reportedMillis = 5_000

const makeContext = Effect.gen(function*() {
  const repo = yield* makeRows
  const addresses = yield* makeAddresses(repo)
  const followers = new Map<string, Follower>()
  const drivers = new Map<string, ChainDriver>()
  const context: JournalContext = {
    commit: yield* Commit,
    leases: yield* Leases,
    catalog: yield* TokenCatalog,
    repo,
    addresses,
    targets: yield* makeTargets(repo, addresses, yield* makeReadiness(followers)),
    drivers,
    forwarderFacts: yield* makeForwarderFacts(drivers),
    followers,
    outages: single<OutageCheck>("two plugins simulate outages: remove one"),
    merchantWallets: single<MerchantWallets>("two plugins know the merchants' wallets: remove one"),
    simulatedWallets: yield* SimulatedWallets,
    wakes: yield* Queue.sliding<void>(1),
    confirmLock: yield* Semaphore.make(1),
    background: yield* BackgroundWork,
    startedAt: yield* nowSeconds
  }
  return context
})

const onTransfer = (journal: JournalContext): Chains["Service"]["onTransfer"] => (handler) =>
  Effect.gen(function*() {
    const { background, commit, leases, repo, wakes } = journal
    const confirm = confirmReported(journal)
    const onHandled = ({ environment, network }: JournalEntry) =>
      followerOf(journal, network, environment)?.check ?? confirm
    yield* background.run(dispatchTransfers({ repo, commit, leases, wakes, onHandled }, handler))
    yield* background.run(Effect.repeat(confirm, Schedule.spaced(reportedMillis)))
  })

const finality = ({ repo }: JournalContext): Chains["Service"]["finality"] => (invoiceIds) =>
  invoiceIds.length === 0 ?
    Effect.succeed([]) :
    Effect.map(repo.transfersOfInvoices(invoiceIds), (found) =>
      found.map(({ entry, heights }) => ({
        id: entry.id,
        network: entry.network,
        finality: finalityOf(entry, heights)
      })))

const make = Effect.gen(function*() {
  const journal = yield* makeContext
  return Chains.of({
    register: register(journal),
    driver: (network, environment) => driverOf(journal, network, environment),
    status: status(journal),
    registerOutages: journal.outages.register,
    registerWallets: journal.merchantWallets.register,
    wallet: wallet(journal),
    readWallet: readWallet(journal),
    verifyWallet: verifyWallet(journal),
    obstacleTo: obstacleTo(journal),
    forwarderFacts: forwarderFacts(journal),
    forwarderProof: forwarderProof(journal),
    walletUse: walletUse(journal),
    addressesLeft: journal.targets.remaining,
    claimWallet: claimWallet(journal),
    claimAddresses: claimAddresses(journal),
    watchWallet: journal.addresses.watch,
    walletBalances: walletBalances(journal),
    addressBalances: addressBalances(journal),
    walletRecord: walletRecord(journal),
    readTransaction: readTransaction(journal),
    allocate: allocate(journal),
    target: target(journal),
    targets: targets(journal),
    hasTargets: hasTargets(journal),
    isReceiveAddress: isReceiveAddress(journal),
    isTokenAccount: isTokenAccount(journal),
    walletReceiver: walletReceiver(journal),
    walletAddresses: walletAddresses(journal),
    coverage: coverage(journal),
    assignEntry: (entry, { invoiceId, merchantId }) =>
      transferWrite({ ...entry, invoiceId, merchantId, version: entry.version + 1 }),
    journalEntry: (id) => Effect.map(journal.repo.entriesById([id]), ([entry]) => entry ?? null),
    transfers: journal.repo.transfersOfInvoice,
    onTransfer: onTransfer(journal),
    markHandled: (entry, requiredDepth) =>
      transferWrite({ ...entry, handledStatus: entry.status, requiredDepth, attempts: 0, version: entry.version + 1 }),
    finality: finality(journal),
    report: report(journal),
    rescan: rescan(journal),
    reanchor: reanchor(journal),
    declareRestore: declareRestore(journal),
    repairs: repairs(journal),
    reconcile: reconcile(journal)
  })
})

/**
 * Chains with its journal in the store, and the wallets of simulated networks, whose balances it reads. Drivers, these
 * wallets and the handler register later, from plugins.
 */
export const layer: Layer.Layer<
  Chains | SimulatedWallets,
  never,
  SqlClient.SqlClient | Commit | Leases | TokenCatalog
> = Layer.provideMerge(Layer.effect(Chains, make), SimulatedWallets.layer)
