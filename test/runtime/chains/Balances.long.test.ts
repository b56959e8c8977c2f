/**
 * Goal: coins a contract passed on are credited once, and nothing else is.
 * Method: the rule alone; then real PostgreSQL and a real EVM node, with a forward no block scan can see, a restart in
 * the middle of it all, and a reorg that takes the forward back.
 */
import { NodeHttpClient } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer, Redacted, Schedule, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { type Abi, encodeFunctionData } from "viem"
import artifact from "../../../modules/chains/evm/contracts/Collector.json" with { type: "json" }
import { collector, keylessDeployer } from "../../../modules/chains/evm/Contracts.ts"
import { forwarderOf } from "../../../modules/chains/evm/ForwarderWallet.ts"
import { makeDriver } from "../../../modules/chains/evm.ts"
import { devnetXpub } from "../../../modules/chains/simulated.ts"
import { Chains, type WalletBalances } from "../../../runtime/Chains.ts"
import { compareBalance } from "../../../runtime/chains/Balances.ts"
import { layer as chainsLayer } from "../../../runtime/chains/TransferJournal.ts"
import { Commit, noCause } from "../../../runtime/Commit.ts"
import { layer as commitLayer } from "../../../runtime/commit/GroupCommit.ts"
import { layer as leasesLayer } from "../../../runtime/leases/Database.ts"
import { runtimeTables } from "../../../runtime/Tables.ts"
import { type Anvil, anvil, usdc } from "../../support/Anvil.ts"
import { catalogOf } from "../../fixtures/tokens.ts"
import { connect, freshDatabase, type TestDatabase } from "../../support/Database.ts"
import { type NodeAnswers, nodeProxy } from "../../support/NodeProxy.ts"
import { withQuickPauses } from "../../support/QuickPauses.ts"

const devnet = "devnet" as const
const invoiceId = "00000000-0000-4000-8000-000000000001"

/** A process that follows `node` and handles transfers with one confirmation. */
const inProcess = <A, E>(
  database: TestDatabase,
  node: Anvil,
  work: Effect.Effect<A, E, Chains | Commit | SqlClient.SqlClient | Scope.Scope>
) =>
  Effect.gen(function*() {
    const chains = yield* Chains
    const commit = yield* Commit
    const client = yield* Layer.build(NodeHttpClient.layerUndici)
    const options = { network: "base" as const, environment: devnet, pollMillis: 20, startIndex: 1_000 }
    const driver = makeDriver({ ...options, rpc: [Redacted.make(node.url)], xpub: Redacted.make(devnetXpub) })
    yield* chains.register(yield* Effect.provide(driver, client))
    yield* chains.onTransfer((entry) =>
      commit.append({
        merchantId: entry.merchantId,
        environment: devnet,
        cause: noCause,
        writes: [chains.markHandled(entry, { blocks: 1, finalized: false })],
        events: []
      })
    )
    return yield* work
  }).pipe(
    Effect.scoped,
    Effect.provide(
      Layer.fresh(chainsLayer.pipe(
        Layer.provideMerge(Layer.mergeAll(commitLayer(runtimeTables), leasesLayer, catalogOf())),
        Layer.provideMerge(connect(database))
      )),
      { local: true }
    ),
    Effect.updateService(Clock.Clock, withQuickPauses)
  )

/** The journal as `kind amount status`, once every entry was dealt with and it satisfies `done`. */
const journalWhen = (done: (rows: ReadonlyArray<string>) => boolean) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql<{ line: string; open: boolean }>`
      SELECT kind || ' ' || amount || ' ' || status AS line, status <> handled AS open FROM transfers ORDER BY 1`
    const lines = rows.map(({ line }) => line)
    return yield* rows.some(({ open }) => open) || !done(lines) ? Effect.fail("not yet") : Effect.succeed(lines)
  }).pipe(Effect.retry(Schedule.spaced(25)), Effect.orDie)

const bases = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ read: boolean; open: boolean }>`SELECT since_balance IS NOT NULL AS read, open FROM target_balances`
)

const baseRead = bases.pipe(
  Effect.flatMap((rows) => rows[0]?.read === true ? Effect.void : Effect.fail("not yet")),
  Effect.retry(Schedule.spaced(25))
)

const firstBlock = Effect.flatMap(
  Chains,
  (chains) =>
    Effect.suspend(() => chains.status(devnet)[0]?.head == null ? Effect.fail("not yet") : Effect.void).pipe(
      Effect.retry(Schedule.spaced(20))
    )
)

const allocate = Effect.flatMap(
  Chains,
  (chains) => chains.allocate({ merchantId: 1, invoiceId, environment: devnet, family: "evm" })
)

