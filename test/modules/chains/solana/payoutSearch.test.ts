/**
 * Goal: what became of a part on Solana is told as it is: once, twice, in part, otherwise, or never.
 * Method: a wallet signs exports with `@solana/kit`, the real runtime executes them, and nodes lie, lag and forget.
 */
import { assert, describe, it } from "@effect/vitest"
import { address, generateKeyPairSigner, type Instruction } from "@solana/kit"
import { getTransferSolInstruction } from "@solana-program/system"
import { Effect } from "effect"
import { associatedTokenAccount, tokenProgram } from "../../../../modules/chains/solana/Addresses.ts"
import type { PayoutSearch } from "../../../../runtime/Payouts.ts"
import { memoInstruction, newAddress, usdc } from "../../../support/SolanaPayments.ts"
import { lineOf, openPayouts, readPayload } from "../../../support/SolanaPayouts.ts"
import type { SolanaNode } from "../../../support/SolanaRig.ts"

const unit = 1_000_000n
/** Slots to finality, and by which the index of accounts may lag. */
const finalSlots = 32
const lagSlots = 40
const validSlots = 150

const two = Effect.all([newAddress, newAddress])

/** Each execution: whether it is final, and for each transfer its line, receiver and amount. */
const facts = ({ executions }: PayoutSearch) =>
  executions.map(({ isFinal, transfers }) => [
    isFinal,
    transfers.map(({ amount, destination, line }) => [line, destination, BigInt(amount)])
  ])

const hide = (node: SolanaNode, signature: string) =>
  node.set(({ method, params }, answer) => {
    if (method === "getSignaturesForAddress") {
      return { result: (answer() as Array<any>).filter((each) => each.signature !== signature) }
    }
    return method === "getTransaction" && params[0] === signature ? { result: null } : undefined
  })

