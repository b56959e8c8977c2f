/** What a person has for itself: where it is signed in, its passkeys, its recovery codes. */
import { Effect } from "effect"
import { attribute, type Html, html } from "../../../runtime/pages/Html.ts"
import type { Nonce, SignInWallet } from "../../identity/api.ts"
import type { Passkey, TeamSessionObject } from "../../team/api.ts"
import { networkOfChain } from "../rules/WalletSignIn.ts"
import { roleHas } from "../../../schemas/Roles.ts"
import { card, chip, field, foreign, form, note, secretScreen, sentValue, table, timeOf } from "./Elements.ts"
import { languages } from "./Languages.ts"
import type { Page, Visit } from "./Page.ts"

type SessionRow = typeof TeamSessionObject.Encoded
type PasskeyRow = typeof Passkey.Encoded
type WalletRow = typeof SignInWallet.Encoded

const walletsPath = "/api/v1/auth/wallets"

interface Rows<A> {
  readonly data: ReadonlyArray<A>
}

const rowButton = (visit: Visit, action: string, id: string, text: string): Html =>
  form(visit, action, html`<input type="hidden" name="id" value="${id}"><button class="mini">${text}</button>`)

/** Until when money does not move by it on mainnet; null: it does. */
const waitOf = (visit: Visit, moneyFrom: number): Html | null =>
  moneyFrom <= visit.now
    ? null
    : html`<p class="soft">${visit.texts.account.waits} ${timeOf(visit, moneyFrom)}</p>`

const sessionsCard = (visit: Visit, sessions: ReadonlyArray<SessionRow>): Html => {
  const { account: words } = visit.texts
  return card(
    words.sessions,
    html`${
      table(words.sessions, [
        {
          title: words.method,
          cell: ({ is_current, method, money_from }) =>
            html`${words.methods[method]} ${is_current && chip("good", words.here)}${waitOf(visit, money_from)}`
        },
        { title: words.signedIn, cell: ({ signed_in_at }) => timeOf(visit, signed_in_at) },
        { title: words.used, cell: ({ last_used_at }) => timeOf(visit, last_used_at) },
        { title: "", cell: ({ id }) => rowButton(visit, "end_session", id, words.end) }
      ], sessions)
    }${form(visit, "end_sessions", html`<div class="row end"><button class="danger">${words.endAll}</button></div>`)}`
  )
}

/** The script makes the passkey and sends the form with the browser's answer: nothing else knows how. */
const newPasskeyForm = (visit: Visit, options: string): Html => {
  const { account: words } = visit.texts
  return form(
    visit,
    "add_passkey",
    html`<div class="stack"><input type="hidden" name="answer">${
      field(visit, { name: "name", label: words.passkeyName, hint: words.passkeyHint, required: true, maxLength: 100 })
    }<div class="row end"><button class="main" type="button" data-new-passkey="${options}"${
      attribute("hidden", true)
    }>${words.addPasskey}</button></div>
    <noscript>${note("plain", words.needsScript)}</noscript><p id="passkey-fault" role="status"></p></div>`
  )
}

const passkeysCard = (visit: Visit, passkeys: ReadonlyArray<PasskeyRow>, options: string): Html => {
  const { account: words, signIn } = visit.texts
  return card(
    words.passkeys,
    html`<p class="soft">${words.passkeysText}</p>${
      passkeys.length > 0 && table(words.passkeys, [
        {
          title: words.name,
          cell: ({ money_from, name }) => html`${foreign(name)}${waitOf(visit, money_from)}`
        },
        { title: words.added, cell: ({ created_at }) => timeOf(visit, created_at) },
        { title: words.used, cell: ({ last_used_at }) => last_used_at !== null && timeOf(visit, last_used_at) },
        { title: "", cell: ({ id }) => rowButton(visit, "remove_passkey", id, words.remove) }
      ], passkeys)
    }${
      visit.nameAddress === null
        ? newPasskeyForm(visit, options)
        : note("warn", signIn.byAddress(visit.nameAddress))
    }`
  )
}

/** The list of wallets to link stays unseen until one of the browser announces itself to the script. */
const linkForm = (visit: Visit): Html => {
  const { account: words, signIn } = visit.texts
  return form(
    visit,
    "link_wallet",
    html`<input type="hidden" name="message"><input type="hidden" name="signature">
    <ul class="wallets" aria-label="${signIn.wallets}" data-nonce="${visit.at("account")}" data-words="${
      JSON.stringify({ ...signIn.wallet, pay: words.linkWallet })
    }" hidden></ul>
    <noscript>${note("plain", words.walletNeedsScript)}</noscript><p id="wallet-note" role="status"></p>`
  )
}

