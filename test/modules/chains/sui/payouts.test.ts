/**
 * Goal: a part of a batch pays its lines on Sui once, or never, and the service knows which.
 * Method: bytes are read by the BCS of Sui's SDK and signed by its keys; a ledger of coins with versions executes or
 * refuses them.
 */
import { assert, describe, it } from "@effect/vitest"
import { bcs } from "@mysten/sui/bcs"
import { Ed25519Keypair } from "@mysten/sui/keypairs/ed25519"
import { GrpcTypes } from "@mysten/sui/grpc"
import { TransactionDataBuilder } from "@mysten/sui/transactions"
import { Effect } from "effect"
import type { PayoutExport, PayoutPart } from "../../../../runtime/Payouts.ts"
import {
  buildPart,
  payoutLine,
  payoutPart,
  payoutsOf,
  refusalCode,
  searchPart,
  walkPart
} from "../../../support/Payouts.ts"
import { suiCoin, usdcCoin } from "../../../support/sui/Ledger.ts"
import type { NodeFault } from "../../../support/sui/Node.ts"
import { failWith, messageOf, reply } from "../../../support/sui/Replies.ts"
import { suiAddress, suiDriver, suiRig } from "../../../support/SuiRig.ts"

const sui = 1_000_000_000n
const wallet = Ed25519Keypair.fromSecretKey(new Uint8Array(32).fill(9))
const from = wallet.toSuiAddress()
const inTwoDays = () => Math.floor(Date.now() / 1000) + 172_800

/** A chain on which a merchant's wallet owns coins, and nodes of it. */
const shop = Effect.fnUntraced(function*(
  funds: Readonly<Record<string, ReadonlyArray<bigint>>>,
  servers = 1
) {
  const rig = yield* suiRig()
  for (const [coinType, balances] of Object.entries(funds)) {
    for (const balance of balances) rig.coins.give(from, coinType, balance)
  }
  const others = yield* Effect.forEach(Array.from({ length: servers - 1 }), () => rig.addNode)
  const nodes = [rig.node, ...others]
  const payouts = payoutsOf(yield* suiDriver(rig, nodes))
  /** What the wallet does with an export: signs it, and gives it to the network. */
  const submit = (made: PayoutExport, signer = wallet) =>
    Effect.promise(async () => {
      const bytes = bytesOf(made)
      const { signature } = await signer.signTransaction(bytes)
      return rig.coins.submit(bytes, signature)
    })
  return { ...rig, nodes, payouts, submit }
})

const bytesOf = ({ payload }: PayoutExport): Uint8Array =>
  Buffer.from((JSON.parse(payload) as { readonly transaction: string }).transaction, "base64")

const digestOf = ({ payload }: PayoutExport): string => (JSON.parse(payload) as { readonly digest: string }).digest

const usdc = { tokenAddress: usdcCoin, symbol: "USDC", decimals: 6 }

const partOf = (amounts: ReadonlyArray<bigint>, token: object = {}, part = 1): PayoutPart =>
  payoutPart(
    from,
    amounts.map((amount, place) => payoutLine(suiAddress(place), amount, { decimals: 9, ...token })),
    part
  )

/** What a wallet shows: who gets how much, in order, and what the gas is. */
const readPayout = (made: PayoutExport) => {
  const { expiration, gasData, kind, sender } = bcs.TransactionData.parse(bytesOf(made)).V1
  const { commands, inputs } = kind.ProgrammableTransaction!
  const pure = (argument: any) => Buffer.from(inputs[argument.Input]!.Pure!.bytes, "base64")
  const lines = commands.flatMap(({ TransferObjects }) => {
    if (TransferObjects === undefined) return []
    const [command, place] = (TransferObjects.objects[0] as any).NestedResult
    return [{
      to: bcs.Address.parse(pure(TransferObjects.address)),
      amount: BigInt(bcs.u64().parse(pure(commands[command]!.SplitCoins!.amounts[place])))
    }]
  })
  return {
    sender,
    lines,
    kinds: commands.map(({ $kind }) => $kind).filter((each, place, all) => each !== all[place - 1]),
    gasCoins: gasData.payment.map(({ objectId }) => objectId),
    gasOwner: gasData.owner,
    budget: BigInt(gasData.budget),
    price: BigInt(gasData.price),
    lastEpoch: BigInt(expiration.Epoch!),
    objects: inputs.flatMap(({ Object }) => Object?.ImmOrOwnedObject?.objectId ?? [])
  }
}

