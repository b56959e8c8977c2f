/** What somebody looks for, by the form of what they typed. Pure. */
import { parseUnits } from "../../schemas/Money.ts"
import { type Environment, networkFamilies } from "../../schemas/Network.ts"

/** Characters that are looked at: the longest form is an address of Cardano. */
export const maximumText = 255

/** Results of one search, at most. */
export const maximumResults = 20

/** Of a merchant's invoices the newest so many are compared by amount or by the end of their number. */
export const comparedInvoices = 10_000

/** Objects whose ids name their kind. */
const prefixes = {
  evt: "event",
  exc: "exception",
  re: "refund",
  bat: "batch",
  we: "webhook_endpoint",
  whd: "webhook_delivery",
  bt: "balance_transaction"
} as const

export type ObjectKind = typeof prefixes[keyof typeof prefixes]

/** One way to read a text. Several may hold at once: a Sui address looks like a hash. */
export type SearchTerm =
  | { readonly form: "object"; readonly object: ObjectKind; readonly id: string }
  | { readonly form: "invoice"; readonly id: string }
  | { readonly form: "invoice_end"; readonly end: string }
  | { readonly form: "transaction"; readonly hashes: ReadonlyArray<string> }
  | { readonly form: "address"; readonly targets: ReadonlyArray<string> }
  | { readonly form: "amount"; readonly usdMillis: bigint }
  | { readonly form: "customer"; readonly id: string }

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const endPattern = /^#?([0-9a-f]{8})$/
const objectPattern = /^(evt|exc|re|bat|we|whd|bt)_[\w-]{1,64}$/
const amountPattern = /^\$?\s?(\d{1,10}(?:\.\d{1,3})?)$/

const hashesOf = (text: string): ReadonlyArray<string> => [
  ...new Set(networkFamilies.flatMap(({ readTransactionHash }) => readTransactionHash(text) ?? []))
]

/** Ids of receive targets, `<family>:<match key>`: addresses that were given out without a memo. */
const targetsOf = (text: string, environment: Environment): ReadonlyArray<string> =>
  networkFamilies.flatMap(({ accountKey, name, readAddress }) => {
    const address = text.length > maximumText ? null : readAddress(text, environment)
    return address === null ? [] : [`${name}:${accountKey(address)}`]
  })

/** Every way in which a text can be read; the surest first. */
export const termsOf = (typed: string, environment: Environment): ReadonlyArray<SearchTerm> => {
  const text = typed.trim()
  if (text === "" || text.length > maximumText) return []
  const lower = text.toLowerCase()
  const object = objectPattern.exec(text)?.[1]
  if (object !== undefined) {
    return [{ form: "object", object: prefixes[object as keyof typeof prefixes], id: text }]
  }
  if (uuidPattern.test(lower)) return [{ form: "invoice", id: lower }]
  const end = endPattern.exec(lower)?.[1]
  const hashes = hashesOf(text)
  const targets = targetsOf(text, environment)
  const amount = amountPattern.exec(text)?.[1]
  const usdMillis = amount === undefined ? undefined : parseUnits(amount, 3)
  return [
    ...(hashes.length === 0 ? [] : [{ form: "transaction", hashes } as const]),
    ...(targets.length === 0 ? [] : [{ form: "address", targets } as const]),
    ...(end === undefined ? [] : [{ form: "invoice_end", end } as const]),
    ...(usdMillis === undefined ? [] : [{ form: "amount", usdMillis } as const]),
    { form: "customer", id: text }
  ]
}
