/**
 * What is not there is so by the word of every endpoint: one that says "too old" or "not found" may have cut its
 * history, be behind, or be wrong. An endpoint that does not answer has said nothing.
 */
import { Effect } from "effect"
import { DriverError } from "../Chains.ts"
import type { Endpoints, NodeEndpoint } from "./Endpoints.ts"

type Failover<Client extends NodeEndpoint> = Pick<Endpoints<Client>, "endpoints" | "withFailover">

/**
 * As `withFailover`. Where every endpoint has failed with the kind `pruned`, the failure has the condition
 * `block_pruned`. `what`: what none of them has, for messages: `block 17`.
 */
export const readUnlessPruned = <Client extends NodeEndpoint, A>(
  { endpoints, withFailover }: Failover<Client>,
  what: string,
  work: (endpoint: Client) => Effect.Effect<A, DriverError>
): Effect.Effect<A, DriverError> =>
  Effect.suspend(() => {
    const prunedAt = new Set<number>()
    const read = (endpoint: Client) =>
      Effect.tapError(work(endpoint), ({ kind }) =>
        Effect.sync(() => kind === "pruned" ? prunedAt.add(endpoint.place) : undefined))
    return Effect.mapError(withFailover(read), (error) =>
      prunedAt.size < endpoints.length ? error : new DriverError({
        network: error.network,
        reason: `no endpoint has ${what} any more`,
        condition: "block_pruned",
        kind: "pruned"
      }))
  })

/**
 * What the first endpoint has that has it; null: every endpoint says that it does not. Fails where some said so and
 * others did not answer. `what`: for messages, as above.
 */
export const findAtAny = <Client extends NodeEndpoint, A>(
  { endpoints, withFailover }: Failover<Client>,
  what: string,
  work: (endpoint: Client) => Effect.Effect<A | null, DriverError>
): Effect.Effect<A | null, DriverError> =>
  Effect.suspend(() => {
    const absentAt = new Set<number>()
    let failure: DriverError | null = null
    const find = (endpoint: Client) =>
      Effect.flatMap(
        Effect.tapError(work(endpoint), (error) =>
          Effect.sync(() => {
            failure = error
          })),
        (found) => {
          if (found !== null) return Effect.succeed(found)
          absentAt.add(endpoint.place)
          const { name, network } = endpoint
          return Effect.fail(new DriverError({ network, reason: `${name} does not have ${what}`, kind: "not_found" }))
        }
      )
    return Effect.catch(
      withFailover(find),
      (error) => absentAt.size === endpoints.length ? Effect.succeed(null) : Effect.fail(failure ?? error)
    )
  })