describe("balance comparison", () => {
  it("credits what the journal cannot explain, and nothing where a balance cannot be explained", () => {
    assert.strictEqual(compareBalance(10n, 25n, 5n, false), 10n)
    assert.strictEqual(compareBalance(10n, 15n, 5n, false), 0n)
    assert.strictEqual(compareBalance(10n, 14n, 5n, false), "alert")
    assert.strictEqual(compareBalance(10n, 25n, 5n, true), "alert")
  })

  it.live("finds a contract's forward beside direct payments, once, over a restart and a reorg", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const node = yield* anvil("base")
      const address = yield* inProcess(
        database,
        node,
        Effect.gen(function*() {
          const chains = yield* Chains
          const { address } = yield* allocate
          yield* firstBlock
          yield* chains.reconcile(invoiceId, "base", devnet)
          yield* baseRead
          yield* node.send({ to: address, value: 100n })
          yield* node.token("forward", [address], { value: 40n })
          const found = yield* journalWhen((rows) =>
            rows.length === 2 && rows.every((row) => row.endsWith("confirmed"))
          )
          assert.deepStrictEqual(found, ["direct 100 confirmed", "internal 40 confirmed"])
          return address
        })
      )
      yield* node.send({ to: address, value: 7n })
      yield* inProcess(
        database,
        node,
        Effect.gen(function*() {
          const settled = yield* journalWhen((rows) => rows.includes("direct 7 confirmed"))
          assert.deepStrictEqual(settled, ["direct 100 confirmed", "direct 7 confirmed", "internal 40 confirmed"])
          yield* node.token("forward", [address], { value: 3n })
          yield* journalWhen((rows) => rows.includes("internal 3 confirmed"))
          yield* node.reorg(1)
          yield* journalWhen((rows) => rows.includes("internal 3 reverted"))
          yield* node.token("forward", [address], { value: 4n })
          const after = yield* journalWhen((rows) => rows.includes("internal 4 confirmed"))
          assert.deepStrictEqual(after, [
            "direct 100 confirmed",
            "direct 7 confirmed",
            "internal 3 reverted",
            "internal 4 confirmed",
            "internal 40 confirmed"
          ])
          yield* (yield* Chains).reconcile(invoiceId, "base", devnet, false)
          assert.deepStrictEqual((yield* bases).map(({ open }) => open), [false])
        })
      )
    }).pipe(Effect.scoped))
})

