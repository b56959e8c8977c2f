/**
 * Pays from a wallet in this browser (EIP-6963, EIP-1193). The server encodes the transfer and puts it into the list as
 * data. What a wallet says changes nothing about the payment: the network shows it to the server.
 */
import {
  type BrowserWallet,
  findWallets,
  nameOf,
  type Provider,
  switchTo,
  type WalletFault,
  walletFault,
  walletItem,
  type WantedChain
} from "../../../runtime/pages/island/BrowserWallets.ts"
import type { Announce } from "./Announce.ts"

/** What the server asks a wallet for (`rules/WalletRequest.ts`). */
interface Ask extends WantedChain {
  readonly to: string
  readonly value: string
  readonly data?: string
  readonly token?: string
  readonly needs: string
}

type Words = WalletFault | "asking" | "silent" | "changed" | "sent" | "again"

/** A transfer of this invoice that was sent, or may have been. */
interface Transfer {
  /** As the page showed it, with its token. */
  readonly amount: string
  /** Epoch milliseconds. */
  readonly at: number
}

/** Milliseconds until a wallet is said not to answer. */
const answerMillis = 120_000

/** Milliseconds in which a second transfer asks first: a day, as one with too low a fee waits for hours. */
const againMillis = 86_400_000

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

/** The account that can pay, on the network that is asked for. */
const accountFor = async (wallet: Provider, ask: Ask): Promise<string> => {
  const [from] = await wallet.request({ method: "eth_requestAccounts" })
  if (!from) throw { code: 4100 }
  await switchTo(wallet, ask)
  if (!await hasFunds(wallet, from, ask)) throw { message: "insufficient" }
  return from
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

/** The transfers of every invoice that this browser remembers, by the path of its page. */
const readTransfers = (): Record<string, Transfer> => {
  try {
    const all: Array<[string, Transfer]> = Object.entries(JSON.parse(stored("till_sent")!))
    return Object.fromEntries(all.filter(([, { at }]) => epochMillis() - at < againMillis))
  } catch {
    return {}
  }
}

/** Offers the wallets of this browser on every screen that has a list for them; gives what fills a new screen's. */
export const offerWallets = (state: HTMLElement, announce: Announce): () => void => {
  /** The wallet that has not answered yet; nothing is asked of any other meanwhile. */
  let busyWallet: BrowserWallet | undefined
  let note = ""
  let tone = ""
  /** The question that the note puts: a press that follows it sends though something may have been sent already. */
  let question = ""
  let screen: string | undefined
  /** What this page knows of the last transfer, also where the browser keeps nothing. */
  let ownTransfer: Transfer | undefined

  const listOf = () => state.querySelector<HTMLElement>(".wallets")

  const showNote = () => {
    const box = document.getElementById("wallet-note")
    if (!box) return
    box.hidden = !note
    box.className = `note ${tone}`
    box.textContent = note
  }

  /** The newest transfer of this invoice, asked for here or in another tab. */
  const lastTransfer = (): Transfer | undefined => {
    const kept = readTransfers()[location.pathname]
    return kept && ownTransfer && kept.at < ownTransfer.at ? ownTransfer : kept ?? ownTransfer
  }

  const keepTransfer = (transfer: Transfer | undefined) => {
    ownTransfer = transfer
    stored("till_sent", JSON.stringify({ ...readTransfers(), [location.pathname]: transfer }))
  }

  const press = async (wallet: BrowserWallet) => {
    const { amount, ask, words } = listOf()!.dataset
    const texts: Record<Words, string> = JSON.parse(words!)
    const before = lastTransfer()
    const tell = (key: Words, named = wallet, sent = before) => {
      note = texts[key].replace(/\{\w+\}/g, (name) => name === "{wallet}" ? nameOf(named) : sent!.amount)
      tone = key === "sent" ? "good" : key === "asking" ? "" : "warn"
      question = ""
      showNote()
      announce(note)
    }
    if (busyWallet) return tell("busy", busyWallet)
    const repeated = before ? before.at + ask! : ""
    if (question !== repeated) {
      tell("again")
      question = repeated
      return
    }
    busyWallet = wallet
    tell("asking")
    const { info, provider } = wallet
    stored("till_wallet", info.rdns)
    // It may still be confirmed: until it answers, or the page is loaded again, nothing is asked a second time.
    const silence = setTimeout(() => tell("silent"), answerMillis)
    let own: Transfer | undefined
    try {
      const request: Ask = JSON.parse(ask!)
      const from = await accountFor(provider, request)
      // Minutes may have passed: another amount may be due, nothing at all, or another tab may have asked.
      if (listOf()?.dataset.ask !== ask) return tell("changed")
      const other = lastTransfer()
      if (other && other.at !== before?.at) return tell("again", wallet, other)
      // Kept before it is asked for: a page that is loaded again has no answer to wait for.
      own = { amount: amount!, at: epochMillis() }
      keepTransfer(own)
      const { data, to, value } = request
      const call = { method: "eth_sendTransaction", params: [{ from, to, value, ...data && { data } }] }
      const hash = String(await provider.request(call))
      tell("sent")
      if (/^0x[0-9a-f]{64}$/i.test(hash)) hint(hash)
    } catch (error) {
      const key = walletFault(error)
      // What a wallet does not explain it may have sent all the same, and what waits in it may still be confirmed.
      if (own && key !== "unknown" && key !== "busy" && lastTransfer()?.at === own.at) keepTransfer(before)
      tell(key)
    } finally {
      clearTimeout(silence)
      busyWallet = undefined
    }
  }

  /** Puts wallets at the end of the list, where there is one: those that are there stay, and keep the focus. */
  const add = (more: ReadonlyArray<BrowserWallet>) => {
    const list = listOf()
    if (!list) return
    const { pay } = JSON.parse(list.dataset.words!)
    list.append(...more.map((wallet) => walletItem(wallet, pay, press)))
    list.hidden = wallets.length === 0
  }

  const show = () => {
    const previous = screen
    screen = state.querySelector<HTMLElement>("[data-screen]")?.dataset.screen
    // The network has shown a payment: what a wallet said before is of another time.
    if (screen !== previous && !busyWallet && /^(confirming|partial)$/.test(screen!)) note = question = ""
    showNote()
    add(wallets)
  }

  const wallets = findWallets(({ info }) => info.rdns === stored("till_wallet"), (wallet) => add([wallet]))
  return show
}
