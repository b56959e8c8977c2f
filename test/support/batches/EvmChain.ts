/** A real EVM node on mainnet's rules, mined by hand, behind three endpoints of which one may be wrong. */
import { Effect, type Scope } from "effect"
import { createHash } from "node:crypto"
import { decodeFunctionData, encodeFunctionData, getAddress, type Hex, keccak256, toHex } from "viem"
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts"
import { keylessDeployer, payer, topics } from "../../../modules/chains/evm/Contracts.ts"
import { anvil } from "../Anvil.ts"
import { usdc } from "../chaos/TestChain.ts"
import { builds, callData, nativeCoin } from "../ContractRig.ts"
import type { Roll } from "../money/Shop.ts"
import { behind, type NodeAnswers, type NodeFault, nodeProxy, withLogs } from "../NodeProxy.ts"
import { callsOf, type WalletCall } from "../PayoutTown.ts"
import type { MovedMoney, PaidToken, PayingChain } from "./PayingChain.ts"

/** The node's finality mark is this far behind its head: twice `--slots-in-an-epoch`. */
const finality = 8

/** Base's public chain id (EIP-155). */
const chainId = 8_453

const endpointCount = 3

/** keccak256("Transfer(address,address,uint256)") (EIP-20). */
const transferTopic = keccak256(toHex("Transfer(address,address,uint256)"))

/** Enough for a part of a few lines. */
const callGas = 1_000_000n
const gasPrice = 20_000_000_000n

/** What every wallet owns, in base units. */
const fortune = 10n ** 14n
const coins = 10n ** 22n

const keyOf = (seed: string): Hex => `0x${createHash("sha256").update(seed).digest("hex")}`
const hex = (value: bigint | number): Hex => `0x${value.toString(16)}`
const payAbi = builds["Payer"]!.abi

interface PayLine {
  readonly token: Hex
  readonly to: Hex
  readonly amount: bigint
}

type PayArguments = readonly [Hex, bigint, Hex, bigint, ReadonlyArray<PayLine>]

/** The arguments of `pay`; null: another call. */
const payOf = ({ data, to }: Pick<WalletCall, "data" | "to">): PayArguments | null =>
  getAddress(to) === payer.address ? decodeFunctionData({ abi: payAbi, data }).args as unknown as PayArguments : null

/** The call with another receiver for its first line. */
const withThief = (call: WalletCall, thief: Hex): WalletCall => {
  const args = payOf(call)
  if (args === null) return call
  const [from, chain, batch, validUntil, [first, ...others]] = args
  const lines = [{ ...first!, to: thief }, ...others]
  return {
    ...call,
    data: encodeFunctionData({ abi: payAbi, functionName: "pay", args: [from, chain, batch, validUntil, lines] })
  }
}

/** Denies that anything was ever paid, by its logs and by what the contract says alike. */
const denying: NodeAnswers = async (call, ask) =>
  call.method === "eth_call" && String(call.params[0]?.to).toLowerCase() === payer.address.toLowerCase()
    ? `0x${"00".repeat(32)}`
    : withLogs(() => [])(call, ask)

const faults: Readonly<Record<string, () => NodeFault>> = {
  behind: () => behind(() => 3),
  hidden: () => withLogs(() => []),
  denying: () => denying,
  cut: () => "cut",
  errors: () => async () => {
    throw new Error("limit exceeded")
  },
  doubled: () => withLogs((logs) => logs.flatMap((log) => [log, log]))
}

const tokens: ReadonlyArray<PaidToken> = [
  { symbol: "USDC", decimals: 6, address: usdc, dollars: 1n },
  { symbol: "ETH", decimals: 18, address: null, dollars: 3_500n }
]

/** Keys of wallets, and all that each has ever sent. */
class Senders {
  readonly accounts = new Map<string, PrivateKeyAccount>()
  readonly hashes = new Map<string, Set<Hex>>()
}

export interface EvmPayingChain extends PayingChain {
  readonly urls: ReadonlyArray<string>
}

