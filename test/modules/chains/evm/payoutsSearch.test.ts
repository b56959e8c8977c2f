/**
 * Goal: what became of a part is what the chain has of it: whatever executed it, however often, and whatever a
 * reorganisation takes back.
 * Method: the driver on a real node, whose blocks are final two below its head where that matters.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Schema } from "effect"
import { type Hex, pad, toHex } from "viem"
import { transferTopic } from "../../../../modules/chains/evm/Blocks.ts"
import { loggedTransfers, transfersOfChanged } from "../../../../modules/chains/evm/PayoutMatching.ts"
import { toChecksumAddress } from "../../../../schemas/EvmAddress.ts"
import { baseUnits } from "../../../../schemas/Money.ts"
import type { PayoutExecution, PayoutExport, PayoutSearch } from "../../../../runtime/Payouts.ts"
import { callData, nativeCoin } from "../../../support/ContractRig.ts"
import { callsOf, inOneCall, payArguments, payoutTown, type WalletCall } from "../../../support/PayoutTown.ts"

const options = { excludeTestServices: true } as const

class Town extends Context.Service<Town, Effect.Success<ReturnType<typeof payoutTown>>>()("test/PayoutTown") {
  static readonly layer = Layer.effect(this, payoutTown())
}

/** As on mainnet: the newest two blocks are not final yet. */
class FinalTown extends Context.Service<FinalTown, Effect.Success<ReturnType<typeof payoutTown>>>()("test/FinalTown") {
  static readonly layer = Layer.effect(this, payoutTown("mainnet", ["--slots-in-an-epoch", "1"]))
}

const linesOf = ({ transfers }: PayoutExecution) =>
  transfers.map(({ amount, destination, line }) => [line, destination, amount as bigint])

const seen = ({ executions }: PayoutSearch) => executions.map(({ isFinal, transfers }) => [isFinal, transfers.length])

/** What malware makes of an export: some lines have another receiver. */
const withReceiver = (
  exported: Parameters<typeof payArguments>[0],
  places: ReadonlyArray<number>,
  to: string
): ReadonlyArray<WalletCall> => {
  const { batch, chainId, from, lines, validUntil } = payArguments(exported)
  const changed = lines.map((line, place) => places.includes(place) ? { ...line, to } : line)
  const calls = callsOf(exported)
  const data = callData("Payer", "pay", [from, chainId, batch, validUntil, changed])
  return [...calls.slice(0, -1), { ...calls.at(-1)!, data }]
}

