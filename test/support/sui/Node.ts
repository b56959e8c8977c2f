/**
 * A node of Sui in front of a ledger: gRPC-Web over real HTTP on this machine, written and read by the protobuf types
 * of Sui's own SDK, with the limits, the lag and the faults that nodes and providers have.
 */
import { GrpcTypes } from "@mysten/sui/grpc"
import { Effect, type Scope } from "effect"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { Ledger, LedgerTransaction } from "./Ledger.ts"
import { suiCoin } from "./Ledger.ts"

/** A call as it came. */
export interface NodeCall {
  readonly method: string
  /** The message, as the SDK's type of the method reads it. */
  readonly request: any
}

/** What a node answers: messages, and how it ends. */
export interface NodeReply {
  readonly messages: ReadonlyArray<Uint8Array>
  /** A status of gRPC; absent: 0. */
  readonly status?: { readonly code: number; readonly text: string; readonly inHeaders?: boolean }
}

/**
 * What a node does with calls: `held` never answers; `cut` ends each answer in the middle; `http` answers with that
 * status; a function answers in the node's place, given what an honest node says.
 */
export type NodeFault =
  | "through"
  | "held"
  | "cut"
  | { readonly http: number; readonly headers?: Readonly<Record<string, string>> }
  | ((call: NodeCall, honest: () => NodeReply) => NodeReply)

export interface NodeLimits {
  /** Items of a page with a filter, and without one. */
  readonly filteredItems: number
  readonly unfilteredItems: number
  /** Checkpoints that one call with a filter looks through. */
  readonly scannedCheckpoints: bigint
  /** Terms of a filter. */
  readonly terms: number
}

export interface SuiNodeRig {
  readonly url: string
  readonly ledger: Ledger
  readonly set: (fault: NodeFault) => void
  /** Checkpoints that it is behind, and those that its index is behind its head. */
  readonly lag: (head: number, index?: number) => void
  readonly limit: (limits: Partial<NodeLimits>) => void
  /** The oldest checkpoint it still has. */
  readonly prune: (lowest: bigint) => void
  /** Calls so far, by method. */
  readonly calls: () => Readonly<Record<string, number>>
  /** Bytes of all answers so far. */
  readonly answerBytes: () => number
  readonly resetCounts: () => void
}

const frame = (flags: number, content: Uint8Array): Buffer => {
  const header = Buffer.alloc(5)
  header[0] = flags
  header.writeUInt32BE(content.length, 1)
  return Buffer.concat([header, content])
}

/** Answers with the status alone. */
export const failWith = (code: number, text: string, inHeaders = false): NodeReply => ({
  messages: [],
  status: { code, text, inHeaders }
})

/** An answer of one message of the SDK's type. */
export const messageOf = (type: keyof typeof GrpcTypes, fields: object): Uint8Array => {
  const encoder = GrpcTypes[type] as any
  return encoder.toBinary(encoder.create(fields))
}

const reply = (type: keyof typeof GrpcTypes, fields: object): NodeReply => ({ messages: [messageOf(type, fields)] })

/** Nodes write types of coins in full or short. */
const spelling = (coinType: string, isShort: boolean): string =>
  isShort ? coinType.replace(/0x0+(?=[0-9a-f])/g, "0x") : coinType

const timestamp = (seconds: number) => ({ seconds: BigInt(seconds), nanos: 250_000_000 })

/** A transaction with the fields that Sui's nodes give under the mask the driver asks with. */
const executed = (ledger: Ledger, { changes, digest, height, isSuccess, place, sender }: LedgerTransaction) => ({
  digest,
  transaction: { sender },
  effects: { status: { success: isSuccess } },
  checkpoint: height,
  timestamp: timestamp(ledger.at(height)!.time),
  balanceChanges: changes.map(({ address, amount, coinType }) => ({
    address,
    coinType: coinType === suiCoin ? spelling(coinType, place % 2 === 0) : coinType,
    amount: amount.toString()
  }))
})

const cursorOf = (height: bigint, place: number): Uint8Array => {
  const bytes = Buffer.alloc(12)
  bytes.writeBigUInt64BE(height)
  bytes.writeUInt32BE(place, 8)
  return bytes
}

/** Behind every transaction of its checkpoint. */
const afterAll = 0xffff_ffff

const ends = { itemLimit: 1, scanLimit: 2, checkpointBound: 3, ledgerTip: 5 } as const

interface Position {
  readonly height: bigint
  readonly place: number
}

const isAfter = ({ height, place }: Position, other: Position | null): boolean =>
  other === null || height > other.height || (height === other.height && place > other.place)