const walletsCard = (visit: Visit, wallets: ReadonlyArray<WalletRow>): Html => {
  const { account: words } = visit.texts
  return card(
    words.wallets,
    html`<p class="soft">${words.walletsText}</p>${
      wallets.length > 0 && table(words.wallets, [
        {
          title: words.walletAddress,
          cell: ({ address, money_from }) =>
            html`<bdi class="mono wrap" dir="ltr" translate="no">${address}</bdi>${waitOf(visit, money_from)}`
        },
        { title: words.added, cell: ({ linked_at }) => timeOf(visit, linked_at) },
        { title: words.used, cell: ({ last_sign_in_at }) => timeOf(visit, last_sign_in_at) },
        { title: "", cell: ({ id }) => rowButton(visit, "unlink_wallet", id, words.remove) }
      ], wallets)
    }${linkForm(visit)}`
  )
}

/** How approving takes more than a link, for who may approve real money; null: nobody here has to know. */
const approvalNote = (visit: Visit, hasProof: boolean): Html | null => {
  const { account: words } = visit.texts
  if (!visit.environments.includes("mainnet") || !roleHas(visit.membership.role, "refunds:approve", "mainnet")) {
    return null
  }
  return note(hasProof ? "plain" : "warn", hasProof ? words.approves : `${words.onlyLinks} ${words.approves}`)
}

/** Zones by the part of the world that their names begin with. */
const zoneGroups: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
  ...Map.groupBy(
    Intl.supportedValuesOf("timeZone").filter((zone) => zone.includes("/")),
    (zone) => zone.slice(0, zone.indexOf("/"))
  )
]

/** Zones that are in no group: UTC, and that of the person where it has another name, such as `CET`. */
const otherZones = (chosen: string): ReadonlyArray<string> =>
  chosen === "UTC" || zoneGroups.some(([, zones]) => zones.includes(chosen)) ? ["UTC"] : ["UTC", chosen]

const option = (value: string, label: string, chosen: string, language: string | null = null): Html =>
  html`<option${attribute("value", value === label ? null : value)}${attribute("lang", language)}${
    attribute("selected", value === chosen)
  }>${label}</option>`

/** What a person chooses for the pages. UTC and the browser's language are what holds where nothing is chosen. */
const pagesCard = (visit: Visit): Html => {
  const { session, texts: { account: words } } = visit
  const language = sentValue(visit, "language", session.language)
  const zone = sentValue(visit, "time_zone", session.timeZone ?? "UTC")
  return card(
    words.pages,
    form(
      visit,
      "save_pages",
      html`<div class="stack"><p class="soft">${words.pagesText}</p>
      <label class="f">${words.language}<select name="language" autocomplete="language">${
        option("", words.languageOfBrowser, language)
      }${
        Object.values(languages).map(({ language: name, locale }) => option(locale, name, language, locale))
      }</select></label>
      <label class="f">${words.timeZone}<select name="time_zone" translate="no">${
        otherZones(session.timeZone ?? "UTC").map((name) => option(name, name, zone))
      }${
        zoneGroups.map(([part, zones]) =>
          html`<optgroup label="${part}">${zones.map((name) => option(name, name, zone))}</optgroup>`
        )
      }</select></label><div class="row end"><button>${words.savePages}</button></div></div>`
    )
  )
}

const noticeChoices = ["mainnet", "all", "none"] as const

/** Of which environments the person is told by e-mail. */
const noticesCard = (visit: Visit): Html => {
  const { session, texts: { account: words } } = visit
  const chosen = sentValue(visit, "notices", session.notices)
  return card(
    words.notices,
    form(
      visit,
      "save_notices",
      html`<div class="stack"><p class="soft">${words.noticesText}</p>
      <label class="f">${words.noticesOf}<select name="notices">${
        noticeChoices.map((choice) => option(choice, words.noticeChoices[choice], chosen))
      }</select></label><div class="row end"><button>${words.savePages}</button></div></div>`
    )
  )
}

const remove = (path: "passkeys" | "sessions") =>
  Effect.fnUntraced(function*(visit: Visit, sent: URLSearchParams) {
    const id = encodeURIComponent(sent.get("id") ?? "")
    yield* visit.api.send("DELETE", `/api/v1/team/${path}/${id}`, undefined, sent.get("form_key"))
    return { path: "account", notice: "saved" } as const
  })

