/** A chain with the Payer and tokens of several kinds, and a wallet that executes what it is given. */
import { NodeHttpClient } from "@effect/platform-node"
import { Effect, Layer, Redacted } from "effect"
import { randomUUID } from "node:crypto"
import { createWalletClient, decodeFunctionData, type Hex, http, keccak256, toHex } from "viem"
import { payer } from "../../modules/chains/evm/Contracts.ts"
import { makeDriver } from "../../modules/chains/evm.ts"
import type {
  BatchPart,
  PayoutDriver,
  PayoutExport,
  PayoutFormat,
  PayoutLine,
  PayoutPart
} from "../../runtime/Payouts.ts"
import { toChecksumAddress } from "../../schemas/EvmAddress.ts"
import { baseUnits } from "../../schemas/Money.ts"
import { type Environment, evmChainIds } from "../../schemas/Network.ts"
import { builds, callData, contractRig, nativeCoin, type Receipt } from "./ContractRig.ts"

/** A call as a wallet would send it. */
export interface WalletCall {
  readonly to: Hex
  readonly value: bigint
  readonly data: Hex
}

/** Enough for anything that is tried here, and no estimate that would refuse what is to fail on the chain. */
const enoughGas = toHex(16_000_000n)

/** The calls of an export, read as the format's own definition says. */
export const callsOf = ({ format, payload }: Pick<PayoutExport, "format" | "payload">): ReadonlyArray<WalletCall> => {
  const content = JSON.parse(payload)
  const calls: ReadonlyArray<{ to: Hex; value: string; data: Hex }> = format === "eip5792"
    ? content[0].calls
    : format === "safe"
    ? content.transactions
    : content
  return calls.map(({ data, to, value }) => ({ to, value: BigInt(value), data }))
}

/** The call that makes a wallet which is a contract make all of `calls`, or none. */
export const inOneCall = (wallet: Hex, calls: ReadonlyArray<WalletCall>): WalletCall => ({
  to: wallet,
  value: 0n,
  data: callData("CallsWallet", "execute", [calls])
})

/** The arguments of `pay` in an export, as viem reads them. */
export const payArguments = (exported: Pick<PayoutExport, "format" | "payload">) => {
  const { args, functionName } = decodeFunctionData({
    abi: builds["Payer"]!.abi,
    data: callsOf(exported).at(-1)!.data
  })
  const [from, chainId, batch, validUntil, lines] = args as [
    Hex,
    bigint,
    Hex,
    bigint,
    ReadonlyArray<{
      token: Hex
      to: Hex
      amount: bigint
    }>
  ]
  return { functionName, from, chainId, batch, validUntil, lines }
}

/** What `pay` is given for a line. */
export const chainLine = ({ amount, destination, tokenAddress }: PayoutLine) => ({
  token: (tokenAddress ?? nativeCoin) as Hex,
  to: destination as Hex,
  amount: amount as bigint
})

export const payoutDriverAt = (environment: Environment, urls: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const client = yield* Layer.build(NodeHttpClient.layerUndici)
    const rpc = urls.map((url) => Redacted.make(url)) as never
    const driver = yield* Effect.provide(makeDriver({ network: "base", environment, rpc }), client)
    return driver.payouts!
  })