describe("what became of a part on Solana", () => {
  it.live("is nothing, then seen, then final, with what the network took", () =>
    Effect.gen(function*() {
      const { build, execute, from, ledger, partOf, search } = yield* openPayouts()
      const [one, other] = yield* two
      const part = partOf([lineOf(one, usdc, 5n * unit), lineOf(other, null, 2n * unit), lineOf(one, usdc, 5n * unit)])
      const exported = yield* build(part)
      assert.deepStrictEqual((yield* search(part, exported)).executions, [])
      const txHash = yield* execute(exported)
      const seen = yield* search(part, exported)
      const lines = [[0, one, 5n * unit], [1, other, 2n * unit], [2, one, 5n * unit]]
      assert.deepStrictEqual(facts(seen), [[false, lines]])
      assert.isFalse(seen.isOver)
      ledger.advance(finalSlots)
      const final = yield* search(part, exported)
      assert.deepStrictEqual(facts(final), [[true, lines]])
      const [execution] = final.executions
      assert.strictEqual(execution!.txHash, txHash)
      assert.strictEqual(execution!.fee, 5_000n as never)
      assert.deepStrictEqual(execution!.transfers.map((each) => each.from), [from, from, from])
      assert.strictEqual(new Set(execution!.transfers.map(({ index }) => index)).size, 3)
      assert.isBelow(Number(final.searchedTo), Number(execution!.block.height))
      ledger.advance(lagSlots)
      const later = yield* search(part, exported)
      assert.isAtLeast(Number(later.searchedTo), Number(execution!.block.height))
      assert.deepStrictEqual((yield* search(part, exported, { from: later.searchedTo + 1n })).executions, [])
    }).pipe(Effect.scoped))

  it.live("is found by its memo, whatever a wallet adds", () =>
    Effect.gen(function*() {
      const { bank, build, execute, partOf, search } = yield* openPayouts()
      const [one, stranger] = yield* two
      const part = partOf([lineOf(one, usdc, 5n * unit)])
      const exported = yield* build(part)
      const tip = yield* bank.instructionsOf({ to: stranger, token: null, amount: 2n * unit })
      yield* execute(exported, [memoInstruction("thanks"), ...tip])
      assert.deepStrictEqual(facts(yield* search(part, exported)), [
        [false, [[0, one, 5n * unit], [null, stranger, 2n * unit]]]
      ])
    }).pipe(Effect.scoped))

  it.live("is nothing that a stranger sends with its memo", () =>
    Effect.gen(function*() {
      const { bank, build, from, ledger, partOf, search } = yield* openPayouts()
      const [one] = yield* two
      const part = partOf([lineOf(one, null, 5n * unit)])
      const exported = yield* build(part)
      const stranger = yield* Effect.promise(() => generateKeyPairSigner())
      ledger.fund(stranger.address, 10n ** 10n)
      const transfer = (to: string) =>
        getTransferSolInstruction({ source: stranger, destination: address(to), amount: 5n * unit })
      yield* bank.send([memoInstruction(readPayload(exported.payload).memo), transfer(one), transfer(from)], stranger)
      ledger.advance()
      assert.deepStrictEqual((yield* search(part, exported)).executions, [])
      yield* build(part)
    }).pipe(Effect.scoped))

  it.live("is told twice where it was paid twice", () =>
    Effect.gen(function*() {
      const { build, execute, partOf, search } = yield* openPayouts()
      const [one] = yield* two
      const part = partOf([lineOf(one, usdc, 5n * unit)])
      const exported = yield* build(part)
      yield* execute(exported)
      // The same message is refused by the network, but a wallet that adds something makes another one.
      yield* execute(exported, [memoInstruction("again")])
      const paid = [false, [[0, one, 5n * unit]]]
      assert.deepStrictEqual(facts(yield* search(part, exported)), [paid, paid])
    }).pipe(Effect.scoped))

  it.live("shows who was paid instead, and how much came of a token that keeps a fee", () =>
    Effect.gen(function*() {
      const { bank, build, execute, from, partOf, search } = yield* openPayouts()
      const [one, thief] = yield* two
      yield* bank.pay({ to: thief, token: usdc, amount: 1n })
      const exported = yield* build(partOf([lineOf(one, usdc, 5n * unit), lineOf(one, bank.feeToken, 3n * unit)]))
      const own = associatedTokenAccount(one, usdc, tokenProgram)
      const theirs = associatedTokenAccount(thief, usdc, tokenProgram)
      const exchange = (all: ReadonlyArray<Instruction>) =>
        all.map((each) =>
          each.data?.[0] !== 12 ? each : {
            ...each,
            accounts: each.accounts!.map((account) =>
              account.address === own ? { ...account, address: theirs as never } : account
            )
          }
        )
      yield* execute(exported, [], exchange)
      const part = partOf([lineOf(one, usdc, 5n * unit), lineOf(one, bank.feeToken, 3n * unit)])
      const found = yield* search(part, exported)
      assert.deepStrictEqual(facts(found), [
        [false, [[null, thief, 5n * unit], [1, one, 3n * unit - 3n * unit / 100n]]]
      ])
      assert.strictEqual(found.executions[0]!.transfers[0]!.from, from)
    }).pipe(Effect.scoped))

  it.live("is nothing where the transaction failed because of one line", () =>
    Effect.gen(function*() {
      const { build, execute, ledger, partOf, search } = yield* openPayouts()
      const [one, frozen] = yield* two
      const part = partOf([lineOf(one, usdc, unit), lineOf(frozen, usdc, unit)])
      const exported = yield* build(part)
      const account = associatedTokenAccount(frozen, usdc, tokenProgram)
      // Its issuer freezes the receiver after the export.
      const data = new Uint8Array(165)
      const own = ledger.account(associatedTokenAccount(part.from, usdc, tokenProgram))!.data
      data.set(own.subarray(0, 32))
      data.set(new Uint8Array(32).fill(1), 32)
      data[108] = 2
      ledger.place(account, tokenProgram, data)
      const txHash = yield* execute(exported)
      assert.isNotNull(ledger.transactions.find(({ signature }) => signature === txHash)!.error)
      ledger.advance(finalSlots)
      assert.deepStrictEqual((yield* search(part, exported)).executions, [])
    }).pipe(Effect.scoped))

  it.live("is over when the final block height has passed its last one, and the index cannot be behind that", () =>
    Effect.gen(function*() {
      const { build, execute, ledger, partOf, search } = yield* openPayouts()
      const [one] = yield* two
      const part = partOf([lineOf(one, usdc, unit)])
      const exported = yield* build(part)
      const builtSlot = ledger.slot
      // A slot without a block is none of the 150.
      ledger.advance(10, true)
      ledger.advance(validSlots + 1 - (ledger.blockHeightAt(ledger.slot) - ledger.blockHeightAt(builtSlot)))
      assert.match(`${yield* Effect.flip(Effect.sandbox(execute(exported)))}`, /Blockhash not found/u)
      const end = ledger.blockHeightAt(builtSlot - 1) + validSlots
      ledger.advance(finalSlots + lagSlots - 10)
      while (ledger.blockHeightAt(ledger.slotAt("finalized")) < end + lagSlots) ledger.advance()
      assert.isFalse((yield* search(part, exported)).isOver)
      ledger.advance()
      assert.isTrue((yield* search(part, exported)).isOver)
      const again = yield* build(part)
      assert.notStrictEqual(again.payload, exported.payload)
    }).pipe(Effect.scoped))

  it.live("is told late by a transaction of the last block, and taken back with the block", () =>
    Effect.gen(function*() {
      const { build, execute, ledger, partOf, search } = yield* openPayouts()
      const [one] = yield* two
      const part = partOf([lineOf(one, usdc, unit)])
      const exported = yield* build(part)
      ledger.advance(validSlots - 2)
      const txHash = yield* execute(exported)
      assert.lengthOf((yield* search(part, exported)).executions, 1)
      const dropped = ledger.drop(txHash)
      assert.deepStrictEqual((yield* search(part, exported)).executions, [])
      ledger.include(dropped)
      ledger.advance()
      assert.lengthOf((yield* search(part, exported)).executions, 1)
      ledger.advance(finalSlots + lagSlots + 10)
      const found = yield* search(part, exported)
      assert.deepStrictEqual([found.executions.length, found.executions[0]!.isFinal, found.isOver], [1, true, true])
    }).pipe(Effect.scoped))

  it.live("is nothing on a fork that has nothing of it, and seen again on one that takes it again", () =>
    Effect.gen(function*() {
      const { build, execute, from, ledger, partOf, search } = yield* openPayouts()
      const [one, other] = yield* two
      const part = partOf([lineOf(one, usdc, 5n * unit), lineOf(other, null, 2n * unit)])
      const exported = yield* build(part)
      const account = associatedTokenAccount(one, usdc, tokenProgram)
      const states = () => [from, other, account].map((key) => ledger.accountAt(key, "processed"))
      const before = states()
      const txHash = yield* execute(exported)
      const executed = states()
      assert.notDeepEqual(executed, before)
      const [wire, ...others] = ledger.leaveOut(2)
      assert.deepStrictEqual([others.length, states() as unknown], [0, before])
      assert.deepStrictEqual((yield* search(part, exported)).executions, [])
      ledger.advance()
      assert.strictEqual(ledger.execute(wire!), txHash)
      assert.deepStrictEqual(states(), executed)
      ledger.advance()
      const lines = [[0, one, 5n * unit], [1, other, 2n * unit]]
      assert.deepStrictEqual(facts(yield* search(part, exported)), [[false, lines]])
    }).pipe(Effect.scoped))

  it.live("is what most of the configured nodes show: one that hides a payment makes nothing over", () =>
    Effect.gen(function*() {
      const { build, execute, ledger, nodes, partOf, search } = yield* openPayouts(3)
      const [one] = yield* two
      const part = partOf([lineOf(one, usdc, unit)])
      const exported = yield* build(part)
      const txHash = yield* execute(exported)
      ledger.advance(validSlots + finalSlots + lagSlots + 5)
      hide(nodes[0]!, txHash)
      const found = yield* search(part, exported)
      assert.deepStrictEqual([found.executions.length, found.executions[0]!.isFinal], [1, true])
      hide(nodes[1]!, txHash)
      assert.match((yield* Effect.flip(search(part, exported))).reason, /do not agree whether transaction/u)
      nodes[0]!.set(() => "cut")
      assert.match((yield* Effect.flip(search(part, exported))).reason, /do not agree whether transaction/u)
      nodes[1]!.set(() => "cut")
      assert.match((yield* Effect.flip(search(part, exported))).reason, /1 of 3 endpoints answered, and 2 must/u)
    }).pipe(Effect.scoped))

  it.live("takes both of two nodes, and neither is believed alone that it is over", () =>
    Effect.gen(function*() {
      const { build, execute, ledger, nodes, partOf, search } = yield* openPayouts(2)
      const [one] = yield* two
      const part = partOf([lineOf(one, usdc, unit)])
      const exported = yield* build(part)
      const txHash = yield* execute(exported)
      hide(nodes[1]!, txHash)
      // It may only be behind: nothing is said yet.
      const early = yield* search(part, exported)
      assert.deepStrictEqual([early.executions.length, early.isOver], [0, false])
      ledger.advance(validSlots + finalSlots + lagSlots + 5)
      assert.match((yield* Effect.flip(search(part, exported))).reason, /do not agree/u)
      nodes[1]!.set(null)
      assert.lengthOf((yield* search(part, exported)).executions, 1)
    }).pipe(Effect.scoped))

  it.live("does not hang on what no node can show, unless it may be the part's own", () =>
    Effect.gen(function*() {
      const { bank, build, execute, ledger, node, partOf, search } = yield* openPayouts()
      const [one] = yield* two
      const part = partOf([lineOf(one, usdc, unit)])
      const exported = yield* build(part)
      const other = yield* bank.pay({ to: one, token: null, amount: 2n * unit, memo: "4711" })
      const txHash = yield* execute(exported)
      const refuse = (signature: string) =>
        node.set(({ method, params }) =>
          method === "getTransaction" && params[0] === signature
            ? { error: { code: -32_015, message: "Transaction version (1) is not supported by the requesting client" } }
            : undefined
        )
      refuse(other)
      assert.lengthOf((yield* search(part, exported)).executions, 1)
      refuse(txHash)
      ledger.advance(validSlots + finalSlots + lagSlots + 5)
      assert.match((yield* Effect.flip(search(part, exported))).reason, /version \(1\) is not supported/u)
    }).pipe(Effect.scoped))

  it.live("costs four calls of a node, and one for each transaction of the wallet that was not read before", () =>
    Effect.gen(function*() {
      const { bank, build, execute, ledger, node, partOf, search } = yield* openPayouts()
      const [one] = yield* two
      const part = partOf([lineOf(one, usdc, unit)])
      const exported = yield* build(part)
      for (let count = 0; count < 5; count++) yield* bank.pay({ to: one, token: null, amount: 2n * unit })
      yield* execute(exported)
      ledger.advance(finalSlots + 2)
      node.count()
      const once = { getEpochInfo: 1, getBlocks: 1, getBlockTime: 1, getSignaturesForAddress: 1 }
      yield* search(part, exported)
      assert.deepStrictEqual(node.count(), { ...once, getTransaction: 6 })
      assert.lengthOf((yield* search(part, exported)).executions, 1)
      assert.deepStrictEqual(node.count(), { ...once, getTransaction: 1 })
    }).pipe(Effect.scoped))

  it.live("is found where somebody says, before the index of accounts shows it", () =>
    Effect.gen(function*() {
      const { build, execute, ledger, partOf, search } = yield* openPayouts()
      const [one] = yield* two
      const part = partOf([lineOf(one, usdc, unit)])
      const exported = yield* build(part)
      const hint = yield* execute(exported)
      ledger.indexLag = 30
      assert.lengthOf((yield* search(part, exported)).executions, 0)
      assert.lengthOf((yield* search(part, exported, { hint })).executions, 1)
      assert.lengthOf((yield* search(part, exported, { hint: "no signature" })).executions, 0)
    }).pipe(Effect.scoped))

  it.live("of a list is what the wallet paid by token, receiver and amount, and is never over", () =>
    Effect.gen(function*() {
      const { bank, build, execute, ledger, partOf, search } = yield* openPayouts()
      const [one, other] = yield* two
      const part = partOf([lineOf(one, usdc, 5n * unit), lineOf(other, null, 2n * unit)])
      const exported = yield* build(part, "csv")
      const elsewhere = yield* build(partOf([lineOf(one, usdc, 5n * unit)], 2))
      yield* execute(elsewhere)
      yield* bank.pay({ to: one, token: usdc, amount: 5n * unit })
      yield* bank.pay({ to: one, token: usdc, amount: 4n * unit })
      yield* bank.pay({ to: other, token: null, amount: 2n * unit })
      ledger.advance(400)
      const found = yield* search(part, exported)
      assert.deepStrictEqual(facts(found), [[true, [[0, one, 5n * unit]]], [true, [[1, other, 2n * unit]]]])
      assert.isFalse(found.isOver)
    }).pipe(Effect.scoped))

  it.live("of a list is nothing that was paid before it was given out, though a node is behind", () =>
    Effect.gen(function*() {
      const { bank, build, ledger, nodes, partOf, search } = yield* openPayouts(3)
      const [one] = yield* two
      const part = partOf([lineOf(one, usdc, 5n * unit)])
      yield* bank.pay({ to: one, token: usdc, amount: 5n * unit })
      ledger.advance(20)
      const slotsBehind = 60
      nodes[2]!.set(({ method }, answer) => {
        if (method !== "getEpochInfo") return undefined
        const info = answer() as { readonly absoluteSlot: number; readonly blockHeight: number }
        return {
          result: {
            ...info,
            absoluteSlot: info.absoluteSlot - slotsBehind,
            blockHeight: info.blockHeight - slotsBehind
          }
        }
      })
      const exported = yield* build(part, "csv")
      nodes[2]!.set(() => undefined)
      ledger.advance(400)
      assert.deepStrictEqual((yield* search(part, exported)).executions, [])
      yield* bank.pay({ to: one, token: usdc, amount: 5n * unit })
      ledger.advance(400)
      assert.deepStrictEqual(facts(yield* search(part, exported)), [[true, [[0, one, 5n * unit]]]])
    }).pipe(Effect.scoped))
})
