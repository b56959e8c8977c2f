/** A funded ledger whose transactions are read as the driver reads them, and one wallet with two invoices. */
import { Effect, Schema } from "effect"
import { referenceOf, sharedTargetOf } from "../../modules/chains/solana/PaymentCode.ts"
import { ChainTransaction, transfersOf } from "../../modules/chains/solana/Transactions.ts"
import { SolanaLedger } from "./SolanaLedger.ts"
import { newAddress, openBank } from "./SolanaPayments.ts"
import { solanaNode } from "./SolanaRig.ts"

export const openReader = Effect.gen(function*() {
  const ledger = new SolanaLedger()
  const bank = yield* openBank(ledger)
  const node = yield* solanaNode(ledger)
  const wallet = yield* newAddress
  const target = (id: string) => sharedTargetOf(wallet, id)
  const reference = (id: string) => referenceOf(wallet, target(id).memo!)
  const keys = new Set([wallet, ...["a", "b"].map((id) => target(id).matchKey)])
  /** What a transaction brought: of the coin or token, how much, to which key. */
  const read = (signature: string, more: ReadonlyArray<string> = []) =>
    Effect.promise(async () => {
      ledger.advance()
      const response = await fetch(node.url, {
        method: "POST",
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: 1,
          method: "getTransaction",
          params: [signature, { commitment: "confirmed", encoding: "json", maxSupportedTransactionVersion: 0 }]
        })
      })
      const { result }: any = await response.json()
      const transaction = Schema.decodeUnknownSync(ChainTransaction)(result)
      return transfersOf(transaction, transaction.blockTime!, { has: (key) => keys.has(key) || more.includes(key) })
    })
  const facts = (signature: string, more?: ReadonlyArray<string>) =>
    Effect.map(
      read(signature, more),
      (all) => all.map(({ amount, matchKey, tokenAddress }) => [tokenAddress, BigInt(amount), matchKey])
    )
  return { ledger, bank, wallet, target, reference, read, facts }
})