layer(Town.layer, options)("a part", (it) => {
  it.effect("whose receivers were exchanged shows who was paid, the coin included", () =>
    Effect.gen(function*() {
      const { build, coinLine, newLine, newPart, search, send, stranger } = yield* Town
      const lines = [newLine(), newLine(), newLine(), coinLine(), coinLine()]
      const part = newPart(lines)
      const exported = yield* build(part)
      const receipts = yield* send(withReceiver(exported, [2, 4], stranger))
      assert.isTrue(receipts.at(-1)!.isDone)
      const { executions } = yield* search(part, exported)
      assert.deepStrictEqual(linesOf(executions[0]!), [
        [0, lines[0]!.destination, lines[0]!.amount],
        [1, lines[1]!.destination, lines[1]!.amount],
        [null, stranger, lines[2]!.amount],
        [3, lines[3]!.destination, lines[3]!.amount],
        [null, stranger, lines[4]!.amount]
      ])
    }))

  it.effect("in the coin whose receiver was exchanged shows that too, by a wallet that is a contract as well", () =>
    Effect.gen(function*() {
      const { build, coinLine, deploy, newPart, search, send, stranger } = yield* Town
      const safe = toChecksumAddress(yield* deploy("CallsWallet")) as Hex
      yield* send([{ to: safe, value: 1_000n, data: "0x" }])
      const part = newPart([coinLine()], { from: safe })
      const exported = yield* build(part, "safe")
      const [receipt] = yield* send([inOneCall(safe, withReceiver(exported, [0], stranger))])
      assert.isTrue(receipt!.isDone)
      const { executions } = yield* search(part, exported)
      assert.deepStrictEqual(executions.map(linesOf), [[[null, stranger, 77n]]])
    }))

  it.effect("that another wallet signs is refused by the chain, and is not seen", () =>
    Effect.gen(function*() {
      const { balance, build, mint, newLine, newPart, other, search, sign, usdc } = yield* Town
      yield* mint(usdc, other, 10n ** 9n)
      const part = newPart([newLine()])
      const exported = yield* build(part)
      assert.isFalse((yield* sign(exported, other)).at(-1)!.isDone)
      assert.strictEqual(yield* balance(usdc, other), 10n ** 9n)
      assert.deepStrictEqual((yield* search(part, exported)).executions, [])
      assert.isTrue((yield* sign(exported)).at(-1)!.isDone)
      assert.lengthOf((yield* search(part, exported)).executions, 1)
    }))

  it.effect("paid together with other things of the wallet is its lines, and what looks like one of them", () =>
    Effect.gen(function*() {
      const { build, deploy, mint, newLine, newPart, search, send, stranger, tokenCall, usdc } = yield* Town
      const safe = toChecksumAddress(yield* deploy("CallsWallet")) as Hex
      yield* mint(usdc, safe, 10n ** 9n)
      const first = newLine()
      const lines = [first, newLine(), { ...first, amount: baseUnits(9n) }]
      const part = newPart(lines, { from: safe })
      const exported = yield* build(part)
      const own = (to: string, amount: bigint): WalletCall => ({
        to: usdc,
        value: 0n,
        data: tokenCall("transfer", to, amount)
      })
      // What the wallet pays for its transaction, and a line that somebody slipped in a second time.
      const again = own(lines[1]!.destination, 5n)
      const after = own(lines[0]!.destination, 6n)
      const calls = [own(stranger, 3n), again, ...callsOf(exported), after, own(stranger, 4n)]
      yield* send([inOneCall(safe, calls)], stranger)
      const { executions } = yield* search(part, exported)
      assert.deepStrictEqual(linesOf(executions[0]!), [
        [1, lines[1]!.destination, 5n],
        [0, lines[0]!.destination, lines[0]!.amount],
        [1, lines[1]!.destination, lines[1]!.amount],
        [2, lines[0]!.destination, 9n],
        [0, lines[0]!.destination, 6n]
      ])
    }))

  it.effect("of another batch, or of another part of the same, is another part", () =>
    Effect.gen(function*() {
      const { build, newLine, newPart, search, sign } = yield* Town
      const line = newLine()
      const part = newPart([line])
      const second = { ...part, part: 2 }
      const [exported, secondExport] = [yield* build(part), yield* build(second)]
      yield* sign(secondExport)
      assert.deepStrictEqual((yield* search(part, exported)).executions, [])
      assert.lengthOf((yield* search(second, secondExport)).executions, 1)
      yield* sign(exported)
      assert.lengthOf((yield* search(part, exported)).executions, 1)
    }))

  it.effect("is not searched on another chain than it was exported for", () =>
    Effect.gen(function*() {
      const { build, newLine, newPart, search } = yield* Town
      const part = newPart([newLine()])
      const exported = yield* build(part)
      const trace = { ...exported.trace as Record<string, string>, chainId: 1 }
      const { reason } = yield* Effect.flip(search(part, { ...exported, trace }))
      assert.include(reason, "exported for chain 1, and base is chain")
    }))
})

