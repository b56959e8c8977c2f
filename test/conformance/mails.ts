/**
 * What every driver of mail promises, whoever wrote it: a driver's test calls {@link mailConformance}. The kernel's
 * port, the mail module and the database are the real ones.
 */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, type FileSystem, Layer, type Scope } from "effect"
import { NodeServices } from "@effect/platform-node"
import type { SqlClient } from "effect/sql"
import * as mailTables from "../../modules/mail/migrations.ts"
import { type MailDriver, Mails } from "../../modules/mail/plugin.ts"
import { Mail, type MailMessage } from "../../runtime/Mail.ts"
import type { Commit } from "../../runtime/Commit.ts"
import type { PersonalData } from "../../runtime/PersonalData.ts"
import type { Timers } from "../../runtime/Timers.ts"
import { kernel, settingsLayer } from "../support/Api.ts"

/** A plugin's layer as far as a driver of mail may need the runtime. */
export type MailLayer = Layer.Layer<never, unknown, Mails | FileSystem.FileSystem>

/** A driver ready to be tried. */
export interface MailSubject {
  readonly layer: MailLayer
  /** What its server has taken: id, subject and text of each. Null: it sends nothing. */
  readonly taken: (() => ReadonlyArray<{ readonly id: string; readonly subject: string; readonly text: string }>) | null
}

export type MailServices = Commit | Mail | PersonalData | SqlClient.SqlClient | Timers

/** The kernel with the mail module and these drivers. */
export const mailLayerOf = (driver: MailLayer): Layer.Layer<MailServices, unknown> =>
  driver.pipe(
    Layer.provideMerge(Mails.layer),
    Layer.provideMerge(kernel([{ name: "mail", ...mailTables }], settingsLayer())),
    Layer.provideMerge(NodeServices.layer)
  ) as Layer.Layer<MailServices, unknown>

export const exampleMessage: MailMessage = {
  id: "example_1",
  merchantId: 7,
  environment: "mainnet",
  kind: "example",
  to: "jane@shop.example",
  language: "en",
  subject: "Hello",
  text: "One line\nAnother one\n",
  customerId: null,
  maximumPerHour: null
}

/** The driver that a layer registers. */
const driverOf = (layer: MailLayer): Effect.Effect<MailDriver, unknown, Scope.Scope> =>
  Effect.gen(function*() {
    const registered: Array<MailDriver> = []
    const port = Layer.succeed(Mails, { register: (driver) => Effect.sync(() => void registered.push(driver)) })
    yield* Layer.build(layer.pipe(Layer.provide(Layer.mergeAll(port, NodeServices.layer))))
    return registered[0]!
  })

/** Runs the suite. `start` makes the driver and its server. */
export const mailConformance = (name: string, start: Effect.Effect<MailSubject, never, Scope.Scope>) =>
  describe(`mail ${name}`, () => {
    it.live("drafts messages only where it sends them", () =>
      Effect.gen(function*() {
        const { layer, taken } = yield* start
        const services = yield* Layer.build(mailLayerOf(layer))
        const mail = Context.get(services, Mail)
        const writes = yield* Effect.provide(mail.draft(exampleMessage), services)
        assert.deepStrictEqual([mail.isEnabled(), writes.length], taken === null ? [false, 0] : [true, 1])
      }))

    it.live("sends what it is given, each of many at once, and the same one under the same id again", () =>
      Effect.gen(function*() {
        const { layer, taken } = yield* start
        const { send } = yield* driverOf(layer)
        if (taken === null || send === null) return assert.deepStrictEqual([taken, send], [null, null])
        const mails = Array.from({ length: 8 }, (_, index) => ({
          key: { merchantId: 7, id: `example_${index}` },
          to: `jane${index}@shop.example`,
          language: "ar" as const,
          subject: `رسالة ${index}`,
          text: `مرحبا ${index}\nhttps://pay.example/claim/re_1#t=${"x".repeat(43)}${index}\n`
        }))
        yield* Effect.forEach(mails, send, { concurrency: "unbounded" })
        assert.sameDeepMembers(
          taken().map(({ subject, text }) => [subject, text.trimEnd()]),
          mails.map(({ subject, text }) => [subject, text.trimEnd()])
        )
        yield* send(mails[3]!)
        const [first, second] = taken().filter(({ subject }) => subject === mails[3]!.subject)
        assert.strictEqual(second!.id, first!.id)
        assert.strictEqual(new Set(taken().map(({ id }) => id)).size, mails.length)
      }))

    it.live("ends the start where another driver is there, and says what to do", () =>
      Effect.gen(function*() {
        const { layer } = yield* start
        const other = Layer.effectDiscard(
          Effect.flatMap(Mails, ({ register }) => register({ name: "other", send: () => Effect.void }))
        )
        const second = yield* Effect.exit(Layer.build(mailLayerOf(Layer.provideMerge(layer, other))))
        assert.include(
          Exit.isFailure(second) ? Cause.pretty(second.cause) : "it started",
          "remove one of them from the config"
        )
      }))
  })
