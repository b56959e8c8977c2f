/**
 * A chain of TON on mainnet's rules behind three endpoints of which one may be wrong. The wallet is the contract W5
 * itself; blocks come on purpose and are final at once.
 */
import { Address, beginCell, Cell } from "@ton/core"
import { Effect, type Scope } from "effect"
import { createHash } from "node:crypto"
import { keysOf, tonProof, tonState } from "../SignInWallets.ts"
import { readTonAddress, tonAddressText } from "../../../schemas/TonAddress.ts"
import { type EndpointFaults, TonRig } from "../TonRig.ts"
import { onChainContent } from "../ton/Jetton.ts"
import { type W5Wallet, w5Wallet, walletIdOf } from "../ton/W5.ts"
import type { ListedLine, MovedMoney, PaidToken, PayingChain, Signature } from "./PayingChain.ts"

/** Of mainnet (docs.ton.org, "Global ID"). */
const globalId = -239

/** Tether's USDT (tether.to/en/supported-protocols), as the catalogue spells it. */
const usdt = Address.parse("EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs")

/** The other jetton of the catalogue: its master is asked for accounts, so it has to be there. */
const notcoin = Address.parse("0:2f956143c461769579baef2e32cc2d7bc18283f40d20bb03e432cd603ac33ffc")

const endpointCount = 3

/** Seconds between two blocks that a history makes, and blocks after which every message has arrived. */
const blockSeconds = 60
const travelBlocks = 80

/** What every wallet owns, in base units. */
const [coins, jettons] = [100_000n * 10n ** 9n, 10n ** 12n]

const tokens: ReadonlyArray<PaidToken> = [
  { symbol: "USDT", decimals: 6, address: usdt.toRawString(), dollars: 1n },
  { symbol: "GRAM", decimals: 9, address: null, dollars: 3n }
]

/** `transfer` of TEP-74. */
const jettonTransfer = 0x0f8a7ea5

const right: EndpointFaults = {
  lagBlocks: 0,
  indexLagBlocks: 0,
  delayMillis: 0,
  status: null,
  isCut: false,
  ballast: 0,
  maximumLimit: 1_000,
  lie: null
}

const hidden: EndpointFaults["lie"] = (route, answer) =>
  route === "transactions" ? { ...answer, transactions: [] } : answer

const faults: Readonly<Record<string, Partial<EndpointFaults>>> = {
  behind: { lagBlocks: 4 },
  late: { indexLagBlocks: 4 },
  busy: { status: 429 },
  down: { status: 503 },
  cut: { isCut: true },
  hidden: { lie: hidden }
}

/** An account as wallets show it. */
const textOf = (raw: string): string => tonAddressText(readTonAddress(raw)!, { bounceable: false, testOnly: false })
const hashOf = (seed: string): string => createHash("sha256").update(seed).digest("hex")
const addressOf = (seed: string): string => textOf(`0:${hashOf(seed)}`)

interface Message {
  readonly address: string
  readonly amount: string
  readonly payload: string
}

/** What a message of a request pays; null token: the coin. */
const readOrder = ({ address, amount, payload }: Message) => {
  const body = Cell.fromBase64(payload).beginParse()
  if (body.remainingBits < 32 || body.loadUint(32) !== jettonTransfer) {
    return { to: Address.parse(address), token: null, units: BigInt(amount) } as const
  }
  body.loadUintBig(64)
  const units = body.loadCoins()
  return { to: body.loadAddress(), token: usdt.toRawString(), units } as const
}

/** The message with another receiver. */
const withReceiver = (message: Message, thief: string): Message => {
  if (readOrder(message).token === null) return { ...message, address: thief }
  const body = Cell.fromBase64(message.payload).beginParse()
  const [op, queryId, units] = [body.loadUint(32), body.loadUintBig(64), body.loadCoins()]
  body.loadAddress()
  const payload = beginCell().storeUint(op, 32).storeUint(queryId, 64).storeCoins(units)
    .storeAddress(Address.parse(thief)).storeSlice(body).endCell()
  return { ...message, payload: payload.toBoc().toString("base64") }
}

