/**
 * Goal: a node of Sui that is wrong, slow, cut off, greedy or lying loses no payment and invents none.
 * Method: the driver on nodes of the rig, each with one fault, alone or beside an honest one.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Stream } from "effect"
import type { ChainDriver, ChainEvent, ChainPoint, WatchSet } from "../../../../runtime/Chains.ts"
import { SuiOptionsError } from "../../../../modules/chains/sui.ts"
import { watching } from "../../../support/Drivers.ts"
import { payor, suiAddress, suiDriver, type SuiRig, suiRig } from "../../../support/SuiRig.ts"
import { digestOf, suiCoin, usdcCoin } from "../../../support/sui/Ledger.ts"
import type { NodeFault } from "../../../support/sui/Node.ts"
import { failWith, messageOf } from "../../../support/sui/Replies.ts"

const pointOf = ({ ledger }: SuiRig): ChainPoint => ({
  height: ledger.head.height,
  hash: ledger.head.height.toString()
})

const pay = (rig: SuiRig, place: number, amount: bigint) =>
  rig.pay({ to: suiAddress(place), coinType: suiCoin, amount })

const watch = watching([suiAddress(0), suiAddress(1)])

/** What the driver tells after `start`, up to an event that ends it. */
const tell = (
  driver: ChainDriver,
  start: ChainPoint,
  isEnd: (event: ChainEvent) => boolean,
  watched: WatchSet = watch
) => driver.follow([start], watched).pipe(Stream.takeUntil(isEnd), Stream.runCollect)

const transfersOf = (events: ReadonlyArray<ChainEvent>) =>
  events.flatMap((event) => event._tag === "Forward" ? event.transfers : [])

const amountsOf = (events: ReadonlyArray<ChainEvent>) =>
  transfersOf(events).map(({ amount }) => Number(amount)).sort((one, other) => one - other)

const atHead = ({ ledger }: SuiRig) => (event: ChainEvent) =>
  event._tag === "Finality" && event.finalized === ledger.head.height

/** Changes the answers of one method, and leaves the others as they are. */
const only = (method: string, change: Extract<NodeFault, Function>): NodeFault => (call, honest) =>
  call.method === method ? change(call, honest) : honest()

const reasonOf = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.map(Effect.flip(effect), String)

const listFaults: ReadonlyArray<readonly [name: string, fault: NodeFault, reason: string]> = [
  ["an answer that is cut", "cut", "unanswered|broke off|TransportError|Error"],
  ["a page that is not gRPC-Web", { http: 200 }, "broke off"],
  ["HTTP 429", { http: 429 }, "too many calls"],
  ["HTTP 503", { http: 503 }, "HTTP status 503"],
  ["RESOURCE_EXHAUSTED in the trailers", () => failWith(8, "slow down"), "gRPC status 8: slow down"],
  ["UNAVAILABLE in the headers", () => failWith(14, "later", true), "gRPC status 14: later"],
  [
    "no history of transactions",
    only("ListTransactions", () => failWith(12, "unimplemented")),
    "use one that serves `sui.rpc.v2`"
  ],
  [
    "no mark of how far it looked",
    only("ListTransactions", () => ({ messages: [messageOf("ListTransactionsResponse", { end: { reason: 3 } })] })),
    "not what the interface promises"
  ],
  [
    "pages that never end",
    only("ListTransactions", ({ request }) => ({
      messages: [messageOf("ListTransactionsResponse", {
        watermark: { cursor: Uint8Array.of((request.options.after?.[0] ?? 0) + 1) },
        end: { reason: 2 }
      })]
    })),
    "get nowhere"
  ],
  [
    "a cursor that stays where it is",
    only("ListTransactions", () => ({
      messages: [messageOf("ListTransactionsResponse", { watermark: { cursor: Uint8Array.of(1) }, end: { reason: 1 } })]
    })),
    "do not go on"
  ]
]

