/**
 * A chain of Sui on mainnet's rules behind three nodes of which one may be wrong. Checkpoints come on purpose and are
 * never replaced, and an export ends with an epoch.
 */
import { bcs } from "@mysten/sui/bcs"
import { GrpcTypes } from "@mysten/sui/grpc"
import { Ed25519Keypair } from "@mysten/sui/keypairs/ed25519"
import { TransactionDataBuilder } from "@mysten/sui/transactions"
import { fromHex, toBase58, toBase64 } from "@mysten/sui/utils"
import { Effect, type Scope } from "effect"
import { createHash } from "node:crypto"
import { Coins } from "../sui/Coins.ts"
import { Ledger, suiCoin } from "../sui/Ledger.ts"
import { type NodeFault, suiNode } from "../sui/Node.ts"
import { messageOf, reply } from "../sui/Replies.ts"
import { payor, suiAddress } from "../SuiRig.ts"
import type { Change, MovedMoney, PaidToken, PayingChain } from "./PayingChain.ts"

/** Digest of mainnet's first checkpoint (docs.sui.io, "Sui Environment Variables"). */
const chainId = "4btiuiMPvEENsttpZC7CZ53DruC3MAgfznDbASZ7DR6S"

/** Circle's USDC (developers.circle.com/stablecoins/usdc-contract-addresses). */
const usdc = "0xdba34672e30cb065b1f93e3ab55318768fd6fef66c15942c9f7cb846e2f900e7::usdc::USDC"

const endpointCount = 3
const epochSeconds = 86_400

/** Every third batch is valid into the epoch after the running one. */
const [shortValidity, longValidity] = [300, 100_000]

/** Coins of each type that a wallet owns, each enough for a few parts. */
const coinsOfWallet = 24
const [suiOfCoin, usdcOfCoin] = [500n * 10n ** 9n, 1_000n * 10n ** 6n]

/** MIST that somebody adds to the gas of a transaction, and those that it takes out of the gas coin. */
const [addedBudget, addedCoin] = [5_000_000n, 1_000n]

const tokens: ReadonlyArray<PaidToken> = [
  { symbol: "USDC", decimals: 6, address: usdc, dollars: 1n },
  { symbol: "SUI", decimals: 9, address: null, dollars: 4n }
]

const secretOf = (seed: string): Buffer => createHash("sha256").update(seed).digest()
const addressOf = (seed: string): string => `0x${secretOf(seed).toString("hex")}`

const answerTypes = {
  GetServiceInfo: GrpcTypes.GetServiceInfoResponse,
  GetEpoch: GrpcTypes.GetEpochResponse,
  BatchGetTransactions: GrpcTypes.BatchGetTransactionsResponse
}

/** The answer to a method is another one. */
const answersTo = (wanted: keyof typeof answerTypes, edit: (reply: any) => void): NodeFault => ({ method }, honest) => {
  const answer = honest()
  if (method !== wanted) return answer
  const messages = answer.messages.map((message) => {
    const content = answerTypes[wanted].fromBinary(message)
    edit(content)
    return messageOf(`${wanted}Response`, content)
  })
  return { ...answer, messages }
}

/** What a node of the rig does wrong. `lag`: checkpoints that it is behind, and those that its index is. */
interface Fault {
  readonly fault?: NodeFault
  readonly lag?: readonly [head: number, index: number]
}

const faults: Readonly<Record<string, Fault>> = {
  behind: { lag: [8, 0] },
  late_index: { lag: [0, 8] },
  ahead: {
    fault: answersTo("GetServiceInfo", (info) => {
      info.checkpointHeight += 900n
    })
  },
  hidden: {
    fault: ({ method }, honest) => {
      const { messages, ...rest } = honest()
      return { ...rest, messages: method === "ListTransactions" ? messages.slice(-1) : messages }
    }
  },
  holes: {
    fault: ({ method, request }, honest) =>
      method !== "BatchGetTransactions" ? honest() : reply("BatchGetTransactionsResponse", {
        transactions: request.digests.map(() => ({
          result: { oneofKind: "error", error: { code: 5, message: "transaction not found", details: [] } }
        }))
      })
  },
  failed: {
    fault: answersTo("BatchGetTransactions", ({ transactions }) => {
      for (const { result } of transactions) {
        if (result.oneofKind === "transaction") result.transaction.effects.status = { success: false }
      }
    })
  },
  epochs: {
    fault: answersTo("GetEpoch", ({ epoch }) => {
      epoch.epoch += 1n
    })
  },
  early: {
    fault: answersTo("GetServiceInfo", (info) => {
      info.epoch += 3n
    })
  },
  doubled: {
    fault: ({ method }, honest) => {
      const { messages, ...rest } = honest()
      return method === "ListTransactions"
        ? { ...rest, messages: [...messages.slice(0, -1).flatMap((each) => [each, each]), ...messages.slice(-1)] }
        : { ...rest, messages }
    }
  },
  cut: { fault: "cut" },
  errors: { fault: { http: 503 } }
}

/** What somebody makes of a transaction: it spends the same coins. */
const changedBytes = (bytes: Uint8Array, how: Change, wallet: string, thief: string): Uint8Array => {
  const data = bcs.TransactionData.parse(bytes)
  const { gasData, kind } = data.V1
  const { commands, inputs } = kind.ProgrammableTransaction! as { commands: Array<any>; inputs: Array<any> }
  const pure = (content: Uint8Array) => inputs.push({ Pure: { bytes: toBase64(content) } }) - 1
  const transfers = commands.filter(({ TransferObjects }) => TransferObjects !== undefined)
  if (how === "changed_destination" && transfers.length > 0) {
    transfers[0].TransferObjects.address = { Input: pure(fromHex(thief)) }
    return bcs.TransactionData.serialize(data).toBytes()
  }
  gasData.budget = String(BigInt(gasData.budget) + addedBudget)
  const amounts = [{ Input: pure(bcs.u64().serialize(addedCoin).toBytes()) }]
  const command = commands.push({ SplitCoins: { coin: { GasCoin: true }, amounts } }) - 1
  const address = { Input: pure(fromHex(wallet)) }
  commands.push({ TransferObjects: { objects: [{ NestedResult: [command, 0] }], address } })
  return bcs.TransactionData.serialize(data).toBytes()
}

