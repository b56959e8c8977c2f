/** The merchant's browser wallet (EIP-1193): what the recovery page asks it for. */
import { keccak_256 } from "@noble/hashes/sha3.js"
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js"
import { collectData } from "../CollectCall.ts"
import { collector, contractErrors, keylessDeployer } from "../Contracts.ts"
import type { ForwarderAddress } from "../Forwarder.ts"

export interface Provider {
  readonly request: (call: { readonly method: string; readonly params?: ReadonlyArray<unknown> }) => Promise<unknown>
}

/** Milliseconds between looks for a receipt. */
const lookMillis = 1_000

/** Wallets put a node's answer at different places of their errors: it is looked for in all of it. */
const errorText = (error: unknown): string => {
  if (typeof error !== "object" || error === null) return String(error)
  const { data, message } = error as { data?: unknown; message?: unknown }
  return `${String(message)} ${JSON.stringify(data ?? "")}`
}

export const isRefusedWith = (name: keyof typeof contractErrors, error: unknown): boolean =>
  errorText(error).includes(contractErrors[name].slice(2))

/** What a person is told of an error. */
export const messageOf = (error: unknown): string =>
  isRefusedWith("GasTooLow", error)
    ? "A token uses up all the gas of the call: remove it from the list, and look again."
    : typeof error === "object" && error !== null && "message" in error
    ? String(error.message)
    : String(error)

/** The payee's addresses, as one wallet sees them on one network. */
export const collectorOn = (provider: Provider, from: string, payee: string) => {
  const call = (tokens: ReadonlyArray<string>, entries: ReadonlyArray<ForwarderAddress>) => ({
    from,
    to: collector.address,
    data: collectData(payee, tokens, entries.map(({ salt }) => salt))
  })

  /** How many transfers a collect of these would make. */
  const count = async (tokens: ReadonlyArray<string>, entries: ReadonlyArray<ForwarderAddress>): Promise<number> => {
    try {
      return Number(await provider.request({ method: "eth_call", params: [call(tokens, entries), "latest"] }))
    } catch (error) {
      if (isRefusedWith("NothingCollected", error)) return 0
      throw error
    }
  }

  const hasCode = async (address: string): Promise<boolean> =>
    await provider.request({ method: "eth_getCode", params: [address, "latest"] }) !== "0x"

  /** Whether the contract is there and is the frozen build. */
  const isDeployed = async (): Promise<boolean> => {
    const code = String(await provider.request({ method: "eth_getCode", params: [collector.address, "latest"] }))
    return `0x${bytesToHex(keccak_256(hexToBytes(code.slice(2))))}` === collector.codeHash
  }

  /** Waits until the transaction is in a block. */
  const confirm = async (hash: unknown): Promise<void> => {
    for (;;) {
      const receipt = await provider.request({ method: "eth_getTransactionReceipt", params: [hash] })
      if (receipt !== null) {
        if ((receipt as { status: string }).status === "0x1") return
        throw new Error(`The transaction ${String(hash)} failed: nothing was moved by it. Look again.`)
      }
      await new Promise((resolve) => setTimeout(resolve, lookMillis))
    }
  }

  const send = async (transaction: object): Promise<void> =>
    confirm(await provider.request({ method: "eth_sendTransaction", params: [{ from, ...transaction }] }))

  return {
    count,
    hasCode,
    isDeployed,
    collect: (tokens: ReadonlyArray<string>, entries: ReadonlyArray<ForwarderAddress>) => send(call(tokens, entries)),
    /** Anybody may put the contract on a network, through the keyless deployer with salt 0. */
    deploy: async (bytecode: string) => {
      if (!await hasCode(keylessDeployer)) {
        throw new Error(`This network has no deployer at ${keylessDeployer}: it must be put there first.`)
      }
      await send({ to: keylessDeployer, data: `0x${"0".repeat(64)}${bytecode.slice(2)}` })
    }
  }
}
