/**
 * Goal: a message is stored with what it tells of and sent once, or after a crash twice under one id; nothing of it is
 * left afterwards, and no shop floods anybody. Method: the real commit log, outbox and sender over PostgreSQL; driver
 * and time of an attempt are what the test says.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { randomBytes } from "node:crypto"
import * as mailTables from "../../../modules/mail/migrations.ts"
import {
  type MailDriver,
  MailRejected,
  Mails,
  MailUnavailable,
  type OutgoingMail
} from "../../../modules/mail/plugin.ts"
import { makeRepo } from "../../../modules/mail/repo.ts"
import { attemptSeconds, isMailbox, maximumAttempts, nextAttemptAt, subjectLine } from "../../../modules/mail/rules.ts"
import { registerPersonalRecords } from "../../../modules/mail/service/PersonalRecords.ts"
import { makeSender } from "../../../modules/mail/service/Sender.ts"
import { Commit, noCause } from "../../../runtime/Commit.ts"
import { Mail, type MailMessage } from "../../../runtime/Mail.ts"
import { PersonalData } from "../../../runtime/PersonalData.ts"
import { fromMasters, Secrets } from "../../../runtime/Secrets.ts"
import { Timers } from "../../../runtime/Timers.ts"
import { isPublicError } from "../../../schemas/Errors.ts"
import { nameInMail } from "../../../schemas/MailText.ts"
import { exampleMessage } from "../../conformance/mails.ts"
import { kernel, settingsLayer } from "../../support/Api.ts"

/** What the driver does with a message. */
type Send = NonNullable<MailDriver["send"]>

/** What is sent is sent by the senders that the tests make, when they say so. */
const noTimers = Layer.mock(Timers, { register: () => Effect.void, wake: () => Effect.void })

const service = Layer.mergeAll(
  Layer.effectDiscard(Effect.flatMap(Mails, ({ register }) => register({ name: "test", send: () => Effect.never }))),
  Layer.effectDiscard(registerPersonalRecords)
).pipe(
  Layer.provideMerge(Mails.layer.pipe(Layer.provide(noTimers))),
  Layer.provideMerge(kernel([{ name: "mail", ...mailTables }], settingsLayer()))
)

let merchants = 0

/** A message of a merchant of its own, by default. */
const newMessage = (more: Partial<MailMessage> = {}): MailMessage => ({
  ...exampleMessage,
  merchantId: ++merchants,
  text: `https://pay.example/claim/re_1#t=${randomBytes(32).toString("base64url")}\n`,
  ...more
})

const store = Effect.fnUntraced(function*(message: MailMessage) {
  const { environment, merchantId } = message
  const writes = yield* (yield* Mail).draft(message)
  yield* (yield* Commit).append({ merchantId, environment, cause: noCause, writes, events: [] })
})

const codeOf = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.match(self, { onSuccess: () => "done", onFailure: (error) => isPublicError(error) ? error.code : "other" })

const rowOf = ({ id, merchantId }: MailMessage) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* Effect.orDie(sql<any>`
      SELECT m.*, row_to_json(m)::text AS text FROM mail_messages m WHERE merchant_id = ${merchantId} AND id = ${id}`)
    return row
  })

/** An instance that sends by `send`; answers what it was given. */
const newSender = Effect.fnUntraced(function*(send: Send, secrets?: Secrets["Service"]) {
  const sent: Array<OutgoingMail> = []
  const source = yield* makeSender({
    name: "test",
    repo: yield* makeRepo,
    secrets: secrets ?? (yield* Secrets),
    send: (mail) => Effect.suspend(() => (sent.push(mail), send(mail)))
  })
  /** Sends all that is due so many seconds from now. */
  const run = (inSeconds = 0) =>
    Effect.gen(function*() {
      while ((yield* source.run(Date.now() + inSeconds * 1_000, 10)) === 10) { /* the next batch */ }
    })
  return { run, sent, source }
})

/** A send with one `result` for all messages; that of `message` is held from when it has begun until the test ends it. */
const heldSend = Effect.fnUntraced(function*({ merchantId, id }: MailMessage, result: ReturnType<Send>) {
  const [begun, ended] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
  const send: Send = ({ key }) =>
    Effect.gen(function*() {
      if (key.merchantId === merchantId && key.id === id) {
        yield* Deferred.succeed(begun, undefined)
        yield* Deferred.await(ended)
      }
      return yield* result
    })
  return { begun: Deferred.await(begun), end: Deferred.succeed(ended, undefined), send }
})

