/**
 * Goal: a batch is paid in full or not at all, once, in time, by the wallet and on the chain it names, whoever signs it
 * however often and wherever.
 * Method: the frozen Payer on a real node, with wallets, hostile tokens and receivers; what it logs is compared with
 * what was to be paid.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Schema } from "effect"
import { encodeAbiParameters, type Hex, keccak256, pad, toHex } from "viem"
import { payer, topics } from "../../../../modules/chains/evm/Contracts.ts"
import { builds, callData, contractRig, nativeCoin, type Receipt } from "../../../support/ContractRig.ts"

const chainId = 8_453n
const options = { excludeTestServices: true } as const

interface Line {
  readonly token: string
  readonly to: string
  readonly amount: bigint
}

interface PaymentBatch {
  readonly payer: string
  readonly chainId: bigint
  readonly id: Hex
  readonly validUntil: bigint
  readonly lines: ReadonlyArray<Line>
}

const linesOf = builds["Payer"]!.abi.flatMap((item) =>
  item.type === "function" && item.name === "pay" ? item.inputs.filter(({ name }) => name === "lines") : []
)

/** What the log says was paid. */
const contentOf = ({ lines, validUntil }: PaymentBatch) =>
  keccak256(encodeAbiParameters([{ type: "uint256" }, ...linesOf], [validUntil, lines]))

const transferTopic = keccak256(toHex("Transfer(address,address,uint256)"))

/** Transfers in the order of the logs. */
const transfersOf = ({ logs }: Receipt) =>
  logs.filter((log) => log.topics[0] === transferTopic && BigInt(log.data) > 0n).map((log) => ({
    token: log.address.toLowerCase(),
    from: `0x${log.topics[1]!.slice(26)}`,
    to: `0x${log.topics[2]!.slice(26)}`,
    amount: BigInt(log.data)
  }))

const makeDesk = Effect.gen(function*() {
  const rig = yield* contractRig("prague", Number(chainId))
  const [, stranger, other, wallet] = rig.accounts as unknown as readonly [Hex, Hex, Hex, Hex]
  yield* rig.deployFrozen("Payer")
  const usdc = yield* rig.deployUsdc
  for (const owner of [wallet, other]) yield* rig.mint(usdc, owner, 10n ** 12n)
  const { timestamp } = yield* rig.node.rpc("eth_getBlockByNumber", "latest", false)
  let made = 0

  const newReceiver = () => `0x${keccak256(toHex(`receiver ${made++}`)).slice(26)}`

  /** A batch of so many lines to new receivers, valid for 10 days. */
  const newBatch = (count: number, more: Partial<PaymentBatch> = {}, token: string = usdc): PaymentBatch => ({
    payer: wallet,
    chainId,
    id: keccak256(toHex(`batch ${made++}`)),
    validUntil: BigInt(timestamp) + 864_000n,
    lines: Array.from({ length: count }, (_, place) => ({
      token,
      to: newReceiver(),
      amount: 1_000_000n + BigInt(place)
    })),
    ...more
  })

  const coinOf = ({ lines }: PaymentBatch) =>
    lines.reduce((sum, { amount, token }) => token === nativeCoin ? sum + amount : sum, 0n)

  const payCall = (batch: PaymentBatch, from: string = wallet, value = coinOf(batch)) => ({
    from,
    to: payer.address,
    value,
    data: callData("Payer", "pay", [batch.payer, batch.chainId, batch.id, batch.validUntil, batch.lines])
  })

  const approve = (token: string, amount: bigint, from: string = wallet) =>
    rig.send({ from, to: token, data: callData("UsdcLogic", "approve", [payer.address, amount]) })

  /** What a wallet signs: an approval for each token, then the payment. */
  const execute = (batch: PaymentBatch, from: string = wallet) =>
    Effect.gen(function*() {
      const tokens = new Set(batch.lines.map(({ token }) => token).filter((token) => token !== nativeCoin))
      for (const token of tokens) {
        const sum = batch.lines.reduce((sum, line) => line.token === token ? sum + line.amount : sum, 0n)
        yield* approve(token, sum, from)
      }
      return yield* rig.send(payCall(batch, from))
    })

  const simulate = (batch: PaymentBatch, from: string = wallet, value?: bigint) =>
    rig.simulate("Payer", payCall(batch, from, value))

  return { ...rig, stranger, other, wallet, usdc, newReceiver, newBatch, payCall, approve, execute, simulate }
})

