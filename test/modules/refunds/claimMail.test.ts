/**
 * Goal: a merchant has the claim link of a refund sent to its payor, who alone gets it, and nobody is sent anything by
 * whoever may not refund. Method: the real router, commit log, invoices, payments and outbox; mail is a list.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Refunds } from "../../../modules/refunds/plugin.ts"
import { claimMail } from "../../../modules/refunds/rules/ClaimMail.ts"
import { Language } from "../../../schemas/Languages.ts"
import { usdc } from "../../fixtures/tokens.ts"
import {
  callerOf,
  choose,
  invoiceService,
  invoiceServiceIn,
  newInvoice,
  newMerchant,
  post,
  receiveTransfer,
  runDue,
  usualPrices,
  walletOf
} from "../invoices/InvoiceService.ts"
import { makeTestOutbox } from "../mail/TestOutbox.ts"

const path = "/api/v1/refunds"
const wallet = { address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", memo: null }
const outbox = makeTestOutbox()
let payors = 0
const newEmail = () => `payor.${++payors}@mail.example`

const linkPattern = /^http:\/\/till\.test\/claim\/re_[0-9a-f-]{36}#t=([A-Za-z0-9_-]{43})$/m

/** A refund that waits for its payor. */
const waiting = Effect.fnUntraced(function*(fields: object = {}) {
  usualPrices()
  const id = yield* newMerchant
  const caller = callerOf(id)
  const invoice = yield* newInvoice(caller, { amount: 10_000, expires_in: 3_600_000, ...fields })
  yield* choose(invoice.id, usdc)
  yield* receiveTransfer(invoice, usdc, 10_000_000n)
  const body = { invoice_id: invoice.id, amount_mode: "full", reason: "other", fee_bearer: "merchant" }
  const { data } = yield* caller.ok(path, post(body))
  return { caller, id, invoice, refund: data, signedIn: walletOf(id) }
})

/** What an address was sent. */
const sentTo = (email: string) =>
  Effect.andThen(runDue, Effect.sync(() => outbox.sent.filter(({ to }) => to === email)))

const rows = (merchantId: number) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    return yield* Effect.orDie(sql<any>`SELECT * FROM mail_messages WHERE merchant_id = ${merchantId}`)
  })

