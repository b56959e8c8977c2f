/** How the payment page looks, with a preview of each of its states. */
import { Effect } from "effect"
import { attribute, type Html, html } from "../../../runtime/pages/Html.ts"
import { card, checkbox, chip, facts, field, form, note, select, timeOf } from "./Elements.ts"
import type { Page, Visit } from "./Page.ts"
import { drawPreview, type MerchantSettingsRow, previewFrame } from "./Preview.ts"

const themes = ["light", "dark"] as const
const devices = ["phone", "desktop"] as const

/** What is looked at, as the address says: what it does not say is the first of its kind. */
const lookOf = ({ preview, query }: Visit) => {
  const oneOf = (name: string, values: ReadonlyArray<string>): string =>
    values.find((value) => value === query.get(name)) ?? values[0] ?? ""
  return {
    state: oneOf("state", preview?.screens ?? []),
    lang: oneOf("lang", preview?.languages.map(({ locale }) => locale) ?? []),
    theme: oneOf("theme", themes),
    device: oneOf("device", devices),
    name: query.get("name"),
    accent: query.get("accent")
  }
}

const previewCard = (visit: Visit): Html | null => {
  const { at, preview, texts: { preview: words } } = visit
  if (preview === undefined) return null
  const look = lookOf(visit)
  const nameOf = (state: string): string => words.states[state as keyof typeof words.states] ?? state
  return card(
    words.title,
    html`<p class="soft">${words.text}</p><nav aria-label="${words.state}"><ul class="pills">${
      preview.screens.map((state) =>
        html`<li><a href="${at("branding", { ...look, state })}"${
          attribute("aria-current", state === look.state ? "page" : null)
        }>${nameOf(state)}</a></li>`
      )
    }</ul></nav><form class="filters"><input type="hidden" name="state" value="${look.state}">${
      ([["name", look.name], ["accent", look.accent]] as const).map(([name, value]) =>
        value !== null && html`<input type="hidden" name="${name}" value="${value}">`
      )
    }${
      select({
        name: "lang",
        label: words.language,
        options: preview.languages.map(({ locale, name }) => ({ value: locale, label: name })),
        value: look.lang
      })
    }${
      select({
        name: "theme",
        label: words.theme,
        options: themes.map((value) => ({ value, label: words.themes[value] })),
        value: look.theme
      })
    }${
      select({
        name: "device",
        label: words.device,
        options: devices.map((value) => ({ value, label: words.devices[value] })),
        value: look.device
      })
    }<button>${words.show}</button></form>${
      previewFrame(words.frame(nameOf(look.state)), at("branding/preview", look), look.device === "phone")
    }`
  )
}

/** A domain as people type it: also its address, and in letters of any script. */
const domainOf = (typed: string): string | null => {
  const text = typed.trim()
  if (text === "") return null
  const address = /^https?:\/\//i.test(text) ? text : `https://${text}`
  return URL.canParse(address) ? new URL(address).hostname : text
}

/** What has to be published, and what the last check found. */
const checkOf = (
  visit: Visit,
  check: NonNullable<MerchantSettingsRow["domain_check"]>,
  isVerified: boolean
): Html => {
  const { domain: words } = visit.texts
  const code = (text: string): Html => html`<bdi class="mono wrap" dir="ltr" translate="no">${text}</bdi>`
  const { checked_at, dns_result, file_result } = check
  return html`${checked_at === null && note("plain", words.waiting)}${
    isVerified && file_result !== "proved" && dns_result !== "proved" && checked_at !== null
    && note("warn", words.keeps)
  }${
    facts([
      [words.fileResult, file_result !== null && words.results[file_result]],
      [words.recordResult, dns_result !== null && words.results[dns_result]],
      [words.last, timeOf(visit, checked_at)],
      [words.next, checked_at !== null && timeOf(visit, check.next_check_at)]
    ])
  }<p class="soft">${words.how}</p><h3>${words.file}</h3>${
    facts([[words.address, code(check.file_url)], [words.content, code(JSON.stringify(check.file))]])
  }<h3>${words.record}</h3>${
    facts([[words.recordName, code(check.dns_name)], [words.recordValue, code(check.dns_value)]])
  }`
}

