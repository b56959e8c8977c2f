/**
 * The second gate: what a name resolves to. Asked of the DNS itself: `getaddrinfo` would keep one of the process's four
 * threads for each name whose servers say nothing, and a few such names would hold up everything else.
 */
import { type LookupAddress, type LookupOptions, Resolver } from "node:dns"
import { networkInterfaces } from "node:os"
import { isIP } from "node:net"
import { Clock, Effect, Result, Schema, type Scope } from "effect"
import { canonicalAddress, isPublicAddress } from "./EgressGuard.ts"
import { makeSuccessTracker } from "./SuccessTracker.ts"

/** One question to one name server, and how often it is asked: at most 4.5 s, within the time to connect. */
const queryTimeoutMillis = 1_500
const queryTries = 2

/** How long a name may make us wait for IPv6 addresses. Some name servers never answer that question. */
const ipv6TimeoutMillis = 1_500

/**
 * How long a new endpoint's name may take to resolve before it is accepted unseen: it is asked again at each connect.
 */
const checkTimeoutMillis = 2_000

/** TXT records: how long they may take, how many are read, and characters of each. */
const textTimeoutMillis = 5_000
const maximumTexts = 50
const maximumTextLength = 512

/** How long the addresses of our own host are believed. */
const ownAddressesMillis = 60_000

/** An address that deliveries must not go to. Which one stays with us: it would draw a map of our network. */
export class AddressRefused extends Schema.TaggedError<AddressRefused>()("AddressRefused", {
  reason: Schema.String
}) {
  override get message() {
    return this.reason
  }
}

/** A name without an address. `isOurFault`: the resolver answers nobody. */
export class NameUnresolved extends Schema.TaggedError<NameUnresolved>()("NameUnresolved", {
  code: Schema.String,
  isOurFault: Schema.Boolean
}) {
  override get message() {
    return `the host name cannot be resolved (${this.code})`
  }
}

type LookupCallback = (error: Error | null, address: string | Array<LookupAddress>, family?: number) => void

/** Names as sockets and checks ask for them. */
export interface NameResolver {
  /**
   * A look-up for sockets: as node's, but fails with {@link AddressRefused} when any address of the name is not public
   * or is our own. The socket then connects to the very address that was checked, so a name that changes in between
   * gains nothing; a connection that is kept alive stays with that address.
   */
  readonly lookup: (hostname: string, options: LookupOptions, callback: LookupCallback) => void
  /**
   * Why a name must not be delivered to, as far as can be told now: one that does not resolve is judged when it is
   * used.
   */
  readonly refusal: (hostname: string) => Effect.Effect<string | undefined>
  /** TXT records of a name, those that fit the limits; empty: it has none. Undefined: nobody says so in time. */
  readonly textRecords: (name: string) => Effect.Effect<ReadonlyArray<string> | undefined>
  /** Addresses of this machine, and of {@link NameResolverOptions.ownHost} as last seen. */
  readonly ownAddresses: () => ReadonlySet<string>
}

export interface NameResolverOptions {
  /** `address` or `address:port`; empty: those of the system. */
  readonly nameservers: ReadonlyArray<string>
  /** Host of `http.publicUrl`; its addresses are our own. Undefined: they are not asked for. */
  readonly ownHost: string | undefined
}

/** The definite answers: there is no such name, or none with addresses. */
const definiteCodes: ReadonlySet<string> = new Set(["ENOTFOUND", "ENODATA"])

