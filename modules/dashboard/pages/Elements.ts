/** What pages are put together from: tables, chips, forms, amounts. */
import { attribute, type Content, type Html, html, type Url } from "../../../runtime/pages/Html.ts"
import { dollars, moment, tokens, wholeNumber } from "../../../runtime/pages/Amounts.ts"
import type { PublicError } from "../../../schemas/Errors.ts"
import { isoTime } from "../../../schemas/Time.ts"
import { descriptorOf, type Network } from "../../../schemas/Network.ts"
import type { Query, Screen, Visit } from "./Page.ts"
import { messageOf } from "./Refusal.ts"

export type Tone = "good" | "warn" | "bad" | "plain"

export const chip = (tone: Tone, text: Content): Html =>
  html`<span class="${tone === "plain" ? "chip" : `chip ${tone}`}">${text}</span>`

export const note = (tone: Tone, text: Content, role: "alert" | "status" | null = null): Html =>
  html`<p class="${tone === "plain" ? "note" : `note ${tone}`}"${attribute("role", role)}><span>${text}</span></p>`

/** The last eight characters, as the payment page shows them. */
export const shortId = (id: string): string => `#${id.slice(-8)}`

/** A long text of a chain, whole on demand: its first and last characters alone prove nothing. */
export const shortHash = (text: string): string => text.length <= 16 ? text : `${text.slice(0, 6)}…${text.slice(-4)}`

/** A word of the API, as programs read it. */
export const apiWord = (word: string | null): Html | null =>
  word === null ? null : html`<span class="mono" translate="no">${word}</span>`

/** A sentence of the API, which says all in English. */
export const apiText = (text: string | null): Html | null =>
  text === null || text === "" ? null : html`<bdi lang="en" dir="ltr">${text}</bdi>`

/** As people call a network; null where it is not known. */
export const networkName = (network: Network | null): string | null =>
  network === null ? null : descriptorOf(network).label

/** Text of others, which may be in any language and direction. */
export const foreign = (text: string | null | undefined): Html | null =>
  text === null || text === undefined || text === "" ? null : html`<bdi>${text}</bdi>`

/**
 * Amounts are written the same in every language, with a point and groups by commas, as they are typed, exported and
 * sent: where a language turned the two around, "1.000" would be a thousand here and one dollar in the next field.
 */
const amountLocale = "en"

/**
 * Dollars as a text. Where lines run from right to left it is set apart by marks of direction, which work in titles
 * too: its sign would stand at the other end.
 */
export const usd = ({ texts }: Pick<Visit, "texts">, decimal: string): string => {
  const text = dollars(amountLocale, decimal)
  return texts.direction === "rtl" ? `\u2066${text}\u2069` : text
}

export const tokenAmount = (
  amount: string | null,
  symbol: string | null
): Html | null => amount === null ? null : html`<bdi dir="ltr">${tokens(amountLocale, amount)} ${symbol}</bdi>`

/** Counts have groups as amounts have; what is no number stays as it is. */
const withGroups = (content: Content): Content =>
  typeof content === "number" ? wholeNumber(amountLocale, content) : content

/** A token as the API names it. */
export interface NamedToken {
  /** Null: it is in no list. */
  readonly id: number | null
  readonly symbol: string | null
  /** Its contract; null: the network's own coin. */
  readonly address: string | null
}

/** A token in no list goes by its contract: anybody may make one, and call it as another is called. */
export const tokenName = ({ texts }: Pick<Visit, "texts">, token: NamedToken | null | undefined): string | null =>
  token === null || token === undefined
    ? null
    : token.id !== null || token.address === null
    ? token.symbol
    : texts.fields.unlistedToken(shortHash(token.address))

/** A moment in the person's time zone, as an element that programs can read as well. */
export const timeOf = ({ session, texts }: Pick<Visit, "session" | "texts">, seconds: number | null): Html | null =>
  seconds === null
    ? null
    : html`<time datetime="${isoTime(seconds)}">${moment(texts.locale, seconds, session.timeZone ?? "UTC")}</time>`

export interface Column<A> {
  /** Empty: of buttons, which say themselves what they do. */
  readonly title: string
  readonly cell: (row: A) => Content
  /** Amounts and counts stand at the end of their cell. */
  readonly isNumber?: boolean
}

/** A table that scrolls by itself on a narrow screen, and can be scrolled with the keyboard. */
export const table = <A>(label: string, columns: ReadonlyArray<Column<A>>, rows: ReadonlyArray<A>): Html =>
  html`<div class="scroll" tabindex="0" role="region" aria-label="${label}"><table>
    <thead><tr>${
    columns.map(({ isNumber, title }) =>
      title === ""
        ? html`<td></td>`
        : html`<th scope="col"${attribute("class", isNumber === true ? "n" : null)}>${title}</th>`
    )
  }</tr></thead>
    <tbody>${
    rows.map((row) =>
      html`<tr>${
        columns.map(({ cell, isNumber }) =>
          html`<td${attribute("class", isNumber === true ? "n" : null)}>${
            isNumber === true ? withGroups(cell(row)) : cell(row)
          }</td>`
        )
      }</tr>`
    )
  }</tbody>
  </table></div>`

export const card = (title: string | null, body: Content, more: Content = null): Html =>
  html`<section class="card">${
    title !== null && html`<div class="head"><h2>${title}</h2>${more}</div>`
  }${body}</section>`