describe("sui nodes that go wrong", () => {
  for (const [name, fault, reason] of listFaults) {
    it.live(`${name}: alone it is an error, and beside an honest node nothing is lost`, () =>
      Effect.gen(function*() {
        const rig = yield* suiRig()
        const bad = yield* rig.addNode
        const alone = yield* suiDriver(rig, [bad])
        const both = yield* suiDriver(rig, [bad, rig.node])
        const start = pointOf(rig)
        pay(rig, 0, 5n)
        pay(rig, 1, 7n)
        bad.set(fault)
        const failure = yield* reasonOf(tell(alone, start, atHead(rig)))
        assert.match(failure, new RegExp(reason))
        assert.notInclude(failure, bad.url)
        assert.deepStrictEqual(amountsOf(yield* tell(both, start, atHead(rig))), [5, 7])
      }).pipe(Effect.scoped))
  }

  it.live(
    "a node that does not answer costs its time limit once, and then the other is asked",
    () =>
      Effect.gen(function*() {
        const rig = yield* suiRig()
        const slow = yield* rig.addNode
        const driver = yield* suiDriver(rig, [slow, rig.node])
        const start = pointOf(rig)
        slow.set("held")
        pay(rig, 0, 5n)
        assert.deepStrictEqual(amountsOf(yield* tell(driver, start, atHead(rig))), [5])
        slow.resetCounts()
        const next = pointOf(rig)
        pay(rig, 0, 6n)
        // What lies shortly below a cursor is told again.
        assert.deepStrictEqual(amountsOf(yield* tell(driver, next, atHead(rig))), [5, 6])
        assert.deepStrictEqual(slow.calls(), {})
      }).pipe(Effect.scoped)
  )

  it.live("a node of another network is refused at the start, and one that changes its network later is not read", () =>
    Effect.gen(function*() {
      const rig = yield* suiRig()
      const other = yield* suiRig({ chainId: digestOf("another network") })
      const refused = yield* Effect.flip(suiDriver(rig, [rig.node, other.node]))
      assert.instanceOf(refused, SuiOptionsError)
      assert.include(refused.message, `rpc 2 of 2 is on the network ${other.ledger.chainId}`)
      const driver = yield* suiDriver(rig, [rig.node])
      const start = pointOf(rig)
      pay(rig, 0, 5n)
      rig.node.set(only("GetServiceInfo", () => ({
        messages: [messageOf("GetServiceInfoResponse", {
          chainId: other.ledger.chainId,
          checkpointHeight: start.height + 9n,
          timestamp: { seconds: 1n, nanos: 0 }
        })]
      })))
      assert.include(yield* reasonOf(tell(driver, start, atHead(rig))), "it is on the network")
    }).pipe(Effect.scoped))

  it.live("limits of a node divide a question, and skip nothing", () =>
    Effect.gen(function*() {
      const rig = yield* suiRig()
      const driver = yield* suiDriver(rig, [rig.node])
      const start = pointOf(rig)
      const addresses = Array.from({ length: 25 }, (_, place) => suiAddress(place))
      for (let place = 0; place < 60; place++) {
        rig.ledger.transfer(payor, [{ to: addresses[place % 25]!, coinType: usdcCoin, amount: BigInt(place + 1) }])
        if (place % 7 === 0) rig.ledger.mine(1)
      }
      rig.ledger.mine(300)
      rig.node.limit({ terms: 3, filteredItems: 4, scannedCheckpoints: 50n })
      const expected = Array.from({ length: 60 }, (_, place) => place + 1)
      const byFilter = yield* tell(driver, start, atHead(rig), watching(addresses))
      assert.deepStrictEqual(amountsOf(byFilter), expected)
      // Answers of more than two transactions are too large for this node.
      rig.node.set(only("ListTransactions", ({ request }, honest) =>
        request.options.limit > 2 ? failWith(8, "message length too large") : honest()))
      assert.deepStrictEqual(amountsOf(yield* tell(driver, start, atHead(rig), watching(addresses))), expected)
      const many = watching(Array.from({ length: 400 }, (_, place) =>
        suiAddress(place)))
      rig.node.set("through")
      rig.node.limit({ unfilteredItems: 9 })
      assert.deepStrictEqual(amountsOf(yield* tell(driver, start, atHead(rig), many)), expected)
    }).pipe(Effect.scoped))

  it.live("an answer that is larger than any may be is not read to its end, and asked for in smaller parts", () =>
    Effect.gen(function*() {
      const rig = yield* suiRig()
      const driver = yield* suiDriver(rig, [rig.node])
      const start = pointOf(rig)
      for (let amount = 1n; amount < 40n; amount++) pay(rig, 0, amount)
      const huge = new Uint8Array(17 * 1024 * 1024)
      rig.node.set(
        only("ListTransactions", ({ request }, honest) => request.options.limit > 13 ? { messages: [huge] } : honest())
      )
      const found = yield* tell(driver, start, atHead(rig), watching([suiAddress(0)]))
      assert.deepStrictEqual(amountsOf(found), Array.from({ length: 39 }, (_, place) => place + 1))
    }).pipe(Effect.scoped))

  it.live("where the index lies behind the head, only what it has is told and relied on, and the rest comes later", () =>
    Effect.gen(function*() {
      const rig = yield* suiRig()
      const driver = yield* suiDriver(rig, [rig.node])
      const start = pointOf(rig)
      pay(rig, 0, 5n)
      rig.ledger.mine(4)
      pay(rig, 1, 7n)
      const head = rig.ledger.head.height
      rig.node.lag(0, 3)
      const first = yield* tell(driver, start, (event) => event._tag === "Finality")
      assert.deepStrictEqual(amountsOf(first), [5])
      const [forward] = first.filter((event) => event._tag === "Forward")
      assert.strictEqual(forward!.point.height, head - 3n)
      assert.isAtMost(forward!.seenUntil!, rig.ledger.at(head - 3n)!.time - 1)
      rig.node.lag(0, 0)
      assert.deepStrictEqual(amountsOf(yield* tell(driver, forward!.point, atHead(rig))), [5, 7])
      // A node that is behind what was told says nothing new.
      rig.node.lag(5)
      const behind = yield* tell(driver, { height: head, hash: `${head}` }, (event) => event._tag === "Finality")
      assert.deepStrictEqual(behind.map(({ _tag }) => _tag), ["Condition", "Finality"])
    }).pipe(Effect.scoped))

  it.live("an index that stands still while the chain goes on is an error, and another node is asked", () =>
    Effect.gen(function*() {
      let now = 1_790_000_000
      const rig = yield* suiRig({ now: () => now })
      const stuck = yield* rig.addNode
      const options = { frozenSeconds: 3_600 }
      const alone = yield* suiDriver(rig, [stuck], options)
      const both = yield* suiDriver(rig, [stuck, rig.node], options)
      const start = pointOf(rig)
      now += 4_000
      pay(rig, 0, 5n)
      rig.ledger.mine(9)
      stuck.lag(0, 10)
      assert.include(yield* reasonOf(tell(alone, start, atHead(rig))), "its index stands still at checkpoint")
      assert.deepStrictEqual(amountsOf(yield* tell(both, start, atHead(rig))), [5])
    }).pipe(Effect.scoped))

  it.live("trap 12: a chain that stands still is frozen at the first look, and ok when it moves again", () =>
    Effect.gen(function*() {
      let now = Math.floor(Date.now() / 1000) - 1_000
      const rig = yield* suiRig({ now: () => now })
      const driver = yield* suiDriver(rig, [rig.node], { frozenSeconds: 600 })
      const conditions = yield* driver.follow([], watch).pipe(
        Stream.tap((event) =>
          Effect.sync(() => {
            if (event._tag !== "Condition") return
            now += 1_000
            rig.ledger.mine(1)
          })
        ),
        Stream.filter((event) => event._tag === "Condition"),
        Stream.take(2),
        Stream.runCollect
      )
      assert.deepStrictEqual(conditions.map(({ condition }) => condition), ["frozen", "ok"])
    }).pipe(Effect.scoped))

  it.live("a node that has forgotten what is needed is not read from, and says so", () =>
    Effect.gen(function*() {
      const rig = yield* suiRig()
      const driver = yield* suiDriver(rig, [rig.node])
      const start = pointOf(rig)
      rig.ledger.mine(20)
      pay(rig, 0, 5n)
      rig.node.prune(start.height + 10n)
      assert.include(yield* reasonOf(tell(driver, start, atHead(rig))), "add an endpoint with older transactions")
      const archive = yield* rig.addNode
      const both = yield* suiDriver(rig, [rig.node, archive])
      assert.deepStrictEqual(amountsOf(yield* tell(both, start, atHead(rig))), [5])
      assert.strictEqual(driver.history._tag, "AccountHistory")
      if (driver.history._tag === "AccountHistory") assert.isNull(yield* driver.history.timeOf(start.height))
    }).pipe(Effect.scoped))
})

