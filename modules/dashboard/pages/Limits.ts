/** How much money may go out, and what of it one person may approve alone. */
import { Effect } from "effect"
import { attribute, html } from "../../../runtime/pages/Html.ts"
import {
  type MoneyRule,
  moneyRules,
  type MoneyRulesChange,
  type ShownMerchantSettings
} from "../../../schemas/MerchantSettings.ts"
import { formatUnits } from "../../../schemas/Money.ts"
import { card, facts, field, form, note, usd } from "./Elements.ts"
import { millisIn, usdDecimals } from "./Dollars.ts"
import { sentText } from "./SentFields.ts"
import type { FormAction, Page, Visit } from "./Page.ts"
import { mayApprove, pendingCard } from "./Pending.ts"

const settingsPath = "/api/v1/merchant/settings"

const decimalOf = (limit: number): string => formatUnits(BigInt(limit), usdDecimals)

/** A limit as people read it; null is none. */
const shown = (visit: Visit, limit: number | null): string =>
  limit === null ? visit.texts.limits.none : usd(visit, decimalOf(limit))

/** Without zeros at its end, as people type it. */
const typed = (limit: number | null): string => limit === null ? "" : decimalOf(limit).replace(/\.?0+$/, "")

const shownLimits = (visit: Visit, limits: MoneyRulesChange) =>
  facts(
    moneyRules.flatMap((name): ReadonlyArray<readonly [string, string]> => {
      const limit = limits[name]
      return limit === undefined ? [] : [[visit.texts.limits.names[name], shown(visit, limit)]]
    })
  )

const answer = (verb: "approve" | "cancel"): FormAction => (visit, sent) => {
  const path = `${settingsPath}/changes/${encodeURIComponent(sent.get("change") ?? "")}` as const
  const sending = verb === "approve"
    ? visit.api.send("POST", `${path}/approve`, undefined, sent.get("form_key"))
    : visit.api.send("DELETE", path, undefined, sent.get("form_key"))
  return Effect.as(
    sending,
    { path: "limits", notice: verb === "approve" ? "change_approved" : "change_canceled" } as const
  )
}

export const limits: Page = {
  path: "limits",
  right: "payments:read",
  route: settingsPath,
  render: Effect.fnUntraced(function*(visit) {
    const { limits: words, sections } = visit.texts
    const settings = yield* visit.api.get<ShownMerchantSettings>(settingsPath)
    const { pending_change: pending } = settings
    const isApproving = pending !== null && mayApprove(visit, pending)
    return {
      title: sections.limits,
      body: html`${
        pending !== null && pendingCard(visit, words.pending, pending, shownLimits(visit, pending.settings))
      }${
        card(
          words.inForce,
          visit.may("rules:write")
            ? form(
              visit,
              "save",
              html`<div class="stack">${visit.environment === "mainnet" && note("plain", words.raising)}${
                moneyRules.map((name) =>
                  field(visit, {
                    name,
                    label: words.names[name],
                    value: typed(settings[name]),
                    hint: words.hints[name],
                    maxLength: 20
                  })
                )
              }<div class="row end"><button${
                attribute("class", isApproving ? null : "main")
              }>${words.save}</button></div></div>`
            )
            : shownLimits(visit, settings)
        )
      }`
    }
  }),
  actions: {
    save: Effect.fnUntraced(function*(visit, sent) {
      const before = yield* visit.api.get<ShownMerchantSettings>(settingsPath)
      const change: Record<string, number | null> = {}
      for (const name of moneyRules) {
        // What was not touched is not read: the API takes a third digit, and this form none.
        if (sentText(sent, name) === typed(before[name])) continue
        // An empty field is the default, which is none for payouts.
        change[name] = (yield* millisIn(visit, sent, name)) ?? null
      }
      // What is as it was is not sent: to send it would end what waits of it.
      const moved = Object.fromEntries(
        Object.entries(change).filter(([name, limit]) => limit !== before[name as MoneyRule])
      )
      const after = yield* visit.api.send<ShownMerchantSettings>("PATCH", settingsPath, moved, sent.get("form_key"))
      const waits = after.pending_change !== null && after.pending_change.id !== before.pending_change?.id
      return { path: "limits", notice: waits ? "change_waits" : "saved" }
    }),
    approve: answer("approve"),
    cancel: answer("cancel")
  }
}
