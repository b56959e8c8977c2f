/**
 * Goal: what a wallet on Solana is given pays exactly the lines of a part, and only what can be paid is given out.
 * Method: the bytes are read by `@solana/kit`, and executed by the real runtime and token programs in process.
 */
import { assert, describe, it } from "@effect/vitest"
import { getBase58Decoder } from "@solana/kit"
import { Effect } from "effect"
import { associatedTokenAccount, tokenProgram } from "../../../../modules/chains/solana/Addresses.ts"
import { maximumTransactionBytes } from "../../../../modules/chains/solana/MessageEncoder.ts"
import {
  instructionsOf,
  memoOf,
  partSizes,
  transactionOf,
  worstBytes
} from "../../../../modules/chains/solana/PayoutTransaction.ts"
import type { PayoutLine } from "../../../../runtime/Payouts.ts"
import { newAddress, token2022Program, usdc } from "../../../support/SolanaPayments.ts"
import { batchId, lineOf, openPayouts, readPayload } from "../../../support/SolanaPayouts.ts"

const unit = 1_000_000n
const memoText = "bat_0193a5b27c4170009d4b6f5b1c3b2a10/1"

const addresses = (count: number) => Effect.forEach(Array.from({ length: count }), () => newAddress)
const randomKey = () => getBase58Decoder().decode(crypto.getRandomValues(new Uint8Array(32)))

const u64 = (data: Uint8Array, at: number) => new DataView(data.buffer, data.byteOffset).getBigUint64(at, true)

const codeOf = Effect.map((error: any) => [error.code, error.details?.line ?? null])