class PayerDesk extends Context.Service<PayerDesk, Effect.Success<typeof makeDesk>>()("test/PayerDesk") {
  static readonly layer = Layer.effect(this, makeDesk)
}

layer(PayerDesk.layer, options)("a batch", (it) => {
  it.effect("pays its lines in their order and logs which, equal lines and the coin included", () =>
    Effect.gen(function*() {
      const { balance, execute, newBatch, newReceiver, wallet } = yield* PayerDesk
      const five = newBatch(5)
      const coin = { token: nativeCoin, to: newReceiver(), amount: 77n }
      const batch = { ...five, lines: [...five.lines, five.lines[0]!, coin] }
      const receipt = yield* execute(batch)
      assert.isTrue(receipt.isDone)
      assert.deepStrictEqual(
        transfersOf(receipt),
        batch.lines.slice(0, 6).map(({ amount, to, token }) => ({ token, from: wallet, to, amount }))
      )
      assert.strictEqual(yield* balance(nativeCoin, coin.to), 77n)
      const log = receipt.logs.at(-1)!
      assert.strictEqual(log.address.toLowerCase(), payer.address.toLowerCase())
      assert.deepStrictEqual(log.topics, [topics.paid, pad(wallet), batch.id])
      assert.strictEqual(log.data, contentOf(batch))
    }))

  it.effect("that is executed again pays nothing: the simulation says so, and so does the chain", () =>
    Effect.gen(function*() {
      const { balance, execute, newBatch, read, simulate, usdc, wallet } = yield* PayerDesk
      const batch = newBatch(3)
      assert.isTrue((yield* execute(batch)).isDone)
      assert.isTrue(yield* read("Payer", payer.address, "isPaid", [wallet, batch.id]))
      const before = yield* balance(usdc, wallet)
      assert.isFalse((yield* execute(batch)).isDone)
      assert.strictEqual((yield* simulate(batch)).error, "AlreadyPaid")
      const changed = { ...batch, lines: batch.lines.map((line) => ({ ...line, amount: 1n })) }
      assert.strictEqual((yield* simulate(changed)).error, "AlreadyPaid")
      assert.isFalse((yield* execute(changed)).isDone)
      assert.strictEqual(yield* balance(usdc, wallet), before)
    }))

  it.effect("is paid by the wallet it names only, and still by that after another one tried", () =>
    Effect.gen(function*() {
      const { execute, newBatch, other, simulate } = yield* PayerDesk
      const batch = newBatch(2)
      assert.strictEqual((yield* simulate(batch, other)).error, "WrongPayer")
      assert.isFalse((yield* execute(batch, other)).isDone)
      assert.isTrue((yield* execute(batch)).isDone)
    }))

  it.effect("cannot be used up by a stranger who pays another one with its id", () =>
    Effect.gen(function*() {
      const { execute, newBatch, read, stranger, wallet } = yield* PayerDesk
      const batch = newBatch(2)
      const stolen = { ...batch, payer: stranger, lines: [] }
      assert.isTrue((yield* execute(stolen, stranger)).isDone)
      assert.isFalse(yield* read("Payer", payer.address, "isPaid", [wallet, batch.id]))
      assert.isTrue((yield* execute(batch)).isDone)
    }))

  it.effect("that was signed on another chain than its own pays nothing there", () =>
    Effect.gen(function*() {
      const { newBatch, newReceiver, simulate } = yield* PayerDesk
      const lines = [{ token: nativeCoin, to: newReceiver(), amount: 5n }]
      assert.strictEqual((yield* simulate(newBatch(1, { chainId: 1n, lines }))).error, "WrongChain")
    }))

  it.effect("whose destination was exchanged is logged with another content", () =>
    Effect.gen(function*() {
      const { execute, newBatch, stranger } = yield* PayerDesk
      const batch = newBatch(3)
      const lines = batch.lines.map((line, place) => place === 2 ? { ...line, to: stranger } : line)
      const receipt = yield* execute({ ...batch, lines })
      assert.isTrue(receipt.isDone)
      assert.notStrictEqual(receipt.logs.at(-1)!.data, contentOf(batch))
      assert.deepStrictEqual(
        transfersOf(receipt).map(({ to }) => to),
        [batch.lines[0]!.to, batch.lines[1]!.to, stranger]
      )
    }))

  it.effect("pays in the block of its last second and in no later one", () =>
    Effect.gen(function*() {
      const { execute, newBatch, node, send, payCall, approve, usdc } = yield* PayerDesk
      const { timestamp } = yield* node.rpc("eth_getBlockByNumber", "latest", false)
      const validUntil = BigInt(timestamp) + 1_000n
      const [last, late] = [newBatch(1, { validUntil }), newBatch(1, { validUntil })]
      yield* approve(usdc, 10_000_000n)
      yield* node.rpc("evm_setNextBlockTimestamp", Number(validUntil))
      assert.isTrue((yield* send(payCall(last))).isDone)
      yield* node.rpc("evm_setNextBlockTimestamp", Number(validUntil) + 1)
      assert.isFalse((yield* execute(late)).isDone)
    }))
})