const idsOf = (sent: ReadonlyArray<OutgoingMail>, { merchantId }: MailMessage) =>
  sent.filter(({ key }) => key.merchantId === merchantId).map(({ key }) => key.id)

const taken: Send = () => Effect.void
const unavailable: Send = () => Effect.fail(new MailUnavailable({ reason: "busy" }))

layer(service, { excludeTestServices: true })("a message", (it) => {
  it.effect("is readable by nobody while it waits, and gone once it is sent", () =>
    Effect.gen(function*() {
      const message = newMessage({ customerId: "cust_1" })
      yield* store(message)
      const waiting = yield* rowOf(message)
      assert.include(waiting, { status: "waiting", attempts: 0, customer_id: "cust_1" })
      for (const secret of [message.to, message.text.trim(), message.subject]) assert.notInclude(waiting.text, secret)
      const { run, sent } = yield* newSender(taken)
      yield* run()
      assert.deepInclude(sent.find(({ key }) => key.merchantId === message.merchantId)!, {
        to: message.to,
        text: message.text,
        subject: message.subject,
        language: "en"
      })
      assert.include(yield* rowOf(message), {
        status: "sent",
        sealed_content: null,
        customer_id: null,
        due_at: null
      })
      yield* run(10 * attemptSeconds)
      assert.strictEqual(idsOf(sent, message).length, 1)
    }))

  it.effect("is stored with what it tells of or not at all, and once however often that is told", () =>
    Effect.gen(function*() {
      const commit = yield* Commit
      const mail = yield* Mail
      const message = newMessage({ id: "receipt_1" })
      const { environment, merchantId } = message
      // Both find none: the second commit conflicts, and what it tells of is decided anew.
      const [one, other] = [yield* mail.draftOnce(message), yield* mail.draftOnce(message)]
      assert.deepStrictEqual([one.length, other.length], [1, 1])
      const append = (writes: typeof one) =>
        commit.append({ merchantId, environment, cause: noCause, writes, events: [] })
      yield* append(one)
      const second = yield* Effect.exit(append(other))
      assert.include(Exit.isFailure(second) ? Cause.pretty(second.cause) : "stored", "Conflict")
      assert.deepStrictEqual(yield* mail.draftOnce(message), [])
    }))

  it.effect("is sent by one of several instances that look at the same moment", () =>
    Effect.gen(function*() {
      const messages = Array.from({ length: 23 }, () => newMessage())
      yield* Effect.forEach(messages, store)
      const senders = yield* Effect.forEach([1, 2, 3], () => newSender(() => Effect.sleep("5 millis")))
      yield* Effect.forEach(senders, ({ run }) => run(), { concurrency: "unbounded" })
      const all = senders.flatMap(({ sent }) => sent)
      for (const message of messages) assert.deepStrictEqual(idsOf(all, message), [message.id])
    }))

  it.effect("is sent once more under its id by another instance, where one was killed after it had sent", () =>
    Effect.gen(function*() {
      const message = newMessage()
      yield* store(message)
      const { begun, send } = yield* heldSend(message, Effect.never)
      const first = yield* newSender(send)
      const fiber = yield* Effect.forkChild(first.run())
      yield* begun
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(idsOf(first.sent, message), [message.id])
      const second = yield* newSender(taken)
      yield* second.run()
      assert.deepStrictEqual(idsOf(second.sent, message), [], "it is the first one's turn")
      yield* second.run(attemptSeconds + 1)
      assert.deepStrictEqual(idsOf(second.sent, message), [message.id])
      yield* second.run(10 * attemptSeconds)
      assert.deepStrictEqual(idsOf(second.sent, message), [message.id])
      assert.include(yield* rowOf(message), { status: "sent", attempts: 2 })
    }))

  it.effect("of an attempt that lost its turn changes nothing", () =>
    Effect.gen(function*() {
      const message = newMessage()
      yield* store(message)
      const { begun, end, send } = yield* heldSend(message, Effect.fail(new MailRejected({ reason: "late" })))
      const slow = yield* newSender(send)
      const fiber = yield* Effect.forkChild(slow.run())
      yield* begun
      const second = yield* newSender(unavailable)
      yield* second.run(attemptSeconds + 1)
      yield* end
      yield* Fiber.join(fiber)
      assert.include(yield* rowOf(message), { status: "waiting", attempts: 2 })
    }))

  it.effect("is tried again after a minute, then less and less often, until it is sent", () =>
    Effect.gen(function*() {
      const message = newMessage()
      yield* store(message)
      let send = unavailable
      const { run, sent } = yield* newSender((mail) => send(mail))
      yield* run()
      yield* run(30)
      assert.strictEqual(idsOf(sent, message).length, 1)
      send = () => Effect.die(new Error("a bug of the driver"))
      yield* run(61)
      assert.strictEqual(idsOf(sent, message).length, 2)
      send = taken
      yield* run(120)
      assert.strictEqual(idsOf(sent, message).length, 2)
      yield* run(400)
      assert.include(yield* rowOf(message), { status: "sent", attempts: 3, sealed_content: null })
    }))

  it.effect("that bounces is never tried again, and nothing of it is kept", () =>
    Effect.gen(function*() {
      const message = newMessage()
      yield* store(message)
      const { run, sent } = yield* newSender(() => Effect.fail(new MailRejected({ reason: "no such mailbox" })))
      yield* run()
      yield* run(100_000)
      assert.strictEqual(idsOf(sent, message).length, 1)
      assert.include(yield* rowOf(message), { status: "bounced", sealed_content: null, due_at: null })
    }))

  it.effect("is given up after its last attempt, after two days, and where its key is gone", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const [last, old, sealed] = [newMessage(), newMessage(), newMessage()]
      yield* Effect.forEach([last, old], store)
      yield* sql`UPDATE mail_messages SET attempts = ${maximumAttempts - 1} WHERE merchant_id = ${last.merchantId}`
      yield* sql`UPDATE mail_messages SET created_at = created_at - 200000 WHERE merchant_id = ${old.merchantId}`
      const { run, sent } = yield* newSender(unavailable)
      yield* run()
      assert.deepStrictEqual([idsOf(sent, last).length, idsOf(sent, old).length], [1, 0])
      yield* store(sealed)
      const stranger = yield* newSender(taken, yield* fromMasters([randomBytes(32)]))
      yield* stranger.run()
      assert.deepStrictEqual(idsOf(stranger.sent, sealed), [])
      for (const message of [last, old, sealed]) {
        assert.include(yield* rowOf(message), { status: "given_up", sealed_content: null })
      }
    }))

  it.effect("is refused to an address that had five within an hour of the merchant, in whatever case", () =>
    Effect.gen(function*() {
      const { merchantId } = newMessage()
      const to = (address: string, n: number, more: Partial<MailMessage> = {}) =>
        codeOf(store(newMessage({ merchantId, id: `m_${n}_${address[0]}`, to: address, ...more })))
      for (let n = 0; n < 5; n++) assert.strictEqual(yield* to("jane@shop.example", n), "done")
      assert.strictEqual(yield* to("jane@shop.example", 5), "RATE_LIMIT_EXCEEDED")
      assert.strictEqual(yield* to("JANE@Shop.example", 6), "RATE_LIMIT_EXCEEDED")
      assert.strictEqual(yield* to("other@shop.example", 7), "done")
      assert.strictEqual(yield* codeOf(store(newMessage())), "done", "another merchant's")
      assert.strictEqual(yield* to("jane@shop.example", 9, { environment: "devnet" }), "done", "of play money")
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE mail_messages SET created_at = created_at - 3700 WHERE merchant_id = ${merchantId}`
      assert.strictEqual(yield* to("jane@shop.example", 8), "done")
    }))

  it.effect("is refused where the merchant had too many of its kind, to whatever address", () =>
    Effect.gen(function*() {
      const { merchantId } = newMessage()
      const send = (n: number, kind: string) =>
        codeOf(store(newMessage({ merchantId, id: `${kind}_${n}`, to: `j${n}@shop.example`, kind, maximumPerHour: 7 })))
      for (let n = 0; n < 7; n++) assert.strictEqual(yield* send(n, "claim_link"), "done")
      assert.strictEqual(yield* send(7, "claim_link"), "RATE_LIMIT_EXCEEDED")
      assert.strictEqual(yield* send(8, "invitation"), "done")
    }))

  it.effect("is gone after a week, also where nobody sends mail any more and it waits still", () =>
    Effect.gen(function*() {
      const { prune } = yield* makeRepo
      const [old, young] = [newMessage(), newMessage()]
      yield* store(old)
      yield* store(young)
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE mail_messages SET created_at = 1000 WHERE merchant_id = ${old.merchantId}`
      yield* prune(2_000)
      const left = yield* sql<{ merchant_id: number }>`SELECT merchant_id FROM mail_messages
        WHERE merchant_id IN (${old.merchantId}, ${young.merchantId})`
      assert.deepStrictEqual(left.map(({ merchant_id }) => merchant_id), [young.merchantId])
    }))

  it.effect("is refused to what is no mailbox, and in a once-told one left out", () =>
    Effect.gen(function*() {
      const message = newMessage({ to: "jane,eve@shop.example" })
      assert.strictEqual(yield* codeOf(store(message)), "VALIDATION_ERROR")
      assert.deepStrictEqual(yield* (yield* Mail).draftOnce(message), [])
    }))

  it.effect("to a customer is in exports while it waits, and gone with an erasure, also during an attempt", () =>
    Effect.gen(function*() {
      const keeper = (yield* PersonalData).keepers().find(({ name }) => name === "mail")!
      const { merchantId } = newMessage()
      const [mine, other] = [
        newMessage({ merchantId, id: "one", customerId: "cust_1" }),
        newMessage({ merchantId, id: "two", customerId: "cust_2" })
      ]
      yield* Effect.forEach([mine, other], store)
      const person = { merchantId, environment: "mainnet" as const, customerId: "cust_1" }
      const { next, records } = yield* keeper.records(person, null)
      assert.deepStrictEqual([records.length, next], [1, null])
      assert.deepInclude(records[0]!.data as object, { id: "one", kind: "example", to: mine.to })
      const { begun, end, send } = yield* heldSend(mine, unavailable(null as never))
      const { run } = yield* newSender(send)
      const fiber = yield* Effect.forkChild(run())
      yield* begun
      const erasure = { ...person, until: "", hashOf: (text: string) => text } as never
      assert.isNull(yield* keeper.erase(erasure, null))
      yield* end
      yield* Fiber.join(fiber)
      assert.include(yield* rowOf(mine), {
        status: "erased",
        sealed_content: null,
        recipient_hash: null,
        customer_id: null,
        due_at: null
      })
      assert.include(yield* rowOf(other), { status: "waiting", customer_id: "cust_2" })
      assert.deepStrictEqual((yield* keeper.records(person, null)).records, [])
    }))
})

