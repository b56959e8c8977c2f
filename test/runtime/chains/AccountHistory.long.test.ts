/**
 * Goal: a chain that is asked for accounts, where one wallet serves every invoice, loses no payment, credits none
 * twice, and takes back exactly what left it.
 * Method: real PostgreSQL, commit log and leases; a ledger in the test that tells everything again with every look.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Layer, type Scope, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { type ChainDriver, Chains, type IndexedWallet } from "../../../runtime/Chains.ts"
import { Commit, noCause } from "../../../runtime/Commit.ts"
import { type AccountLedger, ledgerWallet, makeAccountLedger } from "../../support/AccountLedger.ts"
import { simulatedChain, triedNetworks } from "../../support/SimulatedChain.ts"
import { readAddress } from "../../../schemas/Address.ts"
import { familyOf } from "../../../schemas/Network.ts"
import { freshDatabase } from "../../support/Database.ts"
import {
  eventually,
  follow,
  inInstance,
  instance,
  type InstanceServices,
  invoiceId,
  markHandled
} from "./ChainsInstance.ts"

const environment = "devnet" as const
const owner = { merchantId: 1, environment, family: "solana" } as const
const allocate = (number: number) =>
  Effect.flatMap(Chains, (chains) => chains.allocate({ ...owner, invoiceId: invoiceId(number) }))

interface EntryRow {
  readonly tx_hash: string
  readonly status: string
  readonly handled: string
  readonly invoice_id: string | null
  readonly merchant_id: number
  readonly version: bigint
  readonly height: bigint
}

const entries = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) =>
    sql<EntryRow>`SELECT tx_hash, status, handled, invoice_id, merchant_id, version, height FROM transfers
    ORDER BY tx_hash`
)

/** Until an entry stands so, and was dealt with as such. */
const until = (txHash: string, status: string) =>
  eventually(
    Effect.map(entries, (rows) =>
      rows.find((row) => row.tx_hash === txHash && row.status === status && row.handled === status))
  )

/** Until the follower has dealt with this many heads more. */
const looks = (ledger: AccountLedger, count: number) =>
  Effect.gen(function*() {
    const chains = yield* Chains
    const head = () => chains.status(environment).find(({ network }) => network === "solana")?.head ?? 0n
    for (let done = 0; done < count; done++) {
      const before = head()
      yield* ledger.advance
      yield* eventually(Effect.sync(() => head() > before ? true : undefined))
    }
  })

/** Runs `work` in an instance on a database of its own, with a ledger that it may follow. */
const onLedger = <E>(
  work: (ledger: AccountLedger) => Effect.Effect<void, E, InstanceServices | Scope.Scope>,
  options: Parameters<typeof makeAccountLedger>[0] = {}
) =>
  Effect.scoped(Effect.gen(function*() {
    const database = yield* freshDatabase
    const ledger = yield* makeAccountLedger(options)
    yield* inInstance(database, work(ledger))
  }))

