/**
 * The recovery page: it collects from a recovery document alone, by the merchant's browser wallet, and asks no service.
 * Its policy forbids it every connection, so that the document stays in it.
 */
import { hexToBytes } from "@noble/hashes/utils.js"
import { nativeCoin } from "../CollectCall.ts"
import { maximumAddressesPerCall } from "../Contracts.ts"
import collectorBuild from "../contracts/Collector.json" with { type: "json" }
import { type ForwarderAddress, forwarderList, forwarders } from "../Forwarder.ts"
import { collectorOn, messageOf, type Provider } from "./BrowserWallet.ts"
import { readRecoveryDocument, readTokens, type RecoveryDocument } from "./RecoveryDocument.ts"
import { afterStep, findHolding, startScan, stepSize } from "./Scan.ts"

type Collecting = ReturnType<typeof collectorOn>

const element = <Name extends HTMLElement>(id: string): Name => document.getElementById(id) as Name

const documentField = element<HTMLTextAreaElement>("document")
const tokensField = element<HTMLTextAreaElement>("tokens")
const lookButton = element<HTMLButtonElement>("look")
const deployButton = element<HTMLButtonElement>("deploy")
const collectButton = element<HTMLButtonElement>("collect")
const status = element("status")
const table = element("found")
const rows = element("rows")

const say = (text: string): void => {
  status.textContent = text
}

/** What was found, with which tokens: what `Collect` collects. */
let found: { collecting: Collecting; tokens: ReadonlyArray<string>; entries: ReadonlyArray<ForwarderAddress> } | null =
  null

/** Where the Collector is missing. */
let missingOn: Collecting | null = null

const connect = async (payee: string): Promise<Collecting> => {
  const provider = (window as { ethereum?: Provider }).ethereum
  if (provider === undefined) throw new Error("No wallet is in this browser: open the page where yours is.")
  const accounts = await provider.request({ method: "eth_requestAccounts" }) as ReadonlyArray<string>
  if (accounts[0] === undefined) throw new Error("The wallet gave no account: unlock it, and look again.")
  return collectorOn(provider, accounts[0], payee)
}

/** The highest index that was used and is empty now: only a collected address has code. */
const lastWithCode = async (collecting: Collecting, entries: ReadonlyArray<ForwarderAddress>) => {
  const codes = await Promise.all(entries.map(({ address }) => collecting.hasCode(address)))
  return entries[codes.lastIndexOf(true)]?.index ?? null
}

const scan = async (
  collecting: Collecting,
  { nextIndex, payee, seed }: RecoveryDocument,
  tokens: ReadonlyArray<string>
): Promise<ReadonlyArray<ForwarderAddress>> => {
  const addresses = forwarders(payee, hexToBytes(seed.slice(2)))
  const holding: Array<ForwarderAddress> = []
  let state = startScan(nextIndex)
  for (let size = stepSize(state); size > 0; size = stepSize(state)) {
    say(`Looking at the addresses from ${state.index} on, to ${state.end - 1}: ${holding.length} hold something.`)
    const entries = forwarderList(addresses, state.index, size)
    const here = await findHolding(entries, tokens.length, (some) => collecting.count(tokens, some))
    holding.push(...here)
    const behind = entries.filter(({ index }) => index >= nextIndex)
    const lastCode = behind.length === 0 ? null : await lastWithCode(collecting, behind)
    const lastHolding = here.at(-1)?.index ?? null
    const lastUsed = lastCode === null ? lastHolding : Math.max(lastCode, lastHolding ?? 0)
    state = afterStep(state, lastUsed)
  }
  return holding
}

const show = (entries: ReadonlyArray<ForwarderAddress>): void => {
  rows.replaceChildren(...entries.map(({ address, index }) => {
    const row = document.createElement("tr")
    for (const text of [String(index), address]) {
      const cell = document.createElement("td")
      cell.textContent = text
      row.append(cell)
    }
    return row
  }))
  table.hidden = entries.length === 0
  collectButton.hidden = entries.length === 0
}

const look = async (): Promise<void> => {
  found = null
  show([])
  deployButton.hidden = true
  const read = readRecoveryDocument(documentField.value)
  if (typeof read === "string") return say(read)
  const named = readTokens(tokensField.value)
  if (typeof named === "string") return say(named)
  const collecting = await connect(read.payee)
  if (!await collecting.isDeployed()) {
    deployButton.hidden = false
    missingOn = collecting
    return say("The Collector is not on this network yet. Anybody may put it there: it takes one transaction.")
  }
  const tokens = [nativeCoin, ...named]
  const entries = await scan(collecting, read, tokens)
  found = { collecting, tokens, entries }
  show(entries)
  const count = `${entries.length} ${entries.length === 1 ? "address holds" : "addresses hold"} something`
  say(entries.length === 0 ? "Nothing lies on the addresses of this document, on this network." : `${count}.`)
}

const deploy = async (): Promise<void> => {
  if (missingOn === null) return
  say("Sign the transaction in your wallet.")
  await missingOn.deploy(collectorBuild.bytecode)
  await look()
}

const collect = async (): Promise<void> => {
  if (found === null) return
  const { collecting, entries, tokens } = found
  const signatures = Math.ceil(entries.length / maximumAddressesPerCall)
  for (let part = 0; part < signatures; part++) {
    say(`Sign transaction ${part + 1} of ${signatures} in your wallet.`)
    const start = part * maximumAddressesPerCall
    await collecting.collect(tokens, entries.slice(start, start + maximumAddressesPerCall))
  }
  found = null
  show([])
  say(`Collected from ${entries.length} addresses.`)
}

const buttons = [lookButton, deployButton, collectButton]

/** One act at a time; what goes wrong is shown. */
const act = async (run: () => Promise<void>): Promise<void> => {
  for (const button of buttons) button.disabled = true
  try {
    await run()
  } catch (error) {
    say(messageOf(error))
  }
  for (const button of buttons) button.disabled = false
}

lookButton.addEventListener("click", () => void act(look))
deployButton.addEventListener("click", () => void act(deploy))
collectButton.addEventListener("click", () => void act(collect))
