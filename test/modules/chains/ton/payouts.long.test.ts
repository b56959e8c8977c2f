/**
 * Goal: what a wallet on TON is given pays exactly the lines of a part, and what became of each line is told alone.
 * Method: requests are executed by the real virtual machine with a jetton's contracts; endpoints lie, lag and hide.
 */
import { assert, describe, it } from "@effect/vitest"
import { Address, Cell, toNano } from "@ton/core"
import { Effect, type Scope } from "effect"
import { FetchHttpClient, type HttpClient } from "effect/http"
import { createHash } from "node:crypto"
import { graceSeconds, lateSeconds, travelSeconds } from "../../../../modules/chains/ton/PayoutSearch.ts"
import type { PayoutSearch } from "../../../../runtime/Payouts.ts"
import { openTonPayouts, receiver, type RequestedMessage } from "../../../support/ton/Payouts.ts"
import { w5Wallet } from "../../../support/ton/W5.ts"

const name = "bat_0193a5b27c4170009d4b6f5b1c3b2a10/1"
const [alice, bob, carol, thief] = [receiver("a1"), receiver("b2"), receiver("c3"), receiver("d4")] as const

const promise = (title: string, work: Effect.Effect<void, unknown, HttpClient.HttpClient | Scope.Scope>) =>
  it.live(title, () => work.pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer)))

/** Each transfer: its line, receiver and amount. */
const facts = ({ executions }: PayoutSearch) =>
  executions.flatMap(({ transfers }) =>
    transfers.map(({ amount, destination, line }) => [line, destination, BigInt(amount)])
  )

/** In the order of lines: messages of one signature arrive in any. */
const byLine = (search: PayoutSearch) =>
  facts(search).toSorted(([one], [other]) => Number(one ?? -1) - Number(other ?? -1))

const commentOf = (cell: Cell): string => {
  const slice = cell.beginParse()
  assert.strictEqual(slice.loadUint(32), 0)
  return slice.loadStringTail()
}

const codeOf = Effect.map((error: any) => [error.code, error.details?.line ?? null])

/** Hides transactions of an account. */
const hiding = (raw: string) => (route: string, answer: any) =>
  route === "transactions"
    ? {
      ...answer,
      transactions: answer.transactions.filter(({ account }: any) => account.toLowerCase() !== raw.toLowerCase())
    }
    : answer

