/**
 * Goal: whoever may act on something hears of it once, whatever crashes and however many instances look, and a flood is
 * one message. Method: the real commit log, notices and outbox over PostgreSQL; people and networks are what the test
 * says.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type InvoiceHook, InvoiceHooks } from "../../../modules/invoices/plugin.ts"
import { Mails } from "../../../modules/mail/plugin.ts"
import * as mailTables from "../../../modules/mail/migrations.ts"
import * as noticeTables from "../../../modules/notices/migrations.ts"
import { makeRepo } from "../../../modules/notices/repo.ts"
import {
  exceptionNotice,
  keptSeconds,
  type NetworkWatch,
  quietSeconds,
  troubleSeconds,
  watchNetwork
} from "../../../modules/notices/rules.ts"
import { merchantNotice, networkNotice, unownedNotice } from "../../../modules/notices/rules/NoticeMail.ts"
import { start } from "../../../modules/notices/service.ts"
import { makeDigests } from "../../../modules/notices/service/Digests.ts"
import { makeNetworkLook } from "../../../modules/notices/service/NetworkWatches.ts"
import { MerchantSettings } from "../../../modules/settings/plugin.ts"
import { type Contact, TeamContacts } from "../../../modules/team/plugin.ts"
import { Chains, type NetworkCondition } from "../../../runtime/Chains.ts"
import { Commit, noCause, systemMerchant, type Write } from "../../../runtime/Commit.ts"
import * as Leases from "../../../runtime/Leases.ts"
import { Mail } from "../../../runtime/Mail.ts"
import { type Notice, Notices } from "../../../runtime/Notices.ts"
import { Secrets } from "../../../runtime/Secrets.ts"
import { Timers } from "../../../runtime/Timers.ts"
import { Language } from "../../../schemas/Languages.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { openContent } from "../../../modules/mail/service/Contents.ts"
import { kernel, settingsLayer } from "../../support/Api.ts"

const operator = { email: "ops@till.example", language: "de" } as const

/** Who is told, by merchant. */
const people = new Map<number, ReadonlyArray<Contact>>()

let condition: NetworkCondition = "ok"

/** Timers and periodic work run when the tests say so. */
const stubs = Layer.mergeAll(
  Layer.mock(Timers, { register: () => Effect.void, wake: () => Effect.void }),
  Layer.mock(Leases.Leases, { hold: () => Effect.never }),
  Layer.mock(TeamContacts, { find: (merchantId) => Effect.sync(() => people.get(merchantId) ?? []) }),
  Layer.mock(MerchantSettings, {
    get: () => Effect.succeed({ branding: { name: "Lamps", default_locale: "en" } } as never)
  }),
  Layer.mock(Chains, {
    status: (environment: Environment) => environment === "mainnet" ? [{ network: "base", environment, condition }] : []
  } as never)
)

const kernelLayer = kernel(
  [{ name: "mail", ...mailTables }, { name: "notices", ...noticeTables }],
  settingsLayer({ environments: ["mainnet", "devnet"], publicUrl: "https://pay.example" })
)

const mail = Layer.effectDiscard(
  Effect.flatMap(Mails, ({ register }) => register({ name: "test", send: () => Effect.never }))
).pipe(Layer.provide(Mails.layer))

const withMail = Layer.effectDiscard(start(operator)).pipe(
  Layer.provideMerge(mail),
  Layer.provideMerge(InvoiceHooks.layer),
  Layer.provideMerge(stubs),
  Layer.provideMerge(kernelLayer)
)

let merchants = 0
let subjects = 0

const newMerchant = (...contacts: ReadonlyArray<Contact>) => {
  people.set(++merchants, contacts)
  return merchants
}

const ines: Contact = { email: "ines@lamps.example", language: "es" }
const mara: Contact = { email: "mara@lamps.example", language: null }

const newNotice = (merchantId: number, more: Partial<Notice> = {}): Notice => ({
  id: `exc_${++subjects}_0`,
  merchantId,
  environment: "mainnet",
  kind: "exception",
  subject: `exc_${subjects}`,
  type: "late_payment",
  amount: 12_500n,
  ...more
})