/** Where to begin in a list that is in order: nodes have an index for it. */
const firstAt = (list: ReadonlyArray<LedgerTransaction>, height: bigint): number => {
  let [low, high] = [0, list.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (list[middle]!.height < height) low = middle + 1
    else high = middle
  }
  return low
}

/** Transactions that a filter matches between two heights, in order: any of its terms, as the one kind used here. */
const matching = (ledger: Ledger, request: any, from: bigint, to: bigint): ReadonlyArray<LedgerTransaction> => {
  const terms: ReadonlyArray<any> | undefined = request.filter?.terms
  const lists = terms === undefined
    ? [ledger.all]
    : terms.map(({ literals: [{ predicate }] }) => ledger.byAddress.get(predicate.affectedAddress.address) ?? [])
  const found = new Set<LedgerTransaction>()
  for (const list of lists) {
    for (let at = firstAt(list, from); at < list.length && list[at]!.height <= to; at++) found.add(list[at]!)
  }
  return [...found].sort((one, other) => Number(one.height - other.height) || one.place - other.place)
}

const listTransactions = (ledger: Ledger, request: any, tip: bigint, lowest: bigint, limits: NodeLimits): NodeReply => {
  const start: bigint = request.startCheckpoint ?? lowest
  if (start < lowest) return failWith(11, `checkpoint ${start} is below the lowest available checkpoint ${lowest}`)
  const terms = request.filter?.terms
  if (terms !== undefined && terms.length > limits.terms) {
    return failWith(3, `filter has too many terms: ${terms.length}`)
  }
  const bound: bigint = (request.endCheckpoint ?? tip + 1n) - 1n
  const after: Position | null = request.options?.after === undefined ? null : {
    height: Buffer.from(request.options.after).readBigUInt64BE(),
    place: Buffer.from(request.options.after).readUInt32BE(8)
  }
  const from = after === null ? start : after.place === afterAll ? after.height + 1n : after.height
  const scanned = terms === undefined ? bound : from + limits.scannedCheckpoints - 1n
  const last = [bound, tip, scanned].reduce((least, each) => each < least ? each : least)
  const maximum = terms === undefined ? limits.unfilteredItems : limits.filteredItems
  const limit = Math.min(maximum, request.options?.limit ?? maximum)
  const found = matching(ledger, request, from, last).filter((each) => isAfter(each, after))
  const messages: Array<Uint8Array> = []
  /** A checkpoint is whole once the scan has left it; one that was resumed within is none until then. */
  const whole = (height: bigint) => height > from || (height === from && after?.height !== from) ? height : undefined
  for (const transaction of found.slice(0, limit)) {
    const isLast = messages.length + 1 === limit && (found.length > limit || last < bound)
    messages.push(messageOf("ListTransactionsResponse", {
      transaction: executed(ledger, transaction),
      watermark: {
        cursor: cursorOf(transaction.height, transaction.place),
        checkpoint: whole(transaction.height - 1n)
      },
      ...isLast ? { end: { reason: ends.itemLimit } } : {}
    }))
    if (isLast) return { messages }
  }
  const reason = last === bound ? ends.checkpointBound : last === tip ? ends.ledgerTip : ends.scanLimit
  messages.push(messageOf("ListTransactionsResponse", {
    watermark: last < from
      ? { cursor: request.options?.after ?? cursorOf(from - 1n, afterAll) }
      : { cursor: cursorOf(last, afterAll), checkpoint: last },
    end: { reason }
  }))
  return { messages }
}

const decimals: Readonly<Record<string, readonly [symbol: string, decimals: number]>> = {
  "sui::SUI": ["SUI", 9],
  "usdc::USDC": ["USDC", 6],
  "odd::ODD": ["O\u202eDD", 3]
}

