/**
 * Goal: a watched invoice is looked at again when its quote is about to end, something failed, or an event came, and at
 * no other time. Method: each thing that can happen to a watch, after each other.
 */
import { assert, describe, it } from "@effect/vitest"
import { type QuoteRow, renewSeconds } from "../../../modules/quotes/rules.ts"
import {
  afterEnd,
  afterFailure,
  afterFreshRow,
  afterInvoiceEvent,
  afterRenewal,
  afterWake,
  beforeLook,
  beforeRenewal,
  needsRenewal,
  newWatch,
  retrySeconds
} from "../../../modules/quotes/rules/QuoteWatch.ts"
import type { Quote } from "../../../schemas/Quote.ts"

const now = 1_000
const row = { id: "quo_1", validUntil: now + 300 } as QuoteRow
const nextRow = { id: "quo_2", validUntil: now + 600 } as QuoteRow
const quote = { retry_after_seconds: 15 } as Quote

const freshWatch = afterRenewal(beforeRenewal(beforeLook(newWatch(row)), row), row, row, quote, now)

describe("a watched invoice", () => {
  it("is looked at once when it is new, and then 30 s before its quote ends", () => {
    assert.strictEqual(newWatch(row).nextCheckAt, 0)
    assert.isTrue(needsRenewal(newWatch(row), row, now))
    assert.strictEqual(freshWatch.nextCheckAt, row.validUntil - renewSeconds)
    assert.isFalse(needsRenewal(freshWatch, row, now))
    assert.isTrue(needsRenewal(freshWatch, row, row.validUntil - renewSeconds))
    assert.strictEqual(afterFreshRow(freshWatch, nextRow).nextCheckAt, nextRow.validUntil - renewSeconds)
  })

  it("is looked at again at once after an event, also one that came during a look", () => {
    const woken = afterInvoiceEvent(freshWatch)
    assert.strictEqual(woken.nextCheckAt, 0)
    assert.isTrue(needsRenewal(woken, row, now))
    const duringLook = afterWake(beforeRenewal(beforeLook(woken), row))
    assert.strictEqual(afterRenewal(duringLook, row, nextRow, quote, now).nextCheckAt, 0)
    assert.strictEqual(afterRenewal(beforeLook(duringLook), row, nextRow, quote, now).nextCheckAt, 570 + now)
  })

  it("is looked at again after a failure, and when a price may be back", () => {
    const failed = afterFailure(freshWatch, now)
    assert.strictEqual(failed.nextCheckAt, now + retrySeconds)
    assert.isTrue(needsRenewal(failed, row, now))
    const priceless = afterRenewal(freshWatch, row, null, quote, now)
    assert.strictEqual(priceless.nextCheckAt, now + 15)
    assert.isTrue(needsRenewal(priceless, row, now))
  })

  it("that cannot be paid waits for an event", () => {
    const ended = afterEnd(freshWatch)
    assert.strictEqual(ended.nextCheckAt, Number.POSITIVE_INFINITY)
    assert.isUndefined(ended.last)
    assert.strictEqual(afterInvoiceEvent(ended).nextCheckAt, 0)
  })
})