const linesOf = ({ lines }: PayoutPart) =>
  lines.map(({ amount, destination }) => ({ to: destination, amount: BigInt(amount) }))

/** A node that does not know of any transaction. */
const hiding: NodeFault = ({ method, request }, honest) =>
  method !== "BatchGetTransactions" ? honest() : reply("BatchGetTransactionsResponse", {
    transactions: request.digests.map(() => ({
      result: { oneofKind: "error", error: { code: 5, message: "transaction not found", details: [] } }
    }))
  })

/** A node that says that the chain is further than it is. */
const ahead: NodeFault = ({ method }, honest) => {
  const answer = honest()
  if (method !== "GetServiceInfo") return answer
  const info = GrpcTypes.GetServiceInfoResponse.fromBinary(answer.messages[0]!)
  info.checkpointHeight! += 900n
  return { ...answer, messages: [messageOf("GetServiceInfoResponse", info)] }
}

describe("a part of a batch on Sui", () => {
  it.live("is a transaction that gives each receiver a coin of its own, and says how much gas it may take", () =>
    Effect.gen(function*() {
      const town = yield* shop({ [suiCoin]: [3n * sui, 2n * sui], [usdcCoin]: [40n, 100n, 70n] })
      const part = payoutPart(from, [
        ...partOf([90n, 60n], usdc).lines,
        payoutLine(suiAddress(7), sui, { decimals: 9 }),
        payoutLine(suiAddress(7), 5n, usdc)
      ])
      const made = yield* buildPart(town.payouts, part)
      const read = readPayout(made)
      assert.deepStrictEqual(read.lines, linesOf(part))
      assert.deepStrictEqual([read.sender, read.gasOwner], [from, from])
      const written = bcs.TransactionData.serialize(bcs.TransactionData.parse(bytesOf(made))).toBytes()
      assert.strictEqual(Buffer.compare(written, bytesOf(made)), 0, "the SDK writes the same bytes")
      assert.deepStrictEqual(read.kinds, ["MergeCoins", "SplitCoins", "TransferObjects"])
      const [large] = town.coins.of(from, suiCoin)
      const ofUsdc = town.coins.of(from, usdcCoin)
      assert.deepStrictEqual(read.gasCoins, [large!.id], "the largest coin is enough")
      assert.deepStrictEqual(read.objects, [ofUsdc[1]!.id, ofUsdc[2]!.id])
      assert.deepStrictEqual([...made.inputs].toSorted(), [...read.gasCoins, ...read.objects].toSorted())
      assert.strictEqual(digestOf(made), TransactionDataBuilder.getDigestFromBytes(bytesOf(made)))
      const simulated = town.coins.simulate(bytesOf(made))
      const gas = typeof simulated === "string" ? null : simulated.gas
      assert.strictEqual(read.budget, (gas!.computation + gas!.storage) * 6n / 5n)
      assert.strictEqual(read.price, 1_100n)
      assert.isTrue(made.isSimulated)
      assert.match(made.notices.join(), /The gas is at most 0\.\d{9} SUI/)
      const again = yield* buildPart(town.payouts, part)
      assert.strictEqual(again.payload, made.payload, "the same wallet and lines are the same bytes")
    }))

  it.live("is paid when a checkpoint has it: each line, at the fee that the network took", () =>
    Effect.gen(function*() {
      const town = yield* shop({ [suiCoin]: [3n * sui], [usdcCoin]: [100n] })
      const part = partOf([30n, 50n], usdc)
      const made = yield* buildPart(town.payouts, part)
      const result = yield* town.submit(made)
      assert.isNull(typeof result === "string" ? result : result.failure)
      assert.deepStrictEqual((yield* searchPart(town.payouts, part, made)).executions, [], "no checkpoint has it")
      town.ledger.mine(2)
      const { executions, isOver, searchedTo } = yield* searchPart(town.payouts, part, made)
      assert.deepStrictEqual([isOver, searchedTo], [true, town.ledger.head.height], "it is never executed again")
      const [{ block, fee, isFinal, transfers, txHash }] = executions as [typeof executions[0]]
      assert.deepStrictEqual([txHash, block.height, isFinal], [digestOf(made), town.ledger.head.height - 1n, true])
      const { computation, rebate, storage } = (result as Exclude<typeof result, string>).gas
      assert.strictEqual(fee, computation + storage - rebate)
      assert.deepStrictEqual(
        transfers.map((
          { amount, destination, from: sender, line, tokenAddress }
        ) => [line, destination, tokenAddress, BigInt(amount), sender]),
        [[0, suiAddress(0), usdcCoin, 30n, from], [1, suiAddress(1), usdcCoin, 50n, from]]
      )
      const changed = town.ledger.byDigest.get(txHash)!.changes
        .map(({ address, coinType }) => `${address} ${coinType}`).toSorted()
      assert.deepStrictEqual(
        transfers.map(({ index }) => changed[index]),
        [`${suiAddress(0)} ${usdcCoin}`, `${suiAddress(1)} ${usdcCoin}`],
        "an index is that of a follower of the receiver"
      )
      assert.strictEqual(town.ledger.balanceOf(suiAddress(1), usdcCoin), 50n)
    }))

  it.live("tells two alike lines apart", () =>
    Effect.gen(function*() {
      const town = yield* shop({ [suiCoin]: [3n * sui] })
      const line = payoutLine(suiAddress(1), sui, { decimals: 9 })
      const part = payoutPart(from, [line, line])
      const made = yield* buildPart(town.payouts, part)
      yield* town.submit(made)
      town.ledger.mine(1)
      const { executions: [execution] } = yield* searchPart(town.payouts, part, made)
      assert.strictEqual(new Set(execution!.transfers.map(({ index }) => index)).size, 2)
      assert.strictEqual(town.ledger.balanceOf(suiAddress(1), suiCoin), 2n * sui)
    }))

  it.live("holds 200 lines, and the ledger executes them", () =>
    Effect.gen(function*() {
      const town = yield* shop({ [suiCoin]: [sui], [usdcCoin]: Array.from({ length: 60 }, () => 5_000n) })
      const part = partOf(Array.from({ length: 200 }, (_, place) => 1_000n + BigInt(place)), usdc)
      assert.deepStrictEqual(town.payouts.partSizes([...part.lines, ...part.lines.slice(0, 5)]), [200, 5])
      const made = yield* buildPart(town.payouts, part)
      assert.isBelow(bytesOf(made).length, 20_000)
      yield* town.submit(made)
      town.ledger.mine(1)
      assert.strictEqual((yield* searchPart(town.payouts, part, made)).executions[0]?.transfers.length, 200)
      assert.strictEqual(town.ledger.balanceOf(suiAddress(199), usdcCoin), 1_199n)
    }))

  it.live("spends nothing that another part may still spend", () =>
    Effect.gen(function*() {
      const town = yield* shop({ [suiCoin]: [sui, sui], [usdcCoin]: [100n, 90n] })
      const first = yield* buildPart(town.payouts, partOf([50n], usdc))
      const second = yield* buildPart(town.payouts, partOf([50n], usdc, 2), { spentInputs: first.inputs })
      assert.deepStrictEqual(second.inputs.filter((input) => first.inputs.includes(input)), [])
      const spentInputs = [...first.inputs, ...second.inputs]
      const error = yield* Effect.flip(buildPart(town.payouts, partOf([50n], usdc, 3), { spentInputs }))
      assert.include(error.message, "beside what other parts may still spend")
      for (const made of [first, second]) assert.isObject(yield* town.submit(made))
    }))

  it.live("is never executed twice: its coins have other versions then, also for any other export of them", () =>
    Effect.gen(function*() {
      const town = yield* shop({ [suiCoin]: [5n * sui] })
      const part = partOf([sui])
      const made = yield* buildPart(town.payouts, part)
      const other = yield* buildPart(town.payouts, part, { validUntil: inTwoDays() })
      assert.notStrictEqual(other.payload, made.payload)
      assert.isObject(yield* town.submit(made))
      assert.isString(yield* town.submit(made))
      assert.isString(yield* town.submit(other))
      town.ledger.mine(1)
      const { executions } = yield* searchPart(town.payouts, part, other)
      assert.deepStrictEqual(executions.map(({ txHash }) => txHash), [digestOf(made)], "whichever was given out")
      assert.strictEqual(town.ledger.balanceOf(suiAddress(0), suiCoin), sui)
    }))

  for (const count of [1, 2]) {
    it.live(`of ${count} lines that all go to somebody else is found by its coins and their sum, and pays no line`, () =>
      Effect.gen(function*() {
        const town = yield* shop({ [suiCoin]: [5n * sui] })
        const amounts = Array.from({ length: count }, () => sui)
        const part = partOf(amounts)
        const made = yield* buildPart(town.payouts, part)
        const lines = amounts.map((amount) => payoutLine(suiAddress(66), amount))
        const thief = yield* buildPart(town.payouts, payoutPart(from, lines))
        assert.isObject(yield* town.submit(thief))
        town.ledger.mine(1)
        for (const hint of [null, digestOf(thief)]) {
          const { executions: [execution] } = yield* searchPart(town.payouts, part, made, { hint })
          assert.strictEqual(execution!.txHash, digestOf(thief))
          assert.deepStrictEqual(
            execution!.transfers.map(({ amount, destination, line }) => ({
              amount: BigInt(amount),
              destination,
              line
            })),
            [{ amount: BigInt(count) * sui, destination: suiAddress(66), line: null }]
          )
        }
      }))
  }

  it.live("whose coins the wallet spends for something else is not executed, and lapses", () =>
    Effect.gen(function*() {
      const town = yield* shop({ [suiCoin]: [5n * sui] })
      const part = partOf([sui, sui])
      const made = yield* buildPart(town.payouts, part)
      const purchase = yield* buildPart(town.payouts, payoutPart(from, [payoutLine(suiAddress(66), sui)]))
      assert.isObject(yield* town.submit(purchase))
      town.ledger.mine(1)
      const hint = digestOf(purchase)
      assert.deepStrictEqual((yield* searchPart(town.payouts, part, made, { hint })).executions, [])
      town.ledger.changeEpoch()
      const { executions, isOver } = yield* searchPart(town.payouts, part, made, { hint })
      assert.deepStrictEqual([executions, isOver], [[], true])
    }))

  it.live("that a wallet builds anew is found by itself, because it spends the same coins", () =>
    Effect.gen(function*() {
      const town = yield* shop({ [suiCoin]: [5n * sui], [usdcCoin]: [100n] })
      const part = partOf([30n, 50n], usdc)
      const made = yield* buildPart(town.payouts, part)
      const anew = yield* buildPart(town.payouts, part, { validUntil: inTwoDays() })
      yield* town.submit(anew)
      town.ledger.mine(1)
      const hint = digestOf(anew)
      const own = yield* searchPart(town.payouts, part, anew)
      for (const named of [null, hint]) {
        const { executions: [execution], isOver } = yield* searchPart(town.payouts, part, made, { hint: named })
        assert.deepStrictEqual([execution!.txHash, isOver], [hint, true])
        assert.deepStrictEqual(execution, own.executions[0], "it is told as if it had been given out")
      }
    }))

  it.live("of which a line goes elsewhere shows the others, and what should not be there", () =>
    Effect.gen(function*() {
      const town = yield* shop({ [suiCoin]: [5n * sui], [usdcCoin]: [100n] })
      const part = partOf([30n, 50n], usdc)
      const made = yield* buildPart(town.payouts, part)
      const [first, second] = part.lines
      const changed = payoutPart(from, [first!, { ...second!, destination: suiAddress(66) }])
      const anew = yield* buildPart(town.payouts, changed)
      yield* town.submit(anew)
      town.ledger.mine(1)
      const { executions: [execution] } = yield* searchPart(town.payouts, part, made)
      assert.deepStrictEqual(
        execution!.transfers.map(({ destination, line }) => [line, destination]),
        [[0, suiAddress(0)], [null, suiAddress(66)]]
      )
    }))

  it.live("is not paid by a transaction of the same amounts that spends other coins", () =>
    Effect.gen(function*() {
      const town = yield* shop({ [suiCoin]: [5n * sui, 4n * sui] })
      const part = partOf([sui])
      const made = yield* buildPart(town.payouts, part)
      const other = yield* buildPart(town.payouts, { ...part, part: 2 }, { spentInputs: made.inputs })
      yield* town.submit(other)
      town.ledger.mine(1)
      const found = yield* searchPart(town.payouts, part, made, { hint: digestOf(other) })
      assert.deepStrictEqual([found.executions, found.isOver], [[], false])
      assert.lengthOf((yield* searchPart(town.payouts, part, made, { hint: "no digest" })).executions, 0)
    }))

  it.live("is not over while the index of a node may still show what the wallet did instead", () =>
    Effect.gen(function*() {
      const town = yield* shop({ [suiCoin]: [5n * sui], [usdcCoin]: [100n] })
      const part = partOf([30n, 50n], usdc)
      const made = yield* buildPart(town.payouts, part)
      const anew = yield* buildPart(town.payouts, part, { validUntil: inTwoDays() })
      town.ledger.mine(5)
      yield* town.submit(anew)
      town.ledger.mine(1)
      town.ledger.changeEpoch()
      town.node.lag(0, 3)
      const early = yield* searchPart(town.payouts, part, made)
      assert.deepStrictEqual([early.executions, early.isOver], [[], false])
      town.node.lag(0, 0)
      const later = yield* searchPart(town.payouts, part, made, { from: early.searchedTo + 1n })
      assert.deepStrictEqual(later.executions.map(({ txHash }) => txHash), [digestOf(anew)])
    }))

  it.live("is signed by its own wallet only", () =>
    Effect.gen(function*() {
      const town = yield* shop({ [suiCoin]: [5n * sui] })
      const made = yield* buildPart(town.payouts, partOf([sui]))
      const stranger = Ed25519Keypair.fromSecretKey(new Uint8Array(32).fill(8))
      assert.isString(yield* town.submit(made, stranger))
    }))

  for (
    const { asked, epochs, label } of [
      { asked: () => undefined, epochs: 0, label: "an hour" },
      { asked: inTwoDays, epochs: 1, label: "two days" }
    ]
  ) {
    it.live(`asked for for ${label} can be executed until its last epoch ends, and is over no sooner`, () =>
      Effect.gen(function*() {
        for (const isLate of [false, true]) {
          const town = yield* shop({ [suiCoin]: [5n * sui] })
          const part = partOf([sui])
          const validUntil = asked()
          const made = yield* buildPart(town.payouts, part, validUntil === undefined ? {} : { validUntil })
          assert.strictEqual(readPayout(made).lastEpoch, town.ledger.epoch + BigInt(epochs))
          assert.strictEqual(made.validUntil, town.ledger.epochStart + 86_400 * (epochs + 1))
          for (let epoch = 0; epoch < epochs + Number(isLate); epoch++) town.ledger.changeEpoch()
          assert.strictEqual((yield* searchPart(town.payouts, part, made)).isOver, isLate)
          assert.strictEqual(typeof (yield* town.submit(made)) === "string", isLate)
        }
      }))
  }

  it.live("that failed on the chain has paid nobody, and never will", () =>
    Effect.gen(function*() {
      const town = yield* shop({ [suiCoin]: [5n * sui], [usdcCoin]: [100n] })
      const part = partOf([50n, 10n], usdc)
      const made = yield* buildPart(town.payouts, part)
      town.coins.frozen.add(`${usdcCoin} ${suiAddress(1)}`)
      const result = yield* town.submit(made)
      assert.isNotNull((result as Exclude<typeof result, string>).failure)
      town.ledger.mine(1)
      const { executions, isOver } = yield* searchPart(town.payouts, part, made)
      assert.deepStrictEqual([executions, isOver], [[], true])
      assert.isString(yield* town.submit(made))
    }))
})

