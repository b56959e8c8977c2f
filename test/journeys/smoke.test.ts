/**
 * Goal: a person who tries a network reads what its nodes show and when a payment is deep enough, and where something
 * fails, what to do. Method: the command itself, on a real EVM node; and its rules over events of any driver.
 */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { spawn } from "node:child_process"
import { devnetXpub } from "../../modules/chains/simulated.ts"
import type { LocatedTransfer } from "../../runtime/Chains.ts"
import { findPlugin } from "../../runtime/config/Plugins.ts"
import { baseUnits } from "../../schemas/Money.ts"
import { networks } from "../../schemas/Network.ts"
import { smokeNetworkOf } from "../smoke/Networks.ts"
import { depthOf, initialState, isDone, type SightingState, step } from "../smoke/Sightings.ts"
import { anvil } from "../support/Anvil.ts"

const program = new URL("../smoke/main.ts", import.meta.url).pathname

/** Runs the command; `onOutput` hears all that it has said whenever it says more. */
const smoke = (words: ReadonlyArray<string>, onOutput: (output: string) => void = () => {}) =>
  Effect.callback<{ readonly code: number | null; readonly output: string }>((resume) => {
    const child = spawn(process.execPath, [program, ...words], { stdio: ["ignore", "pipe", "pipe"] })
    let output = ""
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => {
        output += chunk.toString("utf8")
        onOutput(output)
      })
    }
    child.once("exit", (code) => resume(Effect.succeed({ code, output })))
    return Effect.sync(() => void child.kill("SIGKILL"))
  })

const quick = ["--options", JSON.stringify({ pollMillis: 25 })]

describe("npm run smoke", () => {
  it.live("tells of the head, the first addresses and a payment to one of them until it is deep enough", () =>
    Effect.gen(function*() {
      const node = yield* anvil("base", "devnet")
      const second = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
      let isPaid = false
      const { code, output } = yield* smoke(
        ["--network", "base", "--url", node.url, "--wallet", devnetXpub, "--minutes", "1", ...quick],
        (said) => {
          if (isPaid || !said.includes("Waiting")) return
          isPaid = true
          Effect.runFork(Effect.andThen(node.send({ to: second, value: 10n ** 16n }), node.mine(10)))
        }
      )
      for (
        const words of [
          "the nodes have proved that they are on it",
          "Head: ",
          second,
          "link for 0.01 ETH: ethereum:0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266@84532",
          "Seen: 0.010000000000000000 ETH in 0x",
          "deep enough for mainnet's policy `standard`",
          "says the same",
          "Done: the driver works with these nodes."
        ]
      ) assert.include(output, words)
      assert.strictEqual(code, 0)
    }).pipe(Effect.scoped))

  it.live("says what to do where a node is on another network, where none answers, and where nothing is paid", () =>
    Effect.gen(function*() {
      const node = yield* anvil("base", "devnet")
      const [wrong, silent, unpaid, unknown] = yield* Effect.all([
        smoke(["--network", "ethereum", "--url", `${node.url}/?key=secret-key`]),
        smoke(["--network", "base", "--url", "http://127.0.0.1:1/secret-key"]),
        smoke(["--network", "base", "--url", node.url, "--wallet", devnetXpub, "--minutes", "0.02", ...quick]),
        smoke(["--network", "nowhere"])
      ], { concurrency: 2 })
      assert.include(wrong.output, "is on chain 84532, but ethereum is chain 11155111 here")
      assert.include(silent.output, "What to do: no answer came: check the URL")
      assert.include(unpaid.output, "Not done: no payment was seen deep enough")
      assert.include(unknown.output, "npm run smoke -- --network <name>")
      assert.deepStrictEqual([wrong, silent, unpaid, unknown].map(({ code }) => code), [1, 1, 2, 1])
      for (const { output } of [wrong, silent]) assert.notInclude(output, "secret-key")
    }).pipe(Effect.scoped))

  it.effect("has options for every network that its driver takes", () =>
    Effect.gen(function*() {
      for (const network of networks) {
        const { options, use } = smokeNetworkOf(network)
        const plugin = yield* findPlugin("chains", use, ".")
        for (const key of [null, "key"]) {
          const choice = { environment: "devnet", urls: ["https://node.example"], key } as const
          yield* Schema.decodeUnknownEffect(plugin.options!)(options(choice), { onExcessProperty: "error" })
        }
      }
    }).pipe(Effect.provide(NodeServices.layer)))
})

describe("what a trial has seen", () => {
  const goal = { standardBlocks: 2, finalBlocks: 4 }
  const point = (height: number) => ({ height: BigInt(height), hash: `h${height}` })
  const transfer: LocatedTransfer = {
    txHash: "t",
    index: 0,
    kind: "direct",
    matchKey: "us",
    tokenAddress: null,
    amount: baseUnits(1n),
    from: null,
    at: { ...point(5), time: 50 }
  }
  const forward = (height: number, transfers: ReadonlyArray<LocatedTransfer> = []) =>
    ({ _tag: "Forward", point: point(height), time: height * 10, transfers, isCatchingUp: false }) as const
  const after = (...events: ReadonlyArray<Parameters<typeof step>[1]>): SightingState =>
    events.reduce((state, event) => step(state, event, goal, () => [])[0], initialState)
  const statusIn = (state: SightingState) => [...state.sightings.values()].map(({ status }) => status)

  it("is deep by blocks, final by the network's mark or by blocks, and done only then", () => {
    const seen = after(forward(5, [transfer]))
    assert.deepStrictEqual([statusIn(seen), isDone(seen), depthOf(seen, transfer)], [["seen"], false, 1])
    assert.isTrue(isDone(after(forward(5, [transfer]), forward(6))))
    assert.deepStrictEqual(statusIn(after(forward(5, [transfer]), forward(8))), ["final"])
    const marked = after(forward(5, [transfer]), { _tag: "Finality", finalized: 4n }, forward(8))
    assert.deepStrictEqual(statusIn(marked), ["deep"])
    assert.deepStrictEqual(statusIn(after(forward(5, [transfer]), { _tag: "Finality", finalized: 5n })), ["final"])
    assert.isFalse(isDone(initialState))
  })

  it("is gone where the chain dropped it or was reorganised, and counts again where it comes back", () => {
    const gone = after(forward(5, [transfer]), { _tag: "Gone", transfers: [transfer] }, forward(9))
    assert.deepStrictEqual([statusIn(gone), isDone(gone)], [["gone"], false])
    const undone = after(forward(5, [transfer]), { _tag: "Rollback", to: point(4) })
    assert.deepStrictEqual([statusIn(undone), undone.recent], [["gone"], []])
    const again = after(
      forward(5, [transfer]),
      { _tag: "Rollback", to: point(4) },
      forward(6, [{ ...transfer, at: { ...point(6), time: 60 } }]),
      forward(7)
    )
    assert.deepStrictEqual([statusIn(again), isDone(again)], [["deep"], true])
  })
})
