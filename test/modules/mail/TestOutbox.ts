/** Mail for the tests of features: the real outbox, and a driver that keeps what it is given. */
import { Effect, Layer } from "effect"
import * as mailTables from "../../../modules/mail/migrations.ts"
import { Mails, type OutgoingMail } from "../../../modules/mail/plugin.ts"

/** An outbox, and what was sent by it so far. */
export const makeTestOutbox = () => {
  const sent: Array<OutgoingMail> = []
  const layer = Layer.effectDiscard(
    Effect.flatMap(
      Mails,
      ({ register }) => register({ name: "test", send: (mail) => Effect.sync(() => void sent.push(mail)) })
    )
  ).pipe(Layer.provide(Mails.layer))
  return { sent, layer, tables: { name: "mail", ...mailTables } }
}