describe("whatever happens to a part on Sui, in whatever order", () => {
  it.live("each line is paid once at most, and is what is said to be paid", () =>
    Effect.gen(function*() {
      const seen = new Set<string>()
      for (let seed = 1; seed <= 8; seed++) {
        const { coins, ledger, payouts, submit } = yield* shop({ [suiCoin]: [9n * sui, 8n * sui] })
        const { exports, most, status } = yield* walkPart(
          {
            payouts,
            part: partOf([sui, sui]),
            submit,
            events: [
              () => ledger.mine(1),
              () => ledger.changeEpoch(),
              () => coins.touch(coins.of(from, suiCoin)[0]!.id)
            ],
            received: () => ledger.balanceOf(suiAddress(0), suiCoin) + ledger.balanceOf(suiAddress(1), suiCoin)
          },
          seed,
          40
        )
        assert.isAtMost(Number(most), Number(2n * sui), `seed ${seed}`)
        if (status === "paid") assert.strictEqual(most, 2n * sui, `seed ${seed}`)
        seen.add(`${status} ${exports > 1}`)
      }
      assert.isTrue(seen.has("paid true"), "some are paid by another export than the first")
    }))
})

describe("endpoints that do not agree about a part on Sui", () => {
  for (
    const { hidden, outcome, servers } of [
      { servers: 1, hidden: 0, outcome: "paid" },
      { servers: 2, hidden: 1, outcome: "failure" },
      { servers: 3, hidden: 1, outcome: "paid" },
      { servers: 3, hidden: 2, outcome: "failure" }
    ]
  ) {
    it.live(`${hidden} of ${servers} hide an execution: ${outcome}, and never lapsed`, () =>
      Effect.gen(function*() {
        const town = yield* shop({ [suiCoin]: [5n * sui] }, servers)
        const part = partOf([sui])
        const made = yield* buildPart(town.payouts, part)
        yield* town.submit(made)
        town.ledger.changeEpoch()
        for (const node of town.nodes.slice(0, hidden)) node.set(hiding)
        const found = yield* Effect.result(searchPart(town.payouts, part, made))
        const said = found._tag === "Failure" ? "failure" : found.success.executions.length > 0 ? "paid" : "lapsed"
        assert.strictEqual(said, outcome)
      }))
  }

  it.live("one that is ahead of the others does not hide what the wallet built anew", () =>
    Effect.gen(function*() {
      const town = yield* shop({ [suiCoin]: [5n * sui] }, 3)
      const part = partOf([sui])
      town.node.set(ahead)
      const made = yield* buildPart(town.payouts, part)
      assert.strictEqual(made.builtAt, town.ledger.head.height)
      town.node.set("through")
      const anew = yield* buildPart(town.payouts, part, { validUntil: inTwoDays() })
      yield* town.submit(anew)
      town.ledger.mine(1)
      const { executions } = yield* searchPart(town.payouts, part, made)
      assert.deepStrictEqual(executions.map(({ txHash }) => txHash), [digestOf(anew)])
    }))

  it.live("nothing is given out where half of them are away", () =>
    Effect.gen(function*() {
      const town = yield* shop({ [suiCoin]: [5n * sui] }, 2)
      town.nodes[1]!.set({ http: 503 })
      const error = yield* Effect.flip(buildPart(town.payouts, partOf([sui])))
      const reason = "reason" in error ? error.reason : error.message
      assert.include(reason, "1 of 2 endpoints answered, and 2 must agree about a payout")
      town.nodes[1]!.set("through")
      yield* buildPart(town.payouts, partOf([sui]))
    }))

  it.live("one that has forgotten the time of the part cannot say that it was not executed", () =>
    Effect.gen(function*() {
      const town = yield* shop({ [suiCoin]: [5n * sui] })
      const part = partOf([sui])
      const made = yield* buildPart(town.payouts, part)
      yield* town.submit(made)
      town.ledger.changeEpoch()
      town.ledger.mine(10)
      town.node.prune(town.ledger.head.height - 2n)
      const error = yield* Effect.flip(searchPart(town.payouts, part, made))
      assert.include(error.reason, "it does not have checkpoint")
    }))
})

