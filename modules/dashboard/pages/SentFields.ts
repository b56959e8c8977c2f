/** What a form said, read: fields as people fill them in. */
import { Effect } from "effect"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import type { Visit } from "./Page.ts"

/** What a field of the form was sent with, without spaces around it. */
export const sentText = (sent: URLSearchParams, name: string): string => (sent.get(name) ?? "").trim()

/** A field that cannot be read. */
export const wrongField = (param: string, message: string): PublicError =>
  publicError("VALIDATION_ERROR", { message, param })

/** A whole number; undefined: the field is empty. */
export const sentCount = (
  visit: Visit,
  sent: URLSearchParams,
  name: string
): Effect.Effect<number | undefined, PublicError> => {
  const text = sentText(sent, name)
  if (text === "") return Effect.succeed(undefined)
  return /^\d{1,7}$/.test(text)
    ? Effect.succeed(Number.parseInt(text, 10))
    : Effect.fail(wrongField(name, visit.texts.faults.number))
}
