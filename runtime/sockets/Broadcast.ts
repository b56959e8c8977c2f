/** Sends events and offers to the connections that may see them; each text is rendered and framed once per version. */
import type { CommittedEvent } from "../Commit.ts"
import { eventText, payorDataText, payorEventText } from "../../schemas/Event.ts"
import type { Connection } from "./Connection.ts"
import type { ConnectionIndex } from "./ConnectionIndex.ts"
import { type FilterInput, filterInputOf, isShown } from "./Filters.ts"
import { textFrame } from "./Frames.ts"
import { closeTimeAfter, isTerminal } from "./StreamRules.ts"

/** The frame of a text in each version somebody listens in, made once. */
const framesByVersion = (text: (version: string) => string) => {
  const frames = new Map<string, Buffer>()
  return (version: string): Buffer => {
    const frame = frames.get(version) ?? textFrame(text(version))
    frames.set(version, frame)
    return frame
  }
}

const sendToPayors = (index: ConnectionIndex<Connection>, input: FilterInput, nowMillis: number): void => {
  const { event } = input
  const { invoiceId, isForPayors } = event
  const listeners = invoiceId === null ? undefined : index.ofInvoice(invoiceId)
  if (listeners === undefined || !isForPayors) return
  const payorData = payorDataText(event.data)
  const frame = framesByVersion((version) => payorEventText(event, payorData, version))
  const terminal = isTerminal(input)
  for (const connection of listeners) {
    connection.send(frame(connection.subscription.apiVersion), event.position)
    connection.closeAtMillis = closeTimeAfter(connection.closeAtMillis, terminal, nowMillis)
  }
}

const sendToMerchant = (index: ConnectionIndex<Connection>, input: FilterInput): void => {
  const { event } = input
  const listeners = index.ofMerchant(event.merchantId)
  if (listeners === undefined) return
  const frame = framesByVersion((version) => eventText(event, event.pendingWebhooks, version))
  for (const connection of listeners) {
    const { apiVersion, audience } = connection.subscription
    if (audience.stream === "payment" || !isShown(audience.stream, audience.environment, audience.filters, input)) {
      continue
    }
    connection.send(frame(apiVersion), event.position)
  }
}

const isHeard = (index: ConnectionIndex<Connection>, { invoiceId, merchantId }: CommittedEvent): boolean =>
  index.ofMerchant(merchantId) !== undefined || (invoiceId !== null && index.ofInvoice(invoiceId) !== undefined)

/** Sends committed events, in their order, to the listeners of their invoices and merchants. */
export const broadcast = (
  index: ConnectionIndex<Connection>,
  events: ReadonlyArray<CommittedEvent>,
  nowMillis: number
): void => {
  for (const event of events) {
    if (!isHeard(index, event)) continue
    const input = filterInputOf(event)
    sendToPayors(index, input, nowMillis)
    sendToMerchant(index, input)
  }
}

/**
 * Sends a text that is no stored event to an invoice's listeners. Whoever heard that the invoice has ended is offered
 * nothing for it any more, however late the offer was made.
 */
export const sendToInvoice = (
  index: ConnectionIndex<Connection>,
  invoiceId: string,
  text: (version: string) => string
): void => {
  const listeners = index.ofInvoice(invoiceId)
  if (listeners === undefined) return
  const frame = framesByVersion(text)
  for (const connection of listeners) {
    if (connection.closeAtMillis === null) connection.send(frame(connection.subscription.apiVersion), null)
  }
}
