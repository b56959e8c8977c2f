/** Which tokens customers may pay in, and what they see then: now, and with a change that is not saved. */
import { Effect } from "effect"
import type { PreviewToken } from "../../../runtime/PagePreviews.ts"
import { attribute, type Html, html } from "../../../runtime/pages/Html.ts"
import type { Network } from "../../../schemas/Network.ts"
import { AcceptancePolicy } from "../../../schemas/Token.ts"
import { type Acceptance, acceptanceOf, changesOf, isOffered } from "../rules/Acceptance.ts"
import { card, chip, type Column, foreign, form, networkName, note, select, table } from "./Elements.ts"
import type { Page, Visit } from "./Page.ts"
import { drawPreview, previewFrame } from "./Preview.ts"
import { sentText } from "./SentFields.ts"

/** A token as the merchant's search has it. */
interface TokenRow {
  readonly id: number
  readonly token_symbol: string
  readonly token_name: string
  readonly network: Network
  readonly token_decimals: number
  readonly supports_stable_settlement: boolean
  readonly is_active: boolean
  readonly is_monitored: boolean
  readonly price: { readonly usd: number } | null
}

/** Tokens in one answer of the search, and answers that are read at most: more than any catalogue has. */
const searchSize = 200
const mostAnswers = 10

/** Every token of the environment that customers could be offered. */
const tokensOf = Effect.fnUntraced(function*({ api }: Visit) {
  const found: Array<TokenRow> = []
  for (let answer = 0; answer < mostAnswers; answer++) {
    const { tokens, total } = yield* api.get<{ readonly tokens: ReadonlyArray<TokenRow>; readonly total: number }>(
      "/api/v1/merchant/tokens/search",
      { limit: searchSize, offset: found.length, is_active: "true" }
    )
    found.push(...tokens)
    if (tokens.length === 0 || found.length >= total) break
  }
  return found
})

const savedAcceptance = ({ api }: Visit) =>
  Effect.map(
    api.get<{ readonly acceptance_policy: AcceptancePolicy; readonly blocked_token_ids: ReadonlyArray<number> }>(
      "/api/v1/merchant/tokens/policy"
    ),
    ({ acceptance_policy: policy, blocked_token_ids: ids }): Acceptance => ({ policy, blocked: new Set(ids) })
  )

const policyOf = (text: string | null): AcceptancePolicy | undefined =>
  AcceptancePolicy.literals.find((policy) => policy === text)

/** What a form says, which ticks the tokens that are accepted; undefined: it is none. */
const draftOf = (
  fields: URLSearchParams,
  tokens: ReadonlyArray<TokenRow>,
  saved: Acceptance
): Acceptance | undefined => {
  const policy = policyOf(fields.get("policy"))
  return policy === undefined
    ? undefined
    : acceptanceOf(policy, fields.getAll("accepted"), tokens.map(({ id }) => id), saved)
}

const columnsOf = (visit: Visit, acceptance: Acceptance, mayChange: boolean): ReadonlyArray<Column<TokenRow>> => {
  const { fields, settings: words, tokens: tokenWords } = visit.texts
  return [
    {
      title: fields.token,
      cell: ({ token_name, token_symbol }) => html`<b>${token_symbol}</b> ${foreign(token_name)}`
    },
    { title: fields.network, cell: ({ network }) => networkName(network) },
    {
      title: mayChange ? tokenWords.chosen : fields.state,
      cell: ({ id, network, token_symbol }) =>
        mayChange
          ? html`<label class="tick"><input type="checkbox" name="accepted" value="${id}" aria-label="${
            tokenWords.acceptOne(token_symbol, networkName(network) ?? network)
          }"${attribute("checked", !acceptance.blocked.has(id))}></label>`
          : isOffered(acceptance, id)
          ? chip("good", words.accepted)
          : chip("plain", words.blocked)
    }
  ]
}

const policyChoice = (visit: Visit, acceptance: Acceptance): Html => {
  const { settings: words, tokens: tokenWords } = visit.texts
  return html`<fieldset><legend>${tokenWords.policy}</legend>${
    AcceptancePolicy.literals.map((policy) =>
      html`<label class="pick"><input type="radio" name="policy" value="${policy}" required${
        attribute("checked", policy === acceptance.policy)
      }><b>${words.policies[policy]}</b></label>`
    )
  }</fieldset>`
}

/** All tokens of a network at once. */
const bulkForm = (visit: Visit, tokens: ReadonlyArray<TokenRow>): Html => {
  const { fields, tokens: tokenWords } = visit.texts
  const networks = [...new Set(tokens.map(({ network }) => network))]
  return form(
    visit,
    "bulk",
    html`<div class="row">${
      select({
        name: "network",
        label: fields.network,
        options: [
          { value: "", label: tokenWords.allNetworks },
          ...networks.map((network) => ({ value: network, label: networkName(network) ?? network }))
        ],
        value: ""
      })
    }<button name="blocked" value="false">${tokenWords.acceptAll}</button><button name="blocked" value="true">${tokenWords.blockAll}</button></div>`,
    visit.at("tokens")
  )
}