describe("an export of a part on TON", () => {
  promise(
    "is a request of TON Connect with a message for each line, which its comment or its number names",
    Effect.gen(function*() {
      const { build, from, jetton, lineOf, partOf, rig, token } = yield* openTonPayouts()
      const exported = yield* build(partOf([
        lineOf(alice, null, toNano("1.5")),
        lineOf(bob, token, 5_000_000n),
        lineOf(carol, null, 7n, { memo: "4711" }),
        lineOf(carol, token, 8n, { memo: "4712" })
      ]))
      const request = JSON.parse(exported.payload)
      assert.deepStrictEqual(Object.keys(request), ["validUntil", "network", "from", "messages"])
      assert.deepStrictEqual([request.network, request.from], ["-3", Address.parse(from).toRawString()])
      assert.deepStrictEqual(request.validUntil, exported.validUntil)
      assert.isAtMost(Math.abs(request.validUntil - rig.head.time - 300), 5)
      const [coin, tokens, memo, tokenMemo] = request.messages as [
        RequestedMessage,
        RequestedMessage,
        RequestedMessage,
        RequestedMessage
      ]
      assert.deepStrictEqual([coin.address, coin.amount], [alice, `${toNano("1.5")}`])
      assert.strictEqual(commentOf(Cell.fromBase64(coin.payload)), `${name}/1`)
      assert.strictEqual(commentOf(Cell.fromBase64(memo.payload)), "4711")
      const own = yield* Effect.promise(() => jetton.walletOf(rig.payer.address))
      assert.isTrue(Address.parseFriendly(tokens.address).isBounceable)
      assert.isTrue(Address.parse(tokens.address).equals(own))
      assert.strictEqual(tokens.amount, `${toNano("0.05")}`)
      const body = Cell.fromBase64(tokens.payload).beginParse()
      assert.strictEqual(body.loadUint(32), 0x0f8a7ea5)
      const digest = createHash("sha256").update(`${name}/2`).digest()
      assert.strictEqual(body.loadUintBig(64), digest.readBigUInt64BE(0))
      assert.strictEqual(body.loadCoins(), 5_000_000n)
      assert.isTrue(body.loadAddress().equals(Address.parse(bob)))
      assert.isTrue(body.loadAddress().equals(rig.payer.address))
      assert.isFalse(body.loadBit())
      assert.strictEqual(body.loadCoins(), 1n)
      assert.isTrue(body.loadBit())
      assert.strictEqual(commentOf(body.loadRef()), `${name}/2`)
      const memoBody = Cell.fromBase64(tokenMemo.payload)
      assert.strictEqual(commentOf(memoBody.refs[0]!), "4712")
      assert.isFalse(exported.isSimulated)
      assert.match(exported.notices.join(" "), /0\.050000000 GRAM go with each of 2 token transfers/u)
    })
  )

  promise(
    "has at most four lines, and says what the wallet lacks or cannot do",
    Effect.gen(function*() {
      const { build, from, jetton, lineOf, partOf, payouts, token } = yield* openTonPayouts()
      const many = Array.from({ length: 9 }, () => lineOf(alice, null, 1n))
      assert.deepStrictEqual(payouts.partSizes(many), [4, 4, 1])
      assert.deepStrictEqual(payouts.partSizes([]), [])
      const lacksTokens = yield* Effect.flip(build(partOf([lineOf(alice, token, 10n ** 15n)])))
      assert.strictEqual(lacksTokens._tag === "PublicError" && lacksTokens.code, "INSUFFICIENT_FUNDS")
      assert.include(lacksTokens._tag === "PublicError" ? lacksTokens.details : {}, {
        symbol: "USDT",
        available: "1000000.000000"
      })
      const lacksCoins = yield* Effect.flip(build(partOf([lineOf(alice, null, toNano("1000000"))])))
      assert.strictEqual(lacksCoins._tag === "PublicError" && lacksCoins.code, "INSUFFICIENT_FUNDS")
      const refused = codeOf(Effect.flip(build(partOf([lineOf(alice, null, 1n), lineOf(from, null, 1n)]))))
      assert.deepStrictEqual(yield* refused, ["PAYOUT_LINE_REFUSED", 2])
      const contract = { ...partOf([lineOf(alice, null, 1n)]), from: jetton.address.toString() }
      assert.deepStrictEqual(yield* codeOf(Effect.flip(build(contract))), ["WALLET_NOT_SPENDABLE", null])
      const empty = { ...partOf([lineOf(alice, token, 1n)]), from: receiver("e5") }
      assert.deepStrictEqual(yield* codeOf(Effect.flip(build(empty))), ["INSUFFICIENT_FUNDS", null])
    })
  )
})

describe("a part on TON that a wallet of version 5 pays", () => {
  promise(
    "has as many lines as the batch, and one signature pays all of them",
    Effect.gen(function*() {
      const { endpoints, jetton, lineOf, partOf, payouts, rig, token, search } = yield* openTonPayouts()
      const wallet = w5Wallet(0x51)
      const from = wallet.address.toString({ bounceable: false, testOnly: true })
      assert.strictEqual(yield* payouts.capacityOf!(from), 4, "nobody knows it yet")
      yield* Effect.promise(() => wallet.place(rig, toNano("20")))
      yield* Effect.promise(() => rig.mint(jetton, wallet.address, 10_000n))
      rig.mine()
      assert.strictEqual(yield* payouts.capacityOf!(from), 255)
      assert.strictEqual(yield* payouts.capacityOf!(partOf([]).from), 4, "another contract")
      endpoints[0]!.faults.status = 503
      assert.strictEqual(yield* payouts.capacityOf!(from), 4, "nobody says")
      endpoints[0]!.faults.status = null
      const lines = Array.from(
        { length: 30 },
        (_, place) =>
          lineOf(receiver(place.toString(16).padStart(2, "0")), place % 2 === 0 ? token : null, 10n + BigInt(place))
      )
      assert.deepStrictEqual(payouts.partSizes(lines, 255), [30])
      const part = { ...partOf(lines), from }
      const exported = yield* payouts.build({
        part,
        format: "ton",
        validUntil: rig.head.time + 300,
        spentInputs: new Set()
      })
      assert.match(exported.notices.join(" "), /0\.750000000 GRAM in all.* own fees are 0\.320000000 GRAM at most/)
      assert.isNotNull(yield* Effect.promise(() => wallet.execute(rig, exported.payload)))
      rig.mine()
      const found = yield* search(part, exported)
      assert.deepStrictEqual(byLine(found).map(([line]) => line), [...lines.keys()])
      // What the wallet had less what it has: its fees are below what was told, and of the gas most came back.
      const { balance } = yield* Effect.promise(() => rig.chain.getContract(wallet.address))
      const coins = lines.reduce((sum, { amount, tokenAddress }) => tokenAddress === null ? sum + amount : sum, 0n)
      const taken = toNano("20") - balance - coins
      assert.isBelow(Number(taken), Number(toNano("0.75") + toNano("0.32")))
    })
  )
})

