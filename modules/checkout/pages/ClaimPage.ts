/** The claim page as HTML: whole documents, the fragments that take their place, and refusals. */
import { defaultAccent } from "../../../schemas/Colour.ts"
import type { ErrorPage, RefusedRequest } from "../../../runtime/Http.ts"
import { queryOf } from "../../../runtime/http/Query.ts"
import type { PublicError } from "../../../schemas/Errors.ts"
import type { ClaimView } from "../rules/Claims.ts"
import { accentCss } from "./Accent.ts"
import { tokens } from "../../../runtime/pages/Amounts.ts"
import { type ClaimForms, linkForm, renderClaimScreen } from "./ClaimScreens.ts"
import { heading, mutedText } from "./Elements.ts"
import { type Content, type Html, html, pathUrl, styleElement } from "../../../runtime/pages/Html.ts"
import { type Assets, document, languageForm, logoOf } from "./Page.ts"
import { languageFor } from "./PageRequest.ts"
import type { Responses } from "./Responses.ts"
import { joinSentences, type Texts } from "./Texts.ts"

/** Who gives back, for what, and how much. */
const header = ({ branding, environment, merchant, order, refund }: ClaimView, texts: Texts): Html =>
  html`<header>${environment === "devnet" && html`<p class="test">${texts.testMode}</p>`}
    <div class="head">${logoOf(merchant, branding.logo_uri)}
      <p class="who"><b><bdi>${merchant}</bdi></b>${
    order !== null && html`<span class="order"><bdi>${order}</bdi></span>`
  }</p>
      <p class="due">
        <span class="visually-hidden">${texts.claimAmount} </span>
        <bdi>${tokens(texts.locale, refund.tokenAmount)} ${refund.tokenSymbol}</bdi>
      </p>
    </div>
  </header>`

/** What stands around a screen. `path` is without a query; the fragments of the script come from below it. */
interface Surroundings {
  readonly path: string
  readonly texts: Texts
  readonly assets: Assets
  readonly accent: string
  readonly shop: Content
}

const frame = (
  { accent, assets, path, shop, texts }: Surroundings,
  title: string,
  section: Html,
  forms: ClaimForms
): string =>
  document(
    texts,
    title,
    html`${styleElement(assets.style.css)}${styleElement(accentCss(accent))}`,
    html`<div class="card"><div id="shop">${shop}</div>
      <main id="claim" data-state="${pathUrl(`${path}/state?lang=${texts.locale}`)}">
        <p id="trouble" class="note bad" role="alert" hidden>${texts.claimNoAnswer}</p>
        <div id="state">${section}</div>
      </main></div>
    <footer class="foot">${
      languageForm(
        pathUrl(forms.path),
        texts,
        assets.languages,
        forms.token !== null && html`<input type="hidden" name="token" value="${forms.token}">`
      )
    }</footer>
    <script src="${pathUrl(assets.script)}" defer></script>`
  )

const pathIn = (path: string, { locale }: Texts): string => `${path}?lang=${locale}`

/** The page before a token is known: it says nothing of the refund, whether there is one or not. */
export const claimEntry = (path: string, texts: Texts, assets: Assets): string => {
  const forms = { path: pathIn(path, texts), token: null }
  const section = html`<section data-screen="open" data-title="${texts.claimOpenTitle}">
    ${heading(texts.claimOpenTitle, mutedText(texts.claimOpen))}${linkForm(forms, texts)}</section>`
  return frame(
    { path, texts, assets, accent: defaultAccent, shop: null },
    texts.claimOpenTitle,
    section,
    forms
  )
}

/** The page of a refund where no script runs: its forms carry the token. */
export const claimPage = (view: ClaimView, texts: Texts, path: string, token: string, assets: Assets): string => {
  const forms = { path: pathIn(path, texts), token }
  const { section, title } = renderClaimScreen(view, texts, forms)
  return frame(
    { path, texts, assets, accent: view.branding.accent, shop: header(view, texts) },
    title,
    section,
    forms
  )
}

/** The same for the script: what changes, without the token. */
export const claimFragment = (view: ClaimView, texts: Texts, path: string): string => {
  const { section } = renderClaimScreen(view, texts, { path: pathIn(path, texts), token: null })
  return `${section}${header(view, texts)}`
}

/** What a payor can do about a refusal. */
type Refusal = "ended" | "too_many" | "unavailable" | "failed"

const refusalOf = ({ code, status }: PublicError): Refusal => {
  if (code === "RATE_LIMIT_EXCEEDED") return "too_many"
  if (code === "REFUND_NOT_FOUND" || code === "NOT_FOUND") return "ended"
  return status >= 500 ? "unavailable" : "failed"
}

const refusalTexts: Readonly<
  Record<Refusal, (texts: Texts) => { readonly title: string; readonly text: string }>
> = {
  ended: ({ claimEnded: text, claimEndedTitle: title }) => ({ title, text }),
  too_many: ({ tooMany: text, tooManyTitle: title }) => ({ title, text }),
  unavailable: ({ claimUnavailable: text, unavailableTitle: title }) => ({ title, text }),
  failed: ({ claimUnavailable: text, failedTitle: title }) => ({ title, text })
}

/** The page of a refund, or what its script asks for. */
const pageOf = /^\/+claim\/+(re_[0-9a-f-]{36})(?:\/+state)?\/*$/i

/** Draws refusals for every address below `/claim`; nothing of what was sent comes back. */
export const renderClaimError = (
  { base, plainHeaders }: Responses,
  assets: Assets
) =>
(error: PublicError, request: RefusedRequest): ErrorPage => {
  const query = queryOf(request.url)
  const texts = languageFor({
    query: query.get("lang"),
    cookie: undefined,
    invoice: null,
    browser: request.headers["accept-language"],
    merchant: null
  })
  const refusal = refusalOf(error)
  const { text, title } = refusalTexts[refusal](texts)
  const location = request.url.replace(/[?#;].*$/s, "")
  const id = pageOf.exec(location)?.[1]
  const path = id === undefined ? null : `${base}/claim/${id}`
  const forms = path === null ? null : { path: pathIn(path, texts), token: null }
  const section = html`<section data-screen="${refusal}" data-title="${title}"
    data-say="${joinSentences(texts, title, text)}">
    ${heading(title, mutedText(text))}${refusal === "ended" && forms !== null && linkForm(forms, texts)}</section>`
  const isFragment = /\/state\/*$/i.test(location)
  return {
    html: isFragment
      ? section.toString()
      : path === null || forms === null
      ? document(
        texts,
        title,
        html`${styleElement(assets.style.css)}${styleElement(accentCss(defaultAccent))}`,
        html`<div class="card"><main>${section}</main></div>`
      )
      : frame({ path, texts, assets, accent: defaultAccent, shop: null }, title, section, forms),
    headers: plainHeaders
  }
}
