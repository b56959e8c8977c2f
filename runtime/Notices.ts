/**
 * Notices: what people of a merchant, or the operator, hear of by e-mail while nobody looks at a page. Whoever changes
 * something that somebody must act on drafts a notice, and stores it in the commit of that change; who sends them
 * registers here. Where nobody does, nothing is drafted, and nothing else is different.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import type { Environment } from "../schemas/Network.ts"
import type { Write } from "./Commit.ts"
import { single } from "./Registry.ts"

/** What somebody must act on: a case that opened, an endpoint that was switched off, a network in another condition. */
export type NoticeKind = "exception" | "endpoint" | "network"

export interface Notice {
  /** Unique for the merchant: it names the subject and its version, so that one change is told of once. */
  readonly id: string
  /** `systemMerchant` of Commit.ts: it is the operator's. */
  readonly merchantId: number
  /** Null: of both. */
  readonly environment: Environment | null
  readonly kind: NoticeKind
  /** Id of the exception or the endpoint, or name of the network. */
  readonly subject: string
  /** Type of the exception, why the endpoint is off, or condition of the network. */
  readonly type: string
  /** usd_millis; null: it is not about money. */
  readonly amount: bigint | null
}

/** Who sends notices. */
export interface NoticeBook {
  /** Whether notices are sent: there may be nobody who sends mail. */
  readonly isEnabled: () => boolean
  /** What stores a notice, to be put into a commit. */
  readonly writesOf: (notice: Notice) => Effect.Effect<ReadonlyArray<Write>>
}

export class Notices extends Context.Service<Notices, {
  /** For as long as the scope lives. One per deployment. */
  readonly register: (book: NoticeBook) => Effect.Effect<void, never, Scope.Scope>
  readonly isEnabled: () => boolean
  /** What stores a notice; nothing where none are sent. */
  readonly draft: (notice: Notice) => Effect.Effect<ReadonlyArray<Write>>
}>()("tillwire/runtime/Notices") {}

export const layer: Layer.Layer<Notices> = Layer.sync(Notices, () => {
  const slot = single<NoticeBook>("two modules send notices: remove one of them from the config")
  const book = () => {
    const current = slot.current()
    return current?.isEnabled() === true ? current : undefined
  }
  return Notices.of({
    register: slot.register,
    isEnabled: () => book() !== undefined,
    draft: (notice) => book()?.writesOf(notice) ?? Effect.succeed([])
  })
})
