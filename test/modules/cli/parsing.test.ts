/**
 * Goal: what people type is read as they mean it, and what they read is safe and says what to do.
 * Method: the pure parts of the command line, by examples.
 */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Exit } from "effect"
import { encode } from "uqr"
import { addressOf } from "../../../modules/cli/Admin.ts"
import { keyPathOf } from "../../../modules/cli/commands/config.ts"
import { isAccepted, outcomeText } from "../../../modules/cli/commands/listen.ts"
import { invoiceFieldsOf, lateNote } from "../../../modules/cli/commands/trigger.ts"
import { headerOf } from "../../../modules/cli/commands/verify.ts"
import { callFailure, localUrl } from "../../../modules/cli/Connection.ts"
import { sinceSeconds } from "../../../modules/cli/Duration.ts"
import { commandFailed, exitCodeOf, wrongUse } from "../../../modules/cli/Failure.ts"
import { hasColours, printable, table } from "../../../modules/cli/Output.ts"
import { commandNameIn } from "../../../modules/cli/Program.ts"
import { qrText } from "../../../modules/cli/QrText.ts"
import { TillwireError } from "../../../modules/clients/fetch.ts"
import { ConfigInvalid } from "../../../runtime/Config.ts"

const plain = (_: unknown, text: string) => text

describe("the command line", () => {
  it("finds the command behind flags and their values, so that only its code is loaded", () => {
    assert.strictEqual(commandNameIn(["events", "list"]), "events")
    assert.strictEqual(commandNameIn(["-c", "start", "doctor", "--json"]), "doctor")
    assert.strictEqual(commandNameIn(["--config=x", "--json", "keys"]), "keys")
    assert.strictEqual(commandNameIn(["--help"]), undefined)
  })

  it("reads how long ago, and a time, and nothing else", () => {
    assert.strictEqual(sinceSeconds("15m", 10_000), 9_100)
    assert.strictEqual(sinceSeconds("1d", 100_000), 13_600)
    assert.strictEqual(sinceSeconds("2w", 100), 0)
    assert.strictEqual(sinceSeconds("1970-01-02", 0), 86_400)
    assert.strictEqual(sinceSeconds("1970-01-01T00:01:00Z", 0), 60)
    for (const text of ["", "1", "1y", "-1h", "yesterday", "1970-01-01T00:01:00"]) {
      assert.strictEqual(sinceSeconds(text, 0), undefined, text)
    }
  })

  it("reads a path of the config with brackets or dots", () => {
    assert.deepStrictEqual(keyPathOf("chains[0].options.rpc[1]"), ["chains", 0, "options", "rpc", 1])
    assert.deepStrictEqual(keyPathOf("http.port"), ["http", "port"])
  })

  it("reads headers as curl writes them, with colons in the value", () => {
    assert.deepStrictEqual(headerOf("Webhook-Id:  evt_1:2 "), ["webhook-id", "evt_1:2"])
    assert.strictEqual(headerOf("no colon"), undefined)
  })

  it("puts metadata of --set into the metadata of the invoice", () => {
    assert.deepStrictEqual(invoiceFieldsOf({ amount_usd: "5", "metadata.order": "17" }), {
      amount_usd: "5",
      metadata: { order: "17" }
    })
  })

  it("says why an invoice is paid by a transfer that came late, and how one stays unpaid", () => {
    assert.match(lateNote("late", "paid") ?? "", /ended before the transfer came.*late_payment_policy.*manual/)
    assert.isUndefined(lateNote("late", "expired"))
    assert.isUndefined(lateNote("paid", "paid"))
  })

  it("reaches a listener on all addresses by the one of this machine", () => {
    assert.strictEqual(localUrl("0.0.0.0", 1, 8080), "http://127.0.0.1:1")
    assert.strictEqual(localUrl("::1", undefined, 8080), "http://[::1]:8080")
    assert.strictEqual(localUrl(undefined, undefined, 8080), "http://127.0.0.1:8080")
  })

  it("sends only the filters of an operator's list that were given", () => {
    const request = { method: "GET", path: "/tokens", query: { limit: 20, network: undefined, after: "a b" } } as const
    assert.strictEqual(
      addressOf("http://127.0.0.1:1/", request),
      "http://127.0.0.1:1/admin/v1/tokens?limit=20&after=a+b"
    )
  })
})

describe("the output", () => {
  it("has colours on a terminal only, and obeys NO_COLOR and FORCE_COLOR", () => {
    assert.isTrue(hasColours({}, true))
    assert.isFalse(hasColours({}, false))
    assert.isFalse(hasColours({ NO_COLOR: "1" }, true))
    assert.isTrue(hasColours({ FORCE_COLOR: "1", NO_COLOR: "1" }, false))
    assert.isFalse(hasColours({ FORCE_COLOR: "0" }, true))
    assert.isFalse(hasColours({ TERM: "dumb" }, true))
  })

  it("lets no text of others control the terminal", () => {
    assert.strictEqual(printable("a\u001b[2Jb\r\nc\u202ed"), "a [2Jb  c d")
  })

  it("aligns columns, and leaves no spaces at the end of a line", () => {
    assert.strictEqual(table(["id", "name"], [["1", "a"], ["100", ""]], plain), "id   name\n1    a\n100")
  })

  it("draws every module of a QR code, two rows in a line", () => {
    const text = "https://pay.example/pay/1"
    const { data, size } = encode(text, { ecc: "L", border: 0 })
    const lines = qrText(text, false).split("\n").map((line) => line.padEnd(size + 8))
    for (let row = 0; row < size; row++) {
      const line = lines[Math.floor((row + 4) / 2)]!
      const marks = (row + 4) % 2 === 0 ? "█▀" : "█▄"
      for (let column = 0; column < size; column++) {
        assert.strictEqual(marks.includes(line[column + 4]!), data[row]![column], `${row}, ${column}`)
      }
    }
  })

  it("tells an answer of the receiver from none", () => {
    assert.strictEqual(outcomeText({ _tag: "Answered", status: 500, millis: 18 }), "500  18 ms")
    assert.strictEqual(outcomeText({ _tag: "Unreachable", reason: "ECONNREFUSED", millis: 1 }), "ECONNREFUSED  1 ms")
    assert.isTrue(isAccepted({ _tag: "Answered", status: 204, millis: 1 }))
    assert.isFalse(isAccepted({ _tag: "Answered", status: 302, millis: 1 }))
  })
})

describe("the exit code", () => {
  const codeOf = (error: unknown) => exitCodeOf(Exit.fail(error))
  const refused = (status: number) => codeOf(callFailure(new TillwireError("no", { status, code: "X" }), "http://x"))

  it("tells a script why a command did not do what it was asked for", () => {
    assert.strictEqual(exitCodeOf(Exit.succeed(1)), 0)
    assert.strictEqual(codeOf(commandFailed("failed", "x")), 1)
    assert.strictEqual(codeOf(wrongUse("x")), 2)
    assert.strictEqual(codeOf(new ConfigInvalid({ report: "x", count: 1 })), 2)
    assert.strictEqual(refused(401), 3)
    assert.strictEqual(refused(403), 3)
    assert.strictEqual(refused(404), 4)
    assert.strictEqual(refused(0), 1)
    assert.strictEqual(refused(500), 1)
  })

  it("is 130 where somebody interrupts, and the service's own where it stopped in order", () => {
    const interrupted = Exit.failCause(Cause.interrupt())
    assert.strictEqual(exitCodeOf(interrupted), 130)
    assert.strictEqual(exitCodeOf(interrupted, 0), 0)
  })
})
