/**
 * Keeps a page that shows states as it is on the server: an event says that something has changed, and the page is
 * asked for anew. What an event tells is not shown, so a page never says more than the server does.
 */
import { makeReader } from "./Fragment.ts"
import { morph } from "./Morph.ts"

/** Milliseconds: between two refreshes at least, between them without a socket, and for an answer. */
const pauseMillis = 1_000
const pollMillis = 15_000
const answerMillis = 10_000

/** Milliseconds without a frame after which a socket counts as lost: two heartbeats of 25 s and some. */
const silenceMillis = 60_000

/** Milliseconds between two announcements to screen readers. */
const announcePauseMillis = 5_000

const stateOf = (main: Element): string => main.querySelector(".head .chip")?.textContent ?? ""

export const startLiveUpdates = (): void => {
  const main = document.getElementById("main")
  const [live, offline] = [document.getElementById("live"), document.getElementById("offline")]
  const types = main?.dataset["follow"]
  if (!main || !live || !offline || !types) return
  const read = makeReader("dashboard")
  const address = new URL(location.href)
  address.searchParams.delete("notice")
  address.hash = ""
  const path = address.pathname + address.search
  let refreshedAt = 0
  let announcedAt = -announcePauseMillis
  let announcedState = stateOf(main)
  let announceTimer: ReturnType<typeof setTimeout> | undefined
  let hasSessionEnded = false
  let isRefreshPending = false
  let timer: ReturnType<typeof setTimeout> | undefined
  let poll: ReturnType<typeof setInterval> | undefined
  let failures = 0

  /** Announces the current state: of several within {@link announcePauseMillis} only the last one. */
  const announceState = () => {
    announceTimer = undefined
    if (stateOf(main) === announcedState) return
    announcedState = stateOf(main)
    announcedAt = performance.now()
    live.textContent = `${main.querySelector("h1")?.textContent ?? ""}: ${announcedState}`
  }

  const show = (text: string) => {
    const next = read(text)
    if (!next) return false
    morph(main, next)
    document.dispatchEvent(new Event("dashboard:change"))
    if (stateOf(main) !== announcedState) {
      announceTimer ??= setTimeout(announceState, Math.max(0, announcedAt + announcePauseMillis - performance.now()))
    }
    return true
  }

  const refresh = async () => {
    timer = undefined
    isRefreshPending = document.hidden
    if (isRefreshPending || hasSessionEnded) return
    refreshedAt = performance.now()
    try {
      const answer = await fetch(path, {
        headers: { accept: "text/html+fragment" },
        cache: "no-store",
        redirect: "manual",
        signal: AbortSignal.timeout(answerMillis)
      })
      // The session has ended: asking again is of no use.
      hasSessionEnded = answer.type === "opaqueredirect"
      offline.hidden = answer.ok && show(await answer.text())
    } catch {
      offline.hidden = false
    }
  }

  /** Refreshes now, or when {@link pauseMillis} have passed since the last time. */
  const scheduleRefresh = () => {
    timer ??= setTimeout(refresh, Math.max(20, refreshedAt + pauseMillis - performance.now()))
  }

  const connectLater = () => {
    poll ??= setInterval(scheduleRefresh, pollMillis)
    if (hasSessionEnded) return
    setTimeout(connect, Math.min(30_000, 500 * 2 ** failures++) * (0.75 + Math.random() / 2))
  }

  const listen = (socket: WebSocket) => {
    let silence: ReturnType<typeof setTimeout> | undefined
    socket.addEventListener("message", ({ data }) => {
      clearTimeout(silence)
      silence = setTimeout(() => socket.close(), silenceMillis)
      const frame = JSON.parse(data) as { readonly object?: string; readonly type?: string }
      if (frame.type === "ready") {
        failures = 0
        clearInterval(poll)
        poll = undefined
        // What happened before the socket was there came by no event.
        scheduleRefresh()
        // Depths of payments and approvals of refunds are told by no event: a heartbeat every 25 s looks for them.
      } else if (frame.object === "event" || frame.type === "heartbeat") scheduleRefresh()
    })
    socket.addEventListener("close", () => {
      clearTimeout(silence)
      connectLater()
    })
  }

  const connect = async () => {
    try {
      const body = new URLSearchParams({ action: "ticket" })
      const answer = await fetch(path, { method: "POST", body, signal: AbortSignal.timeout(answerMillis) })
      const { url } = await answer.json() as { readonly url: string }
      listen(new WebSocket(`${url}&types=${encodeURIComponent(types)}`))
    } catch {
      connectLater()
    }
  }

  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && isRefreshPending) scheduleRefresh()
  })
  connect()
}
