/**
 * Goal: what a hostile or an unusual transaction moves is credited once, as it arrived, or not at all.
 * Method: transactions built by `@solana/kit`, executed by the real programs, and read as JSON-RPC shows them.
 */
import { address, generateKeyPairSigner, type KeyPairSigner, lamports } from "@solana/kit"
import { getTransferSolInstruction } from "@solana-program/system"
import {
  AuthorityType,
  getCloseAccountInstruction,
  getSetAuthorityInstruction,
  getSyncNativeInstruction,
  getTransferCheckedInstruction
} from "@solana-program/token"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { referenceOf, sharedTargetOf } from "../../../../modules/chains/solana/PaymentCode.ts"
import { ChainTransaction, isComplete, transfersOf } from "../../../../modules/chains/solana/Transactions.ts"
import { newAddress, usdc } from "../../../support/SolanaPayments.ts"
import { openReader } from "../../../support/SolanaReader.ts"

type Reader = Effect.Success<typeof openReader>

/** The mint of wrapped SOL (`spl_token::native_mint`). */
const wrappedSol = "So11111111111111111111111111111111111111112"

/** Byte of a token account that says whether it is frozen, and the value that does (`spl_token::state::Account`). */
const stateAt = 108
const frozen = 2

const sol = 1_000_000_000n

const newSigner = Effect.promise(() => generateKeyPairSigner())

/** A wallet with coins that can sign, watched from now on. */
const openOwner = Effect.fnUntraced(function*({ ledger }: Reader) {
  const owner = yield* newSigner
  ledger.fund(owner.address, 10n * sol)
  return owner
})

const lastError = ({ ledger }: Reader) => ledger.transactions.at(-1)!.error

const moveToken = Effect.fnUntraced(function*(
  { bank }: Reader,
  from: KeyPairSigner,
  to: string,
  amount: bigint
) {
  return getTransferCheckedInstruction({
    source: yield* bank.tokenAccount(from.address, usdc),
    mint: address(usdc),
    destination: yield* bank.tokenAccount(to, usdc),
    authority: from,
    amount,
    decimals: 6
  })
})

