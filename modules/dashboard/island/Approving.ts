/**
 * Signs what a page shows to be approved, by a passkey or by a wallet of this browser. The challenge is asked for at
 * the press; where its text says something else than the page, it is shown and not signed.
 */
import { type BrowserWallet, nameOf, walletFault, walletItem } from "../../../runtime/pages/island/BrowserWallets.ts"
import { hexOf } from "./Hex.ts"
import { canUsePasskeys } from "./Passkeys.ts"
import { fillWalletLists } from "./WalletLists.ts"

interface Challenge {
  readonly id: string
  readonly text: string
  readonly passkey: unknown
  readonly wallets: ReadonlyArray<{ readonly family: string; readonly address: string }>
}

const say = (text: string): void => {
  const place = document.getElementById("approve-note")
  if (place) place.textContent = text
}

/** All but the lines that are new with each challenge. */
const contentOf = (text: string): string => text.replace(/^(?:Challenge|To be signed before): .*$/gm, "").trim()

/** Whether the person has read what is to be signed; where not, it is there to be read now. */
const isRead = ({ text }: Challenge): boolean => {
  const place = document.getElementById("approval-text")
  if (!place) return false
  const isSame = contentOf(place.textContent ?? "") === contentOf(text)
  place.textContent = text
  if (!isSame) say(document.getElementById("approve-note")?.dataset["changed"] ?? "")
  return isSame
}

const ask = async (form: HTMLFormElement): Promise<Challenge | undefined> => {
  const body = new URLSearchParams({ ...Object.fromEntries(new FormData(form)) as object, action: "challenge" })
  const answer = await fetch(form.getAttribute("action")!, { method: "POST", body })
  return answer.ok && !answer.redirected ? await answer.json() : undefined
}

const send = (form: HTMLFormElement, proof: object | null): void => {
  form.querySelector<HTMLInputElement>("[name=proof]")!.value = proof === null ? "" : JSON.stringify(proof)
  // A field of the form could be called "submit" and hide the form's own.
  HTMLFormElement.prototype.submit.call(form)
}

/** Where the service does not ask, the form goes off without a signature, and the page that comes says why. */
const signByPasskey = async (form: HTMLFormElement): Promise<void> => {
  const challenge = await ask(form)
  if (!challenge?.passkey) return send(form, null)
  if (!isRead(challenge)) return
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(challenge.passkey as never)
  const credential = await navigator.credentials.get({ publicKey }) as PublicKeyCredential | null
  if (credential) send(form, { id: challenge.id, passkey: credential.toJSON() })
}

/** By the account of the wallet that is the person's here; the first one, which is refused in words, where none is. */
const signByWallet = async (wallet: BrowserWallet, form: HTMLFormElement): Promise<void> => {
  const accounts: ReadonlyArray<string> = await wallet.provider.request({ method: "eth_requestAccounts" })
  const challenge = await ask(form)
  if (!challenge) return send(form, null)
  if (!isRead(challenge)) return
  const own = new Set(challenge.wallets.map(({ address }) => address.toLowerCase()))
  const address = accounts.find((each) => own.has(each.toLowerCase())) ?? accounts[0]
  if (!address) throw { code: 4100 }
  const signature = await wallet.provider.request({ method: "personal_sign", params: [hexOf(challenge.text), address] })
  send(form, { id: challenge.id, wallet: { family: "evm", address, signature: String(signature) } })
}

const startWallets = (): void => {
  let isBusy = false
  const press = (list: HTMLElement, words: Readonly<Record<string, string>>) => async (wallet: BrowserWallet) => {
    const form = list.closest("form")
    if (isBusy || !form) return
    isBusy = true
    const tell = (name: string) => say((words[name] ?? words["unknown"]!).replace("{wallet}", () => nameOf(wallet)))
    tell("asking")
    await signByWallet(wallet, form).catch((error: unknown) => tell(walletFault(error)))
    isBusy = false
  }
  fillWalletLists("[data-approve-wallets]", (list, wallet) => {
    const words: Readonly<Record<string, string>> = JSON.parse(list.dataset["approveWallets"]!)
    return walletItem(wallet, words["pay"]!, press(list, words))
  })
}

export const startApproving = (): void => {
  startWallets()
  // On the document, because what is new on the page replaces its buttons.
  document.addEventListener("click", (event) => {
    const button = (event.target as Element | null)?.closest<HTMLButtonElement>("button[data-approve]")
    if (!button?.form || !canUsePasskeys) return
    event.preventDefault()
    button.disabled = true
    say("")
    signByPasskey(button.form).catch((error: unknown) => say(error instanceof Error ? error.message : "")).finally(
      () => {
        button.disabled = false
      }
    )
  })
}
