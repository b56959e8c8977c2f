/** The socket that the page follows, one at a time, and how it is known to be dead. */
import { readSocketMessage, type SocketMessage } from "./SocketMessage.ts"
import { makeTimer } from "./Timer.ts"

/** Milliseconds for a connection to be ready. */
const openingMillis = 10_000

/** Milliseconds without a frame after which a connection counts as lost: two heartbeats of 25 s and some. */
const silenceMillis = 60_000

/** Milliseconds for an answer to a ping. */
const pingMillis = 5000

export interface Socket {
  readonly open: (url: string) => void
  /** Leaves the socket; its end is then no news. */
  readonly drop: () => void
  /** Asks an open socket whether it still hears. */
  readonly ping: () => void
  /** Whether there is one, open or not. */
  readonly isThere: () => boolean
  /** Whether it has said that it is ready. */
  readonly isLive: () => boolean
}

/**
 * `onMessage` gets what frames mean; `onClose` the milliseconds that a socket which was not dropped has lived; 0: not
 * at all.
 */
export const makeSocket = (onMessage: (news: SocketMessage) => void, onClose: (liveMillis: number) => void): Socket => {
  const silence = makeTimer()
  let socket: WebSocket | undefined
  /** When the socket got ready, in milliseconds of `performance.now()`; 0: it is not. */
  let liveAt = 0

  const drop = () => {
    const old = socket
    socket = undefined
    liveAt = 0
    silence.stop()
    // Closed before it is open, a socket makes the browser complain.
    if (old?.readyState === 0) old.addEventListener("open", () => old.close())
    else old?.close()
  }

  const end = () => {
    const liveMillis = liveAt && performance.now() - liveAt
    drop()
    onClose(liveMillis)
  }

  const listen = (webSocket: WebSocket) => {
    webSocket.addEventListener("close", () => {
      if (socket === webSocket) end()
    })
    webSocket.addEventListener("message", ({ data }) => {
      if (socket !== webSocket) return
      const message = readSocketMessage(data)
      silence.set(silenceMillis, end)
      if (message.isReady) liveAt = performance.now()
      onMessage(message)
    })
  }

  return {
    drop,
    isThere: () => socket !== undefined,
    isLive: () => liveAt > 0,
    open: (url) => {
      try {
        socket = new WebSocket(url)
        silence.set(openingMillis, end)
        listen(socket)
      } catch {
        end()
      }
    },
    ping: () => {
      if (socket?.readyState !== 1) return
      socket.send(`{"object":"ws_ping"}`)
      silence.set(pingMillis, end)
    }
  }
}
