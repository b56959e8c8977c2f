/**
 * Goal: whatever a server of the API does, no payment is lost, made up or taken back by it, and the chain goes on.
 * Method: a chain whose ledger checks every transaction, behind Blockfrost's REST paths that go wrong as servers do;
 * what the driver tells is applied as the journal would, and resumed after each failure as the follower does.
 */
import { assert, describe, it } from "@effect/vitest"
import { concatBytes, hexToBytes } from "@noble/hashes/utils.js"
import { inspect } from "node:util"
import { Effect, Logger, Redacted, type Scope, Stream } from "effect"
import {
  blockfrost,
  type BlockfrostAnswer,
  type BlockfrostFault,
  projectId
} from "../../../support/cardano/Blockfrost.ts"
import { Ledger, type RigTransaction } from "../../../support/cardano/Ledger.ts"
import { driverOn, rigAccount } from "../../../support/cardano/Rig.ts"
import { ada, amounts, followUntil, has, pay, reaches, town, untold, watched } from "../../../support/cardano/Town.ts"
import { blockHistoryOf, watching } from "../../../support/Drivers.ts"

const promise = (title: string, work: Effect.Effect<void, unknown, Scope.Scope>, millis = 30_000) =>
  it.live(title, () => Effect.scoped(work), millis)

const notFound: BlockfrostAnswer = {
  status: 404,
  body: { status_code: 404, error: "Not Found", message: "The requested component has not been found." }
}

/** As a server whose database is some blocks behind. */
const behind = (ledger: Ledger, height: number): BlockfrostFault => ({ path }, answer) => {
  const isAbove = (name: string) =>
    ledger.blocks.slice(height + 1).some((block) => block.hash === name || `${block.height}` === name)
  const [, root, name = ""] = path.split("/")
  if (root !== "blocks") return answer()
  if (name === "latest" || isAbove(name)) return notFound
  const { body, status } = answer()
  const blocks = Array.isArray(body) ? body.filter((each) => !isAbove(each.hash)) : body
  return { status, body: blocks }
}

describe("a server that is behind (trap 9)", () => {
  promise(
    "takes nothing back: neither where it lacks our newest block, nor where only some of its machines do",
    Effect.gen(function*() {
      const it = yield* town()
      const { driver, ledger, server, start, watch } = it
      pay(it, 0, 5n * ada)
      ledger.mine(2)
      const before = yield* followUntil(driver, start, watch, reaches(ledger))
      const height = ledger.tip.height
      // Its whole database is two blocks behind; then only the machine that lists what follows is.
      for (
        const fault of [
          behind(ledger, height - 2),
          ({ path }, answer) => path.endsWith("/next") ? notFound : answer()
        ] as ReadonlyArray<BlockfrostFault>
      ) {
        server.set(fault)
        const story = yield* followUntil(driver, before, watch, ({ looks }) => looks >= before.looks + 10)
        assert.deepStrictEqual([story.rollbacks, story.points.length, amounts(story)], [
          0,
          before.points.length,
          [5n * ada]
        ])
      }
      server.set("right")
      pay(it, 1, 6n * ada)
      const after = yield* followUntil(driver, before, watch, has(2))
      assert.strictEqual(after.rollbacks, 0)
    })
  )

  promise(
    "is told from a rollback by the block at that height: two blocks leave, and their payment comes back under its key",
    Effect.gen(function*() {
      const it = yield* town()
      const { driver, ledger, start, watch } = it
      const transaction = pay(it, 0, 5n * ada)
      ledger.mine()
      const before = yield* followUntil(driver, start, watch, reaches(ledger))
      assert.deepStrictEqual(ledger.rollback(2).map(({ txHash }) => txHash), [transaction.txHash])
      ledger.mine(2)
      const gone = yield* followUntil(
        driver,
        before,
        watch,
        ({ rollbacks, points }) => rollbacks === 1 && points.length === 3
      )
      assert.lengthOf(amounts(gone), 0)
      ledger.resubmit(transaction)
      ledger.mine()
      const back = yield* followUntil(driver, gone, watch, has(1))
      assert.deepStrictEqual([...back.transfers.keys()], [...before.transfers.keys()])
      assert.deepStrictEqual(amounts(back), [5n * ada])
    })
  )
})

/** Messages of level error, kept. */
const keepErrors = (kept: Array<string>) =>
  Logger.layer([Logger.make(({ logLevel, message }) => {
    if (logLevel === "Error") kept.push(inspect(message))
  })])