layer(Town.layer, options)("a list", (it) => {
  it.effect("shows each transfer that says what a line says, also the second one of it", () =>
    Effect.gen(function*() {
      const { build, newLine, newPart, search, send, tokenCall, usdc } = yield* Town
      const lines = [newLine(), newLine()]
      const part = newPart(lines)
      const exported = yield* build(part, "csv")
      const pay = (place: number, amount: bigint = lines[place]!.amount): WalletCall => ({
        to: usdc,
        value: 0n,
        data: tokenCall("transfer", lines[place]!.destination, amount)
      })
      const receipts = yield* send([pay(1), pay(0, 5n), pay(1)])
      const { executions, isOver } = yield* search(part, exported)
      const hashes = (receipts as ReadonlyArray<any>).map(({ transactionHash }) => transactionHash)
      assert.deepStrictEqual(executions.map(({ txHash }) => txHash), [hashes[0], hashes[2]])
      assert.deepStrictEqual(executions.flatMap(linesOf), [
        [1, lines[1]!.destination, lines[1]!.amount],
        [1, lines[1]!.destination, lines[1]!.amount]
      ])
      assert.isFalse(isOver)
    }))

  it.effect("shows nothing that was there before it, and nothing that strangers make look like the wallet's own", () =>
    Effect.gen(function*() {
      const { build, mint, newLine, newPart, node, search, send, stranger, tokenCall, usdc, wallet } = yield* Town
      const line = newLine()
      const pay: WalletCall = { to: usdc, value: 0n, data: tokenCall("transfer", line.destination, line.amount) }
      yield* send([pay])
      yield* node.mine(1)
      const part = newPart([line])
      const exported = yield* build(part, "csv")
      yield* mint(usdc, stranger, 10n ** 9n)
      const poison = { ...pay, data: tokenCall("transferFrom", wallet, line.destination, 0n) }
      assert.deepStrictEqual((yield* send([pay, poison], stranger)).map(({ isDone }) => isDone), [true, true])
      assert.deepStrictEqual((yield* search(part, exported)).executions, [])
    }))

  it.effect("is not built with a payment that another list may still make: one transfer would pay both", () =>
    Effect.gen(function*() {
      const { build, newLine, newPart } = yield* Town
      const line = newLine()
      const { inputs } = yield* build(newPart([line, newLine()]), "csv")
      const { code, details } = yield* Effect.flip(
        build(newPart([newLine(), line]), "csv", { spentInputs: inputs })
      ) as Effect.Effect<any>
      assert.deepStrictEqual([code, details], ["LINES_AMBIGUOUS", { line: 2 }])
      // The Payer names the part that it pays, so it may pay the same.
      assert.deepStrictEqual((yield* build(newPart([line]), "eip5792", { spentInputs: inputs })).inputs, [])
    }))

  it.effect("takes nothing that the Payer paid for another part", () =>
    Effect.gen(function*() {
      const { build, newLine, newPart, search, sign } = yield* Town
      const line = newLine()
      const part = newPart([line])
      const exported = yield* build(part, "csv")
      const other = newPart([line])
      const otherExport = yield* build(other)
      yield* sign(otherExport)
      assert.lengthOf((yield* search(other, otherExport)).executions, 1)
      assert.deepStrictEqual((yield* search(part, exported)).executions, [])
    }))

  it.effect("shows what the wallet pays in one transaction with the Payer, before its call, between two and behind", () =>
    Effect.gen(function*() {
      const { build, deploy, mint, newLine, newPart, search, send, stranger, tokenCall, usdc } = yield* Town
      const safe = toChecksumAddress(yield* deploy("CallsWallet")) as Hex
      yield* mint(usdc, safe, 10n ** 9n)
      const lines = [newLine(), newLine(), newLine()]
      const part = newPart(lines, { from: safe })
      const exported = yield* build(part, "csv")
      const pay = (place: number): WalletCall => {
        const { amount, destination } = lines[place]!
        return { to: usdc, value: 0n, data: tokenCall("transfer", destination, amount) }
      }
      // The Payer pays the same receivers the same amounts: that belongs to the parts that it names.
      const others = [newPart([newLine(), lines[1]!, lines[0]!], { from: safe }), newPart([lines[2]!], { from: safe })]
      const [one, two] = yield* Effect.forEach(others, (other) => build(other))
      const calls = [pay(0), ...callsOf(one!), pay(1), ...callsOf(two!), pay(2)]
      yield* send([inOneCall(safe, calls)], stranger)
      const { executions } = yield* search(part, exported)
      assert.deepStrictEqual(
        executions.flatMap(linesOf),
        lines.map(({ amount, destination }, place) => [place, destination, amount])
      )
      assert.lengthOf(new Set(executions.flatMap(({ transfers }) => transfers.map(({ index }) => index))), 3)
    }))

  it.effect("of a list is found below the block of its export after a reorganisation, and what came before it is not", () =>
    Effect.gen(function*() {
      const { build, head, newLine, newPart, node, search, send, tokenCall, usdc } = yield* Town
      const line = newLine()
      const call: WalletCall = { to: usdc, value: 0n, data: tokenCall("transfer", line.destination, line.amount) }
      const start = yield* head
      const [before] = (yield* send([call])) as ReadonlyArray<any>
      yield* node.mine(3)
      const part = newPart([line])
      const newest = yield* head
      const exported = yield* build(part, "csv")
      assert.deepStrictEqual((yield* search(part, exported)).executions, [], "it was there already")
      const [after] = (yield* send([call])) as ReadonlyArray<any>
      const hashes: ReadonlyArray<string> = [before, after].map(({ transactionHash }) => transactionHash)
      const raws = yield* Effect.forEach(hashes, (hash) => node.rpc("eth_getRawTransactionByHash", hash))
      yield* node.rollback(Number((yield* head) - start))
      for (const raw of raws) {
        yield* node.rpc("eth_sendRawTransaction", raw)
        yield* node.mine(1)
      }
      const { executions } = yield* search(part, exported)
      assert.deepStrictEqual(executions.map(({ txHash }) => txHash), [hashes[1]!])
      assert.isBelow(Number(executions[0]!.block.height), Number(newest))
    }))

  it.effect("shows a line in the coin only in the transaction that somebody names", () =>
    Effect.gen(function*() {
      const { build, coinLine, head, newPart, search, send, stranger } = yield* Town
      const line = coinLine({ amount: baseUnits(9n) })
      const part = newPart([line, coinLine()])
      const exported = yield* build(part, "csv")
      const call = (value: bigint): WalletCall => ({ to: line.destination as Hex, value, data: "0x" })
      const [right, other] = (yield* send([call(9n), call(8n)])) as ReadonlyArray<any>
      const [foreign] = (yield* send([call(9n)], stranger)) as ReadonlyArray<any>
      assert.deepStrictEqual((yield* search(part, exported)).executions, [])
      const named = (receipt: any) => search(part, exported, { hint: receipt.transactionHash })
      const { executions } = yield* named(right)
      assert.deepStrictEqual(executions.map(({ transfers }) => transfers), [[{
        index: 0,
        line: 0,
        destination: line.destination,
        tokenAddress: null,
        amount: baseUnits(9n),
        from: part.from
      }]])
      for (const wrong of [other, foreign]) assert.deepStrictEqual((yield* named(wrong)).executions, [])
      // Who names it may come late, when its block was searched before.
      const late = yield* search(part, exported, { hint: right.transactionHash, from: (yield* head) + 1n })
      assert.deepStrictEqual(late.executions, executions)
      const unknown = yield* search(part, exported, { hint: `0x${"7".repeat(64)}` })
      assert.deepStrictEqual(unknown.executions, [])
    }))
})

