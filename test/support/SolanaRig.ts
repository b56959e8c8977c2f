/**
 * A node of Solana for tests: the methods of JSON-RPC that a driver and a wallet need, over HTTP on loopback, in front
 * of a {@link SolanaLedger}. It can go wrong as nodes and providers do.
 */
import { Effect, type Scope } from "effect"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { type Commitment, type LedgerTransaction, SolanaLedger } from "./SolanaLedger.ts"

export interface RigCall {
  readonly method: string
  readonly params: ReadonlyArray<any>
}

/** An answer of the node's place; `body`: whatever text instead of JSON-RPC. */
export type RigReply =
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string } }
  | { readonly status: number; readonly body: string }
  /** No answer ever, or the connection is cut. */
  | "held"
  | "cut"

/** Answers in the node's place; undefined: as the node does. `answer`: what the node says. */
export type RigFault = (call: RigCall, answer: () => unknown) => RigReply | undefined

export interface SolanaNode {
  readonly url: string
  /** Every call so far. */
  readonly calls: () => ReadonlyArray<RigCall>
  /** Calls since the last time it was asked, by method. */
  readonly count: () => Readonly<Record<string, number>>
  readonly set: (fault: RigFault | null) => void
}

/** An error of JSON-RPC, with the codes of Agave. */
class RpcFault extends Error {
  readonly code: number
  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

const commitments: Readonly<Record<Commitment, number>> = { processed: 0, confirmed: 1, finalized: 2 }

const commitmentIn = (options: any): Commitment => options?.commitment ?? "finalized"

const tokenBalances = (ledger: SolanaLedger, balances: LedgerTransaction["before"]) =>
  balances.flatMap(({ token }, accountIndex) =>
    token === null ? [] : [{
      accountIndex,
      mint: token.mint,
      owner: token.owner,
      programId: token.program,
      uiTokenAmount: {
        amount: `${token.amount}`,
        decimals: ledger.decimalsOf(token.mint),
        uiAmount: null,
        uiAmountString: `${token.amount}`
      }
    }]
  )

const shownTransaction = (ledger: SolanaLedger, found: LedgerTransaction) => ({
  slot: found.slot,
  blockTime: ledger.timeOf(found.slot) ?? null,
  version: 0,
  transaction: {
    signatures: [found.signature],
    message: {
      accountKeys: found.keys.slice(0, found.keys.length - found.loaded.writable.length - found.loaded.readonly.length),
      header: { numRequiredSignatures: found.signers, numReadonlySignedAccounts: 0, numReadonlyUnsignedAccounts: 0 },
      instructions: found.instructions,
      recentBlockhash: ledger.genesisHash
    }
  },
  meta: {
    err: found.error,
    fee: 5_000,
    preBalances: found.before.map(({ lamports }) => Number(lamports)),
    postBalances: found.after.map(({ lamports }) => Number(lamports)),
    preTokenBalances: tokenBalances(ledger, found.before),
    postTokenBalances: tokenBalances(ledger, found.after),
    innerInstructions: found.inner,
    loadedAddresses: found.loaded,
    logMessages: []
  }
})

const methodsOf = (ledger: SolanaLedger): Readonly<Record<string, (params: ReadonlyArray<any>) => unknown>> => {
  const isVisible = (found: LedgerTransaction, options: any) =>
    commitments[ledger.commitmentOf(found)] >= commitments[commitmentIn(options)]
  const statusOf = (signature: string) => {
    const found = ledger.transactions.find((each) => each.signature === signature)
    return found === undefined ? null : {
      slot: found.slot,
      confirmations: null,
      err: found.error,
      confirmationStatus: ledger.commitmentOf(found)
    }
  }
  return {
    getHealth: () => "ok",
    getGenesisHash: () => ledger.genesisHash,
    getSlot: ([options]) => ledger.slotAt(commitmentIn(options)),
    getBlockTime: ([slot]) => {
      const time = ledger.timeOf(slot)
      if (slot < ledger.firstSlot) throw new RpcFault(-32_001, `Block ${slot} cleaned up, does not exist on node.`)
      if (time === undefined) throw new RpcFault(-32_009, `Slot ${slot} was skipped, or missing in long-term storage`)
      return time
    },
    getBlocks: ([from, to, options]) => {
      const end = Math.min(to, ledger.slotAt(commitmentIn(options)))
      if (to - from > 500_000) throw new RpcFault(-32_602, "Slot range too large; max 500000")
      const slots = Array.from({ length: Math.max(0, end - from + 1) }, (_, place) => from + place)
      return slots.filter((slot) => ledger.timeOf(slot) !== undefined)
    },
    getSignaturesForAddress: ([key, options]) => {
      const shown = ledger.transactions
        .filter((each) =>
          each.keys.includes(key) && isVisible(each, options) && each.slot <= ledger.slot - ledger.indexLag
        )
        .toReversed()
      const before = options?.before === undefined
        ? -1
        : shown.findIndex(({ signature }) => signature === options.before)
      // A node that does not know the signature has nothing before it, but everything after it.
      const older = options?.before !== undefined && before < 0 ? [] : shown.slice(before + 1)
      const until = older.findIndex(({ signature }) => signature === options?.until)
      const limited = (until < 0 ? older : older.slice(0, until)).slice(0, Math.min(1_000, options?.limit ?? 1_000))
      return limited.map((each) => ({
        signature: each.signature,
        slot: each.slot,
        err: each.error,
        memo: ledger.memoOf(each),
        blockTime: ledger.timeOf(each.slot) ?? null,
        confirmationStatus: ledger.commitmentOf(each)
      }))
    },
    getTransaction: ([signature, options]) => {
      const found = ledger.transactions.find((each) => each.signature === signature)
      if (found === undefined || !isVisible(found, options)) return null
      if (options?.maxSupportedTransactionVersion === undefined) {
        throw new RpcFault(-32_015, "Transaction version (0) is not supported by the requesting client")
      }
      return shownTransaction(ledger, found)
    },
    getSignatureStatuses: ([signatures, options]) => {
      if (signatures.length > 256) throw new RpcFault(-32_602, "Too many inputs provided; max 256")
      const oldest = ledger.slot - 150
      return {
        context: { slot: ledger.slotAt("processed") },
        value: signatures.map((signature: string) => {
          const status = statusOf(signature)
          return status === null || (status.slot < oldest && options?.searchTransactionHistory !== true) ? null : status
        })
      }
    },
    getMultipleAccounts: ([keys, options]) => {
      if (keys.length > 100) throw new RpcFault(-32_602, "Too many inputs provided; max 100")
      const commitment = commitmentIn(options)
      return {
        context: { slot: ledger.slotAt(commitment), apiVersion: "3.0.0" },
        value: keys.map((key: string) => {
          const account = ledger.accountAt(key, commitment)
          if (account === null) return null
          const { offset = 0, length = account.data.length } = options?.dataSlice ?? {}
          return {
            lamports: Number(account.lamports),
            owner: account.owner,
            executable: account.executable,
            rentEpoch: 0,
            space: account.data.length,
            data: [Buffer.from(account.data.subarray(offset, offset + length)).toString("base64"), "base64"]
          }
        })
      }
    },
    getEpochInfo: ([options]) => {
      const slot = ledger.slotAt(commitmentIn(options))
      return { absoluteSlot: slot, blockHeight: ledger.blockHeightAt(slot), epoch: 0, slotIndex: slot }
    },
    getMinimumBalanceForRentExemption: ([length]) => Number(ledger.svm.minimumBalanceForRentExemption(BigInt(length))),
    simulateTransaction: ([wire]) => ({
      context: { slot: ledger.slot },
      value: { err: ledger.simulate(Buffer.from(wire, "base64")), logs: [], accounts: null }
    }),
    getLatestBlockhash: ([options]) => ({
      context: { slot: ledger.slotAt(commitmentIn(options)) },
      value: ledger.giveBlockhash(commitmentIn(options))
    }),
    sendTransaction: ([wire]) => ledger.execute(Buffer.from(wire, "base64"))
  }
}

const answerOf = (methods: ReturnType<typeof methodsOf>, { method, params }: RigCall): RigReply => {
  const run = methods[method]
  if (run === undefined) return { error: { code: -32_601, message: "Method not found" } }
  try {
    return { result: run(params) ?? null }
  } catch (error) {
    const code = error instanceof RpcFault ? error.code : -32_603
    return { error: { code, message: error instanceof Error ? error.message : String(error) } }
  }
}

/** A node in front of a ledger, until the scope closes. Several nodes may stand before one ledger. */
export const solanaNode = (ledger: SolanaLedger): Effect.Effect<SolanaNode, never, Scope.Scope> =>
  Effect.gen(function*() {
    const methods = methodsOf(ledger)
    const calls: Array<RigCall> = []
    let fault: RigFault | null = null
    let counted = 0

    const send = (response: ServerResponse, id: unknown, reply: RigReply) => {
      if (reply === "held") return
      if (reply === "cut") return void response.destroy()
      response.setHeader("content-type", "application/json")
      if ("status" in reply) {
        response.statusCode = reply.status
        response.end(reply.body)
      } else response.end(JSON.stringify({ jsonrpc: "2.0", id, ...reply }))
    }
    const server = yield* Effect.acquireRelease(
      Effect.callback<ReturnType<typeof createServer>>((resume) => {
        const made = createServer((request, response) => {
          const chunks: Array<Buffer> = []
          request.on("data", (chunk: Buffer) => chunks.push(chunk))
          request.on("end", () => {
            const { id, method, params = [] } = JSON.parse(Buffer.concat(chunks).toString("utf8"))
            const call: RigCall = { method, params }
            calls.push(call)
            const ask = () => {
              const answer = answerOf(methods, call)
              return typeof answer === "object" && "result" in answer ? answer.result : null
            }
            send(response, id, fault?.(call, ask) ?? answerOf(methods, call))
          })
        })
        // A test that computes for seconds must not find its idle connections closed.
        made.keepAliveTimeout = 600_000
        made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
      }),
      (made) =>
        Effect.callback<void>((resume) => {
          made.close(() => resume(Effect.void))
          made.closeAllConnections()
        })
    )
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      calls: () => calls,
      count: () => {
        const since = calls.slice(counted)
        counted = calls.length
        return Object.fromEntries(
          [...Map.groupBy(since, ({ method }) => method)].map(([method, of]) => [method, of.length])
        )
      },
      set: (next) => {
        fault = next
      }
    }
  })