/** The transaction as a later era may write it, in a form that is not known: a fifth part. */
const inUnknownForm = ({ cbor, ...rest }: RigTransaction): RigTransaction => ({
  ...rest,
  cbor: Buffer.from(concatBytes(Uint8Array.of(0x85), hexToBytes(cbor).subarray(1), Uint8Array.of(0))).toString("hex")
})

describe("a transaction that cannot be read (trap 2)", () => {
  promise(
    "is credited by the server's own reading, and holds up nothing beside it",
    Effect.gen(function*() {
      const it = yield* town()
      const { address, driver, ledger, start, watch } = it
      const known = ledger.pay([{ address: address(0), lovelace: 5n * ada }])
      ledger.insert(inUnknownForm({ ...known, txHash: "ab".repeat(32) }))
      ledger.mine()
      const story = yield* followUntil(driver, start, watch, has(2))
      const [read, byServer] = [...story.transfers.values()]
      assert.deepStrictEqual({ ...byServer, txHash: "" }, { ...read, txHash: "" })
    })
  )

  promise(
    "that nobody can read is logged as an error and passed, with the chain and every payment beside it going on",
    Effect.gen(function*() {
      const errors: Array<string> = []
      yield* Effect.gen(function*() {
        const it = yield* town()
        const { address, driver, ledger, server, start, watch } = it
        const lost = "cd".repeat(32)
        for (const fault of ["form", "absent"] as const) {
          server.set(({ path }, answer) =>
            !path.startsWith(`/txs/${lost}`)
              ? answer()
              : fault === "absent"
              ? notFound
              : { status: 200, body: { valid_contract: true, outputs: "?" } }
          )
          const known = ledger.pay([{ address: address(0), lovelace: 5n * ada }])
          ledger.insert(inUnknownForm({ ...known, txHash: lost }))
          ledger.mine(3)
          const story = yield* followUntil(driver, start, watch, reaches(ledger))
          assert.deepStrictEqual(story.failures, [])
          assert.include([...story.transfers.keys()], `${known.txHash}:0`)
          assert.isTrue(errors.some((each) => each.includes(lost) && each.includes("cannot be read")), errors.join())
          errors.length = 0
        }
      }).pipe(Effect.provide(keepErrors(errors)))
    })
  )
})

describe("a chain that stands still (trap 12)", () => {
  promise(
    "is frozen from the first look, by the age of its newest block, and well again when it moves",
    Effect.gen(function*() {
      const clock = { seconds: Math.floor(Date.now() / 1000) - 3_000 }
      const ledger = new Ledger(() => clock.seconds)
      const server = yield* blockfrost(ledger)
      const driver = yield* driverOn([server], { frozenSeconds: 900 })
      const halted = yield* followUntil(driver, untold, watching([]), ({ looks }) => looks >= 3)
      assert.deepStrictEqual(halted.conditions, ["frozen"])
      clock.seconds += 3_000
      ledger.mine()
      const moving = yield* followUntil(driver, halted, watching([]), ({ conditions }) => conditions.includes("ok"))
      assert.strictEqual(moving.points[0]!.height, BigInt(ledger.tip.height))
    })
  )
})

describe("what is no payment (trap 14)", () => {
  promise(
    "counts neither a failed script's outputs, nor change to the address it was spent from, but collateral that came back",
    Effect.gen(function*() {
      const it = yield* town()
      const { address, driver, ledger, start, watch } = it
      const account = yield* rigAccount
      pay(it, 0, 50n * ada)
      ledger.pay([{ address: ledger.address, lovelace: 10n * ada }], {
        from: { address: address(0), signer: account.signer(0) }
      })
      ledger.mine()
      ledger.insertFailed(address(1), 7n * ada)
      ledger.insertFailed(address(2), 8n * ada, 3n * ada)
      ledger.mine()
      const story = yield* followUntil(driver, start, watch, reaches(ledger))
      assert.deepStrictEqual(
        [...story.transfers.values()].map(({ amount, from, matchKey }) => [BigInt(amount), from, matchKey]),
        [[50n * ada, ledger.address, address(0)], [3n * ada, ledger.address, address(2)]]
      )
    })
  )
})

