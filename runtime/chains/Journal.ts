/** `Chains` over the store: drivers are followed, their transfers journalled and handed over. See runtime/Chains.ts. */
import { Clock, Effect, Layer, Queue, Schedule, Semaphore } from "effect"
import type { SqlClient } from "effect/sql"
import { PublicError, publicError } from "../../schemas/Errors.ts"
import { type Environment, type Family, familyOf, type Network } from "../../schemas/Network.ts"
import {
  type ChainDriver, Chains, failingAttempts, type JournalEntry, type RepairProgress, type ReportState, type WalletOwner,
  type WalletRef
} from "../Chains.ts"
import { Commit, Conflict, noCause, systemMerchant, type Write } from "../Commit.ts"
import { Leases } from "../Leases.ts"
import { TokenCatalog } from "../TokenCatalog.ts"
import { guard } from "./Attesting.ts"
import { claimOf, contradictsReport, entryIds } from "./Claims.ts"
import { finalityOf, reportedEntry } from "./Depth.ts"
import { type Follower, start } from "./Followers.ts"
import { type Handler, run } from "./Handling.ts"
import { find as findReceivers } from "./Receivers.ts"
import { inherited, isOpen, maximumRescanBlocks, type Repair, repairId } from "./Repairs.ts"
import { backupTimeFault, namedWallets, restoreMarginSeconds, skipFault, walletWaitSeconds } from "./Restores.ts"
import {
  balanceWrite, cursorId, make as makeRows, repairWrite, transferId, transferWrite, walletOwnerWrite
} from "./Rows.ts"
import { make as makeTargets, shown } from "./Targets.ts"
import { make as makeAddresses, maximumAddresses } from "./WalletAddresses.ts"

/** Conflicts in a row before a small write gives up. */
const conflictRetries = 10
/** How often reported entries of networks without a driver are looked at, beside the look after each handling. */
const reportedMillis = 5_000
/** Their entries confirmed at once. */
const reportedLimit = 500

/** Blocks by which a report may be ahead of the follower: its reporter's node may be faster, but it cannot be a wrong unit. */
const maximumHeightAhead = 1_000n

/** Seconds by which the time of a reported block may be in the future: clocks differ, and milliseconds are a wrong unit. */
const maximumSecondsAhead = 900

/** Milliseconds an allocation waits for the chains to be read up to their end after a start, and between two looks. */
const catchUpWaitMillis = 8_000
const catchUpLookMillis = 20

/** How a reported entry stands. */
const stateOf = ({ confirmations, status }: JournalEntry): ReportState =>
  status === "seen" && confirmations === 0 ? "reported" : status

type Wish = Pick<Repair, "kind" | "from" | "to" | "next"> & Partial<Pick<Repair, "since" | "finalBefore">>

type TransferSighting = Parameters<Chains["Service"]["report"]>[0]

