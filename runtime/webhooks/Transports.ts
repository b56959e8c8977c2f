/**
 * Which transport takes a URL: that of its scheme. What else a URL must be is for the transport to check, before an
 * endpoint is made and again in each `send`.
 */
import { Effect, Predicate } from "effect"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import {
  type DeliveryAnswer,
  type DeliveryRequest,
  type EndpointOwner,
  type Transport,
  TransportFailed
} from "../Webhooks.ts"

/** The transports of this deployment. */
export interface Transports {
  readonly add: (transport: Transport) => void
  readonly remove: (transport: Transport) => void
  /** Whether there is none yet: then nothing can be sent. */
  readonly isEmpty: () => boolean
  /** `WEBHOOK_URL_INVALID` where no transport takes the scheme, or the one that does refuses the URL. */
  readonly check: (url: string, owner: EndpointOwner) => Effect.Effect<void, PublicError>
  /** By the transport of the URL's scheme; a fault of ours where it is no longer configured. */
  readonly send: (request: DeliveryRequest) => Effect.Effect<DeliveryAnswer, TransportFailed>
}

/**
 * Milliseconds that a transport may take beyond the time of an attempt, which it keeps itself: one that does not would
 * hold the endpoint's place for ever.
 */
export const overrunMillis = 5_000

/** `https:` of `https://…`, in lower case; undefined where the text does not begin as a URL does. */
export const schemeOf = (url: string): string | undefined => /^[a-z][a-z0-9+.-]*:/i.exec(url)?.[0].toLowerCase()

const invalid = (reason: string) => Effect.fail(publicError("WEBHOOK_URL_INVALID", { message: reason, param: "url" }))

/** An empty registry. A transport added under a name replaces the one before it. */
export const makeTransports = (): Transports => {
  const transports = new Map<string, Transport>()
  const forUrl = (url: string): Transport | undefined => {
    const scheme = schemeOf(url)
    return scheme === undefined ? undefined : [...transports.values()].find(({ schemes }) => schemes.includes(scheme))
  }
  return {
    add: (transport) => void transports.set(transport.name, transport),
    remove: (transport) => {
      if (transports.get(transport.name) === transport) transports.delete(transport.name)
    },
    isEmpty: () => transports.size === 0,
    check: (url, owner) =>
      Effect.suspend(() => {
        const transport = forUrl(url)
        return transport === undefined
          ? invalid("Nothing here delivers to such a URL: most webhooks start with https://")
          : Effect.catch(transport.check(url, owner), ({ reason }) => invalid(reason))
      }),
    send: (request) =>
      Effect.suspend(() => {
        const transport = forUrl(request.url)
        return transport === undefined ? ourFault("no transport takes this URL") : sendBy(transport, request)
      })
  }
}

const ourFault = (reason: string) => Effect.fail(new TransportFailed({ reason, isOurFault: true, timedOut: false }))

const isAnswer = (value: unknown): value is DeliveryAnswer =>
  Predicate.hasProperty(value, "status") && Number.isInteger(value.status)

/**
 * One attempt by a transport, whoever wrote it. What is neither an answer nor a {@link TransportFailed} is a bug of
 * the transport, so it is a defect: it must not count as the receiver's failure.
 */
const sendBy = (transport: Transport, request: DeliveryRequest): Effect.Effect<DeliveryAnswer, TransportFailed> => {
  const subject = `the transport "${transport.name}"`
  return transport.send(request).pipe(
    Effect.timeoutOrElse({
      duration: request.timeoutMillis + overrunMillis,
      orElse: () => ourFault(`${subject} neither answered nor gave up in ${request.timeoutMillis} ms, as it must`)
    }),
    Effect.catch((error) => error instanceof TransportFailed ? Effect.fail(error) : Effect.die(error)),
    Effect.tap((answer) =>
      isAnswer(answer) ? Effect.void : Effect.die(new Error(`${subject} answered something without a status`))
    )
  )
}
