/**
 * Payouts of play money: every wallet has enough, and executes what `SimulatedWallets` asks it to execute. A chain here
 * refuses an export whose validity is over. It also refuses a second execution, as EVM, Sui and Cardano do; Solana and
 * TON execute an export again.
 */
import { Effect, Ref } from "effect"
import { nowSeconds } from "../../../runtime/Clock.ts"
import type { ObservedTransfer } from "../../../runtime/Chains.ts"
import type {
  BatchPart,
  PayoutDriver,
  PayoutExecution,
  PayoutExport,
  PayoutFormat,
  PayoutSearchRequest,
  PayoutTransfer
} from "../../../runtime/Payouts.ts"
import type { NetworkWallets, SimulatedOutcome } from "../../../runtime/SimulatedWallets.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { familyOf, familyRecord, type Network } from "../../../schemas/Network.ts"
import { playMoneySender } from "../../../schemas/PlayMoney.ts"
import { publicError } from "../../../schemas/Errors.ts"
import type { Chain } from "./Chain.ts"
import { balanceOf, type ChainState, type SimulatedBlock } from "./ChainState.ts"
import { simulatedFamilyOf, traitsOf } from "./Families.ts"
import type { SimulatedFamily } from "./Wallets.ts"

/** What each family's own driver builds first. */
const formats: Readonly<Record<SimulatedFamily, readonly [PayoutFormat, ...ReadonlyArray<PayoutFormat>]>> = {
  evm: ["eip5792", "transactions", "safe", "csv"],
  solana: ["solana", "csv"],
  ton: ["ton", "csv"],
  sui: ["sui"],
  cardano: ["cardano"]
}

/** Families whose chain executes the same export twice. */
const repeatable: ReadonlySet<SimulatedFamily> = new Set(["solana", "ton"])

/** Lines of a batch, and those that one signature pays, as the families' own drivers have them. */
const limits: Readonly<Record<SimulatedFamily, { readonly batch: number; readonly part: number }>> = {
  evm: { batch: 200, part: 200 },
  solana: { batch: 100, part: 8 },
  ton: { batch: 100, part: 4 },
  sui: { batch: 200, part: 200 },
  cardano: { batch: 200, part: 200 }
}

const maximumValiditySeconds = 604_800

/** Gas of an address that is collected for the first time, and base units of the coin for one, about as on a rollup. */
const collectGas = 55_000n
const collectGasPrice = baseUnits(10_000_000n)

/** An execution that was sent, whether its block is still on the chain or not. */
interface Sent {
  readonly txHash: string
  readonly transfers: ReadonlyArray<PayoutTransfer>
  /** Where it was last seen: blocks that are older than the chain's memory are final. */
  readonly block: SimulatedBlock | null
}

const keyOf = ({ batchId, part }: BatchPart): string => `${batchId}/${part}`

const transfersOf = (part: BatchPart): ReadonlyArray<PayoutTransfer> =>
  part._tag === "Payout"
    ? part.lines.map((line, place) => ({
      index: place,
      line: place,
      destination: line.destination,
      tokenAddress: line.tokenAddress,
      amount: line.amount,
      from: part.from
    }))
    : part.lines.map((line, place) => ({
      index: place,
      line: place,
      destination: part.payee,
      tokenAddress: line.tokenAddress,
      amount: line.amount,
      from: line.address
    }))

/** What was sent for a part; of a list whatever its wallet sent that is like one of its lines. */
const sentFor = (
  all: ReadonlyMap<string, ReadonlyArray<Sent>>,
  part: BatchPart,
  isList: boolean
): ReadonlyArray<Sent> => {
  if (!isList || part._tag === "Collect") return all.get(keyOf(part)) ?? []
  const lineOf = (transfer: PayoutTransfer) =>
    part.lines.findIndex(({ amount, destination, tokenAddress }) =>
      destination === transfer.destination && tokenAddress === transfer.tokenAddress && amount === transfer.amount
    )
  return [...all.values()].flat().flatMap((each): ReadonlyArray<Sent> => {
    const transfers = each.transfers.flatMap((transfer) =>
      transfer.from === part.from && lineOf(transfer) !== -1 ? [{ ...transfer, line: lineOf(transfer) }] : []
    )
    return transfers.length === 0 ? [] : [{ ...each, transfers }]
  })
}

/** Blocks below the newest after which a block is final here; the chain's own mark where its family has one. */
const finalityBlocks = 2n

const blockOf = ({ blocks }: ChainState, txHash: string): SimulatedBlock | undefined =>
  blocks.find(({ transfers }) => transfers.some((each) => each.txHash === txHash))

const estimateCollect: NonNullable<PayoutDriver["estimateCollect"]> = ({ lines }) =>
  Effect.succeed({
    gas: collectGas * BigInt(new Set(lines.map(({ address }) => address)).size),
    gasPrice: collectGasPrice,
    dataFee: baseUnits(0n),
    operatorFee: baseUnits(0n)
  })

const balanceChangeOn =
  (chain: Chain, accountKey: (address: string) => string): NetworkWallets["balanceChange"] =>
  (address, tokenAddress, height) =>
    Effect.map(
      chain.state,
      (state) => balanceOf(state, { address, matchKey: accountKey(address) }, tokenAddress, height)
    )

