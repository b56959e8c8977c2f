/** Reads the query of a list of a shop's invoices. Pure. */
import type { ShopInvoiceFilter } from "../repo.ts"
import type { FieldError } from "./Requests.ts"
import { type ShopStatus, shopStatuses } from "./Statuses.ts"

/** Invoices in one answer: the parameter `take`. */
const pageSize = { minimum: 1, maximum: 100, default: 50 }

/** Invoices before the page: the parameter `skip`. People read these lists, and PostgreSQL reads every row it skips. */
const maximumSkip = 100_000

/** Values of one parameter that are read; further ones are left out. */
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
  const integer = (name: string, minimum: number, maximum: number, fallback: number): number => {
    const text = query.get(name)
    if (text === null || text === "") return fallback
    const number = Number(text)
    if (Number.isInteger(number) && number >= minimum && number <= maximum) return number
    errors.push({ path: name, message: `Must be a whole number between ${minimum} and ${maximum}.` })
    return fallback
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
    take: integer("take", pageSize.minimum, pageSize.maximum, pageSize.default),
    skip: integer("skip", 0, maximumSkip, 0)
  }
  return errors.length > 0 ? errors : filter
}
