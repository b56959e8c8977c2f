/**
 * Gives parts of a batch to a wallet of this browser, on pages that have them. What the wallet is asked for is the
 * export, as the server answers it. What the wallet says changes no state: the network shows the server what was paid.
 */
import {
  type BrowserWallet,
  nameOf,
  type Provider,
  switchTo,
  type WalletFault,
  walletFault,
  walletItem,
  type WantedChain
} from "../../../runtime/pages/island/BrowserWallets.ts"
import { makeReader } from "./Fragment.ts"
import { fillWalletLists } from "./WalletLists.ts"

interface Call {
  readonly to: string
  readonly value: string
  readonly data: string
}

/** The parameter of `wallet_sendCalls` (EIP-5792). */
interface Request {
  readonly id: string
  readonly from?: string
  readonly chainId: string
  readonly calls: ReadonlyArray<Call>
}

type Words = WalletFault | "asking" | "step" | "waiting" | "account" | "given" | "failed" | "sent"

/** Milliseconds between two questions to the wallet what became of calls, and how many there are at most. */
const pollMillis = 1_000
const maximumPolls = 900

const isHash = (text: unknown): text is string => typeof text === "string" && /^0x[0-9a-f]{64}$/i.test(text)

const pause = () => new Promise((resolve) => setTimeout(resolve, pollMillis))

/** Asks until there is an answer, or {@link maximumPolls} times. */
const poll = async <A>(ask: () => Promise<A | undefined>): Promise<A | undefined> => {
  for (let polls = 0; polls < maximumPolls; polls++) {
    const found = await ask()
    if (found !== undefined) return found
    await pause()
  }
  return undefined
}

/** Whether a transaction did what it should; undefined: no block has it yet. */
const outcomeOf = async (wallet: Provider, hash: string): Promise<boolean | undefined> => {
  const receipt = await wallet.request({ method: "eth_getTransactionReceipt", params: [hash] })
  return receipt ? Number(receipt.status) === 1 : undefined
}

const storageKey = (id: string): string => `tillwire_sent_${id}`

/** Transactions that were sent for an export, in the order of its calls: one that broke off goes on where it was. */
const readSentHashes = (id: string): ReadonlyArray<string> => {
  try {
    return JSON.parse(localStorage[storageKey(id)] ?? "[]")
  } catch {
    return []
  }
}

/** A browser that stores nothing asks for all calls again, which the contract refuses to pay twice. */
const saveSentHashes = (id: string, hashes: ReadonlyArray<string>): void => {
  try {
    localStorage[storageKey(id)] = JSON.stringify(hashes)
  } catch { /* see above */ }
}

/** The account that signs: the one of the export, or the first where anybody may. */
const accountFor = async (wallet: Provider, { from }: Request): Promise<string | undefined> => {
  const accounts: ReadonlyArray<string> = await wallet.request({ method: "eth_requestAccounts" })
  if (!accounts[0]) throw { code: 4100 }
  return from ? accounts.find((each) => each.toLowerCase() === from.toLowerCase()) : accounts[0]
}

/** Errors of EIP-5792 after which it is of no use to ask for the calls one by one: the person said no, or it has them. */
const isTerminalError = (error: any): boolean => walletFault(error) === "declined" || error?.code === 5720

