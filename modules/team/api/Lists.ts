/** What the lists and the acts of people have in common. */
import { Schema } from "effect"
import { pageLimits } from "../../../schemas/Page.ts"
import { success } from "../../../schemas/Success.ts"

export const list = <S extends Schema.Top>(item: S, identifier: string, example: S["Type"]) =>
  success(Schema.Struct({ object: Schema.tag("list"), data: Schema.Array(item), has_more: Schema.Boolean })).annotate({
    identifier,
    examples: [{ success: true, data: { object: "list", data: [example], has_more: false } }] as never
  })

export const query = {
  limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween(pageLimits))),
  starting_after: Schema.optionalKey(Schema.String),
  ending_before: Schema.optionalKey(Schema.String)
}

export const pageErrors = ["SCOPE_MISMATCH", "VALIDATION_ERROR", "INVALID_LIMIT", "INVALID_CURSOR"] as const

/** Acts that only a person does. */
export const personErrors = ["SCOPE_MISMATCH", "CREDENTIAL_NOT_ALLOWED"] as const
