/**
 * Goal: what the payment page's script decides, it decides as written. Method: its pure parts are imported as they are;
 * the page itself is tested in a browser (`test/browser/island.test.ts`).
 */
import { assert, describe, it } from "@effect/vitest"
import { clockText, isUrgent, skewOf, spokenMinutes } from "../../../modules/checkout/island/Clocks.ts"
import { isDisplayable, isFragment } from "../../../modules/checkout/island/Fragment.ts"
import {
  backoffMillis,
  type ConnectionState,
  failuresAfterClose,
  nextFetchMillis
} from "../../../modules/checkout/island/ConnectionState.ts"
import { readSocketMessage } from "../../../modules/checkout/island/SocketMessage.ts"
import { isFound } from "../../../modules/checkout/island/Search.ts"

describe("the wait after failures", () => {
  it("grows from 0.5 s and never leaves 0.5 to 30 s", () => {
    for (const random of [0, 0.5, 0.999]) {
      for (let failures = 1; failures <= 40; failures++) {
        assert.isAtLeast(backoffMillis(failures, random), 500)
        assert.isAtMost(backoffMillis(failures, random), 30_000)
      }
    }
    assert.deepStrictEqual([1, 2, 3, 4, 5, 6, 7].map((failures) => backoffMillis(failures, 0)), [
      500,
      1000,
      2000,
      4000,
      8000,
      15_000,
      15_000
    ])
  })

  it("differs between pages, so that they do not come back all at once", () => {
    assert.isAbove(backoffMillis(5, 0.9), 1.5 * backoffMillis(5, 0))
  })

  it("starts anew after a connection that lasted, and not after one that was closed at once", () => {
    assert.deepStrictEqual([failuresAfterClose(4, 10_001), failuresAfterClose(4, 9000), failuresAfterClose(0, 0)], [
      1,
      5,
      1
    ])
  })
})

describe("the next fetch of the state", () => {
  const line: ConnectionState = { fetchFailures: 0, socketFailures: 0, isDown: false, poll: "3" }

  it("waits for news while the socket lives, and while it has failed twice only", () => {
    assert.isUndefined(nextFetchMillis(line, 0))
    assert.isUndefined(nextFetchMillis({ ...line, isDown: true, socketFailures: 2 }, 0))
  })

  it("comes each data-poll seconds after three failures, 5 where the fragment does not say", () => {
    assert.strictEqual(nextFetchMillis({ ...line, isDown: true, socketFailures: 3 }, 0), 3000)
    assert.strictEqual(nextFetchMillis({ ...line, isDown: true, socketFailures: 9, poll: undefined }, 0), 5000)
  })

  it("never comes where there is nothing to follow", () => {
    assert.isUndefined(nextFetchMillis({ ...line, socketFailures: 9 }, 0))
  })

  it("follows a fetch that failed by the growing wait", () => {
    assert.strictEqual(nextFetchMillis({ ...line, fetchFailures: 2 }, 0), 1000)
  })
})

describe("frames of the socket", () => {
  it("say that the state changed, what the price is, and the server's time", () => {
    const read = (frame: object) => readSocketMessage(JSON.stringify(frame))
    assert.deepStrictEqual(read({ object: "event", id: "evt_1-2", type: "invoice.paid" }), { isChange: true })
    const quote = {
      network: "base",
      supported_token_id: 123,
      estimated_token_amount_remaining: "49.990000",
      quote_valid_until: 1_766_320_796,
      quote_expires_in_seconds: 300,
      quote_status: "available"
    }
    assert.deepStrictEqual(
      read({ object: "event", id: "evt_1-3", type: "payment_quote.updated", data: { object: quote } }),
      {
        price: "base 123 49.990000 1766320796 available"
      }
    )
    assert.deepStrictEqual(read({ object: "ws_control", type: "ready", server_time: 7 }), { isReady: true, now: 7 })
    assert.deepStrictEqual(read({ object: "ws_control", type: "heartbeat", server_time: 8 }), { isBeat: true, now: 8 })
    assert.deepStrictEqual(read({ object: "ws_control", type: "resync_required" }), { isChange: true })
    assert.deepStrictEqual(read({ object: "ws_control", type: "confirmations", confirmations: 3 }), { isChange: true })
    assert.deepStrictEqual(read({ object: "ws_error", code: "TOKEN_EXPIRED" }), { isRefused: true })
  })

  it("mean nothing where they are none", () => {
    for (const text of ["", "{", "null", "[]", `"event"`, `{"object":"other"}`]) {
      assert.deepStrictEqual(readSocketMessage(text), {})
    }
  })
})

describe("what is shown", () => {
  const fragment = `\n<section data-screen="paid" data-title="x"><h1>Paid</h1></section>`

  it("is a fragment, and never the page of a gateway or a captive portal", () => {
    assert.isTrue(isFragment(fragment))
    for (
      const text of ["", "<html><body>502 Bad Gateway", `<html>${fragment}`, "<section>", `<sectiondata-screen="a">`]
    ) {
      assert.isFalse(isFragment(text))
    }
  })

  it("comes with an answer about the state, an ended session's included, and never with a fault", () => {
    assert.deepStrictEqual([200, 401, 403, 404, 410].map((status) => isDisplayable(status, fragment)), [
      true,
      true,
      true,
      true,
      true
    ])
    assert.deepStrictEqual([0, 302, 429, 500, 502].map((status) => isDisplayable(status, fragment)), [
      false,
      false,
      false,
      false,
      false
    ])
  })
})

describe("clocks", () => {
  it("read as minutes and seconds, with hours from one on, and end at 0:00", () => {
    assert.deepStrictEqual([-3, 0, 0.2, 59, 60, 272, 3599.5, 3872, 360_000].map(clockText), [
      "0:00",
      "0:00",
      "0:01",
      "0:59",
      "1:00",
      "4:32",
      "1:00:00",
      "1:04:32",
      "100:00:00"
    ])
  })

  it("stay as they are while whole seconds agree with them, and go along where they do not", () => {
    assert.deepStrictEqual(
      [[5, 4.2], [5, 3], [5, 5.5], [5, 2.9], [5, 90], [5, -90]].map(([known, least]) => skewOf(known!, least!)),
      [
        5,
        5,
        5.5,
        4.9,
        90,
        -88
      ]
    )
  })

  it("are shown in the last quarter only", () => {
    assert.deepStrictEqual([isUrgent(226, 900), isUrgent(225, 900)], [false, true])
  })

  it("are spoken as they pass 5 minutes and 1 minute, also where seconds were missed, and at no other time", () => {
    assert.deepStrictEqual(
      [[301, 300], [300, 299], [400, 250], [61, 60], [60, 59], [400, 30], [30, 29]].map(([before, left]) =>
        spokenMinutes(before!, left!)
      ),
      [5, undefined, 5, 1, undefined, 1, undefined]
    )
  })
})

describe("the search of the list", () => {
  it("finds rows with every word, whatever its case and order", () => {
    assert.deepStrictEqual(
      ["USDC", " base  usdc ", "", "usd base", "solana", "usdc sol"].map((typed) =>
        isFound("usdc usd coin base", typed)
      ),
      [
        true,
        true,
        true,
        true,
        false,
        false
      ]
    )
  })
})
