/**
 * Goal: messages reach a mail server encrypted and whole, say nothing in their headers that they should not, and a
 * server that refuses, is silent or is somebody else's is told apart. Method: the conformance suite of mail, and a real
 * SMTP server with TLS on a socket.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Result, Schema } from "effect"
import { faultOf as readFault, makeSend, plugin, type SmtpOptions } from "../../../../modules/mail/drivers/smtp.ts"
import { MailUnavailable, type OutgoingMail } from "../../../../modules/mail/plugin.ts"
import { mailConformance, type MailLayer } from "../../../conformance/mails.ts"
import { account, type MailServer, makeMailServer } from "../../../fixtures/mailServer.ts"
import { receiverCertificate } from "../../../support/Receiver.ts"

const caFile = decodeURIComponent(new URL("../../../support/tls/cert.pem", import.meta.url).pathname)

const optionsOf = ({ port }: MailServer, more: Partial<SmtpOptions> = {}): SmtpOptions => ({
  host: "localhost",
  port,
  from: "shop@pay.example",
  ...more
})

mailConformance(
  "smtp",
  Effect.map(makeMailServer(), (server) => ({
    layer: plugin.layer({ ...optionsOf(server), caFile }) as MailLayer,
    taken: () =>
      server.taken.map(({ headers, text }) => ({
        id: headers.get("message-id")!,
        subject: headers.get("subject")!,
        text
      }))
  }))
)

const mail: OutgoingMail = {
  key: { merchantId: 7, id: "claim_1" },
  to: "jane@shop.example",
  language: "en",
  subject: "Your refund",
  text: "Open this link:\nhttps://pay.example/claim/re_1#t=token\n"
}

const sendBy = (server: MailServer, more: Partial<SmtpOptions> = {}, sent: Partial<OutgoingMail> = {}) =>
  Effect.result(makeSend(optionsOf(server, more), receiverCertificate)({ ...mail, ...sent }))

const faultOf = <A, E>(result: Result.Result<A, E>): E | null => Result.isFailure(result) ? result.failure : null

describe("mail by SMTP", () => {
  for (const tls of ["starttls", "implicit"] as const) {
    it.live(`goes over TLS (${tls}), with an account where there is one`, () =>
      Effect.gen(function*() {
        const server = yield* makeMailServer({ tls, needsAccount: true })
        const withAccount = { tls, user: account.user, password: Redacted.make(account.password) }
        assert.strictEqual(faultOf(yield* sendBy(server, withAccount)), null)
        assert.include(server.taken[0], { isEncrypted: true, user: account.user, from: "shop@pay.example" })
        assert.deepStrictEqual(server.taken[0]!.to, ["jane@shop.example"])
        const refused = faultOf(yield* sendBy(server, { ...withAccount, password: Redacted.make("wrong") }))
        assert.instanceOf(refused, MailUnavailable, "the operator mends it, so it is tried again")
        assert.notInclude(refused!.reason, "wrong password")
        assert.strictEqual(server.taken.length, 1)
      }))
  }

  it.live("never goes in the clear, and to no server without the certificate of its name", () =>
    Effect.gen(function*() {
      const plain = yield* makeMailServer({ tls: "none" })
      assert.instanceOf(faultOf(yield* sendBy(plain)), MailUnavailable)
      for (const certificate of ["expired", "otherhost", "stranger"] as const) {
        const server = yield* makeMailServer({ certificate })
        assert.instanceOf(faultOf(yield* sendBy(server)), MailUnavailable, certificate)
        assert.strictEqual(server.taken.length, 0)
      }
      assert.strictEqual(plain.taken.length, 0)
      assert.strictEqual(faultOf(yield* sendBy(plain, { tls: "none" })), null)
    }))

  it.live("has one recipient and no header that somebody else wrote, whatever is in names and subjects", () =>
    Effect.gen(function*() {
      const server = yield* makeMailServer()
      const subject = "Refund\r\nBcc: eve@evil.example\r\n\r\nhello"
      assert.strictEqual(faultOf(yield* sendBy(server, { fromName: "Shop, \"Inc\"" }, { subject })), null)
      for (const to of ["jane,eve@evil.example", "(eve@evil.example)jane@shop.example"]) {
        yield* sendBy(server, {}, { to })
      }
      for (const { headers, to } of server.taken) {
        assert.strictEqual(to.length, 1)
        assert.notInclude(to, "eve@evil.example")
        assert.isUndefined(headers.get("bcc"))
        assert.include(headers.get("content-type"), "text/plain")
        assert.strictEqual(headers.get("auto-submitted"), "auto-generated")
        assert.match(headers.get("message-id")!, /^<[0-9a-f]{40}@pay\.example>$/)
        assert.sameMembers([...headers.keys()], [
          "auto-submitted",
          "content-language",
          "content-transfer-encoding",
          "content-type",
          "date",
          "from",
          "message-id",
          "mime-version",
          "subject",
          "to"
        ])
      }
      assert.strictEqual(server.taken[0]!.text.trimEnd(), mail.text.trimEnd())
    }))

  it.live("tells a refusal for good from one for now, and names no address", () =>
    Effect.gen(function*() {
      const server = yield* makeMailServer()
      for (
        const [verdict, kind] of [
          ["refuse recipient", "MailRejected"],
          ["refuse message", "MailRejected"],
          ["refuse recipient later", "MailUnavailable"],
          ["refuse message later", "MailUnavailable"],
          // The address that it comes from is the operator's to mend.
          ["refuse sender", "MailUnavailable"]
        ] as const
      ) {
        server.answer(verdict)
        const fault = faultOf(yield* sendBy(server))
        assert.strictEqual(fault?._tag, kind, verdict)
        assert.notInclude(fault!.reason, "jane", verdict)
      }
      assert.strictEqual(server.taken.length, 0)
    }))

  it.live("keeps links and addresses out of what it says of a server's answer", () =>
    Effect.sync(() => {
      const link = "https://pay.example/claim/re_1#t=secret-token"
      for (const quoted of [link, `(${link})`, link.replace("https://", ""), `url=${link}`]) {
        const { reason } = readFault({
          code: "EMESSAGE",
          command: "DATA",
          responseCode: 450,
          response: `450 4.7.1 jane@shop.example: ${quoted} is listed`
        })
        assert.notInclude(reason, "secret-token", quoted)
        assert.notInclude(reason, "jane")
        assert.include(reason, "450 4.7.1")
      }
    }))

  it.live("gives up on a server that does not say a word, and on one that is not there", () =>
    Effect.gen(function*() {
      const server = yield* makeMailServer()
      server.answer("say nothing")
      const started = performance.now()
      const silent = yield* Effect.result(makeSend(optionsOf(server), receiverCertificate, 300)(mail))
      assert.instanceOf(faultOf(silent), MailUnavailable)
      assert.isBelow(performance.now() - started, 5_000)
      assert.instanceOf(faultOf(yield* sendBy({ ...server, port: 1 })), MailUnavailable)
    }))
})

describe("the options of mail/smtp", () => {
  const read = Schema.decodeUnknownResult(plugin.options!)
  const good = { host: "mail.example", from: "shop@pay.example" }

  it("take what names a server and a sender", () => {
    for (const options of [good, { ...good, host: "localhost", tls: "none" }, { ...good, user: "a", password: "b" }]) {
      assert.isTrue(Result.isSuccess(read(options)), JSON.stringify(options))
    }
  })

  it("refuse what would send links in the clear, and what is half an account", () => {
    for (
      const wrong of [
        { ...good, tls: "none" },
        { ...good, user: "a" },
        { ...good, password: "b" },
        { ...good, from: "Shop <shop@pay.example>" },
        { ...good, host: "smtp://mail.example" },
        { ...good, fromName: "a\r\nBcc: b@c.example" },
        { ...good, caFile: "ca.pem" }
      ]
    ) {
      assert.isTrue(Result.isFailure(read(wrong)), JSON.stringify(wrong))
    }
  })
})