layer(invoiceServiceIn({ mail: outbox }))("a claim link by e-mail", (it) => {
  it.effect("reaches the payor alone, opens the refund, and ends the link before", () =>
    Effect.gen(function*() {
      const { caller, refund } = yield* waiting({ locale: "de-AT" })
      const email = newEmail()
      const refunds = yield* Refunds
      const [, before] = /#t=(.*)$/.exec(refund.claim_url)!
      const call = post({ email })
      const answer = yield* caller.call(`${path}/${refund.id}/claim-link/email`, call)
      assert.strictEqual(answer.status, 200, answer.text)
      assert.isNull(answer.json.data.claim_url)
      assert.strictEqual((yield* caller.call(`${path}/${refund.id}/claim-link/email`, call)).text, answer.text)
      const [message, ...others] = yield* sentTo(email)
      assert.strictEqual(others.length, 0, "a repeat of the call sends nothing more")
      assert.include(message, { language: "de", subject: "[devnet] Ihre Erstattung von Demo Store" })
      assert.include(message!.text, "Demo Store erstattet Ihnen 10 USDC auf Base.")
      const [, token] = linkPattern.exec(message!.text)!
      assert.notInclude(answer.text, token!)
      assert.isNull(yield* refunds.findClaim(refund.id, before!))
      assert.strictEqual((yield* refunds.claim(refund.id, token!, wallet)).status, "pending_approval")
    }))

  it.effect("is kept by nobody who may read the database, before it is sent or after", () =>
    Effect.gen(function*() {
      const { caller, id, refund } = yield* waiting({ customer_id: "cust_7" })
      const email = newEmail()
      yield* caller.ok(`${path}/${refund.id}/claim-link/email`, post({ email }))
      const [row] = yield* rows(id)
      assert.include(row, { status: "waiting", customer_id: "cust_7", kind: "claim_link" })
      assert.notInclude(JSON.stringify(row, (_, value) => typeof value === "bigint" ? String(value) : value), email)
      yield* sentTo(email)
      assert.include((yield* rows(id))[0], { status: "sent", sealed_content: null, customer_id: null })
    }))

  it.effect("is in the language that the merchant names, else of the invoice, else of its pages", () =>
    Effect.gen(function*() {
      for (
        const [fields, named, language] of [
          [{ locale: "fr" }, { locale: "ja" }, "ja"],
          [{ locale: "fr" }, {}, "fr"],
          [{}, {}, "en"],
          [{}, { locale: "sv" }, "en"]
        ] as const
      ) {
        const { caller, refund } = yield* waiting(fields)
        const email = newEmail()
        yield* caller.ok(`${path}/${refund.id}/claim-link/email`, post({ email, ...named }))
        assert.strictEqual((yield* sentTo(email))[0]?.language, language)
      }
    }))

  it.effect("is sent by nobody who may not refund, for nobody else's refund, and not once the refund is approved", () =>
    Effect.gen(function*() {
      const { caller, refund, signedIn } = yield* waiting()
      const other = yield* waiting()
      const email = newEmail()
      const to = (who: typeof caller, id: string) =>
        Effect.map(who.call(`${path}/${id}/claim-link/email`, post({ email })), ({ json, status }) => [
          status,
          json.error?.code
        ])
      assert.deepStrictEqual(yield* to(other.caller, refund.id), [404, "REFUND_NOT_FOUND"])
      assert.deepStrictEqual(yield* to(callerOf(other.id, "commerce"), refund.id), [403, "SCOPE_MISMATCH"])
      assert.deepStrictEqual(yield* to(caller, "re_nothing"), [404, "REFUND_NOT_FOUND"])
      yield* (yield* Refunds).claim(refund.id, /#t=(.*)$/.exec(refund.claim_url)![1]!, wallet)
      yield* signedIn.ok(`${path}/${refund.id}/approve`, post({}))
      assert.deepStrictEqual(yield* to(caller, refund.id), [409, "INVALID_TRANSITION"])
      assert.deepStrictEqual(yield* sentTo(email), [])
    }))

  it.effect("takes one address that mail can be sent to, and no other thing", () =>
    Effect.gen(function*() {
      const { caller, id, refund } = yield* waiting()
      for (const email of ["", "jane", "a,b@mail.example", "a@b.example\r\nBcc: c@d.example", "a@10.0.0.1"]) {
        const { json, status } = yield* caller.call(`${path}/${refund.id}/claim-link/email`, post({ email }))
        assert.deepStrictEqual([status, json.error?.code, json.error?.param], [400, "VALIDATION_ERROR", "email"], email)
      }
      assert.deepStrictEqual(yield* rows(id), [])
      const opened = yield* (yield* Refunds).findClaim(refund.id, /#t=(.*)$/.exec(refund.claim_url)![1]!)
      assert.isTrue(opened?.canClaim, "the link before it is still good")
    }))

  it.effect("is refused to an address that had five of the merchant's within the hour, and the link before holds", () =>
    Effect.gen(function*() {
      const { caller, refund } = yield* waiting()
      const email = newEmail()
      for (let n = 0; n < 5; n++) yield* caller.ok(`${path}/${refund.id}/claim-link/email`, post({ email }))
      const sixth = yield* caller.call(`${path}/${refund.id}/claim-link/email`, post({ email }))
      assert.deepStrictEqual([sixth.status, sixth.json.error?.code], [429, "RATE_LIMIT_EXCEEDED"])
      const messages = yield* sentTo(email)
      assert.strictEqual(messages.length, 5)
      const [, last] = linkPattern.exec(messages.at(-1)!.text)!
      assert.isTrue((yield* (yield* Refunds).findClaim(refund.id, last!))?.canClaim)
    }))
})

layer(invoiceService)("a deployment that sends no mail", (it) => {
  it.effect("says so, and leaves the claim link as it is", () =>
    Effect.gen(function*() {
      const { caller, refund } = yield* waiting()
      const { json, status } = yield* caller.call(`${path}/${refund.id}/claim-link/email`, post({ email: newEmail() }))
      assert.deepStrictEqual([status, json.error?.code], [404, "NOT_FOUND"])
      assert.include(json.error.message, "sends no e-mail")
      const opened = yield* (yield* Refunds).findClaim(refund.id, /#t=(.*)$/.exec(refund.claim_url)![1]!)
      assert.isTrue(opened?.canClaim)
    }))
})

layer(invoiceService)("the words of a claim link by e-mail", (it) => {
  it.effect("name the shop, the money and the link in every language, and make no other link", () =>
    Effect.sync(() => {
      const link = "https://pay.example/claim/re_1#t=abc"
      const facts = {
        merchant: "https://evil.example\r\nShop",
        amount: "10.5",
        symbol: "www.x.io",
        network: "Base",
        link
      }
      const all = Language.literals.map((language) => claimMail(language, facts))
      for (const { subject, text } of all) {
        assert.notMatch(subject, /[\r\n]/)
        assert.include(subject, "evil. example Shop")
        for (const part of ["10.5 www. x. io", "Base", `\n${link}\n`]) assert.include(text, part)
        assert.strictEqual(text.split("://").length, 2)
        assert.notInclude(text, "evil.example")
      }
      assert.strictEqual(new Set(all.map(({ text }) => text)).size, Language.literals.length)
    }))
})