/** Asks the DNS for as long as the scope lives. */
export const makeNameResolver = (
  { nameservers, ownHost }: NameResolverOptions
): Effect.Effect<NameResolver, never, Scope.Scope> =>
  Effect.gen(function*() {
    const resolver = yield* Effect.acquireRelease(
      Effect.sync(() => new Resolver({ timeout: queryTimeoutMillis, tries: queryTries })),
      (made) => Effect.sync(() => made.cancel())
    )
    if (nameservers.length > 0) resolver.setServers(nameservers)
    const successes = makeSuccessTracker()
    const run = Effect.runForkWith(yield* Effect.context<never>())

    const ask = (hostname: string, family: 4 | 6) =>
      Effect.callback<Result.Result<ReadonlyArray<LookupAddress>, string>>((resume) => {
        const onAnswer = (error: NodeJS.ErrnoException | null, found: ReadonlyArray<string>) =>
          resume(Effect.succeed(
            error === null
              ? Result.succeed(found.map((address) => ({ address, family })))
              : Result.fail(error.code ?? "EUNKNOWN")
          ))
        if (family === 4) resolver.resolve4(hostname, onAnswer)
        else resolver.resolve6(hostname, onAnswer)
      })

    const textRecords = (name: string) =>
      Effect.callback<ReadonlyArray<string> | undefined>((resume) => {
        resolver.resolveTxt(name, (error, found) => {
          if (error !== null) return resume(Effect.succeed(definiteCodes.has(error.code ?? "") ? [] : undefined))
          resume(Effect.succeed(
            found.slice(0, maximumTexts).map((parts) => parts.join("").slice(0, maximumTextLength))
          ))
        })
      }).pipe(Effect.timeoutOrElse({ duration: textTimeoutMillis, orElse: () => Effect.succeed(undefined) }))

    const addressesOf = (hostname: string) =>
      Effect.gen(function*() {
        const answers = yield* Effect.all([
          ask(hostname, 4),
          ask(hostname, 6).pipe(Effect.timeoutOrElse({
            duration: ipv6TimeoutMillis,
            orElse: () => Effect.succeed(Result.fail("ETIMEOUT"))
          }))
        ], { concurrency: 2 })
        const found = answers.flatMap((answer) => Result.isSuccess(answer) ? answer.success : [])
        const codes = answers.flatMap((answer) => Result.isFailure(answer) ? [answer.failure] : [])
        const code = codes.find((each) => !definiteCodes.has(each)) ?? codes[0] ?? "ENODATA"
        if (found.length > 0 || definiteCodes.has(code)) yield* successes.recordSuccess
        if (found.length > 0) return found
        return yield* new NameUnresolved({
          code,
          isOurFault: !definiteCodes.has(code) && !(yield* successes.isWorking)
        })
      })

    const own = new Set<string>()
    let ownUntil = Number.NEGATIVE_INFINITY
    const ownName = ownHost === undefined || isIP(ownHost.replace(/^\[|\]$/g, "")) !== 0 ? undefined : ownHost
    /** Looks at our own addresses anew when they are old; an own name that does not resolve keeps those it had. */
    const refresh = Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      if (now < ownUntil) return
      ownUntil = now + ownAddressesMillis
      const resolved = ownName === undefined
        ? []
        : yield* addressesOf(ownName).pipe(
          Effect.map((found) => found.map(({ address }) => address)),
          Effect.orElseSucceed(() => [...own])
        )
      own.clear()
      const local = Object.values(networkInterfaces()).flatMap((each) => each ?? []).map(({ address }) => address)
      for (const address of [...local, ...resolved]) own.add(canonicalAddress(address))
    })

    /** The addresses of a name, none of which is forbidden. */
    const allowedAddressesOf = (hostname: string) =>
      Effect.gen(function*() {
        const [addresses] = yield* Effect.all([addressesOf(hostname), refresh], { concurrency: 2 })
        if (!addresses.every(({ address }) => isPublicAddress(address))) {
          return yield* new AddressRefused({ reason: "The host resolves to an address that is not public" })
        }
        if (addresses.some(({ address }) => own.has(canonicalAddress(address)))) {
          return yield* new AddressRefused({ reason: "The host resolves to an address of this service" })
        }
        return addresses
      })

    yield* Effect.forkScoped(refresh)
    return {
      ownAddresses: () => own,
      textRecords,
      lookup: (hostname, options, callback) =>
        void run(Effect.match(allowedAddressesOf(hostname), {
          onFailure: (error) => callback(error, []),
          onSuccess: (addresses) =>
            options.all === true
              ? callback(null, [...addresses])
              : callback(null, addresses[0]!.address, addresses[0]!.family)
        })),
      refusal: (hostname) =>
        isIP(hostname.replace(/^\[|\]$/g, "")) !== 0
          ? Effect.succeed(undefined)
          : allowedAddressesOf(hostname).pipe(
            Effect.as(undefined),
            Effect.catchTag("NameUnresolved", () => Effect.succeed(undefined)),
            Effect.catchTag("AddressRefused", ({ reason }) => Effect.succeed(reason)),
            Effect.timeoutOrElse({ duration: checkTimeoutMillis, orElse: () => Effect.succeed(undefined) })
          )
    }
  })