const make = Effect.gen(function*() {
  const commit = yield* Commit
  const leases = yield* Leases
  const catalog = yield* TokenCatalog
  const rows = yield* makeRows
  const followers = new Map<string, Follower>()
  const followersOf = (family: Family) =>
    [...followers.values()].filter(({ driver }) => familyOf(driver.network) === family)
  const addresses = yield* makeAddresses(rows)
  const targets = yield* makeTargets(rows, addresses, {
    heads: (family) =>
      Object.fromEntries(followersOf(family).flatMap(({ driver, newest }) => {
        const head = newest()
        return head === null ? [] : [[cursorId(driver.network, driver.environment), { height: head.height, time: head.time }]]
      })),
    caughtUp: Effect.fnUntraced(function*(family) {
      for (let waited = 0; waited < catchUpWaitMillis; waited += catchUpLookMillis) {
        if (followersOf(family).every(({ isCaughtUp }) => isCaughtUp())) return
        yield* Effect.sleep(catchUpLookMillis).pipe(Effect.provideService(Clock.Clock, Clock.Clock.defaultValue()))
      }
      return yield* publicError("NETWORK_DEGRADED", {
        message: "The chains are being read up to now after a start, addresses are given out after that: try again",
        retryAfterSeconds: 5
      })
    })
  })
  const wakes = yield* Queue.sliding<void>(1)
  const wakeHandler = Effect.asVoid(Queue.offer(wakes, undefined))
  const drivers = new Map<string, ChainDriver>()
  const oneSweep = yield* Semaphore.make(1)
  let simulatedOutage: ((merchantId: number, network: Network) => boolean) | undefined
  let merchantWallet: ((owner: WalletOwner) => Effect.Effect<WalletRef | null>) | undefined

  const nowSeconds = Effect.map(Clock.currentTimeMillis, (millis) => Math.floor(millis / 1000))

  const startedAt = yield* nowSeconds

  const write = (environment: Environment, writes: ReadonlyArray<Write>) =>
    commit.append({ merchantId: systemMerchant, environment, cause: noCause, writes, events: [] })

  const onConflict = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.retry(effect, { while: (error) => error instanceof Conflict, times: conflictRetries })

  const driver = (network: Network, environment: Environment) => drivers.get(cursorId(network, environment))

  const register = Effect.fnUntraced(function*(added: ChainDriver) {
    const id = cursorId(added.network, added.environment)
    if (drivers.has(id)) return yield* Effect.die(new Error(`two chain drivers for ${id}: remove one`))
    drivers.set(id, added)
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        drivers.delete(id)
        followers.delete(id)
      })
    )
    yield* guard(added, catalog)
    // Before the first block is read: it may hold a payment to an address that a restored backup does not remember.
    if (added.wallet !== null) yield* addresses.lookNow(added.wallet, familyOf(added.network))
    followers.set(id, yield* start(added, { catalog, rows, commit, leases, targets, addresses, wakeHandler }))
  })

  const status: Chains["Service"]["status"] = (environment, merchantId) => {
    const found = [...followers.values()].filter(({ driver }) => driver.environment === environment)
      .map((each) => each.status())
    const isDown = simulatedOutage
    return merchantId === undefined || isDown === undefined || environment !== "devnet"
      ? found
      : found.map((each) => (isDown(merchantId, each.network) ? { ...each, healthy: false, condition: "silent" } : each))
  }

  const registerOutages: Chains["Service"]["registerOutages"] = (isDown) =>
    Effect.acquireRelease(
      simulatedOutage === undefined
        ? Effect.sync(() => {
          simulatedOutage = isDown
        })
        : Effect.die(new Error("two plugins simulate outages: remove one")),
      () =>
        Effect.sync(() => {
          simulatedOutage = undefined
        })
    )

  const driversOf = ({ environment, family }: Omit<WalletOwner, "merchantId">) =>
    [...drivers.values()].filter((each) => each.environment === environment && familyOf(each.network) === family)

  const registerWallets: Chains["Service"]["registerWallets"] = (walletOf) =>
    Effect.acquireRelease(
      merchantWallet === undefined
        ? Effect.sync(() => {
          merchantWallet = walletOf
        })
        : Effect.die(new Error("two plugins know the merchants' wallets: remove one")),
      () =>
        Effect.sync(() => {
          merchantWallet = undefined
        })
    )

  const wallet: Chains["Service"]["wallet"] = Effect.fnUntraced(function*(owner) {
    const running = driversOf(owner)
    if (running.length === 0) return null
    const own = merchantWallet === undefined ? null : yield* merchantWallet(owner)
    return own ?? running.find((each) => each.wallet !== null)?.wallet ?? null
  })

  const readWallet: Chains["Service"]["readWallet"] = (owner, kind, value) =>
    driversOf(owner)[0]?.readWallet(kind, value) ?? Effect.succeed(null)

  const claimWallet: Chains["Service"]["claimWallet"] = Effect.fnUntraced(function*(fingerprint, merchantId) {
    if ([...drivers.values()].some(({ wallet }) => wallet?.fingerprint === fingerprint)) return null
    const owner = (yield* rows.walletOwners([fingerprint])).get(fingerprint)
    return owner === undefined ? [walletOwnerWrite(fingerprint, merchantId)] : owner === merchantId ? [] : null
  })

  const walletUse: Chains["Service"]["walletUse"] = (fingerprint) =>
    Effect.zipWith(rows.counter(fingerprint), rows.highestUsedIndex(fingerprint), (counter, highestUsedIndex) => ({
      nextIndex: counter?.nextIndex ?? null,
      highestUsedIndex
    }))

  const allocate: Chains["Service"]["allocate"] = Effect.fnUntraced(function*(request) {
    // What was allocated once stays, whatever has become of the wallet since.
    const known = yield* targets.target(request.invoiceId, request.family)
    if (known !== null) return shown(known)
    const receiving = yield* wallet(request)
    if (receiving === null) return yield* publicError("UNSUPPORTED_NETWORK")
    return yield* targets.allocate(receiving, request)
  })

  const target: Chains["Service"]["target"] = (invoiceId, family) =>
    Effect.map(targets.target(invoiceId, family), (found) => found === null ? null : shown(found))

  const targetsOf: Chains["Service"]["targets"] = (invoiceId) =>
    Effect.map(rows.targetsOfInvoice(invoiceId), (found) => new Map(found.map((row) => [row.family, shown(row)])))

  const isReceiveAddress: Chains["Service"]["isReceiveAddress"] = (network, environment, address) => {
    const { has, refresh } = targets.watch(familyOf(network), environment)
    // Addresses in hexadecimal are matched without their checksum.
    return Effect.map(refresh, () => has(address) || has(address.toLowerCase()))
  }

  const sightOf: Chains["Service"]["sight"] = Effect.fnUntraced(function*(environment, invoices) {
    // The networks first: what was read of them by now is in the journal that is asked next.
    const seen = [...followers.values()].filter(({ driver }) => driver.environment === environment)
      .map((each) => each.sight())
    const isDown = (merchantId: number, network: Network) =>
      environment === "devnet" && simulatedOutage?.(merchantId, network) === true
    const owners = new Map(invoices.map(({ id, merchantId }) => [id, merchantId]))
    const found = invoices.length === 0
      ? []
      : yield* rows.sightOfInvoices(invoices.map(({ id }) => id), failingAttempts)
    return new Map(found.map(({ families, handling, invoiceId }) => [invoiceId, {
      networks: seen.filter(({ network }) => families.includes(familyOf(network))).map((each) =>
        isDown(owners.get(invoiceId)!, each.network) ? { ...each, seenUntil: null, isAdvancing: false } : each),
      handling
    }]))
  })

  const handled: Chains["Service"]["handled"] = (entry, required) =>
    transferWrite({ ...entry, handled: entry.status, required, attempts: 0, version: entry.version + 1 })

  /** A report is all there is where nobody follows the network: the watcher elsewhere answers for its depth. */
  const confirmReported = oneSweep.withPermits(1)(Effect.gen(function*() {
    const found = yield* rows.reported([...drivers.keys()], reportedLimit)
    if (found.length === 0) return
    const writes = found.map((entry) => transferWrite({ ...entry, status: "confirmed", version: entry.version + 1 }))
    yield* write(found[0]!.environment, writes)
    yield* wakeHandler
  }).pipe(
    onConflict,
    Effect.catchCause((cause) => Effect.logWarning("reported transfers could not be confirmed", cause))
  ))

  const dealtWith = (entry: JournalEntry) =>
    followers.get(cursorId(entry.network, entry.environment))?.check ?? confirmReported

  const onTransfer = (handler: Handler) =>
    Effect.gen(function*() {
      yield* Effect.forkScoped(run({ rows, commit, leases, wakes, dealtWith }, handler))
      yield* Effect.forkScoped(Effect.repeat(confirmReported, Schedule.spaced(reportedMillis)))
    })

  const journal = Effect.fnUntraced(function*(told: TransferSighting) {
    const { environment, network, point } = told
    const now = yield* nowSeconds
    if (told.time < 0 || told.time > now + maximumSecondsAhead) {
      const message = `\`block_time\` is the time of the block in epoch seconds, 0 to ${now + maximumSecondsAhead}, and it was ` +
        `${told.time}`
      return yield* publicError("VALIDATION_ERROR", { param: "block_time", message })
    }
    // Credits by comparing balances have such ids, and no transaction of a chain has.
    if (told.txHash.startsWith("balance:")) {
      const message = "`tx_hash` is the hash of a transaction, as the chain spells it"
      return yield* publicError("VALIDATION_ERROR", { param: "tx_hash", message })
    }
    const block = { ...point, time: told.time }
    const receivers = yield* findReceivers({ rows, addresses }, { network, environment, point: block }, [told.matchKey])
    // The time is the reporter's: where the network is followed, the block itself says whether it is older than the target.
    const given = drivers.has(cursorId(network, environment))
      ? (yield* rows.targetsByKey(familyOf(network), environment, [told.matchKey]))[0]
      : undefined
    const owner = given ?? receivers.get(told.matchKey)
    if (owner === undefined) {
      const message = `No invoice of ${environment} was given the address \`match_key\` on ${familyOf(network)}: correct ` +
        "it, the network or the environment"
      return yield* publicError("VALIDATION_ERROR", { param: "match_key", message })
    }
    const first = transferId(network, environment, told.txHash, told.index)
    const entries = new Map((yield* rows.transfers(entryIds(first, told.matchKey))).map((entry) => [entry.id, entry]))
    const { entry: known, id } = claimOf(entries, first, told.matchKey)
    const other = entries.get(first)
    if (contradictsReport(other, told.matchKey, drivers.has(cursorId(network, environment)))) {
      const message = `Transfer ${told.index} of this transaction went to ${other!.matchKey}: correct \`match_key\` or \`index\``
      return yield* publicError("VALIDATION_ERROR", { param: "match_key", message })
    }
    const follower = followers.get(cursorId(network, environment))
    const head = follower?.head() ?? null
    if (head !== null && point.height > head + maximumHeightAhead) {
      const message = `The newest block read here is ${head}: \`height\` may be at most ${maximumHeightAhead} above it`
      return yield* publicError("VALIDATION_ERROR", { param: "height", message })
    }
    const entry = reportedEntry(known, told, owner, {
      network,
      environment,
      point: block,
      observedAt: yield* nowSeconds,
      unlisted: told.tokenAddress !== null && catalog.find(network, environment, told.tokenAddress) === undefined,
      id
    })
    if (entry !== undefined) {
      yield* write(environment, [transferWrite(entry)])
      yield* wakeHandler
      yield* follower?.check ?? Effect.void
    }
    return stateOf(entry ?? known!)
  })

  /** Lost races are run again; what the database cannot do now may be tried again. */
  const answering = <A, E extends { readonly _tag: string }>(effect: Effect.Effect<A, E | PublicError>) =>
    onConflict(effect).pipe(
      Effect.mapError((error) =>
        error instanceof PublicError ? error : publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 })
      )
    )

  const report: Chains["Service"]["report"] = (told) => answering(journal(told))

  /** The network's head as it is followed, here or elsewhere; fails where nobody follows it. */
  const followedHead = Effect.fnUntraced(function*(network: Network, environment: Environment) {
    const head = followers.get(cursorId(network, environment))?.head() ??
      (yield* rows.cursor(network, environment))?.recent[0]?.height
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
    reason: reason !== null && isOpen({ status }) ? `no endpoint has ${reason} any more; the others are being read` : reason
  })

  /** Stores a wish in the place of the last one of its kind, for the follower to take up wherever it runs. */
  const wish = Effect.fnUntraced(function*(
    network: Network,
    environment: Environment,
    wanted: Wish,
    isSame: (open: Repair) => boolean,
    mayReplace: (open: Repair) => boolean = () => false
  ) {
    const id = repairId(network, environment, wanted.kind)
    const last = (yield* rows.repairs(network, environment)).find((repair) => repair.id === id)
    if (last !== undefined && isOpen(last) && !mayReplace(last)) {
      if (isSame(last)) return progressOf(last)
      const blocks = last.from === null
        ? `to block ${last.to ?? "that is the newest final one"}, waiting for a node`
        : `blocks ${last.from} to ${last.to}, next ${last.next}`
      const message = `A ${last.kind} of ${network} is under way (${blocks}): ` +
        "ask again when chains.status says that it is done"
      return yield* publicError("INVALID_TRANSITION", { message })
    }
    return yield* renew(network, environment, wanted, last)
  })

  /** A wish in the place of `last`. */
  const renew = Effect.fnUntraced(function*(
    network: Network,
    environment: Environment,
    wanted: Wish,
    last: Repair | undefined
  ) {
    const repair: Repair = {
      since: null,
      finalBefore: null,
      ...wanted,
      id: repairId(network, environment, wanted.kind),
      network,
      environment,
      credited: 0,
      status: "waiting",
      reason: null,
      requestedAt: yield* nowSeconds,
      version: (last?.version ?? 0) + 1
    }
    yield* write(environment, [repairWrite(repair)])
    return progressOf(repair)
  })

  const rescan: Chains["Service"]["rescan"] = (network, environment, from, to) =>
    Effect.gen(function*() {
      const head = yield* followedHead(network, environment)
      if (from > to) {
        const message = `\`from\` is the first block and \`to\` the last: ${from} is above ${to}`
        return yield* publicError("VALIDATION_ERROR", { param: "from", message })
      }
      if (to > head) {
        const message = `Block ${to} was not read yet: \`to\` may be at most ${head}, the newest block that was`
        return yield* publicError("VALIDATION_ERROR", { param: "to", message })
      }
      if (to - from >= maximumRescanBlocks) {
        const message = `A call rescans at most ${maximumRescanBlocks} blocks, and these are ${to - from + 1n}: ask in parts`
        return yield* publicError("VALIDATION_ERROR", { param: "to", message })
      }
      const wanted = { kind: "rescan", from, to, next: from } as const
      return yield* wish(
        network,
        environment,
        wanted,
        (open) => open.from === from && open.to === to,
        // What it waits for may never come: the chain has become shorter.
        (open) => open.next !== null && open.next > head
      )
    }).pipe(answering)

  const reanchor: Chains["Service"]["reanchor"] = (network, environment, height) =>
    Effect.gen(function*() {
      yield* followedHead(network, environment)
      const last = (yield* rows.repairs(network, environment)).find(({ kind }) => kind === "reanchor")
      // Read after the repair, because both change in one commit: a lost chain now was lost after that repair began.
      const isLost = (yield* rows.cursor(network, environment))?.condition === "no_common_block"
      const condition = followers.get(cursorId(network, environment))?.status().condition
      if (!isLost && condition !== "no_common_block" && (last === undefined || !isOpen(last))) {
        const message = `The blocks of ${network} that were followed are on the chain: there is nothing to reanchor. ` +
          "To read blocks again, call chains.rescan"
        return yield* publicError("INVALID_TRANSITION", { message })
      }
      const wanted = { kind: "reanchor", from: null, to: height, ...inherited(last) } as const
      return yield* wish(
        network,
        environment,
        wanted,
        (open) => open.to === height || (height === null && open.from !== null),
        // One that has not begun can be corrected; one whose blocks were lost again begins anew.
        (open) => open.version === last?.version && (open.from === null ? open.to !== height : isLost)
      )
    }).pipe(answering)

  /** Has a network's blocks since a time read again, where that is not under way or done already. */
  const readSince = Effect.fnUntraced(function*(network: Network, environment: Environment, since: number) {
    const last = (yield* rows.repairs(network, environment)).find(({ kind }) => kind === "restore")
    if (last !== undefined && last.since === since && last.status !== "failed") return progressOf(last)
    // Two declarations: what either needs.
    const earliest = last !== undefined && isOpen(last) ? Math.min(since, last.since ?? since) : since
    return yield* renew(network, environment, { kind: "restore", from: null, to: null, next: null, since: earliest }, last)
  })

  const restored: Chains["Service"]["restored"] = (environment, backupTime, skip) =>
    Effect.gen(function*() {
      const now = yield* nowSeconds
      const timeFault = backupTimeFault(backupTime, now)
      if (timeFault !== null) return yield* publicError("VALIDATION_ERROR", { param: "backup_time", message: timeFault })
      const fault = skipFault(skip)
      if (fault !== null) return yield* publicError("VALIDATION_ERROR", { param: "skip", message: fault })
      const followed = [...drivers.values()].filter((each) => each.environment === environment)
      if (followed.length === 0) {
        const message = `No network is followed on ${environment}: add one to \`chains\` in the config, or name the ` +
          "environment of those that are"
        return yield* publicError("VALIDATION_ERROR", { param: "environment", message })
      }
      const known = new Set(addresses.all().map(({ wallet }) => wallet.fingerprint))
      const isMissing = (yield* rows.wallets).some(({ fingerprint }) => !known.has(fingerprint))
      if (isMissing && now - startedAt < walletWaitSeconds) {
        // One of them may be a list, which would come to its end.
        const message = "The wallets are being read after the start of this instance, nothing was declared yet: try again"
        return yield* publicError("SERVICE_UNAVAILABLE", { message, retryAfterSeconds: 5 })
      }
      const families = new Map(addresses.all().map(({ family, wallet }) => [wallet.fingerprint, family]))
      const wallets = yield* rows.declareRestore({
        backupTime,
        now,
        skip,
        wallets: addresses.all().map(({ wallet }) => wallet),
        room: Math.max(0, maximumAddresses - addresses.total())
      })
      yield* Effect.forEach(wallets, ({ fingerprint }) => addresses.lookAgain(fingerprint), { discard: true })
      const since = Math.max(0, backupTime - restoreMarginSeconds)
      const networks = yield* Effect.forEach(followed, ({ network }) =>
        Effect.map(readSince(network, environment, since), (progress) => ({ ...progress, network })))
      yield* Effect.logWarning("a restored backup was declared: addresses are passed over, blocks are read again", {
        environment,
        backupTime,
        wallets: wallets.length,
        addresses: wallets.reduce((sum, { fromIndex, toIndex }) => sum + toIndex - fromIndex, 0),
        networks: networks.map(({ network, status }) => `${network} ${status}`).join(", ")
      })
      return {
        walletCount: wallets.length,
        wallets: wallets.slice(0, namedWallets).map((wallet) => (
          { ...wallet, family: families.get(wallet.fingerprint) ?? null }
        )),
        networks
      }
    }).pipe(answering)

  const repairs: Chains["Service"]["repairs"] = (environment) =>
    Effect.map(rows.repairs(null, environment), (found) =>
      found.map((repair) => ({ ...progressOf(repair), network: repair.network })))

  const openBase = Effect.fnUntraced(function*(invoiceId: string, network: Network, environment: Environment) {
    const owner = yield* targets.target(invoiceId, familyOf(network))
    const follower = followers.get(cursorId(network, environment))
    if (owner === null || follower === undefined || follower.driver.balanceAt === null) return
    const id = `${network}:${environment}:${owner.matchKey}`
    const current = yield* rows.balance(id)
    if (current?.open === true) return
    const head = follower.head() ?? (yield* rows.cursor(network, environment))?.recent[0]?.height
    if (current === null && head === undefined) return yield* Effect.logWarning("no block read yet", { network })
    const base = current ?? {
      id,
      merchantId: owner.merchantId,
      version: 0,
      network,
      environment,
      matchKey: owner.matchKey,
      invoiceId,
      address: owner.address,
      sinceHeight: head!,
      sinceBalance: null,
      height: head!,
      openedAt: yield* nowSeconds,
      open: true
    }
    yield* write(environment, [balanceWrite({ ...base, open: true, version: base.version + 1 })])
  })

  const closeBase = Effect.fnUntraced(function*(invoiceId: string, network: Network, environment: Environment) {
    const open = (yield* rows.balancesOfInvoice(invoiceId)).filter((base) =>
      base.open && base.network === network && base.environment === environment
    )
    if (open.length === 0) return
    yield* write(environment, open.map((base) => balanceWrite({ ...base, open: false, version: base.version + 1 })))
  })

  const reconcile: Chains["Service"]["reconcile"] = (invoiceId, network, environment, open = true) =>
    (open ? openBase : closeBase)(invoiceId, network, environment).pipe(
      onConflict,
      Effect.catchCause((cause) => Effect.logWarning("a balance is not compared", { invoiceId, network }, cause))
    )

  const finality: Chains["Service"]["finality"] = (invoiceIds) =>
    invoiceIds.length === 0 ? Effect.succeed([]) : Effect.map(rows.transfersOfInvoices(invoiceIds), (found) =>
      found.map(({ entry, heights }) => ({
        id: entry.id,
        network: entry.network,
        finality: finalityOf(entry, heights)
      })))

  return Chains.of({
    register,
    driver,
    status,
    registerOutages,
    registerWallets,
    wallet,
    readWallet,
    walletUse,
    claimWallet,
    watchWallet: addresses.look,
    allocate,
    target,
    targets: targetsOf,
    isReceiveAddress,
    sight: sightOf,
    transfers: rows.transfersOfInvoice,
    onTransfer,
    handled,
    finality,
    report,
    rescan,
    reanchor,
    restored,
    repairs,
    reconcile
  })
})

/** Chains with its journal in the store. Drivers and the handler register later, from plugins. */
export const layer: Layer.Layer<Chains, never, SqlClient.SqlClient | Commit | Leases | TokenCatalog> = Layer.effect(Chains, make)