describe("a part that cannot be paid on Sui", () => {
  it.live("is refused with what is missing of which coin, and what to do", () =>
    Effect.gen(function*() {
      const town = yield* shop({ [suiCoin]: [sui], [usdcCoin]: [100n] })
      const error = yield* Effect.flip(buildPart(town.payouts, partOf([90n, 60n], usdc)))
      assert.include(error.message, "take 0.000150 USDC, and the wallet has 0.000100: send it 0.000050 USDC or more")
      const noGas = yield* Effect.flip(buildPart(town.payouts, partOf([sui])))
      assert.include(noGas.message, "take 1.021500000 SUI, with the gas, and the wallet has 1.000000000")
      assert.strictEqual(
        yield* refusalCode(buildPart(town.payouts, payoutPart(suiAddress(3), partOf([1n]).lines))),
        "INSUFFICIENT_FUNDS"
      )
    }))

  it.live("is refused where the money is in no coin, or in too many", () =>
    Effect.gen(function*() {
      const town = yield* shop({ [suiCoin]: [sui], [usdcCoin]: Array.from({ length: 1_200 }, () => 10n) })
      const crumbs = partOf([11_000n], usdc)
      assert.strictEqual(yield* refusalCode(buildPart(town.payouts, crumbs)), "WALLET_NOT_SPENDABLE")
      town.coins.addressBalances.set(`${from} ${usdcCoin}`, 90_000n)
      const error = yield* Effect.flip(buildPart(town.payouts, partOf([90_000n], usdc)))
      assert.include(error.message, "0.090000 USDC of the wallet is an address balance and no coin")
      assert.strictEqual(yield* refusalCode(buildPart(town.payouts, partOf([200_000n], usdc))), "INSUFFICIENT_FUNDS")
    }))

  it.live("is refused with the line of a receiver whom the token's issuer has frozen, and for a frozen wallet", () =>
    Effect.gen(function*() {
      const town = yield* shop({ [suiCoin]: [sui], [usdcCoin]: [100n] })
      const part = partOf([10n, 20n, 30n], usdc)
      town.coins.frozen.add(`${usdcCoin} ${suiAddress(1)}`)
      const error = yield* Effect.flip(buildPart(town.payouts, part))
      assert.deepStrictEqual(
        "code" in error ? [error.code, error.details] : null,
        ["PAYOUT_LINE_REFUSED", { line: 2 }]
      )
      town.coins.frozen.delete(`${usdcCoin} ${suiAddress(1)}`)
      town.coins.frozen.add(`${usdcCoin} ${from}`)
      const frozen = yield* Effect.flip(buildPart(town.payouts, part))
      assert.include(frozen.message, "The issuer of a token has frozen this wallet for it")
    }))

  it.live("is built by an estimate of the gas where no node simulates, and never by one that would burn money", () =>
    Effect.gen(function*() {
      const town = yield* shop({ [suiCoin]: [5n * sui] })
      town.node.set(({ method }, honest) => method === "SimulateTransaction" ? failWith(12, "unimplemented") : honest())
      const made = yield* buildPart(town.payouts, partOf([sui, sui]))
      assert.isFalse(made.isSimulated)
      assert.match(made.notices.join(), /the gas is an estimate/)
      assert.isObject(yield* town.submit(made))
      town.node.set("through")
      town.coins.referenceGasPrice = 50_000n
      const error = yield* Effect.flip(buildPart(town.payouts, partOf([sui])))
      assert.include(error.message, "it says that gas costs 50000 MIST")
    }))
})
