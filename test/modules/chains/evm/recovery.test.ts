/**
 * Goal: what the recovery page sends is what the Collector reads, it looks far enough and not for ever, and it says
 * what is wrong with a document.
 * Method: its pure parts; viem for the form of the call. The page itself is tested in a browser
 * (`test/browser/recovery.test.ts`).
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { readFileSync } from "node:fs"
import { toHex } from "viem"
import { collectData, nativeCoin } from "../../../../modules/chains/evm/CollectCall.ts"
import { collector, forwarderHash, keylessDeployer } from "../../../../modules/chains/evm/Contracts.ts"
import { recoveryGap } from "../../../../modules/chains/evm/Forwarder.ts"
import { buildRecoveryPage } from "../../../../modules/chains/evm/recovery/build.ts"
import { readRecoveryDocument, readTokens } from "../../../../modules/chains/evm/recovery/RecoveryDocument.ts"
import { afterStep, findHolding, startScan, stepSize } from "../../../../modules/chains/evm/recovery/Scan.ts"
import { callData } from "../../../support/ContractRig.ts"

const small = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))

const payee = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
const seed = `0x${"5e".repeat(32)}`

const fields = {
  collector: collector.address,
  deployer: keylessDeployer,
  payee,
  seed,
  next_index: 12,
  init_code_hash: forwarderHash,
  is_current: true
}

describe("the data of a collect", () => {
  it.prop("is what viem makes of any tokens and salts", [small(5), small(20)], ([tokenCount, saltCount]) => {
    const tokens = Array.from({ length: tokenCount }, (_, place) => toHex(place + 1, { size: 20 }))
    const salts = Array.from({ length: saltCount }, (_, place) => toHex(place * 7 + 1, { size: 32 }))
    const all = [nativeCoin, ...tokens]
    assert.strictEqual(collectData(payee, all, salts), callData("Collector", "collect", [payee, all, salts]))
  })
})

describe("a recovery document", () => {
  it("is read as the service gave it, with more fields than are needed", () => {
    const read = readRecoveryDocument(` ${JSON.stringify(fields, null, 2)}\n`)
    assert.deepStrictEqual(read, { payee, seed, nextIndex: 12 })
  })

  it("that cannot be used is answered with what is wrong", () => {
    const cases = [
      ["seed", "This is no recovery document"],
      ["[]", "This is no recovery document"],
      [JSON.stringify({ ...fields, payee: payee.replace("f39F", "F39F") }), "payee is no address"],
      [JSON.stringify({ ...fields, seed: "0x12" }), "seed must be 0x and 64 hexadecimal digits"],
      [JSON.stringify({ ...fields, next_index: -1 }), "next_index must be a whole number"],
      [JSON.stringify({ ...fields, collector: payee }), "use the page of the version that made the document"],
      [JSON.stringify({ ...fields, init_code_hash: seed }), "use the page of the version that made the document"]
    ] as const
    for (const [text, expected] of cases) assert.include(readRecoveryDocument(text), expected)
  })

  it("stands beside tokens, one a line, each looked for once", () => {
    assert.deepStrictEqual(readTokens(`\n${payee}\n${payee.toLowerCase()} ${collector.address},`), [
      payee,
      collector.address
    ])
    assert.include(readTokens("0x12"), "0x12 is no address of a token")
  })
})

describe("the scan", () => {
  it.prop(
    "finds every used address of which no gap reaches 1,000, and ends",
    [small(500), Schema.Array(small(recoveryGap)).check(Schema.isMaxLength(6))],
    ([nextIndex, gaps]) => {
      // Each used address lies at most 1,000 behind the one before it.
      const used: Array<number> = []
      for (const gap of gaps) used.push((used.at(-1) ?? nextIndex - 1) + Math.max(1, gap))
      let state = startScan(nextIndex)
      const seen: Array<number> = []
      for (let size = stepSize(state); size > 0; size = stepSize(state)) {
        const here = used.filter((index) => index >= state.index && index < state.index + size)
        seen.push(...here)
        state = afterStep(state, here.at(-1) ?? null)
      }
      assert.deepStrictEqual(seen, used)
      assert.strictEqual(state.index, Math.max(nextIndex, (used.at(-1) ?? -1) + 1) + recoveryGap)
    }
  )

  it.effect.prop(
    "finds exactly the addresses that hold something",
    [Schema.Array(small(2)).check(Schema.isMinLength(1), Schema.isMaxLength(64))],
    ([held]) =>
      Effect.gen(function*() {
        const entries = held.map((count, index) => ({ count, index }))
        const found = yield* Effect.promise(() =>
          findHolding(entries, 2, (some) => Promise.resolve(some.reduce((sum, { count }) => sum + count, 0)))
        )
        assert.deepStrictEqual(found, entries.filter(({ count }) => count > 0))
      })
  )
})

it("the page in the repository is made of these sources", () => {
  const path = new URL("../../../../modules/docs/recovery.html", import.meta.url)
  assert.strictEqual(readFileSync(path, "utf8"), buildRecoveryPage(), "npm run recovery")
})
