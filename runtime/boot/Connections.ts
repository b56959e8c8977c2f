/**
 * What one connection may hold: answers that are under way, and bytes that its reader does not take. Node's parser hands
 * on every request of a chunk of 64 KB at once, some 1,600, and keeps each answer until the ones before it were read.
 */
import { Clock, Effect, type Scope } from "effect"
import type { ServerResponse } from "node:http"
import type { Socket } from "node:net"

/**
 * Answers under way on one connection. The last of them says `connection: close`, and what was sent after its request is
 * not served: such a client asks again on another connection (RFC 9112, sections 9.3.2 and 9.6). Clients that pipeline at
 * all send 10 at once or fewer, unless they are told otherwise.
 */
export const maximumAnswers = 16

/** Requests beyond {@link maximumAnswers} that a connection may have sent: with more of them it is cut at once. */
const maximumSurplus = 48

/**
 * Milliseconds in which a connection with bytes to take has to have taken all of them once. The largest document has
 * 3 MB: who takes 10 KB a second has read it by then.
 */
export const backlogMillis = 300_000

/** How often backlogs are looked at. */
export const lookMillis = 5_000

interface Held {
  readonly answers: Set<ServerResponse>
  /** Requests that came after the last one which is served. */
  surplus: number
  /** Whether the answer was given out that says that the connection closes. */
  isClosing: boolean
  /** Whether it became a websocket, which has limits of its own. */
  isUpgraded: boolean
  /** When it was last seen without bytes that wait for the reader. */
  emptyAt: number
}

/** The connections of one listener, from their first byte until they close. */
export interface Connections {
  readonly add: (connection: Socket) => void
  readonly all: () => Iterable<Socket>
  /** Counts a request that the parser found; false: it is not to be served. */
  readonly admit: (connection: Socket, answer: ServerResponse) => boolean
  /** From now on the connection is a websocket's. */
  readonly upgrade: (connection: Socket) => void
  /** Answers under way on all of them. */
  readonly answers: () => Iterable<ServerResponse>
}

/**
 * Ends an answer whose connection closed before it was its turn: Node tells only the one that is being written, and
 * whoever makes another one would go on for nobody.
 */
const abandon = (answer: ServerResponse): void => {
  if (answer.destroyed || answer.writableFinished) return
  answer.destroyed = true
  answer.emit("close")
}

/** Made for a listener; cuts connections with a backlog until the scope closes. */
export const makeConnections: Effect.Effect<Connections, never, Scope.Scope> = Effect.gen(function*() {
  const clock = yield* Clock.Clock
  const held = new Map<Socket, Held>()

  const add = (connection: Socket): void => {
    const state: Held = {
      answers: new Set(),
      surplus: 0,
      isClosing: false,
      isUpgraded: false,
      emptyAt: clock.currentTimeMillisUnsafe()
    }
    held.set(connection, state)
    connection.once("close", () => {
      held.delete(connection)
      for (const answer of state.answers) abandon(answer)
      state.answers.clear()
    })
  }

  const admit = (connection: Socket, answer: ServerResponse): boolean => {
    const state = held.get(connection)
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

  const look = Effect.sync(() => {
    const now = clock.currentTimeMillisUnsafe()
    for (const [connection, state] of held) {
      if (connection.writableLength === 0 || state.isUpgraded) state.emptyAt = now
      else if (now - state.emptyAt >= backlogMillis) connection.destroy()
    }
  })
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(lookMillis), look)))

  return {
    add,
    admit,
    all: () => held.keys(),
    upgrade: (connection) => {
      const state = held.get(connection)
      if (state !== undefined) state.isUpgraded = true
    },
    answers: function*() {
      for (const { answers } of held.values()) yield* answers
    }
  }
})
