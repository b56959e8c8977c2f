/**
 * Goal: a part of a batch pays its lines on Cardano once, or never, and the service knows which.
 * Method: bytes are read by Strica's codec of CBOR and signed by its keys; a ledger with the rules of `scalus` takes
 * or refuses them.
 */
import { assert, describe, it } from "@effect/vitest"
import { bech32 } from "@scure/base"
import { Effect } from "effect"
import type { PayoutExport, PayoutPart } from "../../../../runtime/Payouts.ts"
import { descriptorOf } from "../../../../schemas/Network.ts"
import { blockfrost, type BlockfrostFault, refusal } from "../../../support/cardano/Blockfrost.ts"
import { accountOf } from "../../../support/cardano/Keys.ts"
import { addressBytes, Ledger, type RigTransaction } from "../../../support/cardano/Ledger.ts"
import { driverOn } from "../../../support/cardano/Rig.ts"
import { readPayout, readSigned, rewritePayout, signPayout } from "../../../support/cardano/SignedPayout.ts"
import {
  buildPart,
  inAnHour,
  payoutLine,
  payoutPart,
  payoutsOf,
  refusalCode,
  searchPart,
  walkPart
} from "../../../support/Payouts.ts"

const ada = 1_000_000n
const nowSeconds = () => Math.floor(Date.now() / 1000)

/** A chain on which a merchant's wallet holds `funds`, each an output, and servers of it. */
const shop = Effect.fnUntraced(function*(funds: ReadonlyArray<bigint>, servers = 1) {
  const account = yield* Effect.promise(() => accountOf(Buffer.alloc(16, 7)))
  const customers = yield* Effect.promise(() => accountOf(Buffer.alloc(16, 9)))
  const ledger = new Ledger(nowSeconds)
  const from = account.address(0, "devnet")
  for (const lovelace of funds) ledger.pay([{ address: from, lovelace }])
  ledger.mine()
  const apis = yield* Effect.forEach(Array.from({ length: servers }), () => blockfrost(ledger))
  const payouts = payoutsOf(yield* driverOn(apis))
  const signer = account.signer(0)
  /** What the wallet does with an export: signs it, and gives it to the network. */
  const submit = ({ payload }: PayoutExport) => {
    const transaction = readSigned(signPayout(payload, signer), from)
    const refused = ledger.submit(transaction)
    return refused ?? transaction
  }
  return {
    account,
    ledger,
    from,
    apis,
    payouts,
    signer,
    submit,
    customer: (place: number) => customers.address(place, "devnet")
  }
})

type Shop = Effect.Success<ReturnType<typeof shop>>

const partOf = ({ customer, from }: Pick<Shop, "customer" | "from">, amounts: ReadonlyArray<bigint>, part = 1) =>
  payoutPart(from, amounts.map((amount, place) => payoutLine(customer(place + 1), amount)), part)

/** The newest block holds a transaction that was submitted. */
const mined = ({ ledger }: Shop, outcome: RigTransaction | string) => {
  if (typeof outcome === "string") throw new Error(outcome)
  ledger.mine()
  return outcome
}

/** A server that does not know of a transaction. */
const hiding: BlockfrostFault = ({ path }, answer) =>
  path.startsWith("/txs/") ? refusal(404, "Not Found", "The requested component has not been found.") : answer()

/** A server that says that the chain is further than it is. */
const ahead: BlockfrostFault = ({ path }, answer) => {
  const { body, ...rest } = answer()
  return path === "/blocks/latest"
    ? { ...rest, body: { ...body as any, height: (body as any).height + 900 } }
    : answer()
}

const lineOutputs = ({ lines }: PayoutPart) =>
  lines.map(({ amount, destination }) => ({ address: destination, lovelace: BigInt(amount) }))

/** The payment key of one base address with the stake key of another. */
const mixedAddress = (payment: string, stake: string): string =>
  bech32.encode(
    "addr_test",
    bech32.toWords(Uint8Array.of(...addressBytes(payment).subarray(0, 29), ...addressBytes(stake).subarray(29))),
    1_000
  )

