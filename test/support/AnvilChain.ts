/** A real EVM node as a rig of the conformance suite. */
import { NodeHttpClient } from "@effect/platform-node"
import { Effect, Layer, Redacted, type Scope } from "effect"
import { makeDriver } from "../../modules/chains/evm.ts"
import { devnetXpub } from "../../modules/chains/simulated.ts"
import { disturbancesOf, everySecond } from "../conformance/chains/Disturbances.ts"
import type { TestedChain } from "../conformance/chains.ts"
import { anvil, usdc } from "./Anvil.ts"
import { evmTarget } from "./Drivers.ts"
import { behind, type NodeFault, nodeProxy, withLogs } from "./NodeProxy.ts"
import { until } from "./Service.ts"

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
  const proxy = yield* nodeProxy(node.url)
  const openDriver = Effect.orDie(driverOn(proxy, { startIndex }))
  const driver = yield* openDriver
  let last = ""
  const remember = (txHash: string) =>
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
      Effect.flatMap(token === null ? node.send({ to, value: amount }) : node.token("mint", [to, amount]), remember),
    payMany: (to, amount) =>
      Effect.gen(function*() {
        yield* node.token("mint", [node.accounts[0]!, 1_000n])
        return { txHash: yield* node.token("transferMany", [to.map(({ matchKey }) => matchKey), amount, 2n]) }
      }),
    mine: node.mine,
    rollback: {
      drop: node.reorg,
      // For a moment after a reorganisation the node may know the sender's nonce as it was before it.
      reinclude: (depth) =>
        Effect.andThen(
          node.reorg(depth),
          until(
            "the node takes the transaction again",
            Effect.suspend(() => Effect.exit(node.rpc("eth_sendRawTransaction", last))),
            ({ _tag }) => _tag === "Success"
          )
        )
    },
    dropTransaction: null,
    disturbances: disturbancesOf<NodeFault>((fault) => proxy.set(fault ?? "through"), faults),
    shared: null,
    payWithFee: null,
    payInVain: ({ matchKey: to }, amount) =>
      Effect.as(node.token("transferFrom", [`0x${"b".repeat(40)}`, to, amount], { gas: 200_000n }), { txHash: "" })
  }
})