export interface SuiPayingChain extends PayingChain {
  readonly urls: ReadonlyArray<string>
  /** Addresses of the deployment, to which invoices are paid. */
  readonly pool: ReadonlyArray<string>
}

/** Ends with the scope. */
export const suiPayingChain: Effect.Effect<SuiPayingChain, never, Scope.Scope> = Effect.gen(function*() {
  const ledger = new Ledger({ chainId })
  const coins = new Coins(ledger)
  const nodes = yield* Effect.all(Array.from({ length: endpointCount }, () => suiNode(ledger, coins)))
  for (const coinType of [suiCoin, usdc]) ledger.mint(payor, coinType, 10n ** 18n)
  const wallets = new Map<string, Ed25519Keypair>()
  /** Batches by the digest of what was signed of them: nothing on the chain names a batch. */
  const signed = new Map<string, string>()
  let batches = 0

  const mine = (blocks: number) => Effect.sync(() => ledger.mine(blocks))
  const setFault = (place: number, { fault = "through", lag = [0, 0] }: Fault) => {
    nodes[place]!.set(fault)
    nodes[place]!.lag(...lag)
  }
  const guardOf = (batchId: string, part: number): string => `${batchId}/${part}`

  const moved = (wallet: string): ReadonlyArray<MovedMoney> =>
    (ledger.byAddress.get(wallet) ?? []).filter(({ isSuccess, sender }) => isSuccess && sender === wallet).flatMap(
      ({ changes, digest, height }) => {
        const batchId = signed.get(digest)
        return changes.filter(({ address, amount }) => address !== wallet && amount > 0n).map(
          ({ address, amount, coinType }) => ({
            txHash: digest,
            to: address,
            token: coinType === suiCoin ? null : coinType,
            units: amount,
            isFinal: true,
            height: Number(height),
            guard: batchId === undefined ? null : guardOf(batchId, 1),
            isGuarded: batchId !== undefined
          })
        )
      }
    )

  const chain: SuiPayingChain = {
    urls: nodes.map(({ url }) => url),
    pool: Array.from({ length: 1_000 }, (_, place) => suiAddress(place)),
    network: "sui",
    environment: "mainnet",
    tokens,
    formats: ["sui"],
    isListing: false,
    changes: ["changed_destination", "added_instruction"],
    isGuardedChanged: true,
    receivingKind: null,
    finality: 1,
    validitySeconds: Effect.sync(() => batches++ % 3 === 2 ? longValidity : shortValidity),
    newWallet: (seed) =>
      Effect.sync(() => {
        const keys = Ed25519Keypair.fromSecretKey(secretOf(`wallet ${seed}`))
        const address = keys.toSuiAddress()
        wallets.set(address, keys)
        for (let coin = 0; coin < coinsOfWallet; coin++) {
          coins.give(address, suiCoin, suiOfCoin)
          coins.give(address, usdc, usdcOfCoin)
        }
        return address
      }),
    proveWallet: (wallet, message) =>
      Effect.promise(async () => {
        const { signature } = await wallets.get(wallet)!.signPersonalMessage(Buffer.from(message))
        return { signature }
      }),
    newReceiver: (seed) => addressOf(`receiver ${seed}`),
    newHash: (roll) => toBase58(Uint8Array.from({ length: 32 }, () => 1 + roll(255))),
    thief: (seed) => addressOf(`thief ${seed}`),
    guardOf,
    sign: (wallet, payload, how, thief, batchId) =>
      Effect.promise(async () => {
        const given = Buffer.from(JSON.parse(payload).transaction, "base64")
        const bytes = how === "as_given" ? given : changedBytes(given, how, wallet, thief)
        signed.set(TransactionDataBuilder.getDigestFromBytes(bytes), batchId)
        const { signature } = await wallets.get(wallet)!.signTransaction(bytes)
        await coins.submit(bytes, signature)
      }),
    payLine: () => Effect.die(new Error("a batch on Sui is given out as no list")),
    receive: (to, { address }, amount) =>
      Effect.andThen(
        Effect.sync(() => ledger.transfer(payor, [{ to, coinType: address ?? suiCoin, amount }])),
        mine(1)
      ),
    mine,
    // What is in a checkpoint is final.
    reorganise: () => Effect.void,
    // It is epochs that end a validity here; what was sent in one is in a checkpoint of it.
    pass: (seconds) =>
      Effect.sync(() => {
        ledger.mine(1)
        for (let epochs = Math.ceil(seconds / epochSeconds); epochs > 0; epochs--) ledger.changeEpoch()
      }),
    moved: (wallet) => Effect.sync(() => moved(wallet)),
    time: Effect.sync(() => ledger.head.time),
    head: Effect.sync(() => Number(ledger.head.height)),
    disturb: (roll) => {
      const names = Object.keys(faults)
      const name = names[roll(names.length)]!
      const place = roll(endpointCount)
      nodes.forEach((_, other) => setFault(other, other === place ? faults[name]! : {}))
      return `${name} ${place + 1}`
    },
    heal: () => nodes.forEach((_, place) => setFault(place, {}))
  }
  return chain
})
