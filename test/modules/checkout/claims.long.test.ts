/**
 * Goal: the claim page shows what its payor may know and no more, says what to do about every address that is refused,
 * and is small. Method: pure; pages and fragments of fixed views, rules by tables.
 */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { brotliCompressSync, constants, gzipSync } from "node:zlib"
import { buildClaim } from "../../../modules/checkout/build.ts"
import { readClaimToken } from "../../../modules/checkout/island/ClaimToken.ts"
import { claimEntry, claimFragment, claimPage } from "../../../modules/checkout/pages/ClaimPage.ts"
import { languages } from "../../../modules/checkout/pages/Languages.ts"
import { readClaimForm } from "../../../modules/checkout/pages/PageRequest.ts"
import { en } from "../../../modules/checkout/pages/texts/en.ts"
import type { Texts } from "../../../modules/checkout/pages/Texts.ts"
import { css } from "../../../modules/checkout/pages.ts"
import { claimProblemOf, claimScreenOf, isSameWallet } from "../../../modules/checkout/rules/Claims.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { RefundReason, RefundStatus } from "../../../schemas/Refund.ts"
import { claimProblems, claimViewOf, claimViews } from "../../fixtures/claimViews.ts"
import { receiver } from "../../fixtures/paymentViews.ts"

const path = "/claim/re_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10"
const token = "Zm9yIHRlc3RzIG9ubHksIGFuZCBubyBzZWNyZXQgIQ0"
const assets = { script: "/assets/claim.0123456789ab.js", style: { css }, languages }
const names = Object.keys(claimViews)

const pageOf = (name: string, texts: Texts = en) => claimPage(claimViews[name]!, texts, path, token, assets)

const textOf = (markup: string) =>
  markup.replaceAll(/<style>.*?<\/style>/g, "").replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ")

