/**
 * How many pipelined requests one connection may have under way, and how long it may leave answers unread. Node's
 * parser emits every request of a 64 KB chunk at once, some 1,600, and keeps each answer until the ones before it are
 * sent.
 */
import { Clock, Effect, type Scope } from "effect"
import type { ServerResponse } from "node:http"
import type { Socket } from "node:net"

/**
 * Answers under way on one connection, at most. The last of them says `connection: close`, and later requests are not
 * served: the client repeats them on another connection (RFC 9112, sections 9.3.2 and 9.6). Clients that pipeline send
 * 10 requests at once or fewer by default.
 */
export const maximumAnswers = 16

/** Requests after the last one that is served, at most: a connection that sends more is cut at once. */
const maximumSurplus = 48

/**
 * Milliseconds within which a client must once have read everything that was sent to it; else the connection is cut.
 * The largest document has 3 MB: a client that reads 10 KB a second is fast enough.
 */
export const backlogMillis = 300_000

/** How often backlogs are checked. */
export const backlogCheckMillis = 5_000

interface ConnectionState {
  readonly answers: Set<ServerResponse>
  /** Requests after the last one that is served. */
  surplus: number
  /** Whether an answer under way says `connection: close`. */
  isClosing: boolean
  /** Whether it became a websocket, which has limits of its own. */
  isUpgraded: boolean
  /** When no bytes waited for the client at the last check. */
  emptyAtMillis: number
}

/** The connections of one listener, from their first byte until they close. */
export interface Connections {
  readonly add: (connection: Socket) => void
  readonly all: () => Iterable<Socket>
  /** Counts a request that was parsed. False: do not serve it. */
  readonly admit: (connection: Socket, answer: ServerResponse) => boolean
  /** From now on the connection is a websocket's. */
  readonly upgrade: (connection: Socket) => void
  /** Answers under way on all of them. */
  readonly answers: () => Iterable<ServerResponse>
}

/**
 * Ends an answer that waited behind another when its connection closed. Node closes only the answer being written, so
 * the work for the others would go on although nobody reads them.
 */
const abandon = (answer: ServerResponse): void => {
  if (answer.destroyed || answer.writableFinished) return
  answer.destroyed = true
  answer.emit("close")
}

/** Keeps the connections of a listener, and cuts those with a backlog until the scope closes. */
export const makeConnections: Effect.Effect<Connections, never, Scope.Scope> = Effect.gen(function*() {
  const clock = yield* Clock.Clock
  const states = new Map<Socket, ConnectionState>()

  const add = (connection: Socket): void => {
    const state: ConnectionState = {
      answers: new Set(),
      surplus: 0,
      isClosing: false,
      isUpgraded: false,
      emptyAtMillis: clock.currentTimeMillisUnsafe()
    }
    states.set(connection, state)
    connection.once("close", () => {
      states.delete(connection)
      for (const answer of state.answers) abandon(answer)
      state.answers.clear()
    })
  }

  const admit = (connection: Socket, answer: ServerResponse): boolean => {
    const state = states.get(connection)
    if (state === undefined) return false
    if (state.isClosing) {
      state.surplus += 1
      if (state.surplus > maximumSurplus) connection.destroy()
      return false
    }
    state.answers.add(answer)
    answer.once("close", () => state.answers.delete(answer))
    if (state.answers.size >= maximumAnswers) {
      state.isClosing = true
      answer.setHeader("connection", "close")
    }
    return true
  }

  const cutBacklogs = Effect.sync(() => {
    const now = clock.currentTimeMillisUnsafe()
    for (const [connection, state] of states) {
      if (connection.writableLength === 0 || state.isUpgraded) state.emptyAtMillis = now
      else if (now - state.emptyAtMillis >= backlogMillis) connection.destroy()
    }
  })
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(backlogCheckMillis), cutBacklogs)))

  return {
    add,
    admit,
    all: () => states.keys(),
    upgrade: (connection) => {
      const state = states.get(connection)
      if (state !== undefined) state.isUpgraded = true
    },
    answers: function*() {
      for (const { answers } of states.values()) yield* answers
    }
  }
})
