/** What operators ask of followers, stored as rows: the instance that follows takes them up, after a restart too. */
import { Effect, Schedule } from "effect"
import { nowSeconds } from "../Clock.ts"
import { publicError } from "../../schemas/Errors.ts"
import type { Environment, Network } from "../../schemas/Network.ts"
import type { Chains, RepairProgress } from "../Chains.ts"
import type { Write } from "../Commit.ts"
import {
  type ArgumentFault,
  followerOf,
  type JournalContext,
  rejectFault,
  withPublicErrors,
  write
} from "./JournalContext.ts"
import {
  inheritReanchor,
  isOpen,
  maximumRescanBlocks,
  newRepair,
  type Repair,
  repairId,
  type RequestedRepair,
  requestedRestore
} from "./Repairs.ts"
import { backupTimeFault, maximumNamedWallets, restoreMarginSeconds, skipFault, walletWaitSeconds } from "./Restores.ts"
import { repairWrite } from "./ChainsRepo.ts"
import { maximumAddresses } from "./WalletAddresses.ts"

/** A chain that is asked for. */
interface ChainName {
  readonly network: Network
  readonly environment: Environment
}

/** The network's head as it is followed, here or elsewhere; fails where nobody follows it. */
const followedHead = Effect.fnUntraced(function*(journal: JournalContext, { environment, network }: ChainName) {
  const head = followerOf(journal, network, environment)?.head() ??
    (yield* journal.repo.cursor(network, environment))?.recent[0]?.height
  if (head !== undefined) return head
  const message = `No block of ${network} was followed on ${environment}: add it to \`chains\` in the config`
  return yield* publicError("UNSUPPORTED_NETWORK", { param: "network", message })
})

const progressOf = ({ credited, from, kind, next, reason, status, to }: Repair): RepairProgress => ({
  kind,
  status,
  from,
  to,
  next,
  credited,
  reason: reason !== null && isOpen({ status })
    ? `no endpoint has ${reason} any more; the others are being read`
    : reason
})

/** Stores a request in the place of `last`, the last one of its kind. */
const storeRequest = Effect.fnUntraced(function*(
  journal: JournalContext,
  chain: ChainName,
  wanted: RequestedRepair,
  last: Repair | undefined,
  extraWrites: ReadonlyArray<Write> = []
) {
  const repair = newRepair(chain, wanted, last, yield* nowSeconds)
  yield* write(journal, chain.environment, [repairWrite(repair), ...extraWrites])
  return progressOf(repair)
})

/** Whether a request that is open is the same as the new one, or may be given up for it. */
interface OpenRequestRules {
  readonly isSame: (open: Repair) => boolean
  readonly mayReplace: (open: Repair) => boolean
}

/** Stores a request in the place of the last one of its kind, for the follower to take up wherever it runs. */
const requestRepair = Effect.fnUntraced(function*(
  journal: JournalContext,
  chain: ChainName,
  wanted: RequestedRepair,
  { isSame, mayReplace }: OpenRequestRules,
  extraWrites: ReadonlyArray<Write>
) {
  const { environment, network } = chain
  const id = repairId(network, environment, wanted.kind)
  const last = (yield* journal.repo.repairs(network, environment)).find((repair) => repair.id === id)
  if (last === undefined || !isOpen(last) || mayReplace(last)) {
    return yield* storeRequest(journal, chain, wanted, last, extraWrites)
  }
  if (isSame(last)) return progressOf(last)
  const blocks = last.from === null
    ? `to block ${last.to ?? "that is the newest final one"}, waiting for a node`
    : `blocks ${last.from} to ${last.to}, next ${last.next}`
  const message = `A ${last.kind} of ${network} is under way (${blocks}): ` +
    "ask again when chains.status says that it is done"
  return yield* publicError("INVALID_TRANSITION", { message })
})

/** What is wrong with blocks to be read again; null: nothing. `head`: the newest block that was read. */
const rescanFault = (from: bigint, to: bigint, head: bigint): ArgumentFault | null => {
  if (from > to) {
    const message = `\`from\` is the first block and \`to\` the last: ${from} is above ${to}`
    return { param: "from", message }
  }
  if (to > head) {
    const message = `Block ${to} was not read yet: \`to\` may be at most ${head}, the newest block that was`
    return { param: "to", message }
  }
  if (to - from >= maximumRescanBlocks) {
    const message = `A call rescans at most ${maximumRescanBlocks} blocks, and these are ${to - from + 1n}: ` +
      "ask in parts"
    return { param: "to", message }
  }
  return null
}

export const rescan =
  (journal: JournalContext): Chains["Service"]["rescan"] => (network, environment, from, to, extraWrites = []) =>
    Effect.gen(function*() {
      const chain = { network, environment }
      const head = yield* followedHead(journal, chain)
      yield* rejectFault(rescanFault(from, to, head))
      return yield* requestRepair(journal, chain, { kind: "rescan", from, to, next: from }, {
        isSame: (open) => open.from === from && open.to === to,
        // What it waits for may never come: the chain has become shorter.
        mayReplace: (open) => open.next !== null && open.next > head
      }, extraWrites)
    }).pipe(withPublicErrors)

/** A follower stores the condition it has found in its next write, and knows of a new anchor one write after it. */
const lossPollMillis = 20
const lossPolls = 100

/**
 * The last reanchor of a network, and whether its chain is lost since: as stored, and as the follower here has found.
 * Waits until both say the same, because a loss that is not stored yet would get the reanchor from before as its
 * answer; at most 2 s, because the follower may be that of another instance.
 */
