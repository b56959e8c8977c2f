import type { Aggregate } from "../../modules/invoices/machine.ts"

/** `<type>:<payment id or empty>` of the exceptions of an invoice that are open. */
export const openExceptionKeys = ({ exceptions }: Pick<Aggregate, "exceptions">): ReadonlyArray<string> =>
  exceptions.filter(({ status }) => status === "open").map(({ paymentId, type }) => `${type}:${paymentId ?? ""}`)
