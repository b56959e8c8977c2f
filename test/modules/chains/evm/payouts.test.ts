/**
 * Goal: what a wallet is given pays the lines of its part, just these and once, and nothing is given out that would
 * fail.
 * Method: the driver on a real node. Exports are read by viem, compared with the lines, and executed by a wallet that
 * knows nothing but their text.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { encodeAbiParameters, type Hex, keccak256, toHex } from "viem"
import { payoutDriver } from "../../../../modules/chains/evm/Payouts.ts"
import { safeChecksum } from "../../../../modules/chains/evm/SafeFile.ts"
import { toChecksumAddress } from "../../../../schemas/EvmAddress.ts"
import type { PublicError } from "../../../../schemas/Errors.ts"
import { baseUnits } from "../../../../schemas/Money.ts"
import type { PayoutPart } from "../../../../runtime/Payouts.ts"
import { builds, contractRig, nativeCoin } from "../../../support/ContractRig.ts"
import { nodeProxy } from "../../../support/NodeProxy.ts"
import { callsOf, chainLine, inOneCall, payArguments, payoutDriverAt, payoutTown } from "../../../support/PayoutTown.ts"

const options = { excludeTestServices: true } as const

class Town extends Context.Service<Town, Effect.Success<ReturnType<typeof payoutTown>>>()("test/PayoutTown") {
  static readonly layer = Layer.effect(this, payoutTown())
}

const callFormats = ["eip5792", "transactions", "safe"] as const

/** As a reader of the contract would compute it. */
const referenceOf = ({ batchId, part }: PayoutPart) =>
  keccak256(toHex(`tillwire:batch:${batchId.slice("bat_".length)}:${part}`))

const linesType = builds["Payer"]!.abi.flatMap((item) =>
  item.type === "function" && item.name === "pay" ? item.inputs.filter(({ name }) => name === "lines") : []
)

/** What was refused, and with which details. */
const refusal = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.map(Effect.flip(effect), (error) => {
    const { code, details } = error as PublicError
    return { code, details }
  })

/** Lines of two tokens and the coin, two of them equal. */
const mixedLines = Effect.gen(function*() {
  const { coinLine, newLine, silent } = yield* Town
  const line = newLine()
  return [line, newLine({ tokenAddress: silent, symbol: "USDT" }), { ...line, reference: "re_equal" }, coinLine()]
})

describe("a file for Safe", () => {
  /** From the analysis of the format in https://github.com/5afe/safe-cli-nodejs, with the checksum it was written with. */
  const published = {
    version: "1.0",
    chainId: "1",
    createdAt: 1761326849944,
    meta: {
      name: "Transactions Batch",
      description: "",
      txBuilderVersion: "1.18.2",
      createdFromSafeAddress: "0xA77DE01e157f9f57C7c4A326eeE9C4874D0598b6",
      createdFromOwnerAddress: "",
      checksum: "0x8b5032f716845c8b08bab3d63dbd9ba92e056f3557793cd041e59b84e16aa989"
    },
    transactions: [{
      to: "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
      value: "0",
      data: null,
      contractMethod: {
        inputs: [
          { internalType: "address", name: "spender", type: "address" },
          { internalType: "uint256", name: "value", type: "uint256" }
        ],
        name: "approve",
        payable: false
      },
      contractInputsValues: { spender: "0x474e5Ded6b5D078163BFB8F6dBa355C3aA5478C8", value: "100000000000" }
    }]
  } as const

  it("has the checksum that the Transaction Builder computes, whatever its name is", () => {
    assert.strictEqual(safeChecksum(published), published.meta.checksum)
    assert.strictEqual(
      safeChecksum({ ...published, meta: { ...published.meta, name: "another" } }),
      published.meta.checksum
    )
    const changed = { ...published, transactions: [{ ...published.transactions[0], value: "1" }] }
    assert.notStrictEqual(safeChecksum(changed), published.meta.checksum)
  })
})

describe("a batch", () => {
  const driver = payoutDriver({} as never)

  it("is split into parts of at most 200 lines", () => {
    const lines = (count: number) => Array.from({ length: count }, () => ({}) as never)
    assert.deepStrictEqual([0, 1, 200, 201].map((count) => driver.partSizes(lines(count))), [[], [1], [200], [200, 1]])
  })
})