/** The domain that the payment page names, and whether it is verified. */
const domainCard = (visit: Visit, { branding, domain_check: check }: MerchantSettingsRow): Html | null => {
  const { domain: words } = visit.texts
  const mayWrite = visit.may("settings:write")
  if (check === null && !mayWrite) return null
  const isVerified = branding.domain_verified_at !== null
  return card(
    words.title,
    html`<p class="soft">${words.text}</p>${
      mayWrite
        ? form(
          visit,
          "save_domain",
          html`<div class="stack">${
            field(visit, {
              name: "domain",
              label: words.name,
              value: branding.domain,
              hint: words.hint("shop.example"),
              maxLength: 300
            })
          }<div class="row end"><button>${words.save}</button></div></div>`,
          visit.at("branding")
        )
        : facts([[words.name, html`<bdi dir="ltr">${branding.domain}</bdi>`]])
    }${check !== null && checkOf(visit, check, isVerified)}`,
    check !== null && (isVerified ? chip("good", words.verified) : chip("plain", words.unverified))
  )
}

export const brandingSettings: Page = {
  path: "branding",
  right: "payments:read",
  route: "/api/v1/merchant/settings",
  render: Effect.fnUntraced(function*(visit) {
    const { query, texts: { preview: previewWords, settings: words, sections } } = visit
    const settings = yield* visit.api.get<MerchantSettingsRow>("/api/v1/merchant/settings")
    const { branding: look } = settings
    return {
      title: sections.branding,
      frames: true,
      body: html`${
        card(
          null,
          visit.may("settings:write")
            ? form(
              visit,
              "save",
              html`<div class="stack">${
                field(visit, {
                  name: "name",
                  label: words.name,
                  value: query.get("name") ?? look.name,
                  required: true,
                  maxLength: 255
                })
              }${
                field(visit, {
                  name: "accent",
                  label: words.accent,
                  value: query.get("accent") ?? look.accent,
                  hint: words.accentHint,
                  maxLength: 7
                })
              }${
                field(visit, {
                  name: "support_email",
                  label: words.supportEmail,
                  type: "email",
                  value: query.get("support_email") ?? look.support_email
                })
              }${
                checkbox(visit, {
                  name: "show_payee_proof",
                  label: words.payeeProof,
                  text: words.payeeProofText,
                  isTicked: (query.get("show_payee_proof") ?? String(look.show_payee_proof)) === "true"
                })
              }<div class="row end">${
                visit.preview !== undefined
                && html`<button name="preview" value="1">${previewWords.look}</button>`
              }<button class="main">${words.save}</button></div></div>`,
              visit.at("branding")
            )
            : facts([[words.name, look.name], [words.accent, look.accent], [words.supportEmail, look.support_email]])
        )
      }${domainCard(visit, settings)}${previewCard(visit)}`
    }
  }),
  actions: {
    save: Effect.fnUntraced(function*(visit, sent) {
      const email = (sent.get("support_email") ?? "").trim()
      if (sent.has("preview")) {
        // Drawn at once and not by a link: an address of a page is kept in many places, and this has an e-mail address.
        const query = new URLSearchParams(visit.query)
        for (const name of ["name", "accent", "support_email", "show_payee_proof"]) {
          query.set(name, sent.get(name) ?? "")
        }
        return { screen: yield* brandingSettings.render({ ...visit, query }) }
      }
      yield* visit.api.send("PATCH", "/api/v1/merchant/settings", {
        branding: {
          name: sent.get("name") ?? "",
          accent: (sent.get("accent") ?? "").trim().toLowerCase(),
          support_email: email === "" ? null : email,
          show_payee_proof: sent.has("show_payee_proof")
        }
      }, sent.get("form_key"))
      return { path: "branding", notice: "saved" }
    }),
    save_domain: Effect.fnUntraced(function*(visit, sent) {
      yield* visit.api.send("PATCH", "/api/v1/merchant/settings", {
        branding: { domain: domainOf(sent.get("domain") ?? "") }
      }, sent.get("form_key"))
      return { path: "branding", notice: "saved" }
    })
  }
}

/** What stands in the frame of {@link brandingSettings}. */
export const brandingPreview: Page = {
  path: "branding/preview",
  right: "payments:read",
  route: "/api/v1/merchant/settings",
  render: brandingSettings.render,
  document: (visit) => drawPreview(visit, null)
}
