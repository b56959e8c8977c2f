/** A real EVM node as a rig of the conformance suite. */
import { NodeHttpClient } from "@effect/platform-node"
import { Effect, Layer, Redacted, type Scope } from "effect"
import { makeDriver } from "../../modules/chains/evm.ts"
import { devnetXpub } from "../../modules/chains/simulated.ts"
import { disturbancesOf, everySecond } from "../conformance/chains/Disturbances.ts"
import type { MinedTransaction, TestedChain } from "../conformance/chains.ts"
import { anvil, usdc } from "./Anvil.ts"
import { evmTarget } from "./Drivers.ts"
import { behind, type NodeFault, nodeProxy, withLogs } from "./NodeProxy.ts"

/** Milliseconds between looks for a new block. */
export const pollMillis = 20

/** The client lives as long as the test: a layer provided to `makeDriver` alone would close under the driver. */
export const driverOn = (
  node: { readonly url: string },
  more: { readonly chainId?: number; readonly startIndex?: number; readonly urls?: ReadonlyArray<string> } = {}
) =>
  Effect.flatMap(Layer.build(NodeHttpClient.layerUndici), (client) =>
    Effect.provide(
      makeDriver({
        network: "base",
        environment: "devnet",
        rpc: [...(more.urls ?? []), node.url].map((url) => Redacted.make(url)) as never,
        xpub: Redacted.make(devnetXpub),
        pollMillis,
        ...(more.chainId === undefined ? {} : { chainId: more.chainId }),
        ...(more.startIndex === undefined ? {} : { startIndex: more.startIndex })
      }),
      client
    ))

/** The first addresses of the wallet are the node's own accounts, and what those send to themselves pays nobody. */
const startIndex = 10

/** Blocks that a node is behind. */
const lagBlocks = 2

const faults = {
  lag: () => behind(() => lagBlocks),
  turns: () => {
    const isSecond = everySecond()
    return behind(() => isSecond() ? lagBlocks : 0)
  },
  duplicates: () => withLogs((logs) => logs.flatMap((log) => [log, log])),
  holes: () => withLogs(() => []),
  cut: () => "cut",
  errors: () => {
    const isSecond = everySecond()
    return async (call, ask) => {
      if (isSecond()) throw new Error("limit exceeded")
      return ask(call)
    }
  }
} satisfies Record<string, () => NodeFault>

export const anvilChain: Effect.Effect<TestedChain, never, Scope.Scope> = Effect.gen(function*() {
  const node = yield* anvil("base")
  // A node that mines by itself may do so a moment after it has answered, on top of what the rig did meanwhile.
  yield* node.rpc("evm_setAutomine", false)
  const proxy = yield* nodeProxy(node.url)
  const openDriver = Effect.orDie(driverOn(proxy, { startIndex }))
  const driver = yield* openDriver
  let last = ""
  /** Sends, mines a block, and insists that it holds the transaction. */
  const mined = (send: Effect.Effect<string>) =>
    Effect.gen(function*() {
      const txHash = yield* send
      yield* node.mine(1)
      const [head, receipt] = yield* Effect.all([
        node.rpc("eth_blockNumber"),
        node.rpc("eth_getTransactionReceipt", txHash)
      ])
      if (receipt?.blockNumber !== head) return yield* Effect.die(new Error(`${txHash} is not in the newest block`))
      return { txHash }
    })
  const remember = ({ txHash }: MinedTransaction) =>
    Effect.map(node.rpc("eth_getRawTransactionByHash", txHash), (raw) => {
      last = raw
      return { txHash }
    })
  return {
    driver,
    openDriver,
    target: evmTarget,
    unit: 1n,
    token: usdc,
    pay: ({ matchKey: to }, token, amount) =>
      Effect.flatMap(
        mined(token === null ? node.send({ to, value: amount }) : node.token("mint", [to, amount])),
        remember
      ),
    payMany: (to, amount) =>
      Effect.gen(function*() {
        yield* mined(node.token("mint", [node.accounts[0]!, 1_000n]))
        return yield* mined(node.token("transferMany", [to.map(({ matchKey }) => matchKey), amount, 2n]))
      }),
    mine: node.mine,
    rollback: {
      drop: node.reorg,
      reinclude: (depth) =>
        Effect.andThen(
          node.reorg(depth),
          Effect.asVoid(mined(Effect.suspend(() => node.rpc("eth_sendRawTransaction", last))))
        )
    },
    dropTransaction: null,
    disturbances: disturbancesOf<NodeFault>((fault) => proxy.set(fault ?? "through"), faults),
    shared: null,
    payWithFee: null,
    payInVain: ({ matchKey: to }, amount) =>
      Effect.as(
        mined(node.token("transferFrom", [`0x${"b".repeat(40)}`, to, amount], { gas: 200_000n })),
        { txHash: "" }
      )
  }
})
