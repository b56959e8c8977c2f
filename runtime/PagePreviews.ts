/**
 * The page on which people pay, drawn with invented data: for those who decide how it looks and what it offers. The
 * module that has such a page registers here; without one there is nothing to preview.
 */
import { Context, Layer } from "effect"
import type { Effect, Scope } from "effect"
import type { Environment, Network } from "../schemas/Network.ts"
import * as Registry from "./Registry.ts"

/** A token that the page offers. */
export interface PreviewToken {
  readonly id: number
  readonly symbol: string
  readonly name: string
  readonly network: Network
  readonly decimals: number
  readonly isStable: boolean
  /** Dollars per whole token, as it is shown; null: not known. */
  readonly usd: number | null
}

export interface PreviewRequest {
  readonly environment: Environment
  /** How the merchant shows itself. `accent`: `#rrggbb`. */
  readonly merchant: {
    readonly name: string
    readonly logoUri: string | null
    readonly accent: string
    readonly supportEmail: string | null
    readonly domain: string | null
    /** Epoch seconds; null: the domain is not verified. */
    readonly domainVerifiedAt: number | null
    readonly allowRestart: boolean
  }
  /** One of {@link PagePreview.screens}, else the first. */
  readonly screen: string
  /** One of {@link PagePreview.languages}, else the first. */
  readonly locale: string
  readonly theme: "light" | "dark"
  readonly isPhone: boolean
  /** Null: some that are invented. */
  readonly tokens: ReadonlyArray<PreviewToken> | null
}

export interface PagePreview {
  readonly screens: ReadonlyArray<string>
  readonly languages: ReadonlyArray<{ readonly locale: string; readonly name: string }>
  /** A whole document without a script, and the headers it goes under: a page of this origin may show it in a frame. */
  readonly draw: (request: PreviewRequest) => {
    readonly html: string
    readonly headers: Readonly<Record<string, string>>
  }
}

export class PagePreviews extends Context.Service<PagePreviews, {
  /** Draws from now on, for as long as the scope lives. One per deployment. */
  readonly register: (preview: PagePreview) => Effect.Effect<void, never, Scope.Scope>
  /** Undefined: no page is served. */
  readonly current: () => PagePreview | undefined
}>()("tillwire/runtime/PagePreviews") {}

export const layer: Layer.Layer<PagePreviews> = Layer.sync(PagePreviews, () =>
  PagePreviews.of(
    Registry.single<PagePreview>("two modules serve the page on which people pay: name one of them in the config file")
  ))
