/**
 * Goal: a batch of payouts is approved by what it is worth when it is approved, not only when it was made.
 * Method: the real approval over a stored batch; prices and what was counted for the day are the test's.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { type BatchState } from "../../../modules/batches/machine.ts"
import { newBatch, newLines } from "../../../modules/batches/rules.ts"
import { approveBatch } from "../../../modules/batches/service/BatchDecisions.ts"
import type { BatchServices } from "../../../modules/batches/service/BatchServices.ts"
import { noCause } from "../../../runtime/Commit.ts"
import { soleOwner } from "../../../runtime/Members.ts"
import { PriceUnavailable } from "../../../runtime/Prices.ts"
import { baseUnits, type UsdMillis, usdMillis } from "../../../schemas/Money.ts"
import { receiver, wallet } from "./BatchShop.ts"

const owner = { merchantId: 1, environment: "devnet" } as const
const decimals = 18
const coin = 10n ** BigInt(decimals)

/** One coin, which was worth 100 dollars when the batch was made; `parts`: in so many lines. */
const payouts = (parts = 1n): BatchState =>
  newBatch({
    ...owner,
    id: "bat_1",
    kind: "payouts",
    network: "base",
    from: wallet,
    validForSeconds: 86_400,
    metadata: {},
    contentHash: "hash",
    approvalsRequired: 1,
    lines: newLines(
      Array.from({ length: Number(parts) }, () => ({
        tokenId: 1,
        symbol: "ETH",
        decimals,
        tokenAddress: null,
        units: baseUnits(coin / parts),
        amount: usdMillis(100_000n / parts),
        destination: { address: receiver, memo: null },
        source: null,
        reference: "supplier",
        refundId: null
      })),
      [Number(parts)]
    ),
    searchedTo: null,
    createdBy: "key_1",
    now: 1_000
  })

/** The batch after one person's approval, and what was counted for the day. `dollars` of a coin now; null: no price. */
const approveAt = (dollars: bigint | null, batch = payouts()) =>
  Effect.gen(function*() {
    const counted: Array<UsdMillis | null> = []
    const services = {
      approvals: { prove: () => Effect.succeed(null), record: () => Effect.succeed([]) },
      auditLog: { writesOf: () => Effect.succeed([]) },
      catalog: { get: () => ({ id: 1, network: "base", environment: "devnet", symbol: "ETH", decimals }) },
      clock: { nowSeconds: () => Effect.succeed(2_000) },
      commit: { append: () => Effect.void },
      members: { list: () => Effect.succeed([soleOwner, { person: "per_ines", role: "admin" }]) },
      prices: {
        spot: () =>
          dollars === null
            ? new PriceUnavailable({ symbol: "ETH", reason: "stale", retryAfterSeconds: 15 })
            : Effect.succeed({ rate: { numerator: dollars, denominator: 1n } })
      },
      refunds: {
        countSoleApproval: (_owner: unknown, value: UsdMillis | null) => Effect.sync(() => (counted.push(value), [])),
        findAll: () => Effect.succeed([])
      },
      repo: { find: () => Effect.succeed(batch) },
      settings: {
        forInvoices: () => Effect.succeed({ auto_approve_limit: 500_000, auto_approve_limit_day: 2_000_000 })
      }
    } as unknown as BatchServices
    const { approvals, approvalsRequired } = yield* approveBatch(services)(
      owner,
      batch.id,
      { kind: "wallet", credential: "wallet", person: soleOwner.person, role: "owner" },
      { cause: noCause, reply: () => undefined }
    )
    return { counted, given: approvals.length, required: approvalsRequired }
  })

it.effect("a payout that is worth more now than the limit of one person needs two", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* approveAt(501n), { counted: [], given: 1, required: 2 })
    assert.deepStrictEqual(yield* approveAt(500n), { counted: [usdMillis(500_000n)], given: 1, required: 1 })
  }))

it.effect("one that is worth less now counts as what it was worth when it was made", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* approveAt(1n), { counted: [usdMillis(100_000n)], given: 1, required: 1 })
  }))

it.effect("without a price now nobody knows its worth, so it needs two", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* approveAt(null), { counted: [], given: 1, required: 2 })
  }))

it.effect("lines of one token are worth their sum, however small each is", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* approveAt(501n, payouts(200n)), { counted: [], given: 1, required: 2 })
  }))
