/** Where money is received: which wallets, whether their addresses are really theirs, and how one is set. */
import { Effect } from "effect"
import { type Content, type Html, html } from "../../../runtime/pages/Html.ts"
import { publicError } from "../../../schemas/Errors.ts"
import type { PendingChange } from "../../../schemas/PendingChange.ts"
import { looksSecret, publicPattern } from "../rules/SecretText.ts"
import { card, facts, field, form, note, select, timeOf } from "./Elements.ts"
import type { Page, Visit } from "./Page.ts"
import { mayApprove, pendingCard } from "./Pending.ts"
import { messageOf } from "./Refusal.ts"
import { sentCount, sentText, wrongField } from "./SentFields.ts"

interface WalletList {
  readonly wallets: ReadonlyArray<WalletRow>
  readonly pending_wallets: ReadonlyArray<WalletRow>
}

interface WalletRow {
  readonly family: string
  readonly kind: string
  readonly value_preview: string
  readonly first_addresses: ReadonlyArray<string>
  readonly payee: string | null
  readonly next_index: number | null
  readonly highest_used_index: number | null
  readonly created_at: number
  readonly pending_change: PendingChange | null
}

/** Kinds that are one line of text. A list of addresses is set by the API. */
const kinds = ["xpub", "address", "forwarder"] as const

/** A family's name by its key, in the order of the choice. */
const familiesOf = ({ texts }: Visit) => Object.entries(texts.settings.families)

const nameOf = ({ texts }: Visit, family: string): string =>
  texts.settings.families[family as keyof typeof texts.settings.families] ?? family

/** What the owner's own wallet has: no wallet shows the addresses of a forwarder, which pay to its payee alone. */
const comparedAddresses = ({ first_addresses, payee }: WalletRow): ReadonlyArray<string> =>
  payee === null ? first_addresses : [payee]

/**
 * Addresses to be compared with the owner's own wallet, one by one. Within a form each must be ticked before it is
 * sent; else the ticks are for the eye, and kept nowhere.
 */
const addressChecks = ({ texts }: Visit, wallet: WalletRow, isRequired: boolean): Html | false => {
  const { settings: words, wallets: walletWords } = texts
  const addresses = comparedAddresses(wallet)
  return addresses.length > 0 &&
    html`<fieldset class="checks"><legend>${wallet.payee === null ? words.compare : walletWords.comparePayee}</legend>${
      addresses.map((address, index) =>
        isRequired
          ? html`<label class="pick"><input type="checkbox" name="${`matches_${index}`}" required><span class="mono wrap">${address}</span></label>`
          : html`<label class="pick"><input type="checkbox"><span class="mono wrap">${address}</span></label>`
      )
    }</fieldset>`
}

const walletFacts = (visit: Visit, wallet: WalletRow): Html => {
  const { fields, settings: words, wallets: walletWords } = visit.texts
  return facts([
    [words.kind, walletWords.kinds[wallet.kind as keyof typeof walletWords.kinds] ?? wallet.kind],
    [words.value, html`<span class="mono wrap">${wallet.value_preview}</span>`],
    [words.nextIndex, wallet.next_index],
    [words.highestIndex, wallet.highest_used_index],
    [fields.created, timeOf(visit, wallet.created_at)]
  ])
}

const familyField = ({ family }: WalletRow): Html => html`<input type="hidden" name="family" value="${family}">`

/** A wallet that receives: compared at any time, and removed where an address is not the owner's. */
const walletCard = (visit: Visit, wallet: WalletRow): Html => {
  const { wallets: words } = visit.texts
  return card(
    nameOf(visit, wallet.family),
    html`${walletFacts(visit, wallet)}${addressChecks(visit, wallet, false)}<p class="soft">${words.compareText}</p>${
      visit.may("wallets:write")
      && html`<details><summary>${words.remove}</summary>${
        form(
          visit,
          "remove",
          html`${familyField(wallet)}<p>${words.removeText}</p><button class="danger">${words.removeNow}</button>`
        )
      }</details>`
    }`
  )
}

/** A wallet that waits. Who approves it has compared its addresses, or says so. */
const waitingCard = (visit: Visit, wallet: WalletRow, pending: PendingChange): Html => {
  const isApprover = mayApprove(visit, pending)
  const checks: Content = addressChecks(visit, wallet, true)
  return pendingCard(
    visit,
    visit.texts.pending.wallet(nameOf(visit, wallet.family)),
    pending,
    html`${walletFacts(visit, wallet)}${!isApprover && addressChecks(visit, wallet, false)}`,
    familyField(wallet),
    isApprover
      ? checks
      : null
  )
}

