/** The pages for whoever is not signed in. */
import { type Html, html, pathUrl } from "../../../runtime/pages/Html.ts"
import type { PublicError } from "../../../schemas/Errors.ts"
import { note } from "./Elements.ts"
import { explain } from "./Refusal.ts"
import type { Texts } from "./Texts.ts"

/** What the pages need to know. */
export interface SignInView {
  readonly texts: Texts
  /** Path of the public URL, without a slash at its end. */
  readonly base: string
  /** Where the visitor goes afterwards. */
  readonly next: string
  readonly error: PublicError | null
  /** The address where passkeys work, where the page was opened by an address of numbers; null: they work here. */
  readonly nameAddress: string | null
}

const fault = ({ error, texts }: SignInView) => error !== null && note("bad", explain(texts, error), "alert")

const next = ({ next: path }: SignInView) => html`<input type="hidden" name="next" value="${path}">`

/** The list stays empty and unseen until a wallet of the browser announces itself to the script. */
const walletForm = (view: SignInView): Html => {
  const { base, texts: { signIn } } = view
  const path = `${base}/dashboard/signin/wallet`
  return html`<form method="post" action="${pathUrl(path)}">${next(view)}
    <input type="hidden" name="message"><input type="hidden" name="signature">
    <ul class="wallets" aria-label="${signIn.wallets}" data-nonce="${`${path}-nonce`}" data-words="${
    JSON.stringify(signIn.wallet)
  }" hidden></ul>
    <p id="wallet-note" role="status"></p>
  </form>`
}

/** A passkey is asked for, and its answer sent to a path of the dashboard. It takes the script. */
const passkeyForm = (view: SignInView, path: string, text: string): Html => {
  const { base, nameAddress, texts: { signIn } } = view
  return nameAddress === null
    ? html`<form method="post" action="${pathUrl(`${base}/dashboard/signin/${path}`)}">${next(view)}
        <input type="hidden" name="answer">
        <button class="main" type="button" data-passkey="${`${base}/dashboard/signin/passkey-options`}" hidden>${text}</button>
      </form>
      <noscript>${note("plain", signIn.needsScript)}</noscript><p id="passkey-fault" role="status"></p>`
    : note("warn", signIn.byAddress(nameAddress))
}

/** For whoever is signed in for longer than what they want to do allows: by a passkey, or by a new link. */
export const proofBody = (view: SignInView): Html => {
  const { texts: { signIn } } = view
  return html`<p>${signIn.againText}</p>${fault(view)}${passkeyForm(view, "again", signIn.again)}${
    walletForm(view)
  }<details><summary>${signIn.linkTitle}</summary>${linkForm(view)}</details>
  <p><a href="${pathUrl(view.next)}">${signIn.back}</a></p>`
}

/** All ways to sign in. Passkeys and wallets take the script; a link and a recovery code do not. */
export const signInBody = (view: SignInView): Html => {
  const { base, texts: { signIn } } = view
  return html`<p>${signIn.hello}</p>${fault(view)}${passkeyForm(view, "passkey", signIn.passkey)}${
    walletForm(view)
  }<details><summary>${signIn.linkTitle}</summary>${linkForm(view)}</details>
  <details><summary>${signIn.recovery}</summary>
    <form method="post" action="${pathUrl(`${base}/dashboard/signin/recovery`)}" class="stack">${next(view)}
      <label class="f">${signIn.email}<input type="email" name="email" required autocomplete="username"></label>
      <label class="f">${signIn.code}<input name="code" required autocomplete="one-time-code"></label>
      <div class="row end"><button>${signIn.useCode}</button></div>
    </form>
  </details>`
}

/** The token of a link is in its fragment, which no server sees: the script puts it into the form, or a person does. */
const linkForm = (view: SignInView): Html => {
  const { base, texts: { signIn } } = view
  return html`<form method="post" action="${pathUrl(`${base}/dashboard/signin/link`)}" class="stack" data-link="1">${
    next(view)
  }
    <p>${signIn.linkText}</p>
    <label class="f">${signIn.token}<input name="token" required autocomplete="off" spellcheck="false"></label>
    <div class="row end"><button class="main">${signIn.go}</button></div>
  </form>`
}

/** Accepts an invitation: its token is in the fragment as well. */
export const invitationBody = (view: SignInView): Html => {
  const { base, texts: { signIn, team } } = view
  return html`${fault(view)}<form method="post" action="${
    pathUrl(`${base}/dashboard/invitation`)
  }" class="stack" data-link="1">
    <p>${team.joinText}</p>
    <label class="f">${team.name}<input name="name" required maxlength="100" autocomplete="name"></label>
    <label class="f">${signIn.token}<input name="token" required autocomplete="off" spellcheck="false"></label>
    <div class="row end"><button class="main">${team.join}</button></div>
  </form>`
}

export const linkBody = (view: SignInView): Html => html`${fault(view)}${linkForm(view)}`