/** The list of currencies as customers see it: now, and with what is not saved. */
const previewCards = (visit: Visit, draft: Acceptance | undefined): Html | null => {
  const { at, preview, texts: { tokens: words } } = visit
  if (preview === undefined) return null
  const frame = (title: string, acceptance: Acceptance | undefined) =>
    previewFrame(
      title,
      at(
        "tokens/preview",
        acceptance === undefined ? {} : { policy: acceptance.policy, off: [...acceptance.blocked].join(".") }
      )
    )
  return card(
    words.preview,
    draft === undefined
      ? frame(words.preview, undefined)
      : html`<div class="frames"><div class="stack"><h3>${words.before}</h3>${frame(words.before, undefined)}</div>
      <div class="stack"><h3>${words.after}</h3>${frame(words.after, draft)}</div></div>`
  )
}

export const tokens: Page = {
  path: "tokens",
  right: "payments:read",
  route: "/api/v1/merchant/tokens",
  render: Effect.fnUntraced(function*(visit) {
    const { query, texts: { sections, settings: words, tokens: tokenWords } } = visit
    const [found, saved] = yield* Effect.all([tokensOf(visit), savedAcceptance(visit)])
    const draft = draftOf(visit.refusal?.form ?? query, found, saved)
    const shown = draft ?? saved
    const mayChange = visit.may("settings:write")
    const list = table(sections.tokens, columnsOf(visit, shown, mayChange), found)
    return {
      title: sections.tokens,
      frames: true,
      body: html`${note("plain", words.tokensKeep)}${
        draft !== undefined && visit.refusal === null && note("warn", tokenWords.unsaved, "status")
      }${previewCards(visit, draft)}${
        mayChange
          ? html`${
            card(
              null,
              form(
                visit,
                "save",
                html`<div class="stack">${
                  policyChoice(visit, shown)
                }<p class="soft">${tokenWords.chosenHint}</p>${list}<div class="row end">${
                  visit.preview !== undefined
                  && html`<button formmethod="get" formaction="${visit.at("tokens")}">${tokenWords.look}</button>`
                }<button class="main">${words.save}</button></div></div>`,
                visit.at("tokens")
              )
            )
          }${card(tokenWords.bulk, bulkForm(visit, found))}`
          : card(words.policies[saved.policy], list)
      }`
    }
  }),
  actions: {
    /** The list before the policy: no policy is in force for a moment with another list than was asked for. */
    save: Effect.fnUntraced(function*(visit, sent) {
      const [found, saved] = yield* Effect.all([tokensOf(visit), savedAcceptance(visit)])
      const draft = draftOf(sent, found, saved)
      if (draft === undefined) return { path: "tokens", notice: null }
      for (const { blocked, ids } of changesOf(saved, draft)) {
        yield* visit.api.send("POST", "/api/v1/merchant/tokens/block-bulk", { token_ids: ids, blocked }, null)
      }
      if (draft.policy !== saved.policy) {
        yield* visit.api.send("PUT", "/api/v1/merchant/tokens/policy", { acceptance_policy: draft.policy }, null)
      }
      return { path: "tokens", notice: "saved" }
    }),
    bulk: Effect.fnUntraced(function*(visit, sent) {
      const network = sentText(sent, "network")
      const ids = (yield* tokensOf(visit)).filter((token) => network === "" || token.network === network)
        .map(({ id }) => id)
      if (ids.length > 0) {
        const blocked = sentText(sent, "blocked") === "true"
        yield* visit.api.send("POST", "/api/v1/merchant/tokens/block-bulk", { token_ids: ids, blocked }, null)
      }
      return { path: "tokens", notice: "saved" }
    })
  }
}

const previewToken = (row: TokenRow): PreviewToken => ({
  id: row.id,
  symbol: row.token_symbol,
  name: row.token_name,
  network: row.network,
  decimals: row.token_decimals,
  isStable: row.supports_stable_settlement,
  usd: row.price?.usd ?? null
})

/** What stands in the frames of {@link tokens}: `policy` and `off` are a change that is not saved. */
export const tokensPreview: Page = {
  path: "tokens/preview",
  right: "payments:read",
  route: "/api/v1/merchant/tokens",
  render: tokens.render,
  document: Effect.fnUntraced(function*(visit) {
    const policy = policyOf(visit.query.get("policy"))
    const acceptance = policy === undefined
      ? yield* savedAcceptance(visit)
      : { policy, blocked: new Set((visit.query.get("off") ?? "").split(".").map(Number)) }
    const found = yield* tokensOf(visit)
    return yield* drawPreview(
      visit,
      found.filter(({ id, is_monitored }) => is_monitored && isOffered(acceptance, id)).map(previewToken)
    )
  })
}
