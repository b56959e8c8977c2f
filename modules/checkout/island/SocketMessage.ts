/** What the frames of the socket mean for the page. Pure. */
import { priceKey } from "./Price.ts"

export interface SocketMessage {
  readonly isReady?: boolean
  /** Nothing but a sign of life. */
  readonly isBeat?: boolean
  /** The state has changed. */
  readonly isChange?: boolean
  /** The price as it is now ({@link priceKey}): told on every connection, changed or not. */
  readonly price?: string
  /** The socket's token is no good any more: only a new fragment brings another. */
  readonly isRefused?: boolean
  /** Epoch seconds. */
  readonly now?: number
}

/** Reads a frame (modules/docs/reference/websockets.md#frames). What it does not know means nothing. */
export const readSocketMessage = (text: string): SocketMessage => {
  try {
    const { data, object, server_time: now, type } = JSON.parse(text)
    if (object === "event") {
      return type === "payment_quote.updated" ? { price: priceKey(data.object) } : { isChange: true }
    }
    if (object === "ws_error") return { isRefused: true }
    if (object !== "ws_control") return {}
    if (type === "ready") return { isReady: true, now }
    if (type === "heartbeat") return { isBeat: true, now }
    return type === "confirmations" || type === "resync_required" ? { isChange: true } : {}
  } catch {
    return {}
  }
}