describe("a screen of the claim page", () => {
  it("has one heading, one main action at most, its language and direction, in every language", () => {
    for (const texts of languages) {
      for (const name of names) {
        const text = pageOf(name, texts)
        assert.strictEqual(text.split("<h1 ").length, 2, name)
        assert.isAtMost(text.split(/class="(?:button )?main"/).length, 2, name)
        assert.include(text, `<html lang="${texts.locale}" dir="${texts.direction}">`)
        assert.notMatch(text, /undefined|\[object|NaN|\$\{/, name)
      }
    }
  })

  it("names the shop, the amount, the fee, the network and why", () => {
    const text = textOf(pageOf("address"))
    for (
      const words of [
        "Blue Bottle Store",
        "Blue T-shirt",
        "You get 24.98 USDC",
        "Kept for the network fee 0.02 USDC",
        "Network Base",
        "Reason You paid too much",
        "The link takes an address until Jan 20, 2026, 12:35 PM UTC."
      ]
    ) assert.include(text, words)
  })

  it("says why for every reason but other, each in words of its own", () => {
    const said = RefundReason.literals.map((reason) => {
      const { refund } = claimViewOf("address")
      const text = textOf(claimFragment(claimViewOf("address", { refund: { ...refund, reason } }), en, path))
      return / Reason (.*?) Invoice /.exec(text)?.[1]
    })
    assert.strictEqual(said.filter((words) => words === undefined).length, 1)
    assert.strictEqual(new Set(said).size, RefundReason.literals.length)
  })

  it("says for each problem what it is and what to do, beside the field that it is about", () => {
    const texts = claimProblems.map((problem) => /id="problem">.*?<span>(.*?)<\/span>/.exec(pageOf(problem))?.[1])
    assert.strictEqual(new Set(texts).size, claimProblems.length)
    for (const [index, problem] of claimProblems.entries()) {
      assert.match(texts[index] ?? "", /copy|give|try again/i, problem)
      const field = problem === "wrong_memo" ? "memo" : "address"
      assert.match(pageOf(problem), new RegExp(`name="${field}"[^>]* aria-invalid="true" aria-describedby="problem"`))
    }
  })

  it("escapes what merchants and payors wrote", () => {
    const evil = "<script>alert(1)</script>\"'&"
    const { refund } = claimViewOf("address")
    const view = claimViewOf("address", {
      merchant: evil,
      order: evil,
      entered: { address: evil, memo: evil },
      problem: "wrong_address",
      refund: { ...refund, network: "ton", tokenSymbol: evil }
    })
    for (const text of [claimPage(view, en, path, token, assets), claimFragment(view, en, path)]) {
      assert.notInclude(text, "<script>alert")
      assert.notMatch(text, /"'&(?!amp;)/)
    }
  })

  it("carries the token in its forms where no script holds it, and nowhere else", () => {
    for (const name of names) {
      const text = pageOf(name)
      const inForms = text.split(`<input type="hidden" name="token" value="${token}">`).length
      assert.strictEqual(text.split(token).length, inForms, name)
      assert.notInclude(claimFragment(claimViews[name]!, en, path), token)
    }
    assert.notInclude(claimEntry(path, en, assets), token)
  })

  it("is small enough for the first round trips: 8 KB, its script 2 KB, all of it 14 KB", () => {
    const script = gzipSync(buildClaim()).length
    assert.isAtMost(script, 2 * 1024)
    for (const texts of languages) {
      for (const name of names) {
        const page = brotliCompressSync(pageOf(name, texts), {
          params: { [constants.BROTLI_PARAM_QUALITY]: 5 }
        }).length
        assert.isAtMost(page, 8 * 1024, `${name} ${texts.locale}`)
        const entry = brotliCompressSync(claimEntry(path, texts, assets)).length
        const fragment = brotliCompressSync(claimFragment(claimViews[name]!, texts, path)).length
        assert.isAtMost(entry + fragment + script, 14 * 1024)
      }
    }
  })
})

describe("the rules of the claim page", () => {
  it("ask for an address while the link takes one, and tell what became of every other refund", () => {
    for (const status of RefundStatus.literals) {
      assert.strictEqual(claimScreenOf({ canClaim: true, status }, false), "address")
      assert.strictEqual(claimScreenOf({ canClaim: true, status }, true), "check")
    }
    const closed = RefundStatus.literals.map((status) => claimScreenOf({ canClaim: false, status }, true))
    assert.strictEqual(new Set(closed).size, RefundStatus.literals.length)
    assert.notInclude(closed, "address")
    assert.notInclude(closed, "check")
  })

  it("tell an address of another network from a wrong one, and leave other errors alone", () => {
    const invalid = (reason?: string) =>
      publicError("WALLET_ADDRESS_INVALID", reason === undefined ? {} : { details: { reason } })
    const solana = "7EqQdEULxWcraVx3mXKFjc84LhCkMGZCkRuDpvcMwJeK"
    const cases = [
      [invalid(), "0x12", "wrong_address"],
      [invalid(), solana, "other_network"],
      [invalid("anything"), "", "wrong_address"],
      [invalid("receive_address"), receiver, "receive_address"],
      [invalid("not_a_wallet"), receiver, "not_a_wallet"],
      [invalid("refused"), receiver, "refused"],
      [publicError("VALIDATION_ERROR", { param: "memo" }), receiver, "wrong_memo"],
      [publicError("VALIDATION_ERROR", { param: "address" }), receiver, null],
      [publicError("NETWORK_DEGRADED"), receiver, "unchecked"],
      [publicError("SERVICE_UNAVAILABLE"), receiver, "unchecked"],
      [publicError("REFUND_NOT_FOUND"), receiver, null]
    ] as const
    for (const [error, address, problem] of cases) assert.strictEqual(claimProblemOf(error, address), problem)
  })

  it("know the kept wallet again in whatever spelling it was typed", () => {
    const kept = { address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", memo: null }
    const typed = { address: kept.address.toLowerCase(), memo: null }
    assert.isTrue(isSameWallet(typed, kept, "base", "devnet"))
    assert.isFalse(isSameWallet({ ...typed, memo: "1" }, kept, "base", "devnet"))
    assert.isFalse(isSameWallet(typed, null, "base", "devnet"))
    assert.isFalse(isSameWallet({ address: "", memo: null }, kept, "base", "devnet"))
  })

  it("find the token in a link and alone, and in no other text", () => {
    const found = [token, ` ${token}\n`, `#t=${token}`, `https://pay.example${path}#t=${token}`]
    for (const text of found) assert.strictEqual(readClaimToken(text), token)
    const none = ["", "#t=", token.slice(1), `${token}a`, `?t=${token}`, `x ${token}`, `${token} x`, `#t=${token}&a=1`]
    for (const text of none) assert.isUndefined(readClaimToken(text), text)
  })

  it("read the forms of the page, and none that is not", () => {
    const read = (text: string) => readClaimForm(new URLSearchParams(text))
    assert.deepStrictEqual(read(`action=check&token=${token}&address=+a+&memo=`), {
      token,
      action: { name: "check", wallet: { address: "a", memo: null } },
      locale: null
    })
    assert.deepStrictEqual(read("action=language&lang=de"), {
      token: null,
      action: { name: "open", wallet: { address: "", memo: null } },
      locale: "de"
    })
    const none = ["", "action=approve", "action=open&action=open", "action=language&lang=de-AT", "action=constructor"]
    for (const text of [...none, `action=check&address=${"a".repeat(201)}`]) assert.isNull(read(text), text)
  })

  it.prop(
    "never fail on what a form holds",
    [Schema.Array(Schema.Tuple([Schema.String, Schema.String]))],
    ([fields]) => {
      const form = readClaimForm(new URLSearchParams(fields.map(([name, value]): [string, string] => [name, value])))
      assert.isTrue(form === null || form.token === null || form.token.length === 43)
    }
  )
})