/** What was typed is never shown again: it may be a secret that was pasted by mistake. */
const newWalletCard = (visit: Visit): Html => {
  const { refusal, settings: words, wallets: walletWords } = { ...visit, ...visit.texts }
  const fault = refusal?.error.param === "value" ? messageOf(visit.texts, refusal.error) : null
  return card(
    walletWords.add,
    form(
      visit,
      "set",
      html`<div class="stack">${note("plain", walletWords.addText)}<div class="row">${
        select({
          name: "family",
          label: walletWords.family,
          options: familiesOf(visit).map(([value, label]) => ({ value, label })),
          value: refusal?.form.get("family") ?? ""
        })
      }${
        select({
          name: "kind",
          label: words.kind,
          options: kinds.map((value) => ({ value, label: walletWords.kinds[value] })),
          value: refusal?.form.get("kind") ?? ""
        })
      }</div><label class="f">${walletWords.value}<input name="value" required autocomplete="off" autocapitalize="none" spellcheck="false" maxlength="2000" pattern="${publicPattern}" title="${visit.texts.faults.secret}" aria-describedby="value-hint"><small id="value-hint">${walletWords.valueHint}</small>${
        fault !== null && html`<small class="down">${fault}</small>`
      }</label>${
        field(visit, {
          name: "start_index",
          label: walletWords.startIndex,
          hint: walletWords.startIndexHint,
          maxLength: 10
        })
      }<div class="row end"><button class="main">${walletWords.set}</button></div></div>`,
      visit.at("wallets")
    )
  )
}

const changePath = (sent: URLSearchParams) =>
  `/api/v1/merchant/wallets/${encodeURIComponent(sentText(sent, "family"))}/changes/${
    encodeURIComponent(sentText(sent, "change"))
  }` as const

export const wallets: Page = {
  path: "wallets",
  right: "payments:read",
  route: "/api/v1/merchant/wallets",
  render: Effect.fnUntraced(function*(visit) {
    const { api, texts: { settings: words, sections } } = visit
    const found = yield* api.get<WalletList>("/api/v1/merchant/wallets")
    return {
      title: sections.wallets,
      body: html`${
        found.pending_wallets.map((wallet) =>
          wallet.pending_change !== null && waitingCard(visit, wallet, wallet.pending_change)
        )
      }${
        found.wallets.length === 0
          ? card(null, html`<p>${words.noWallets}</p>`)
          : found.wallets.map((wallet) => walletCard(visit, wallet))
      }${visit.may("wallets:write") && newWalletCard(visit)}`
    }
  }),
  actions: {
    set: Effect.fnUntraced(function*(visit, sent) {
      const value = sentText(sent, "value")
      // Before anything else reads it: what looks like a key goes no further than this line.
      if (looksSecret(value)) return yield* wrongField("value", visit.texts.faults.secret)
      const startIndex = yield* sentCount(visit, sent, "start_index")
      const family = sentText(sent, "family")
      const set = yield* visit.api.send<WalletRow>("PUT", `/api/v1/merchant/wallets/${encodeURIComponent(family)}`, {
        kind: sentText(sent, "kind"),
        value,
        environment: visit.environment,
        ...(startIndex === undefined ? {} : { start_index: startIndex })
      }, sent.get("form_key"))
      return { path: "wallets", notice: set.pending_change === null ? "wallet_set" : "change_waits" }
    }),
    remove: (visit, sent) =>
      Effect.as(
        visit.api.send(
          "DELETE",
          `/api/v1/merchant/wallets/${encodeURIComponent(sentText(sent, "family"))}?environment=${visit.environment}`,
          undefined,
          sent.get("form_key")
        ),
        { path: "wallets", notice: "wallet_removed" }
      ),
    approve: Effect.fnUntraced(function*(visit, sent) {
      const { pending_wallets: pending } = yield* visit.api.get<WalletList>("/api/v1/merchant/wallets")
      const wallet = pending.find(({ pending_change: change }) => change?.id === sent.get("change"))
      const isCompared = wallet === undefined
        || comparedAddresses(wallet).every((_, index) => sent.get(`matches_${index}`) === "on")
      if (!isCompared) return yield* publicError("VALIDATION_ERROR", { message: visit.texts.faults.compareFirst })
      yield* visit.api.send("POST", `${changePath(sent)}/approve`, undefined, sent.get("form_key"))
      return { path: "wallets", notice: "change_approved" }
    }),
    cancel: (visit, sent) =>
      Effect.as(
        visit.api.send("DELETE", changePath(sent), undefined, sent.get("form_key")),
        { path: "wallets", notice: "change_canceled" }
      )
  }
}
