/** What a rig's chain is to toncenter's API v3: JSON as ton-index-go writes it, and the answers to its routes. */
import { type Address, Cell, type Transaction, type TupleItem } from "@ton/core"
import { createHash } from "node:crypto"

/** A transaction of the sandbox, and the masterchain block that made it final. */
export interface MinedTransaction {
  readonly transaction: Transaction
  readonly seqno: number
}

/** A block of the masterchain; `time` in epoch seconds. */
export interface MasterBlock {
  readonly seqno: number
  readonly time: number
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64")

/** As the indexer spells accounts: hex digits in capitals. */
export const rawOf = (address: Address): string => `${address.workChain}:${address.hash.toString("hex").toUpperCase()}`

const accountOf = ({ address }: Transaction): string => `0:${address.toString(16).padStart(64, "0").toUpperCase()}`

export const blockJson = ({ seqno, time }: MasterBlock, globalId: number) => ({
  workchain: -1,
  shard: "8000000000000000",
  seqno,
  root_hash: base64(createHash("sha256").update(`root ${globalId} ${seqno}`).digest()),
  file_hash: base64(createHash("sha256").update(`file ${globalId} ${seqno}`).digest()),
  global_id: globalId,
  gen_utime: `${time}`,
  start_lt: `${seqno * 1_000_000}`,
  end_lt: `${seqno * 1_000_000 + 10}`
})

const messageJson = ({ inMessage }: Transaction) => {
  if (!inMessage) return null
  const { body, info } = inMessage
  const content = { hash: base64(body.hash()), body: base64(body.toBoc()), decoded: null }
  return info.type === "internal"
    ? {
      hash: base64(body.hash()),
      source: rawOf(info.src),
      destination: rawOf(info.dest),
      value: `${info.value.coins}`,
      bounce: info.bounce,
      bounced: info.bounced,
      created_lt: `${info.createdLt}`,
      message_content: content
    }
    : { hash: base64(body.hash()), source: null, value: null, bounce: null, bounced: null, message_content: content }
}

const sentJson = ({ outMessages }: Transaction) =>
  [...outMessages.values()].flatMap(({ body, info }) =>
    info.type !== "internal" ? [] : [{
      hash: base64(body.hash()),
      source: rawOf(info.src),
      destination: rawOf(info.dest),
      value: `${info.value.coins}`,
      bounce: info.bounce,
      bounced: info.bounced,
      created_lt: `${info.createdLt}`,
      message_content: { hash: base64(body.hash()), body: base64(body.toBoc()), decoded: null }
    }]
  )

const descriptionJson = ({ description }: Transaction) => {
  if (description.type !== "generic") return { type: description.type }
  const { aborted, bouncePhase, computePhase, destroyed } = description
  return {
    type: "ord",
    aborted,
    destroyed,
    compute_ph: computePhase.type === "vm"
      ? { skipped: false, success: computePhase.success, exit_code: computePhase.exitCode }
      : { skipped: true, reason: computePhase.reason.replace("-", "_") },
    ...(bouncePhase ? { bounce: { type: bouncePhase.type === "ok" ? "ok" : "nofunds" } } : {})
  }
}

export const transactionJson = ({ seqno, transaction }: MinedTransaction) => ({
  account: accountOf(transaction),
  hash: base64(transaction.hash()),
  lt: `${transaction.lt}`,
  now: transaction.now,
  mc_block_seqno: seqno,
  trace_id: base64(transaction.hash()),
  orig_status: transaction.oldStatus,
  end_status: transaction.endStatus,
  total_fees: `${transaction.totalFees.coins}`,
  description: descriptionJson(transaction),
  block_ref: { workchain: 0, shard: "8000000000000000", seqno: 4_000_000 + seqno },
  in_msg: messageJson(transaction),
  out_msgs: sentJson(transaction),
  account_state_before: null,
  account_state_after: null,
  emulated: false,
  finality: "finalized"
})
export type TransactionJson = ReturnType<typeof transactionJson>

/** A query of the route `transactions`, as ton-index-go orders and cuts what it finds. */
export const transactionsPage = (
  all: ReadonlyArray<TransactionJson>,
  query: URLSearchParams,
  toRaw: (text: string) => string
) => {
  const accounts = new Set(query.getAll("account").map(toRaw))
  const hashes = new Set(query.getAll("hash").map((hash) => base64(Buffer.from(hash, "hex"))))
  const start = Number(query.get("start_utime") ?? 0)
  const end = Number(query.get("end_utime") ?? Infinity)
  const sign = query.get("sort") === "asc" ? 1 : -1
  const found = all.filter((each) =>
    (accounts.size === 0 || accounts.has(each.account)) && (hashes.size === 0 || hashes.has(each.hash)) &&
    each.now >= start && each.now <= end
  ).toSorted((one, other) =>
    sign * (one.now - other.now || Number(BigInt(one.lt) - BigInt(other.lt))) ||
    one.account.localeCompare(other.account)
  )
  const offset = Number(query.get("offset") ?? 0)
  return found.slice(offset, offset + Number(query.get("limit") ?? 10))
}

/** What a method returned, entry by entry. */
export const stackJson = (items: ReadonlyArray<TupleItem>) =>
  items.map((item) => {
    switch (item.type) {
      case "int":
        return {
          type: "num",
          value: item.value < 0n ? `-0x${(-item.value).toString(16)}` : `0x${item.value.toString(16)}`
        }
      case "cell":
      case "slice":
        return { type: item.type, value: item.cell.toBoc().toString("base64") }
      default:
        return { type: "list", value: [] }
    }
  })

export const stackOf = (entries: ReadonlyArray<{ readonly type: string; readonly value: string }>): Array<TupleItem> =>
  entries.map(({ type, value }) =>
    type === "num" ? { type: "int", value: BigInt(value) } : { type: type as "slice", cell: Cell.fromBase64(value) }
  )
