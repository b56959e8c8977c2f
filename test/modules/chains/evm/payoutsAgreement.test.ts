/**
 * Goal: no node alone makes a payout seen, and none makes it look as if it never could be paid.
 * Method: real nodes that part ways before a wallet pays, so that some have the payment and others do not; and
 * endpoints in front of one node that leave out what they are asked for.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { payer, selectors } from "../../../../modules/chains/evm/Contracts.ts"
import { agreementOf, type EndpointView } from "../../../../modules/chains/evm/PayoutAgreement.ts"
import { baseUnits } from "../../../../schemas/Money.ts"
import type { PayoutDriver, PayoutExecution, PayoutExport, PayoutPart } from "../../../../runtime/Payouts.ts"
import { anvil } from "../../../support/Anvil.ts"
import { behind, type NodeAnswers, nodeProxy } from "../../../support/NodeProxy.ts"
import { callsOf, payoutDriverAt, payoutTown } from "../../../support/PayoutTown.ts"

const options = { excludeTestServices: true } as const

class Town extends Context.Service<Town, Effect.Success<ReturnType<typeof payoutTown>>>()("test/PayoutTown") {
  static readonly layer = Layer.effect(this, payoutTown())
}

/** As on mainnet: the newest two blocks are not final yet. */
class FinalTown extends Context.Service<FinalTown, Effect.Success<ReturnType<typeof payoutTown>>>()("test/FinalTown") {
  static readonly layer = Layer.effect(this, payoutTown("mainnet", ["--slots-in-an-epoch", "1"]))
}

/** A node that has the town's blocks so far, and goes its own way from here. */
const branch = (executed: PayoutExport | null) =>
  Effect.gen(function*() {
    const { chainId, node: { url }, wallet } = yield* Town
    const node = yield* anvil("base", "devnet", url, chainId, ["--hardfork", "prague"])
    for (const { data, to, value } of executed === null ? [] : callsOf(executed)) {
      yield* node.send({ from: wallet, to, value, data, gas: 3_000_000n })
    }
    if (executed === null) yield* node.mine(callsCount)
    return node
  })

/** Calls of an export with one token: its approval and the payment, each in a block of its own. */
const callsCount = 2

const noLogs: NodeAnswers = (call, ask) => call.method === "eth_getLogs" ? Promise.resolve([]) : ask(call)

/** Hides the payment in the logs and in what the contract answers. */
const hidden: NodeAnswers = (call, ask) => {
  const [question] = call.params
  return call.method === "eth_call" && question.to === payer.address && question.data.startsWith(selectors.isPaid)
    ? Promise.resolve(`0x${"0".repeat(64)}`)
    : noLogs(call, ask)
}

/** What a search comes to. */
const outcome = (
  search: (part: PayoutPart, exported: PayoutExport, more: { readonly at: PayoutDriver }) => ReturnType<
    PayoutDriver["search"]
  >,
  part: PayoutPart,
  exported: PayoutExport,
  at: PayoutDriver
) =>
  Effect.match(search(part, exported, { at }), {
    onFailure: ({ reason }) => reason,
    onSuccess: ({ executions, isOver }) => ({ executions: executions.length, isOver })
  })

layer(Town.layer, options)("a payment that some nodes have and others do not", (it) => {
  it.effect("is seen where most have it, is not where most do not, and is a failure where they are as many", () =>
    Effect.gen(function*() {
      const { build, newLine, newPart, search } = yield* Town
      const part = newPart([newLine()])
      const exported = yield* build(part, "eip5792", { seconds: 300 })
      const [paying, other] = [yield* branch(exported), yield* branch(null)]
      const cases = [
        { nodes: [paying], executions: 1 },
        { nodes: [other], executions: 0 },
        { nodes: [paying, paying, other], executions: 1 },
        { nodes: [other, paying, other], executions: 0 }
      ]
      for (const { executions, nodes } of cases) {
        const at = yield* payoutDriverAt("devnet", nodes.map(({ url }) => url))
        assert.deepStrictEqual(yield* outcome(search, part, exported, at), { executions, isOver: false })
      }
      const two = yield* payoutDriverAt("devnet", [paying.url, other.url])
      const contradiction = /rpc 1 shows the payout 0x[0-9a-f]{64} in block \d+, and rpc 2 does not: compare/
      assert.match(String(yield* outcome(search, part, exported, two)), contradiction)

      // The time of the export is over on all of them, and what it means is the same question.
      for (const node of [paying, other]) {
        yield* node.rpc("evm_setNextBlockTimestamp", exported.validUntil! + 1)
        yield* node.mine(1)
      }
      for (const { executions, nodes } of cases) {
        const at = yield* payoutDriverAt("devnet", nodes.map(({ url }) => url))
        assert.deepStrictEqual(yield* outcome(search, part, exported, at), { executions, isOver: true })
      }
      assert.match(String(yield* outcome(search, part, exported, two)), contradiction)
    }).pipe(Effect.scoped))

  it.effect("is not over by the word of one of two or three", () =>
    Effect.gen(function*() {
      const { build, newLine, newPart, search } = yield* Town
      const part = newPart([newLine()])
      const exported = yield* build(part, "eip5792", { seconds: 300 })
      const [fast, slow] = [yield* branch(null), yield* branch(null)]
      yield* fast.rpc("evm_setNextBlockTimestamp", exported.validUntil! + 1)
      yield* fast.mine(1)
      const cases = [
        { nodes: [fast, slow], isOver: false },
        { nodes: [fast, slow, slow], isOver: false },
        { nodes: [fast, slow, fast], isOver: true }
      ]
      for (const { isOver, nodes } of cases) {
        const at = yield* payoutDriverAt("devnet", nodes.map(({ url }) => url))
        assert.deepStrictEqual(yield* outcome(search, part, exported, at), { executions: 0, isOver })
      }
    }).pipe(Effect.scoped))
})

