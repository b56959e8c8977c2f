/** What the wrapped routes answer (modules/docs/reference/conventions.md). */
import { Schema } from "effect"

/**
 * `{"success": true, "data": …}`.
 *
 * @example
 * const OneRefund = success(Refund).annotate({ identifier: "OneRefund" })
 */
export const success = <S extends Schema.Top>(data: S) => Schema.Struct({ success: Schema.tag(true), data })
