/** What a wallet in the payor's browser is asked for, made of the link that a wallet elsewhere would open. Pure. */
import { type AddedChain, addedChainOf } from "../../../schemas/AddedChain.ts"
import type { Network } from "../../../schemas/Network.ts"
import type { Environment } from "../../../schemas/networks/Environment.ts"

/** A transfer for `eth_sendTransaction`; quantities are hexadecimal. Gas is the wallet's to choose. */
export interface WalletRequest {
  readonly chainId: string
  readonly to: string
  readonly value: string
  readonly data?: string
  /** The token's contract, whose balance is looked at first; absent: the network's coin. */
  readonly token?: string
  /** Base units that are needed of it. */
  readonly needs: string
  /** Absent for a private network: nobody else can reach it. */
  readonly add?: AddedChain
}

/** The links of `evmPaymentUri`: a token's transfer, or one of the coin. */
const tokenLink = /^ethereum:(0x[0-9a-fA-F]{40})@(\d+)\/transfer\?address=(0x[0-9a-fA-F]{40})&uint256=(\d+)$/
const coinLink = /^ethereum:(0x[0-9a-fA-F]{40})@(\d+)\?value=(\d+)$/

/** `transfer(address,uint256)` of ERC-20. */
const transferSelector = "0xa9059cbb"

const hexOf = (number: string): string => `0x${BigInt(number).toString(16)}`

/** A word of 32 bytes, without `0x`. */
const word = (hex: string): string => hex.slice(2).toLowerCase().padStart(64, "0")

/** The same transfer as a payment link's, for a wallet of this browser; null: the link is none of an EVM network. */
export const walletRequestOf = (
  uri: string | null,
  network: Network,
  environment: Environment
): WalletRequest | null => {
  const [, token, tokenChain = "", to = "", units = ""] = tokenLink.exec(uri ?? "") ?? []
  const [, account, coinChain = "", wei = ""] = coinLink.exec(uri ?? "") ?? []
  if (token === undefined && account === undefined) return null
  const chain = token === undefined ? coinChain : tokenChain
  const add = addedChainOf(network, environment, Number(chain))
  const more = { chainId: hexOf(chain), ...add === null ? {} : { add } }
  return token === undefined
    ? { ...more, to: account!, value: hexOf(wei), needs: hexOf(wei) }
    : {
      ...more,
      to: token,
      value: "0x0",
      data: transferSelector + word(to) + word(hexOf(units)),
      token,
      needs: hexOf(units)
    }
}
