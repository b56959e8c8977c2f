/**
 * The books of a merchant checked by code that shares nothing with the service: it reads the exports as anybody
 * downloads them and the chain by a node's JSON-RPC, adds everything up itself, and says what does not agree, also with
 * what the service says of the same month. It imports nothing of the project.
 */

/** What is checked, and by whom it is read. */
export interface CheckerOptions {
  /** URL of the service. */
  readonly service: string
  /** A key of the merchant. */
  readonly key: string
  /** URL of a node of the network that still has the state of the month's end. */
  readonly node: string
  /** As assets name it: `base`. */
  readonly network: string
  /** Every address of the wallet that was ever given out: its owner derives them. */
  readonly addresses: ReadonlyArray<string>
  /** A month of UTC, like 2026-11. */
  readonly period: string
}

/** What one wallet had of one asset, what came, what left, and what it has: in base units. */
export interface RollForward {
  readonly account: string
  readonly asset: string
  opening: bigint
  into: bigint
  out: bigint
}

/** What a month held by the exports, and what does not agree. */
export interface CheckerReport {
  readonly rollForwards: ReadonlyArray<RollForward>
  readonly findings: ReadonlyArray<string>
}

/** RFC 4180, strictly: quotes only around a whole cell, CRLF between rows, every row as long as the first. */
export const readCsv = (text: string): ReadonlyArray<Readonly<Record<string, string>>> => {
  const rows: Array<Array<string>> = [[]]
  let at = 0
  while (at < text.length) {
    let cell = ""
    if (text[at] === "\"") {
      for (at++; !(text[at] === "\"" && text[at + 1] !== "\""); at++) {
        if (at >= text.length) throw new Error("a quote is never closed")
        if (text[at] === "\"") at++
        cell += text[at]
      }
      at++
    } else {
      const end = /,|\r\n|$/.exec(text.slice(at))!.index
      cell = text.slice(at, at + end)
      if (/["\r\n]/.test(cell)) throw new Error(`a cell needs quotes: ${cell}`)
      at += end
    }
    rows.at(-1)!.push(cell)
    if (text[at] === ",") at++
    else if (text.startsWith("\r\n", at)) {
      at += 2
      if (at < text.length) rows.push([])
    } else if (at < text.length) throw new Error(`something stands behind a closed quote: ${text.slice(at, at + 20)}`)
  }
  const [names = [], ...cells] = rows
  return cells.map((row) => {
    if (row.length !== names.length) {
      throw new Error(`a row has ${row.length} cells, and there are ${names.length} names`)
    }
    return Object.fromEntries(names.map((name, place) => [name, row[place]!]))
  })
}

const seconds = (time: string): number => Date.parse(time) / 1_000

/** First second of a month, and of the next one. */
const spanOf = (period: string): readonly [number, number] => {
  const [year, month] = period.split("-").map(Number) as [number, number]
  return [Date.UTC(year, month - 1) / 1_000, Date.UTC(year, month) / 1_000]
}

/** An export holds so much time at most. */
const exportSeconds = 31_622_400

const exported = async ({ key, service }: CheckerOptions, kind: string, to: number) => {
  const url = `${service}/api/v1/exports/${kind}?from=${to - exportSeconds}&to=${to}`
  const answer = await fetch(url, { headers: { "x-api-key": key } })
  if (answer.status !== 200) throw new Error(`${kind}: ${answer.status} ${await answer.text()}`)
  return readCsv(await answer.text())
}

/** A call of the node; it dies of an error. */
const ask = async ({ node }: CheckerOptions, method: string, ...params: ReadonlyArray<unknown>): Promise<any> => {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })
  const answer = await fetch(node, { method: "POST", headers: { "content-type": "application/json" }, body })
  const { error, result } = await answer.json() as { result?: unknown; error?: { message: string } }
  if (error !== undefined) throw new Error(`${method}: ${error.message}`)
  return result
}

const hex = (value: number): string => `0x${value.toString(16)}`

const padded = (address: string): string => `0x${address.slice(2).toLowerCase().padStart(64, "0")}`

/** The newest block that is older than `to`, by halving. */
const lastBlockBefore = async (options: CheckerOptions, to: number): Promise<number> => {
  let [low, high] = [0, Number(await ask(options, "eth_blockNumber"))]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    const block = await ask(options, "eth_getBlockByNumber", hex(middle), false)
    if (Number(block.timestamp) < to) low = middle
    else high = middle - 1
  }
  return low
}

/** Topic of `Transfer(address,address,uint256)`, ERC-20. */
const transferTopic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"

/** What the chain says of all addresses together, as of one block. */
interface ChainSide {
  readonly held: bigint
  /** Tokens that came, by their transactions; null: coins leave no log. */
  readonly received: ReadonlyMap<string, bigint> | null
  /** Something left an address: nobody but the owner of its key can have done that. */
  readonly hasSent: boolean
}