describe("the rules of mail", () => {
  it("wait longer after each attempt, and end within two days", () => {
    const times: Array<number> = []
    let now = 0
    for (let attempts = 1;; attempts++) {
      const next = nextAttemptAt(attempts, 0, now)
      if (next === null) break
      times.push(next - now)
      now = next
    }
    assert.strictEqual(times.length + 1, maximumAttempts)
    assert.deepStrictEqual(times, times.toSorted((one, other) => one - other))
    assert.isBelow(now, 2 * 86_400)
    assert.isNull(nextAttemptAt(1, 0, 2 * 86_400))
  })

  it("take addresses that mean one mailbox on a host with a name", () => {
    for (
      const good of [
        "a@b.co",
        "jane.doe+shop@mail.shop.example",
        "o'hara@shop.example",
        "j@bücher.example",
        "用户@例え.jp"
      ]
    ) {
      assert.isTrue(isMailbox(good), good)
    }
    for (
      const bad of [
        "a,b@c.example",
        "a;b@c.example",
        "(x)a@c.example",
        "a b@c.example",
        "a@c",
        "a@[10.0.0.1]",
        "a@10.0.0.1",
        "a@-c.example",
        ".a@c.example",
        "a..b@c.example",
        "a@c.example\r\nRCPT TO:<b@c.example>",
        "a:b@c.example",
        "a@b@c.example",
        "a%0d@c.example>",
        "<a@c.example>",
        `${"a".repeat(65)}@c.example`,
        ""
      ]
    ) assert.isFalse(isMailbox(bad), bad)
  })

  it("put a foreign name on one line, cut, and so that no mail program makes a link of it", () => {
    assert.strictEqual(nameInMail("Demo Store"), "Demo Store")
    assert.strictEqual(nameInMail("Shop\r\nBcc: a"), "Shop Bcc: a")
    assert.strictEqual(nameInMail("https://evil.example/x"), "https: evil. example/x")
    assert.strictEqual(nameInMail("a@evil．example"), "a@ evil. example")
    assert.strictEqual(nameInMail("\u202eShop\u200b"), "Shop")
    assert.strictEqual([...nameInMail("💥".repeat(100))].length, 61)
  })

  it("put a subject on one line, and name play money", () => {
    assert.strictEqual(subjectLine("A\r\nB: c", "mainnet"), "A B: c")
    assert.strictEqual(subjectLine("Receipt", "devnet"), "[devnet] Receipt")
    assert.isAtMost([...subjectLine("x".repeat(500), "mainnet")].length, 150)
  })
})
