/**
 * What strangers have published: small pages over https and TXT records of the DNS, read under the rules of webhooks
 * (modules/docs/reference/webhooks.md#where-deliveries-go). Who has a safe way out registers here. Where nobody
 * does, nothing can be read.
 */
import { Context, Effect, Layer, Schema, type Scope } from "effect"
import * as Registry from "./Registry.ts"

/** A page as it was answered. */
export interface PublishedPage {
  /** As it was sent: no redirect is followed. */
  readonly status: number
  /** At most the first 4 KiB. */
  readonly text: string
}

/** Nothing was read. `isRefused`: the address is one that this service asks nothing of. */
export class WebReadFailed extends Schema.TaggedError<WebReadFailed>()("WebReadFailed", {
  isRefused: Schema.Boolean
}) {}

export interface WebReader {
  /** Asks for an https page, for at most 12 s: 2 for the name, 10 for the page. */
  readonly page: (url: string) => Effect.Effect<PublishedPage, WebReadFailed>
  /** The TXT records of a name, at most 50, each cut after 512 characters; empty: it has none. For at most 5 s. */
  readonly textRecords: (name: string) => Effect.Effect<ReadonlyArray<string>, WebReadFailed>
}

export class PublicWeb extends Context.Service<PublicWeb, {
  /** Reads from now on, for as long as the scope lives. One per deployment. */
  readonly register: (reader: WebReader) => Effect.Effect<void, never, Scope.Scope>
  /** Whether somebody reads: at the start of a deployment nobody does yet. */
  readonly isAvailable: () => boolean
  readonly page: WebReader["page"]
  readonly textRecords: WebReader["textRecords"]
}>()("tillwire/runtime/PublicWeb") {}

const noReader = Effect.fail(new WebReadFailed({ isRefused: false }))

export const layer: Layer.Layer<PublicWeb> = Layer.sync(PublicWeb, () => {
  const { current, register } = Registry.single<WebReader>(
    "two transports read public pages: name one of them in the config file"
  )
  return PublicWeb.of({
    register,
    isAvailable: () => current() !== undefined,
    page: (url) => current()?.page(url) ?? noReader,
    textRecords: (name) => current()?.textRecords(name) ?? noReader
  })
})