describe("a server that goes wrong", () => {
  promise(
    "on another network stops the start, and no message holds its URL or key",
    Effect.gen(function*() {
      const server = yield* blockfrost(new Ledger())
      const refusal = yield* Effect.flip(driverOn([server], { networkMagic: 2 }))
      assert.include(refusal.message, "api 1 of 1 is on the network with the magic number 1, but devnet is 2 here")
      server.set(({ path }, answer) =>
        path === "/genesis" ? answer() : { status: 402, body: { message: "Project Over Limit" } }
      )
      const driver = yield* driverOn([server])
      const failure = yield* Effect.flip(Stream.runHead(driver.follow([], watching([]))))
      assert.include(failure.reason, "402: Project Over Limit")
      for (const text of [refusal.message, failure.message]) {
        assert.notInclude(text, projectId)
        assert.notInclude(text, "127.0.0.1")
      }
    })
  )

  promise(
    "that says 429 is left alone as long as it asks, and nothing is skipped",
    Effect.gen(function*() {
      const it = yield* town()
      const { driver, server, start, watch } = it
      for (let block = 0; block < 30; block++) pay(it, block % watched, BigInt(block + 2) * ada)
      let calls = 0
      let refused = 0
      const times: Array<number> = []
      server.set((_, answer) => {
        calls += 1
        times.push(performance.now())
        if (calls % 20 !== 0) return answer()
        refused += 1
        return { status: 429, body: { status_code: 429, error: "Project Over Limit" }, headers: { "retry-after": "1" } }
      })
      const story = yield* followUntil(driver, start, watch, has(30))
      assert.isAbove(refused, 1)
      assert.lengthOf(amounts(story), 30)
      assert.isTrue(times.some((time, place) => place > 0 && time - times[place - 1]! > 900), "it was left alone")
    })
  )

  promise(
    "that will not show long pages is asked for shorter ones, and nothing is skipped",
    Effect.gen(function*() {
      const it = yield* town()
      const { address, driver, ledger, server, start, watch } = it
      for (let payment = 0; payment < 7; payment++) ledger.pay([{ address: address(0), lovelace: 5n * ada }])
      ledger.mine(9)
      server.set(({ query }, answer) =>
        Number(query.get("count") ?? 1) > 2
          ? { status: 400, body: { status_code: 400, error: "Bad Request", message: "limit exceeded" } }
          : answer()
      )
      const story = yield* followUntil(driver, start, watch, reaches(ledger))
      assert.deepStrictEqual([story.transfers.size, story.failures.length], [7, 0])
    })
  )

  promise(
    "that cuts answers, shows some of a block's transactions or one twice, or too much, is asked again",
    Effect.gen(function*() {
      const it = yield* town()
      const { address, driver, ledger, server, start, watch } = it
      for (let payment = 0; payment < 4; payment++) ledger.pay([{ address: address(0), lovelace: 5n * ada }])
      ledger.mine()
      const change = (edit: (all: ReadonlyArray<unknown>) => unknown): BlockfrostFault => ({ path }, answer) => {
        const { body, status } = answer()
        return path.endsWith("/cbor") ? { status, body: edit(body as ReadonlyArray<unknown>) } : { status, body }
      }
      const faults: ReadonlyArray<readonly [BlockfrostFault, string]> = [
        ["cut", "api 1 of 1"],
        [change((all) => all.slice(1)), "shows 3 of 4 transactions of block 1"],
        [change((all) => [all[0], ...all.slice(0, 3)]), "shows 3 of 4 transactions of block 1"],
        [change(() => `[${" ".repeat(65 * 1024 * 1024)}]`), "more than 67108864 bytes"],
        [change(() => "<html>"), "not JSON"],
        [change(() => ({ ok: true })), "api 1 of 1, GET /blocks"],
        [() => ({ status: 500, body: {} }), "HTTP status 500"]
      ]
      for (const [fault, reason] of faults) {
        server.set(fault)
        const story = yield* followUntil(driver, start, watch, ({ failures }) => failures.length > 0)
        assert.lengthOf(amounts(story), 0)
        assert.include(story.failures[0], reason)
      }
      server.set("right")
      assert.lengthOf(amounts(yield* followUntil(driver, start, watch, has(4))), 4)
    })
  )

  promise(
    "that gives no answer leaves the look to the next one",
    Effect.gen(function*() {
      const it = yield* town()
      const { ledger, server, start, watch } = it
      const second = yield* blockfrost(ledger)
      const driver = yield* driverOn([server, second])
      server.set("held")
      pay(it, 0, 5n * ada)
      const story = yield* followUntil(driver, start, watch, has(1))
      assert.deepStrictEqual(story.failures, [])
      const { calls } = second
      assert.isAbove(calls()["/blocks/:name/txs/cbor"] ?? 0, 0)
    })
  )
})

