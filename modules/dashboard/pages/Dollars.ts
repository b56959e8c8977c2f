/** Dollars as people type them into a form. */
import { Effect } from "effect"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { parseUnits } from "../../../schemas/Money.ts"
import type { Visit } from "./Page.ts"

/** Digits of a dollar that the API keeps: usd_millis. */
export const usdDecimals = 3

/**
 * A point and one or two digits, or whole dollars. Three digits are refused: where a language writes a thousand as
 * `1.000`, whoever types that does not mean one dollar.
 */
const dollarsPattern = /^\$?(\d{1,10}(?:\.\d{1,2})?)$/

/** The field's dollars as a decimal; undefined: it is empty. Refused in the visitor's words. */
export const dollarsIn = (
  { texts }: Pick<Visit, "texts">,
  sent: URLSearchParams,
  name: string
): Effect.Effect<string | undefined, PublicError> => {
  const text = (sent.get(name) ?? "").trim()
  if (text === "") return Effect.succeed(undefined)
  const [, decimal] = dollarsPattern.exec(text) ?? []
  return decimal === undefined
    ? Effect.fail(publicError("VALIDATION_ERROR", { message: texts.faults.dollars, param: name }))
    : Effect.succeed(decimal)
}

/** The same as the API's thousandths. */
export const millisIn = (
  visit: Pick<Visit, "texts">,
  sent: URLSearchParams,
  name: string
): Effect.Effect<number | undefined, PublicError> =>
  Effect.map(
    dollarsIn(visit, sent, name),
    // At most 13 digits, so every digit is kept.
    (decimal) => decimal === undefined ? undefined : Number.parseInt(parseUnits(decimal, usdDecimals)!.toString(), 10)
  )