/** `more`: arguments of the node. On mainnet blocks are final 64 below the head, with them by other rules. */
export const payoutTown = (environment: Environment = "devnet", more: ReadonlyArray<string> = []) =>
  Effect.gen(function*() {
    const chainId = evmChainIds[environment]["base"]!
    const rig = yield* contractRig("prague", chainId, more)
    const [, stranger, other, wallet] = rig.accounts.map(toChecksumAddress) as unknown as readonly [Hex, Hex, Hex, Hex]
    yield* rig.deployFrozen("Payer")
    const newToken = (deployed: Effect.Effect<Hex>) =>
      Effect.tap(
        Effect.map(deployed, (address) => toChecksumAddress(address) as Hex),
        (token) => rig.mint(token, wallet, 10n ** 12n)
      )
    const usdc = yield* newToken(rig.deployUsdc)
    const silent = yield* newToken(rig.deploy("SilentToken"))
    const driver = yield* payoutDriverAt(environment, [rig.node.url])
    const sender = createWalletClient({ transport: http(rig.node.url) })
    let made = 0

    const newReceiver = () => toChecksumAddress(`0x${keccak256(toHex(`receiver ${made++}`)).slice(26)}`)

    const newLine = (more: Partial<PayoutLine> = {}): PayoutLine => ({
      destination: newReceiver(),
      memo: null,
      tokenAddress: usdc,
      symbol: "USDC",
      decimals: 6,
      amount: baseUnits(1_000_000n + BigInt(made)),
      reference: `re_${made}`,
      ...more
    })

    const coinLine = (more: Partial<PayoutLine> = {}): PayoutLine =>
      newLine({ tokenAddress: null, symbol: "ETH", decimals: 18, amount: baseUnits(77n), ...more })

    const newPart = (lines: ReadonlyArray<PayoutLine>, more: Partial<PayoutPart> = {}): PayoutPart => ({
      _tag: "Payout",
      batchId: `bat_${randomUUID()}`,
      part: 1,
      from: wallet,
      lines,
      ...more
    })

    const chainTime = Effect.map(
      rig.node.rpc("eth_getBlockByNumber", "latest", false),
      ({ timestamp }) => Number(timestamp)
    )

    const build = (
      part: BatchPart,
      format: PayoutFormat = "eip5792",
      { at = driver, seconds = 86_400, spentInputs = [] }: {
        readonly at?: PayoutDriver
        readonly seconds?: number
        readonly spentInputs?: ReadonlyArray<string>
      } = {}
    ) =>
      Effect.flatMap(
        chainTime,
        (now) => at.build({ part, format, validUntil: now + seconds, spentInputs: new Set(spentInputs) })
      )

    /** Sends calls by a wallet's own `eth_sendTransaction`, one after the other; answers the receipts. */
    const send = (calls: ReadonlyArray<WalletCall>, from: Hex = wallet): Effect.Effect<ReadonlyArray<Receipt>> =>
      Effect.forEach(calls, ({ data, to, value }) =>
        Effect.gen(function*() {
          const hash = yield* Effect.promise(() =>
            sender.request({
              method: "eth_sendTransaction",
              params: [{ from, to, value: toHex(value), data, gas: enoughGas }]
            })
          )
          for (;;) {
            const receipt = yield* rig.node.rpc("eth_getTransactionReceipt", hash)
            if (receipt !== null) {
              return { ...receipt, isDone: receipt.status === "0x1", gasUsed: Number(receipt.gasUsed) }
            }
            yield* Effect.sleep(1)
          }
        }))

    /** A wallet that is given nothing but the export. */
    const sign = (exported: PayoutExport, from?: Hex) => send(callsOf(exported), from)

    const search = (
      part: BatchPart,
      exported: PayoutExport,
      { at = driver, from = exported.builtAt, hint = null }: {
        readonly at?: PayoutDriver
        readonly from?: bigint
        readonly hint?: string | null
      } = {}
    ) => at.search({ part, export: exported, from, hint })

    const tokenCall = (functionName: string, ...args: ReadonlyArray<unknown>) =>
      callData("UsdcLogic", functionName, args)

    const head = Effect.map(rig.node.rpc("eth_blockNumber"), BigInt)

    return {
      ...rig,
      chainId,
      driver,
      stranger,
      other,
      wallet,
      usdc,
      silent,
      newToken,
      newReceiver,
      newLine,
      coinLine,
      newPart,
      chainTime,
      build,
      send,
      sign,
      search,
      tokenCall,
      head,
      payer: payer.address as Hex
    }
  })

export type PayoutTown = Effect.Success<ReturnType<typeof payoutTown>>