/** An honest node's answer. */
const answerOf = (
  ledger: Ledger,
  { method, request }: NodeCall,
  node: { readonly head: bigint; readonly tip: bigint; readonly lowest: bigint; readonly limits: NodeLimits }
): NodeReply => {
  switch (method) {
    case "GetServiceInfo":
      return reply("GetServiceInfoResponse", {
        chainId: ledger.chainId,
        chain: "rig",
        epoch: 1n,
        checkpointHeight: node.head,
        timestamp: timestamp(ledger.at(node.head)!.time),
        lowestAvailableCheckpoint: node.lowest,
        server: "sui-rig/1"
      })
    case "ListTransactions":
      return listTransactions(ledger, request, node.tip, node.lowest, node.limits)
    case "BatchGetTransactions":
      return reply("BatchGetTransactionsResponse", {
        transactions: request.digests.map((digest: string) => {
          const found = ledger.byDigest.get(digest)
          return {
            result: found === undefined || found.height > node.head || found.height < node.lowest
              ? { oneofKind: "error", error: { code: 5, message: "transaction not found", details: [] } }
              : {
                oneofKind: "transaction",
                transaction: GrpcTypes.ExecutedTransaction.create(executed(ledger, found) as never)
              }
          }
        })
      })
    case "GetCheckpoint": {
      const height: bigint = request.checkpointId.sequenceNumber
      const found = height > node.head || height < node.lowest ? undefined : ledger.at(height) ?? ledger.checkpoints[0]
      return found === undefined ? failWith(5, `checkpoint ${height} not found`) : reply("GetCheckpointResponse", {
        checkpoint: { sequenceNumber: height, summary: { timestamp: timestamp(found.time) } }
      })
    }
    case "GetCoinInfo": {
      const known = decimals[request.coinType.replace(/^0x[0-9a-f]+::/, "")]
      return known === undefined ? failWith(5, "coin type not found") : reply("GetCoinInfoResponse", {
        coinType: spelling(request.coinType, true),
        metadata: { symbol: known[0], decimals: known[1] }
      })
    }
    default:
      return failWith(12, "unimplemented")
  }
}

const send = (response: ServerResponse, { messages, status }: NodeReply, isCut: boolean): number => {
  response.setHeader("content-type", "application/grpc-web+proto")
  if (status?.inHeaders === true) {
    response.setHeader("grpc-status", status.code)
    response.setHeader("grpc-message", encodeURIComponent(status.text))
    response.end()
    return 0
  }
  const trailers = `grpc-status:${status?.code ?? 0}\r\ngrpc-message:${encodeURIComponent(status?.text ?? "")}\r\n`
  const body = Buffer.concat([...messages.map((each) => frame(0, each)), frame(0x80, Buffer.from(trailers))])
  if (isCut) {
    response.flushHeaders()
    response.write(body.subarray(0, body.length - 20), () => response.destroy())
    return body.length - 20
  }
  response.end(body)
  return body.length
}

const requestOf = (method: string, body: Buffer): any => {
  const type = GrpcTypes[`${method}Request` as keyof typeof GrpcTypes] as any
  return type === undefined ? null : type.fromBinary(body.subarray(5))
}

const closing = (server: ReturnType<typeof createServer>) =>
  Effect.callback<void>((resume) => {
    server.close(() => resume(Effect.void))
    server.closeAllConnections()
  })

/** A node in front of the ledger, until the scope closes. */
export const suiNode = (ledger: Ledger): Effect.Effect<SuiNodeRig, never, Scope.Scope> =>
  Effect.gen(function*() {
    let fault: NodeFault = "through"
    let lag = { head: 0, index: 0 }
    let limits: NodeLimits = { filteredItems: 50, unfilteredItems: 500, scannedCheckpoints: 100_000n, terms: 10 }
    // What came before the ledger's first checkpoint is there, and is nothing.
    let lowest = ledger.firstHeight - 100_000n
    let calls: Record<string, number> = {}
    let answerBytes = 0
    const server = yield* Effect.acquireRelease(
      Effect.callback<ReturnType<typeof createServer>>((resume) => {
        const made = createServer((request, response) => {
          const chunks: Array<Buffer> = []
          request.on("data", (chunk: Buffer) => chunks.push(chunk))
          request.on("end", () => {
            const method = request.url!.split("/").at(-1)!
            calls[method] = (calls[method] ?? 0) + 1
            if (fault === "held") return
            if (typeof fault === "object") {
              response.writeHead(fault.http, fault.headers)
              return void response.end("<html>no</html>")
            }
            const call: NodeCall = { method, request: requestOf(method, Buffer.concat(chunks)) }
            const head = ledger.head.height - BigInt(lag.head)
            const honest = () => answerOf(ledger, call, { head, tip: head - BigInt(lag.index), lowest, limits })
            const answer = typeof fault === "function" ? fault(call, honest) : honest()
            answerBytes += send(response, answer, fault === "cut")
          })
        })
        made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
      }),
      closing
    )
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      ledger,
      set: (next) => {
        fault = next
      },
      lag: (head, index = 0) => {
        lag = { head, index }
      },
      limit: (more) => {
        limits = { ...limits, ...more }
      },
      prune: (next) => {
        lowest = next
      },
      calls: () => calls,
      answerBytes: () => answerBytes,
      resetCounts: () => {
        calls = {}
        answerBytes = 0
      }
    }
  })
