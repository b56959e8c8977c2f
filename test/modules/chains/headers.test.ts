/**
 * Goal: of endpoints that show one block differently, those are believed whose answers fit the block's own hash.
 * Method: headers of a real node and of Ethereum's first block, with each field changed; readings whose filters of logs
 * and hashes fit or do not.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { FullBlock } from "../../../modules/chains/evm/Blocks.ts"
import { completeReadings, mergeTransfers } from "../../../modules/chains/evm/Corroboration.ts"
import { hashedFields, isProvenHeader, type RawHeader } from "../../../modules/chains/evm/HeaderHash.ts"
import { bloomOf } from "../../../modules/chains/evm/LogsBloom.ts"
import { anvil } from "../../support/Anvil.ts"

const zeros = (bytes: number) => `0x${"00".repeat(bytes)}`

/** Ethereum's block 0 (Yellow Paper, appendix I): from before every fork that added a field. */
const genesis: RawHeader = {
  hash: "0xd4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3",
  parentHash: zeros(32),
  sha3Uncles: "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347",
  miner: zeros(20),
  stateRoot: "0xd7f8974fb5ac78d9ac099b9ad5018bedc2ce0a72dad1827a1709da30580f0544",
  transactionsRoot: "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421",
  receiptsRoot: "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421",
  logsBloom: zeros(256),
  difficulty: "0x400000000",
  number: "0x0",
  gasLimit: "0x1388",
  gasUsed: "0x0",
  timestamp: "0x0",
  extraData: "0x11bbe8db4e347b4e8c937c1c8370e4b5ed33adb3db69cbdb7a38e1e50b1b82fa",
  mixHash: zeros(32),
  nonce: "0x0000000000000042"
}

const turned = (digits: string) => digits.replace(/.$/, (last) => last === "1" ? "2" : "1")

describe("a header's hash", () => {
  it.live("proves every field of old and new headers, and none that was changed", () =>
    Effect.gen(function*() {
      const node = yield* anvil()
      yield* node.mine(1)
      const newest: RawHeader = yield* node.rpc("eth_getBlockByNumber", "latest", false)
      for (const header of [genesis, newest]) {
        assert.isTrue(isProvenHeader(header))
        assert.isTrue(isProvenHeader({ ...header, size: "0x1", totalDifficulty: "0x2" }))
        for (const name of hashedFields.filter((each) => each in header)) {
          assert.isFalse(isProvenHeader({ ...header, [name]: turned(header[name] as string) }), name)
        }
        assert.isFalse(isProvenHeader({ ...header, hash: turned(header["hash"] as string) }))
      }
      // A node may name a field that its chain does not hash yet.
      assert.isTrue(isProvenHeader({ ...genesis, baseFeePerGas: "0x7" }))
    }).pipe(Effect.scoped))
})

describe("readings of one block", () => {
  const log = { address: `0x${"11".repeat(20)}`, topics: [`0x${"22".repeat(32)}`], data: "0x", logIndex: "0x0" }
  /** `isForged`: the header says there are no logs, and does not hash to the block's hash. */
  const reading = (name: string, hasLog: boolean, isForged = false, hasBloom = true) => {
    const logs = hasLog ? [log] : []
    const logsBloom = !hasBloom ? null : isForged ? bloomOf([]) : bloomOf([log])
    const block: FullBlock = {
      height: 1n,
      hash: "0x1",
      parentHash: "0x0",
      time: 1,
      transactions: [],
      logsBloom,
      isProven: () => !isForged,
      receipts: [{ transactionHash: "0x1", transactionIndex: "0x0", blockHash: "0x1", logs }]
    }
    return { name, place: 0, block }
  }
  const kept = (...readings: ReadonlyArray<ReturnType<typeof reading>>) =>
    completeReadings(readings).map(({ name }) => name)

  it("without the logs that the block's own header names are left out", () => {
    assert.deepStrictEqual(kept(reading("whole", true), reading("hiding", false)), ["whole"])
    assert.deepStrictEqual(kept(reading("whole", true), reading("without header", true, false, false)), ["whole"])
    assert.deepStrictEqual(kept(reading("one", true), reading("other", true)), ["one", "other"])
  })

  it("whose header is forged to fit are left out where another one's is proven", () => {
    assert.deepStrictEqual(kept(reading("forged", false, true), reading("whole", true)), ["whole"])
    assert.deepStrictEqual(kept(reading("forged", false, true)), ["forged"])
  })

  it("are all kept where no header tells anything", () => {
    assert.deepStrictEqual(kept(reading("one", false), reading("other", false)), ["one", "other"])
    assert.deepStrictEqual(kept(reading("one", true, false, false)), ["one"])
    assert.deepStrictEqual(kept(), [])
  })
})

describe("what several endpoints find", () => {
  const found = (txHash: string, amount = 5n) => ({
    point: { height: 1n, hash: "0x1" },
    txHash,
    matchKey: "ours",
    tokenAddress: "token",
    amount
  })

  it("is all that any of them found, and of transfers that look alike as many as the most", () => {
    const both = mergeTransfers([[found("a"), found("a"), found("b")], [found("a"), found("c"), found("b", 6n)], []])
    const counts = new Map([...Map.groupBy(both, ({ amount, txHash }) => `${txHash} ${amount}`)]
      .map(([key, all]) => [key, all.length]))
    assert.deepStrictEqual(counts, new Map([["a 5", 2], ["b 5", 1], ["c 5", 1], ["b 6", 1]]))
  })
})