layer(PayerDesk.layer, options)("a line", (it) => {
  it.effect("that is refused is named by the simulation, and nothing of the batch is paid", () =>
    Effect.gen(function*() {
      const { approve, balance, deploy, newBatch, payCall, send, simulate, usdc, wallet } = yield* PayerDesk
      const refusing = yield* deploy("RefusingReceiver")
      const falseToken = yield* deploy("FalseToken")
      const batch = newBatch(4)
      const { stranger } = yield* PayerDesk
      yield* send({ to: usdc, data: callData("UsdcLogic", "blacklist", [batch.lines[2]!.to]) })
      yield* approve(usdc, 10n ** 10n)
      const to = batch.lines[0]!.to
      const third = [
        batch.lines[2]!,
        { token: nativeCoin, to: refusing, amount: 3n },
        { token: falseToken, to, amount: 3n },
        { token: stranger, to, amount: 3n },
        { token: payer.address, to, amount: 3n }
      ]
      for (const line of third) {
        const lines = batch.lines.map((each, place) => place === 2 ? line : each)
        const refused = { ...batch, lines }
        const { args, error } = yield* simulate(refused)
        assert.deepStrictEqual([error, args], ["LineFailed", [2n]])
        const before = yield* balance(usdc, wallet)
        assert.isFalse((yield* send(payCall(refused))).isDone)
        assert.strictEqual(yield* balance(usdc, wallet), before)
      }
    }))

  it.effect("in the coin is paid from what was sent, which must be the sum to the last wei", () =>
    Effect.gen(function*() {
      const { newBatch, newReceiver, simulate, wallet } = yield* PayerDesk
      const lines = [5n, 7n].map((amount) => ({ token: nativeCoin, to: newReceiver(), amount }))
      const batch = newBatch(2, { lines })
      assert.strictEqual((yield* simulate(batch, wallet, 11n)).error, "WrongValue")
      assert.strictEqual((yield* simulate(batch, wallet, 13n)).error, "WrongValue")
      assert.isUndefined((yield* simulate(batch, wallet, 12n)).error)
    }))

  it.effect("to a receiver that pays back into the contract gets its amount and no more", () =>
    Effect.gen(function*() {
      const { balance, deploy, execute, newBatch, newReceiver, read, send, wallet } = yield* PayerDesk
      const hostile = yield* deploy("ReenteringReceiver")
      const honest = newReceiver()
      const lines = [hostile, honest].map((to) => ({ token: nativeCoin, to, amount: 50n }))
      const batch = newBatch(2, { lines })
      yield* send({ to: hostile, data: callData("ReenteringReceiver", "arm", [payer.address, wallet, batch.id]) })
      assert.isTrue((yield* execute(batch)).isDone)
      assert.isTrue(yield* read("ReenteringReceiver", hostile, "hasTried"))
      assert.strictEqual(yield* balance(nativeCoin, hostile), 50n)
      assert.strictEqual(yield* balance(nativeCoin, honest), 50n)
      assert.strictEqual(yield* balance(nativeCoin, payer.address), 0n)
    }))

  it.effect("to a receiver that answers 1 MB costs no more than that answer", () =>
    Effect.gen(function*() {
      const { deploy, execute, newBatch } = yield* PayerDesk
      const lines = [{ token: nativeCoin, to: yield* deploy("LongAnswerReceiver"), amount: 5n }]
      const { gasUsed, isDone } = yield* execute(newBatch(1, { lines }))
      assert.isTrue(isDone)
      // 1 MB of memory costs 2.1 million gas; a copy of it would cost as much again.
      assert.isBelow(gasUsed, 2_400_000)
    }))

  it.effect("in a token that keeps a fee is logged with less than its amount", () =>
    Effect.gen(function*() {
      const { deploy, execute, mint, newBatch, wallet } = yield* PayerDesk
      const feeToken = yield* deploy("FeeToken")
      yield* mint(feeToken, wallet, 10n ** 9n)
      const batch = newBatch(2, {}, feeToken)
      const receipt = yield* execute(batch)
      assert.isTrue(receipt.isDone)
      const toReceivers = transfersOf(receipt).filter(({ to }) => batch.lines.some((line) => line.to === to))
      assert.deepStrictEqual(toReceivers.map(({ amount }) => amount), [990_000n, 990_001n])
    }))

  it.effect("in a token that answers nothing is paid; its allowance is changed by way of 0 only", () =>
    Effect.gen(function*() {
      const { approve, balance, deploy, execute, mint, newBatch, wallet } = yield* PayerDesk
      const silent = yield* deploy("SilentToken")
      yield* mint(silent, wallet, 10n ** 9n)
      const batch = newBatch(2, {}, silent)
      assert.isTrue((yield* execute(batch)).isDone)
      assert.strictEqual(yield* balance(silent, batch.lines[1]!.to), 1_000_001n)
      assert.isTrue((yield* approve(silent, 10n)).isDone)
      assert.isFalse((yield* approve(silent, 5n)).isDone)
      assert.isTrue((yield* approve(silent, 0n)).isDone)
      assert.isTrue((yield* approve(silent, 5n)).isDone)
    }))
})