// oxlint-disable-next-line max-lines-per-function -- the state of one press, and what shows it
export const startBatchSigning = (): void => {
  if (!document.getElementById("sign-note")) return
  const read = makeReader("dashboard-sign")
  let busyWallet: BrowserWallet | undefined
  let note = ""
  let tone = ""

  const showNote = () => {
    const box = document.getElementById("sign-note")
    if (!box) return
    box.hidden = !note
    box.className = `note ${tone}`
    box.textContent = note
  }

  const showMessage = (text: string, kind: "good" | "warn" | "") => {
    note = text
    tone = kind
    showNote()
  }

  const post = async (form: HTMLFormElement, fields: Readonly<Record<string, string>>) => {
    const body = new URLSearchParams({ ...Object.fromEntries(new FormData(form)) as object, ...fields })
    // A field of the form is called "action" too, and hides the form's own.
    const answer = await fetch(form.getAttribute("action")!, {
      method: "POST",
      body,
      signal: AbortSignal.timeout(30_000)
    })
    return read(await answer.text())
  }

  /** Where to look, for the server: it proves nothing. */
  const hint = (form: HTMLFormElement, hash: string) => post(form, { action: "sent", tx_hash: hash }).catch(() => null)

  /** All calls at once; undefined: the wallet does not take them so. */
  const sendTogether = async (wallet: Provider, payload: string) => {
    try {
      const sent = await wallet.request({ method: "wallet_sendCalls", params: JSON.parse(payload) })
      return String(sent?.id ?? sent)
    } catch (error) {
      if (isTerminalError(error)) throw error
      return undefined
    }
  }

  /** The last transaction of calls that were taken together, once a block has it; a wallet may not be able to say. */
  const lastHash = (wallet: Provider, id: string) =>
    poll(async () => {
      const found = await wallet.request({ method: "wallet_getCallsStatus", params: [id] }).catch(() => undefined)
      if (Number(found?.status) >= 400) throw { code: "failed" }
      return found?.receipts?.at(-1)?.transactionHash as string | undefined
    })

  /** Each call when the one before is in a block. Answers the last transaction. */
  const sendOneByOne = async (
    wallet: Provider,
    from: string,
    chain: WantedChain,
    { calls, id }: Request,
    onStep: (step: number, isAsked: boolean) => void
  ): Promise<string> => {
    const hashes = [...readSentHashes(id)]
    for (const [index, { data, to, value }] of calls.entries()) {
      const known = hashes[index]
      const isSent = known !== undefined && await outcomeOf(wallet, known).catch(() => undefined) !== false
      if (!isSent) {
        await switchTo(wallet, chain)
        onStep(index + 1, true)
        const hash = await wallet.request({ method: "eth_sendTransaction", params: [{ from, to, value, data }] })
        if (!isHash(hash)) throw {}
        hashes[index] = hash
        saveSentHashes(id, hashes)
      }
      if (index + 1 === calls.length) break
      onStep(index + 1, false)
      if (await poll(() => outcomeOf(wallet, hashes[index]!)) !== true) throw { code: "failed" }
    }
    return hashes.at(-1)!
  }

  const signWith = async (list: HTMLElement, wallet: BrowserWallet) => {
    const form = list.closest("form")!
    const texts: Record<Words, string> = JSON.parse(list.dataset["words"]!)
    const tell = (key: Words, more: Readonly<Record<string, string | number>> = {}) =>
      showMessage(
        texts[key].replace(/\{(\w+)\}/g, (_, name: string) => name === "wallet" ? nameOf(wallet) : String(more[name])),
        key === "sent" ? "good" : key === "asking" || key === "step" || key === "waiting" ? "" : "warn"
      )
    if (busyWallet) return tell("busy")
    busyWallet = wallet
    try {
      const answer = await post(form, { action: "export", format: "eip5792" })
      const exportElement = answer?.querySelector<HTMLElement>("[data-payload]")
      if (!exportElement) {
        return showMessage(answer?.querySelector("[role=alert]")?.textContent ?? texts.unknown, "warn")
      }
      const payload = exportElement.textContent!
      const [request] = JSON.parse(payload) as [Request]
      const { chainId } = request
      const add = exportElement.dataset["add"]
      const chain: WantedChain = { chainId, ...add ? { add: JSON.parse(add) as object } : {} }
      const { provider } = wallet
      const account = await accountFor(provider, request)
      if (!account) return tell("account", { account: request.from! })
      await switchTo(provider, chain)
      tell("asking")
      const hasOwn = readSentHashes(request.id).length > 0
      const id = hasOwn ? undefined : await sendTogether(provider, payload)
      const hash = id === undefined
        ? await sendOneByOne(
          provider,
          account,
          chain,
          request,
          (step, isAsked) => tell(isAsked ? "step" : "waiting", { step, steps: request.calls.length })
        )
        : (tell("sent"), await lastHash(provider, id))
      tell("sent")
      if (isHash(hash)) await hint(form, hash)
    } catch (error: any) {
      tell(error?.code === 5720 ? "given" : error?.code === "failed" ? "failed" : walletFault(error))
    } finally {
      busyWallet = undefined
    }
  }

  fillWalletLists(
    ".wallets[data-words]",
    (list, wallet) => walletItem(wallet, JSON.parse(list.dataset["words"]!).pay, (pressed) => signWith(list, pressed))
  )
  // A newer state of the page has taken the place of the one before.
  document.addEventListener("dashboard:change", showNote)
  showNote()
}