/** A request that was signed and waits for a block. */
interface Waiting {
  readonly wallet: string
  /** What was given out, and what the wallet signs of it. */
  readonly exported: string
  readonly payload: string
  readonly guard: string | null
  readonly isGuarded: boolean
}

export interface TonPayingChain extends PayingChain {
  readonly urls: ReadonlyArray<string>
  /** The wallet of the deployment, to which invoices are paid. */
  readonly receiver: string
}

/** Ends with the scope. */
export const tonPayingChain: Effect.Effect<TonPayingChain, never, Scope.Scope> = Effect.gen(function*() {
  const rig = yield* Effect.promise(() => TonRig.make(globalId))
  const endpoints = yield* Effect.forEach(Array.from({ length: endpointCount }), () => rig.serve())
  const jetton = yield* Effect.promise(() =>
    rig.deployJetton(onChainContent({ symbol: "USDT", decimals: "6", name: "Tether USD" }), rig.payer, usdt)
  )
  yield* Effect.promise(() =>
    rig.deployJetton(onChainContent({ symbol: "NOT", decimals: "9", name: "Notcoin" }), rig.payer, notcoin)
  )
  const wallets = new Map<string, { readonly seed: number; readonly w5: W5Wallet }>()
  const waiting: Array<Waiting> = []
  const moves = new Map<string, Array<MovedMoney>>()
  /** Exports that the wallet has executed: signed once more, also changed, they pay once more. Nothing guards that. */
  const executed = new Set<string>()
  /** Whom malware has paid. */
  const stolen = new Set<string>()
  let made = 0

  const wrong = (place: number, fault: Partial<EndpointFaults>) => Object.assign(endpoints[place]!.faults, right, fault)

  /** Runs what was signed, and records the transfers of it that arrived by what the chain shows. */
  const execute = ({ exported, guard, isGuarded, payload, wallet }: Waiting) =>
    Effect.promise(async () => {
      const { w5 } = wallets.get(wallet)!
      const mined = await w5.execute(rig, payload)
      if (mined === null) return
      const isFirst = !executed.has(exported)
      executed.add(exported)
      for (const order of (JSON.parse(payload).messages as ReadonlyArray<Message>).map(readOrder)) {
        const account = order.token === null ? order.to : await jetton.walletOf(order.to)
        const key = BigInt(`0x${account.hash.toString("hex")}`)
        const arrived = mined.find(({ transaction: { address, description, inMessage } }) =>
          address === key && inMessage?.info.type === "internal" && !inMessage.info.bounced &&
          (order.token === null || description.type === "generic" && description.computePhase.type === "vm" &&
              description.computePhase.success)
        )
        if (arrived === undefined) continue
        const money: MovedMoney = {
          txHash: arrived.transaction.hash().toString("hex"),
          to: textOf(order.to.toRawString()),
          token: order.token,
          units: order.units,
          isFinal: true,
          height: arrived.seqno,
          // Of what went to somebody else nothing says that it was a line's.
          guard: stolen.has(textOf(order.to.toRawString())) ? null : guard,
          isGuarded: isGuarded && isFirst
        }
        moves.set(wallet, [...moves.get(wallet) ?? [], money])
      }
    })

  const mine = (blocks: number) =>
    Effect.gen(function*() {
      for (const one of waiting.splice(0)) yield* execute(one)
      for (let n = 0; n < blocks; n++) rig.mine(blockSeconds)
    })

  const newWallet = (seed: string) =>
    Effect.promise(async () => {
      const number = 1_000 + made++
      const w5 = w5Wallet(number, globalId)
      await w5.place(rig, coins)
      await rig.mint(jetton, w5.address, jettons)
      const text = textOf(w5.address.toRawString())
      wallets.set(text, { seed: number, w5 })
      // Somebody pays malware a little, so that it can receive.
      await rig.pay(Address.parse(addressOf(`thief ${seed}`)), 10n ** 9n)
      return text
    })

  const sign = (wallet: string, payload: string, how: Signature, thief: string, batchId: string) =>
    Effect.sync(() => {
      const request = JSON.parse(payload)
      const [first, ...others] = request.messages as ReadonlyArray<Message>
      const changed = how === "as_given"
        ? payload
        : JSON.stringify({ ...request, messages: [withReceiver(first!, thief), ...others] })
      if (how !== "as_given") stolen.add(thief)
      waiting.push({ wallet, exported: payload, payload: changed, guard: guardOf(batchId, 1), isGuarded: true })
    })

  const payLine = (wallet: string, { to, units }: ListedLine) =>
    Effect.promise(async () => {
      const { w5 } = wallets.get(wallet)!
      const account = await jetton.walletOf(w5.address)
      const body = beginCell().storeUint(jettonTransfer, 32).storeUint(made++, 64).storeCoins(units)
        .storeAddress(Address.parse(to)).storeAddress(w5.address).storeBit(0).storeCoins(1).storeBit(0).endCell()
      const payload = JSON.stringify({
        validUntil: rig.head.time + 600,
        network: `${globalId}`,
        from: w5.address.toRawString(),
        messages: [{
          address: account.toString({ bounceable: true }),
          amount: "50000000",
          payload: body.toBoc().toString("base64")
        }]
      })
      const before = moves.get(wallet)?.length ?? 0
      await Effect.runPromise(execute({ wallet, exported: payload, payload, guard: null, isGuarded: false }))
      return moves.get(wallet)?.[before]?.txHash ?? null
    })

  const guardOf = (batchId: string, part: number): string => `${batchId}/${part}`

  const chain: TonPayingChain = {
    urls: endpoints.map(({ url }) => url),
    receiver: addressOf("receiver of the deployment"),
    network: "ton",
    environment: "mainnet",
    tokens,
    formats: ["ton"],
    isListing: true,
    changes: ["changed_destination"],
    isGuardedChanged: false,
    isDecidedByLine: true,
    receivingKind: null,
    finality: travelBlocks,
    validitySeconds: Effect.succeed(900),
    newWallet,
    proveWallet: (wallet, message) => {
      const { seed } = wallets.get(wallet)!
      const state = tonState("v5r1", keysOf(seed).publicKey, { walletId: walletIdOf(globalId) })
      const field = (name: string): string => new RegExp(`^${name}: (.*)$`, "m").exec(message)![1]!
      const asked = {
        domain: /^\S+/.exec(message)![0],
        nonce: field("Nonce"),
        issuedAt: Math.floor(Date.parse(field("Issued At")) / 1_000)
      }
      const { proof, signature } = tonProof("v5r1", seed, asked, {}, 0, state)
      return Effect.succeed({ signature, proof })
    },
    newReceiver: (seed) => addressOf(`receiver ${seed}`),
    newHash: (roll) => hashOf(`no transaction ${roll(1_000_000)}`),
    thief: (seed) => addressOf(`thief ${seed}`),
    guardOf,
    sign,
    payLine,
    receive: (to, { address: token }, amount, memo) =>
      Effect.promise(() =>
        token === null
          ? rig.pay(Address.parse(to), amount, { text: memo })
          : rig.payJetton(jetton, Address.parse(to), amount, { text: memo })
      ),
    mine,
    reorganise: () => Effect.void,
    pass: (seconds) =>
      Effect.sync(() => {
        rig.mine(seconds)
      }),
    moved: (wallet) => Effect.sync(() => moves.get(wallet) ?? []),
    time: Effect.sync(() => rig.head.time),
    head: Effect.sync(() => rig.head.seqno),
    disturb: (roll) => {
      const names = Object.keys(faults)
      const name = names[roll(names.length)]!
      const place = roll(endpointCount)
      endpoints.forEach((_, other) => wrong(other, other === place ? faults[name]! : {}))
      return `${name} ${place + 1}`
    },
    heal: () => endpoints.forEach((_, place) => wrong(place, {}))
  }
  return chain
})