describe("a part of a batch on Cardano", () => {
  it.live("is a transaction whose outputs are its lines, and whose rest comes back to the wallet", () =>
    Effect.gen(function*() {
      const town = yield* shop([40n * ada, 900n * ada, 5n * ada])
      const part = partOf(town, [2n * ada, 5_000_001n, 250n * ada])
      const made = yield* buildPart(town.payouts, part)
      const read = readPayout(made.payload)
      assert.deepStrictEqual(read.outputs.slice(0, 3), lineOutputs(part))
      assert.deepStrictEqual(read.outputs.slice(3), [
        { address: town.from, lovelace: 900n * ada - 257_000_001n - read.fee }
      ])
      assert.deepStrictEqual(made.inputs, read.inputs.map(({ index, txHash }) => `${txHash}#${index}`))
      assert.strictEqual(read.inputs.length, 1, "the largest output is enough")
      assert.deepStrictEqual(read.message, ["bat_0193a5b27c4170009d4b6f5b1c3b2a10/1"])
      assert.isTrue(read.hasRightMetadataHash)
      assert.strictEqual(read.id, read.bodyHash)
      assert.deepStrictEqual(read.bodyKeys, [0, 1, 2, 3, 7])
      assert.isTrue(read.isShortest)
      assert.strictEqual(read.fee, 155_381n + 44n * BigInt(read.bytes + 106), "a signature has 106 bytes")
      assert.isFalse(made.isSimulated)
      assert.strictEqual(made.builtAt, BigInt(town.ledger.tip.height))
      const again = yield* buildPart(town.payouts, part, { validUntil: made.validUntil! })
      assert.strictEqual(again.payload, made.payload, "the same wallet and lines are the same bytes")
    }))

  it.live("is paid when the chain has it: each line, at the fee that the network took", () =>
    Effect.gen(function*() {
      const town = yield* shop([900n * ada])
      const part = partOf(town, [2n * ada, 3n * ada])
      const made = yield* buildPart(town.payouts, part)
      const before = yield* searchPart(town.payouts, part, made)
      assert.deepStrictEqual([before.executions, before.isOver], [[], false])
      const { txHash } = mined(town, town.submit(made))
      const read = readPayout(made.payload)
      assert.strictEqual(txHash, read.id)
      const { executions, isOver, searchedTo } = yield* searchPart(town.payouts, part, made)
      assert.strictEqual(searchedTo, BigInt(town.ledger.tip.height))
      assert.isTrue(isOver, "it is never executed again")
      assert.strictEqual(executions.length, 1)
      const [{ block, fee, isFinal, transfers }] = executions as [typeof executions[0]]
      assert.deepStrictEqual([block.height, block.hash], [BigInt(town.ledger.tip.height), town.ledger.tip.hash])
      assert.strictEqual(fee, read.fee)
      assert.isTrue(isFinal)
      assert.deepStrictEqual(
        transfers.map(({ amount, destination, from, index, line }) => [line, index, destination, BigInt(amount), from]),
        [[0, 0, town.customer(1), 2n * ada, town.from], [1, 4_096, town.customer(2), 3n * ada, town.from]]
      )
    }))

  it.live("holds 200 lines, and the ledger takes them", () =>
    Effect.gen(function*() {
      const town = yield* shop(Array.from({ length: 20 }, () => 30n * ada))
      const part = partOf(town, Array.from({ length: 200 }, (_, place) => 2n * ada + BigInt(place)))
      assert.deepStrictEqual(town.payouts.partSizes(part.lines), [200])
      const made = yield* buildPart(town.payouts, part)
      const { outputs } = mined(town, town.submit(made))
      assert.deepStrictEqual(outputs.slice(0, 200), lineOutputs(part))
      assert.strictEqual((yield* searchPart(town.payouts, part, made)).executions[0]?.transfers.length, 200)
    }))

  it.live("pays tokens with the ADA that the ledger asks for, and gives back the tokens that nobody is owed", () =>
    Effect.gen(function*() {
      const town = yield* shop([60n * ada])
      const { ledger } = town
      const held = new Map([["USDM", 500n], ["Rare", 7n]])
      ledger.pay([{ address: town.from, lovelace: 2n * ada, assets: new Map([[ledger.policy, held]]) }], { mint: held })
      ledger.mine()
      const tokenAddress = `${ledger.policy}${Buffer.from("USDM").toString("hex")}`
      const part = payoutPart(town.from, [
        payoutLine(town.customer(1), 120n, { tokenAddress, symbol: "USDM", decimals: 2 }),
        payoutLine(town.customer(2), 3n * ada)
      ])
      const made = yield* buildPart(town.payouts, part)
      const { outputs: [token, coin, change] } = readPayout(made.payload)
      assert.strictEqual(token!.assets!.get(ledger.policy)!.get("USDM"), 120n)
      assert.strictEqual(coin!.lovelace, 3n * ada)
      assert.deepStrictEqual([...change!.assets!.get(ledger.policy)!].toSorted(), [["Rare", 7n], ["USDM", 380n]])
      assert.match(made.notices.join(), new RegExp(`carry 1\\.${String(token!.lovelace).slice(1)} ADA in all`))
      mined(town, town.submit(made))
      const { executions } = yield* searchPart(town.payouts, part, made)
      assert.deepStrictEqual(
        executions[0]!.transfers.map(({ amount, index, tokenAddress }) => [index, tokenAddress, BigInt(amount)]),
        [[1, tokenAddress, 120n], [4_096, null, 3n * ada]]
      )
      const short = payoutPart(town.from, [
        payoutLine(town.customer(1), 381n, { tokenAddress, symbol: "USDM", decimals: 2 })
      ])
      const error = yield* Effect.flip(buildPart(town.payouts, short))
      assert.include(error.message, "send it 0.01 USDM or more")
    }))

  it.live("gives back more tokens than one output can hold", () =>
    Effect.gen(function*() {
      const town = yield* shop([60n * ada])
      const { ledger } = town
      for (const half of ["a", "b"]) {
        const held = new Map(Array.from({ length: 60 }, (_, place) => [`${half}${"t".repeat(28)}${place}`, 5n]))
        ledger.pay([{ address: town.from, lovelace: 20n * ada, assets: new Map([[ledger.policy, held]]) }], {
          mint: held
        })
      }
      ledger.mine()
      const part = partOf(town, [72n * ada])
      const made = yield* buildPart(town.payouts, part)
      const { outputs } = mined(town, town.submit(made))
      assert.deepStrictEqual(
        outputs.slice(1).map(({ address, assets }) => [address, assets?.get(ledger.policy)?.size]),
        [[town.from, 50], [town.from, 50], [town.from, 20]]
      )
    }))

  it.live("has as many lines as fit into its bytes, and the rest are another part's", () =>
    Effect.gen(function*() {
      const town = yield* shop([1_000n * ada])
      const held = new Map([["x".repeat(32), 200_000_000_000n]])
      town.ledger.pay(
        [{ address: town.from, lovelace: 2n * ada, assets: new Map([[town.ledger.policy, held]]) }],
        { mint: held }
      )
      town.ledger.mine()
      const tokenAddress = `${town.ledger.policy}${Buffer.from("x".repeat(32)).toString("hex")}`
      const lines = Array.from({ length: 200 }, () => payoutLine(town.customer(1), 1_000_000_000n, { tokenAddress }))
      const [first = 0, ...rest] = town.payouts.partSizes(lines)
      assert.strictEqual(first + rest.reduce((sum, size) => sum + size, 0), 200)
      assert.isAbove(first, 90)
      mined(town, town.submit(yield* buildPart(town.payouts, payoutPart(town.from, lines.slice(0, first)))))
      assert.deepStrictEqual(town.payouts.partSizes([]), [])
    }))

  it.live("spends nothing that another part may still spend", () =>
    Effect.gen(function*() {
      const town = yield* shop([50n * ada, 40n * ada])
      const first = yield* buildPart(town.payouts, partOf(town, [10n * ada]))
      const second = yield* buildPart(town.payouts, partOf(town, [10n * ada], 2), { spentInputs: first.inputs })
      assert.deepStrictEqual(second.inputs.filter((input) => first.inputs.includes(input)), [])
      const spentInputs = [...first.inputs, ...second.inputs]
      const error = yield* Effect.flip(buildPart(town.payouts, partOf(town, [10n * ada], 3), { spentInputs }))
      assert.include(error.message, "beside what other parts may still spend")
      for (const made of [first, second]) mined(town, town.submit(made))
    }))

  it.live("spends from every address of its wallet's account, and from no other with the account's stake key", () =>
    Effect.gen(function*() {
      const town = yield* shop([5n * ada])
      const [own, second, third] = [0, 1, 2].map((place) => town.account.address(place, "devnet")) as [
        string,
        string,
        string
      ]
      // A payment key of somebody else's under the same stake key: the wallet cannot spend from there.
      const other = yield* Effect.promise(() => accountOf(Buffer.alloc(16, 8)))
      const stranger = mixedAddress(other.address(0, "devnet"), own)
      for (const [address, lovelace] of [[second, 6n], [third, 7n], [stranger, 900n]] as const) {
        town.ledger.pay([{ address, lovelace: lovelace * ada }])
      }
      town.ledger.mine()
      const part = payoutPart(own, [payoutLine(town.customer(9), 15n * ada)])
      const walletAddresses = [own, second, third]
      const alone = yield* Effect.flip(buildPart(town.payouts, part))
      assert.include(alone.message, "the wallet has 5.000000:")
      const made = yield* buildPart(town.payouts, part, { walletAddresses })
      assert.match(made.notices.join(" "), /several addresses of the account/)
      const read = readPayout(made.payload)
      assert.lengthOf(read.inputs, 3)
      assert.strictEqual(read.outputs.at(-1)!.address, own)
      const signed = readSigned(
        signPayout(made.payload, ...[0, 1, 2].map((place) => town.account.signer(place))),
        own
      )
      assert.isAtLeast(Number(read.fee), 155_381 + 44 * (signed.cbor.length / 2))
      assert.isBelow(Number(read.fee), 155_381 + 44 * (signed.cbor.length / 2 + 10))
      assert.isNull(town.ledger.submit(signed))
      town.ledger.mine()
      const { executions: [execution] } = yield* searchPart(town.payouts, part, made)
      assert.deepStrictEqual(execution!.transfers.map(({ line }) => line), [0])
      // A server that does not tell of accounts: the address alone.
      town.apis[0]!.set(({ path }, answer) => path.startsWith("/accounts/") ? refusal(404, "Not Found", "") : answer())
      const rest = yield* Effect.flip(buildPart(town.payouts, partOf(town, [50n * ada], 2), { walletAddresses }))
      assert.include(rest.message, "the wallet has")
    }))

  it.live("is never executed twice: the ledger refuses it, and any other export of the same money", () =>
    Effect.gen(function*() {
      const town = yield* shop([50n * ada])
      const part = partOf(town, [10n * ada])
      const made = yield* buildPart(town.payouts, part)
      const other = yield* buildPart(town.payouts, part, { validUntil: inAnHour() - 60 })
      assert.notStrictEqual(other.payload, made.payload)
      mined(town, town.submit(made))
      assert.isString(town.submit(made))
      assert.isString(town.submit(other))
      const lost = yield* searchPart(town.payouts, part, other)
      assert.deepStrictEqual(
        lost.executions.map(({ txHash }) => txHash),
        [readPayout(made.payload).id],
        "the one that is on the chain pays the part, whichever was given out"
      )
    }))

  it.live("is told as it is where somebody changes a receiver, because its message names the part", () =>
    Effect.gen(function*() {
      const town = yield* shop([50n * ada])
      const part = partOf(town, [10n * ada])
      const made = yield* buildPart(town.payouts, part)
      const thief = yield* buildPart(town.payouts, payoutPart(town.from, [payoutLine(town.customer(9), 10n * ada)]))
      const { txHash } = mined(town, town.submit(thief))
      const { executions: [execution], isOver } = yield* searchPart(town.payouts, part, made)
      assert.deepStrictEqual([execution!.txHash, isOver], [txHash, true])
      assert.deepStrictEqual(
        execution!.transfers.map(({ amount, destination, line }) => [line, destination, BigInt(amount)]),
        [[null, town.customer(9), 10n * ada]]
      )
    }))

  it.live("that a wallet writes anew is found by itself, because it spends the same outputs", () =>
    Effect.gen(function*() {
      const town = yield* shop([50n * ada])
      const part = partOf(town, [10n * ada, 12n * ada])
      const made = yield* buildPart(town.payouts, part)
      const { txHash } = mined(town, town.submit({ ...made, payload: rewritePayout(made.payload) }))
      // Wallets may leave the message out.
      town.apis[0]!.set(({ path }, answer) => path.endsWith("/metadata") ? { status: 200, body: [] } : answer())
      assert.notStrictEqual(txHash, readPayout(made.payload).id)
      for (const hint of [null, txHash]) {
        const { executions: [execution, ...more], isOver } = yield* searchPart(town.payouts, part, made, { hint })
        assert.isTrue(isOver)
        assert.deepStrictEqual([execution!.txHash, more], [txHash, []])
        assert.deepStrictEqual(
          execution!.transfers.map(({ amount, index, line }) => [line, index, BigInt(amount)]),
          [[0, 0, 10n * ada], [1, 4_096, 12n * ada]]
        )
      }
      assert.isString(town.submit(made), "the export itself is never executed any more")
    }))

  it.live("has to be named where the server lists no transactions of an address, and the export says so", () =>
    Effect.gen(function*() {
      const town = yield* shop([50n * ada])
      town.apis[0]!.set(({ path }, answer) =>
        /^\/addresses\/.*\/transactions$/.test(path) ? refusal(404, "Not Found", "No such route.") : answer()
      )
      const part = partOf(town, [10n * ada])
      const made = yield* buildPart(town.payouts, part)
      assert.match(made.notices.join(" "), /does not list the transactions of an address/)
      const { txHash } = mined(town, town.submit({ ...made, payload: rewritePayout(made.payload) }))
      assert.lengthOf((yield* searchPart(town.payouts, part, made)).executions, 0)
      const { executions: [execution] } = yield* searchPart(town.payouts, part, made, { hint: txHash })
      assert.strictEqual(execution!.txHash, txHash)
      // Nobody has named it when the export ends: it may have been paid, so it does not lapse.
      town.ledger.wait(Number(readPayout(made.payload).ttl))
      town.ledger.mine()
      const error = yield* Effect.flip(searchPart(town.payouts, part, made))
      assert.include(error.reason, "lists no transactions of an address, and something has spent")
      const named = yield* searchPart(town.payouts, part, made, { hint: txHash })
      assert.deepStrictEqual([named.executions.length, named.isOver], [1, true])
    }))

  it.live("lapses where no transactions are listed when nobody has spent its outputs, or for something else", () =>
    Effect.gen(function*() {
      const town = yield* shop([50n * ada])
      town.apis[0]!.set(({ path }, answer) =>
        /^\/addresses\/.*\/transactions$/.test(path) ? refusal(404, "Not Found", "No such route.") : answer()
      )
      const part = partOf(town, [10n * ada])
      const made = yield* buildPart(town.payouts, part)
      town.ledger.wait(Number(readPayout(made.payload).ttl))
      town.ledger.mine()
      assert.deepInclude(yield* searchPart(town.payouts, part, made), { executions: [], isOver: true })
      const other = mined(town, town.submit(yield* buildPart(town.payouts, partOf(town, [11n * ada], 2))))
      yield* Effect.flip(searchPart(town.payouts, part, made))
      const named = yield* searchPart(town.payouts, part, made, { hint: other.txHash })
      assert.deepInclude(named, { executions: [], isOver: true })
    }))

  it.live("is paid twice where a wallet takes other outputs and signs it again, and both are told", () =>
    Effect.gen(function*() {
      const town = yield* shop([50n * ada, 40n * ada])
      const part = partOf(town, [10n * ada])
      const made = yield* buildPart(town.payouts, part)
      const anew = yield* buildPart(town.payouts, part, { spentInputs: made.inputs })
      const second = mined(town, town.submit(anew))
      const first = yield* searchPart(town.payouts, part, made)
      assert.deepStrictEqual(first.executions.map(({ txHash }) => txHash), [second.txHash])
      assert.isFalse(first.isOver, "the export itself can still be executed")
      const own = mined(town, town.submit(made))
      const both = yield* searchPart(town.payouts, part, made)
      assert.deepStrictEqual(
        both.executions.map(({ transfers: [transfer], txHash }) => [txHash, transfer!.line]),
        [[second.txHash, 0], [own.txHash, 0]]
      )
      assert.isTrue(both.isOver)
    }))

  it.live("is not paid by what the wallet spends for something else", () =>
    Effect.gen(function*() {
      const town = yield* shop([50n * ada])
      const part = partOf(town, [10n * ada])
      const made = yield* buildPart(town.payouts, part)
      town.ledger.pay([{ address: town.customer(9), lovelace: 7n * ada }], {
        from: { address: town.from, signer: town.signer }
      })
      town.ledger.mine()
      const found = yield* searchPart(town.payouts, part, made)
      assert.deepStrictEqual([found.executions, found.isOver], [[], false])
    }))

  it.live("of which a line goes elsewhere shows the others, and what should not be there", () =>
    Effect.gen(function*() {
      const town = yield* shop([50n * ada])
      const part = partOf(town, [10n * ada, 12n * ada])
      const made = yield* buildPart(town.payouts, part)
      const payload = rewritePayout(made.payload, town.customer(9))
      const { txHash } = mined(town, town.submit({ ...made, payload }))
      const { executions: [execution] } = yield* searchPart(town.payouts, part, made)
      assert.strictEqual(execution!.txHash, txHash)
      assert.deepStrictEqual(
        execution!.transfers.map(({ destination, line }) => [line, destination]),
        [[0, town.customer(1)], [null, town.customer(9)]]
      )
    }))

  it.live("is not paid by a transaction of the same amounts that spends other outputs", () =>
    Effect.gen(function*() {
      const town = yield* shop([50n * ada, 40n * ada])
      const part = partOf(town, [10n * ada])
      const made = yield* buildPart(town.payouts, part)
      const other = yield* buildPart(town.payouts, { ...part, part: 2 }, { spentInputs: made.inputs })
      const { txHash } = mined(town, town.submit(other))
      const found = yield* searchPart(town.payouts, part, made, { hint: txHash })
      assert.deepStrictEqual([found.executions, found.isOver], [[], false])
      assert.lengthOf((yield* searchPart(town.payouts, part, made, { hint: "00".repeat(32) })).executions, 0)
    }))

  for (const [slotsLeft, isTaken] of [[1, true], [0, false]] as const) {
    it.live(`${isTaken ? "can be" : "can never be"} executed ${slotsLeft} slots before its end`, () =>
      Effect.gen(function*() {
        const town = yield* shop([50n * ada])
        const part = partOf(town, [10n * ada])
        const made = yield* buildPart(town.payouts, part)
        const ttl = Number(readPayout(made.payload).ttl)
        town.ledger.wait(ttl - 20 - slotsLeft)
        // A block comes 20 slots later.
        town.ledger.mine()
        assert.strictEqual(town.ledger.tip.slot, ttl - slotsLeft)
        assert.strictEqual((yield* searchPart(town.payouts, part, made)).isOver, !isTaken)
        assert.strictEqual(typeof town.submit(made) !== "string", isTaken)
      }))
  }

  it.live("is not paid any more when its block leaves the chain, and is again when it comes back", () =>
    Effect.gen(function*() {
      const town = yield* shop([50n * ada])
      const part = partOf(town, [10n * ada])
      const made = yield* buildPart(town.payouts, part)
      const transaction = mined(town, town.submit(made))
      assert.lengthOf((yield* searchPart(town.payouts, part, made)).executions, 1)
      town.ledger.rollback(1)
      town.ledger.mine(2)
      const gone = yield* searchPart(town.payouts, part, made)
      assert.deepStrictEqual([gone.executions, gone.isOver], [[], false])
      town.ledger.resubmit(transaction)
      town.ledger.mine()
      const { executions: [back] } = yield* searchPart(town.payouts, part, made)
      assert.strictEqual(back?.block.height, BigInt(town.ledger.tip.height))
    }))
})

