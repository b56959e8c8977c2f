/** Notices: what is stored in the commit of what they tell of, and what is made of them later. */
import { Effect } from "effect"
import { nowSeconds } from "../../runtime/Clock.ts"
import { systemMerchant } from "../../runtime/Commit.ts"
import { Mail } from "../../runtime/Mail.ts"
import { type NoticeBook, Notices } from "../../runtime/Notices.ts"
import { countPruned, inBatches, initializePruned, runPeriodically } from "../../runtime/Retention.ts"
import { Settings } from "../../runtime/Settings.ts"
import { Timers } from "../../runtime/Timers.ts"
import {
  type Aggregate,
  type HookInput,
  type HookResult,
  InvoiceHooks,
  type UnmatchedChange
} from "../invoices/plugin.ts"
import { makeRepo, newNoticeWrite, rowsPerCall } from "./repo.ts"
import { exceptionNotice, keptSeconds } from "./rules.ts"
import { makeDigests, type Operator } from "./service/Digests.ts"
import { makeNetworkLook } from "./service/NetworkWatches.ts"

/** Who sends notices: those of no merchant only where the operator has an address. */
const makeBook = Effect.fnUntraced(function*(operator: Operator | null) {
  const mail = yield* Mail
  const { environments } = yield* Settings
  const ofBoth = environments.includes("mainnet") ? "mainnet" : "devnet"
  const book: NoticeBook = {
    isEnabled: mail.isEnabled,
    writesOf: (notice) =>
      notice.merchantId === systemMerchant && operator === null
        ? Effect.succeed([])
        : Effect.map(nowSeconds, (now) => [newNoticeWrite(notice, notice.environment ?? ofBoth, now)])
  }
  return book
})

/** In the commit by which an exception opens. */
const registerExceptions = Effect.gen(function*() {
  const notices = yield* Notices
  const opened = (before: Aggregate, { exceptions, invoice: { environment, merchantId } }: Aggregate) =>
    exceptions.flatMap((exception, index) => {
      const notice = exceptionNotice(before.exceptions[index] ?? null, { environment, exception, merchantId })
      return notice === null ? [] : [notice]
    })
  const writesOf = (drafted: ReturnType<typeof opened>) =>
    Effect.map(Effect.forEach(drafted, notices.draft), (writes) => writes.flat())
  yield* (yield* InvoiceHooks).register({
    name: "notices",
    isLast: true,
    run: Effect.fnUntraced(function*({ before, decision: { next } }: HookInput) {
      if (before.exceptions === next.exceptions) return {} satisfies HookResult
      return { writes: yield* writesOf(opened(before, next)) } satisfies HookResult
    }),
    onUnmatched: Effect.fnUntraced(function*({ after, before }: UnmatchedChange) {
      const notice = exceptionNotice(before?.exception ?? null, after)
      return notice === null ? {} : { writes: yield* notices.draft(notice) }
    })
  })
})

/** Starts all of it. `operator`: null where nobody is named. */
export const start = Effect.fnUntraced(function*(operator: Operator | null) {
  const repo = yield* makeRepo
  yield* (yield* Notices).register(yield* makeBook(operator))
  yield* registerExceptions
  yield* (yield* Timers).register(yield* makeDigests(repo, operator))
  if (operator !== null) yield* runPeriodically("notices-networks", "1 minute", yield* makeNetworkLook(repo))
  yield* initializePruned(["notices"])
  const batch = Effect.flatMap(nowSeconds, (now) => repo.prune(now - keptSeconds))
  yield* runPeriodically("notices-prune", "1 hour", inBatches(countPruned("notices")(batch), rowsPerCall))
})
