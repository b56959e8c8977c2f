/** Mail: the outbox of messages, and the port that drivers register at (`modules/mail/drivers/`). */
import { Effect, Layer } from "effect"
import { nowSeconds } from "../../runtime/Clock.ts"
import * as Plugin from "../../runtime/Plugin.ts"
import { countPruned, inBatches, initializePruned, runPeriodically } from "../../runtime/Retention.ts"
import { migrations, sealedColumns, tables } from "./migrations.ts"
import { makeRepo, pruneBatch } from "./repo.ts"
import { keptSeconds } from "./rules.ts"
import { Mails } from "./service.ts"
import { registerPersonalRecords } from "./service/PersonalRecords.ts"

export { Mails } from "./service.ts"
export { type MailDriver, MailRejected, MailUnavailable, messageIdOf, type OutgoingMail } from "./service/MailDriver.ts"

const pruneRegularly = Effect.gen(function*() {
  const { prune } = yield* makeRepo
  yield* initializePruned(["mail_messages"])
  const batch = Effect.flatMap(nowSeconds, (now) => prune(now - keptSeconds))
  yield* runPeriodically("mail-prune", "1 hour", inBatches(countPruned("mail_messages")(batch), pruneBatch))
})

export const plugin = Plugin.make({
  name: "mail",
  slot: "modules",
  migrations,
  tables,
  sealedColumns,
  layer: () =>
    Layer.mergeAll(Layer.effectDiscard(registerPersonalRecords), Layer.effectDiscard(pruneRegularly)).pipe(
      Layer.provideMerge(Mails.layer)
    )
})