describe("what came to a wallet of Solana", () => {
  it.effect("is counted once, however many instructions touch its account", () =>
    Effect.gen(function*() {
      const reader = yield* openReader
      const { bank, facts, reference, target, wallet } = reader
      const payment = { to: wallet, token: usdc, amount: 5n, references: [reference("a")], memo: target("a").memo! }
      // The account is made by inner instructions, then paid three times, and named again by an idempotent creation.
      const instructions = [
        ...yield* bank.instructionsOf(payment),
        ...yield* bank.instructionsOf({ ...payment, amount: 6n }),
        ...yield* bank.instructionsOf({ ...payment, amount: 7n })
      ]
      const paid = yield* bank.send(instructions)
      assert.isNull(lastError(reader))
      assert.isAbove(reader.ledger.transactions.at(-1)!.inner.length, 0)
      assert.deepStrictEqual(yield* facts(paid), [[usdc, 18n, target("a").matchKey]])
    }).pipe(Effect.scoped))

  it.effect("is the same with keys of a lookup table: the wallet, its account and the reference", () =>
    Effect.gen(function*() {
      const reader = yield* openReader
      const { bank, facts, ledger, reference, target, wallet } = reader
      yield* bank.pay({ to: wallet, token: usdc, amount: 1n })
      const table = yield* newAddress
      const keys = [wallet, yield* bank.tokenAccount(wallet, usdc), reference("a"), usdc].map((each) => address(each))
      ledger.placeLookupTable(table, keys)
      ledger.advance()
      const payments = [
        ...yield* bank.instructionsOf({ to: wallet, token: usdc, amount: 8n, references: [reference("a")] }),
        ...yield* bank.instructionsOf({ to: wallet, token: null, amount: sol })
      ]
      const paid = yield* bank.send(payments, undefined, { [table]: keys })
      assert.isNull(lastError(reader))
      const { loaded } = ledger.transactions.at(-1)!
      assert.includeMembers([...loaded.writable, ...loaded.readonly], keys.slice(0, 3))
      const key = target("a").matchKey
      assert.sameDeepMembers(yield* facts(paid), [[null, sol, key], [usdc, 8n, key]])
    }).pipe(Effect.scoped))

  it.effect("names no invoice with the references of two, and one with the reference of another's wallet", () =>
    Effect.gen(function*() {
      const { bank, facts, reference, target, wallet } = yield* openReader
      const two = { to: wallet, token: usdc, amount: 9n, references: [reference("a"), reference("b")] }
      assert.deepStrictEqual(yield* facts(yield* bank.pay(two)), [[usdc, 9n, wallet]])
      const other = yield* newAddress
      const otherTarget = sharedTargetOf(other, "c")
      const more = [other, otherTarget.matchKey]
      const crossed = yield* bank.pay({ to: other, token: usdc, amount: 10n, references: [reference("a")] })
      assert.deepStrictEqual(yield* facts(crossed, more), [[usdc, 10n, other]], "another wallet's invoice is not paid")
      const memo = yield* bank.pay({ to: other, token: usdc, amount: 11n, memo: target("a").memo! })
      assert.deepStrictEqual(yield* facts(memo, more), [[usdc, 11n, other]])
      const both = yield* bank.pay(
        { to: wallet, token: usdc, amount: 12n, references: [reference("a")] },
        { to: other, token: usdc, amount: 13n, references: [referenceOf(other, otherTarget.memo!)] }
      )
      assert.sameDeepMembers(yield* facts(both, more), [
        [usdc, 12n, target("a").matchKey],
        [usdc, 13n, otherTarget.matchKey]
      ])
    }).pipe(Effect.scoped))

  it.effect("is nothing where the wallet sends to itself, with the reference of an invoice too", () =>
    Effect.gen(function*() {
      const reader = yield* openReader
      const { bank, facts } = reader
      const owner = yield* openOwner(reader)
      const invoice = sharedTargetOf(owner.address, "c")
      const own = [owner.address as string, invoice.matchKey]
      yield* bank.pay({ to: owner.address, token: usdc, amount: 100n })
      const coin = getTransferSolInstruction({ source: owner, destination: owner.address, amount: lamports(sol) })
      const named = {
        ...coin,
        accounts: [...coin.accounts, { address: address(referenceOf(owner.address, invoice.memo!)), role: 0 as const }]
      }
      for (const instruction of [named, yield* moveToken(reader, owner, owner.address, 50n)]) {
        const sent = yield* bank.send([instruction], owner)
        assert.isNull(lastError(reader))
        assert.deepStrictEqual(yield* facts(sent, own), [])
        // Where somebody else pays the fee the wallet signs all the same.
        const sponsored = yield* bank.send([instruction])
        assert.isNull(lastError(reader))
        assert.deepStrictEqual(yield* facts(sponsored, own), [])
      }
    }).pipe(Effect.scoped))

  it.effect("does not include the rent of a token account that the payor makes, nor less than a new wallet can hold", () =>
    Effect.gen(function*() {
      const reader = yield* openReader
      const { bank, facts, reference, target, wallet } = reader
      const small = yield* bank.pay({ to: wallet, token: null, amount: 1_000n, references: [reference("a")] })
      assert.isNotNull(lastError(reader), "an account with less than its rent cannot be made")
      assert.deepStrictEqual(yield* facts(small), [])
      const first = yield* bank.pay({ to: wallet, token: usdc, amount: 5n, references: [reference("a"), wallet] })
      assert.deepStrictEqual(yield* facts(first), [[usdc, 5n, target("a").matchKey]])
    }).pipe(Effect.scoped))

  it.effect("is all that arrives in a token account that was closed and is made anew", () =>
    Effect.gen(function*() {
      const reader = yield* openReader
      const { bank, facts } = reader
      const owner = yield* openOwner(reader)
      const own = [owner.address as string]
      const account = yield* bank.tokenAccount(owner.address, usdc)
      const pay = (amount: bigint) => bank.pay({ to: owner.address, token: usdc, amount })
      assert.deepStrictEqual(yield* facts(yield* pay(100n), own), [[usdc, 100n, owner.address]])
      const back = yield* moveToken(reader, owner, bank.payer.address, 100n)
      const close = getCloseAccountInstruction({ account, destination: owner.address, owner })
      assert.deepStrictEqual(yield* facts(yield* bank.send([back, close], owner), own), [])
      assert.isNull(reader.ledger.account(account))
      assert.deepStrictEqual(yield* facts(yield* pay(40n), own), [[usdc, 40n, owner.address]])
    }).pipe(Effect.scoped))

  it.effect("is a token of its own as wrapped SOL, and SOL where the payor unwraps it to the wallet", () =>
    Effect.gen(function*() {
      const reader = yield* openReader
      const { bank, facts, ledger, wallet } = reader
      ledger.svm.withNativeMints()
      const wrap = Effect.fnUntraced(function*(to: string, amount: bigint) {
        const account = yield* bank.tokenAccount(to, wrappedSol)
        return [
          yield* bank.createAccount(to, wrappedSol),
          getTransferSolInstruction({ source: bank.payer, destination: account, amount: lamports(amount) }),
          getSyncNativeInstruction({ account })
        ]
      })
      const wrapped = yield* bank.send(yield* wrap(wallet, 2n * sol))
      assert.isNull(lastError(reader))
      assert.deepStrictEqual(yield* facts(wrapped), [[wrappedSol, 2n * sol, wallet]])

      yield* bank.send(yield* wrap(bank.payer.address, 3n * sol))
      const account = yield* bank.tokenAccount(bank.payer.address, wrappedSol)
      const { lamports: held } = ledger.account(account)!
      const unwrapped = yield* bank.send([
        getCloseAccountInstruction({ account, destination: address(wallet), owner: bank.payer })
      ])
      assert.isNull(lastError(reader))
      assert.deepStrictEqual(yield* facts(unwrapped), [[null, held, wallet]], "with the rent that it held")
    }).pipe(Effect.scoped))

  it.effect("is nothing where the wallet's token account is frozen, and what came before stays", () =>
    Effect.gen(function*() {
      const reader = yield* openReader
      const { bank, facts, ledger, reference, target, wallet } = reader
      const payment = { to: wallet, token: usdc, amount: 6n, references: [reference("a")] }
      const before = yield* bank.pay(payment)
      const account = yield* bank.tokenAccount(wallet, usdc)
      const { data, owner } = ledger.account(account)!
      data[stateAt] = frozen
      ledger.place(account, owner, data)
      const after = yield* bank.pay({ ...payment, amount: 7n })
      assert.isNotNull(lastError(reader))
      assert.deepStrictEqual(yield* facts(after), [])
      assert.deepStrictEqual(yield* facts(before), [[usdc, 6n, target("a").matchKey]])
    }).pipe(Effect.scoped))

  it.effect("is by the owner of the token account, whoever made it and at whatever address", () =>
    Effect.gen(function*() {
      const reader = yield* openReader
      const { bank, facts, wallet } = reader
      const payor = yield* openOwner(reader)
      // The payor makes an account of its own, and names the wallet and its account beside.
      const own = yield* bank.pay({ to: payor.address, token: usdc, amount: 60n, references: [wallet] })
      assert.deepStrictEqual(yield* facts(own), [])
      // The account changes hands with what is in it: all of that has come to the wallet.
      const account = yield* bank.tokenAccount(payor.address, usdc)
      const give = getSetAuthorityInstruction({
        owned: account,
        owner: payor,
        authorityType: AuthorityType.AccountOwner,
        newAuthority: address(wallet)
      })
      const top = yield* moveToken(reader, payor, payor.address, 1n)
      const given = yield* bank.send([top, give], payor)
      assert.isNull(lastError(reader))
      assert.deepStrictEqual(yield* facts(given), [[usdc, 60n, wallet]])
      assert.deepStrictEqual(yield* facts(given, [payor.address]), [[usdc, 60n, wallet]], "and has left the other")
    }).pipe(Effect.scoped))
})

