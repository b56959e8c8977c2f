/**
 * Goal: the figures of a period add up, each difference is told with its cause, and a closed month has one place in its
 * chain. Method: properties over random movements, and examples of each fault.
 */
import { assert, describe, it } from "@effect/vitest"
import { createHash } from "node:crypto"
import { makeRandom } from "../../fixtures/histories.ts"
import { isPublicError } from "../../../schemas/Errors.ts"
import { closePeriod, closingRefusal, firstPreviousHash } from "../../../modules/reconciliation/rules/Closing.ts"
import {
  type AssetSum,
  type OwnHoldings,
  ownHoldings,
  readAdjustment
} from "../../../modules/reconciliation/rules/Adjustments.ts"
import {
  chainDifferences,
  type Comparison,
  differenceOf,
  explainedPpm,
  isExplained
} from "../../../modules/reconciliation/rules/Differences.ts"
import { flowNames, type Movement, walletFlows } from "../../../modules/reconciliation/rules/Flows.ts"
import {
  monthOf,
  nextMonth,
  previousMonth,
  readMonth,
  readPeriod
} from "../../../modules/reconciliation/rules/Periods.ts"
import {
  differencesIn,
  type Report,
  reportObject,
  type WalletReading
} from "../../../modules/reconciliation/rules/Report.ts"

const period = readMonth("2026-11")!
const at = period.from + 1_000

describe("periods", () => {
  it("are months of UTC without gaps, over the ends of years and leap years", () => {
    let month = readMonth("2023-11")!
    for (const name of ["2023-12", "2024-01", "2024-02", "2024-03"]) {
      const next = nextMonth(month)
      assert.deepStrictEqual([next.name, next.from, previousMonth(next).name], [name, month.to, month.name])
      month = next
    }
    assert.strictEqual((readMonth("2024-02")!.to - readMonth("2024-02")!.from) / 86_400, 29)
    assert.strictEqual(monthOf(period.to - 1).name, "2026-11")
    assert.strictEqual(monthOf(period.to).name, "2026-12")
  })

  it("are refused with the parameter and what it should be", () => {
    const refusal = (query: object) => {
      const read = readPeriod(query, at)
      return isPublicError(read) ? read.param : read.name
    }
    assert.strictEqual(refusal({}), "2026-11")
    for (const wrong of ["2026-13", "2026-1", "26-11", "2026-11-01", "november", "", "0000-01", "1969-12"]) {
      assert.strictEqual(refusal({ period: wrong }), "period", wrong)
    }
    assert.strictEqual(refusal({ period: "2026-11", from: "1" }), "period")
    assert.strictEqual(refusal({ from: "x" }), "from")
    assert.strictEqual(refusal({ to: "5" }), "to")
    assert.strictEqual(refusal({ from: "5", to: "5" }), "from")
    assert.strictEqual(refusal({ from: "0", to: "31622401" }), "to")
    assert.strictEqual(refusal({ from: "0", to: "31622400" }), null)
  })
})

const counterAccounts = [
  "merchant_pending",
  "merchant_available",
  "suspense",
  "suspense:ignored",
  "refund_payable",
  "network_fees",
  "adjustments"
] as const

const histories = 200

/** Up to 30 movements, the same for the same seed. */
const randomMovements = (seed: number): ReadonlyArray<Movement> => {
  const next = makeRandom(seed)
  return Array.from({ length: next(31) }, () => ({
    asset: ["base:native", "base:0xa"][next(2)]!,
    account: ["chain:one", "chain:two"][next(2)]!,
    counterAccount: counterAccounts[next(counterAccounts.length)]!,
    isBeforePeriod: next(2) === 0,
    units: BigInt(next(2_001) - 1_000),
    usdMillis: BigInt(next(2_001) - 1_000)
  }))
}

