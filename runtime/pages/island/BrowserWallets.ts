/** Wallets of a browser (EIP-6963, EIP-1193), for the scripts of pages that ask one to sign. */

export interface Provider {
  readonly request: (call: { readonly method: string; readonly params?: unknown }) => Promise<any>
}

export interface BrowserWallet {
  readonly info: { readonly name: string; readonly icon: string; readonly rdns: string }
  readonly provider: Provider
}

/** The network that a wallet is to be on; `add`: as `wallet_addEthereumChain` takes it, beside its id (EIP-3085). */
export interface WantedChain {
  readonly chainId: string
  readonly add?: object
}

/** What a wallet's refusal comes to. */
export type WalletFault = "declined" | "busy" | "locked" | "chain" | "funds" | "fee" | "unknown"

const mostWallets = 6

/** Characters of a wallet's name; it may say anything. */
const nameLength = 32

/** What a wallet may put into its name to turn the rest of a sentence around (Unicode, UAX #9). */
const directionMarks = /\p{Bidi_Control}/gu

/** A wallet's name, apart from the sentence it stands in. */
export const nameOf = ({ info }: BrowserWallet): string =>
  `\u2068${info.name.replace(directionMarks, "").slice(0, nameLength)}\u2069`

export const walletFault = (error: any): WalletFault => {
  const code = error?.data?.originalError?.code ?? error?.code
  const message = String(error?.message)
  if (code === 4001 || code === "ACTION_REJECTED") return "declined"
  if (code === -32002) return "busy"
  if (code === 4100) return "locked"
  if (code === 4902 || code === 4901 || code === 4200) return "chain"
  if (/insufficient funds for gas/i.test(message)) return "fee"
  return /insufficient|exceeds balance/i.test(message) ? "funds" : "unknown"
}

/** Brings a wallet to a network. Fails with what the wallet says, or with 4901 where it did not come. */
export const switchTo = async (wallet: Provider, { add, chainId }: WantedChain): Promise<void> => {
  const isThere = async () => Number(await wallet.request({ method: "eth_chainId" })) === Number(chainId)
  if (await isThere()) return
  const change = () => wallet.request({ method: "wallet_switchEthereumChain", params: [{ chainId }] })
  await change().catch(async (error) => {
    if (!add || walletFault(error) !== "chain") throw error
    await wallet.request({ method: "wallet_addEthereumChain", params: [{ chainId, ...add }] })
    await change()
  })
  // Some wallets answer before they have changed, and some never do.
  if (!await isThere()) throw { code: 4901 }
}

/** A wallet's place in a list; `text` is that of its button, with `{wallet}` for the name. */
export const walletItem = (
  wallet: BrowserWallet,
  text: string,
  press: (wallet: BrowserWallet) => unknown
): HTMLElement => {
  const { icon } = wallet.info
  const button = document.createElement("button")
  button.type = "button"
  // Pictures of an extension are shown where they are data; no other site is asked for one.
  if (/^data:image\/(png|webp|svg\+xml|jpeg|gif)[;,]/.test(icon)) {
    button.append(Object.assign(new Image(), { src: icon, alt: "" }))
  }
  button.append(text.replace("{wallet}", () => nameOf(wallet)))
  // The second click of a double click would answer a question that nobody has read.
  button.addEventListener("click", ({ detail }) => detail > 1 || press(wallet))
  const item = document.createElement("li")
  item.append(button)
  return item
}

/**
 * Asks the wallets of this browser to say that they are there. Nothing else is asked of any. `isFirst`: of those that
 * answer at once, which one comes before the others; `onMore`: of each that answers later, when it is in `wallets`.
 */
export const findWallets = (
  isFirst: (wallet: BrowserWallet) => boolean,
  onMore: (wallet: BrowserWallet) => void
): ReadonlyArray<BrowserWallet> => {
  const wallets: Array<BrowserWallet> = []
  let isStarted = false
  addEventListener("eip6963:announceProvider", (event) => {
    const wallet = (event as CustomEvent<BrowserWallet>).detail
    const { info, provider } = wallet ?? {}
    if (!provider || typeof info?.name !== "string" || wallets.length >= mostWallets) return
    if (wallets.some((each) => each.info.rdns === info.rdns)) return
    if (!isStarted && isFirst(wallet)) wallets.unshift(wallet)
    else wallets.push(wallet)
    if (isStarted) onMore(wallet)
  })
  dispatchEvent(new Event("eip6963:requestProvider"))
  isStarted = true
  return wallets
}
