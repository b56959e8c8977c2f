/**
 * The lines of a part as the messages that a wallet sends (TON Connect, `sendTransaction`), and lines found again in
 * messages. Pure.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import { utf8ToBytes } from "@noble/hashes/utils.js"
import { Address, beginCell, type Cell } from "@ton/core"
import { partReference } from "../../../schemas/Batch.ts"
import type { PayoutLine, PayoutPart } from "../../../runtime/Payouts.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { readTonAddress, tonAddressText } from "../../../schemas/TonAddress.ts"
import { readAccountKey } from "./Account.ts"
import { commentIn, readCell } from "./Comment.ts"
import { type JettonCredit, jettonTransfer, readJettonCredit, readJettonOrder } from "./Messages.ts"
import type { SentMessage, Transaction } from "./Transactions.ts"

/** Gas that goes with a transfer of jettons, in nanograms: what is left of it comes back. */
export const jettonGas = 50_000_000n
/** What a receiver's jetton wallet sends on to its owner, so that wallets show the transfer with its comment. */
const forwardAmount = 1n

/** A line as it is looked for: accounts are keys. */
export interface WantedLine {
  readonly line: PayoutLine
  readonly destination: string
  /** Names it for ever: `bat_<32 hex>/<part>/<line>`, the line counted from 1 in its part. */
  readonly name: string
  /** What its message says: the receiver's memo, else its name. */
  readonly comment: string
  readonly queryId: bigint
}

/** A part's name: its lines' begin with it. */
export const nameOf = (part: Pick<PayoutPart, "batchId" | "part">): string => partReference(part)

/** The first 8 bytes of a name's SHA-256. */
export const queryIdOf = (name: string): bigint => {
  const hash = sha256(utf8ToBytes(name))
  return new DataView(hash.buffer, hash.byteOffset).getBigUint64(0)
}

export const wantedLines = (part: PayoutPart): ReadonlyArray<WantedLine> =>
  part.lines.map((line, place) => {
    const name = `${nameOf(part)}/${place + 1}`
    return {
      line,
      destination: readAccountKey(line.destination) ?? line.destination,
      name,
      comment: line.memo ?? name,
      queryId: queryIdOf(name)
    }
  })

const commentCell = (text: string): Cell => beginCell().storeUint(0, 32).storeStringTail(text).endCell()

/** `transfer` of TEP-74. `from`: key of the wallet, which gets back what gas is left. */
const jettonBody = (from: string, { comment, destination, line, queryId }: WantedLine): Cell =>
  beginCell()
    .storeUint(jettonTransfer, 32)
    .storeUint(queryId, 64)
    .storeCoins(line.amount)
    .storeAddress(Address.parseRaw(destination))
    .storeAddress(Address.parseRaw(from))
    .storeBit(0)
    .storeCoins(forwardAmount)
    .storeBit(1)
    .storeRef(commentCell(comment))
    .endCell()

/** A message as TON Connect has it. */
export interface WalletMessage {
  readonly address: string
  /** Nanograms. */
  readonly amount: string
  /** A bag of cells in base64. */
  readonly payload: string
}

/** `ownJettonWallet`: key of the account in which the wallet keeps the line's token; null: the line is native coin. */
export const messageOf = (
  from: string,
  wanted: WantedLine,
  ownJettonWallet: string | null,
  environment: Environment
): WalletMessage => {
  const addressOf = (key: string, bounceable: boolean) =>
    tonAddressText(readTonAddress(key)!, { bounceable, testOnly: environment === "devnet" })
  const body = ownJettonWallet === null ? commentCell(wanted.comment) : jettonBody(from, wanted)
  return {
    // A new wallet has no code yet, and what it gets must not come back; a jetton wallet that fails gives back the gas.
    address: ownJettonWallet === null ? addressOf(wanted.destination, false) : addressOf(ownJettonWallet, true),
    amount: `${ownJettonWallet === null ? wanted.line.amount : jettonGas}`,
    payload: body.toBoc().toString("base64")
  }
}

/** Places of lines that a message may be for: equal ones are several. */
type Places = ReadonlyArray<number>

/**
 * Lines that a comment names. A name is one line's alone; a memo may be the one of all payments to a receiver, so
 * receiver and amount have to be right beside it.
 */
const placesByComment = (
  lines: ReadonlyArray<WantedLine>,
  token: string | null,
  comment: string | null,
  destination: string,
  amount: bigint
): Places =>
  [...lines.keys()].filter((place) => {
    const each = lines[place]!
    return each.line.tokenAddress === token && each.comment === comment &&
      (each.line.memo === null || (each.destination === destination && each.line.amount === amount))
  })