describe("what a transaction of Solana says", () => {
  const [payer, vault, account] = ["1", "2", "3"].map((digit) => digit.repeat(32)) as [string, string, string]

  /** A transaction of the payer's with these balances of: payer, wallet, token account. */
  const transactionOf = (
    pre: ReadonlyArray<number>,
    post: ReadonlyArray<number>,
    tokens: ReadonlyArray<readonly [owner: string, before: string, after: string, newOwner?: string]>
  ) =>
    Schema.decodeUnknownSync(ChainTransaction)({
      slot: 5,
      blockTime: 9,
      transaction: {
        signatures: ["5".repeat(88)],
        message: { accountKeys: [payer, vault, account], header: { numRequiredSignatures: 1 }, instructions: [] }
      },
      meta: {
        err: null,
        preBalances: pre,
        postBalances: post,
        preTokenBalances: tokens.map(([owner, amount]) => ({
          accountIndex: 2,
          mint: usdc,
          owner,
          uiTokenAmount: { amount }
        })),
        postTokenBalances: tokens.map(([owner, , amount, newOwner = owner]) => ({
          accountIndex: 2,
          mint: usdc,
          owner: newOwner,
          uiTokenAmount: { amount }
        }))
      }
    })

  const amountsIn = (transaction: ChainTransaction) =>
    transfersOf(transaction, 9, { has: (key) => key === vault }).map(({ amount }) => BigInt(amount))

  it("is no payment where the vault of a multisig, which never signs, exchanges SOL for tokens or gives an account away", () => {
    assert.deepStrictEqual(amountsIn(transactionOf([9, 5_000, 1], [9, 2_000, 1], [[vault, "10", "70"]])), [])
    assert.deepStrictEqual(amountsIn(transactionOf([9, 2_000, 1], [9, 5_000, 1], [[vault, "70", "10"]])), [])
    const givenAway = transactionOf([9, 2_000, 1], [9, 5_000, 1], [[vault, "70", "70", payer]])
    assert.deepStrictEqual(amountsIn(givenAway), [])
    assert.deepStrictEqual(amountsIn(transactionOf([9, 2_000, 1], [9, 2_000, 1], [[vault, "10", "70"]])), [60n])
  })

  it("is not read where its keys and its balances are not equally many: a part of it is missing", () => {
    assert.isTrue(isComplete(transactionOf([9, 1, 1], [9, 1, 1], [[vault, "1", "2"]])))
    const incomplete = [[[9, 1], [9, 1, 1]], [[9, 1, 1], [9, 1]], [[], [9, 1, 1]], [[9, 1, 1, 1], [
      9,
      1,
      1,
      1
    ]]] as const
    for (const [pre, post] of incomplete) assert.isFalse(isComplete(transactionOf(pre, post, [])))
    const { meta, ...rest } = transactionOf([9, 1, 1], [9, 1, 1], [[vault, "1", "2"]])
    const [balance] = meta.postTokenBalances!
    assert.isFalse(isComplete({ ...rest, meta: { ...meta, postTokenBalances: [{ ...balance!, accountIndex: 3 }] } }))
  })
})