/** Blocks of the network after which nothing leaves it. */
const finalBlocks = descriptorOf("cardano").finalBlocks

/** A driver for mainnet on the shop's chain, which calls itself that. */
const onMainnet = Effect.fnUntraced(function*({ apis: [api] }: Shop) {
  api!.set(({ path }, answer) => {
    const honest = answer()
    return path === "/genesis"
      ? { ...honest, body: { ...honest.body as object, network_magic: 764_824_073 } }
      : path === "/network/eras"
      ? { status: 404, body: {} }
      : honest
  })
  return payoutsOf(yield* driverOn([api!], { environment: "mainnet", startIndex: 0 }))
})

describe("a part on a chain whose blocks are final after 2,160", () => {
  it.live("is seen at once, and for good when no rollback can take it any more", () =>
    Effect.gen(function*() {
      const town = yield* shop([50n * ada])
      const part = partOf(town, [10n * ada])
      const made = yield* buildPart(town.payouts, part)
      const mainnet = yield* onMainnet(town)
      mined(town, town.submit(made))
      for (const [more, isFinal] of [[0, false], [finalBlocks - 2, false], [1, true]] as const) {
        town.ledger.mine(more)
        const { executions: [execution], isOver } = yield* searchPart(mainnet, part, made)
        assert.deepStrictEqual([execution?.isFinal, isOver], [isFinal, isFinal])
      }
    }))

  it.live("lapses when the first block in which it cannot be any more is final, and not one block sooner", () =>
    Effect.gen(function*() {
      const town = yield* shop([50n * ada])
      const part = partOf(town, [10n * ada])
      const made = yield* buildPart(town.payouts, part)
      const mainnet = yield* onMainnet(town)
      // A block in its last slot, and one after it.
      town.ledger.wait(Number(readPayout(made.payload).ttl) - 21)
      town.ledger.mine(2)
      for (const [more, isOver] of [[finalBlocks - 2, false], [1, true]] as const) {
        town.ledger.mine(more)
        assert.strictEqual((yield* searchPart(mainnet, part, made)).isOver, isOver)
      }
    }))
})

