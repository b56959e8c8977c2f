/**
 * Ways to spoil a history by hand, each with the promise that it breaks: the judge has to notice every one. What is
 * spoiled is a plain payment, because only there it is certain that the promise breaks: where an invoice has several
 * payments, or a transaction pays several invoices, another one may make the spoiled history a right one.
 */
import { type FinalFact, type History, type InvoiceFact, worthOf } from "./Checker.ts"
import { inactiveToken, strangeToken, type Transfer, usdc } from "./TestChain.ts"

/** An invoice that was paid in time, by one transfer in a transaction of its own, which stayed on the chain. */
interface PlainPayment {
  readonly fact: InvoiceFact
  readonly final: FinalFact
  readonly transfer: Transfer
}

type Spoil = (history: History, plain: PlainPayment) => History

/** usd_millis from which on a payment waits for both nodes, so that it may be late. */
const largeMillis = 1_000_000

const isCounted = (payment: Readonly<Record<string, any>>) => ["confirmed", "underpaid"].includes(payment["status"])

/** Whether a payment of the invoice begins to count: some are seen first when they are deep enough. */
const isCrediting = ({ object, previous, type }: History["events"][number], invoiceId: string) =>
  type.startsWith("invoice_payment.") && object["invoice_id"] === invoiceId && isCounted(object) &&
  (type.endsWith(".created") || previous["status"] === "pending")

/** The first plain payment of a history. */
export const findPlainPayment = (history: History): PlainPayment => {
  const blocks = history.chain.flatMap((one) => one._tag === "Block" ? [one] : [])
  const plainOf = (fact: InvoiceFact): ReadonlyArray<PlainPayment> => {
    const final = history.finals.find(({ invoice }) => invoice["id"] === fact.id)
    const given = history.addresses.filter(({ invoiceId }) => invoiceId === fact.id)
    const found = blocks.flatMap(({ time, transfers }) =>
      transfers.filter(({ to }) => to === fact.address).map((transfer) => ({ time, transfer }))
    )
    const [{ transfer } = { transfer: undefined }] = found
    const isPlain = transfer !== undefined && final?.invoice["status"] === "paid" &&
      new Set(given.map(({ address }) => address)).size === 1 && fact.amount < largeMillis && !transfer.internal &&
      found.every(({ time, transfer: { index, tx } }) =>
        time < fact.expiresAt && tx === transfer.tx && index === transfer.index
      ) &&
      blocks.every(({ transfers }) => transfers.every(({ to, tx }) => tx !== transfer.tx || to === fact.address)) &&
      final.payments.some((one) => isCounted(one) && one["payer_tx_hash"] === transfer.tx) &&
      history.events.some((event) => isCrediting(event, fact.id))
    return isPlain ? [{ fact, final, transfer }] : []
  }
  const [plain] = history.invoices.flatMap(plainOf)
  if (plain === undefined) throw new Error("The history has no plain payment: let more customers come.")
  return plain
}

/** The first of `all` that is so, changed. */
const changed = <A extends object>(all: ReadonlyArray<A>, which: (one: A) => boolean, by: (one: A) => Partial<A>) => {
  const at = all.findIndex(which)
  if (at < 0) throw new Error("The history has nothing that can be spoiled in this way.")
  return all.with(at, { ...all[at]!, ...by(all[at]!) })
}

/** The event by which the payment began to count. */
const crediting = (by: (object: History["events"][number]["object"]) => object): Spoil => (history, { fact }) => ({
  ...history,
  events: changed(history.events, (event) => isCrediting(event, fact.id), ({ object }) => ({
    object: { ...object, ...by(object) }
  }))
})

const finalOf = (by: (final: FinalFact) => Partial<FinalFact>): Spoil => (history, { fact }) => ({
  ...history,
  finals: changed(history.finals, ({ invoice }) => invoice["id"] === fact.id, by)
})

const factOf = (by: (fact: InvoiceFact) => Partial<InvoiceFact>): Spoil => (history, { fact }) => ({
  ...history,
  invoices: changed(history.invoices, ({ id }) => id === fact.id, by)
})

/** The invoice is told to have expired, so many milliseconds after its end. */
const expired = (afterMillis: number): Spoil => (history, { fact, final }) => ({
  ...history,
  events: [...history.events, {
    at: fact.expiresAt * 1000 + afterMillis,
    type: "invoice.expired",
    object: final.invoice,
    previous: {}
  }]
})

/** The invoice is told to have expired when everything was over. */
const expiredInTheEnd: Spoil = (history, { fact, final }) => ({
  ...history,
  events: [...history.events, {
    at: Math.max(history.endedAt, fact.expiresAt * 1000) + 1_000,
    type: "invoice.expired",
    object: final.invoice,
    previous: {}
  }]
})

const strangeTx = `0x${"5e".repeat(32)}`

