/**
 * Goal: a refund is paid out in the token its owner would expect, and hears of what concerns it only.
 * Method: the pure rules around refunds, over tokens and facts spelled out here.
 */
import { assert, describe, it } from "@effect/vitest"
import type { Aggregate, InvoiceFact, PaymentState } from "../../../modules/invoices/plugin.ts"
import type { RefundCommand, RefundState } from "../../../modules/refunds/machine.ts"
import {
  auditActOf,
  defaultPayoutToken,
  payoutToken,
  type PayoutTokens,
  refundFact,
  refundsAfter,
  refundTriggers
} from "../../../modules/refunds/rules.ts"
import type { Token } from "../../../schemas/Token.ts"
import { usdc } from "../../fixtures/tokens.ts"

const tokensOf = (...tokens: ReadonlyArray<Token>): PayoutTokens => ({
  get: (id) => tokens.find((token) => token.id === id),
  list: () => tokens
})

const dollar = (symbol: string, id: number, more: Partial<Token> = {}): Token =>
  ({ ...usdc, id, symbol, stable: true, active: true, ...more }) as Token

const coin = dollar("ETH", 9, { stable: false, address: null, asset: "ETH" } as Partial<Token>)

const paymentOf = (more: Partial<PaymentState>) =>
  ({
    id: "pay_1",
    status: "confirmed",
    network: usdc.network,
    tokenId: null,
    confirmedAt: null,
    metadata: {},
    ...more
  }) as PaymentState

const aggregateOf = (...payments: ReadonlyArray<PaymentState>) =>
  ({ invoice: { environment: "devnet" }, payments }) as unknown as Aggregate

describe("what a refund is paid out in", () => {
  it("is USDC before other dollars, then the network's own coin, then nothing", () => {
    const { network } = usdc
    const all = [coin, dollar("USDT", 2), dollar("USDC", 1)]
    assert.strictEqual(defaultPayoutToken(tokensOf(...all), network, "devnet")?.symbol, "USDC")
    assert.strictEqual(defaultPayoutToken(tokensOf(...all.slice(0, 2)), network, "devnet")?.symbol, "USDT")
    assert.strictEqual(defaultPayoutToken(tokensOf(coin), network, "devnet")?.symbol, "ETH")
    assert.strictEqual(defaultPayoutToken(tokensOf(dollar("USDC", 1, { active: false })), network, "devnet"), null)
  })

  it("is USDT before USDC on bsc, where more dollars are held in it", () => {
    const onBsc = { network: "bsc" } as const
    const tokens = tokensOf(dollar("USDC", 1, onBsc), dollar("USDT", 2, onBsc))
    assert.strictEqual(defaultPayoutToken(tokens, "bsc", "devnet")?.symbol, "USDT")
  })

  it("is what the payor paid with there, unless that was never received or has no price", () => {
    const { network } = usdc
    const tokens = tokensOf(coin, dollar("USDC", 1))
    const symbolAfter = (payment: Partial<PaymentState>) =>
      payoutToken(tokens, aggregateOf(paymentOf(payment)), network)?.symbol
    assert.strictEqual(symbolAfter({ tokenId: 9 }), "ETH")
    assert.strictEqual(symbolAfter({ tokenId: 9, status: "reverted" }), "USDC")
    assert.strictEqual(symbolAfter({ tokenId: 404 }), "USDC")
  })
})

describe("a change of an invoice", () => {
  const refund = (id: string, amount: bigint) => ({ id, invoiceId: "inv", amount }) as unknown as RefundState

  it("shows the refunds of that invoice as they will be", () => {
    const [first, second] = [refund("re_1", 1n), refund("re_2", 2n)]
    const changed = refund("re_1", 5n)
    const elsewhere = { ...refund("re_9", 9n), invoiceId: "other" } as RefundState
    assert.deepStrictEqual(
      refundsAfter([first], "inv", [refundFact(null, changed), refundFact(null, second), refundFact(null, elsewhere)]),
      [changed, second]
    )
  })

  it("concerns refunds where the payor said an address, and money left or became final", () => {
    const before = paymentOf({ confirmedAt: null })
    const triggersOf = (changed: Partial<PaymentState>, facts: ReadonlyArray<InvoiceFact> = []) =>
      refundTriggers({
        before: aggregateOf(before),
        decision: { changedPayments: [paymentOf(changed)] } as never,
        facts
      })
    assert.strictEqual(triggersOf({}), null)
    assert.strictEqual(triggersOf({ id: "pay_new", status: "reverted" }), null)
    assert.deepStrictEqual(triggersOf({ status: "reverted" }), {
      destinations: [],
      isReverted: true,
      isNowConfirmed: false
    })
    assert.deepStrictEqual(triggersOf({ confirmedAt: 100 }), {
      destinations: [],
      isReverted: false,
      isNowConfirmed: true
    })
    const address = { _tag: "RefundAddress", destination: { network: "base", address: "0x1", memo: null, more: 1 } }
    assert.deepStrictEqual(triggersOf({}, [address as InvoiceFact]), {
      destinations: [{ network: "base", address: "0x1", memo: null }],
      isReverted: false,
      isNowConfirmed: false
    })
  })
})

describe("what the audit log keeps of a refund", () => {
  it("is its amount in base units, before its approval too, and the request that gave it an address", () => {
    const refund = { id: "re_1", amount: 5_000n, tokenAmount: null, terms: { units: 5_000_000n, approvals: [] } }
    const command: RefundCommand = {
      _tag: "SetDestination",
      destination: { network: "base", address: "0x1", memo: null }
    }
    const cause = { requestId: "req_1", idempotencyKey: null }
    const act = auditActOf(refund as never, refund as never, command, "claim_link", cause)
    assert.deepInclude(act, { action: "refund.set_destination", requestId: "req_1" })
    assert.deepStrictEqual([act.before["token_amount"], act.after["token_amount"]], ["5000000", "5000000"])
  })
})