describe("whatever happens to a part on Cardano, in whatever order", () => {
  it.live("each line is paid once at most, and is what is said to be paid", () =>
    Effect.gen(function*() {
      const seen = new Set<string>()
      for (let seed = 1; seed <= 4; seed++) {
        const town = yield* shop([70n * ada, 60n * ada])
        const { ledger, payouts } = town
        const lovelaceAt = (place: number) =>
          ledger.tip.unspent(town.customer(place)).reduce((sum, { lovelace }) => sum + lovelace, 0n)
        const { exports, most, status } = yield* walkPart(
          {
            payouts,
            part: partOf(town, [2n * ada, 3n * ada]),
            submit: (made) => Effect.sync(() => town.submit(made)),
            events: [
              () => ledger.mine(),
              () => {
                if (ledger.blocks.length > 3) ledger.rollback(1)
                ledger.mine()
              },
              () => {
                ledger.wait(ledger.tip.slot + 7_200)
                ledger.mine()
              }
            ],
            received: () => lovelaceAt(1) + lovelaceAt(2)
          },
          seed,
          40
        )
        assert.isAtMost(Number(most), Number(5n * ada), `seed ${seed}`)
        if (status === "paid") assert.strictEqual(most, 5n * ada, `seed ${seed}`)
        seen.add(`${status} ${exports > 1}`)
      }
      assert.isTrue(seen.has("paid true"), "some are paid by another export than the first")
    }))
})

