/** The page of API keys, which makes, replaces and revokes them. */
import { Effect } from "effect"
import { html } from "../../../runtime/pages/Html.ts"
import { KeyScope, SoleUse, storeIdOf } from "../../../schemas/Auth.ts"
import { KeyPermission } from "../../../schemas/Roles.ts"
import type { List } from "../service.ts"
import {
  card,
  chip,
  cursorOf,
  field,
  foreign,
  form,
  pager,
  secretScreen,
  select,
  sentValue,
  table,
  timeOf
} from "./Elements.ts"
import type { OneTimeScreen, Page, Visit } from "./Page.ts"

interface KeyRow {
  readonly id: string
  readonly name: string
  readonly prefix: string
  readonly last4: string
  readonly scope: KeyScope
  readonly status: "active" | "rotating" | "expired" | "revoked"
  readonly permissions: ReadonlyArray<KeyPermission>
  readonly expires_at: number | null
  readonly last_used_at: number | null
  readonly created_at: number
}

const pageSize = 25

/** The page that shows a new key, once; for a key of a shop with its Store ID. */
const keySecret = (visit: Visit, key: string, use: SoleUse | null = null): OneTimeScreen => {
  const { keys: words, sections } = visit.texts
  return {
    screen: secretScreen(visit, {
      title: words.made,
      trail: { text: sections.keys, path: "keys" },
      text: use === null
        ? words.secretText
        : words.shopSecretText(storeIdOf(visit.membership.merchantId, visit.environment)),
      secret: key,
      back: "keys"
    })
  }
}

export const keys: Page = {
  path: "keys",
  right: "keys:read",
  route: "/api/v1/api-keys",
  render: Effect.fnUntraced(function*(visit) {
    const { api, texts: { fields, keys: words, lists, sections } } = visit
    const found = yield* api.get<List<KeyRow>>("/api/v1/api-keys", { limit: pageSize, ...cursorOf(visit) })
    const mayWrite = visit.may("keys:write")
    const button = (action: string, id: string, text: string) =>
      form(visit, action, html`<input type="hidden" name="key" value="${id}"><button class="mini">${text}</button>`)
    return {
      title: sections.keys,
      body: html`${
        card(
          null,
          found.data.length === 0 ? html`<p>${lists.nothing}</p>` : html`${
            table(sections.keys, [
              { title: words.name, cell: ({ name }) => foreign(name) },
              { title: words.key, cell: ({ last4, prefix }) => html`<span class="mono">${prefix}…${last4}</span>` },
              { title: words.permissions, cell: ({ permissions }) => permissions.join(", ") },
              { title: words.lastUsed, cell: ({ last_used_at }) => timeOf(visit, last_used_at) },
              {
                title: fields.state,
                cell: ({ status }) => chip(status === "active" ? "good" : "plain", words.states[status])
              },
              {
                title: "",
                cell: ({ id, status }) =>
                  mayWrite && status === "active" &&
                  html`<div class="row end">${button("roll", id, words.roll)}${
                    button("revoke", id, words.revoke)
                  }</div>`
              }
            ], found.data)
          }${pager(visit, found.data, found.has_more)}`
        )
      }${
        mayWrite && card(
          words.make,
          form(
            visit,
            "create",
            html`<div class="stack">${
              field(visit, { name: "name", label: words.name, required: true, maxLength: 255 })
            }${
              select({
                name: "scope",
                label: words.scope,
                value: sentValue(visit, "scope", "merchant"),
                options: KeyScope.literals.map((value) => ({ value, label: words.scopes[value] }))
              })
            }${
              select({
                name: "use",
                label: words.use,
                value: sentValue(visit, "use", "any"),
                options: (["any", ...SoleUse.literals] as const).map((value) => ({ value, label: words.uses[value] }))
              })
            }<fieldset><legend>${words.permissions}</legend>${
              KeyPermission.literals.map((value) =>
                html`<label class="pick"><input type="checkbox" name="permission_${value}" checked><b>${value}</b><span class="soft">${
                  words.permissionTexts[value]
                }</span></label>`
              )
            }</fieldset><div class="row end"><button class="main">${words.make}</button></div></div>`
          )
        )
      }`
    }
  }),
  actions: {
    create: Effect.fnUntraced(function*(visit, sent) {
      const use = SoleUse.literals.find((value) => value === sent.get("use")) ?? null
      const made = yield* visit.api.send<{ readonly key: string }>("POST", "/api/v1/api-keys", {
        name: sent.get("name") ?? "",
        scope: sent.get("scope") ?? "",
        ...use === null ? {} : { use },
        permissions: KeyPermission.literals.filter((value) => sent.has(`permission_${value}`))
      }, sent.get("form_key"))
      return keySecret(visit, made.key, use)
    }),
    roll: Effect.fnUntraced(function*(visit, sent) {
      const id = encodeURIComponent(sent.get("key") ?? "")
      const made = yield* visit.api.send<{ readonly key: string }>(
        "POST",
        `/api/v1/api-keys/${id}/rotate`,
        {},
        sent.get("form_key")
      )
      return keySecret(visit, made.key)
    }),
    revoke: Effect.fnUntraced(function*(visit, sent) {
      const id = encodeURIComponent(sent.get("key") ?? "")
      yield* visit.api.send("DELETE", `/api/v1/api-keys/${id}`, undefined, sent.get("form_key"))
      return { path: "keys", notice: "saved" }
    })
  }
}