describe("servers that differ", () => {
  promise(
    "one that hides a payment is found out before it counts, and one that makes one up is not believed alone",
    Effect.gen(function*() {
      const it = yield* town()
      const { ledger, server, start, watch } = it
      const second = yield* blockfrost(ledger)
      const driver = yield* driverOn([server, second], {}, { absenceMillis: 500 })
      const transaction = pay(it, 0, 5n * ada)
      const story = yield* followUntil(driver, start, watch, has(1))
      const point = story.points[0]!
      const readings = Effect.map(
        driver.corroborate!(point, watch, true, [transaction.txHash]),
        (answer) => "readings" in answer ? [answer._tag, ...answer.readings.map((each) => each.length)] : [answer._tag]
      )
      assert.deepStrictEqual(yield* readings, ["Agreed", 1, 1])
      // Hides the payment, and says that the block is empty.
      second.set(({ path }, answer) => {
        const { body, status } = answer()
        return path.endsWith("/cbor")
          ? { status, body: [] }
          : { status, body: Array.isArray(body) || path === "/genesis" ? body : { ...(body as object), tx_count: 0 } }
      })
      assert.deepStrictEqual(yield* readings, ["Agreed", 1, 0])
      // Has another block there.
      const fork = new Ledger()
      fork.mine(ledger.tip.height)
      second.lead(fork)
      second.set("right")
      assert.deepStrictEqual(yield* readings, ["Disagreed"])
      second.set("cut")
      assert.deepStrictEqual(yield* readings, ["Disagreed"])
      yield* Effect.sleep(600)
      assert.deepStrictEqual(yield* readings, ["Alone", 1])
    })
  )

  promise(
    "one on another branch takes nothing back while two others stay, and is followed when they go too",
    Effect.gen(function*() {
      const it = yield* town()
      const { ledger, server, start, watch } = it
      const others = [yield* blockfrost(ledger), yield* blockfrost(ledger)]
      const driver = yield* driverOn([server, ...others])
      pay(it, 0, 5n * ada)
      const before = yield* followUntil(driver, start, watch, has(1))
      const fork = new Ledger()
      fork.mine(ledger.tip.height + 3)
      server.lead(fork)
      pay(it, 1, 6n * ada)
      const story = yield* followUntil(driver, before, watch, has(2))
      assert.strictEqual(story.rollbacks, 0)
      const undone = ledger.rollback(1)
      ledger.mine(2)
      server.lead(ledger)
      const after = yield* followUntil(driver, story, watch, ({ rollbacks }) => rollbacks === 1)
      assert.deepStrictEqual([undone.length, amounts(after)], [1, [5n * ada]])
    })
  )

  promise(
    "a block that none of them has any more is told from one that they cannot show now",
    Effect.gen(function*() {
      const it = yield* town()
      const { driver, ledger, server, watch } = it
      ledger.mine(9)
      const anchor = { height: 8n, hash: ledger.blocks[8]!.hash }
      const conditionOf = Effect.map(
        Effect.result(blockHistoryOf(driver).readBlock(3n, anchor, watch)),
        (read) => read._tag === "Success" ? "read" : read.failure.condition ?? "unknown"
      )
      assert.strictEqual(yield* conditionOf, "read")
      server.set(({ path }, answer) => path === "/blocks/3" ? notFound : answer())
      assert.strictEqual(yield* conditionOf, "block_pruned")
      server.set("cut")
      assert.strictEqual(yield* conditionOf, "unknown")
      server.set(behind(ledger, 7))
      assert.strictEqual(yield* conditionOf, "unknown")
    })
  )
})

describe("options that cannot work", () => {
  promise(
    "stop the start with a sentence that repeats no key",
    Effect.gen(function*() {
      const server = yield* blockfrost(new Ledger())
      const secret = "ab".repeat(32)
      const refusals = yield* Effect.forEach([
        { xpub: Redacted.make(secret) },
        { environment: "mainnet" as const },
        { environment: "mainnet" as const, networkMagic: 1, startIndex: 0 },
        { agreementAboveUsd: 5 }
      ], (more) => Effect.map(Effect.flip(driverOn([server], more)), ({ message }) => message))
      for (const [place, word] of ["PRIVATE", "startIndex", "networkMagic", "two endpoints"].entries()) {
        assert.include(refusals[place], word)
        assert.notInclude(refusals[place], secret)
      }
    })
  )
})
