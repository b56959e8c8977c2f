/**
 * The page follows its server: by a socket while there is one, by fetches of the state whenever something has happened.
 */
import type { Clocks } from "./Clocks.ts"
import { makeFetch } from "./Fetch.ts"
import { backoffMillis, failuresAfterClose, nextFetchMillis } from "./ConnectionState.ts"
import type { SocketMessage } from "./SocketMessage.ts"
import type { Screen } from "./Screen.ts"
import { makeSocket } from "./Socket.ts"
import { makeTimer } from "./Timer.ts"

/** Milliseconds in which frames that come together make one fetch. */
const batchMillis = 20

/** A state of so few milliseconds needs no look at once: a page that has just come asks for nothing twice. */
const freshMillis = 3000

/** Milliseconds until a fresh state is looked at all the same. */
const recheckMillis = 1000

/**
 * Milliseconds from which a state is old enough to be looked at with the next sign of life: no event tells of a network
 * in trouble, of a price that is back, or of other prices in the list. These change slowly, and each look is a call, so
 * a minute.
 */
const staleMillis = 60_000

export interface Follower {
  /** Asks for the state, now or as soon as the answer on its way is there. */
  readonly refetch: () => void
  /** Asks for the state at another address, now and from now on. */
  readonly move: (url: string) => void
  /** The payor is back: looks at once, and whether the socket still hears. */
  readonly look: () => void
  /** The line is back, or the page: asks at once, and opens a new socket, whether the old one knows its end or not. */
  readonly renew: () => void
  /** Leaves the socket, until something is asked for again. */
  readonly rest: () => void
  /** Makes the timers and the socket what the newest fragment asks for. */
  readonly follow: () => void
}

/** `offline` is the banner over a screen that is not the newest. */
export const makeFollower = (url: string, screen: Screen, clocks: Clocks, offline: HTMLElement): Follower => {
  const { ask, move, wantAll } = makeFetch(url, screen.show, clocks)
  const [connect, batchTimer, poll, recheckTimer] = [makeTimer(), makeTimer(), makeTimer(), makeTimer()]
  /** When the state was asked for that the server answered with; at first, when the page was. */
  let requestedAt = 0
  let isFetching = false
  let isWanted = false
  let fetchFailures = 0
  let socketFailures = 0

  const refetch = async () => {
    // A session that ended stays so: asking again is of no use.
    if (screen.told().screen === "ended") return
    isWanted = isFetching
    if (isFetching) return
    isFetching = true
    recheckTimer.stop()
    const began = performance.now()
    const isWell = await ask().catch(() => false)
    isFetching = false
    if (isWell) requestedAt = began
    offline.hidden = isWell
    // The server is back: no need to sit out the wait for the socket.
    if (isWell && fetchFailures > 0) connect.stop()
    fetchFailures = isWell ? 0 : fetchFailures + 1
    if (isWanted) refetch()
    follow()
  }

  /** Asks for a state that may be what is shown. */
  const recheck = () => {
    if (performance.now() - requestedAt < freshMillis) recheckTimer.set(recheckMillis, refetch)
    else if (!isFetching) refetch()
  }

  const onMessage = ({ isBeat, isChange, isReady, isRefused, now, price }: SocketMessage) => {
    const data = screen.told()
    clocks.set(now)
    if (isRefused) wantAll()
    if (isReady) poll.stop()
    // A look takes down the banner, and tells what came before the socket was there, where the socket cannot.
    const isMissing = isReady && (fetchFailures > 0 || !data.since)
    const isOther = price !== undefined && data.price !== "" && price !== data.price
    const isOld = isBeat && !document.hidden && performance.now() - requestedAt > staleMillis
    if ((isChange || isMissing || isOther || isOld) && !batchTimer.isSet()) batchTimer.set(batchMillis, refetch)
  }

  const onClose = (liveMillis: number) => {
    socketFailures = failuresAfterClose(socketFailures, liveMillis)
    // Refused before it was ready, a socket does not say why: its token may have ended.
    if (liveMillis === 0) wantAll()
    connect.set(backoffMillis(socketFailures, Math.random()), follow)
    refetch()
  }

  const socket = makeSocket(onMessage, onClose)

  const follow = () => {
    const { poll: seconds, since, ws } = screen.told()
    const isDown = ws !== undefined && !socket.isLive()
    const millis = nextFetchMillis({ fetchFailures, socketFailures, isDown, poll: seconds }, Math.random())
    if (millis === undefined) poll.stop()
    else poll.set(millis, refetch)
    if (!ws) socket.drop()
    else if (!socket.isThere() && !connect.isSet() && !isFetching) socket.open(since ? `${ws}&since=${since}` : ws)
  }

  return {
    refetch,
    move: (next) => {
      move(next)
      refetch()
    },
    follow,
    rest: socket.drop,
    renew: () => {
      socket.drop()
      connect.stop()
      refetch()
    },
    look: () => {
      recheck()
      socket.ping()
      if (!socket.isThere()) connect.stop()
    }
  }
}
