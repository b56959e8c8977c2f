/** How a part of a batch gets into a wallet: buttons for those of the browser, files for all others. */
import { Effect } from "effect"
import { attribute, type Html, html } from "../../../runtime/pages/Html.ts"
import { addedChainOf } from "../../../schemas/AddedChain.ts"
import type { ReadBatch } from "../../../schemas/Batch.ts"
import { formatsOf } from "../rules/PayoutFormats.ts"
import { card, facts, form, networkName, note, select, timeOf } from "./Elements.ts"
import type { FormAction, Screen, Visit } from "./Page.ts"

type BatchRow = typeof ReadBatch.Encoded
type Part = BatchRow["parts"][number]

/** What `POST /api/v1/batches/{id}/export` answers, as far as it is shown. */
interface ExportRow {
  readonly part: number
  readonly format: string
  readonly payload: string
  readonly valid_until: number | null
  readonly lines: number
  readonly notices: ReadonlyArray<string>
}

const partForm = (visit: Visit, batch: BatchRow, part: Part): Html | false => {
  const { texts: { signing: words } } = visit
  const formats = formatsOf({ ...batch, ...part })
  return formats.length > 0 && form(
    visit,
    "export",
    html`<div class="stack"><input type="hidden" name="part" value="${part.part}">
    <h3>${words.part(part.part, batch.parts.length)}</h3>${
      formats.includes("eip5792")
      && html`<ul class="wallets" aria-label="${words.wallets}" data-words="${
        JSON.stringify(words.wallet)
      }" data-own="1" hidden></ul>
      <noscript><p class="soft">${words.needsScript}</p></noscript>`
    }<div class="row">${
      select({
        name: "format",
        label: words.form,
        value: formats[0]!,
        options: formats.map((value) => ({ value, label: words.formats[value] }))
      })
    }<button>${words.show}</button></div></div>`
  )
}

/** Says where a part was sent, for wallets that are not in this browser. */
const sentForm = (visit: Visit, { part }: Part): Html => {
  const { texts: { signing: words } } = visit
  return html`<details><summary>${words.already}</summary>${
    form(
      visit,
      "sent",
      html`<div class="stack"><input type="hidden" name="part" value="${part}"><label class="f">${words.hash}<input name="tx_hash" required maxlength="128" autocomplete="off" spellcheck="false"><small>${words.hashHint}</small></label>
      <div class="row end"><button>${words.tell}</button></div></div>`
    )
  }</details>`
}

/** What can be given to a wallet now; false: nothing, or not by this person. */
export const signingCard = (visit: Visit, batch: BatchRow): Html | false => {
  const { texts: { signing: words } } = visit
  const parts = batch.status === "ready" || batch.status === "open"
    ? batch.parts.filter((part) => formatsOf({ ...batch, ...part }).length > 0)
    : []
  return visit.may("batches:create") && parts.length > 0 && card(
    words.title,
    html`<p class="soft">${batch.kind === "collect" ? words.collectText : words.text}</p>
    <p class="note" id="sign-note" role="status" data-own="1" hidden></p>${
      parts.map((part) => html`${partForm(visit, batch, part)}${part.status === "out" && sentForm(visit, part)}`)
    }`
  )
}

/** A wallet is told of a network that everybody can reach, where it does not know it. */
const addedChain = ({ environment }: Visit, { network }: BatchRow, payload: string) => {
  const chainId = /"chainId":"(0x[0-9a-f]+)"/i.exec(payload)?.[1]
  return chainId === undefined ? null : addedChainOf(network, environment, Number(chainId))
}

const exportScreen = (visit: Visit, batch: BatchRow, given: ExportRow): Screen => {
  const { texts: { batches, fields, sections, signing: words } } = visit
  const added = addedChain(visit, batch, given.payload)
  return {
    title: words.part(given.part, batch.parts.length),
    trail: { text: sections.batches, path: "batches" },
    body: card(
      null,
      html`${
        facts([
          [fields.network, networkName(batch.network)],
          [batches.from, batch.from !== null && html`<span class="mono wrap">${batch.from}</span>`],
          [batches.lines, given.lines],
          [batches.code, html`<span class="mono">${batch.approval_code}</span>`],
          [batches.until, timeOf(visit, given.valid_until)]
        ])
      }${given.notices.map((text) => note("warn", text))}<p>${words.payloadText}</p>
      <pre tabindex="0" data-payload="${given.format}"${
        attribute("data-add", added === null ? null : JSON.stringify(added))
      }>${given.payload}</pre><p><a class="button main" href="${visit.at(`batches/${batch.id}`)}">${words.back}</a></p>`
    )
  }
}

const pathOf = ({ params }: Visit) => `/api/v1/batches/${encodeURIComponent(params["id"] ?? "")}` as const

const partOf = (sent: URLSearchParams): number => Number.parseInt(sent.get("part") ?? "", 10) || 0

/** No key of the form: the service answers an export again as it was, and a hint proves nothing. */
export const signingActions: Readonly<Record<"export" | "sent", FormAction>> = {
  export: Effect.fnUntraced(function*(visit, sent) {
    const given = yield* visit.api.send<ExportRow>(
      "POST",
      `${pathOf(visit)}/export`,
      { part: partOf(sent), format: sent.get("format") ?? "" },
      null
    )
    return { screen: exportScreen(visit, yield* visit.api.get<BatchRow>(pathOf(visit)), given) }
  }),
  sent: Effect.fnUntraced(function*(visit, sent) {
    yield* visit.api.send(
      "POST",
      `${pathOf(visit)}/sent`,
      { part: partOf(sent), tx_hash: (sent.get("tx_hash") ?? "").trim() },
      null
    )
    return { path: `batches/${visit.params["id"]}`, notice: "hash_told" }
  })
}
