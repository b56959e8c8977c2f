/**
 * Whether what comes to a `forwarder` wallet could be collected on a network: its contract must be there, and its payee
 * too where that is one. Money that is sent where they are not is safe and cannot be moved, so nobody is offered that.
 * And what shows that an address pays to the payee.
 */
import { Cache, Effect, type Exit } from "effect"
import { familyOf, familyRecord, type Network, networks } from "../../schemas/Network.ts"
import type { ChainDriver, Chains, ForwarderFacts, ReceivingObstacle } from "../Chains.ts"
import { cursorId } from "./ChainsRepo.ts"
import { driverOf, driversOf, type JournalContext } from "./JournalContext.ts"
import { walletReceiver } from "./ReceivingWallets.ts"

/** What networks say of one payee; null: they have no such wallets, or could not be asked. */
export type FactsByNetwork = ReadonlyMap<Network, ForwarderFacts | null>

/** Milliseconds for which facts are kept: a payee's contract that is put in place is found as late at most. */
const factsMillis = 3_600_000

/** The same where the collector is missing or the payee refuses the coin: a person may be mending that. */
const obstacleMillis = 60_000

/** The same where a node did not answer. */
const failureMillis = 5_000

/** Facts of payees and networks that are kept, at most. */
const capacity = 10_000

/** A node takes at most this long: a payor waits for it. */
const askMillis = 3_000

/**
 * What stands against a network, by what all networks of the family say. A payee that is a contract somewhere is one
 * that the same key does not own everywhere, so it must be one on each network. `wasPayeeContract`: it was one on some
 * network when the wallet was set, which a network that does not answer now cannot take back.
 */
export const obstacleOf = (
  facts: FactsByNetwork,
  network: Network,
  isCoin: boolean,
  wasPayeeContract: boolean
): ReceivingObstacle | null => {
  const own = facts.get(network) ?? null
  if (own === null) return "NETWORK_DEGRADED"
  if (!own.hasCollector) return "COLLECTOR_MISSING"
  const isContract = wasPayeeContract || [...facts.values()].some((each) => each?.isPayeeContract === true)
  if (isContract && !own.isPayeeContract) return "PAYEE_MISSING"
  return isCoin && !own.takesCoin ? "PAYEE_REFUSES_COIN" : null
}

const isInOrder = ({ hasCollector, takesCoin }: ForwarderFacts): boolean => hasCollector && takesCoin

const timeToLive = (exit: Exit.Exit<ForwarderFacts | null>): number => {
  if (exit._tag === "Failure" || exit.value === null) return failureMillis
  return isInOrder(exit.value) ? factsMillis : obstacleMillis
}

const ask = ({ network, readForwarderFacts }: ChainDriver, payee: string): Effect.Effect<ForwarderFacts | null> =>
  readForwarderFacts === null ? Effect.succeed(null) : readForwarderFacts(payee).pipe(
    Effect.timeout(askMillis),
    Effect.catch((error) =>
      Effect.as(
        Effect.logWarning("a network could not say whether it has the contracts of a wallet", { network }, error),
        null
      )
    )
  )

/** What a network says of a payee, remembered. The key: `cursorId` of the network, a space, the payee. */
export const makeForwarderFacts = (drivers: ReadonlyMap<string, ChainDriver>) =>
  Cache.makeWith((key: string) => {
    const [id, payee] = key.split(" ")
    const driver = drivers.get(id!)
    return driver === undefined ? Effect.succeed(null) : ask(driver, payee!)
  }, { capacity, timeToLive })

/** `Chains.forwarderFacts`. */
export const forwarderFacts = (journal: JournalContext): Chains["Service"]["forwarderFacts"] => (owner, payee) =>
  Effect.map(
    Effect.forEach(
      driversOf(journal, owner),
      ({ environment, network }) =>
        Effect.map(
          Cache.get(journal.forwarderFacts, `${cursorId(network, environment)} ${payee}`),
          (facts) => [network, facts] as const
        ),
      { concurrency: "unbounded" }
    ),
    (found) => new Map(found)
  )

/** `Chains.obstacleTo`. */
export const obstacleTo = (journal: JournalContext): Chains["Service"]["obstacleTo"] => {
  const factsOf = forwarderFacts(journal)
  return Effect.fnUntraced(function*({ fingerprint }, network, environment, isCoin) {
    // Most wallets are none: the deployment's own, and all of a family without contracts.
    const driver = driverOf(journal, network, environment)
    if (driver?.readForwarderFacts == null || driver.wallet?.fingerprint === fingerprint) return null
    const record = yield* journal.merchantWallets.current()?.withFingerprint(fingerprint) ?? Effect.succeed(null)
    const forwarder = record?.wallet._tag === "IndexedWallet" ? record.wallet.forwarder : undefined
    if (record === null || forwarder === undefined) return null
    if (!record.mayReceive) return "RECOVERY_UNCONFIRMED"
    const facts = yield* factsOf({ environment, family: familyOf(network) }, forwarder.payee)
    return obstacleOf(facts, network, isCoin, record.isPayeeContract)
  })
}

/** `Chains.forwarderProof`. */
export const forwarderProof = (journal: JournalContext): Chains["Service"]["forwarderProof"] =>
  Effect.fnUntraced(function*({ environment, family, merchantId }, address) {
    const network = networks.find((each) => familyOf(each) === family)!
    const receiver = yield* walletReceiver(journal)(network, environment, familyRecord(family).accountKey(address))
    if (receiver?.merchantId !== merchantId) return null
    const { fingerprint, walletIndex } = receiver
    const record = yield* journal.merchantWallets.current()?.withFingerprint(fingerprint) ?? Effect.succeed(null)
    const forwarder = record?.wallet._tag === "IndexedWallet" ? record.wallet.forwarder : undefined
    return forwarder === undefined ? null : {
      address,
      payee: forwarder.payee,
      salt: forwarder.saltOf(walletIndex),
      collector: forwarder.collector,
      init_code_hash: forwarder.initCodeHash
    }
  })