/** Facts as pairs; a pair without a value is left out. */
export const facts = (pairs: ReadonlyArray<readonly [string, Content]>): Html =>
  html`<dl>${
    pairs.map(([name, value]) =>
      value !== null && value !== undefined && value !== false && value !== ""
      && html`<div><dt>${name}</dt><dd>${value}</dd></div>`
    )
  }</dl>`

/** What a form that was refused said of a field, else `value`. */
export const sentValue = ({ refusal }: Pick<Visit, "refusal">, name: string, value: string | null = null): string =>
  refusal?.form.get(name) ?? value ?? ""

/** Why a field was refused; null: it was not. */
const faultOf = ({ refusal }: Pick<Visit, "refusal">, name: string): PublicError | null =>
  refusal?.error.param === name ? refusal.error : null

export interface Field {
  readonly name: string
  readonly label: string
  readonly type?: "text" | "email" | "number" | "date"
  readonly value?: string | null
  readonly hint?: string
  readonly required?: boolean
  readonly maxLength?: number
}

/** A labelled field with its hint, and its fault where it was refused. */
export const field = (visit: Visit, { hint, label, maxLength, name, required, type = "text", value }: Field): Html => {
  const fault = faultOf(visit, name)
  const describedBy = fault !== null ? `${name}-fault` : hint === undefined ? null : `${name}-hint`
  return html`<label class="f">${label}<input type="${type}" name="${name}" value="${
    sentValue(visit, name, value ?? null)
  }"${attribute("required", required === true)}${attribute("maxlength", maxLength ?? null)}${
    attribute("aria-describedby", describedBy)
  }${attribute("aria-invalid", fault === null ? null : "true")}${attribute("autofocus", fault !== null)}>${
    hint !== undefined && html`<small id="${name}-hint">${hint}</small>`
  }${fault !== null && html`<small class="down" id="${name}-fault">${messageOf(visit.texts, fault)}</small>`}</label>`
}

export interface Choice {
  readonly value: string
  readonly label: string
}

export const select = (
  { label, name, options, value }: {
    readonly name: string
    readonly label: string
    readonly options: ReadonlyArray<Choice>
    readonly value: string
  }
): Html =>
  html`<label class="inlinelabel">${label}<select name="${name}">${
    options.map((option) =>
      html`<option value="${option.value}"${attribute("selected", option.value === value)}>${option.label}</option>`
    )
  }</select></label>`

/** A box with its words. One that is not ticked is not sent: a form that was refused shows it as it was. */
export const checkbox = (
  { refusal }: Pick<Visit, "refusal">,
  { isTicked, label, name, text }: {
    readonly name: string
    readonly label: string
    readonly text: string
    readonly isTicked: boolean
  }
): Html =>
  html`<label class="pick"><input type="checkbox" name="${name}" value="true"${
    attribute("checked", refusal === null ? isTicked : refusal.form.has(name))
  }><b>${label}</b><span class="soft">${text}</span></label>`

/** A form of the page itself. `action` names what it does, in the page's `actions`. */
export const form = (visit: Visit, action: string, body: Content, to: Url | null = null): Html => {
  // What the form before did is not said again beside what comes of this one.
  const kept = [...visit.query].filter(([name]) => name !== "notice")
  const address = to ?? visit.at(pathOf(visit), Object.fromEntries(kept))
  return html`<form method="post" action="${address}"><input type="hidden" name="action" value="${action}"><input type="hidden" name="form_key" value="${visit.formKey}">${body}</form>`
}

/** The path of a page with its parameters filled in. */
export const pathOf = ({ page, params }: Pick<Visit, "page" | "params">): string =>
  page.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ""))

/** Links to the pages before and after, by the cursor of a list. */
export const pager = (
  visit: Visit,
  rows: ReadonlyArray<{ readonly id: string }>,
  hasMore: boolean
): Html | null => {
  const { query, texts: { lists } } = visit
  const kept = Object.fromEntries(
    [...query].filter(([name]) => name !== "after" && name !== "before" && name !== "notice")
  )
  const goesBack = query.has("before")
  const first = rows.at(0)?.id
  const last = rows.at(-1)?.id
  const hasPrevious = first !== undefined && (goesBack ? hasMore : query.has("after"))
  const hasNext = last !== undefined && (goesBack || hasMore)
  if (!hasPrevious && !hasNext) return null
  const link = (text: string, more: Query) =>
    html`<a class="button" href="${visit.at(pathOf(visit), { ...kept, ...more })}">${text}</a>`
  return html`<nav class="row end" aria-label="${lists.pages}">${
    hasPrevious && link(lists.previous, { before: first })
  }${hasNext && link(lists.next, { after: last })}</nav>`
}

/** The cursor of a list's address, as the API takes it. */
export const cursorOf = ({ query }: Pick<Visit, "query">): Query => ({
  starting_after: query.get("after"),
  ending_before: query.get("after") === null ? query.get("before") : null
})

/** What is shown this once, and a button that says it is stored. */
export const secretScreen = (
  visit: Visit,
  { back, secret, text, title, trail }: {
    readonly title: string
    readonly trail: Screen["trail"]
    readonly text: string
    readonly secret: Content
    /** The page that the button leads to. */
    readonly back: string
  }
): Screen => ({
  title,
  ...(trail === undefined ? {} : { trail }),
  body: card(
    null,
    html`${note("warn", text)}<div class="mono wrap">${secret}</div>
    <p><a class="button main" href="${visit.at(back)}">${visit.texts.lists.stored}</a></p>`
  )
})