describe("the equation", () => {
  it("closing = opening + received + unmatched − refunded − paid out + collected in − collected out − fees + other", () => {
    for (let seed = 1; seed <= histories; seed++) {
      const movements = randomMovements(seed)
      const rows = walletFlows(movements)
      for (const { closing, flows, opening } of rows) {
        for (const unit of ["units", "usdMillis"] as const) {
          const incoming = (["received", "unmatched", "collected_in", "other"] as const)
            .reduce((sum, name) => sum + flows[name][unit], 0n)
          const outgoing = (["refunded", "paid_out", "collected_out", "fees"] as const)
            .reduce((sum, name) => sum + flows[name][unit], 0n)
          assert.strictEqual(closing[unit], opening[unit] + incoming - outgoing)
        }
      }
      const total = rows.reduce((sum, { closing }) => sum + closing.units, 0n)
      assert.strictEqual(total, movements.reduce((sum, { units }) => sum + units, 0n))
      assert.strictEqual(flowNames.length, 8)
    }
  })

  it("goes on: what a period closes with the next one opens with", () => {
    for (let seed = 1; seed <= histories; seed++) {
      const [first, second] = [randomMovements(seed), randomMovements(seed + histories)]
      const closing = walletFlows(first.map((each) => ({ ...each, isBeforePeriod: false })))
      const opening = walletFlows([
        ...first.map((each) => ({ ...each, isBeforePeriod: true })),
        ...second.map((each) => ({ ...each, isBeforePeriod: false }))
      ])
      for (const row of closing) {
        const next = opening.find(({ account, asset }) => account === row.account && asset === row.asset)!
        assert.deepStrictEqual(next.opening, row.closing)
      }
    }
  })
})

const paid: Comparison = {
  source: { object: "invoice_payment", id: "p1" },
  asset: "base:0xa",
  chain: { units: 50n, at, txHash: "0x1", isUnlisted: false, isHandled: true },
  ledger: { units: 50n, usdMillis: 5_000n, at, reversesEarlier: false, isReversedLater: false },
  countedUsdMillis: 5_000n,
  rejection: null
}

const causeOf = (change: Partial<Comparison>) => {
  const found = differenceOf({ ...paid, ...change }, period)
  return found === null ? null : [found.cause, found.units, found.usdMillis]
}

