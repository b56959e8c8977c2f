/** A merchant's wallet on a Solana ledger that signs what payouts export, as wallets do it: with `@solana/kit`. */
import {
  appendTransactionMessageInstructions,
  compileTransaction,
  decompileTransactionMessage,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  getTransactionEncoder,
  type Instruction,
  signTransaction
} from "@solana/kit"
import { Effect } from "effect"
import type { SolanaOptions } from "../../modules/chains/solana.ts"
import type { PayoutExport, PayoutLine, PayoutPart, PayoutSearchRequest } from "../../runtime/Payouts.ts"
import { baseUnits } from "../../schemas/Money.ts"
import { openSolana, unit } from "./SolanaChain.ts"

export const lineOf = (
  destination: string,
  tokenAddress: string | null,
  amount: bigint,
  more: Partial<PayoutLine> = {}
): PayoutLine => ({
  destination,
  memo: null,
  tokenAddress,
  symbol: tokenAddress === null ? "SOL" : "USDC",
  decimals: tokenAddress === null ? 9 : 6,
  amount: baseUnits(amount),
  reference: "re_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10",
  ...more
})

export const batchId = "bat_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10"

/** What a wallet reads in the bytes that it is given. */
export const readPayload = (payload: string) => {
  const { transaction, ...rest } = JSON.parse(payload)
  const decoded = getTransactionDecoder().decode(Buffer.from(transaction, "base64"))
  const compiled = getCompiledTransactionMessageDecoder().decode(decoded.messageBytes)
  return { ...rest, bytes: Buffer.from(transaction, "base64"), decoded, message: decompileTransactionMessage(compiled) }
}

/** Instructions that the wallet adds; and what malware does to the others before they are signed. */
type Changes = [
  added?: ReadonlyArray<Instruction>,
  edit?: (instructions: ReadonlyArray<Instruction>) => ReadonlyArray<Instruction>
]

export const openPayouts = (count = 1, more: Partial<SolanaOptions> = {}) =>
  Effect.gen(function*() {
    const chain = yield* openSolana(more, count)
    const { bank, driver, ledger } = chain
    const payouts = driver.payouts!
    const from: string = bank.payer.address
    const partOf = (lines: ReadonlyArray<PayoutLine>, part = 1): PayoutPart => ({
      _tag: "Payout",
      batchId,
      part,
      from,
      lines
    })
    const build = (
      part: PayoutPart,
      format: PayoutExport["format"] = "solana",
      spentInputs: ReadonlyArray<string> = []
    ) => payouts.build({ part, format, validUntil: 0, spentInputs: new Set(spentInputs) })
    /** Signs an export with the merchant's key. */
    const sign = (
      { payload }: PayoutExport,
      ...[added = [], edit = (all) => all]: Changes
    ) =>
      Effect.promise(async () => {
        const { message } = readPayload(payload)
        const changed = { ...message, instructions: [...edit(message.instructions)] } as typeof message
        const transaction = compileTransaction(appendTransactionMessageInstructions([...added], changed) as never)
        const signed = await signTransaction([bank.payer.keyPair], transaction as never)
        return Uint8Array.from(getTransactionEncoder().encode(signed as never))
      })
    const execute = (exported: PayoutExport, ...changes: Changes) =>
      Effect.map(sign(exported, ...changes), (wire) => {
        const txHash = ledger.execute(wire)
        ledger.advance()
        return txHash
      })
    const search = (
      part: PayoutPart,
      exported: PayoutExport,
      asked: Partial<Pick<PayoutSearchRequest, "from" | "hint">> = {}
    ) => payouts.search({ part, export: exported, from: exported.builtAt, hint: null, ...asked })
    return { ...chain, payouts, from, partOf, build, sign, execute, search, unit }
  })
