/** The second gate: what a name resolves to. */
import { lookup as resolve, type LookupAddress, type LookupOptions } from "node:dns"
import { isIP } from "node:net"
import { Effect } from "effect"
import { isPublicAddress } from "./EgressGuard.ts"

/** How long a new endpoint's name may take to resolve before it is accepted unseen: the transport asks again anyway. */
const resolveTimeoutMillis = 2_000

/** An address that deliveries must not go to. */
export class AddressRefused extends Error {
  readonly code = "ADDRESS_REFUSED"
  constructor(hostname: string) {
    super(`${hostname} resolves to an address that is not public`)
  }
}

type LookupCallback = (
  error: NodeJS.ErrnoException | null,
  address: string | Array<LookupAddress>,
  family?: number
) => void

/**
 * A look-up for sockets: as node's, but fails with {@link AddressRefused} when any address of the name is not public.
 * The socket then connects to the very address that was checked, so a name that changes in between gains nothing.
 */
export const publicLookup = (hostname: string, options: LookupOptions, callback: LookupCallback): void =>
  resolve(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return callback(error, [])
    if (addresses.length === 0 || !addresses.every(({ address }) => isPublicAddress(address))) {
      return callback(new AddressRefused(hostname), [])
    }
    const [first] = addresses
    return options.all === true ? callback(null, addresses) : callback(null, first!.address, first!.family)
  })

/** Whether a name can be delivered to as far as can be told now. A name that does not resolve is judged when it is used. */
export const resolvesToPublic = (hostname: string): Effect.Effect<boolean> => {
  if (isIP(hostname.replace(/^\[|\]$/g, "")) !== 0) return Effect.succeed(true)
  return Effect.callback<boolean>((resume) => {
    publicLookup(hostname, { all: true }, (error) => resume(Effect.succeed(!(error instanceof AddressRefused))))
  }).pipe(Effect.timeoutOrElse({ duration: resolveTimeoutMillis, orElse: () => Effect.succeed(true) }))
}
