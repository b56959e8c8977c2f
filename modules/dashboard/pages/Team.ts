/** Who of a merchant may do what: members, and invitations to become one. */
import { Effect } from "effect"
import { attribute, type Html, html } from "../../../runtime/pages/Html.ts"
import { Role } from "../../../schemas/Roles.ts"
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

interface MemberRow {
  readonly id: string
  readonly person: string
  readonly name: string
  readonly email: string | null
  readonly role: Role
  readonly joined_at: number
}

interface InvitationRow {
  readonly id: string
  readonly role: Role
  readonly email: string | null
  readonly status: "waiting" | "open" | "accepted" | "revoked" | "expired"
  readonly expires_at: number
}

const pageSize = 25

const roleOptions = ({ texts }: Visit) => Role.literals.map((value) => ({ value, label: texts.roles[value] }))

const actsOf = (visit: Visit, member: MemberRow): Html | false => {
  const { team: words } = visit.texts
  return visit.may("team:write") && html`<div class="row end">${
    form(
      visit,
      "change",
      html`<input type="hidden" name="member" value="${member.id}">${
        select({ name: "role", label: words.role, options: roleOptions(visit), value: member.role })
      }<button class="mini">${words.change}</button>`
    )
  }<details><summary>${words.remove}</summary>${
    form(
      visit,
      "remove",
      html`<input type="hidden" name="member" value="${member.id}"><p>${words.removeText}</p><button class="mini danger">${words.removeNow}</button>`
    )
  }</details></div>`
}

const invitationLink = (visit: Visit, url: string, isSent: boolean): OneTimeScreen => {
  const { sections, team: words } = visit.texts
  return {
    screen: secretScreen(visit, {
      title: words.invited,
      trail: { text: sections.team, path: "team" },
      text: isSent ? words.invitedSentText : words.invitedText,
      secret: url,
      back: "team"
    })
  }
}

export const team: Page = {
  path: "team",
  right: "team:read",
  route: "/api/v1/team/members",
  render: Effect.fnUntraced(function*(visit) {
    const { api, texts: { fields, sections, team: words } } = visit
    const members = yield* api.get<List<MemberRow>>("/api/v1/team/members", { limit: pageSize, ...cursorOf(visit) })
    const invitations = yield* api.get<List<InvitationRow>>("/api/v1/team/invitations", { limit: pageSize })
    return {
      title: sections.team,
      body: html`${
        card(
          words.members,
          members.data.length === 0 ? html`<p>${words.alone}</p>` : html`${
            table(words.members, [
              { title: words.name, cell: ({ name }) => foreign(name) },
              { title: words.email, cell: ({ email }) => foreign(email) },
              { title: words.role, cell: ({ role }) => chip("plain", visit.texts.roles[role]) },
              { title: words.joined, cell: ({ joined_at }) => timeOf(visit, joined_at) },
              { title: "", cell: (member) => actsOf(visit, member) }
            ], members.data)
          }${pager(visit, members.data, members.has_more)}`
        )
      }${
        invitations.data.length > 0 && card(
          words.invitations,
          table(words.invitations, [
            { title: words.email, cell: ({ email }) => foreign(email) },
            { title: words.role, cell: ({ role }) => visit.texts.roles[role] },
            { title: fields.state, cell: ({ status }) => words.invitationStates[status] },
            { title: fields.until, cell: ({ expires_at }) => timeOf(visit, expires_at) },
            {
              title: "",
              cell: ({ id, status }) =>
                visit.may("team:write") && (status === "open" || status === "waiting")
                && form(
                  visit,
                  "revoke",
                  html`<input type="hidden" name="invitation" value="${id}"><button class="mini">${words.revoke}</button>`
                )
            }
          ], invitations.data)
        )
      }${
        visit.may("team:write") && card(
          words.invite,
          form(
            visit,
            "invite",
            html`<div class="stack">${
              field(visit, {
                name: "email",
                label: words.email,
                type: "email",
                ...(visit.sendsMail ? {} : { hint: words.emailHint }),
                maxLength: 254
              })
            }${
              visit.sendsMail &&
              html`<label class="pick"><input type="checkbox" name="send_email" value="true"${
                attribute("checked", sentValue(visit, "send_email") === "true")
              }><b>${words.sendEmail}</b></label>`
            }${
              select({
                name: "role",
                label: words.role,
                options: roleOptions(visit),
                value: sentValue(visit, "role", "support")
              })
            }<div class="row end"><button class="main">${words.invite}</button></div></div>`
          )
        )
      }`
    }
  }),
  actions: {
    invite: Effect.fnUntraced(function*(visit, sent) {
      const email = (sent.get("email") ?? "").trim()
      const isSent = sent.get("send_email") === "true"
      const made = yield* visit.api.send<{ readonly url: string }>("POST", "/api/v1/team/invitations", {
        role: sent.get("role") ?? "",
        ...(email === "" ? {} : { email }),
        ...(isSent ? { send_email: true, locale: visit.texts.locale } : {})
      }, sent.get("form_key"))
      return invitationLink(visit, made.url, isSent)
    }),
    change: Effect.fnUntraced(function*(visit, sent) {
      const id = encodeURIComponent(sent.get("member") ?? "")
      const role = sent.get("role") ?? ""
      yield* visit.api.send("PATCH", `/api/v1/team/members/${id}`, { role }, sent.get("form_key"))
      return { path: "team", notice: "saved" }
    }),
    remove: Effect.fnUntraced(function*(visit, sent) {
      const id = encodeURIComponent(sent.get("member") ?? "")
      yield* visit.api.send("DELETE", `/api/v1/team/members/${id}`, undefined, sent.get("form_key"))
      return { path: "team", notice: "saved" }
    }),
    revoke: Effect.fnUntraced(function*(visit, sent) {
      const id = encodeURIComponent(sent.get("invitation") ?? "")
      yield* visit.api.send("DELETE", `/api/v1/team/invitations/${id}`, undefined, sent.get("form_key"))
      return { path: "team", notice: "saved" }
    })
  }
}
