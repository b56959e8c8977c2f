/** The Collector, the Payer and what they meet, on a real node. */
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { type Abi, decodeErrorResult, decodeFunctionResult, encodeDeployData, encodeFunctionData, type Hex } from "viem"
import { keylessDeployer } from "../../modules/chains/evm/Contracts.ts"
import collectorBuild from "../../modules/chains/evm/contracts/Collector.json" with { type: "json" }
import payerBuild from "../../modules/chains/evm/contracts/Payer.json" with { type: "json" }
import { anvil } from "./Anvil.ts"

export interface CompiledContract {
  readonly abi: Abi
  /** The code that creates it, without arguments. */
  readonly bytecode: Hex
}

const compiled: {
  /** SHA-256 of each source, by file. */
  readonly sources: Readonly<Record<string, string>>
  readonly contracts: Readonly<Record<string, CompiledContract>>
} = JSON.parse(readFileSync(new URL("../fixtures/contracts/compiled.json", import.meta.url), "utf8"))

export const compiledSources = compiled.sources

/** The frozen builds, and what `npm run contracts` made of test/fixtures/contracts/. */
export const builds: Readonly<Record<string, CompiledContract>> = {
  ...compiled.contracts,
  Collector: collectorBuild as CompiledContract,
  Payer: payerBuild as CompiledContract
}

/** In place of a token's address: the native coin. */
export const nativeCoin = "0x0000000000000000000000000000000000000000"

/** Enough for anything but what burns it; the limit of a block is twice as much. */
const enoughGas = 30_000_000n

export interface Log {
  readonly address: Hex
  readonly topics: ReadonlyArray<Hex>
  readonly data: Hex
}

export interface Receipt {
  readonly isDone: boolean
  readonly gasUsed: number
  readonly logs: ReadonlyArray<Log>
  readonly contractAddress: Hex | null
}

export interface Transaction {
  readonly from?: string
  readonly to?: string
  readonly value?: bigint
  readonly data?: string
  readonly gas?: bigint
}

interface Answer {
  readonly result?: any
  readonly error?: { readonly message: string; readonly data?: Hex }
}

const hex = (value: bigint): Hex => `0x${value.toString(16)}`

/** What is sent to call `functionName`. */
export const callData = (contract: string, functionName: string, args: ReadonlyArray<unknown>): Hex =>
  encodeFunctionData({ abi: builds[contract]!.abi, functionName, args })

/** A node, its accounts, and calls of contracts by name. `hardfork` and `chainId` are those of the node. */
export const contractRig = (hardfork: string, chainId = 84_532, more: ReadonlyArray<string> = []) =>
  Effect.gen(function*() {
    const node = yield* anvil("base", "devnet", undefined, chainId, [
      ...["--hardfork", hardfork, "--gas-limit", "60000000"],
      ...more
    ])
    const accounts = node.accounts as ReadonlyArray<Hex>

    /** A call whose error is an answer. */
    const ask = (method: string, ...params: ReadonlyArray<unknown>): Effect.Effect<Answer> =>
      Effect.promise(async () => {
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })
        const response = await fetch(node.url, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body
        })
        return await response.json() as Answer
      })

    const wire = ({ data, from = accounts[0]!, gas, to, value }: Transaction) => ({
      from,
      // A plain price, which nodes older than London take as well.
      gasPrice: hex(2_000_000_000n),
      ...(to === undefined ? {} : { to }),
      ...(data === undefined ? {} : { data }),
      ...(value === undefined ? {} : { value: hex(value) }),
      ...(gas === undefined ? {} : { gas: hex(gas) })
    })

    /** Sends a transaction; it is mined when this returns. */
    const send = (transaction: Transaction): Effect.Effect<Receipt> =>
      Effect.gen(function*() {
        const hash: Hex = yield* node.rpc("eth_sendTransaction", wire({ gas: enoughGas, ...transaction }))
        // The node answers before its miner has had its turn.
        for (;;) {
          const receipt = yield* node.rpc("eth_getTransactionReceipt", hash)
          if (receipt !== null) {
            return { ...receipt, isDone: receipt.status === "0x1", gasUsed: Number(receipt.gasUsed) }
          }
          yield* Effect.sleep(1)
        }
      })

    /** What a transaction would do: its answer, or the name and the values of the error it would end with. */
    const simulate = (contract: string, transaction: Transaction) =>
      Effect.map(ask("eth_call", wire(transaction), "latest"), ({ error, result }) => {
        if (error === undefined) return { result: result as Hex, error: undefined, args: [] }
        if (error.data === undefined || error.data === "0x") return { error: error.message, args: [] }
        const { args = [], errorName } = decodeErrorResult({ abi: builds[contract]!.abi, data: error.data })
        return { error: errorName, args }
      })

    const estimate = (transaction: Transaction): Effect.Effect<bigint> =>
      Effect.map(node.rpc("eth_estimateGas", wire(transaction)), BigInt)

    const read = (contract: string, to: string, functionName: string, args: ReadonlyArray<unknown> = []) =>
      Effect.map(
        node.rpc("eth_call", { to, data: callData(contract, functionName, args) }, "latest"),
        (data) => decodeFunctionResult({ abi: builds[contract]!.abi, functionName, data }) as any
      )

    const deploy = (contract: string, ...args: ReadonlyArray<unknown>) =>
      Effect.gen(function*() {
        const { abi, bytecode } = builds[contract]!
        const receipt = yield* send({ data: encodeDeployData({ abi, bytecode, args }) })
        if (!receipt.isDone) return yield* Effect.die(new Error(`${contract} was not deployed`))
        return receipt.contractAddress!
      })

    /** By the keyless deployer with salt 0, as anybody does it. */
    const deployFrozen = (contract: "Collector" | "Payer", from = accounts[0]!) =>
      send({ from, to: keylessDeployer, data: `0x${"0".repeat(64)}${builds[contract]!.bytecode.slice(2)}` })

    const balance = (token: string, owner: string): Effect.Effect<bigint> =>
      token === nativeCoin
        ? Effect.map(node.rpc("eth_getBalance", owner, "latest"), BigInt)
        : read("UsdcLogic", token, "balanceOf", [owner])

    const code = (address: string): Effect.Effect<Hex> => node.rpc("eth_getCode", address, "latest")

    const mint = (token: string, to: string, value: bigint) =>
      send({ to: token, data: callData("UsdcLogic", "mint", [to, value]) })

    const deployUsdc = Effect.flatMap(deploy("UsdcLogic"), (logic) => deploy("UsdcProxy", logic))

    /** What `effect` does is undone, as by a reorganisation. */
    const undone = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.gen(function*() {
        const snapshot: Hex = yield* node.rpc("evm_snapshot")
        const result = yield* effect
        yield* node.rpc("evm_revert", snapshot)
        return result
      })

    return {
      node,
      accounts,
      ask,
      send,
      simulate,
      estimate,
      read,
      deploy,
      deployFrozen,
      balance,
      code,
      mint,
      deployUsdc,
      undone
    }
  })

export type ContractRig = Effect.Success<ReturnType<typeof contractRig>>