const appendFor = Effect.fnUntraced(function*(merchantId: number, writes: ReadonlyArray<Write>) {
  yield* (yield* Commit).append({ merchantId, environment: "mainnet", cause: noCause, writes, events: [] })
})

/** Something that somebody must act on happens. */
const happen = Effect.fnUntraced(function*(notice: Notice) {
  yield* appendFor(notice.merchantId, yield* (yield* Notices).draft(notice))
})

/** An instance that looks at what is due. */
const look = Effect.gen(function*() {
  const { run } = yield* makeDigests(yield* makeRepo, operator)
  yield* run(Date.now(), 100)
})

/** What is in the outbox for a merchant, oldest first. */
const messagesOf = Effect.fnUntraced(function*(merchantId: number) {
  const sql = yield* SqlClient.SqlClient
  const secrets = yield* Secrets
  const rows = yield* sql<{ id: string; sealed_content: string }>`SELECT id, sealed_content FROM mail_messages
    WHERE merchant_id = ${merchantId} AND kind = 'notice' ORDER BY created_at, id`
  return rows.map(({ id, sealed_content }) => ({ id, ...openContent(secrets, sealed_content)! }))
}, Effect.orDie)

/** Lets an hour pass for a merchant. */
const anHourPasses = Effect.fnUntraced(function*(merchantId: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE notice_groups SET sent_at = sent_at - ${quietSeconds} WHERE merchant_id = ${merchantId}`
  yield* sql`UPDATE notices SET due_at = due_at - ${quietSeconds}, created_at = created_at - ${quietSeconds}
    WHERE merchant_id = ${merchantId}`
}, Effect.orDie)

layer(withMail, { excludeTestServices: true })("a notice", (it) => {
  it.effect("goes to each who may act on it, in their language, with type, amount and link and nothing else", () =>
    Effect.gen(function*() {
      const merchant = newMerchant(ines, mara)
      const notice = newNotice(merchant)
      yield* happen(notice)
      yield* look
      const [toInes, toMara, ...others] = yield* messagesOf(merchant)
      assert.deepStrictEqual(others, [])
      assert.include(toInes, { to: ines.email, language: "es", subject: "Lamps: un caso requiere una decisión" })
      assert.include(toMara, { to: mara.email, language: "en", subject: "Lamps: a case needs a decision" })
      assert.strictEqual(
        toMara!.text,
        "Lamps: a case needs a decision\n\nCase: Arrived late\nAmount: 12.50 USD\n\nSee it in the dashboard:\n" +
          `https://pay.example/dashboard/${merchant}/mainnet/todo?open=${notice.subject}\n\n` +
          "In your account in the dashboard you choose which of these messages you get.\n"
      )
    }))

  it.effect("is stored with what it tells of, or not at all", () =>
    Effect.gen(function*() {
      const merchant = newMerchant(mara)
      const notice = newNotice(merchant)
      const writes = yield* (yield* Notices).draft(notice)
      yield* appendFor(merchant, writes)
      // The change conflicts: neither it nor its notice is there twice.
      const conflict = yield* Effect.flip(
        appendFor(merchant, [...writes, ...yield* (yield* Notices).draft(newNotice(merchant))])
      )
      assert.strictEqual(conflict._tag, "Conflict")
      yield* look
      assert.deepStrictEqual((yield* messagesOf(merchant)).map(({ subject }) => subject), [
        "Lamps: a case needs a decision"
      ])
    }))

  it.effect("is sent once by several instances that look at once, and never again", () =>
    Effect.gen(function*() {
      const merchant = newMerchant(mara)
      yield* Effect.forEach([1, 2, 3], () => happen(newNotice(merchant)))
      yield* Effect.all([look, look, look, look], { concurrency: "unbounded" })
      yield* look
      yield* anHourPasses(merchant)
      yield* look
      const told = (yield* messagesOf(merchant)).map(({ subject }) => Number(/\d+$/.exec(subject)?.[0] ?? 1))
      assert.strictEqual(told.reduce((sum, count) => sum + count, 0), 3)
    }))

  it.effect("counts each of a flood once while some of it still arrives", () =>
    Effect.gen(function*() {
      const merchant = newMerchant(mara)
      const flood = Effect.forEach(
        Array.from({ length: 150 }),
        () => happen(newNotice(merchant)),
        { concurrency: 20, discard: true }
      )
      yield* Effect.all([flood, Effect.forEach([1, 2, 3, 4, 5], () => look), look], { concurrency: "unbounded" })
      yield* look
      const atOnce = yield* messagesOf(merchant)
      assert.strictEqual(atOnce.length, 1, "one message within the hour")
      yield* anHourPasses(merchant)
      yield* look
      const told = (yield* messagesOf(merchant)).map(({ subject }) => Number(/\d+$/.exec(subject)?.[0] ?? 1))
      assert.strictEqual(told.reduce((sum, count) => sum + count, 0), 150)
      assert.isAtMost(told.length, 2)
      assert.include((yield* messagesOf(merchant)).at(-1)!.text, `/dashboard/${merchant}/mainnet/todo\n`)
    }))

  it.effect("is told anew by nobody after a crash between the message and its sending", () =>
    Effect.gen(function*() {
      const merchant = newMerchant(mara)
      yield* happen(newNotice(merchant))
      yield* look
      const sql = yield* SqlClient.SqlClient
      // The outbox has it: what is sent from here on is the outbox's, whose copies have one id.
      yield* Effect.orDie(sql`UPDATE mail_messages SET due_at = 0 WHERE merchant_id = ${merchant}`)
      yield* anHourPasses(merchant)
      yield* look
      assert.strictEqual((yield* messagesOf(merchant)).length, 1)
    }))

  it.effect("waits for nobody: a second one of another kind goes at once, and one of the same kind within the hour", () =>
    Effect.gen(function*() {
      const merchant = newMerchant(mara)
      yield* happen(newNotice(merchant))
      yield* look
      yield* happen(newNotice(merchant, { kind: "endpoint", subject: "we_1", type: "gone", amount: null }))
      yield* happen(newNotice(merchant))
      yield* look
      assert.deepStrictEqual((yield* messagesOf(merchant)).map(({ subject }) => subject).toSorted(), [
        "Lamps: a case needs a decision",
        "Lamps: a webhook endpoint is disabled"
      ])
      yield* anHourPasses(merchant)
      yield* look
      assert.strictEqual((yield* messagesOf(merchant)).length, 3)
    }))

  it.effect("holds up no other merchant's where it cannot be made, and is tried again", () =>
    Effect.gen(function*() {
      const broken = newMerchant({ ...ines, language: "none" as never })
      const merchant = newMerchant(mara)
      yield* happen(newNotice(broken))
      yield* happen(newNotice(merchant))
      yield* look
      assert.strictEqual((yield* messagesOf(merchant)).length, 1)
      assert.deepStrictEqual(yield* messagesOf(broken), [])
      people.set(broken, [ines])
      yield* anHourPasses(broken)
      yield* look
      assert.strictEqual((yield* messagesOf(broken)).length, 1)
    }))

  it.effect("goes out however many other messages its address has had", () =>
    Effect.gen(function*() {
      const merchant = newMerchant(mara)
      const port = yield* Mail
      for (const n of [1, 2, 3, 4, 5]) {
        yield* appendFor(
          merchant,
          yield* port.draft({
            id: `claim_${n}`,
            merchantId: merchant,
            environment: "mainnet",
            kind: "claim_link",
            to: mara.email,
            language: "en",
            subject: "A link",
            text: "A link",
            customerId: null,
            maximumPerHour: null
          })
        )
      }
      yield* happen(newNotice(merchant))
      yield* look
      assert.strictEqual((yield* messagesOf(merchant)).length, 1)
    }))

  it.effect("is of both environments where its endpoint is", () =>
    Effect.gen(function*() {
      const merchant = newMerchant(mara)
      yield* happen(
        newNotice(merchant, { environment: null, kind: "endpoint", subject: "we_2", type: "failing", amount: null })
      )
      yield* look
      const [message] = yield* messagesOf(merchant)
      assert.include(message!.text, `/dashboard/${merchant}/mainnet/webhooks/we_2\n`)
      assert.include(message!.text, "It took nothing for five days")
    }))

  it.effect("goes when nobody is there to get it, and is not kept for who comes later", () =>
    Effect.gen(function*() {
      const merchant = newMerchant()
      yield* happen(newNotice(merchant))
      yield* look
      people.set(merchant, [mara])
      yield* anHourPasses(merchant)
      yield* look
      assert.deepStrictEqual(yield* messagesOf(merchant), [])
    }))

  it.effect("is removed after a week, sent or not", () =>
    Effect.gen(function*() {
      const merchant = newMerchant(mara)
      yield* happen(newNotice(merchant))
      const sql = yield* SqlClient.SqlClient
      yield* Effect.orDie(sql`UPDATE notices SET created_at = created_at - ${keptSeconds + 1}
        WHERE merchant_id = ${merchant}`)
      const { prune } = yield* makeRepo
      assert.isAtLeast(yield* Effect.orDie(prune(Math.floor(Date.now() / 1_000) - keptSeconds)), 1)
      yield* look
      assert.deepStrictEqual(yield* messagesOf(merchant), [])
    }))

  it.effect("of a case is drafted in its commit where it opens, not where it is decided or changes", () =>
    Effect.gen(function*() {
      const merchant = newMerchant(mara)
      const hook = (yield* InvoiceHooks).current().find(({ name }) => name === "notices") as InvoiceHook
      const invoice = { merchantId: merchant, environment: "mainnet" }
      const open = { id: `exc_h${merchant}`, version: 0, status: "open", type: "overpaid", amount: 0n }
      const change = (before: ReadonlyArray<object>, next: ReadonlyArray<object>) =>
        Effect.map(
          hook.run({
            before: { invoice, payments: [], exceptions: before },
            decision: { next: { invoice, payments: [], exceptions: next } },
            facts: [],
            now: 0,
            nowMillis: 0
          } as never),
          ({ writes = [] }) => writes.map(({ row }) => row["id"])
        )
      const decided = { ...open, version: 1, status: "resolved" }
      assert.deepStrictEqual(yield* change([], [open]), [`${open.id}_0`])
      assert.deepStrictEqual(yield* change([open], [{ ...open, amount: 5n }]), [])
      assert.deepStrictEqual(yield* change([open], [decided]), [])
      assert.deepStrictEqual(yield* change([decided], [{ ...decided, status: "open" }]), [`${open.id}_1`])
      const exception = { exception: open, merchantId: systemMerchant, environment: "mainnet" }
      const unowned = yield* hook.onUnmatched!({ before: null, after: exception } as never)
      assert.strictEqual(unowned.writes!.length, 1)
    }))

  it.effect("of money that belongs to no merchant goes to the operator, in the operator's language", () =>
    Effect.gen(function*() {
      yield* happen(newNotice(systemMerchant, { type: "unmatched_payment" }))
      yield* look
      const found = (yield* messagesOf(systemMerchant)).filter(({ subject }) => subject.includes("Händler"))
      assert.deepStrictEqual(found.map(({ language, to }) => ({ language, to })), [{
        language: "de",
        to: operator.email
      }])
      assert.notInclude(found[0]!.text, "://")
    }))

  it.effect("of a network goes to the operator once while the trouble lasts, and once when it is over", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const see = yield* makeNetworkLook(yield* makeRepo)
      const told = Effect.gen(function*() {
        yield* see
        yield* look
        const all = yield* messagesOf(systemMerchant)
        return all.filter(({ subject }) => subject.startsWith("Netzwerk")).map(({ text }) => text.split("\n")[0])
      })
      const pass = (seconds: number) =>
        Effect.orDie(Effect.andThen(
          sql`UPDATE notice_networks SET since = since - ${seconds}`,
          anHourPasses(systemMerchant)
        ))
      assert.deepStrictEqual(yield* told, [])
      condition = "silent"
      assert.deepStrictEqual(yield* told, [], "nodes are away for a moment now and then")
      yield* pass(troubleSeconds)
      condition = "frozen"
      const first = "Base: Es kommt kein neuer Block, daher wird dort keine Zahlung erkannt. Prüfen Sie die Knoten."
      assert.deepStrictEqual(yield* told, [first])
      yield* pass(troubleSeconds)
      assert.deepStrictEqual(yield* told, [first], "it is not told again and again")
      condition = "ok"
      assert.sameMembers([...yield* told], [first, "Base läuft wieder."])
      yield* pass(troubleSeconds)
      assert.strictEqual((yield* told).length, 2)
    }))
})