const Steps = Schema.Array(Schema.Literals(["export", "sign", "sign first", "wait", "reorganise"])).check(
  Schema.isMaxLength(8)
)

layer(Town.layer, options)("whatever happens to a part", (it) => {
  it.effect.prop(
    "each line is paid once or not at all, and the search says which",
    [Steps],
    ([steps]) =>
      Effect.gen(function*() {
        const { balance, build, chainTime, coinLine, newLine, newPart, node, search, sign, usdc } = yield* Town
        const lines = [newLine(), coinLine()]
        const part = newPart(lines)
        yield* node.mine(3)
        const exports: Array<PayoutExport> = [yield* build(part, "eip5792", { seconds: 300 })]
        const paid = Effect.map(
          Effect.all([balance(usdc, lines[0]!.destination), balance(nativeCoin, lines[1]!.destination)]),
          ([first, second]) => {
            assert.include([0n, lines[0]!.amount as bigint], first)
            assert.include([0n, lines[1]!.amount as bigint], second)
            assert.strictEqual(first > 0n, second > 0n)
            return first > 0n
          }
        )
        for (const step of steps) {
          const last = exports.at(-1)!
          switch (step) {
            case "export": {
              const next = yield* Effect.option(build(part, "transactions", { seconds: 300 }))
              if (next._tag === "Some") exports.push(next.value)
              break
            }
            case "sign":
              yield* sign(last)
              break
            case "sign first":
              yield* sign(exports[0]!)
              break
            case "wait":
              yield* node.rpc("evm_setNextBlockTimestamp", (yield* chainTime) + 301)
              yield* node.mine(1)
              break
            case "reorganise":
              yield* node.rollback(2)
          }
          const isPaid = yield* paid
          for (const exported of exports) {
            const { executions, isOver } = yield* search(part, exported)
            assert.strictEqual(executions.length, isPaid ? 1 : 0)
            assert.strictEqual(isOver, (yield* chainTime) > exported.validUntil!)
          }
        }
      }),
    { arbitrary: { runs: 25 } }
  )
})