layer(PayerDesk.layer, options)("an allowance that is left", (it) => {
  it.effect("is used by nobody but the wallet that gave it", () =>
    Effect.gen(function*() {
      const { approve, balance, newBatch, payCall, send, stranger, usdc, wallet } = yield* PayerDesk
      yield* approve(usdc, 10n ** 10n)
      const lines = [{ token: usdc, to: stranger, amount: 1n }]
      for (const named of [stranger, wallet]) {
        const batch = newBatch(1, { payer: named, lines })
        assert.isFalse((yield* send(payCall(batch, stranger))).isDone)
      }
      assert.strictEqual(yield* balance(usdc, stranger), 0n)
    }))
})

layer(PayerDesk.layer, options)("after a batch", (it) => {
  const Lines = Schema.Array(Schema.Struct({
    to: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 })),
    coin: Schema.Boolean,
    amount: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000 }))
  })).check(Schema.isMaxLength(8))

  it.effect.prop(
    "of any lines, every receiver has exactly its own, and the contract keeps nothing",
    [Lines],
    ([drawn]) =>
      Effect.gen(function*() {
        const { balance, execute, newBatch, newReceiver, usdc } = yield* PayerDesk
        const receivers = [newReceiver(), newReceiver(), newReceiver()]
        const lines = drawn.map(({ amount, coin, to }) => ({
          token: coin ? nativeCoin : usdc,
          to: receivers[to]!,
          amount: BigInt(amount)
        }))
        assert.isTrue((yield* execute(newBatch(0, { lines }))).isDone)
        for (const token of [usdc, nativeCoin]) {
          for (const to of receivers) {
            const due = lines.reduce(
              (sum, line) => line.to === to && line.token === token ? sum + line.amount : sum,
              0n
            )
            assert.strictEqual(yield* balance(token, to), due)
          }
          assert.strictEqual(yield* balance(token, payer.address), 0n)
        }
      }),
    { arbitrary: { runs: 20 } }
  )
})
