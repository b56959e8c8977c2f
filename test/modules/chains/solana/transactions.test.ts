/**
 * Goal: exactly what arrived is credited, to the invoice that the transaction names.
 * Method: transactions built by `@solana/kit`, executed by the real programs, and read as JSON-RPC shows them.
 */
import { AccountRole, address, generateKeyPairSigner, lamports } from "@solana/kit"
import { getTransferSolInstruction } from "@solana-program/system"
import { getApproveInstruction, getCloseAccountInstruction, getTransferCheckedInstruction } from "@solana-program/token"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { sharedTargetOf } from "../../../../modules/chains/solana/PaymentCode.ts"
import { ChainTransaction, transfersOf } from "../../../../modules/chains/solana/Transactions.ts"
import { memoInstruction, newAddress, usdc } from "../../../support/SolanaPayments.ts"
import { openReader } from "../../../support/SolanaReader.ts"

describe("a solana transaction", () => {
  it.effect("pays the invoice whose reference it names, in the coin and in tokens, also the first of a token", () =>
    Effect.gen(function*() {
      const { bank, facts, read, reference, target, wallet } = yield* openReader
      const coin = yield* bank.pay({ to: wallet, token: null, amount: 500_000_000n, references: [reference("a")] })
      assert.deepStrictEqual(yield* facts(coin), [[null, 500_000_000n, target("a").matchKey]])
      const token = yield* bank.pay({ to: wallet, token: usdc, amount: 12_340_000n, references: [reference("b")] })
      assert.deepStrictEqual(yield* facts(token), [[usdc, 12_340_000n, target("b").matchKey]])
      const [transfer] = yield* read(token)
      assert.strictEqual(transfer!.from, bank.payer.address)
      assert.deepStrictEqual(transfer!.at.hash, `${transfer!.at.height}`)
    }).pipe(Effect.scoped))

  it.effect("pays the invoice whose memo it carries, as it was typed; without either it names none", () =>
    Effect.gen(function*() {
      const { bank, facts, target, wallet } = yield* openReader
      const typed = target("a").memo!.toLowerCase().replace(/(.{4})(?=.)/g, "$1 ")
      const memo = yield* bank.pay({ to: wallet, token: usdc, amount: 7n, memo: typed })
      assert.deepStrictEqual(yield* facts(memo), [[usdc, 7n, target("a").matchKey]])
      assert.deepStrictEqual(yield* facts(yield* bank.pay({ to: wallet, token: usdc, amount: 8n })), [[
        usdc,
        8n,
        wallet
      ]])
      const other = yield* bank.pay({
        to: wallet,
        token: null,
        amount: 10_000_000n,
        memo: sharedTargetOf(wallet, "c").memo!
      })
      assert.deepStrictEqual(yield* facts(other), [[null, 10_000_000n, wallet]], "an invoice of another deployment")
    }).pipe(Effect.scoped))

  it.effect("reference and memo of one invoice are one payment; of two invoices they name neither", () =>
    Effect.gen(function*() {
      const { bank, facts, reference, target, wallet } = yield* openReader
      const both = { to: wallet, token: usdc, amount: 9n, references: [reference("a")] }
      assert.deepStrictEqual(yield* facts(yield* bank.pay({ ...both, memo: target("a").memo! })), [[
        usdc,
        9n,
        target("a").matchKey
      ]])
      assert.deepStrictEqual(yield* facts(yield* bank.pay({ ...both, memo: target("b").memo! })), [[usdc, 9n, wallet]])
    }).pipe(Effect.scoped))

  it.effect("trap 13: of a token that keeps a fee, what arrived is credited", () =>
    Effect.gen(function*() {
      const { bank, facts, reference, target, wallet } = yield* openReader
      const paid = yield* bank.pay({
        to: wallet,
        token: bank.feeToken,
        amount: 10_000_000n,
        references: [reference("a")]
      })
      assert.deepStrictEqual(yield* facts(paid), [[bank.feeToken, 9_900_000n, target("a").matchKey]])
    }).pipe(Effect.scoped))

  it.effect("trap 14: one that failed, or that only names a reference, credits nothing", () =>
    Effect.gen(function*() {
      const { bank, facts, ledger, reference, wallet } = yield* openReader
      const failed = yield* bank.pay({ to: wallet, token: usdc, amount: 10n ** 18n, references: [reference("a")] })
      assert.isNotNull(ledger.transactions.at(-1)!.error)
      assert.deepStrictEqual(yield* facts(failed), [])
      const spoofed = yield* bank.pay({
        to: yield* newAddress,
        token: null,
        amount: 10_000_000n,
        references: [reference("a")]
      })
      assert.deepStrictEqual(yield* facts(spoofed), [])
      const named = yield* bank.pay({
        to: bank.payer.address,
        token: null,
        amount: 5n,
        references: [reference("a"), wallet]
      })
      assert.deepStrictEqual(yield* facts(named), [])
    }).pipe(Effect.scoped))

  it.effect("adds up several transfers of one token, and tells tokens and wallets apart by stable indices", () =>
    Effect.gen(function*() {
      const { bank, facts, read, reference, target, wallet } = yield* openReader
      const pool = yield* newAddress
      const references = [reference("a")]
      const paid = yield* bank.pay(
        { to: wallet, token: usdc, amount: 1n, references },
        { to: wallet, token: usdc, amount: 2n },
        { to: wallet, token: null, amount: 10_000_000n },
        { to: pool, token: usdc, amount: 4n }
      )
      const key = target("a").matchKey
      assert.deepStrictEqual(yield* facts(paid), [[null, 10_000_000n, key], [usdc, 3n, key]])
      assert.sameDeepMembers(yield* facts(paid, [pool]), [[null, 10_000_000n, key], [usdc, 3n, key], [usdc, 4n, pool]])
      // A wallet that is watched later changes no index of the others.
      const indices = (all: ReadonlyArray<{ readonly index: number; readonly matchKey: string }>) =>
        new Map(all.filter(({ matchKey }) => matchKey === key).map(({ index }, place) => [place, index]))
      const [alone, together] = [yield* read(paid), yield* read(paid, [pool])]
      assert.deepStrictEqual(indices(alone), indices(together))
      assert.strictEqual(new Set(together.map(({ index }) => index)).size, 3)
    }).pipe(Effect.scoped))

  it.effect("in which the wallet itself acts credits nothing: sending on, closing an account, exchanging", () =>
    Effect.gen(function*() {
      const { bank, facts, ledger } = yield* openReader
      const owner = yield* Effect.promise(() => generateKeyPairSigner())
      ledger.fund(owner.address, 10_000_000_000n)
      const own = [owner.address as string]
      yield* bank.pay({ to: owner.address, token: usdc, amount: 10n })
      const account = yield* bank.tokenAccount(owner.address, usdc)
      const transferBack = getTransferCheckedInstruction({
        source: account,
        mint: address(usdc),
        destination: yield* bank.tokenAccount(bank.payer.address, usdc),
        authority: owner,
        amount: 10n,
        decimals: 6
      })
      assert.deepStrictEqual(yield* facts(yield* bank.send([transferBack], owner), own), [])
      const close = getCloseAccountInstruction({ account, destination: owner.address, owner })
      const closed = yield* bank.send([close], bank.payer)
      assert.isNull(ledger.transactions.at(-1)!.error, "the rent went to the wallet")
      assert.deepStrictEqual(yield* facts(closed, own), [])

      // Somebody whom the owner allowed to spend tokens takes them and pays in the coin.
      yield* bank.pay({ to: owner.address, token: usdc, amount: 10n })
      yield* bank.send(
        [getApproveInstruction({ source: account, delegate: bank.payer.address, owner, amount: 10n })],
        owner
      )
      const exchanged = yield* bank.send([
        {
          ...transferBack,
          accounts: transferBack.accounts.with(
            3,
            { address: bank.payer.address, role: AccountRole.READONLY_SIGNER, signer: bank.payer } as never
          )
        },
        getTransferSolInstruction({ source: bank.payer, destination: owner.address, amount: lamports(1_000_000n) })
      ])
      assert.isNull(ledger.transactions.at(-1)!.error)
      assert.deepStrictEqual(yield* facts(exchanged, own), [])
    }).pipe(Effect.scoped))

  it.effect("is read with keys of lookup tables, inner instructions, and balances without an owner", () =>
    Effect.gen(function*() {
      const { target, wallet } = yield* openReader
      const memo = memoInstruction(target("a").memo!)
      const payer = yield* newAddress
      const account = yield* newAddress
      const transaction = Schema.decodeUnknownSync(ChainTransaction)({
        slot: 5,
        blockTime: null,
        transaction: {
          signatures: ["5".repeat(88)],
          message: { accountKeys: [payer], header: { numRequiredSignatures: 1 }, instructions: [] }
        },
        meta: {
          err: null,
          preBalances: [100, 0, 1, 1],
          postBalances: [50, 0, 1, 1],
          preTokenBalances: [],
          postTokenBalances: [
            { accountIndex: 1, mint: usdc, owner: wallet, uiTokenAmount: { amount: "18446744073709551615" } },
            { accountIndex: 2, mint: usdc, uiTokenAmount: { amount: "1" } }
          ],
          innerInstructions: [{
            index: 0,
            instructions: [{
              programIdIndex: 3,
              accounts: [],
              data: (yield* Effect.promise(() => import("@scure/base"))).base58.encode(Uint8Array.from(memo.data!))
            }]
          }],
          loadedAddresses: { writable: [account, wallet], readonly: [memo.programAddress] }
        }
      })
      const keys = new Set([wallet, target("a").matchKey])
      const [found, ...others] = transfersOf(transaction, 9, { has: (key) => keys.has(key) })
      assert.lengthOf(others, 0)
      assert.include(found, { matchKey: target("a").matchKey, tokenAddress: usdc, from: null })
      assert.strictEqual(BigInt(found!.amount), 2n ** 64n - 1n)
      assert.notProperty(found, "memos")
      const [shown] = transfersOf(transaction, 9, { has: (key) => keys.has(key), showsMemos: true })
      assert.deepStrictEqual(shown!.memos, [Buffer.from(memo.data!).toString("utf8")])
    }).pipe(Effect.scoped))
})