layer(Town.layer, options)("a payment in the coin", (it) => {
  it.effect("that failed is none", () =>
    Effect.gen(function*() {
      const { build, coinLine, deploy, newPart, node, search, wallet } = yield* Town
      const line = coinLine({ destination: toChecksumAddress(yield* deploy("LoggingReceiver")) })
      const part = newPart([line])
      const exported = yield* build(part, "csv")
      const payment = { from: wallet, to: line.destination, value: toHex(line.amount) }
      const hints = yield* Effect.forEach([21_100n, 100_000n], (gas) =>
        node.rpc("eth_sendTransaction", { ...payment, gas: toHex(gas) }))
      yield* node.mine(1)
      const found = yield* Effect.forEach(hints, (hint) =>
        search(part, exported, { hint }))
      assert.deepStrictEqual(found.map(({ executions }) => executions.length), [0, 1])
    }))

  it.effect("or in a token moves something: what strangers log in a wallet's name moves nothing", () =>
    Effect.gen(function*() {
      const { usdc, wallet } = yield* Town
      const log = (data: string) => ({ address: usdc, topics: [transferTopic, pad(wallet), pad(usdc)], data })
      const amounts = loggedTransfers([log(pad("0x0")), log(pad("0x7"))]).map(({ amount, index }) => [index, amount])
      assert.deepStrictEqual(amounts, [[2, baseUnits(7n)]])
    }))
})

layer(Town.layer, options)("a changed payment", (it) => {
  it.effect("is compared with the lines by their amounts first, whatever its order is", () =>
    Effect.gen(function*() {
      const { newLine, newPart, newReceiver, usdc, wallet } = yield* Town
      const destination = newReceiver() as Hex
      const lines = [1n, 2n, 3n].map((amount) => newLine({ destination, amount: baseUnits(amount) }))
      const logs = [2n, 1n, 9n].map((amount) => ({
        address: usdc,
        topics: [transferTopic, pad(wallet), pad(destination)],
        data: pad(toHex(amount))
      }))
      const found = transfersOfChanged(newPart(lines), logs, []).map(({ amount, line }) => [line, amount as bigint])
      assert.deepStrictEqual(found, [[1, 2n], [0, 1n], [2, 9n]])
    }))
})