describe("a difference", () => {
  it("is none where both sides agree", () => {
    assert.isNull(causeOf({}))
  })

  it("names a deposit that is not booked, one that is booked twice and one that the chain does not know", () => {
    assert.deepStrictEqual(causeOf({ ledger: null }), ["unmatched_chain", 50n, 5_000n])
    assert.deepStrictEqual(
      causeOf({ ledger: { ...paid.ledger!, units: 100n, usdMillis: 10_000n } }),
      ["unmatched_ledger", -50n, 5_000n]
    )
    assert.deepStrictEqual(causeOf({ chain: null }), ["unmatched_ledger", -50n, 5_000n])
  })

  it("names a wrong amount and a wrong price", () => {
    assert.deepStrictEqual(causeOf({ ledger: { ...paid.ledger!, units: 40n } }), ["amount", 10n, 5_000n])
    assert.deepStrictEqual(causeOf({ countedUsdMillis: 4_000n }), ["amount", 0n, 1_000n])
  })

  it("is explained by another month, a reorganisation, dust, or a token that nobody lists", () => {
    const next = { ...paid.ledger!, at: period.to + 5 }
    assert.deepStrictEqual(causeOf({ ledger: next }), ["timing", 50n, 5_000n])
    assert.deepStrictEqual(causeOf({ chain: { ...paid.chain!, at: period.from - 5 } }), ["timing", 0n, 5_000n])
    assert.isNull(causeOf({ ledger: next, chain: { ...paid.chain!, at: period.to + 1 } }), "the next period's affair")
    const reversed = { ...paid.ledger!, units: -50n, usdMillis: -5_000n, reversesEarlier: true }
    assert.deepStrictEqual(causeOf({ chain: null, ledger: reversed }), ["reorg", 0n, 5_000n])
    const left = { ...paid.ledger!, isReversedLater: true }
    assert.deepStrictEqual(causeOf({ chain: null, ledger: left }), ["reorg", -50n, 5_000n])
    assert.deepStrictEqual(causeOf({ countedUsdMillis: null, rejection: "below_dust" }), ["dust", 0n, 5_000n])
    const unlisted = { ...paid.chain!, isUnlisted: true }
    assert.deepStrictEqual(causeOf({ chain: unlisted, countedUsdMillis: null }), ["unknown_token", 0n, 5_000n])
    assert.deepStrictEqual(causeOf({ chain: unlisted, ledger: null }), ["unknown_token", 50n, 0n])
    const waiting = { ...paid.chain!, isHandled: false }
    assert.deepStrictEqual(causeOf({ chain: waiting, ledger: null }), ["timing", 50n, 5_000n])
  })

  it("of a wallet is a spend only where it has sent something, and never what is known already", () => {
    const holding = { asset: "base:0xa", account: "chain:one", closing: { units: 100n, usdMillis: 1_000n } }
    const of = (
      units: bigint,
      hasSent: boolean,
      known: ReadonlyArray<{ asset: string; account?: string; units: bigint }> = []
    ) =>
      chainDifferences(
        [{ ...holding, reading: { units, hasSent, at } }],
        known.map((each) => ({ account: null, ...each }))
      )
        .map(({ cause, units, usdMillis }) => [cause, units, usdMillis])
    assert.deepStrictEqual(of(100n, true), [])
    assert.deepStrictEqual(of(60n, true), [["external_spend", -40n, 400n]])
    assert.deepStrictEqual(of(60n, false), [["amount", -40n, 400n]])
    assert.deepStrictEqual(of(140n, true), [["amount", 40n, 400n]])
    assert.deepStrictEqual(of(150n, false, [{ asset: "base:0xa", units: 50n }]), [])
    assert.deepStrictEqual(of(150n, false, [{ asset: "base:0xa", units: 30n }]), [["amount", 20n, 200n]])
    assert.deepStrictEqual(of(150n, false, [{ asset: "base:0xb", units: 50n }]), [["amount", 50n, 500n]])
    assert.deepStrictEqual(of(150n, false, [{ asset: "base:0xa", account: "chain:one", units: 50n }]), [])
    const elsewhere = [{ asset: "base:0xa", account: "chain:two", units: 50n }]
    assert.deepStrictEqual(of(150n, false, elsewhere), [["amount", 50n, 500n]])
    assert.deepStrictEqual(of(150n, false, [{ asset: "base:0xa", units: -50n }]), [["amount", 50n, 500n]])
  })

  it("is none where contracts sent a part to the payee, which two flows that cancel out tell", () => {
    const [account, asset] = ["chain:a", "base:0xa"]
    const readingOf = (period: string, units: bigint, forwardedUnits: bigint): WalletReading => ({
      period,
      account,
      asset,
      units,
      laterUnits: 0n,
      forwardedUnits,
      hasSent: false,
      block: { height: 1n, hash: "0x1", time: at },
      reason: null,
      readAt: at
    })
    const report = reportObject({
      environment: "devnet",
      period,
      movements: [{
        asset,
        account,
        counterAccount: "merchant_available",
        isBeforePeriod: false,
        units: 500n,
        usdMillis: 1_000n
      }],
      comparisons: [],
      hasMoreComparisons: false,
      chain: [],
      ledger: [],
      events: [],
      readings: [readingOf("2026-11", 500n, 350n)],
      earlierReadings: [readingOf("2026-10", 100n, 100n)],
      adjustments: [],
      suspense: [],
      trialBalance: 0n,
      now: period.to
    }, () => null)
    const [wallet] = report.wallets
    assert.deepStrictEqual(
      [wallet!.collected_in.units, wallet!.collected_out.units, wallet!.closing.units, wallet!.chain_balance?.units],
      ["250", "250", "500", "500"]
    )
    assert.strictEqual(wallet!.collected_in.amount, 500)
    assert.deepStrictEqual([report.differences, report.explained_ppm], [[], 1_000_000])
  })

  it("that was adjusted explains no other wallet once its adjustment is in the books of the month", () => {
    const asset = "base:0xa"
    const unexplainedWith = (bookedAt: number, bookedUnits = 100n) => {
      const isBooked = bookedAt < period.to
      const movement = { asset, counterAccount: "merchant_pending", isBeforePeriod: false, usdMillis: 0n }
      const reading = {
        period: "2026-11",
        asset,
        laterUnits: 0n,
        forwardedUnits: 0n,
        hasSent: false,
        reason: null,
        readAt: period.to
      }
      const block = { height: 1n, hash: "0x1", time: period.to }
      return differencesIn({
        environment: "devnet",
        period,
        // A has a payment of 100 that was never booked. B has 100 of which nobody knows anything.
        movements: [
          { ...movement, account: "chain:a", units: isBooked ? 500n + bookedUnits : 500n },
          { ...movement, account: "chain:b", units: 500n }
        ],
        comparisons: [{ ...paid, chain: { ...paid.chain!, units: 100n }, ledger: null }],
        hasMoreComparisons: false,
        chain: [],
        ledger: [],
        events: [],
        readings: [
          { ...reading, account: "chain:a", units: 600n, block },
          { ...reading, account: "chain:b", units: 600n, block }
        ],
        adjustments: [{
          id: "adj_1",
          account: "chain:a",
          asset,
          units: bookedUnits,
          usdMillis: 0n,
          ignored: { units: 0n, usdMillis: 0n },
          note: "found",
          explainsPeriod: "2026-11",
          explainsId: "p1",
          balanceTransactionId: "txn_1",
          actor: "wallet_1",
          createdAt: bookedAt
        }],
        suspense: [],
        now: period.to
      }).filter((each) => !isExplained(each)).map(({ account, cause, units }) => [cause, account, units])
    }
    assert.deepStrictEqual(unexplainedWith(period.to - 1), [["amount", "chain:b", 100n]])
    // Booked after the month's end it is not in the month's closing: the payment is what A has more.
    assert.deepStrictEqual(unexplainedWith(period.to), [["amount", "chain:b", 100n]])
    // A part of it leaves the rest to be accounted for.
    assert.deepStrictEqual(unexplainedWith(period.to - 1, 40n), [
      ["unmatched_chain", null, 100n],
      ["amount", "chain:b", 100n]
    ])
  })

  it("leaves less than all explained, however small it is", () => {
    const doubtful = { ...differenceOf({ ...paid, chain: null }, period)!, usdMillis: 0n }
    assert.strictEqual(explainedPpm(1_000n, []), 1_000_000)
    assert.strictEqual(explainedPpm(1_000n, [doubtful]), 999_999)
    assert.strictEqual(explainedPpm(1_000n, [{ ...doubtful, usdMillis: 250n }]), 750_000)
    assert.strictEqual(explainedPpm(1_000n, [{ ...doubtful, usdMillis: 5_000n }]), 0)
    assert.strictEqual(explainedPpm(1_000n, [{ ...doubtful, isAdjusted: true }]), 1_000_000)
    assert.strictEqual(explainedPpm(0n, [doubtful]), 0)
  })
})