describe("endpoints that do not agree about a part on Cardano", () => {
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
        const town = yield* shop([50n * ada], servers)
        const part = partOf(town, [10n * ada])
        const made = yield* buildPart(town.payouts, part)
        mined(town, town.submit(made))
        town.ledger.wait(Number(readPayout(made.payload).ttl))
        town.ledger.mine()
        for (const api of town.apis.slice(0, hidden)) api.set(hiding)
        const found = yield* Effect.result(searchPart(town.payouts, part, made))
        assert.strictEqual(
          found._tag === "Failure" ? "failure" : `${found.success.executions.length > 0 ? "paid" : "lapsed"}`,
          outcome
        )
      }))
  }

  it.live("one that is ahead of the others does not hide what the wallet built anew", () =>
    Effect.gen(function*() {
      const town = yield* shop([50n * ada], 3)
      const part = partOf(town, [10n * ada])
      town.apis[0]!.set(ahead)
      const made = yield* buildPart(town.payouts, part)
      assert.strictEqual(made.builtAt, BigInt(town.ledger.tip.height))
      town.apis[0]!.set("right")
      const { txHash } = mined(town, town.submit({ ...made, payload: rewritePayout(made.payload) }))
      const { executions } = yield* searchPart(town.payouts, part, made)
      assert.deepStrictEqual(executions.map((each) => each.txHash), [txHash])
    }))

  it.live("nothing is given out where half of them are away", () =>
    Effect.gen(function*() {
      const town = yield* shop([50n * ada], 2)
      const part = partOf(town, [10n * ada])
      town.apis[1]!.set(() => refusal(503, "Service Unavailable", "Try again."))
      const error = yield* Effect.flip(buildPart(town.payouts, part))
      const reason = "reason" in error ? error.reason : error.message
      assert.include(reason, "1 of 2 endpoints answered, and 2 must agree about a payout")
      town.apis[1]!.set("right")
      yield* buildPart(town.payouts, part)
    }))

  it.live("one that has forgotten the time of the part cannot say that it was not executed", () =>
    Effect.gen(function*() {
      const town = yield* shop([50n * ada])
      const part = partOf(town, [10n * ada])
      const made = yield* buildPart(town.payouts, part)
      town.ledger.wait(Number(readPayout(made.payload).ttl))
      town.ledger.mine(3)
      const oldest = `/blocks/${made.builtAt}`
      town.apis[0]!.set(({ path }, answer) => path === oldest ? refusal(404, "Not Found", "no") : answer())
      const error = yield* Effect.flip(searchPart(town.payouts, part, made))
      assert.include(error.reason, `api 1 of 1 does not have block ${made.builtAt} any more`)
    }))

  it.live("one that is behind is waited for, and one that does not answer of two leaves nothing to say", () =>
    Effect.gen(function*() {
      const town = yield* shop([50n * ada], 2)
      const part = partOf(town, [10n * ada])
      const made = yield* buildPart(town.payouts, part)
      mined(town, town.submit(made))
      town.apis[0]!.lag(() => 1)
      const behind = yield* searchPart(town.payouts, part, made)
      assert.deepStrictEqual([behind.executions, behind.isOver], [[], false])
      assert.strictEqual(behind.searchedTo, BigInt(town.ledger.tip.height) - 1n)
      town.apis[0]!.set("cut")
      assert.include((yield* Effect.flip(searchPart(town.payouts, part, made))).reason, "1 of 2 endpoints answered")
    }))
})