describe("what sui nodes do not have", () => {
  it.live("is gone by the word of all of them, and not of one alone", () =>
    Effect.gen(function*() {
      const rig = yield* suiRig()
      const second = yield* rig.addNode
      const driver = yield* suiDriver(rig, [rig.node, second])
      if (driver.history._tag !== "AccountHistory") throw new Error("not by account")
      const { readTransaction, readTransfers, timeOf } = driver.history
      const start = pointOf(rig)
      const digest = pay(rig, 0, 5n)
      rig.ledger.mine(50)
      const outcomes = Effect.gen(function*() {
        const time = yield* Effect.result(timeOf(start.height))
        const range = yield* Effect.result(readTransfers(start.height, start.height + 1n, watch))
        const transfers = yield* Effect.result(readTransaction(digest, watch, start.height))
        return [
          time._tag === "Failure" ? "unknown" : time.success === null ? "gone" : "there",
          range._tag === "Success" ? range.success.length : range.failure.condition ?? "unknown",
          transfers._tag === "Success" ? transfers.success.length : "unknown"
        ]
      })
      rig.node.prune(start.height + 10n)
      assert.deepStrictEqual(yield* outcomes, ["there", 1, 1])
      second.set({ http: 500 })
      assert.deepStrictEqual(yield* outcomes, ["unknown", "unknown", "unknown"])
      second.set("through")
      second.prune(start.height + 10n)
      assert.deepStrictEqual(yield* outcomes, ["gone", "block_pruned", 0])
      // One that has not come so far cannot say that a transaction is not there.
      second.lag(50)
      const behind = yield* Effect.flip(readTransaction(digestOf("nothing"), watch, rig.ledger.head.height))
      assert.include(behind.reason, "it has not come to checkpoint")
    }).pipe(Effect.scoped))
})