describe("an export of a part on Solana", () => {
  it.live("is a transaction of version 0 that pays the lines in their order, and makes the accounts that are missing", () =>
    Effect.gen(function*() {
      const { bank, build, from, ledger, partOf } = yield* openPayouts()
      const [known, fresh, coin] = yield* addresses(3) as Effect.Effect<[string, string, string]>
      yield* bank.pay({ to: known, token: usdc, amount: 1n })
      const exported = yield* build(partOf([
        lineOf(known, usdc, 5n * unit),
        lineOf(fresh, usdc, 6n * unit),
        lineOf(fresh, usdc, 7n * unit),
        lineOf(coin, null, 8_000_000n)
      ]))
      const payload = readPayload(exported.payload)
      assert.strictEqual(payload.account, from)
      assert.strictEqual(payload.message.feePayer.address, from)
      assert.deepStrictEqual(Object.keys(payload.decoded.signatures), [from])
      const [limit, price, memo, ...rest] = payload.message.instructions as ReadonlyArray<any>
      assert.deepStrictEqual([limit.data[0], price.data[0]], [2, 3])
      assert.strictEqual(Buffer.from(memo.data).toString(), memoText)
      const account = (owner: string) => associatedTokenAccount(owner, usdc, tokenProgram)
      assert.deepStrictEqual(
        rest.map(({ accounts, data, programAddress }: any) => {
          const keys = accounts.map((each: any) => each.address)
          return data[0] === 12
            ? ["token", keys[0], keys[2], keys[3], u64(data, 1), data[9], programAddress]
            : data[0] === 1
            ? ["create", keys[1], keys[2], keys[3]]
            : ["coin", keys[0], keys[1], u64(data, 4)]
        }),
        [
          ["token", account(from), account(known), from, 5n * unit, 6, tokenProgram],
          ["create", account(fresh), fresh, usdc],
          ["token", account(from), account(fresh), from, 6n * unit, 6, tokenProgram],
          ["token", account(from), account(fresh), from, 7n * unit, 6, tokenProgram],
          ["coin", from, coin, 8_000_000n]
        ]
      )
      assert.isTrue(exported.isSimulated)
      assert.match(exported.notices.join(), /1 receiver has no account .* 0\.002039280 SOL/u)
      assert.strictEqual(payload.lastValidBlockHeight, ledger.blockHeightAt(ledger.slotAt("confirmed")) + 150)
      assert.deepStrictEqual(exported.inputs, [])
      assert.deepStrictEqual(exported.format, "solana")
    }).pipe(Effect.scoped))

  it.live("pays as many lines as a part may have, with every account missing", () =>
    Effect.gen(function*() {
      const { bank, build, execute, ledger, partOf } = yield* openPayouts()
      const receivers = yield* addresses(19)
      const coins = receivers.map((each, place) => lineOf(each, null, 2_000_000n + BigInt(place)))
      const tokens = receivers.map((each, place) => lineOf(each, usdc, unit + BigInt(place)))
      const feeTokens = receivers.map((each) => lineOf(each, bank.feeToken, unit))
      for (const [place, [lines, most]] of ([[coins, 19], [tokens, 8], [feeTokens, 8]] as const).entries()) {
        const [size] = partSizes(lines)
        assert.strictEqual(size, most)
        const exported = yield* build(partOf(lines.slice(0, size), place + 1))
        const payload = readPayload(exported.payload)
        assert.isAtMost(payload.bytes.length, maximumTransactionBytes)
        const txHash = yield* execute(exported)
        assert.isNull(ledger.transactions.find(({ signature }) => signature === txHash)!.error)
      }
    }).pipe(Effect.scoped))

  it("always fits into a transaction, whatever its lines are, and every line is in one part", () => {
    let seed = 7
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
      return Math.floor(seed / 2_147_483_648 * below)
    }
    for (let round = 0; round < 60; round++) {
      const owners = Array.from({ length: 1 + random(30) }, randomKey)
      const mints = Array.from({ length: 1 + random(5) }, randomKey)
      const coinShare = random(4)
      const lines = Array.from(
        { length: 1 + random(60) },
        (): PayoutLine =>
          lineOf(owners[random(owners.length)]!, random(4) < coinShare ? null : mints[random(mints.length)]!, 1n)
      )
      const sizes = partSizes(lines)
      assert.strictEqual(sizes.reduce((sum, size) => sum + size, 0), lines.length)
      const from = randomKey()
      let start = 0
      for (const size of sizes) {
        const part = lines.slice(start, start + size)
        start += size
        const planned = part.map((line) => ({
          line,
          token: line.tokenAddress === null ? null : {
            mint: line.tokenAddress,
            program: mints.indexOf(line.tokenAddress) % 2 === 0 ? tokenProgram : token2022Program as string,
            decimals: 6,
            // Any key will do for its length, and no two owners or mints share one.
            account: associatedTokenAccount(line.destination, line.tokenAddress, tokenProgram),
            isMissing: true
          }
        }))
        const bytes = transactionOf(from, randomKey(), instructionsOf(from, memoOf({ batchId, part: 9_999 }), planned))
        assert.isAtMost(bytes.length, worstBytes(part))
        assert.isAtMost(bytes.length, maximumTransactionBytes)
      }
    }
  })

  it.live("says what the wallet lacks: of a token, and of the coin with the rent of new accounts", () =>
    Effect.gen(function*() {
      const { bank, build, ledger, partOf } = yield* openPayouts()
      const [one] = yield* addresses(1) as Effect.Effect<[string]>
      const tooMuch = yield* Effect.flip(build(partOf([lineOf(one, usdc, 10n ** 16n)])))
      assert.strictEqual(tooMuch._tag === "PublicError" && tooMuch.code, "INSUFFICIENT_FUNDS")
      assert.include(tooMuch._tag === "PublicError" ? tooMuch.details : {}, { symbol: "USDC", token_address: usdc })
      const coins = yield* Effect.flip(build(partOf([
        lineOf(one, null, ledger.account(bank.payer.address)!.lamports - 1_000_000n),
        lineOf(one, usdc, unit)
      ])))
      assert.strictEqual(coins._tag === "PublicError" && coins.code, "INSUFFICIENT_FUNDS")
      const { details } = coins as any
      assert.strictEqual(details.symbol, "SOL")
      assert.isAbove(Number(details.missing), 0.0019)
      assert.isBelow(Number(details.missing), 0.0022)
    }).pipe(Effect.scoped))

  it.live("is refused with the line that cannot be paid, and nothing is given out", () =>
    Effect.gen(function*() {
      const { bank, build, from, ledger, node, partOf } = yield* openPayouts()
      const [good, frozen, taken] = yield* addresses(3) as Effect.Effect<[string, string, string]>
      for (const to of [frozen, taken]) yield* bank.pay({ to, token: usdc, amount: 1n })
      const editAccount = (owner: string, edit: (data: Uint8Array) => void) => {
        const key = associatedTokenAccount(owner, usdc, tokenProgram)
        const data = Uint8Array.from(ledger.account(key)!.data)
        edit(data)
        ledger.place(key, tokenProgram, data)
      }
      editAccount(frozen, (data) => void (data[108] = 2))
      editAccount(taken, (data) => data.set(new Uint8Array(32).fill(7), 32))
      const refusalOf = (line: PayoutLine) => codeOf(Effect.flip(build(partOf([lineOf(good, usdc, unit), line]))))
      const refused = ["PAYOUT_LINE_REFUSED", 2]
      assert.deepStrictEqual(yield* refusalOf(lineOf(frozen, usdc, unit)), refused)
      assert.deepStrictEqual(yield* refusalOf(lineOf(taken, usdc, unit)), refused)
      assert.deepStrictEqual(yield* refusalOf(lineOf(good, usdc, unit, { memo: "4711" })), refused)
      assert.deepStrictEqual(yield* refusalOf(lineOf(from, null, unit)), refused)
      assert.deepStrictEqual(yield* refusalOf(lineOf(good, null, 1_000n)), refused)
      assert.deepStrictEqual(yield* refusalOf(lineOf(good, randomKey(), unit)), refused)
      assert.deepStrictEqual(yield* refusalOf(lineOf(usdc, null, unit)), refused)
      // A node whose accounts do not show that a receiver is frozen finds it out by executing the transaction.
      node.set(({ method }, answer) => {
        const result: any = answer()
        if (method !== "getMultipleAccounts") return undefined
        for (const account of result.value) {
          const data = account === null ? Buffer.alloc(0) : Buffer.from(account.data[0], "base64")
          if (data.length !== 165 || data[108] !== 2) continue
          data[108] = 1
          account.data[0] = data.toString("base64")
        }
        return { result }
      })
      assert.deepStrictEqual(yield* refusalOf(lineOf(frozen, usdc, unit)), refused)
    }).pipe(Effect.scoped))

  it.live("is not given out for a wallet that cannot sign, or whose tokens are frozen", () =>
    Effect.gen(function*() {
      const { bank, build, ledger, partOf } = yield* openPayouts()
      const [good] = yield* addresses(1) as Effect.Effect<[string]>
      const vault = associatedTokenAccount(good, good, good)
      ledger.fund(vault, 10n ** 12n)
      const part = partOf([lineOf(good, null, 2n * unit)])
      const codes = ["WALLET_NOT_SPENDABLE", null]
      assert.deepStrictEqual(yield* codeOf(Effect.flip(build({ ...part, from: vault }))), codes)
      const own = associatedTokenAccount(bank.payer.address, usdc, tokenProgram)
      const data = Uint8Array.from(ledger.account(own)!.data)
      data[108] = 2
      ledger.place(own, tokenProgram, data)
      assert.deepStrictEqual(yield* codeOf(Effect.flip(build(partOf([lineOf(good, usdc, unit)])))), codes)
    }).pipe(Effect.scoped))

  it.live("says that it was not simulated where no node simulates", () =>
    Effect.gen(function*() {
      const { build, node, partOf } = yield* openPayouts()
      node.set(({ method }) =>
        method === "simulateTransaction" ? { error: { code: -32_601, message: "Method not found" } } : undefined
      )
      const [good] = yield* addresses(1) as Effect.Effect<[string]>
      assert.isFalse((yield* build(partOf([lineOf(good, null, 2n * unit)]))).isSimulated)
    }).pipe(Effect.scoped))

  it.live("is not given out again once the chain has executed it", () =>
    Effect.gen(function*() {
      const { build, execute, partOf } = yield* openPayouts()
      const [good] = yield* addresses(1) as Effect.Effect<[string]>
      const part = partOf([lineOf(good, null, 2n * unit)])
      yield* execute(yield* build(part))
      assert.deepStrictEqual(yield* codeOf(Effect.flip(build(part))), ["BATCH_PAID", null])
      yield* build({ ...part, part: 2 })
    }).pipe(Effect.scoped))

  it.live("cannot be made short by one node of several that names an early end", () =>
    Effect.gen(function*() {
      const { build, ledger, nodes, partOf } = yield* openPayouts(3)
      const [good] = yield* addresses(1) as Effect.Effect<[string]>
      const lie = (by: number) =>
        nodes[0]!.set(({ method }, answer) => {
          const result: any = answer()
          if (method !== "getLatestBlockhash") return undefined
          result.value.lastValidBlockHeight -= by
          return { result }
        })
      lie(100)
      const exported = yield* build(partOf([lineOf(good, null, 2n * unit)]))
      const end = ledger.blockHeightAt(ledger.slotAt("confirmed")) + 150
      assert.isAtLeast(readPayload(exported.payload).lastValidBlockHeight, end)
      lie(900)
      const refusal = yield* Effect.flip(build(partOf([lineOf(good, null, 2n * unit)])))
      assert.strictEqual(refusal._tag === "DriverError" && refusal.kind, "contradiction")
    }).pipe(Effect.scoped))

  it.live("is a list for people as well", () =>
    Effect.gen(function*() {
      const { build, partOf } = yield* openPayouts()
      const [one, two] = yield* addresses(2) as Effect.Effect<[string, string]>
      const exported = yield* build(
        partOf([lineOf(one, usdc, 5n * unit, { reference: "=cmd" }), lineOf(two, null, 2_000_000n)]),
        "csv"
      )
      assert.strictEqual(
        exported.payload,
        "token_type,token_address,receiver,amount,id,memo\r\n" +
          `spl,${usdc},${one},5.000000,'=cmd,\r\n` +
          `native,,${two},0.002000000,re_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10,\r\n`
      )
      assert.isNull(exported.validUntil)
      const again = partOf([lineOf(one, usdc, 6n * unit), lineOf(two, null, 2_000_000n)], 2)
      assert.deepStrictEqual(yield* codeOf(Effect.flip(build(again, "csv", exported.inputs))), ["LINES_AMBIGUOUS", 2])
      const alike = partOf([lineOf(one, usdc, 6n * unit), lineOf(one, usdc, 6n * unit)], 2)
      assert.deepStrictEqual(yield* codeOf(Effect.flip(build(alike, "csv"))), ["LINES_AMBIGUOUS", 2])
      yield* build(alike, "solana", exported.inputs)
    }).pipe(Effect.scoped))
})
