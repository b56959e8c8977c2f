/** A poster of a payment link, to be printed: its QR code, large, and its address in words. */
import { type Html, html, styleElement } from "../../../runtime/pages/Html.ts"
import { qr } from "../../../runtime/pages/Qr.ts"
import type { Branding } from "../../../schemas/MerchantSettings.ts"
import { document, logoOf, type Texts } from "../../checkout/plugin.ts"
import type { LinkState } from "../rules.ts"
import { amountText } from "./LinkPage.ts"
import { linkTextsOf } from "./Texts.ts"

/** Sizes of paper, by the name in the address. */
export type PaperSize = "a4" | "a6"

export const readPaperSize = (text: string | null): PaperSize => text?.toLowerCase() === "a6" ? "a6" : "a4"

/** Black on white, on a screen as on paper: it is looked at before it is printed. */
const lookOf = (size: string, text: string): string =>
  `@page{size:${size};margin:8mm}
*{box-sizing:border-box;margin:0}
:root{color-scheme:light}
html{font:${text}/1.4 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
body{background:#fff;color:#000;padding:1em}
main{display:grid;justify-items:center;gap:.75em;max-inline-size:34em;margin-inline:auto;text-align:center}
h1{font-size:2em;line-height:1.2;text-wrap:balance;overflow-wrap:anywhere}
.who{display:flex;align-items:center;gap:.6em;font-weight:700;font-size:1.2em}
.logo{inline-size:2.2em;block-size:2.2em;object-fit:contain}
span.logo{display:none}
.due{font-size:1.7em;font-weight:700}
.qr{inline-size:min(100%,20em);aspect-ratio:1}
.scan{font-size:1.5em;font-weight:700}
.address{overflow-wrap:anywhere;font-family:ui-monospace,Menlo,Consolas,monospace}
.test{border:2px solid #000;padding:.2em .6em;font-weight:700}`.replaceAll(/\n */g, "")

export const posterStyles: Readonly<Record<PaperSize, string>> = {
  a4: lookOf("A4", "130%"),
  a6: lookOf("A6", "80%")
}

export interface PosterView {
  readonly link: LinkState
  readonly branding: Branding
  /** The public page. */
  readonly url: string
  readonly size: PaperSize
}

const amountOf = (texts: Texts, { amount }: LinkState): Html =>
  html`<p class="due"><bdi>${
    amount.kind === "fixed" ? amountText(texts, amount.amount) : linkTextsOf(texts).anyAmount
  }</bdi></p>`

/** The poster. Its code says the address alone: what it costs is what the page says when it is scanned. */
export const poster = ({ branding, link, size, url }: PosterView, texts: Texts): string => {
  const words = linkTextsOf(texts)
  return document(
    texts,
    link.title,
    styleElement(posterStyles[size]),
    html`<main>${link.environment === "devnet" && html`<p class="test">${texts.testMode}</p>`}
      <p class="who">${logoOf(branding.name, branding.logo_uri)}<bdi>${branding.name}</bdi></p>
      <h1><bdi>${link.title}</bdi></h1>${amountOf(texts, link)}
      ${qr(url, "M", words.qrName(link.title))}
      <p class="scan">${words.scan}</p>
      <p>${words.open} <bdi class="address" dir="ltr">${url}</bdi></p>
    </main>`
  )
}
