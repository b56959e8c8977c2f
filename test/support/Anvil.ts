/** A real EVM node per test: anvil as a child process, with a token whose code stands at the address we want. */
import { Effect, type Scope } from "effect"
import { spawn } from "node:child_process"
import { createRequire } from "node:module"
import { type Abi, encodeFunctionData, type Hex } from "viem"
import { type Environment, evmChainIds, type Network } from "../../schemas/Network.ts"
import token from "./MockToken.json" with { type: "json" }
import { freePort } from "./Ports.ts"
import { until } from "./Service.ts"

/** Without it the node estimates; where what came before is not mined yet, it may take a whole block's gas instead. */
const enoughGas = 1_000_000n

/** Circle's test USDC on Base Sepolia: the catalogue's devnet address, where {@link Anvil} puts its own token. */
export const usdc = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"

/**
 * Where every OP chain has its wrapped ether, and code that answers 18 to any call: enough of a token to be attested.
 */
const weth = "0x4200000000000000000000000000000000000006"
const eighteen = "0x601260005260206000f3"

export interface Anvil {
  readonly url: string
  readonly chainId: number
  /** Unlocked accounts with 10,000 coins each. */
  readonly accounts: ReadonlyArray<string>
  /** A raw JSON-RPC call; dies on an error. */
  readonly rpc: (method: string, ...params: ReadonlyArray<unknown>) => Effect.Effect<any>
  /** Sends coins or a call; mined when it returns, unless automine is off. Answers the hash. */
  readonly send: (transaction: {
    readonly from?: string
    readonly to: string
    readonly value?: bigint
    readonly data?: string
    readonly gas?: bigint
  }) => Effect.Effect<string>
  /** Calls a function of the mock token (or of `at`). */
  readonly token: (functionName: string, args: ReadonlyArray<unknown>, more?: {
    readonly at?: string
    readonly from?: string
    readonly value?: bigint
    readonly gas?: bigint
  }) => Effect.Effect<string>
  readonly setCode: (address: string) => Effect.Effect<void>
  readonly mine: (blocks: number) => Effect.Effect<void>
  /** Replaces the newest `depth` blocks; `transactions` are [raw call, block offset] pairs to include again. */
  readonly reorg: (depth: number, transactions?: ReadonlyArray<readonly [object, number]>) => Effect.Effect<void>
  /** Makes the chain `blocks` shorter. */
  readonly rollback: (blocks: number) => Effect.Effect<void>
}

const binary = Effect.sync(() => {
  const platform = `${process.platform}-${process.arch === "x64" ? "amd64" : process.arch}`
  return createRequire(import.meta.url).resolve(`@foundry-rs/anvil-${platform}/bin/anvil`)
})

const call = (url: string, method: string, params: ReadonlyArray<unknown>) =>
  Effect.promise(async () => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })
    const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body })
    const answer = await response.json() as { result?: unknown; error?: { message: string } }
    if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`)
    return answer.result as any
  })

const quantity = (value: bigint): string => `0x${value.toString(16)}`

/**
 * Starts a node for `network`, which says that it is the one of `environment`, or that it has another `chainId`; killed
 * when the scope closes. With `forkOf`, the URL of another, it has that one's blocks so far and goes its own way from
 * there. `more` are arguments of its command line.
 */
export const anvil = (
  network: Network = "base",
  environment: Environment = "devnet",
  forkOf?: string,
  chainId = evmChainIds[environment][network]!,
  more: ReadonlyArray<string> = []
): Effect.Effect<Anvil, never, Scope.Scope> =>
  Effect.gen(function*() {
    const port = yield* freePort
    const path = yield* binary
    yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(path, [
          ...["--port", String(port), "--chain-id", String(chainId), "--silent", "--accounts", "4"],
          ...(forkOf === undefined ? [] : ["--fork-url", forkOf, "--no-rate-limit"]),
          ...more
        ], { stdio: "ignore" })
      ),
      (child) =>
        Effect.callback<void>((resume) => {
          child.once("exit", () => resume(Effect.void))
          child.kill("SIGKILL")
        })
    )
    const url = `http://127.0.0.1:${port}`
    const rpc: Anvil["rpc"] = (method, ...params) => call(url, method, params)
    yield* until("the node answers", Effect.exit(rpc("eth_chainId")), ({ _tag }) => _tag === "Success")
    const accounts: ReadonlyArray<string> = yield* rpc("eth_accounts")
    const setCode = (address: string) => Effect.asVoid(rpc("anvil_setCode", address, token.deployedBytecode))
    yield* setCode(usdc)
    yield* rpc("anvil_setCode", weth, eighteen)

    const send: Anvil["send"] = Effect.fnUntraced(function*({ data, from = accounts[0]!, gas = enoughGas, to, value }) {
      const hash: string = yield* rpc("eth_sendTransaction", {
        from,
        to,
        ...(value === undefined ? {} : { value: quantity(value) }),
        ...(data === undefined ? {} : { data }),
        gas: quantity(gas)
      })
      // The node answers before its miner has had its turn.
      if (yield* rpc("anvil_getAutomine")) {
        yield* until("the transaction is mined", rpc("eth_getTransactionReceipt", hash), (receipt) => receipt !== null)
      }
      return hash
    })

    return {
      url,
      chainId,
      accounts,
      rpc,
      send,
      token: (functionName, args, { at = usdc, ...more } = {}) =>
        send({ to: at, data: encodeFunctionData({ abi: token.abi as Abi, functionName, args }) as Hex, ...more }),
      setCode,
      mine: (blocks) => Effect.asVoid(rpc("anvil_mine", quantity(BigInt(blocks)))),
      reorg: (depth, transactions = []) => Effect.asVoid(rpc("anvil_reorg", depth, transactions)),
      rollback: (blocks) => Effect.asVoid(rpc("anvil_rollback", blocks))
    }
  })
