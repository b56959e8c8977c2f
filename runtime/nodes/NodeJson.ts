/** JSON that a node answers with, and what it may do to whole numbers. */
import { Result } from "effect"

/** A whole number that a double cannot hold exactly becomes a bigint; every other value stays what it is. */
const exactInteger = (_key: string, value: unknown, context?: { readonly source?: string }): unknown =>
  typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d{1,78}$/.test(context?.source ?? "")
    ? BigInt(context!.source!)
    : value

/**
 * JSON as a value; a failure when it is none. `isExact`: whole numbers of 2^53 and more come as bigint, which amounts
 * that a node writes as JSON numbers need; it takes about twice as long.
 *
 * @example
 * parseJson("[9007199254740993, 5]", true) // => Result.succeed([9007199254740993n, 5])
 */
export const parseJson = (text: string, isExact: boolean): Result.Result<unknown, unknown> =>
  Result.try(() =>
    isExact ? JSON.parse(text, exactInteger as (key: string, value: unknown) => unknown) : JSON.parse(text)
  )
