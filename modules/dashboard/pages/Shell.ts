/** What stands around a page: menu, search, environment, person; and the documents of those who are not signed in. */
import { attribute, type Content, type Html, html, pathUrl, pictureUrl, type Url } from "../../../runtime/pages/Html.ts"
import type { PublicError } from "../../../schemas/Errors.ts"
import { type Section, sectionOf } from "../rules.ts"
import { note } from "./Elements.ts"
import { icon } from "./Icons.ts"
import type { Screen, Visit } from "./Page.ts"
import { explain } from "./Refusal.ts"
import type { NoticeName, Texts } from "./Texts.ts"

/** What every document is sent with. */
export interface Assets {
  /** Paths of the files, with the hash of their content in their names. */
  readonly style: string
  readonly script: string
  /** Of pages with something to sign. */
  readonly sign: string
}

/** An icon of nothing: without one a browser asks for `/favicon.ico`. */
const emptyPicture = pictureUrl("data:image/png;base64,")!

const document = (
  texts: Texts,
  title: string,
  assets: Assets,
  bodyClass: string | null,
  body: Content,
  signs = false
): string =>
  `<!doctype html>${html`<html lang="${texts.locale}" dir="${texts.direction}"><head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width,initial-scale=1">
      <meta name="robots" content="noindex">
      <meta name="color-scheme" content="light dark">
      <title>${title}</title>
      <link rel="icon" href="${emptyPicture}">
      <link rel="stylesheet" href="${pathUrl(assets.style)}">
      <script src="${pathUrl(assets.script)}" defer></script>${
    signs && html`<script src="${pathUrl(assets.sign)}" defer></script>`
  }
    </head><body${attribute("class", bodyClass)}>${body}</body></html>`}`

const groups = ["money", "developers", "settings"] as const

const menu = (visit: Visit, sections: ReadonlyArray<Section>): Html => {
  const { membership, page, texts } = visit
  const current = sectionOf(page)
  const listOf = (group: Section["group"]) =>
    sections.filter((section) => section.group === group).map(({ name, path }) => {
      const isCurrent = path === current
      return html`<li><a href="${visit.at(path)}"${attribute("aria-current", isCurrent ? "page" : null)}>${icon(name)}${
        texts.sections[name]
      }</a></li>`
    })
  return html`<nav class="side" id="nav" popover aria-label="${texts.main}">
    <p class="shop"><span class="logo" aria-hidden="true">${membership.merchantName.slice(0, 1).toUpperCase()}</span>
    <bdi>${membership.merchantName}</bdi></p>
    <ul>${listOf(null)}</ul>${
    groups.map((group) => {
      const items = listOf(group)
      return items.length > 0
        && html`<h2 id="${`menu-${group}`}">${
          texts.groups[group]
        }</h2><ul aria-labelledby="${`menu-${group}`}">${items}</ul>`
    })
  }</nav>`
}

const initials = (name: string): string =>
  name.split(/\s+/).map((part) => part.slice(0, 1)).join("").slice(0, 2).toUpperCase()

const environmentSwitch = (visit: Visit, elsewhere: (environment: "mainnet" | "devnet") => Url): Html | false => {
  const { environment, environments, texts } = visit
  const names = { mainnet: texts.live, devnet: texts.test }
  return environments.length > 1 &&
    html`<p class="${environment === "devnet" ? "env test" : "env"}">${
      (["mainnet", "devnet"] as const).map((one) =>
        html`<a href="${elsewhere(one)}"${attribute("aria-current", one === environment ? "true" : null)}>${
          names[one]
        }</a>`
      )
    }</p>`
}

const top = (visit: Visit, elsewhere: (environment: "mainnet" | "devnet") => Url, signOut: Url): Html => {
  const { membership, session, texts } = visit
  return html`<header class="top">
    <button class="burger" popovertarget="nav" aria-label="${texts.menu}">${icon("menu")}</button>
    <form role="search" action="${visit.at("search")}">${icon("search")}
      <input type="search" name="q" placeholder="${texts.searchHint}" aria-label="${texts.search}" aria-keyshortcuts="/">
    </form>${environmentSwitch(visit, elsewhere)}
    <a class="me" href="${visit.at("account")}"><span class="face" aria-hidden="true">${initials(session.name)}</span>
      <span class="name"><bdi>${session.name}</bdi><small class="visually-hidden">, ${
    texts.roles[membership.role]
  }: ${texts.account.title}</small></span></a>
    <form class="out" method="post" action="${signOut}"><button class="mini">${texts.signOut}</button></form>
  </header>`
}

const isNotice = (texts: Texts, name: string | null): name is NoticeName =>
  name !== null && Object.hasOwn(texts.notices, name)

/** What happens around {@link page} that the visit itself does not say. */
export interface Frame {
  readonly assets: Assets
  readonly sections: ReadonlyArray<Section>
  readonly elsewhere: (environment: "mainnet" | "devnet") => Url
  readonly signOut: Url
}

/** What a page shows, without what stands around it: its newer state, for the script that follows. */
export const fragment = (visit: Visit, screen: Screen): string => mainOf(visit, screen).toString()

const mainOf = (visit: Visit, screen: Screen): Html => {
  const { query, refusal, texts } = visit
  const notice = query.get("notice")
  return html`<main id="main"${attribute("data-follow", screen.follows?.join(",") ?? null)}>${
    screen.trail !== undefined
    && html`<p class="crumb"><a href="${visit.at(screen.trail.path)}">${screen.trail.text}</a> / ${screen.title}</p>`
  }<div class="head"><h1>${screen.title}</h1>${screen.state}${
    screen.acts !== undefined && html`<div class="acts">${screen.acts}</div>`
  }</div>${refusal === null && isNotice(texts, notice) && note("good", texts.notices[notice], "status")}${
    refusal !== null && note("bad", explain(texts, refusal.error), "alert")
  }${screen.body}</main>`
}

/** A page in its shell. */
export const page = (visit: Visit, screen: Screen, { assets, elsewhere, sections, signOut }: Frame): string => {
  const { environment, membership, texts } = visit
  return document(
    texts,
    `${screen.title} · ${membership.merchantName} · Tillwire`,
    assets,
    null,
    html`<a class="skip" href="#main">${texts.skip}</a>${menu(visit, sections)}<div class="frame">${
      environment === "devnet" && html`<aside class="test-strip">${texts.testStrip}</aside>`
    }${top(visit, elsewhere, signOut)}${
      screen.follows !== undefined
      && html`<p id="live" class="visually-hidden" aria-live="polite"></p>
      <p id="offline" class="note warn" role="status" hidden><span>${texts.offline}</span></p>`
    }${mainOf(visit, screen)}</div>`,
    screen.signs === true
  )
}

/** A document without a shell: sign-in, and what went wrong outside of a shop. */
export const plainPage = (texts: Texts, title: string, assets: Assets, body: Content, signs = false): string =>
  document(
    texts,
    `${title} · Tillwire`,
    assets,
    "plain",
    html`<main id="main"><section class="card"><h1>${title}</h1>${body}</section></main>`,
    signs
  )

/** What happened and what to do, in place of the page that was asked for. */
export const refusalPage = (texts: Texts, assets: Assets, error: PublicError): string =>
  plainPage(
    texts,
    error.status === 404 ? texts.errors.notFoundTitle : texts.errors.title,
    assets,
    note("bad", explain(texts, error), "alert")
  )
