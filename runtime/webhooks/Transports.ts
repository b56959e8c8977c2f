/**
 * Which transport takes a URL: that of its scheme. What else a URL must be is for the transport to check, before an
 * endpoint is made and again in each `send`.
 */
import { Effect } from "effect"
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
      Effect.suspend(() =>
        forUrl(request.url)?.send(request) ??
          Effect.fail(new TransportFailed({ reason: "no transport takes this URL", isOurFault: true, timedOut: false }))
      )
  }
}