describe("a chain that is asked for accounts", () => {
  it.live("keeps a payment confirmed that is told again under every later head, and after a restart", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const ledger = yield* makeAccountLedger()
      const confirmed = yield* inInstance(
        database,
        Effect.gen(function*() {
          yield* follow([ledger.driver])
          yield* markHandled
          const { matchKey } = yield* allocate(1)
          yield* ledger.pay(matchKey, 5n)
          const row = yield* until("tx1", "confirmed")
          yield* looks(ledger, 5)
          assert.deepStrictEqual((yield* entries)[0], row)
          return row
        })
      )
      yield* inInstance(
        database,
        Effect.gen(function*() {
          yield* follow([ledger.driver])
          yield* markHandled
          yield* looks(ledger, 3)
          assert.deepStrictEqual(yield* entries, [confirmed])
        })
      )
    }).pipe(Effect.scoped))

  it.live("takes back one transaction and not its neighbours", () =>
    onLedger((ledger) =>
      Effect.gen(function*() {
        yield* follow([ledger.driver])
        yield* markHandled
        const keys = [(yield* allocate(1)).matchKey, (yield* allocate(2)).matchKey, (yield* allocate(3)).matchKey]
        for (const [place, key] of keys.entries()) yield* ledger.pay(key, BigInt(place + 1))
        for (const txHash of ["tx1", "tx2", "tx3"]) yield* until(txHash, "confirmed")
        yield* ledger.drop("tx2")
        yield* until("tx2", "reverted")
        yield* looks(ledger, 2)
        assert.deepStrictEqual((yield* entries).map(({ status }) => status), ["confirmed", "reverted", "confirmed"])
      })
    ))

  it.live("records money that names no invoice for whoever owns the wallet, and moves no counter by it", () =>
    onLedger((ledger) =>
      Effect.gen(function*() {
        const chains = yield* Chains
        const commit = yield* Commit
        const writes = yield* chains.claimWallet(ledgerWallet.fingerprint, 7)
        yield* commit.append({ merchantId: 7, environment, cause: noCause, writes: writes!, events: [] })
        yield* follow([ledger.driver])
        yield* markHandled
        yield* ledger.pay(ledgerWallet.accountKey, 9n)
        const row = yield* until("tx1", "confirmed")
        assert.deepStrictEqual([row.invoice_id, row.merchant_id], [null, 7])
        assert.deepStrictEqual(yield* chains.walletUse(ledgerWallet.fingerprint), {
          nextIndex: null,
          highestUsedIndex: null
        })
        yield* ledger.pay((yield* allocate(1)).matchKey, 9n)
        yield* until("tx2", "confirmed")
        assert.deepStrictEqual(yield* chains.walletUse(ledgerWallet.fingerprint), {
          nextIndex: 1,
          highestUsedIndex: 0
        })
      })
    ))

  it.live("gives an invoice the same target from every instance, and each instance watches it", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const ledgers = [yield* makeAccountLedger(), yield* makeAccountLedger()]
      const instances = [yield* Layer.build(instance(database)), yield* Layer.build(instance(database))]
      for (const [place, each] of instances.entries()) {
        yield* follow([ledgers[place]!.driver]).pipe(Effect.provideContext(each))
      }
      const numbers = Array.from({ length: 60 }, (_, number) => number)
      const [one, other] = yield* Effect.all(
        instances.map((each) =>
          Effect.forEach(numbers, allocate, { concurrency: 8 }).pipe(Effect.provideContext(each))
        ),
        { concurrency: 2 }
      )
      assert.deepStrictEqual(one, other)
      assert.strictEqual(new Set(one!.map(({ matchKey }) => matchKey)).size, numbers.length)
      // One of the two follows; the other learns what both gave out when it looks.
      const chains = yield* Chains.pipe(Effect.provideContext(instances[1]!))
      const isOurs = (key: string) => chains.isReceiveAddress("solana", environment, key)
      assert.isTrue((yield* Effect.forEach(one!, ({ matchKey }) => isOurs(matchKey))).every((each) => each))
    }).pipe(Effect.scoped))

  for (const network of triedNetworks) {
    it.live(`knows its own address of ${network} as wallets show it, so that no refund is paid to it`, () =>
      Effect.gen(function*() {
        const database = yield* freshDatabase
        const { driver } = yield* simulatedChain(network)
        yield* inInstance(
          database,
          Effect.gen(function*() {
            const chains = yield* Chains
            yield* follow([driver])
            const family = familyOf(network)
            const { address } = yield* chains.allocate({ ...owner, family, invoiceId: invoiceId(1) })
            const shown = readAddress(network, environment, address)!
            assert.isTrue(yield* chains.isReceiveAddress(network, environment, shown))
          })
        )
      }).pipe(Effect.scoped))
  }

  it.live("gives nobody the address of a shared wallet out of a list, or its money would pay their invoice", () =>
    onLedger((ledger) =>
      Effect.gen(function*() {
        const listed: IndexedWallet = {
          _tag: "IndexedWallet",
          fingerprint: "list of another merchant",
          derive: () => ({ address: ledgerWallet.address, matchKey: ledgerWallet.accountKey, memo: null }),
          startIndex: 0,
          size: 1,
          gapLimit: null
        }
        const chains = yield* Chains
        yield* chains.registerWallets({
          current: ({ merchantId }) => Effect.succeed(merchantId === 2 ? listed : null),
          withFingerprint: () => Effect.succeed(null)
        })
        yield* follow([ledger.driver])
        const given = chains.allocate({ ...owner, merchantId: 2, invoiceId: invoiceId(2) })
        assert.strictEqual((yield* Effect.flip(given)).code, "UNSUPPORTED_NETWORK")
      })
    ))

  it.live("watches the shared wallet once and no memo, as long as it is there", () =>
    onLedger((ledger) =>
      Effect.gen(function*() {
        yield* follow([ledger.driver])
        const watch = yield* ledger.watch
        yield* allocate(1)
        yield* allocate(2)
        yield* watch.refresh
        assert.deepStrictEqual(watch.accounts(), [{ key: ledgerWallet.accountKey, isOpen: true }])
        assert.strictEqual(watch.accounts(), watch.accounts())
        assert.isTrue(watch.has(ledgerWallet.targetOf(invoiceId(2)).matchKey))
      })
    ))

  it.live("looks for a reported transfer by its transaction, whatever height the report names", () =>
    onLedger((ledger) =>
      Effect.gen(function*() {
        const chains = yield* Chains
        yield* follow([ledger.driver])
        yield* markHandled
        const { matchKey } = yield* allocate(1)
        const { at, ...transfer } = yield* ledger.pay(matchKey, 5n, { isHidden: true })
        yield* looks(ledger, 2)
        assert.deepStrictEqual(yield* entries, [])
        const point = { height: at.height + 2n, hash: "as somebody says" }
        yield* chains.report({ ...transfer, network: "solana", environment, point, time: at.time })
        const row = yield* until("tx1", "confirmed")
        assert.strictEqual(row.height, at.height)
      })
    ))

  it.live("finds what was missed when heights are read again", () =>
    onLedger((ledger) =>
      Effect.gen(function*() {
        const chains = yield* Chains
        yield* follow([ledger.driver])
        yield* markHandled
        const { matchKey } = yield* allocate(1)
        const { at } = yield* ledger.pay(matchKey, 5n, { isHidden: true })
        yield* looks(ledger, 2)
        yield* chains.rescan("solana", environment, at.height - 50n, at.height + 5n)
        yield* until("tx1", "confirmed")
        const [repair] = yield* eventually(
          Effect.map(chains.repairs(environment), (all) => all[0]?.status === "done" ? all : undefined)
        )
        assert.strictEqual(repair!.credited, 1)
      })
    ))

  it.live("names the heights that no node has any more, and reads all others", () =>
    onLedger((ledger) =>
      Effect.gen(function*() {
        const chains = yield* Chains
        yield* follow([ledger.driver])
        yield* markHandled
        yield* ledger.pay(ledgerWallet.accountKey, 4n, { txHash: "older" })
        const { at } = yield* ledger.pay((yield* allocate(1)).matchKey, 5n, { isHidden: true })
        yield* looks(ledger, 2)
        yield* ledger.prune(at.height - 1n)
        yield* chains.rescan("solana", environment, at.height - 5n, at.height + 5n)
        yield* until("tx1", "confirmed")
        const [repair] = yield* eventually(
          Effect.map(chains.repairs(environment), (all) => all[0]?.status === "failed" ? all : undefined)
        )
        assert.include(repair!.reason!, `blocks ${at.height - 5n} to ${at.height - 2n}`)
      })
    ))

  /** Until the network stands so. */
  const becomes = (condition: string) =>
    Effect.flatMap(
      Chains,
      (chains) =>
        eventually(Effect.sync(() => chains.status(environment)[0]?.condition === condition ? true : undefined))
    )

  /** Until the reanchor ends; how it ended. */
  const reanchored = Effect.flatMap(Chains, (chains) =>
    eventually(
      Effect.map(chains.repairs(environment), (all) =>
        all.find(({ kind, status }) => kind === "reanchor" && (status === "done" || status === "failed")))
    ))

  /**
   * A node names a head far above its chain for a while. An address is given out after that, and a payment comes to it
   * that nobody tells the follower of; its height.
   */
  const payBelowCursor = (ledger: AccountLedger, number: number) =>
    Effect.gen(function*() {
      const chains = yield* Chains
      yield* ledger.exceed(1_000_000n)
      yield* ledger.advance
      yield* eventually(Effect.sync(() => (chains.status(environment)[0]?.head ?? 0n) > 1_000_000n ? true : undefined))
      yield* ledger.exceed(0n)
      yield* becomes("no_common_block")
      const { matchKey } = yield* allocate(number)
      return (yield* ledger.pay(matchKey, 6n, { isHidden: true })).at.height
    })

  it.live("goes on with one call after its node named a head far above the chain, and loses and doubles no payment", () =>
    onLedger((ledger) =>
      Effect.gen(function*() {
        const chains = yield* Chains
        yield* follow([ledger.driver])
        yield* markHandled
        yield* ledger.pay((yield* allocate(1)).matchKey, 5n)
        const first = yield* until("tx1", "confirmed")
        yield* payBelowCursor(ledger, 2)
        yield* chains.reanchor("solana", environment, null)
        const second = yield* until("tx2", "confirmed")
        const { credited, status } = yield* reanchored
        assert.deepStrictEqual([status, credited], ["done", 1])
        assert.strictEqual(second.invoice_id, invoiceId(2))
        yield* becomes("ok")
        yield* ledger.pay((yield* allocate(3)).matchKey, 7n)
        yield* until("tx3", "confirmed")
        yield* looks(ledger, 2)
        const rows = yield* entries
        assert.deepStrictEqual(rows.slice(0, 2), [first, second])
        assert.lengthOf(rows, 3)
      })
    ))

  it.live.each([{ what: "a day of it", isNamed: false }, { what: "from the height that is named", isNamed: true }])(
    "reads $what again where even its first head lay far above the chain",
    ({ isNamed }) =>
      onLedger((ledger) =>
        Effect.gen(function*() {
          const chains = yield* Chains
          yield* ledger.exceed(1_000_000n)
          yield* follow([ledger.driver])
          yield* markHandled
          const height = yield* payBelowCursor(ledger, 1)
          yield* chains.reanchor("solana", environment, isNamed ? height : null)
          yield* until("tx1", "confirmed")
          const repair = yield* reanchored
          assert.deepStrictEqual([repair.status, repair.from], ["done", height])
          yield* becomes("ok")
        })
      )
  )

  it.live("says what a reanchor may name where that lies above the chain", () =>
    onLedger((ledger) =>
      Effect.gen(function*() {
        const chains = yield* Chains
        yield* follow([ledger.driver])
        yield* markHandled
        yield* looks(ledger, 1)
        yield* payBelowCursor(ledger, 1)
        yield* chains.reanchor("solana", environment, 900_000n)
        const { reason, status } = yield* reanchored
        assert.strictEqual(status, "failed")
        assert.match(reason!, /^block 900000 is not on the chain yet: the newest block is \d+$/)
      })
    ))

  /** Pays while the network's node does not answer, does `before`, and lets it answer then; the restore's request. */
  const payBeforeFirstBlock = (before: Effect.Effect<unknown, unknown, InstanceServices>) =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const ledger = yield* makeAccountLedger()
      const answers = yield* Deferred.make<void>()
      const late: ChainDriver = {
        ...ledger.driver,
        follow: (recent, watch) =>
          Stream.unwrap(Effect.as(Deferred.await(answers), ledger.driver.follow(recent, watch)))
      }
      return yield* inInstance(
        database,
        Effect.gen(function*() {
          yield* follow([late])
          yield* markHandled
          const { matchKey } = yield* allocate(1)
          yield* ledger.pay(matchKey, 5n, { isHidden: true })
          const sql = yield* SqlClient.SqlClient
          yield* sql`UPDATE receive_targets SET created_at = created_at - 30`
          yield* before
          yield* Deferred.succeed(answers, undefined)
          yield* until("tx1", "confirmed")
          const [request] = yield* sql<{ since: bigint; early: bigint }>`
            SELECT r.since, t.created_at - 900 AS early FROM chain_repairs r, receive_targets t`
          return { since: Number(request!.since), earliestNeeded: Number(request!.early) }
        })
      )
    }).pipe(Effect.scoped)

  it.live("finds what was paid before the first block of a network was read, because its node did not answer", () =>
    Effect.gen(function*() {
      const { earliestNeeded, since } = yield* payBeforeFirstBlock(Effect.void)
      assert.strictEqual(since, earliestNeeded)
    }))

  it.live.each([
    { backup: "just now", ageSeconds: 0 },
    { backup: "an hour ago", ageSeconds: 3_600 }
  ])(
    "finds it as well where a restored backup was declared before the first block, made $backup",
    ({ ageSeconds }) =>
      Effect.gen(function*() {
        const backupTime = Math.floor(Date.now() / 1000) - ageSeconds
        const declare = Effect.flatMap(Chains, (chains) => chains.declareRestore(environment, backupTime, 0))
        const { earliestNeeded, since } = yield* payBeforeFirstBlock(declare)
        assert.strictEqual(since, Math.min(earliestNeeded, backupTime - 900))
      })
  )

  it.live("vouches for no later second than its driver does", () =>
    onLedger((ledger) =>
      Effect.gen(function*() {
        const chains = yield* Chains
        yield* follow([ledger.driver])
        yield* allocate(1)
        const id = invoiceId(1)
        yield* looks(ledger, 2)
        const covered = yield* chains.coverage(environment, [{ id, merchantId: 1 }])
        const { networks } = covered.get(id)!
        assert.isAtMost(networks[0]!.seenUntil!, Math.floor(Date.now() / 1000) - 40)
      }), { lagSeconds: 40 }))
})