/** Ends with the scope. */
export const evmPayingChain: Effect.Effect<EvmPayingChain, never, Scope.Scope> = Effect.gen(function*() {
  const node = yield* anvil("base", "mainnet", undefined, chainId, [
    ...["--no-mining", "--slots-in-an-epoch", String(finality / 2)]
  ])
  const endpoints = yield* Effect.all(Array.from({ length: endpointCount }, () => nodeProxy(node.url)))
  const senders = new Senders()
  /** Transactions that a reorganisation took out and that somebody sends again later. */
  const later: Array<string> = []
  const rpc = node.rpc
  yield* node.setCode(usdc)
  yield* node.send({ to: keylessDeployer, data: `0x${"0".repeat(64)}${builds["Payer"]!.bytecode.slice(2)}` })
  yield* node.mine(finality * 2)

  const sendAgain = (raw: string) => Effect.exit(rpc("eth_sendRawTransaction", raw))
  const mine = (blocks: number) =>
    Effect.gen(function*() {
      for (const raw of later.splice(0, 1)) yield* sendAgain(raw)
      yield* node.mine(blocks)
    })

  const send = Effect.fnUntraced(function*(wallet: string, { data, to, value }: WalletCall) {
    const account = senders.accounts.get(wallet)!
    const nonce = Number(yield* rpc("eth_getTransactionCount", wallet, "pending"))
    const transaction = { type: "legacy", chainId, nonce, to, value, data, gas: callGas, gasPrice } as const
    const raw = yield* Effect.promise(() => account.signTransaction(transaction))
    const sent = yield* sendAgain(raw)
    if (sent._tag === "Failure") return null
    senders.hashes.get(wallet)!.add(keccak256(raw))
    return keccak256(raw)
  })

  const newWallet = Effect.fnUntraced(function*(seed: string) {
    const account = privateKeyToAccount(keyOf(`wallet ${seed}`))
    senders.accounts.set(account.address, account)
    senders.hashes.set(account.address, new Set())
    yield* rpc("anvil_setBalance", account.address, hex(coins))
    yield* node.token("mint", [account.address, fortune], { at: usdc })
    yield* mine(1)
    return account.address
  })

  const reorganise = Effect.fnUntraced(function*(depth: number, roll: Roll) {
    const head = Number(yield* rpc("eth_blockNumber"))
    const raws: Array<string> = []
    for (let number = head - depth + 1; number <= head; number++) {
      const { transactions } = yield* rpc("eth_getBlockByNumber", hex(number), false)
      for (const hash of transactions) raws.push(yield* rpc("eth_getRawTransactionByHash", hash))
    }
    yield* node.rollback(depth)
    for (let made = 0; made <= depth; made++) {
      for (const raw of raws.splice(0, made === depth ? raws.length : Math.ceil(raws.length / 2))) {
        const fate = roll(100)
        if (fate < 60) yield* sendAgain(raw)
        else if (fate < 85) later.push(raw)
      }
      yield* node.mine(1)
    }
  })

  /** What a transaction moved out of the wallet; nothing where it is in no block of now, or failed. */
  const movedBy = Effect.fnUntraced(function*(wallet: string, hash: Hex, final: number) {
    const receipt = yield* rpc("eth_getTransactionReceipt", hash)
    if (receipt === null || receipt.status !== "0x1") return []
    const block = yield* rpc("eth_getBlockByNumber", receipt.blockNumber, false)
    if (block?.hash !== receipt.blockHash) return []
    const transaction = yield* rpc("eth_getTransactionByHash", hash)
    const paid = receipt.logs.find(({ address, topics: [kind] }: any) =>
      getAddress(address) === payer.address && kind === topics.paid
    )
    const height = Number(receipt.blockNumber)
    const common = {
      txHash: hash,
      height,
      isFinal: height <= final,
      guard: paid?.topics[2] ?? null,
      isGuarded: paid !== undefined
    }
    const ofTokens = receipt.logs.flatMap(({ address, data, topics: [kind, from, to] }: any) =>
      kind === transferTopic && getAddress(`0x${from.slice(26)}`) === wallet
        ? [{ ...common, token: getAddress(address), to: getAddress(`0x${to.slice(26)}`), units: BigInt(data) }]
        : []
    )
    const lines = paid === undefined ? null : payOf({ to: transaction.to, data: transaction.input })?.[4]
    const value = BigInt(transaction.value)
    const ofCoin = lines != null
      ? lines.filter(({ token }) => token === nativeCoin).map(({ amount, to }) => ({ to, units: amount }))
      : value === 0n
      ? []
      : [{ to: transaction.to, units: value }]
    return [
      ...ofTokens,
      ...ofCoin.map(({ to, units }): MovedMoney => ({ ...common, token: null, to: getAddress(to), units }))
    ] as ReadonlyArray<MovedMoney>
  })

  const moved = Effect.fnUntraced(function*(wallet: string) {
    const { number } = yield* rpc("eth_getBlockByNumber", "finalized", false)
    const all = yield* Effect.forEach(
      [...senders.hashes.get(wallet)!],
      (hash) => movedBy(wallet, hash, Number(number)),
      { concurrency: 4 }
    )
    return all.flat()
  })

  const chain: EvmPayingChain = {
    urls: endpoints.map(({ url }) => url),
    network: "base",
    environment: "mainnet",
    tokens,
    formats: ["eip5792", "transactions", "safe"],
    isListing: true,
    changes: ["changed_destination"],
    isGuardedChanged: true,
    receivingKind: null,
    finality,
    validitySeconds: Effect.map(
      rpc("eth_getBlockByNumber", "latest", false),
      ({ timestamp }) => Math.max(300, Number(timestamp) - Math.floor(Date.now() / 1000) + 240)
    ),
    newWallet,
    proveWallet: (wallet, message) =>
      Effect.promise(async () => ({ signature: await senders.accounts.get(wallet)!.signMessage({ message }) })),
    newReceiver: (seed) => privateKeyToAccount(keyOf(`receiver ${seed}`)).address,
    newHash: (roll) => `0x${Array.from({ length: 64 }, () => roll(16).toString(16)).join("")}`,
    thief: (seed) => privateKeyToAccount(keyOf(`thief ${seed}`)).address,
    guardOf: (batchId, part) => keccak256(toHex(`tillwire:batch:${batchId.slice("bat_".length)}:${part}`)),
    sign: Effect.fnUntraced(function*(wallet, payload, how, thief) {
      const content = JSON.parse(payload)
      const format = content.version === "1.0" ? "safe" : content[0].calls === undefined ? "transactions" : "eip5792"
      for (const call of callsOf({ format, payload })) {
        yield* send(wallet, how === "as_given" ? call : withThief(call, thief as Hex))
      }
    }),
    payLine: (wallet, { to, token, units }) =>
      send(
        wallet,
        token === null
          ? { to: to as Hex, value: units, data: "0x" }
          : { to: token as Hex, value: 0n, data: callData("UsdcLogic", "transfer", [to, units]) }
      ),
    receive: (address, { address: token }, units) =>
      Effect.andThen(
        token === null
          ? node.send({ to: address, value: units })
          : node.token("mint", [address, units], { at: token }),
        mine(1)
      ),
    mine,
    reorganise,
    pass: (seconds) => Effect.andThen(rpc("evm_increaseTime", hex(seconds)), mine(1)),
    moved,
    time: Effect.map(rpc("eth_getBlockByNumber", "latest", false), ({ timestamp }) => Number(timestamp)),
    head: Effect.map(rpc("eth_blockNumber"), Number),
    disturb: (roll) => {
      const names = Object.keys(faults)
      const name = names[roll(names.length)]!
      const place = roll(endpointCount)
      endpoints.forEach((each, other) => each.set(other === place ? faults[name]!() : "through"))
      return `${name} ${place + 1}`
    },
    heal: () => endpoints.forEach((each) => each.set("through"))
  }
  return chain
})