layer(Town.layer, options)("an export of a part", (it) => {
  for (const format of callFormats) {
    it.effect(`as ${format} pays its lines, equal ones and the coin included, and only once`, () =>
      Effect.gen(function*() {
        const { balance, build, chainId, newPart, search, sign, wallet } = yield* Town
        const lines = yield* mixedLines
        const part = newPart(lines)
        const exports = yield* Effect.forEach(callFormats, (each) => build(part, each))
        const exported = exports[callFormats.indexOf(format)]!

        const { batch, chainId: chain, from, functionName, lines: ordered, validUntil } = payArguments(exported)
        assert.deepStrictEqual([functionName, from, chain, batch], [
          "pay",
          wallet,
          BigInt(chainId),
          referenceOf(part)
        ])
        assert.strictEqual(Number(validUntil), exported.validUntil)
        assert.deepStrictEqual(ordered, lines.map(chainLine))
        assert.strictEqual(callsOf(exported).at(-1)!.value, 77n)
        assert.deepInclude(exported.trace, {
          ref: referenceOf(part),
          contentHash: keccak256(encodeAbiParameters([{ type: "uint256" }, ...linesType], [validUntil, ordered]))
        })

        const receipts = yield* sign(exported)
        assert.isTrue(receipts.every(({ isDone }) => isDone))
        for (const { amount, destination, tokenAddress } of lines.slice(1)) {
          const due = lines.reduce((sum, line) => line.destination === destination ? sum + line.amount : sum, 0n)
          assert.strictEqual(yield* balance(tokenAddress ?? nativeCoin, destination), due, String(amount))
        }

        const { executions, isOver } = yield* search(part, exported)
        assert.isFalse(isOver)
        assert.lengthOf(executions, 1)
        assert.deepStrictEqual(
          executions[0]!.transfers.toSorted((one, next) => one.line! - next.line!).map(
            ({ amount, destination, line, tokenAddress }) => [line, destination, tokenAddress, amount]
          ),
          lines.map(({ amount, destination, tokenAddress }, place) => [place, destination, tokenAddress, amount])
        )
        assert.strictEqual(new Set(executions[0]!.transfers.map(({ index }) => index)).size, lines.length)
        const { effectiveGasPrice, gasUsed } = receipts.at(-1)! as never as { effectiveGasPrice: Hex; gasUsed: number }
        assert.strictEqual(executions[0]!.fee as bigint, BigInt(gasUsed) * BigInt(effectiveGasPrice))

        const before = yield* Effect.forEach(lines, (line) => balance(line.tokenAddress ?? nativeCoin, wallet))
        for (const again of exports) assert.isFalse((yield* sign(again)).at(-1)!.isDone)
        assert.deepStrictEqual(
          (yield* Effect.forEach(lines, (line) => balance(line.tokenAddress ?? nativeCoin, wallet))).slice(0, 3),
          before.slice(0, 3)
        )
        assert.deepStrictEqual((yield* search(part, exported)).executions, executions)
        assert.strictEqual((yield* refusal(build(part, format))).code, "BATCH_PAID")
      }))
  }

  it.effect("has the form that wallets read, and an id for each export, because wallets refuse one that they know", () =>
    Effect.gen(function*() {
      const { build, chainId, deployUsdc, newLine, newPart, newToken, wallet } = yield* Town
      const part = newPart([newLine({ tokenAddress: yield* newToken(deployUsdc) })])
      const requestOf = (exported: { readonly payload: string }) => JSON.parse(exported.payload)[0]
      const request = requestOf(yield* build(part, "eip5792"))
      const later = requestOf(yield* build(part, "eip5792", { seconds: 90_000 }))
      assert.match(request.id, /^0x[0-9a-f]{64}$/)
      assert.notStrictEqual(later.id, request.id)
      assert.isTrue(later.calls.at(-1).data.includes(referenceOf(part).slice(2)), "what the Payer keeps it under stays")
      assert.deepStrictEqual({ ...request, calls: [] }, {
        version: "2.0.0",
        id: request.id,
        from: wallet,
        chainId: toHex(chainId),
        atomicRequired: true,
        calls: []
      })
      assert.deepStrictEqual(Object.keys(request.calls[0]), ["to", "value", "data"])
      const sequence = yield* build(part, "transactions")
      assert.deepStrictEqual(
        JSON.parse(sequence.payload).map(({ chainId, from }: any) => [from, chainId]),
        [[wallet, toHex(chainId)], [wallet, toHex(chainId)]]
      )
      assert.include(sequence.notices[0]!, "2 transactions in their order")
      const file = JSON.parse((yield* build(part, "safe")).payload)
      const { checksum, createdFromSafeAddress } = file.meta
      assert.deepStrictEqual([file.version, file.chainId, createdFromSafeAddress], ["1.0", String(chainId), wallet])
      assert.strictEqual(safeChecksum(file), checksum)
    }))

  it.effect("sets an allowance that was left to 0 first, as USDT demands it", () =>
    Effect.gen(function*() {
      const { build, newLine, newPart, payer, send, sign, silent, tokenCall } = yield* Town
      yield* send([{ to: silent, value: 0n, data: tokenCall("approve", payer, 5n) }])
      const part = newPart([newLine({ tokenAddress: silent })])
      const exported = yield* build(part)
      assert.deepStrictEqual(callsOf(exported).map(({ to }) => to), [silent, silent, payer])
      assert.strictEqual(callsOf(exported)[0]!.data, tokenCall("approve", payer, 0n))
      assert.deepStrictEqual((yield* sign(exported)).map(({ isDone }) => isDone), [true, true, true])
    }))

  it.effect("by a wallet that is a contract is paid from that, whoever gave the order", () =>
    Effect.gen(function*() {
      const { balance, build, deploy, mint, newLine, newPart, search, send, stranger, usdc } = yield* Town
      const safe = toChecksumAddress(yield* deploy("CallsWallet")) as Hex
      yield* mint(usdc, safe, 10n ** 9n)
      const part = newPart([newLine()], { from: safe })
      const exported = yield* build(part, "safe")
      const [receipt] = yield* send([inOneCall(safe, callsOf(exported))], stranger)
      assert.isTrue(receipt!.isDone)
      assert.strictEqual(yield* balance(usdc, part.lines[0]!.destination), part.lines[0]!.amount as bigint)
      assert.deepStrictEqual((yield* search(part, exported)).executions[0]!.transfers.map(({ line }) => line), [0])
    }))

  it.effect("of 200 lines fits into a transaction", () =>
    Effect.gen(function*() {
      const { build, coinLine, newLine, newPart, search, sign } = yield* Town
      const part = newPart(Array.from({ length: 200 }, (_, place) => place % 2 === 0 ? newLine() : coinLine()))
      const exported = yield* build(part)
      const receipts = yield* sign(exported)
      assert.isTrue(receipts.at(-1)!.isDone)
      assert.isBelow(receipts.at(-1)!.gasUsed, 2 ** 24)
      const { transfers } = (yield* search(part, exported)).executions[0]!
      assert.deepStrictEqual(transfers.map(({ line }) => line!).toSorted((one, next) => one - next), [
        ...part.lines.keys()
      ])
      assert.strictEqual(new Set(transfers.map(({ index }) => index)).size, 200)
    }))

  it.effect("as csv lists the lines, and runs nothing in a spreadsheet", () =>
    Effect.gen(function*() {
      const { build, coinLine, newLine, newPart, usdc } = yield* Town
      const lines = [newLine({ reference: "=cmd(), \"x\"", amount: baseUnits(1_500_000n) }), coinLine()]
      const { payload, trace, validUntil } = yield* build(newPart(lines), "csv")
      assert.isNull(validUntil)
      assert.deepInclude(trace, { contentHash: null })
      assert.deepStrictEqual(payload.split("\r\n"), [
        "token_type,token_address,receiver,amount,id",
        `erc20,${usdc},${lines[0]!.destination},1.500000,"'=cmd(), ""x"""`,
        `native,,${lines[1]!.destination},0.000000000000000077,${lines[1]!.reference}`,
        ""
      ])
    }))
})