describe("balance comparison of a forwarder's address", () => {
  it.live("credits each payment once, whenever a stranger has the money sent on to its payee", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const node = yield* anvil("base")
      const payee = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
      const wallet = forwarderOf(payee, "5b1f3c0de29a4f7786c1d0a9e4b35f60718293a4b5c6d7e8f90a1b2c3d4e5f60")
      assert(typeof wallet !== "string")
      // A provider that looks through few blocks at a time.
      const proxy = yield* nodeProxy(node.url)
      const longest = { blocks: 0n }
      const fewBlocks: NodeAnswers = (call, ask) => {
        const [range] = call.params
        if (call.method !== "eth_getLogs" || range.address === undefined) return ask(call)
        const blocks = BigInt(range.toBlock) - BigInt(range.fromBlock) + 1n
        if (blocks > 10n) return Promise.reject(new Error("block range is too large"))
        if (blocks > longest.blocks) longest.blocks = blocks
        return ask(call)
      }
      proxy.set(fewBlocks)
      yield* node.send({
        to: keylessDeployer,
        data: `0x${"00".repeat(32)}${artifact.bytecode.slice(2)}`,
        gas: 3_000_000n
      })
      const collect = node.send({
        from: node.accounts[3]!,
        to: collector.address,
        data: encodeFunctionData({
          abi: artifact.abi as Abi,
          functionName: "collect",
          args: [payee, [`0x${"00".repeat(20)}`], [wallet.forwarder!.saltOf(0)]]
        })
      })
      yield* inProcess(
        database,
        { ...node, url: proxy.url },
        Effect.gen(function*() {
          const chains = yield* Chains
          yield* chains.registerWallets({
            current: () => Effect.succeed(wallet),
            withFingerprint: () => Effect.succeed({ wallet, isPayeeContract: false, mayReceive: true })
          })
          const { address } = yield* allocate
          assert.strictEqual(address, wallet.derive(0).address)
          yield* firstBlock
          yield* chains.reconcile(invoiceId, "base", devnet)
          yield* baseRead
          yield* node.token("forward", [address], { value: 40n })
          yield* journalWhen((rows) => rows.includes("internal 40 confirmed"))
          const held = (isAwaited: (found: WalletBalances) => boolean) =>
            chains.walletBalances({
              network: "base",
              environment: devnet,
              fingerprint: wallet.fingerprint,
              tokens: [null]
            }).pipe(
              Effect.flatMap((found) => isAwaited(found) ? Effect.succeed(found) : Effect.fail("not yet")),
              Effect.retry(Schedule.spaced(25))
            )
          yield* held((found) => found._tag === "Balances" && found.balances[0] === 40n && !found.hasSent)
          yield* collect
          // Its contract has sent them to the payee, whose they were before, and its owner spent nothing.
          yield* held((found) =>
            found._tag === "Balances" && found.balances[0] === 40n && found.forwarded[0] === 40n && !found.hasSent
          )
          yield* node.token("forward", [address], { value: 5n })
          yield* node.send({ to: address, value: 6n })
          yield* journalWhen((rows) => rows.includes("internal 5 confirmed") && rows.includes("direct 6 confirmed"))
          // The node is away, so that one look has many blocks to explain.
          proxy.set("cut")
          yield* collect
          yield* node.mine(40)
          yield* node.send({ to: address, value: 8n })
          yield* node.token("forward", [address], { value: 9n })
          proxy.set(fewBlocks)
          const all = yield* journalWhen((rows) => rows.length === 5 && rows.every((row) => row.endsWith("confirmed")))
          assert.deepStrictEqual(all, [
            "direct 6 confirmed",
            "direct 8 confirmed",
            "internal 40 confirmed",
            "internal 5 confirmed",
            "internal 9 confirmed"
          ])
          assert.deepStrictEqual((yield* bases).map(({ open }) => open), [true], "and it goes on")
          assert.isAbove(Number(longest.blocks), 0, "its logs were asked for")
          assert.strictEqual(BigInt(yield* node.rpc("eth_getBalance", payee, "latest")), 51n)
          yield* held((found) =>
            found._tag === "Balances" && found.balances[0] === 68n && found.forwarded[0] === 51n && !found.hasSent
          )
        })
      )
    }).pipe(Effect.scoped))
})

describe("balances of a wallet", () => {
  it.live("are the sums over all its addresses at a final block, also after its owner spent some of it", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const node = yield* anvil("base")
      yield* inProcess(
        database,
        node,
        Effect.gen(function*() {
          yield* firstBlock
          const chains = yield* Chains
          const first = yield* allocate
          const second = yield* chains.allocate({
            merchantId: 1,
            invoiceId: "00000000-0000-4000-8000-000000000002",
            environment: devnet,
            family: "evm"
          })
          const wallet = yield* chains.wallet({ merchantId: 1, environment: devnet, family: "evm" })
          const read = Effect.gen(function*() {
            const head = BigInt(yield* node.rpc("eth_blockNumber"))
            const found = yield* chains.walletBalances({
              network: "base",
              environment: devnet,
              fingerprint: wallet!.fingerprint,
              tokens: [null, usdc, `0x${"0".repeat(38)}77`]
            })
            // The newest block is stored a little after it was read.
            return found._tag === "Balances" && found.point.height === head
              ? found.balances.map(Number)
              : yield* Effect.fail("not yet")
          }).pipe(Effect.retry(Schedule.spaced(25)))
          assert.deepStrictEqual(yield* read, [0, 0, 0])
          yield* node.send({ to: first.address, value: 10n ** 15n })
          yield* node.send({ to: second.address, value: 7n })
          yield* node.token("mint", [second.address, 5_000_000n])
          assert.deepStrictEqual(yield* read, [10 ** 15 + 7, 5_000_000, 0])
          yield* node.rpc("anvil_impersonateAccount", first.address)
          yield* node.rpc("anvil_setBalance", first.address, "0x64")
          yield* node.rpc("anvil_impersonateAccount", second.address)
          yield* node.rpc("anvil_setBalance", second.address, `0x${(10n ** 18n).toString(16)}`)
          yield* node.token("transfer", [node.accounts[1]!, 2_000_000n], { from: second.address })
          const [coins, dollars] = yield* read
          assert.strictEqual(dollars, 3_000_000)
          assert.isBelow(coins!, 10 ** 18 + 100)
          const other = yield* chains.walletBalances({
            network: "ethereum",
            environment: devnet,
            fingerprint: wallet!.fingerprint,
            tokens: [null]
          })
          assert.deepStrictEqual(other, { _tag: "Unreadable", reason: "not_followed" })
        })
      )
    }).pipe(Effect.scoped))
})
