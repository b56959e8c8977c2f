/**
 * Goal: whatever is known of an invoice, its payor is told what is true and what to do, and never sends into the void.
 * Method: the table of states row by row; properties over every combination of status, payments, clock and route.
 */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { type Facts, type Screen, screenOf, sortPaymentMethods } from "../../../modules/checkout/rules.ts"
import { decisionsOf } from "../../../modules/checkout/rules/Decisions.ts"
import { fragment } from "../../../modules/checkout/pages.ts"
import { en } from "../../../modules/checkout/pages/texts/en.ts"
import { InvoiceStatus } from "../../../schemas/Invoice.ts"
import { PaymentStatus } from "../../../schemas/Payment.ts"
import { addressFor, detailsOf, now, paymentOf, receiver, viewOf, views } from "../../fixtures/paymentViews.ts"

const held = addressFor("25.000000")
const ended = addressFor("25.000000", { quote_valid_until: now })
const past = { expires_at: now - 1 }

const facts = (more: Partial<Facts>): Facts => ({
  details: detailsOf("unpaid"),
  address: null,
  payable: true,
  change: false,
  now,
  ...more
})

/** What is known, the screen, and the row of the table of states it stands for. */
const table: ReadonlyArray<readonly [string, Partial<Facts>, Screen]> = [
  ["nothing is chosen", {}, "choose"],
  ["a route is chosen", { address: held }, "waiting"],
  ["another route is wanted", { address: held, change: true }, "choose"],
  ["the price has ended this second", { address: ended }, "quote_ended"],
  [
    "the service says that the price has ended",
    { address: addressFor("25.000000", { quote_status: "expired" }) },
    "quote_ended"
  ],
  ["there is no price", { address: addressFor(null) }, "no_price"],
  [
    "a payment is seen",
    { details: detailsOf("unpaid", 0, [paymentOf("pending", 25_000)]), address: held },
    "confirming"
  ],
  [
    "a payment is seen while the list is asked for",
    { details: detailsOf("unpaid", 0, [paymentOf("pending", 25_000)]), address: held, change: true },
    "confirming"
  ],
  [
    "a payment is seen, and the time is over",
    { details: detailsOf("unpaid", 0, [paymentOf("pending", 25_000)], past), payable: false },
    "confirming"
  ],
  [
    "late funds are seen that the merchant takes",
    { details: detailsOf("expired", 0, [paymentOf("pending", 25_000)], past), payable: false },
    "confirming"
  ],
  [
    "a payment waits for an operator",
    { details: detailsOf("unpaid", 0, [paymentOf("manual_retry", 0)]) },
    "confirming"
  ],
  [
    "a part came",
    { details: detailsOf("underpaid", 15_000, [paymentOf("underpaid", 15_000)]), address: held },
    "partial"
  ],
  [
    "a part came and more is seen",
    {
      details: detailsOf("underpaid", 15_000, [paymentOf("underpaid", 15_000), paymentOf("pending", 10_000)]),
      address: held
    },
    "confirming"
  ],
  [
    "a part came, the price has ended",
    { details: detailsOf("underpaid", 15_000, [paymentOf("underpaid", 15_000)]), address: ended },
    "partial"
  ],
  [
    "a part came, the time is over, the rest may still come",
    { details: detailsOf("underpaid", 15_000, [paymentOf("underpaid", 15_000)], past), address: held },
    "partial"
  ],
  [
    "a part came, the time is over, so is the grace",
    { details: detailsOf("underpaid", 15_000, [paymentOf("underpaid", 15_000)], past), payable: false },
    "expired_partial"
  ],
  ["it is paid", { details: detailsOf("paid", 25_000, [paymentOf("confirmed", 25_000)]) }, "paid"],
  ["it is paid within tolerance", { details: detailsOf("paid", 24_900, [paymentOf("confirmed", 24_900)]) }, "paid"],
  [
    "a fraction of a cent too much came",
    { details: detailsOf("paid", 25_009, [paymentOf("confirmed", 25_009)]) },
    "paid"
  ],
  ["a cent too much came", { details: detailsOf("paid", 25_010, [paymentOf("confirmed", 25_010)]) }, "overpaid"],
  [
    "it is paid, and more is seen",
    { details: detailsOf("paid", 25_000, [paymentOf("confirmed", 25_000), paymentOf("pending", 25_000)]) },
    "paid"
  ],
  ["the time is over", { details: detailsOf("expired", 0, [], past), payable: false }, "expired"],
  [
    "the time is over, and nobody has noted it yet",
    { details: detailsOf("unpaid", 0, [], past), payable: false },
    "expired"
  ],
  [
    "the merchant refuses what came late",
    { details: detailsOf("expired", 0, [paymentOf("rejected", 25_000)], past), payable: false },
    "late"
  ],
  [
    "something worthless came late",
    { details: detailsOf("expired", 0, [paymentOf("rejected", 0)], past), payable: false },
    "rejected"
  ],
  ["it is canceled", { details: detailsOf("canceled"), payable: false }, "canceled"],
  [
    "something came after it was canceled",
    { details: detailsOf("canceled", 0, [paymentOf("rejected", 25_000)]), payable: false },
    "canceled"
  ],
  [
    "a payment was reversed",
    { details: detailsOf("unpaid", 0, [paymentOf("reverted", 25_000)]), address: held },
    "reversed"
  ],
  [
    "a payment was reversed and came again",
    { details: detailsOf("unpaid", 0, [paymentOf("reverted", 25_000), paymentOf("pending", 25_000)]), address: held },
    "confirming"
  ],
  [
    "a payment was reversed, and the time is over",
    { details: detailsOf("expired", 0, [paymentOf("reverted", 25_000)], past), payable: false },
    "reversed"
  ],
  [
    "something else arrived",
    { details: detailsOf("unpaid", 0, [paymentOf("rejected", 0)]), address: held },
    "rejected"
  ],
  [
    "something else arrived after a part",
    {
      details: detailsOf("underpaid", 15_000, [paymentOf("underpaid", 15_000), paymentOf("rejected", 0)]),
      address: held
    },
    "partial"
  ]
]

