/**
 * Pays from a wallet in this browser (EIP-6963, EIP-1193). The server encodes the transfer and puts it into the list as
 * data. What a wallet says changes nothing about the payment: the network shows it to the server.
 */
import type { Announce } from "./Announce.ts"

interface Provider {
  readonly request: (call: { readonly method: string; readonly params?: unknown }) => Promise<any>
}

interface Announced {
  readonly info: { readonly name: string; readonly icon: string; readonly rdns: string }
  readonly provider: Provider
}

/** What the server asks a wallet for (`rules/WalletRequest.ts`). */
interface Ask {
  readonly chainId: string
  readonly add?: object
  readonly to: string
  readonly value: string
  readonly data?: string
  readonly token?: string
  readonly needs: string
}

type Words =
  | "asking"
  | "declined"
  | "busy"
  | "locked"
  | "chain"
  | "funds"
  | "fee"
  | "silent"
  | "unknown"
  | "sent"
  | "again"

const mostWallets = 6

/** Characters of a wallet's name; it may say anything. */
const nameLength = 32

/** Milliseconds until a wallet is said not to answer. */
const answerMillis = 120_000

/** Milliseconds in which a second press asks first. */
const againMillis = 600_000

const wordsOf = (error: any): Words => {
  const code = error?.data?.originalError?.code ?? error?.code
  const message = String(error?.message)
  if (code === 4001 || code === "ACTION_REJECTED") return "declined"
  if (code === -32002) return "busy"
  if (code === 4100) return "locked"
  if (code === 4902 || code === 4901 || code === 4200) return "chain"
  if (/insufficient funds for gas/i.test(message)) return "fee"
  return /insufficient|exceeds balance/i.test(message) ? "funds" : "unknown"
}

const switchTo = async (wallet: Provider, { add, chainId }: Ask): Promise<void> => {
  const isThere = async () => Number(await wallet.request({ method: "eth_chainId" })) === Number(chainId)
  if (await isThere()) return
  const change = () => wallet.request({ method: "wallet_switchEthereumChain", params: [{ chainId }] })
  await change().catch(async (error) => {
    if (!add || wordsOf(error) !== "chain") throw error
    await wallet.request({ method: "wallet_addEthereumChain", params: [{ chainId, ...add }] })
    await change()
  })
  // Some wallets answer before they have changed, and some never do.
  if (!await isThere()) throw { code: 4901 }
}

/** Whether the account has what it takes; a wallet that cannot say is not held up. */
const hasFunds = async (wallet: Provider, from: string, { needs, token }: Ask): Promise<boolean> => {
  try {
    const held = token
      ? await wallet.request({
        method: "eth_call",
        params: [{ to: token, data: "0x70a08231" + from.slice(2).padStart(64, "0") }, "latest"]
      })
      : await wallet.request({ method: "eth_getBalance", params: [from, "latest"] })
    return BigInt(held) >= BigInt(needs)
  } catch {
    return true
  }
}

/** The hash of what was sent. */
const send = async (wallet: Provider, ask: Ask): Promise<unknown> => {
  const [from] = await wallet.request({ method: "eth_requestAccounts" })
  if (!from) throw { code: 4100 }
  await switchTo(wallet, ask)
  if (!await hasFunds(wallet, from, ask)) throw { message: "insufficient" }
  const { data, to, value } = ask
  return wallet.request({ method: "eth_sendTransaction", params: [{ from, to, value, ...data && { data } }] })
}

/** Tells the server what was sent: for its log, and for nothing that the page shows. */
const hint = (hash: string): void => {
  const body = new URLSearchParams({ action: "sent", hash })
  fetch(location.href, { method: "POST", body, redirect: "manual" }).catch(() => undefined)
}

/** The browser's time, for what outlives the page. */
const epochMillis = (): number => performance.timeOrigin + performance.now()

/** The browser's storage, where there is one. */
const stored = (key: "till_wallet" | "till_sent", value?: string): string | undefined => {
  try {
    if (value) localStorage[key] = value
    return localStorage[key]
  } catch {
    return undefined
  }
}

/** Offers the wallets of this browser on every screen that has a list for them; gives what fills a new screen's. */
export const offerWallets = (state: HTMLElement, announce: Announce): () => void => {
  const wallets: Array<Announced> = []
  let isBusy = false
  let said = ""
  /** Until when a press sends though something was sent already. */
  let confirmedUntil = 0

  const showSaid = () => {
    const note = document.getElementById("asked")
    if (note) {
      note.hidden = !said
      note.textContent = said
    }
  }

  const say = (text: string) => {
    said = text
    showSaid()
    announce(text)
  }

  const press = async ({ info, provider }: Announced, { ask, words }: DOMStringMap) => {
    const texts: Record<Words, string> = JSON.parse(words!)
    const tell = (key: Words) => say(texts[key].replaceAll("{wallet}", nameOf(info)))
    if (isBusy) return tell("busy")
    const sent = location.pathname + " " + ask
    const [last, at] = (stored("till_sent") ?? "").split("\n")
    const now = epochMillis()
    if (last === sent && now - Number(at) < againMillis && now > confirmedUntil) {
      confirmedUntil = now + againMillis
      return tell("again")
    }
    isBusy = true
    tell("asking")
    stored("till_wallet", info.rdns)
    // It may still be confirmed: until it answers, or the page is loaded again, nothing is asked a second time.
    const silence = setTimeout(() => tell("silent"), answerMillis)
    try {
      const hash = String(await send(provider, JSON.parse(ask!)))
      stored("till_sent", sent + "\n" + epochMillis())
      confirmedUntil = 0
      tell("sent")
      if (/^0x[0-9a-f]{64}$/i.test(hash)) hint(hash)
    } catch (error) {
      tell(wordsOf(error))
    }
    clearTimeout(silence)
    isBusy = false
  }

  const nameOf = ({ name }: Announced["info"]) => name.slice(0, nameLength)

  const show = () => {
    showSaid()
    const list = state.querySelector<HTMLElement>(".wallets")
    if (!list) return
    const { pay } = JSON.parse(list.dataset.words!)
    list.hidden = wallets.length === 0
    list.replaceChildren(...wallets.map((wallet) => {
      const { icon } = wallet.info
      const button = document.createElement("button")
      button.type = "button"
      // Pictures of an extension are shown where they are data; no other site is asked for one.
      if (/^data:image\/(png|webp|svg\+xml|jpeg|gif)[;,]/.test(icon)) {
        button.append(Object.assign(new Image(), { src: icon, alt: "" }))
      }
      button.append(pay.replace("{wallet}", nameOf(wallet.info)))
      button.addEventListener("click", () => press(wallet, list.dataset))
      const item = document.createElement("li")
      item.append(button)
      return item
    }))
  }

  addEventListener("eip6963:announceProvider", (event) => {
    const wallet = (event as CustomEvent<Announced>).detail
    const { info, provider } = wallet ?? {}
    if (!provider || typeof info?.name !== "string" || wallets.length >= mostWallets) return
    if (wallets.some((each) => each.info.rdns === info.rdns)) return
    if (info.rdns === stored("till_wallet")) wallets.unshift(wallet)
    else wallets.push(wallet)
    show()
  })
  dispatchEvent(new Event("eip6963:requestProvider"))
  return show
}
