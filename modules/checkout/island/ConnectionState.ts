/** How the page bears with a line to its server that fails. Pure. */

/** Milliseconds to wait after so many failures in a row, 0.5 to 30 s (Experience, "States"); `random` is in [0, 1). */
export const backoffMillis = (failures: number, random: number): number => {
  const most = Math.min(30_000, 1000 * 2 ** (failures - 1))
  return most / 2 + random * most / 2
}

/** Failed connections in a row after which the page also polls (Experience, "States"). */
const failuresBeforePolling = 3

/** Seconds between polls where the fragment names none (Experience, "States"). */
const pollSeconds = 5

/** A connection that lasted so long was a good one: the wait starts anew. */
const stableMillis = 10_000

/** What is known of the line to the server. */
export interface ConnectionState {
  /** Fetches of the state that failed in a row. */
  readonly fetchFailures: number
  /** Connections that ended in a row without having lasted. */
  readonly socketFailures: number
  /** Whether there is something to follow, and no socket that is live. */
  readonly isDown: boolean
  /** Seconds between polls, as the fragment says them. */
  readonly poll: string | undefined
}

/** Milliseconds until the state is fetched without being told to; undefined: not before something happens. */
export const nextFetchMillis = (state: ConnectionState, random: number): number | undefined =>
  state.fetchFailures > 0
    ? backoffMillis(state.fetchFailures, random)
    : state.isDown && state.socketFailures >= failuresBeforePolling
    ? 1000 * (Number(state.poll) || pollSeconds)
    : undefined

/** Failures in a row, once a connection that was live for so long has ended; 0: it never was. */
export const failuresAfterClose = (failures: number, liveMillis: number): number =>
  liveMillis > stableMillis ? 1 : failures + 1