describe("the screen", () => {
  for (const [what, more, screen] of table) {
    it(`is ${screen} when ${what}`, () => {
      assert.strictEqual(screenOf(facts(more)), screen)
    })
  }

  it("is reached by a view of each", () => {
    for (const [name, view] of Object.entries(views)) assert.strictEqual(view.screen, name)
  })

  const Routes = Schema.Literals(["none", "held", "ended", "unpriced"])
  const routes = { none: null, held, ended, unpriced: addressFor(null) }

  it.prop("is there for every combination, and shows an address only where the invoice can be paid", [
    InvoiceStatus,
    Schema.Array(PaymentStatus).check(Schema.isMaxLength(4)),
    Schema.Boolean,
    Schema.Boolean,
    Schema.Boolean,
    Routes
  ], ([status, statuses, isPast, isOpen, change, route]) => {
    const isPayable = isOpen && (status === "unpaid" || status === "underpaid")
    const payments = statuses.map((each, index) => paymentOf(each, index % 2 === 0 ? 10_000 : 0))
    const paid = status === "paid" ? 25_000 : status === "underpaid" ? 10_000 : 0
    const details = detailsOf(status, paid, payments, isPast ? past : {})
    const known = facts({ details, address: routes[route], payable: isPayable, change })
    const view = viewOf(known)
    const text = fragment(view, en)
    assert.include(text, `data-screen="${view.screen}"`)
    assert.match(text, /<h1 tabindex="-1">[^<]+<\/h1>/)
    const shows = text.replaceAll(/<[^>]*>/g, "").includes(receiver)
    if (shows) assert.isTrue(isPayable)
    const must = isPayable && status === "unpaid" && route !== "none" && !change && payments.length === 0
    if (must) assert.isTrue(shows)
  })
})

describe("the ways to pay", () => {
  const way = (token_symbol: string, network: "base" | "ethereum", stable: boolean, reason: string | null = null) => ({
    token_symbol,
    network,
    supports_stable_settlement: stable,
    unavailable_reason: reason
  })

  it("are told most people's first: what can be paid, dollar coins, cheap networks, names", () => {
    const ways = [
      way("USDT", "base", true, "RATE_STALE"),
      way("ETH", "ethereum", false),
      way("USDC", "ethereum", true),
      way("WETH", "base", false),
      way("ETH", "base", false),
      way("USDC", "base", true)
    ]
    assert.deepStrictEqual(
      sortPaymentMethods(ways).map(({ network, token_symbol }) => `${token_symbol} ${network}`),
      ["USDC base", "USDC ethereum", "ETH base", "WETH base", "ETH ethereum", "USDT base"]
    )
  })
})

describe("what a merchant has decided", () => {
  const decided = (action: string, resolvedAt = 7) => ({ resolution: { action }, resolvedAt }) as never
  const refund = (status: string, txHash: string | null = null) =>
    ({ status, txHash, tokenAmount: "4.99", tokenSymbol: "USDC" }) as never
  const urlOf = ({ txHash }: { readonly txHash: string | null }) => txHash && `https://explorer.example/${txHash}`

  it("is told of what was accepted, kept or given back, and of nothing else", () => {
    const open = { resolution: null, resolvedAt: null } as never
    assert.deepStrictEqual(
      decisionsOf([open, decided("accept"), decided("ignore"), decided("refund"), decided("credit", 8)], [], urlOf),
      [{ kind: "accepted", at: 7 }, { kind: "kept", at: 8 }]
    )
    const states = [
      "awaiting_destination",
      "pending_approval",
      "processing",
      "failed",
      "succeeded",
      "canceled",
      "expired"
    ]
    assert.deepStrictEqual(
      decisionsOf([], states.map((status) => refund(status)), urlOf).map((each) =>
        each.kind === "refund" && each.state
      ),
      ["awaited", "under_way", "under_way", "under_way", "done"]
    )
    assert.deepStrictEqual(decisionsOf([], [refund("succeeded", "0xab")], urlOf), [{
      kind: "refund",
      state: "done",
      tokenAmount: "4.99",
      symbol: "USDC",
      txHash: "0xab",
      explorerUrl: "https://explorer.example/0xab"
    }])
  })
})
