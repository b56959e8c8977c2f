/** What a payment link says beside the payment: pure. */
import type { PaymentWords } from "../../../runtime/Chains.ts"
import type { InvoiceState } from "../../invoices/plugin.ts"

/**
 * Characters of a word in a payment link, percent-encoded, at most: with two of them a Solana Pay link still fits into
 * a code of 73 modules, which holds 458 bytes (ISO/IEC 18004, version 14, level L).
 */
export const maximumWordLength = 96

/** As much of a text as a payment link has room for; null: nothing is there. */
const linkWord = (text: string | null): string | null => {
  const characters = [...(text ?? "").toWellFormed().trim()]
  const fitting = characters.slice(0, maximumWordLength).reduce(
    ({ isFull, word }, character) =>
      isFull || encodeURIComponent(word + character).length > maximumWordLength
        ? { isFull: true, word }
        : { isFull: false, word: word + character },
    { isFull: false, word: "" }
  )
  const word = fitting.word.trim()
  return word === "" ? null : word
}

/**
 * What a payment link says beside the payment, in a wallet that shows it: who is paid, and for what. Both are on the
 * payment page, too.
 */
export const paymentWords = (
  merchantName: string,
  { description, title }: Pick<InvoiceState["details"], "description" | "title">
): PaymentWords => ({ label: linkWord(merchantName), message: linkWord(title ?? description) })
