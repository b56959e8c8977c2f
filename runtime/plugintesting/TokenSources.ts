/** What every token source promises, whoever wrote it. */
import { Effect, Layer, Schedule, type Scope } from "effect"
import * as HttpClient from "../http/Client.ts"
import type { Kernel } from "../Plugin.ts"
import { TokenCatalog, type TokenListing } from "../TokenCatalog.ts"
import { tokenAddress, tokenKey } from "../../schemas/Token.ts"
import { ensure, ensureSame, type PortCheck, portCheck, PromiseBroken } from "./PortCheck.ts"

/** A token source ready to be tried. */
export interface TokenSourceSubject {
  readonly layer: Layer.Layer<never, unknown, Kernel>
  /** What it lists, at least. */
  readonly known: ReadonlyArray<Pick<TokenListing, "network" | "environment" | "address" | "decimals">>
}

/** What a source told the catalogue, newest last, for as long as the scope lives. */
export const listingsOf = (source: Layer.Layer<never, unknown, Kernel>): Effect.Effect<
  () => ReadonlyArray<readonly [source: string, listings: ReadonlyArray<TokenListing>]>,
  unknown,
  Scope.Scope
> =>
  Effect.gen(function*() {
    const lists: Array<readonly [string, ReadonlyArray<TokenListing>]> = []
    const catalog = Layer.mock(TokenCatalog, {
      unverifiedTokens: () => [],
      get: () => undefined,
      find: () => undefined,
      list: () => [],
      declare: () => Effect.void,
      sync: (name, listings) => Effect.sync(() => void lists.push([name, listings]))
    })
    yield* Layer.build(Layer.provide(source, [catalog, HttpClient.layer]) as Layer.Layer<never, unknown>)
    return () => lists
  })

/** No control, format or bidirectional character, and no line or paragraph end. */
const plain = /^[^\p{C}\p{Zl}\p{Zp}]+$/u

const ensureListing = Effect.fnUntraced(function*(listing: TokenListing) {
  const { address, decimals, name, network, photoUri, symbol, type } = listing
  yield* ensure(/^[\w.$+-]{1,32}$/.test(symbol), `a symbol has 1 to 32 letters, digits or . $ + - _: ${symbol}`)
  yield* ensure(plain.test(name), `a name has no invisible character: ${JSON.stringify(name)}`)
  yield* ensure(Number.isInteger(decimals) && decimals >= 0 && decimals <= 36, `decimals are 0 to 36, not ${decimals}`)
  yield* ensure(
    /^\/assets\/tokens\/[^/]+\.svg$/.test(photoUri),
    `pictures are the service's own, /assets/tokens/<name>.svg, and none of elsewhere: ${photoUri}`
  )
  yield* ensure(address !== null || type === "native", `${symbol} has no address, so its type is "native"`)
  if (address === null || type !== "erc20") return
  yield* ensureSame(address, tokenAddress(network, address), `the address of ${symbol}, with the capitals of EIP-55`)
})

/** The promises of a token source. `start` makes the driver and whatever it talks to, anew for each check. */
export const tokenSourceChecks = (
  start: Effect.Effect<TokenSourceSubject, unknown, Scope.Scope>
): ReadonlyArray<PortCheck> => [
  portCheck(
    "lists what it knows, each token once, under one name, with facts the catalogue can hold",
    Effect.gen(function*() {
      const subject = yield* start
      const lists = yield* listingsOf(subject.layer)
      const [, listings] = yield* Effect.suspend(() =>
        lists()[0] === undefined
          ? Effect.fail(new PromiseBroken({ what: "it lists nothing in 5 s" }))
          : Effect.succeed(lists()[0]!)
      ).pipe(Effect.retry({ schedule: Schedule.spaced("20 millis"), times: 250 }))
      for (const { decimals, ...token } of subject.known) {
        const found = listings.find((each) => tokenKey(each) === tokenKey(token))
        yield* ensureSame(found?.decimals, decimals, `the decimals of ${tokenKey(token)}`)
      }
      yield* ensureSame(new Set(listings.map(tokenKey)).size, listings.length, "tokens that are listed once")
      yield* ensureSame(new Set(lists().map(([name]) => name)).size, 1, "names that it lists under")
      yield* Effect.forEach(listings, ensureListing, { discard: true })
    })
  )
]
