/** The accounts in which watched wallets receive: each wallet, and its token account of every mint in the catalogue. */
import { Effect } from "effect"
import type { DriverError, WatchSet } from "../../../runtime/Chains.ts"
import type { JsonRpcClient } from "../../../runtime/nodes/JsonRpc.ts"
import { associatedTokenAccount, tokenPrograms } from "./Addresses.ts"
import { accountsPerCall, readAccounts } from "./Node.ts"
import { decimalsOf } from "./TokenFacts.ts"

/** Token accounts derived in one turn of the event loop: one takes some 0.3 ms. */
const derivationsPerTurn = 16

/** Looks after which an address without a mint is asked again: some 10 minutes. */
const absentLooks = 300

export interface ReceivingAccounts {
  /**
   * The accounts to look at, those of open wallets first. `areAll`: those of wallets too in which no invoice is open.
   * Asks the node for mints that were not read before.
   */
  readonly keys: (
    node: JsonRpcClient,
    watch: WatchSet,
    areAll: boolean
  ) => Effect.Effect<ReadonlyArray<string>, DriverError>
}

export const makeReceivingAccounts = (): ReceivingAccounts => {
  /** The program of each mint, which never changes; a number: looks until an address without a mint is asked again. */
  const programs = new Map<string, string | number>()
  /** Token accounts by owner and mint: deriving one anew costs more than keeping it. */
  const tokenAccounts = new Map<string, string>()

  /** Mints that exist, with their programs. */
  const readMints = Effect.fnUntraced(function*(node: JsonRpcClient, tokens: ReadonlyArray<string>) {
    const due = tokens.filter((mint) => {
      const entry = programs.get(mint)
      if (typeof entry !== "number") return entry === undefined
      programs.set(mint, entry - 1)
      return entry <= 0
    })
    for (let from = 0; from < due.length; from += accountsPerCall) {
      const part = due.slice(from, from + accountsPerCall)
      const { accounts } = yield* readAccounts(node, part)
      for (const [place, account] of accounts.entries()) {
        const isMint = account !== null && tokenPrograms.has(account.owner) && decimalsOf(account) !== null
        programs.set(part[place]!, isMint ? account.owner : absentLooks)
      }
    }
    return tokens.flatMap((mint) => {
      const program = programs.get(mint)
      return typeof program === "string" ? [{ mint, program }] : []
    })
  })

  const tokenAccount = (owner: string, mint: string, program: string): Effect.Effect<string> =>
    Effect.suspend(() => {
      const name = `${owner}:${mint}`
      const existing = tokenAccounts.get(name)
      if (existing !== undefined) return Effect.succeed(existing)
      const account = associatedTokenAccount(owner, mint, program)
      tokenAccounts.set(name, account)
      return tokenAccounts.size % derivationsPerTurn === 0
        ? Effect.as(Effect.yieldNow, account)
        : Effect.succeed(account)
    })

  return {
    keys: Effect.fnUntraced(function*(node, watch, areAll) {
      const mints = yield* readMints(node, watch.tokens())
      const accounts = watch.accounts()
      const keys: Array<string> = []
      for (const { isOpen, key } of accounts) {
        if (!isOpen && !areAll) break
        keys.push(key)
        for (const { mint, program } of mints) keys.push(yield* tokenAccount(key, mint, program))
      }
      return keys
    })
  }
}
