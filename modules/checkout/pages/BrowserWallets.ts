/** The wallets of this browser: a list that stays empty and unseen until one announces itself to the script. */
import { type Html, html } from "../../../runtime/pages/Html.ts"
import { descriptorOf } from "../../../schemas/Network.ts"
import type { View } from "../rules.ts"
import { walletRequestOf } from "../rules/WalletRequest.ts"
import { isolate, shorten } from "./Names.ts"
import type { Texts } from "./Texts.ts"

type Address = NonNullable<View["address"]>

/** Stand in the words for the wallet's name, and for what was sent before, which the script alone knows. */
const wallet = "{wallet}"
const sent = "{sent}"

/** What is said of a wallet's answers, by the names the script has for them (`island/Wallets.ts`). */
const wordsOf = (texts: Texts, address: Address, sum: string): Readonly<Record<string, string>> => {
  const { coin, label } = descriptorOf(address.network)
  const network = isolate(texts, label)
  return {
    pay: texts.walletPay(wallet),
    asking: texts.walletAsking(wallet, sum, network, isolate(texts, shorten(address.temp_address))),
    declined: texts.walletDeclined(wallet),
    busy: texts.walletBusy(wallet),
    locked: texts.walletLocked(wallet),
    chain: texts.walletChain(wallet, network),
    funds: texts.walletFunds(sum, network),
    fee: texts.walletFee(isolate(texts, coin.symbol), network),
    silent: texts.walletSilent(wallet),
    unknown: texts.walletUnknown(wallet),
    changed: texts.walletChanged,
    sent: texts.walletSent(wallet),
    again: texts.walletAgain(sent, sum)
  }
}

/** What the script asks a wallet for, and what it says; false: no wallet of a browser can pay this way. */
export const browserWallets = (view: View, texts: Texts, address: Address, amount: string): Html | false => {
  const request = walletRequestOf(address.payment_uri, address.network, view.details.network_environment)
  const sum = isolate(texts, amount)
  return request !== null &&
    html`<ul class="wallets" aria-label="${texts.walletList}" data-ask="${
      JSON.stringify(request)
    }" data-amount="${sum}" data-words="${JSON.stringify(wordsOf(texts, address, sum))}" hidden></ul>
    <p class="note" id="wallet-note" hidden></p>`
}