describe("a part on TON whose lines others could have too", () => {
  promise(
    "is not given out while another part may pay the same amount with the receiver's memo",
    Effect.gen(function*() {
      const { build, execute, lineOf, partOf, rig, search, token } = yield* openTonPayouts()
      const line = lineOf(alice, null, 10_000_000n, { memo: "4711" })
      const part = partOf([line])
      const exported = yield* build(part)
      const other = partOf([lineOf(alice, token, 10_000_000n, { memo: "4711" }), line], 2)
      assert.deepStrictEqual(yield* codeOf(Effect.flip(build(other, "ton", exported.inputs))), ["LINES_AMBIGUOUS", 2])
      assert.deepStrictEqual(yield* codeOf(Effect.flip(build(other, "csv", exported.inputs))), ["LINES_AMBIGUOUS", 2])
      yield* execute(exported)
      assert.deepStrictEqual(byLine(yield* search(part, exported)), [[0, alice, 10_000_000n]])
      rig.mine()
      const later = yield* build(other)
      assert.deepStrictEqual(byLine(yield* search(other, later)), [])
      yield* execute(later)
      assert.deepStrictEqual(byLine(yield* search(other, later)), [[0, alice, 10_000_000n], [1, alice, 10_000_000n]])
    })
  )

  promise(
    "is not given out again once the wallet has sent a line of it",
    Effect.gen(function*() {
      const { build, execute, lineOf, partOf, token } = yield* openTonPayouts()
      const part = partOf([lineOf(alice, null, 10_000_000n), lineOf(bob, token, 5n)])
      yield* execute(yield* build(part), (messages) => messages.slice(1))
      assert.deepStrictEqual(yield* codeOf(Effect.flip(build(part))), ["BATCH_PAID", null])
      yield* build({ ...part, part: 2 })
    })
  )
})