layer(Town.layer, options)("nothing is given out", (it) => {
  it.effect("that names a frozen receiver, one that refuses the coin, or a token that refuses: the line is named", () =>
    Effect.gen(function*() {
      const { build, coinLine, deploy, newLine, newPart, newToken, send, tokenCall, usdc } = yield* Town
      const frozen = newLine()
      yield* send([{ to: usdc, value: 0n, data: tokenCall("blacklist", frozen.destination) }])
      const refusing = coinLine({ destination: toChecksumAddress(yield* deploy("RefusingReceiver")) })
      const falseToken = yield* newToken(deploy("FalseToken"))
      for (const line of [frozen, refusing, newLine({ tokenAddress: falseToken })]) {
        const part = newPart([newLine(), newLine(), line, newLine()])
        for (const format of [...callFormats, "csv"] as const) {
          assert.deepStrictEqual(yield* refusal(build(part, format)), {
            code: "PAYOUT_LINE_REFUSED",
            details: { line: 3, destination: line.destination }
          })
        }
      }
      // The coin alone needs no approval, and is asked for by one call.
      const { details } = yield* refusal(build(newPart([coinLine(), refusing])))
      assert.deepStrictEqual(details, { line: 2, destination: refusing.destination })
    }))

  it.effect("as a list of a contract's own coin, which could never be found; its tokens are", () =>
    Effect.gen(function*() {
      const { build, coinLine, newLine, newPart, node, wallet } = yield* Town
      const part = newPart([newLine(), coinLine()])
      // An account that has handed its calls to a contract (EIP-7702).
      yield* node.rpc("anvil_setCode", wallet, `0xef0100${"11".repeat(20)}`)
      assert.deepStrictEqual(yield* refusal(build(part, "csv")), {
        code: "PAYOUT_LINE_REFUSED",
        details: { line: 2, from: part.from }
      })
      assert.isNull((yield* build(newPart([newLine()]), "csv")).validUntil)
      yield* node.rpc("anvil_setCode", wallet, "0x")
      assert.isNull((yield* build(part, "csv")).validUntil)
    }))

  it.effect("that names one, where the node cannot simulate calls in a row", () =>
    Effect.gen(function*() {
      const { build, newLine, newPart, node, send, sign, tokenCall, usdc } = yield* Town
      const proxy = yield* nodeProxy(node.url)
      const at = yield* payoutDriverAt("devnet", [proxy.url])
      const frozen = newLine()
      yield* send([{ to: usdc, value: 0n, data: tokenCall("blacklist", frozen.destination) }])
      for (const answer of [() => Promise.reject(new Error("method not found")), () => Promise.resolve([{}])]) {
        proxy.set((call, ask) => call.method === "eth_simulateV1" ? answer() : ask(call))
        assert.deepStrictEqual((yield* refusal(build(newPart([newLine(), frozen]), "eip5792", { at }))).details, {
          line: 2,
          destination: frozen.destination
        })
        const exported = yield* build(newPart([newLine()]), "eip5792", { at })
        assert.isTrue(exported.isSimulated)
        assert.isTrue((yield* sign(exported)).at(-1)!.isDone)
      }
    }).pipe(Effect.scoped))

  it.effect("that the wallet cannot pay: what it lacks is told for each token", () =>
    Effect.gen(function*() {
      const { build, coinLine, newLine, newPart, other, usdc } = yield* Town
      const lines = [newLine({ amount: baseUnits(2_000_000n) }), newLine({ amount: baseUnits(1n) }), coinLine()]
      assert.deepStrictEqual(yield* refusal(build(newPart(lines, { from: other }))), {
        code: "INSUFFICIENT_FUNDS",
        details: {
          from: other,
          tokens: [{
            token_address: usdc,
            symbol: "USDC",
            required: "2.000001",
            available: "0.000000",
            missing: "2.000001"
          }]
        }
      })
    }))

  it.effect("where the Payer is not on the chain, but a list", () =>
    Effect.gen(function*() {
      const { newPart, coinLine } = yield* Town
      const { accounts, node } = yield* contractRig("prague")
      const driver = yield* payoutDriverAt("devnet", [node.url])
      const part = newPart([coinLine()], { from: toChecksumAddress(accounts[3]!) })
      const request = { part, validUntil: 2_000_000_000, spentInputs: new Set<string>() }
      assert.strictEqual((yield* refusal(driver.build({ ...request, format: "safe" }))).code, "PAYER_MISSING")
      assert.isNull((yield* driver.build({ ...request, format: "csv" })).validUntil)
    }).pipe(Effect.scoped))

  it.effect("without a word about a token that keeps a part of each transfer", () =>
    Effect.gen(function*() {
      const { build, deploy, newLine, newPart, newToken, search, sign } = yield* Town
      const feeToken = yield* newToken(deploy("FeeToken"))
      const lines = [newLine(), newLine({ tokenAddress: feeToken, symbol: "FEE", amount: baseUnits(1_000_000n) })]
      const part = newPart(lines)
      const exported = yield* build(part)
      assert.deepStrictEqual(exported.notices, [
        "Line 2 would bring 0.990000 FEE instead of 1.000000: its token keeps a part of each transfer."
      ])
      yield* sign(exported)
      const { executions } = yield* search(part, exported)
      assert.deepStrictEqual(
        executions[0]!.transfers.map(({ amount, line }) => [line, amount as bigint]),
        [[0, lines[0]!.amount], [1, 990_000n]]
      )
    }))
})
