/**
 * Signing in by a wallet of this browser, and linking it: it signs the text that the server makes, and no transaction.
 */
import {
  type BrowserWallet,
  findWallets,
  nameOf,
  walletFault,
  walletItem
} from "../../../runtime/pages/island/BrowserWallets.ts"
import { hexOf } from "./Hex.ts"

export const startWalletSignIn = (): void => {
  const list = document.querySelector<HTMLElement>(".wallets[data-nonce]")
  const note = document.getElementById("wallet-note")
  if (!list || !note) return
  const words: Readonly<Record<string, string>> = JSON.parse(list.dataset["words"]!)
  let isBusy = false

  const say = (text: string, wallet: BrowserWallet) => {
    note.textContent = text.replace("{wallet}", () => nameOf(wallet))
  }

  const press = async (wallet: BrowserWallet) => {
    if (isBusy) return
    isBusy = true
    const request: BrowserWallet["provider"]["request"] = (call) => wallet.provider.request(call)
    const form = list.closest("form")!
    try {
      say(words["asking"]!, wallet)
      const [address] = await request({ method: "eth_requestAccounts" })
      if (!address) throw { code: 4100 }
      const chain = await request({ method: "eth_chainId" }).catch(() => "")
      const body = new URLSearchParams({ action: "wallet_nonce", address, chain: String(chain) })
      const answer = await fetch(list.dataset["nonce"]!, { method: "POST", body })
      const { error, message } = await answer.json()
      if (typeof message !== "string") return say(error?.message ?? words["unknown"]!, wallet)
      const signature = await request({ method: "personal_sign", params: [hexOf(message), address] })
      form.querySelector<HTMLInputElement>("[name=message]")!.value = message
      form.querySelector<HTMLInputElement>("[name=signature]")!.value = String(signature)
      form.submit()
    } catch (error) {
      const fault = walletFault(error)
      say(words[fault] ?? words["unknown"]!, wallet)
    } finally {
      isBusy = false
    }
  }

  const add = (more: ReadonlyArray<BrowserWallet>) => {
    list.append(...more.map((wallet) => walletItem(wallet, words["pay"]!, press)))
    list.hidden = !list.firstChild
  }
  add(findWallets(() => false, (wallet) => add([wallet])))
}