describe("sui transactions read again", () => {
  it.live("another endpoint must have a payment; one that is behind is waited for, one that hides it is told of", () =>
    Effect.gen(function*() {
      const rig = yield* suiRig()
      const second = yield* rig.addNode
      const driver = yield* suiDriver(rig, [rig.node, second])
      const start = pointOf(rig)
      const digest = pay(rig, 0, 5n)
      yield* tell(driver, start, atHead(rig))
      const again = (isThorough = false) => driver.corroborate!(pointOf(rig), watch, isThorough, [digest])
      const agreed = yield* again()
      assert.strictEqual(agreed._tag, "Agreed")
      assert.deepStrictEqual(
        "readings" in agreed ? agreed.readings.map((each) => each.map(({ amount }) => Number(amount))) : [],
        [[5]]
      )
      assert.deepStrictEqual(Object.keys(rig.node.calls()).includes("BatchGetTransactions"), false)
      second.lag(1)
      assert.strictEqual((yield* again())._tag, "Disagreed")
      second.lag(0)
      second.set(only("BatchGetTransactions", () => ({
        messages: [messageOf("BatchGetTransactionsResponse", {
          transactions: [{ result: { oneofKind: "error", error: { code: 5, message: "no", details: [] } } }]
        })]
      })))
      const hidden = yield* again(true)
      assert.deepInclude(hidden, { _tag: "Agreed", hasAllAnswers: true })
      assert.deepStrictEqual("readings" in hidden ? hidden.readings.map(({ length }) => length).sort() : [], [0, 1])
    }).pipe(Effect.scoped))

  it.live("trap 14: what failed, is not there or is no digest is nothing when it is read again", () =>
    Effect.gen(function*() {
      const rig = yield* suiRig()
      const driver = yield* suiDriver(rig, [rig.node])
      const failed = rig.ledger.transfer(payor, [{ to: suiAddress(0), coinType: suiCoin, amount: 5n }], true)
      const poor = rig.ledger.transfer(suiAddress(7), [{ to: suiAddress(0), coinType: suiCoin, amount: 5n }])
      rig.ledger.mine(1)
      if (driver.history._tag !== "AccountHistory") throw new Error("not by account")
      for (const txHash of [failed, poor, digestOf("nothing"), "0xnot", ""]) {
        assert.deepStrictEqual(yield* driver.history.readTransaction(txHash, watch, 0n), [])
      }
    }).pipe(Effect.scoped))
})

