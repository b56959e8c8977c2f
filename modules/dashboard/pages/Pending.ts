/** A change that waits for another person, and then a day: what it is, who wants it, and what can be said to it. */
import { type Content, html } from "../../../runtime/pages/Html.ts"
import type { PendingChange } from "../../../schemas/PendingChange.ts"
import { card, facts, foreign, form, note, timeOf } from "./Elements.ts"
import type { Visit } from "./Page.ts"

/** Whether whoever looks may give the word that is missing. The API decides: one person may have other credentials. */
export const mayApprove = (
  { caller, may }: Pick<Visit, "caller" | "may">,
  { in_force_from, proposed_by }: PendingChange
): boolean => in_force_from === null && proposed_by !== caller.credential && may("rules:approve")

/** `fields`: what the forms say beside the change's id; `approval`: what the approval says beside them. */
export const pendingCard = (
  visit: Visit,
  title: string,
  pending: PendingChange,
  body: Content,
  fields: Content = null,
  approval: Content = null
) => {
  const { pending: words } = visit.texts
  const act = (name: string, button: Content) =>
    form(visit, name, html`<input type="hidden" name="change" value="${pending.id}">${fields}${button}`)
  return card(
    title,
    html`${note("warn", pending.in_force_from === null ? words.needsApproval : words.waits, "status")}${body}${
      facts([
        [words.proposedBy, foreign(pending.proposed_by)],
        [words.proposedAt, timeOf(visit, pending.proposed_at)],
        [words.approvedBy, foreign(pending.approved_by)],
        [words.inForceFrom, timeOf(visit, pending.in_force_from)]
      ])
    }<div class="row end">${
      visit.may("rules:cancel") && act("cancel", html`<button class="danger">${words.cancel}</button>`)
    }${
      mayApprove(visit, pending) && act("approve", html`${approval}<button class="main">${words.approve}</button>`)
    }</div>`
  )
}