const report = { differences: [], has_more_differences: false, ledger_trial_balance: 0 } as unknown as Report

const ready = {
  period,
  report,
  lastClosed: null,
  firstEntryAt: at,
  hasOpenTransfers: false,
  now: period.to + 3_600
}

describe("a month", () => {
  it("is closed once it is over, in order, final and explained, and every refusal says what to do", () => {
    const refusal = (change: Partial<Parameters<typeof closingRefusal>[0]>) =>
      closingRefusal({ ...ready, ...change })?.message
    assert.isUndefined(refusal({}))
    assert.match(refusal({ now: period.to + 3_599 })!, /one hour after its end/u)
    assert.match(refusal({ firstEntryAt: null })!, /first month with money/u)
    assert.match(refusal({ firstEntryAt: period.to })!, /next one is 2026-12/u)
    // Whoever skipped the first months could never close them.
    assert.match(refusal({ firstEntryAt: period.from - 1 })!, /next one is 2026-10/u)
    assert.match(refusal({ hasOpenTransfers: true })!, /wait for their depth, or to be dealt with/u)
    assert.match(refusal({ lastClosed: { version: 1, period: "2026-09", hash: "" } })!, /next one is 2026-10/u)
    assert.isUndefined(refusal({ lastClosed: { version: 1, period: "2026-10", hash: "" }, firstEntryAt: null }))
    const open = { ...report, differences: [{ is_explained: false }, { is_explained: true }] } as unknown as Report
    assert.match(refusal({ report: open })!, /^1 differences of 2026-11/u)
    assert.match(refusal({ report: { ...report, has_more_differences: true } })!, /not explained/u)
    assert.match(refusal({ report: { ...report, ledger_trial_balance: 1 } })!, /add up to zero/u)
  })

  it("has a hash of its bytes and of the month before, as anybody computes it", () => {
    const hashOf = (text: string) => createHash("sha256").update(text).digest("hex")
    const act = { actor: "wallet_1", closedAt: 5 }
    const first = closePeriod("{}", { ...act, period: "2026-10" }, null, hashOf)
    const second = closePeriod("{}", { ...act, period: "2026-11" }, { version: 1, ...first }, hashOf)
    assert.strictEqual(first.hash, hashOf(`${firstPreviousHash}\n{}`))
    assert.strictEqual(second.previousHash, first.hash)
    assert.strictEqual(second.hash, hashOf(`${first.hash}\n{}`))
  })
})

