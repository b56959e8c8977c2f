/**
 * Goal: the judge of `test/journeys/chaos.long.test.ts` finds nothing in a right history, and every broken promise in a
 * wrong one, whatever else is in the history.
 * Method: a history of six invoices, written by hand; then spoiled in every way.
 */
import { assert, describe, it } from "@effect/vitest"
import {
  type AddressFact,
  checkHistory,
  type EventFact,
  type History,
  type InvoiceFact
} from "../support/chaos/Checker.ts"
import { findPlainPayment, spoilers } from "../support/chaos/Spoilers.ts"
import { type ChainFact, type Transfer, usdc } from "../support/chaos/TestChain.ts"

const began = 1_800_000_000
const addressOf = (id: string) => `0x${id.charCodeAt(0).toString(16).padStart(40, "0")}`
const txOf = (name: string) => `0x${Buffer.from(name).toString("hex").padStart(64, "0")}`

const transferOf = (tx: string, index: number, id: string, millis: number): Transfer => ({
  tx: txOf(tx),
  index,
  to: addressOf(id),
  token: usdc.toLowerCase(),
  amount: BigInt(millis) * 1_000n,
  internal: false
})

const together = [transferOf("together", 1, "c", 5_000), transferOf("together", 2, "d", 5_000)]

/** By height; the last one came back after its block was undone. */
const transfers = new Map([
  [3, [transferOf("plain", 1, "a", 5_000)]],
  [4, [transferOf("part", 1, "b", 1_000)]],
  [5, [transferOf("rest", 1, "b", 4_000)]],
  [6, together],
  [8, [transferOf("back", 1, "e", 5_000)]]
])

const blockAt = (height: number): ChainFact => ({
  _tag: "Block",
  at: (began + height) * 1_000,
  height,
  hash: txOf(`block ${height}`),
  time: began + height,
  transfers: transfers.get(height) ?? []
})

const heights = Array.from({ length: 20 }, (_, place) => place + 1)

/** The newest block leaves the chain, and one in its place has what it had. */
const chain: History["chain"] = heights.flatMap((height) =>
  height === 8
    ? [blockAt(8), { _tag: "Undone" as const, at: (began + 8) * 1_000 + 200, above: 7 }, {
      ...blockAt(8),
      at: (began + 8) * 1_000 + 300
    }]
    : [blockAt(height)]
)

const invoices = ["a", "b", "c", "d", "e", "f"].map((id): InvoiceFact => ({
  id,
  amount: 5_000,
  expiresAt: began + 60,
  lateNeedsPerson: false,
  requiredDepth: id === "b" ? 2 : 1,
  address: id === "d" ? null : addressOf(id),
  lost: id === "d",
  lostUnannounced: false
}))

const paymentOf = (id: string, tx: string, amount: number) => ({
  invoice_id: id,
  amount,
  status: "confirmed",
  payer_tx_hash: txOf(tx)
})

const payments = [
  { height: 3, payment: paymentOf("a", "plain", 5_000) },
  { height: 4, payment: paymentOf("b", "part", 1_000) },
  { height: 5, payment: paymentOf("b", "rest", 4_000) },
  { height: 6, payment: paymentOf("c", "together", 5_000) },
  { height: 8, payment: paymentOf("e", "back", 5_000) }
]

const invoiceOf = (id: string) => {
  const paid = payments.filter(({ payment }) => payment.invoice_id === id)
    .reduce((sum, { payment: { amount } }) => sum + amount, 0)
  return { id, amount: 5_000, amount_paid: paid, status: paid === 0 ? "unpaid" : "paid" }
}

/** Each payment is seen in its block and counts two seconds later; the rest then pays its invoice. */
const events = payments.flatMap(({ height, payment }): ReadonlyArray<EventFact> => {
  const at = (began + height + 2) * 1_000
  return [
    { at, type: "invoice_payment.updated", object: payment, previous: { status: "pending" } },
    ...payment.payer_tx_hash === txOf("part")
      ? []
      : [{ at, type: "invoice.paid", object: invoiceOf(payment.invoice_id), previous: { status: "unpaid" } }]
  ]
})

const history: History = {
  chain,
  invoices,
  addresses: invoices.map(({ id }): AddressFact => ({ at: began * 1_000, invoiceId: id, address: addressOf(id) })),
  events,
  finals: invoices.filter(({ lost }) => !lost).map(({ id }) => ({
    invoice: invoiceOf(id),
    payments: payments.filter(({ payment }) => payment.invoice_id === id).map(({ payment }) => payment)
  })),
  exceptions: [{
    type: "unmatched_payment",
    invoiceId: null,
    evidence: JSON.stringify({ tx_hash: txOf("together"), address: addressOf("d").toUpperCase().replace("X", "x") })
  }],
  restores: [],
  standstills: [],
  endedAt: (began + 25) * 1_000,
  expirySlackSeconds: 75
}

const faultsOf = (spoiled: History, promise: string) =>
  checkHistory(spoiled).faults.filter((fault) => fault.startsWith(promise))

describe("the judge of a service between nodes that fail", () => {
  it("finds nothing in a history in which every promise was kept", () => {
    assert.deepStrictEqual(checkHistory(history), { faults: [], payments: 5, worth: 20_000, reorganisations: 1 })
  })

  it.each(Object.entries(spoilers))("notices %s", (_, [promise, spoil]) => {
    assert.isAbove(faultsOf(spoil(history, findPlainPayment(history)), promise).length, 0)
  })

  it("notices a lost payment without an exception beside another one of its transaction that has one", () => {
    const lost = { ...history, invoices: invoices.map((one) => one.id === "c" ? { ...one, lost: true } : one) }
    assert.deepStrictEqual(faultsOf(lost, "lost"), [
      `lost: ${txOf("together")} to ${addressOf("c")}, lost with c, opened no exception`
    ])
  })

  it("says that more customers are needed where no invoice is paid by one transfer of its own", () => {
    assert.throws(() => findPlainPayment({ ...history, finals: [] }), "let more customers come")
  })
})