/** The name of some batch's line. What has one is never a list's. */
const lineName = /^bat_[0-9a-f]{32}\/\d+\/\d+$/

const placesByAmount = (
  lines: ReadonlyArray<WantedLine>,
  token: string | null,
  destination: string,
  amount: bigint
): Places =>
  [...lines.keys()].filter((place) => {
    const { destination: wanted, line } = lines[place]!
    return line.tokenAddress === token && wanted === destination && line.amount === amount
  })

const isNamed = (comment: string | null): boolean => comment !== null && lineName.test(comment)

const placesOfCoins = (
  lines: ReadonlyArray<WantedLine>,
  comment: string | null,
  destination: string,
  amount: bigint,
  isList: boolean
): Places =>
  !isList
    ? placesByComment(lines, null, comment, destination, amount)
    : isNamed(comment)
    ? []
    : placesByAmount(lines, null, destination, amount)

const placesOfJettons = (
  lines: ReadonlyArray<WantedLine>,
  token: string,
  { amount, comment, queryId }: Pick<JettonCredit, "amount" | "comment" | "queryId">,
  destination: string,
  isList: boolean
): Places => {
  if (isList) return isNamed(comment) ? [] : placesByAmount(lines, token, destination, amount)
  const byNumber = [...lines.keys()].filter((place) =>
    lines[place]!.line.tokenAddress === token && lines[place]!.queryId === queryId
  )
  return byNumber.length > 0 ? byNumber : placesByComment(lines, token, comment, destination, amount)
}

/** Whose jetton wallets are which: token and owner by the account's key. */
export type JettonAccounts = ReadonlyMap<string, { readonly token: string; readonly owner: string }>

/** What a wallet sent that belongs to a part. */
export interface SentPayout {
  readonly places: Places
  readonly tokenAddress: string | null
  /** Key of the account that is to receive it. */
  readonly destination: string
  readonly amount: bigint
}

/** What a message from the wallet is of a part; null: nothing. `isList`: by receiver and amount, not by comment. */
export const sentPayout = (
  lines: ReadonlyArray<WantedLine>,
  message: SentMessage,
  jettonAccounts: JettonAccounts,
  isList: boolean
): SentPayout | null => {
  const body = message.body === null ? null : readCell(message.body)
  const token = jettonAccounts.get(message.destination)?.token ?? null
  const order = token === null || body === null ? null : readJettonOrder(body)
  if (token !== null && order === null) return null
  const comment = body === null || body.isExotic ? null : commentIn(body.beginParse())
  const { amount, destination } = order ?? { amount: message.value, destination: message.destination }
  const places = token !== null && order !== null
    ? placesOfJettons(lines, token, order, destination, isList)
    : placesOfCoins(lines, comment, destination, amount, isList)
  return places.length === 0 ? null : { places, tokenAddress: token, destination, amount }
}

/** What arrived at a receiver's account, or at the account of its jettons. */
export interface ArrivedPayout {
  readonly places: Places
  readonly amount: bigint
}

/** What a receiver's transaction brought of a part; null: nothing. `from`: key of the wallet that pays. */
export const arrivedPayout = (
  from: string,
  lines: ReadonlyArray<WantedLine>,
  { account, hasBounced, hasSucceeded, message }: Transaction,
  jettonAccounts: JettonAccounts,
  isList: boolean
): ArrivedPayout | null => {
  if (message === null || message.isBounced || hasBounced) return null
  const body = message.body === null ? null : readCell(message.body)
  const jetton = jettonAccounts.get(account)
  const toReceiver = (places: Places, receiver: string): Places =>
    places.filter((place) => lines[place]!.destination === receiver)
  if (jetton !== undefined) {
    const credit = hasSucceeded && body !== null ? readJettonCredit(body) : null
    if (credit === null || credit.from !== from) return null
    const places = toReceiver(placesOfJettons(lines, jetton.token, credit, jetton.owner, isList), jetton.owner)
    return places.length === 0 ? null : { places, amount: credit.amount }
  }
  if (message.source !== from) return null
  const comment = body === null || body.isExotic ? null : commentIn(body.beginParse())
  const places = toReceiver(placesOfCoins(lines, comment, account, message.value, isList), account)
  return places.length === 0 ? null : { places, amount: message.value }
}