export const makePayouts = Effect.fnUntraced(function*(
  network: Network,
  chain: Chain,
  nameTransaction: Effect.Effect<string>
) {
  const family = simulatedFamilyOf(network)
  const { accountKey } = familyRecord(familyOf(network))
  const sent = yield* Ref.make<ReadonlyMap<string, ReadonlyArray<Sent>>>(new Map())

  const send = Effect.fnUntraced(function*(part: BatchPart, transfers: ReadonlyArray<PayoutTransfer>) {
    const txHash: string = yield* nameTransaction
    yield* chain.act({
      _tag: "Mine",
      blocks: [transfers.map((each): ObservedTransfer => ({
        txHash,
        index: each.index,
        kind: "direct",
        matchKey: accountKey(each.destination),
        tokenAddress: each.tokenAddress,
        amount: each.amount,
        from: each.from
      }))]
    })
    const block = blockOf(yield* chain.state, txHash) ?? null
    yield* Ref.update(sent, (all) => {
      const key = keyOf(part)
      return new Map([...all, [key, [...all.get(key) ?? [], { txHash, transfers, block }]]])
    })
    return txHash
  })

  /** What was sent for a part and is on the chain: what a reorganisation moved is where it is now. */
  const executionsOf = Effect.fnUntraced(function*(part: BatchPart, isList = false, from = 0n) {
    const state = yield* chain.state
    const top = state.blocks.at(-1)
    const oldest = state.blocks[0]
    const lag = BigInt(traitsOf(network).finalityLagBlocks ?? finalityBlocks)
    const finalHeight = top === undefined ? 0n : top.height - lag
    const found = sentFor(yield* Ref.get(sent), part, isList)
    const executions = found.flatMap(({ block, transfers, txHash }): ReadonlyArray<PayoutExecution> => {
      const isForgotten = block !== null && oldest !== undefined && block.height < oldest.height
      const at = blockOf(state, txHash) ?? (isForgotten ? block : undefined)
      if (at === undefined || at.height < from) return []
      const { hash, height, time } = at
      return [{ txHash, block: { hash, height, time }, isFinal: height <= finalHeight, transfers, fee: baseUnits(0n) }]
    })
    const final = state.blocks.findLast(({ height }) => height <= finalHeight)
    return { executions, finalHeight, finalTime: final?.time ?? 0, top: top?.height ?? 0n }
  })

  const payouts: PayoutDriver = {
    formats: formats[family],
    collectFormats: family === "evm" ? ["eip5792", "transactions", "safe"] : [],
    maximumLines: limits[family].batch,
    maximumValiditySeconds,
    minimumAmount: () => baseUnits(1n),
    partSizes: (lines) =>
      Array.from(
        { length: Math.ceil(lines.length / limits[family].part) },
        (_, place) => Math.min(limits[family].part, lines.length - place * limits[family].part)
      ),
    build: Effect.fnUntraced(function*({ format, part, validUntil }) {
      const { executions, top } = yield* executionsOf(part)
      if (executions.length > 0 && !repeatable.has(family)) return yield* publicError("BATCH_PAID")
      const built: PayoutExport = {
        format,
        payload: JSON.stringify({
          play_money: true,
          network,
          reference: keyOf(part),
          valid_until: format === "csv" ? null : validUntil,
          lines: transfersOf(part).map(({ amount, destination, from, tokenAddress }) => ({
            from,
            to: destination,
            token: tokenAddress,
            units: amount.toString()
          }))
        }),
        validUntil: format === "csv" || part._tag === "Collect" ? null : validUntil,
        trace: null,
        builtAt: top,
        inputs: [],
        isSimulated: true,
        notices: ["This is play money: POST /api/v1/devnet/batches/{id}/simulate signs it"]
      }
      return built
    }),
    estimateCollect: family === "evm" ? estimateCollect : null,
    search: Effect.fnUntraced(function*({ export: { format, validUntil }, from, part }: PayoutSearchRequest) {
      const isList = format === "csv"
      const { executions, finalHeight, finalTime } = yield* executionsOf(part, isList, isList ? from : 0n)
      return { executions, searchedTo: finalHeight, isOver: validUntil !== null && finalTime > validUntil }
    })
  }
  const wallets: NetworkWallets = {
    balanceChange: balanceChangeOn(chain, accountKey),
    execute: Effect.fnUntraced(function*(
      part: BatchPart,
      { validUntil }: Pick<PayoutExport, "validUntil">,
      outcome: SimulatedOutcome
    ): Effect.fn.Return<string | null> {
      const isLate = validUntil !== null && (outcome === "late" || (yield* nowSeconds) > validUntil)
      if (isLate || outcome === "frozen_recipient") return null
      const { executions } = yield* executionsOf(part)
      const isRefused = executions.length > 0 && validUntil !== null && !repeatable.has(family)
      if (isRefused) return null
      const transfers = transfersOf(part).map((each): PayoutTransfer =>
        outcome === "changed_destination" && each.index === 0
          ? { ...each, line: null, destination: playMoneySender(network) ?? each.from }
          : each
      )
      const txHash = yield* send(part, transfers)
      const mayRepeat = validUntil === null || repeatable.has(family)
      if (outcome === "twice" && mayRepeat) yield* send(part, transfers)
      return txHash
    })
  }
  return { payouts, wallets }
})