describe("a part that cannot be paid on Cardano", () => {
  it.live("is refused with what is missing, and what to do", () =>
    Effect.gen(function*() {
      const town = yield* shop([10n * ada])
      const error = yield* Effect.flip(buildPart(town.payouts, partOf(town, [9_900_000n])))
      assert.strictEqual("code" in error ? error.code : null, "INSUFFICIENT_FUNDS")
      const details = ("details" in error ? error.details : null) as Record<string, string>
      assert.strictEqual(details["available"], "10.000000")
      const missing = Math.round(Number(details["missing"]) * 1e6)
      assert.isBelow(missing, 1_800_000)
      town.ledger.pay([{ address: town.from, lovelace: BigInt(missing) }])
      town.ledger.mine()
      const made = yield* buildPart(town.payouts, partOf(town, [9_900_000n]))
      mined(town, town.submit(made))
      const empty = payoutPart(town.customer(5), partOf(town, [2n * ada]).lines)
      assert.strictEqual(yield* refusalCode(buildPart(town.payouts, empty)), "INSUFFICIENT_FUNDS")
    }))

  it.live("is refused for a line of less than an output must hold, which the ledger would not take", () =>
    Effect.gen(function*() {
      const town = yield* shop([50n * ada])
      const minimum = BigInt(town.payouts.minimumAmount(null))
      assert.strictEqual(minimum, 969_750n)
      const error = yield* Effect.flip(buildPart(town.payouts, partOf(town, [2n * ada, minimum - 1n])))
      assert.include(error.message, "Line 2 is less than an output of Cardano must hold: pay 0.969750 ADA or more")
      mined(town, town.submit(yield* buildPart(town.payouts, partOf(town, [minimum]))))
    }))

  it.live("is refused from an address of a script, and from a wallet of hundreds of small outputs", () =>
    Effect.gen(function*() {
      const town = yield* shop([])
      const script = "addr_test1wz3937ykmlcaqxkf4z7stxpsfwfn4re7ncy48yu8vutcpxgnj28k0"
      const ofScript = payoutPart(script, partOf(town, [2n * ada]).lines)
      assert.strictEqual(yield* refusalCode(buildPart(town.payouts, ofScript)), "WALLET_NOT_SPENDABLE")
      for (let times = 0; times < 5; times++) {
        town.ledger.pay(Array.from({ length: 100 }, () => ({ address: town.from, lovelace: ada })))
      }
      town.ledger.mine()
      assert.strictEqual(
        yield* refusalCode(buildPart(town.payouts, partOf(town, [490n * ada]))),
        "WALLET_NOT_SPENDABLE"
      )
    }))

  it.live("is not built by the word of a server whose parameters would burn money", () =>
    Effect.gen(function*() {
      const town = yield* shop([5_000n * ada])
      town.apis[0]!.set(({ path }, answer) => {
        const honest = answer()
        return path === "/epochs/latest/parameters"
          ? { ...honest, body: { ...honest.body as object, min_fee_b: 900_000_000 } }
          : honest
      })
      const error = yield* Effect.flip(buildPart(town.payouts, partOf(town, [2n * ada])))
      assert.include(error.message, "protocol parameters are far from what they have been")
    }))
})