describe("an adjustment", () => {
  const token = { symbol: "USDC", decimals: 6 }
  const wallet = { account: "chain:one", units: 10_000_000n, usdMillis: 9_999n }
  const nothing: AssetSum = { units: 0n, usdMillis: 0n }
  const availableOf = (available: AssetSum): OwnHoldings => ({ available, ignored: nothing })
  const decide = (request: object, wallets = [wallet], known: typeof token | null = token, own = availableOf(wallet)) =>
    readAdjustment({ asset: "base:0xa", token_amount: "-1", note: "gas", ...request }, wallets, own, false, known, at)
  const read = (...request: Parameters<typeof decide>) => {
    const found = decide(...request)
    return isPublicError(found) ? found.param : [found.units, found.usdMillis]
  }

  it("takes away the book value of what is missing, and all of it with the last units", () => {
    assert.deepStrictEqual(read({}), [-1_000_000n, -999n])
    assert.deepStrictEqual(read({ token_amount: "-10" }), [-10_000_000n, -9_999n])
    assert.deepStrictEqual(read({ token_amount: "2.5" }), [2_500_000n, 0n])
    assert.deepStrictEqual(read({ token_amount: "2.5", amount: 2_500 }), [2_500_000n, 2_500n])
    assert.deepStrictEqual(read({ token_amount: "-7" }, [wallet], null), [-7n, 0n])
  })

  it("takes no more than what is the merchant's own, in units and in dollars", () => {
    const balances = [
      wallet,
      { account: "merchant_available", units: -3_000_000n, usdMillis: -2_000n },
      { account: "suspense:ignored", units: -1_000_000n, usdMillis: -1_000n },
      { account: "merchant_pending", units: -2_000_000n, usdMillis: -2_999n },
      { account: "suspense", units: -2_000_000n, usdMillis: -2_000n },
      { account: "refund_payable", units: -2_000_000n, usdMillis: -2_000n }
    ]
    const own = ownHoldings(balances)
    assert.deepStrictEqual(own, {
      available: { units: 3_000_000n, usdMillis: 2_000n },
      ignored: { units: 1_000_000n, usdMillis: 1_000n }
    })
    assert.deepStrictEqual(read({ token_amount: "-1" }, [wallet], token, own), [-1_000_000n, -999n])
    assert.deepStrictEqual(read({ token_amount: "-4" }, [wallet], token, own), [-4_000_000n, -3_000n])
    assert.strictEqual(read({ token_amount: "-4.000001" }, [wallet], token, own), "token_amount")
    assert.strictEqual(read({}, [wallet], token, availableOf({ units: -1n, usdMillis: -1n })), "token_amount")
    assert.deepStrictEqual(read({ token_amount: "9" }, [wallet], token, own), [9_000_000n, 0n], "a gain is not limited")
  })

  describe("is a loss of where the money stands:", () => {
    const ignored = { units: 6_000_000n, usdMillis: 6_000n }
    const loss = (text: string, own: OwnHoldings, isOfIgnored: boolean) => {
      const asked = { asset: "base:0xa", token_amount: text, note: "gas" }
      const found = readAdjustment(asked, [wallet], own, isOfIgnored, token, at)
      return isPublicError(found) ? assert.fail(found.message) : found
    }

    it("of what is available first, and of what was ignored once that is gone", () => {
      const own = { available: { units: 4_000_000n, usdMillis: 3_999n }, ignored }
      assert.deepInclude(loss("-4", own, false), { units: -4_000_000n, usdMillis: -3_999n, ignored: nothing })
      const more = loss("-5", own, false)
      assert.deepStrictEqual(more.ignored.units, -1_000_000n)
      assert.deepInclude(loss("-10", own, false), {
        usdMillis: -9_999n,
        ignored: { units: -6_000_000n, usdMillis: -6_000n }
      })
      assert.deepInclude(loss("-2", { available: nothing, ignored }, false), {
        usdMillis: -1_999n,
        ignored: { units: -2_000_000n, usdMillis: -1_999n }
      })
    })

    it("of what was ignored first, where it explains that", () => {
      const own = { available: { units: 4_000_000n, usdMillis: 3_999n }, ignored }
      assert.deepInclude(loss("-4", own, true), {
        usdMillis: -3_999n,
        ignored: { units: -4_000_000n, usdMillis: -3_999n }
      })
      assert.deepStrictEqual(loss("-7", own, true).ignored, { units: -6_000_000n, usdMillis: -6_000n })
    })

    it("never more than it has there, in units and in dollars, of random holdings", () => {
      const roll = makeRandom(4)
      const sum = (): AssetSum => ({ units: BigInt(roll(5_000)), usdMillis: BigInt(roll(5_000)) })
      for (let n = 0; n < 2_000; n++) {
        const own = { available: sum(), ignored: sum() }
        const held = {
          units: own.available.units + own.ignored.units,
          usdMillis: own.available.usdMillis + own.ignored.usdMillis
        }
        if (held.units === 0n) continue
        const asked = { asset: "base:0xa", token_amount: `-${1 + roll(Number(held.units))}`, note: "gas" }
        const found = readAdjustment(asked, [{ account: "chain:one", ...held }], own, roll(2) === 0, null, at)
        if (isPublicError(found)) return assert.fail(found.message)
        const { ignored, units, usdMillis } = found
        const available = { units: units - ignored.units, usdMillis: usdMillis - ignored.usdMillis }
        for (const [part, whole] of [[ignored, own.ignored], [available, own.available]] as const) {
          assert.isTrue(part.units <= 0n && -part.units <= whole.units, `step ${n}`)
          assert.isTrue(part.usdMillis <= 0n && -part.usdMillis <= whole.usdMillis, `step ${n}`)
        }
        if (-units === held.units) assert.strictEqual(-usdMillis, held.usdMillis, `step ${n}: nothing stays behind`)
      }
    })
  })

  it("is refused with the field that is wrong", () => {
    assert.strictEqual(read({ token_amount: "-10.000001" }), "token_amount")
    for (const wrong of ["0", "-0", "", "1e3", "+1", "1.0000001", "--1", "0x1"]) {
      assert.strictEqual(read({ token_amount: wrong }), "token_amount", wrong)
    }
    assert.strictEqual(read({ note: "  " }), "note")
    assert.strictEqual(read({ period: "2026-13" }), "period")
    assert.strictEqual(read({ period: "2026-12" }), "period", "it has not begun")
    assert.strictEqual(read({ explains: "p1" }), "period", "it would account for nothing")
    assert.deepStrictEqual(read({ explains: "p1", period: "2026-11" }), [-1_000_000n, -999n])
    assert.strictEqual(read({ amount: 5 }), "amount")
    assert.strictEqual(read({}, []), "asset")
    assert.strictEqual(read({}, [wallet, { ...wallet, account: "chain:two" }]), "account")
    assert.strictEqual(read({ account: "chain:three" }), "account")
    assert.deepStrictEqual(
      read({ account: "chain:two" }, [wallet, { ...wallet, account: "chain:two" }]),
      [-1_000_000n, -999n]
    )
  })
})
