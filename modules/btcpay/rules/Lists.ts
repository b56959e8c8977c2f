/** What a list of a shop's invoices is asked for. Pure. */
import type { ShopInvoiceFilter } from "../repo.ts"
import type { FieldError } from "./Requests.ts"
import { type ShopStatus, shopStatuses } from "./Statuses.ts"

/** Invoices of one answer. */
const takes = { least: 1, most: 100, usual: 50 }

/** Invoices that may be passed over: lists are for people, and go back a while. */
const maximumSkip = 100_000

/** Values of one parameter that are looked at. */
const maximumValues = 50

const isStatus = (text: string): text is ShopStatus => (shopStatuses as ReadonlyArray<string>).includes(text)

/** Epoch seconds, or a date that JavaScript reads; null: neither. */
const secondsIn = (text: string): number | null => {
  if (/^\d{1,11}$/u.test(text)) return Number(text)
  const millis = Date.parse(text)
  return Number.isNaN(millis) ? null : Math.floor(millis / 1_000)
}

export const readListQuery = (query: URLSearchParams): ShopInvoiceFilter | ReadonlyArray<FieldError> => {
  const errors: Array<FieldError> = []
  const values = (name: string) => query.getAll(name).slice(0, maximumValues).filter((value) => value !== "")
  const integer = (name: string, least: number, most: number, usual: number): number => {
    const text = query.get(name)
    if (text === null || text === "") return usual
    const number = Number(text)
    if (Number.isInteger(number) && number >= least && number <= most) return number
    errors.push({ path: name, message: `Must be a whole number between ${least} and ${most}.` })
    return usual
  }
  const moment = (name: string): number | null => {
    const text = query.get(name)
    if (text === null || text === "") return null
    const seconds = secondsIn(text)
    if (seconds === null) errors.push({ path: name, message: "Must be a time: seconds since 1970, or ISO 8601." })
    return seconds
  }
  const statuses = values("status")
  if (!statuses.every(isStatus)) {
    errors.push({ path: "status", message: `Must be one of ${shopStatuses.join(", ")}.` })
  }
  const orderIds = values("orderId")
  const filter: ShopInvoiceFilter = {
    orderIds: orderIds.length === 0 ? null : orderIds,
    statuses: statuses.length === 0 ? null : statuses.filter(isStatus),
    from: moment("startDate"),
    to: moment("endDate"),
    text: query.get("textSearch") || null,
    take: integer("take", takes.least, takes.most, takes.usual),
    skip: integer("skip", 0, maximumSkip, 0)
  }
  return errors.length > 0 ? errors : filter
}