export const account: Page = {
  path: "account",
  right: "account:write",
  route: "/api/v1/team/sessions",
  render: Effect.fnUntraced(function*(visit) {
    const { api, texts: { account: words } } = visit
    const sessions = yield* api.get<Rows<SessionRow>>("/api/v1/team/sessions")
    const passkeys = yield* api.get<Rows<PasskeyRow>>("/api/v1/team/passkeys")
    const wallets = visit.serves(walletsPath) ? (yield* api.get<Rows<WalletRow>>(walletsPath)).data : null
    const own = wallets?.filter(({ is_own }) => is_own) ?? []
    const options = JSON.stringify(yield* visit.passkeys.options)
    return {
      title: words.title,
      signs: wallets !== null,
      body: html`${approvalNote(visit, passkeys.data.length > 0 || own.length > 0)}${
        passkeysCard(visit, passkeys.data, options)
      }${wallets !== null && walletsCard(visit, own)}${pagesCard(visit)}${visit.sendsNotices && noticesCard(visit)}${
        card(
          words.recovery,
          form(
            visit,
            "make_codes",
            html`<p class="soft">${words.recoveryText}</p><div class="row end"><button>${words.makeCodes}</button></div>`
          )
        )
      }${sessionsCard(visit, sessions.data)}`
    }
  }),
  actions: {
    add_passkey: Effect.fnUntraced(function*(visit, sent) {
      yield* visit.passkeys.add((sent.get("name") ?? "").trim(), sent.get("answer") ?? "")
      return { path: "account", notice: "passkey_added" }
    }),
    wallet_nonce: Effect.fnUntraced(function*(visit, sent) {
      const { message } = yield* visit.api.send<typeof Nonce.Encoded["data"]>("POST", `${walletsPath}/nonce`, {
        network: networkOfChain(sent.get("chain") ?? "", visit.environments),
        address: (sent.get("address") ?? "").trim()
      }, null)
      return { json: { message } }
    }),
    link_wallet: Effect.fnUntraced(function*(visit, sent) {
      yield* visit.api.send("POST", walletsPath, {
        // A form sends each line break as two characters; the text that was signed has one.
        message: (sent.get("message") ?? "").replaceAll("\r\n", "\n"),
        signature: sent.get("signature") ?? ""
      }, null)
      return { path: "account", notice: "wallet_linked" }
    }),
    unlink_wallet: Effect.fnUntraced(function*(visit, sent) {
      yield* visit.api.send("DELETE", `${walletsPath}/${encodeURIComponent(sent.get("id") ?? "")}`, undefined, null)
      return { path: "account", notice: "saved" }
    }),
    save_pages: Effect.fnUntraced(function*(visit, sent) {
      const [language, zone] = [sent.get("language") ?? "", sent.get("time_zone") ?? ""]
      yield* visit.api.send("PATCH", "/api/v1/team/me", {
        language: language === "" ? null : language,
        time_zone: zone === "" || zone === "UTC" ? null : zone
      }, sent.get("form_key"))
      return { path: "account", notice: "saved" }
    }),
    save_notices: Effect.fnUntraced(function*(visit, sent) {
      const notices = sent.get("notices") ?? ""
      yield* visit.api.send("PATCH", "/api/v1/team/me", { notices }, sent.get("form_key"))
      return { path: "account", notice: "saved" }
    }),
    remove_passkey: remove("passkeys"),
    end_session: remove("sessions"),
    end_sessions: Effect.fnUntraced(function*(visit, sent) {
      yield* visit.api.send("DELETE", "/api/v1/team/sessions", undefined, sent.get("form_key"))
      return { path: "account", notice: null }
    }),
    make_codes: Effect.fnUntraced(function*(visit, sent) {
      const { account: words } = visit.texts
      const { codes } = yield* visit.api.send<{ readonly codes: ReadonlyArray<string> }>(
        "POST",
        "/api/v1/team/recovery-codes",
        undefined,
        sent.get("form_key")
      )
      return {
        screen: secretScreen(visit, {
          title: words.codes,
          trail: { text: words.title, path: "account" },
          text: words.codesText,
          secret: html`<ul>${codes.map((code) => html`<li>${code}</li>`)}</ul>`,
          back: "account"
        })
      }
    })
  }
}
