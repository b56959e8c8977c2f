/** What the parts of the hub share, and how a connection joins and leaves. */
import { type Clock, Effect, type Fiber, type Scope } from "effect"
import type { EventBus } from "../EventBus.ts"
import type { Revocations } from "../Http.ts"
import type { Connection, ConnectionCounts } from "./Connection.ts"
import type { ConnectionIndex } from "./ConnectionIndex.ts"
import type { Subject } from "./Frames.ts"
import { credentialEnding } from "./StreamRules.ts"

export interface HubContext {
  readonly bus: EventBus["Service"]
  readonly revocations: Revocations["Service"]
  readonly clock: Clock.Clock
  /** Scope of the hub: openings and watches end with it. */
  readonly scope: Scope.Scope
  readonly connections: ConnectionIndex<Connection>
  readonly countsByStream: Readonly<Record<Subject["stream"], ConnectionCounts>>
  /** What waits for the end of each credential that has streams: one fiber for all of them. */
  readonly credentialWatches: Map<string, Fiber.Fiber<void>>
}

const endStreamsWithCredential = ({ connections, revocations, scope }: HubContext, credentialId: string) =>
  revocations.awaitEnd(credentialId).pipe(
    Effect.flatMap((how) =>
      Effect.sync(() => {
        const ending = credentialEnding(credentialId, how)
        for (const connection of connections.ofCredential(credentialId)) connection.end(ending)
      })
    ),
    Effect.forkIn(scope)
  )

export const join = (hub: HubContext, connection: Connection): Effect.Effect<void> => {
  const { audience, revocableAs } = connection.subscription
  hub.countsByStream[audience.stream].open++
  const isFirst = hub.connections.add(connection)
  if (revocableAs === null || !isFirst) return Effect.void
  return Effect.map(
    endStreamsWithCredential(hub, revocableAs),
    (fiber) => void hub.credentialWatches.set(revocableAs, fiber)
  )
}

export const leave = (hub: HubContext, connection: Connection): void => {
  const { audience, revocableAs } = connection.subscription
  connection.markClosed()
  hub.countsByStream[audience.stream].open--
  const wasLast = hub.connections.remove(connection)
  if (revocableAs === null || !wasLast) return
  hub.credentialWatches.get(revocableAs)?.interruptUnsafe()
  hub.credentialWatches.delete(revocableAs)
}