layer(FinalTown.layer, options)("an export", (it) => {
  it.effect("that nobody signs is over when a block behind its time is final, and cannot be executed then", () =>
    Effect.gen(function*() {
      const { build, newLine, newPart, node, search, sign } = yield* FinalTown
      const part = newPart([newLine()])
      const exported = yield* build(part, "eip5792", { seconds: 300 })
      const isOver = Effect.map(search(part, exported), (found) => [found.isOver, found.executions.length])
      assert.deepStrictEqual(yield* isOver, [false, 0])
      yield* node.rpc("evm_setNextBlockTimestamp", exported.validUntil)
      yield* node.mine(5)
      yield* node.rpc("evm_setNextBlockTimestamp", exported.validUntil! + 100)
      yield* node.mine(1)
      assert.deepStrictEqual(yield* isOver, [false, 0])
      assert.isFalse((yield* sign(exported)).at(-1)!.isDone)
      yield* node.mine(2)
      assert.deepStrictEqual(yield* isOver, [true, 0])

      const next = yield* build(part, "safe")
      assert.isTrue((yield* sign(next)).at(-1)!.isDone)
      assert.lengthOf((yield* search(part, next)).executions, 1)
    }))

  it.effect("that was signed in time is seen, then final, and never lapses", () =>
    Effect.gen(function*() {
      const { build, head, newLine, newPart, node, search, sign } = yield* FinalTown
      const part = newPart([newLine()])
      const exported = yield* build(part, "eip5792", { seconds: 300 })
      yield* node.rpc("evm_setNextBlockTimestamp", exported.validUntil! - 1)
      assert.isTrue((yield* sign(exported)).at(-1)!.isDone)
      const paidAt = yield* head
      const first = yield* search(part, exported)
      assert.deepStrictEqual([seen(first), first.searchedTo], [[[false, 1]], paidAt - 2n])
      yield* node.mine(2)
      const second = yield* search(part, exported, { from: first.searchedTo + 1n })
      assert.deepStrictEqual([seen(second), second.searchedTo, second.isOver], [[[true, 1]], paidAt, false])
      // Above it there is nothing more, which is no sign that it was never executed: at the end it is told again.
      const behind = search(part, exported, { from: second.searchedTo + 1n })
      assert.deepStrictEqual([seen(yield* behind), (yield* behind).isOver], [[], false])
      yield* node.rpc("evm_setNextBlockTimestamp", exported.validUntil! + 50)
      yield* node.mine(3)
      const last = yield* behind
      assert.deepStrictEqual([seen(last), last.searchedTo, last.isOver], [[[true, 1]], paidAt + 3n, true])
    }))

  it.effect("that a reorganisation takes back is not seen any more, and is seen again, twice", () =>
    Effect.gen(function*() {
      const { build, head, newLine, newPart, node, search, sign } = yield* FinalTown
      const part = newPart([newLine()])
      yield* node.mine(10)
      const exported = yield* build(part)
      const isSeen = Effect.map(search(part, exported), seen)
      yield* sign(exported)
      const paidAt = yield* head
      assert.deepStrictEqual(yield* isSeen, [[false, 1]])
      // Another branch takes it back, and then holds it in a later block.
      yield* node.reorg(4)
      assert.deepStrictEqual(yield* isSeen, [])
      yield* node.mine(5)
      yield* sign(exported)
      assert.deepStrictEqual(yield* isSeen, [[false, 1]])
      // The next one holds it in a block below the one that the export was built at.
      yield* node.rollback(Number((yield* head) - paidAt) + 8)
      assert.deepStrictEqual(yield* isSeen, [])
      yield* sign(exported)
      assert.isBelow(Number(yield* head), Number(paidAt) - 2)
      assert.deepStrictEqual(yield* isSeen, [[false, 1]])
      yield* node.mine(2)
      assert.deepStrictEqual(yield* isSeen, [[true, 1]])
    }))
})