const withoutMail = Layer.effectDiscard(start(operator)).pipe(
  Layer.provideMerge(InvoiceHooks.layer),
  Layer.provideMerge(stubs),
  Layer.provideMerge(kernelLayer)
)

layer(Layer.fresh(withoutMail), { excludeTestServices: true })("without mail", (it) => {
  it.effect("nothing is drafted, stored or looked at", () =>
    Effect.gen(function*() {
      const merchant = newMerchant(mara)
      assert.deepStrictEqual(yield* (yield* Notices).draft(newNotice(merchant)), [])
      assert.isFalse((yield* Notices).isEnabled())
      condition = "silent"
      yield* (yield* makeNetworkLook(yield* makeRepo))
      condition = "ok"
      const source = yield* makeDigests(yield* makeRepo, operator)
      assert.strictEqual(yield* source.nextDueMillis, null)
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql`SELECT id FROM notices UNION ALL SELECT id FROM notice_networks`
      assert.deepStrictEqual(rows, [])
    }))
})

describe("the words of notices", () => {
  const facts = { type: "overpaid", amount: 5_000n, count: 1, link: "https://pay.example/x" }

  it("are there in every language, with one link, the shop's name as no link, and nothing of the payor", () => {
    for (const language of Language.literals) {
      for (const kind of ["exception", "endpoint"] as const) {
        for (const count of [1, 12]) {
          const { subject, text } = merchantNotice(language, kind, "evil.example\nhttps://x", {
            ...facts,
            type: kind === "exception" ? facts.type : "gone",
            count
          })
          assert.strictEqual(text.split("://").length, 2, `${language} ${kind} ${count}`)
          assert.notInclude(subject, "evil.example")
          assert.notInclude(subject, "\n")
          assert.strictEqual(text.includes("5.00 USD"), kind === "exception" && count === 1)
          assert.strictEqual(subject.includes("12"), count === 12)
        }
      }
      for (const condition of ["ok", "silent", "frozen", "disagreement", "no_common_block"]) {
        assert.include(networkNotice(language, "Base", { ...facts, type: condition }).text, "Base")
      }
      assert.notInclude(unownedNotice(language, { ...facts, type: "unmatched_payment" }).text, "://")
    }
  })
})

describe("an exception", () => {
  it("is told of by its type, and its amount where it has one", () => {
    const after = {
      merchantId: 1,
      environment: "devnet",
      exception: { id: "exc_1", version: 3, status: "open", type: "wrong_token", amount: 0n }
    } as never
    assert.deepInclude(exceptionNotice(null, after)!, { id: "exc_1_3", type: "wrong_token", amount: null })
  })
})

describe("a network", () => {
  const works: NetworkWatch = {
    network: "base",
    environment: "mainnet",
    version: 0,
    condition: "ok",
    since: 0,
    isTold: false
  }

  it("that recovers before anybody is told is told of by nobody", () => {
    const silent = watchNetwork(works, "silent", 100)!.next
    const again = watchNetwork(silent, "ok", 200)!
    assert.isFalse(again.tells)
    assert.isNull(watchNetwork(again.next, "ok", 300))
  })
})