const chainSide = async (options: CheckerOptions, token: string, block: number): Promise<ChainSide> => {
  const { addresses } = options
  let held = 0n
  let isNonceUsed = false
  for (const address of addresses) {
    if (Number(await ask(options, "eth_getTransactionCount", address, hex(block))) > 0) isNonceUsed = true
    const balance: string = token === "native"
      ? await ask(options, "eth_getBalance", address, hex(block))
      : await ask(options, "eth_call", { to: token, data: `0x70a08231${padded(address).slice(2)}` }, hex(block))
    held += BigInt(balance)
  }
  if (token === "native") return { held, received: null, hasSent: isNonceUsed }
  const range = { address: token, fromBlock: "0x0", toBlock: hex(block) }
  const logs: ReadonlyArray<any> = await ask(options, "eth_getLogs", {
    ...range,
    topics: [transferTopic, null, addresses.map(padded)]
  })
  const sent: ReadonlyArray<any> = await ask(options, "eth_getLogs", {
    ...range,
    topics: [transferTopic, addresses.map(padded)]
  })
  const received = new Map<string, bigint>()
  for (const { data, transactionHash } of logs) {
    received.set(transactionHash, (received.get(transactionHash) ?? 0n) + BigInt(data))
  }
  return { held, received, hasSent: sent.length > 0 }
}

/** What each wallet had by the journal: both sides of each entry are rows, and a debit brings money into a wallet. */
const rollForwardsOf = (journal: ReadonlyArray<Readonly<Record<string, string>>>, from: number, to: number) => {
  const found = new Map<string, RollForward>()
  for (const { account, asset, date, debit_usd: debit, units } of journal) {
    if (!account!.startsWith("chain:") || seconds(date!) >= to) continue
    const name = `${account} ${asset}`
    const sum = found.get(name) ?? { account: account!, asset: asset!, opening: 0n, into: 0n, out: 0n }
    found.set(name, sum)
    const moved = BigInt(units!)
    if (seconds(date!) < from) sum.opening += debit === "" ? -moved : moved
    else if (debit === "") sum.out += moved
    else sum.into += moved
  }
  return [...found.values()]
}

const closingOf = ({ into, opening, out }: RollForward): bigint => opening + into - out

/** Debits and credits of each transaction come to the same, in dollars and in each asset. */
const unbalanced = (journal: ReadonlyArray<Readonly<Record<string, string>>>): ReadonlyArray<string> => {
  const sums = new Map<string, bigint>()
  const add = (name: string, amount: bigint) => sums.set(name, (sums.get(name) ?? 0n) + amount)
  for (const row of journal) {
    const sign = row["debit_usd"] === "" ? -1n : 1n
    const millis = BigInt((row["debit_usd"] || row["credit_usd"])!.replace(".", ""))
    add(`${row["transaction_id"]} in dollars`, sign * millis)
    add(`${row["transaction_id"]} in ${row["asset"]}`, sign * BigInt(row["units"]!))
  }
  return [...sums].flatMap(([name, sum]) => sum === 0n ? [] : [`the transaction ${name} comes to ${sum}, not to 0`])
}

/** Adds up a month from the exports and the chain, and compares it with what the service says of it. */
export const check = async (options: CheckerOptions): Promise<CheckerReport> => {
  const { key, network, period, service } = options
  const [from, to] = spanOf(period)
  const journal = await exported(options, "journal", to)
  const payments = await exported(options, "payments", to)
  const refunds = await exported(options, "refunds", to)
  const answer = await fetch(`${service}/api/v1/reconciliation?period=${period}`, { headers: { "x-api-key": key } })
  const { data: report } = await answer.json() as any
  const findings = [...unbalanced(journal)]
  const rollForwards = rollForwardsOf(journal, from, to)
  const block = await lastBlockBefore(options, to)
  const known = new Set([...payments, ...refunds].map((row) => row["tx_hash"]))

  for (const roll of rollForwards) {
    const name = `${roll.asset} of ${roll.account}`
    const closing = closingOf(roll)
    const told = report.wallets.find((each: any) => each.account === roll.account && each.asset === roll.asset)
    if (told === undefined) findings.push(`${name}: the reconciliation does not have it`)
    for (const [what, mine] of [["opening", roll.opening], ["closing", closing]] as const) {
      if (told !== undefined && BigInt(told[what].units) !== mine) {
        findings.push(`${name}: its ${what} is ${mine} by the journal, ${told[what].units} by the reconciliation`)
      }
    }
    if (!roll.asset.startsWith(`${network}:`)) continue
    const { held, hasSent, received } = await chainSide(options, roll.asset.slice(network.length + 1), block)
    if (told?.chain_balance !== null && told !== undefined && BigInt(told.chain_balance.units) !== held) {
      findings.push(`${name}: the chain has ${held}, ${told.chain_balance.units} by the reconciliation`)
    }
    const missing = received === null ? [] : [...received].filter(([hash]) => !known.has(hash))
    // Coins that their owner has spent are fewer than the books say. More than they say is never right.
    if (held > closing || (held < closing && !hasSent)) {
      const hashes = missing.map(([hash]) => hash).join(", ")
      findings.push(
        `${name}: the chain has ${held}, the books have ${closing}` +
          (hashes === "" ? "" : `; no export knows the transactions ${hashes}`)
      )
    }
    const into = received === null ? null : [...received.values()].reduce((sum, units) => sum + units, 0n)
    if (into !== null && into !== roll.opening + roll.into) {
      findings.push(`${name}: ${into} came on the chain, ${roll.opening + roll.into} by the books`)
    }
  }
  for (const payment of payments) {
    if (payment["network"] !== network || payment["status"] === "reverted") continue
    const receipt = await ask(options, "eth_getTransactionReceipt", payment["tx_hash"])
    if (receipt?.status !== "0x1") findings.push(`the payment ${payment["id"]} is by a transaction that is not there`)
  }
  return { rollForwards, findings }
}