const readLoss = (journal: JournalContext, { environment, network }: ChainName) =>
  Effect.gen(function*() {
    const last = (yield* journal.repo.repairs(network, environment)).find(({ kind }) => kind === "reanchor")
    // Read after the repair, because both change in one commit: a lost chain now was lost after that repair began.
    const isLost = (yield* journal.repo.cursor(network, environment))?.condition === "no_common_block"
    const isLostHere = followerOf(journal, network, environment)?.status().condition === "no_common_block"
    return { last, isLost, isLostHere }
  }).pipe(
    Effect.repeat({
      while: ({ isLost, isLostHere, last }) => isLost !== isLostHere && last !== undefined && isOpen(last),
      schedule: Schedule.max([Schedule.spaced(lossPollMillis), Schedule.recurs(lossPolls)])
    })
  )

export const reanchor =
  (journal: JournalContext): Chains["Service"]["reanchor"] => (network, environment, height, extraWrites = []) =>
    Effect.gen(function*() {
      const chain = { network, environment }
      yield* followedHead(journal, chain)
      const { isLost, isLostHere, last } = yield* readLoss(journal, chain)
      if (!isLost && !isLostHere && (last === undefined || !isOpen(last))) {
        const message = `The blocks of ${network} that were followed are on the chain: there is nothing to reanchor. ` +
          "To read blocks again, rescan them"
        return yield* publicError("INVALID_TRANSITION", { message })
      }
      return yield* requestRepair(
        journal,
        chain,
        { kind: "reanchor", from: null, to: height, ...inheritReanchor(last) },
        {
          isSame: (open) => open.to === height || (height === null && open.from !== null),
          // One that has not begun can be corrected; one whose blocks were lost again begins anew.
          mayReplace: (open) => open.version === last?.version && (open.from === null ? open.to !== height : isLost)
        },
        extraWrites
      )
    }).pipe(withPublicErrors)

/** Has a network's blocks since a time read again, where that is not under way or done already. */
const readSince = Effect.fnUntraced(function*(journal: JournalContext, chain: ChainName, since: number) {
  const repairs = yield* journal.repo.repairs(chain.network, chain.environment)
  const last = repairs.find(({ kind }) => kind === "restore")
  if (last !== undefined && last.since === since && last.status !== "failed") return progressOf(last)
  return yield* storeRequest(journal, chain, requestedRestore(since, last), last)
})

/** Networks of the environment that are followed; fails where none is. */
const followedNetworks = Effect.fnUntraced(function*({ drivers }: JournalContext, environment: Environment) {
  const followed = [...drivers.values()].filter((each) => each.environment === environment)
  if (followed.length > 0) return followed.map(({ network }) => network)
  const message = `No network is followed on ${environment}: add one to \`chains\` in the config, or name the ` +
    "environment of those that are"
  return yield* publicError("VALIDATION_ERROR", { param: "environment", message })
})

/** Fails where wallets are still being read after a start: one of them may be a list, which would come to its end. */
const requireWallets = Effect.fnUntraced(function*({ addresses, repo, startedAt }: JournalContext, now: number) {
  const known = new Set(addresses.all().map(({ wallet }) => wallet.fingerprint))
  const isMissing = (yield* repo.wallets).wallets.some(({ fingerprint }) => !known.has(fingerprint))
  if (!isMissing || now - startedAt >= walletWaitSeconds) return
  const message = "The wallets are being read after the start of this instance, nothing was declared yet: try again"
  return yield* publicError("SERVICE_UNAVAILABLE", { message, retryAfterSeconds: 5 })
})

/** What is wrong with a declaration; null: nothing. */
const restoreFault = (backupTime: number, skip: number | null, now: number): ArgumentFault | null => {
  const timeFault = backupTimeFault(backupTime, now)
  if (timeFault !== null) return { param: "backup_time", message: timeFault }
  const countFault = skipFault(skip)
  return countFault === null ? null : { param: "skip", message: countFault }
}

export const declareRestore =
  (journal: JournalContext): Chains["Service"]["declareRestore"] => (environment, backupTime, skip) =>
    Effect.gen(function*() {
      const { addresses, repo } = journal
      const now = yield* nowSeconds
      yield* rejectFault(restoreFault(backupTime, skip, now))
      const followed = yield* followedNetworks(journal, environment)
      yield* requireWallets(journal, now)
      const families = new Map(addresses.all().map(({ family, wallet }) => [wallet.fingerprint, family]))
      const wallets = yield* repo.declareRestore({
        backupTime,
        now,
        skip,
        wallets: addresses.all().map(({ wallet }) => wallet).filter((wallet) => wallet._tag === "IndexedWallet"),
        capacity: Math.max(0, maximumAddresses - addresses.total())
      })
      yield* Effect.forEach(wallets, ({ fingerprint }) => addresses.refill(fingerprint), { discard: true })
      const since = Math.max(0, backupTime - restoreMarginSeconds)
      const networks = yield* Effect.forEach(
        followed,
        (network) =>
          Effect.map(readSince(journal, { network, environment }, since), (progress) => ({ ...progress, network }))
      )
      yield* Effect.logWarning("a restored backup was declared: addresses are passed over, blocks are read again", {
        environment,
        backupTime,
        wallets: wallets.length,
        addresses: wallets.reduce((sum, { fromIndex, toIndex }) => sum + toIndex - fromIndex, 0),
        networks: networks.map(({ network, status }) => `${network} ${status}`).join(", ")
      })
      return {
        walletCount: wallets.length,
        wallets: wallets.slice(0, maximumNamedWallets).map((wallet) => (
          { ...wallet, family: families.get(wallet.fingerprint) ?? null }
        )),
        networks
      }
    }).pipe(withPublicErrors)

export const repairs = ({ repo }: JournalContext): Chains["Service"]["repairs"] => (environment) =>
  Effect.map(
    repo.repairs(null, environment),
    (found) => found.map((repair) => ({ ...progressOf(repair), network: repair.network }))
  )