layer(Town.layer, options)("an endpoint", (it) => {
  it.effect("that shows no logs of what its contract says is paid shows nothing, and with two that is a failure", () =>
    Effect.gen(function*() {
      const { build, newLine, newPart, node, search, sign } = yield* Town
      const part = newPart([newLine()])
      const exported = yield* build(part, "eip5792", { seconds: 300 })
      yield* sign(exported)
      const [first, second] = [yield* nodeProxy(node.url), yield* nodeProxy(node.url)]
      const lone = yield* payoutDriverAt("devnet", [first.url])
      const two = yield* payoutDriverAt("devnet", [first.url, second.url])
      const three = yield* payoutDriverAt("devnet", [first.url, second.url, node.url])
      first.set(noLogs)
      for (const at of [lone, two]) {
        assert.include(String(yield* outcome(search, part, exported, at)), "is paid, and shows no log of it")
      }
      first.set(hidden)
      assert.include(String(yield* outcome(search, part, exported, two)), "rpc 1 does not: compare them")
      yield* node.rpc("evm_setNextBlockTimestamp", exported.validUntil! + 1)
      yield* node.mine(1)
      assert.include(String(yield* outcome(search, part, exported, two)), "rpc 1 does not: compare them")
      assert.deepStrictEqual(yield* outcome(search, part, exported, three), { executions: 1, isOver: true })
      // The one that would contradict it is away.
      second.set("cut")
      assert.include(String(yield* outcome(search, part, exported, three)), "rpc 1 does not: compare them")
      assert.include(String(yield* outcome(search, part, exported, two)), "1 of 2 endpoints could be searched")
      first.set("through")
      assert.deepStrictEqual(yield* outcome(search, part, exported, three), { executions: 1, isOver: true })
    }).pipe(Effect.scoped))

  it.effect("that shows a transfer of a list and not its receipt has not searched that block", () =>
    Effect.gen(function*() {
      const { build, head, newLine, newPart, node, search, send, tokenCall, usdc } = yield* Town
      const line = newLine()
      const part = newPart([line])
      yield* node.mine(40)
      const proxy = yield* nodeProxy(node.url)
      const at = yield* payoutDriverAt("devnet", [proxy.url])
      const exported = yield* build(part, "csv", { at })
      yield* send([{ to: usdc, value: 0n, data: tokenCall("transfer", line.destination, line.amount) }])
      proxy.set((call, ask) => call.method === "eth_getTransactionReceipt" ? Promise.resolve(null) : ask(call))
      assert.include(String(yield* outcome(search, part, exported, at)), "and not its receipt in the same block")
      proxy.set("through")
      assert.deepStrictEqual(yield* outcome(search, part, exported, at), { executions: 1, isOver: false })
      // A node behind the same address may be behind: what is found by logs alone is looked for once more.
      assert.strictEqual((yield* search(part, exported, { at, from: 1n })).searchedTo, (yield* head) - 32n)
    }).pipe(Effect.scoped))

  it.effect("that names a block which is not there yet does not decide where a search begins", () =>
    Effect.gen(function*() {
      const { build, head, coinLine, newPart, node } = yield* Town
      const proxy = yield* nodeProxy(node.url)
      proxy.set(async (call, ask) => {
        const answer = await ask(call)
        return call.params[0] === "latest" ? { ...answer, number: "0xffffff" } : answer
      })
      const newest = yield* head
      const part = newPart([coinLine()])
      for (const urls of [[proxy.url, node.url], [node.url, proxy.url, node.url]]) {
        const { trace } = yield* build(part, "csv", { at: yield* payoutDriverAt("devnet", urls) })
        assert.deepInclude(trace, { before: { newest: String(newest), txHashes: [] } })
      }
    }).pipe(Effect.scoped))
})

