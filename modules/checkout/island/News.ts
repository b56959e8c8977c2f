/** What a frame of the socket means for the page. Pure. */
export interface News {
  readonly isReady?: boolean
  /** The state has changed. */
  readonly isChange?: boolean
  /** The state may have changed: the price is told on every connection, changed or not. */
  readonly isHint?: boolean
  /** The socket's token is no good any more: only a new fragment brings another. */
  readonly isRefused?: boolean
  /** Where to resume; empty: from nowhere. */
  readonly since?: string
  /** Epoch seconds. */
  readonly now?: number
}

/** Reads a frame (API reference, "Websocket"). What it does not know means nothing. */
export const newsOf = (text: string): News => {
  try {
    const { id, object, server_time: now, type } = JSON.parse(text)
    if (object === "event") return { [type === "payment_quote.updated" ? "isHint" : "isChange"]: true, since: String(id) }
    if (object === "ws_error") return { isRefused: true }
    if (object !== "ws_control") return {}
    if (type === "ready") return { isReady: true, isHint: true, now }
    if (type === "resync_required") return { isChange: true, since: "" }
    return type === "confirmations" ? { isChange: true } : { now }
  } catch {
    return {}
  }
}
