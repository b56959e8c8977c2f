/** A wallet in a browser that behaves as a test says, with an account of the node. */
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { DashboardTown } from "./DashboardTown.ts"

declare const window: any

/** Makes a wallet that behaves so announce itself, and sign by `window.node`, which asks the node. */
const announceWallet = ({ account, chainId, kind }: Record<string, string>) => {
  window.calls = []
  const fail = (code: number, message = "") => {
    throw Object.assign(new Error(message), { code })
  }
  let chain = kind === "elsewhere" || kind === "stuck" ? "0x1" : chainId
  const hashes: Array<string> = []
  const send = async (call: any) => {
    const hash = await window.node("eth_sendTransaction", call)
    hashes.push(hash)
    return hash
  }
  const answers: Record<string, (params: any) => unknown> = {
    eth_requestAccounts: () => kind === "other" ? ["0x00000000000000000000000000000000000000aa"] : [account],
    eth_chainId: () => chain,
    wallet_switchEthereumChain: ([to]) => {
      if (kind === "stuck") fail(4902)
      chain = to.chainId
      return null
    },
    wallet_addEthereumChain: () => fail(4200),
    wallet_sendCalls: async ([request]) => {
      if (kind === "declines") fail(4001)
      if (kind === "has-it") fail(5720)
      if (kind!.startsWith("old")) fail(-32601)
      for (const { data, to, value } of request.calls) await send({ from: account, to, value, data })
      return { id: request.id }
    },
    wallet_getCallsStatus: async () => {
      const receipts = await Promise.all(hashes.map((hash) => window.node("eth_getTransactionReceipt", hash)))
      return { status: receipts.every((receipt) => receipt) ? 200 : 100, receipts: receipts.filter((one) => one) }
    },
    eth_sendTransaction: ([call]) => {
      if (kind === "old-breaks" || (kind === "old" && window.breaks && hashes.length === 1)) fail(-32603, "lost")
      return send(call)
    },
    personal_sign: (params) => window.node("personal_sign", ...params),
    eth_getTransactionReceipt: ([hash]) => window.node("eth_getTransactionReceipt", hash)
  }
  const provider = {
    request: async ({ method, params }: { method: string; params?: unknown }) => {
      window.calls.push({ method, params })
      return (answers[method] ?? (() => fail(4200)))(params)
    }
  }
  const detail = Object.freeze({
    info: { uuid: "1", name: "MetaMask", rdns: "io.metamask", icon: "data:image/png;base64,iVBORw0KGgo=" },
    provider
  })
  window.addEventListener(
    "eip6963:requestProvider",
    () => window.dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }))
  )
}

/** Gives a page a wallet that behaves so, from its next load on. */
export const giveWallet = (page: Page, kind: string) =>
  Effect.gen(function*() {
    const { node, wallet } = yield* DashboardTown
    const ask = (method: string, ...params: ReadonlyArray<unknown>) => Effect.runPromise(node.rpc(method, ...params))
    yield* Effect.promise(async () => {
      await page.exposeFunction("node", ask)
      const chainId = `0x${node.chainId.toString(16)}`
      await page.addInitScript(announceWallet, { account: wallet, chainId, kind })
      await page.reload()
    })
  })

/** What the page has asked of its wallet. */
export const callsOf = (page: Page): Promise<ReadonlyArray<{ method: string; params: any }>> =>
  page.evaluate(() => window.calls)