layer(FinalTown.layer, options)("an endpoint", (it) => {
  it.effect("that is behind is waited for", () =>
    Effect.gen(function*() {
      const { build, head, newLine, newPart, node, search, sign } = yield* FinalTown
      const part = newPart([newLine()])
      const exported = yield* build(part)
      yield* sign(exported)
      const proxy = yield* nodeProxy(node.url)
      proxy.set(behind(() => 1))
      const at = yield* payoutDriverAt("mainnet", [node.url, proxy.url])
      assert.deepStrictEqual(yield* outcome(search, part, exported, at), { executions: 0, isOver: false })
      assert.strictEqual((yield* search(part, exported, { at })).searchedTo, (yield* head) - 2n)
      yield* node.mine(1)
      assert.deepStrictEqual(yield* outcome(search, part, exported, at), { executions: 1, isOver: false })
    }).pipe(Effect.scoped))
})

layer(Layer.empty, options)("what endpoints come to", (it) => {
  const execution: PayoutExecution = {
    txHash: "0xaa",
    block: { height: 10n, hash: "0xbb", time: 1 },
    isFinal: true,
    transfers: [],
    fee: baseUnits(5n)
  }
  const view = (place: number, more: Partial<EndpointView> = {}): EndpointView => ({
    place,
    head: 20n,
    final: 15n,
    searchedTo: more.final ?? 15n,
    executions: [],
    isOver: true,
    isPaidBefore: false,
    ...more
  })
  const shows = (place: number, more: Partial<EndpointView> = {}) => view(place, { executions: [execution], ...more })

  it.effect("is as far searched and as final as most of those that are configured say", () =>
    Effect.sync(() => {
      const heights = (finals: ReadonlyArray<bigint>, configured: number) => {
        const found = agreementOf(finals.map((final, place) => shows(place, { final })), configured, 1n)
        return typeof found === "string" ? found : [found.searchedTo, found.executions[0]!.isFinal]
      }
      assert.deepStrictEqual(heights([9n], 1), [9n, false])
      assert.deepStrictEqual(heights([15n, 9n], 2), [9n, false])
      assert.deepStrictEqual(heights([15n, 9n, 12n], 3), [12n, true])
      assert.deepStrictEqual(heights([15n, 9n, 8n], 3), [9n, false])
      assert.include(heights([15n, 9n], 4), "2 of 4 endpoints could be searched for a payout, and 3 are needed")
      assert.include(heights([], 1), "0 of 1")
    }))

  it.effect("goes back behind nothing that was searched before", () =>
    Effect.sync(() => {
      const found = agreementOf([view(0, { final: 3n })], 1, 8n)
      assert.deepStrictEqual(typeof found === "string" ? found : found.searchedTo, 7n)
    }))

  it.effect("is no end where somebody shows a payment that others do not have yet", () =>
    Effect.sync(() => {
      const late = { head: 9n, final: 8n }
      const found = agreementOf([shows(0, { final: 8n }), view(1, late), view(2, late)], 3, 1n)
      assert.deepStrictEqual(
        typeof found === "string" ? found : [found.isOver, found.executions.length, found.searchedTo],
        [
          false,
          0,
          8n
        ]
      )
    }))

  it.effect("is an end by the word of those only that show what most show", () =>
    Effect.sync(() => {
      const isOver = (last: Partial<EndpointView>) => {
        const found = agreementOf([shows(0), view(1), view(2, last)], 3, 1n)
        return typeof found === "string" ? found : [found.isOver, found.executions.length]
      }
      assert.deepStrictEqual(isOver({ isOver: false }), [false, 0])
      assert.deepStrictEqual(isOver({ isOver: true }), [true, 0])
    }))

  it.effect("is a fee only where most name the same", () =>
    Effect.sync(() => {
      const other = shows(1, { executions: [{ ...execution, fee: baseUnits(6n) }] })
      const feeOf = (views: ReadonlyArray<EndpointView>) => {
        const found = agreementOf(views, views.length, 1n)
        return typeof found === "string" ? found : found.executions[0]!.fee
      }
      assert.isNull(feeOf([shows(0), other]))
      assert.strictEqual(feeOf([shows(0), other, shows(2)]), baseUnits(5n))
    }))
})
