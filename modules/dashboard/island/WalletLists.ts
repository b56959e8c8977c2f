/** Lists of the wallets of this browser: each is filled again where what is new on the page has replaced it. */
import { type BrowserWallet, findWallets } from "../../../runtime/pages/island/BrowserWallets.ts"

export const fillWalletLists = (
  selector: string,
  itemOf: (list: HTMLElement, wallet: BrowserWallet) => HTMLElement
): void => {
  const add = (list: HTMLElement, more: ReadonlyArray<BrowserWallet>) => {
    list.append(...more.map((wallet) => itemOf(list, wallet)))
    list.hidden = !list.firstChild
  }
  const lists = () => document.querySelectorAll<HTMLElement>(selector)
  const wallets = findWallets(() => false, (wallet) => lists().forEach((list) => add(list, [wallet])))
  const fill = () => lists().forEach((list) => list.firstChild || add(list, wallets))
  document.addEventListener("dashboard:change", fill)
  fill()
}
