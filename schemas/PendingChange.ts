/** A change of who may let money go out, or where it arrives, that waits before it holds. */
import { Schema } from "effect"
import { EpochSeconds } from "./Ids.ts"

/** `chg_<uuid>`. */
export const PendingChangeId = Schema.String.check(
  Schema.isPattern(/^chg_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/u)
)

export const pendingChangeFields = {
  id: PendingChangeId,
  proposed_by: Schema.String.annotate({ description: "The credential of the person who wants it" }),
  proposed_at: EpochSeconds,
  needs_approval: Schema.Boolean.annotate({ description: "Whether another person must approve it" }),
  approved_by: Schema.NullOr(Schema.String).annotate({ description: "The credential of who did; null: nobody yet" }),
  in_force_from: Schema.NullOr(EpochSeconds).annotate({
    description: "When it comes into force by itself; null: another person must approve it first"
  })
}

export const pendingChangeExample = {
  id: "chg_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10",
  proposed_by: "mem_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10",
  proposed_at: 1_766_320_496,
  needs_approval: true,
  approved_by: null,
  in_force_from: null
} as const

export const PendingChange = Schema.Struct(pendingChangeFields).annotate({
  identifier: "PendingChange",
  description: "A change that waits: for another person who may approve it, and then 24 hours.",
  examples: [pendingChangeExample]
})
export type PendingChange = typeof PendingChange.Type