describe("sui driver", () => {
  it.live("says of coins what the chain says, under every spelling, and nothing of what is none", () =>
    Effect.gen(function*() {
      const rig = yield* suiRig()
      const driver = yield* suiDriver(rig, [rig.node])
      assert.strictEqual(yield* driver.tokenDecimals!(usdcCoin), 6)
      assert.strictEqual(yield* driver.tokenDecimals!("0x2::sui::SUI"), 9)
      assert.isNull(yield* driver.tokenDecimals!("0x5::no::COIN"))
      assert.isNull(yield* driver.tokenDecimals!("nonsense"))
      assert.deepStrictEqual(yield* driver.readToken!("0x5::odd::ODD"), { symbol: "O DD", decimals: 3 })
      rig.node.set("cut")
      assert.strictEqual((yield* Effect.flip(driver.tokenDecimals!(usdcCoin)))._tag, "DriverError")
    }).pipe(Effect.scoped))

  it.live("links name the address alone, and options that contradict themselves are refused", () =>
    Effect.gen(function*() {
      const rig = yield* suiRig()
      const driver = yield* suiDriver(rig, [rig.node])
      const target = { address: suiAddress(0), matchKey: suiAddress(0), memo: null }
      const words = { label: "Shop", message: null }
      assert.strictEqual(driver.paymentUri(target, null as never, 5n as never, words), `sui:${suiAddress(0)}`)
      const wallet = { kind: "pool", value: Redacted.make(suiAddress(0)) } as const
      const refused = [
        [{ environment: "mainnet" }, "`chainId` is for private networks"],
        [{ chainId: "rig" }, "32 bytes in base58"],
        [{ environment: "mainnet", chainId: undefined, wallet }, "set `startIndex`"],
        [{ agreementAboveUsd: 5 }, "needs two endpoints"],
        [{ wallet: { kind: "pool", value: Redacted.make("0x1") } }, "wallet: entry 1 is not an address of Sui"]
      ] as const
      for (const [more, reason] of refused) {
        assert.include(String(yield* Effect.flip(suiDriver(rig, [rig.node], more as never))), reason)
      }
      const two = yield* suiDriver(rig, [rig.node, yield* rig.addNode], {
        agreementAboveUsd: 50,
        wallet,
        startIndex: 0
      })
      assert.strictEqual(BigInt(two.agreementAboveUsdMillis!), 50_000n)
      assert.deepInclude(two.wallet, { _tag: "IndexedWallet", size: 1, startIndex: 0 })
    }).pipe(Effect.scoped))
})