/** One more block, with a transfer of a token to the invoice's address. */
const received = (token: string): Spoil => (history, { fact }) => {
  const transfer = { tx: strangeTx, index: 1, to: fact.address!, token, amount: 5_000_000n, internal: false }
  const last = history.chain.findLast((one) => one._tag === "Block")!
  return last._tag === "Block"
    ? { ...history, chain: [...history.chain, { ...last, height: last.height + 1, transfers: [transfer] }] }
    : history
}

/** Nobody ever sent anything to it. */
const isUntouched = ({ chain, invoices }: History, { invoice }: FinalFact) => {
  const address = invoices.find(({ id, lost }) => id === invoice["id"] && !lost)?.address
  return invoice["amount_paid"] === 0 && address !== undefined &&
    !chain.some((one) => one._tag === "Block" && one.transfers.some(({ to }) => to === address))
}

/** By what is wrong: the promise that is broken, and how. */
export const spoilers: Readonly<Record<string, readonly [string, Spoil]>> = {
  "a credit that no block holds": ["credit", crediting(() => ({ payer_tx_hash: `0x${"ab".repeat(32)}` }))],
  "a credit of more than came": ["credit", crediting(({ amount }: any) => ({ amount: amount + 1 }))],
  "a credit before its depth": ["credit", factOf(() => ({ requiredDepth: 1_000_000 }))],
  "a credit from a balance that nobody has": ["credit", (history, plain) => {
    const chain = history.chain.map((one) => one._tag === "Block" ? { ...one, transfers: [] } : one)
    return crediting(() => ({ payer_tx_hash: null }))({ ...history, chain }, plain)
  }],
  "a credit of a payment that had left the chain": ["credit", (history) => ({
    ...history,
    chain: history.chain.flatMap((one): History["chain"] =>
      one._tag === "Block" ? [one, { _tag: "Undone", at: one.at + 1, above: one.height - 1 }] : [one]
    ),
    events: history.events.map((event) => ({ ...event, at: event.at + 3_600_000 }))
  })],
  "an invoice that expired though it was paid": ["expiry", expiredInTheEnd],
  "an invoice that expired though a copy restored since knew its address": [
    "expiry",
    (history, plain) =>
      expiredInTheEnd({ ...history, restores: [{ backupAt: history.endedAt, at: history.endedAt }] }, plain)
  ],
  "an invoice that expired before its end": ["expiry", expired(-60_000)],
  "a transfer that counts twice": [
    "twice",
    finalOf(({ payments }) => ({
      payments: [...payments, ...payments.filter(isCounted)]
    }))
  ],
  "an invoice that counts more than ever came": ["twice", (history, { fact, transfer }) => ({
    ...history,
    events: changed(
      history.events,
      ({ object, type }) => type === "invoice.paid" && object["id"] === fact.id,
      ({ object }) => ({ object: { ...object, amount_paid: worthOf(transfer)! + 1 } })
    )
  })],
  "an address of two invoices": ["address", (history, { fact }) => {
    const other = history.invoices.find(({ id }) => id !== fact.id)!
    return {
      ...history,
      addresses: [...history.addresses, { at: history.endedAt, invoiceId: other.id, address: fact.address! }]
    }
  }],
  "a payment to a lost invoice without an exception": ["lost", factOf(() => ({ lost: true }))],
  "a payment to a lost address without an exception": ["lost", factOf(() => ({ address: `0x${"cd".repeat(20)}` }))],
  "a paid invoice that stands open": [
    "state",
    finalOf(({ invoice }) => ({
      invoice: { ...invoice, status: "unpaid", amount_paid: 0 }
    }))
  ],
  "an invoice with too little": [
    "state",
    finalOf(({ invoice }) => ({
      invoice: { ...invoice, amount_paid: invoice["amount_paid"] - 1 }
    }))
  ],
  "an open invoice that stands paid": ["state", (history) => ({
    ...history,
    finals: changed(history.finals, (final) => isUntouched(history, final), ({ invoice }) => ({
      invoice: { ...invoice, status: "paid", amount_paid: invoice["amount"] }
    }))
  })],
  "an invoice that is gone": ["state", (history, { fact }) => ({
    ...history,
    finals: history.finals.filter(({ invoice }) => invoice["id"] !== fact.id)
  })],
  "a payment that stays pending": [
    "state",
    finalOf(({ payments }) => ({
      payments: [...payments, { ...payments[0]!, status: "pending", payer_tx_hash: `0x${"ef".repeat(32)}` }]
    }))
  ],
  "a payment that came and is not told": ["state", received(usdc.toLowerCase())],
  "a wrong token that nobody is shown": ["state", received(inactiveToken.toLowerCase())],
  "a payment that waited for a node": ["delay", (history) => ({
    ...history,
    standstills: [{ from: 0, until: Infinity }],
    events: history.events.filter(({ type }) => !type.startsWith("invoice_payment."))
  })],
  "a record for each log of a strange token": ["flood", (history, plain) =>
    finalOf(({ payments }) => ({
      payments: [...payments, ...[1, 2, 3, 4, 5, 6].map(() => ({ status: "rejected", payer_tx_hash: strangeTx }))]
    }))(received(strangeToken.toLowerCase())(history, plain), plain)]
}