describe("what became of a part on TON", () => {
  promise(
    "is told line by line as it arrives, with the transaction that the receiver sees",
    Effect.gen(function*() {
      const { build, execute, jetton, lineOf, partOf, rig, search, token } = yield* openTonPayouts()
      const part = partOf([
        lineOf(alice, null, toNano("1.5")),
        lineOf(bob, token, 5_000_000n),
        lineOf(carol, null, 7_000_000n, { memo: "4711" }),
        lineOf(carol, token, 8n, { memo: "4711" })
      ])
      const exported = yield* build(part)
      assert.deepStrictEqual(facts(yield* search(part, exported)), [])
      const mined = yield* execute(exported)
      const found = yield* search(part, exported)
      assert.deepStrictEqual(byLine(found), [
        [0, alice, toNano("1.5")],
        [1, bob, 5_000_000n],
        [2, carol, 7_000_000n],
        [3, carol, 8n]
      ])
      assert.isTrue(found.executions.every(({ isFinal }) => isFinal))
      assert.isFalse(found.isOver)
      const hashOf = (address: Address) =>
        mined.find(({ transaction }) => transaction.address === BigInt(`0x${address.hash.toString("hex")}`))!
          .transaction.hash().toString("hex")
      const execution = (line: number) => found.executions.find(({ transfers }) => transfers[0]!.line === line)!
      assert.strictEqual(execution(0).txHash, hashOf(Address.parse(alice)))
      const bobs = yield* Effect.promise(() => jetton.walletOf(Address.parse(bob)))
      assert.strictEqual(execution(1).txHash, hashOf(bobs))
      assert.strictEqual(execution(1).block.height, BigInt(rig.head.seqno))
    })
  )

  promise(
    "is told twice where the wallet signed twice, and of two lines that are alike each has its own",
    Effect.gen(function*() {
      const { build, execute, lineOf, partOf, search } = yield* openTonPayouts()
      const part = partOf([
        lineOf(alice, null, 1_000_000_000n),
        lineOf(bob, null, 5_000_000n, { memo: "4711" }),
        lineOf(bob, null, 5_000_000n, { memo: "4711" })
      ])
      const exported = yield* build(part)
      yield* execute(exported)
      const once = [[0, alice, 1_000_000_000n], [1, bob, 5_000_000n], [2, bob, 5_000_000n]]
      assert.deepStrictEqual(byLine(yield* search(part, exported)), once)
      yield* execute(exported)
      assert.deepStrictEqual(byLine(yield* search(part, exported)), once.flatMap((each) => [each, each]))
    })
  )

  promise(
    "leaves out what the wallet dropped, and what a stranger sent with the same words",
    Effect.gen(function*() {
      const { build, execute, lineOf, partOf, rig, search, token } = yield* openTonPayouts()
      const part = partOf([
        lineOf(alice, null, 10_000_000n),
        lineOf(bob, token, 5n),
        lineOf(carol, null, 10_000_000n),
        lineOf(carol, token, 6n)
      ])
      const exported = yield* build(part)
      yield* execute(exported, (messages) => messages.filter((_, place) => place !== 1))
      const stranger = yield* Effect.promise(() => rig.chain.treasury("stranger", { balance: toNano(10) }))
      yield* Effect.promise(() => rig.pay(Address.parse(alice), 10_000_000n, { from: stranger, text: `${name}/1` }))
      assert.deepStrictEqual(byLine(yield* search(part, exported)), [
        [0, alice, 10_000_000n],
        [2, carol, 10_000_000n],
        [3, carol, 6n]
      ])
      rig.mine(300 + graceSeconds + 10)
      assert.isTrue((yield* search(part, exported)).isOver)
    })
  )

  promise(
    "shows who was paid instead, and another amount than was asked for",
    Effect.gen(function*() {
      const { build, execute, lineOf, partOf, search, token } = yield* openTonPayouts()
      const lines = [
        lineOf(alice, null, 10_000_000n),
        lineOf(bob, null, 10_000_000n),
        lineOf(carol, token, 6n)
      ]
      const part = partOf(lines)
      const exported = yield* build(part)
      const theirs = yield* build(partOf([...lines.slice(0, 2), lineOf(thief, token, 6n)]))
      const third = JSON.parse(theirs.payload).messages[2]
      yield* execute(exported, ([first, second]) => [
        { ...first!, address: thief },
        { ...second!, amount: "9000000" },
        third
      ])
      assert.deepStrictEqual(byLine(yield* search(part, exported)), [
        [null, thief, 10_000_000n],
        [null, thief, 6n],
        [1, bob, 9_000_000n]
      ])
    })
  )

  promise(
    "waits for jettons that are on their way, and gives up those that a jetton wallet refused",
    Effect.gen(function*() {
      const { build, execute, jetton, lineOf, partOf, rig, search, token } = yield* openTonPayouts()
      const part = partOf([lineOf(alice, null, 10_000_000n), lineOf(bob, token, 10n ** 12n)])
      const exported = yield* build(part)
      // The jettons leave between the export and the signature.
      yield* Effect.promise(() => rig.payJetton(jetton, Address.parse(carol), 1n))
      yield* execute(exported)
      const sent = rig.head
      rig.mine(300 + graceSeconds + 10)
      const early = yield* search(part, exported)
      assert.deepStrictEqual(byLine(early), [[0, alice, 10_000_000n]])
      assert.isFalse(early.isOver)
      rig.mine(travelSeconds)
      const late = yield* search(part, exported)
      assert.isTrue(late.isOver)
      assert.isAbove(Number(late.searchedTo), sent.seqno)
      assert.isBelow(Number(early.searchedTo), sent.seqno)
    })
  )

  promise(
    "is over once a final block is so late that the wallet takes the request no more, and not a second before",
    Effect.gen(function*() {
      const { build, execute, lineOf, partOf, rig, search } = yield* openTonPayouts()
      const part = partOf([lineOf(alice, null, 10_000_000n)])
      const exported = yield* build(part)
      rig.mine(exported.validUntil! - rig.head.time)
      rig.mine(graceSeconds)
      assert.isFalse((yield* search(part, exported)).isOver)
      rig.mine(1)
      assert.isTrue((yield* search(part, exported)).isOver)
      assert.match(`${yield* Effect.flip(Effect.sandbox(execute(exported)))}`, /too old/u)
      const searched = yield* search(part, exported)
      assert.isBelow(Number(searched.searchedTo), rig.head.seqno)
      rig.mine(lateSeconds)
      const later = yield* search(part, exported, { from: searched.searchedTo + 1n })
      assert.strictEqual(later.searchedTo, BigInt(rig.head.seqno - 1))
    })
  )

  promise(
    "is what most of the configured endpoints show: one that hides a payment makes nothing over",
    Effect.gen(function*() {
      const { build, endpoints, execute, from, lineOf, partOf, rig, search } = yield* openTonPayouts(3)
      const part = partOf([lineOf(alice, null, 10_000_000n)])
      const exported = yield* build(part)
      yield* execute(exported)
      rig.mine(300 + graceSeconds + 10)
      const [one, two, three] = endpoints
      one!.faults.lie = hiding(Address.parse(from).toRawString())
      const found = yield* search(part, exported)
      assert.deepStrictEqual(byLine(found), [[0, alice, 10_000_000n]])
      // Two that hide it may only be late: nothing is said, and nothing is over.
      two!.faults.lie = hiding(Address.parse(alice).toRawString())
      const doubted = yield* search(part, exported)
      assert.deepStrictEqual([byLine(doubted), doubted.isOver], [[], false])
      rig.mine(lateSeconds + travelSeconds)
      rig.mine()
      assert.match((yield* Effect.flip(search(part, exported))).reason, /do not agree/u)
      three!.faults.status = 500
      one!.faults.status = 500
      assert.match((yield* Effect.flip(search(part, exported))).reason, /1 of 3 endpoints answered/u)
    })
  )

  promise(
    "of a list is what the wallet paid by token, receiver and amount, and is never over",
    Effect.gen(function*() {
      const { build, execute, jetton, lineOf, partOf, rig, search, token } = yield* openTonPayouts()
      const part = partOf([lineOf(alice, token, 5n), lineOf(bob, null, 10_000_000n, { memo: "4711" })])
      const exported = yield* build(part, "csv")
      assert.strictEqual(
        exported.payload,
        "token_type,token_address,receiver,amount,id,memo\r\n" +
          `jetton,${token},${alice},0.000005,re_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10,\r\n` +
          `native,,${bob},0.010000000,re_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10,4711\r\n`
      )
      yield* execute(yield* build(partOf([lineOf(alice, token, 5n), lineOf(bob, null, 10_000_000n)], 2)))
      yield* Effect.promise(async () => {
        await rig.payJetton(jetton, Address.parse(alice), 5n)
        await rig.payJetton(jetton, Address.parse(alice), 4n)
        await rig.pay(Address.parse(bob), 10_000_000n, { text: "4711" })
        await rig.pay(Address.parse(bob), 11_000_000n, { text: "4711" })
      })
      rig.mine(1_000)
      const found = yield* search(part, exported)
      assert.deepStrictEqual(byLine(found), [[0, alice, 5n], [1, bob, 10_000_000n]])
      assert.isFalse(found.isOver)
    })
  )
})
