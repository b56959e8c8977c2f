/** The socket that the page follows, one at a time, and how it is known to be dead. */
import { type News, newsOf } from "./News.ts"
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

/** `heard` gets what frames mean; `lost` the milliseconds that a socket which was not dropped has lived; 0: not at all. */
export const makeSocket = (heard: (news: News) => void, lost: (liveMillis: number) => void): Socket => {
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
    lost(liveMillis)
  }

  const listen = (opened: WebSocket) => {
    opened.addEventListener("close", () => {
      if (socket === opened) end()
    })
    opened.addEventListener("message", ({ data }) => {
      if (socket !== opened) return
      const news = newsOf(data)
      silence.set(silenceMillis, end)
      if (news.isReady) liveAt = performance.now()
      heard(news)
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
