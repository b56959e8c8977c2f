/** The page on which customers pay, in a frame: drawn by its own functions with invented data. */
import { Effect } from "effect"
import type { PreviewToken } from "../../../runtime/PagePreviews.ts"
import { type Html, html, type Url } from "../../../runtime/pages/Html.ts"
import { publicError } from "../../../schemas/Errors.ts"
import type { DomainCheck } from "../../../schemas/MerchantSettings.ts"
import type { Visit } from "./Page.ts"

/** What `GET /api/v1/merchant/settings` answers, as far as it is shown. */
export interface MerchantSettingsRow {
  readonly branding: {
    readonly name: string
    readonly logo_uri: string | null
    readonly accent: string
    readonly support_email: string | null
    readonly domain: string | null
    readonly domain_verified_at: number | null
    readonly allow_restart: boolean
    readonly show_payee_proof: boolean
  }
  readonly domain_check: typeof DomainCheck.Type | null
}

/** `sandbox` lets the frame run nothing, send nothing and lead nowhere. */
export const previewFrame = (title: string, address: Url, isPhone = true): Html =>
  html`<iframe class="${
    isPhone ? "preview phone" : "preview"
  }" title="${title}" src="${address}" sandbox loading="lazy"></iframe>`

/** A colour as merchants may have one; another text is none. */
const colourPattern = /^#[0-9a-f]{6}$/

/** Characters of a name in a preview, at most: as many as a merchant's may have. */
const maximumName = 255

/**
 * The document of a frame. Its address says what is looked at: `state`, `lang`, `theme`, `device`, and `name` and
 * `accent` where they are not saved yet. Nothing of it is stored.
 */
export const drawPreview = Effect.fnUntraced(function*(visit: Visit, tokens: ReadonlyArray<PreviewToken> | null) {
  const { api, environment, preview, query } = visit
  if (preview === undefined) return yield* publicError("NOT_FOUND")
  const { branding } = yield* api.get<MerchantSettingsRow>("/api/v1/merchant/settings")
  const [name, accent] = [query.get("name") ?? "", query.get("accent") ?? ""]
  return preview.draw({
    environment,
    merchant: {
      name: name === "" ? branding.name : name.slice(0, maximumName),
      logoUri: branding.logo_uri,
      accent: colourPattern.test(accent) ? accent : branding.accent,
      supportEmail: branding.support_email,
      domain: branding.domain,
      domainVerifiedAt: branding.domain_verified_at,
      allowRestart: branding.allow_restart
    },
    screen: query.get("state") ?? "",
    locale: query.get("lang") ?? "",
    theme: query.get("theme") === "dark" ? "dark" : "light",
    isPhone: query.get("device") !== "desktop",
    tokens
  })
})
