/** Which addresses a refund may go to: a wallet of somebody else's, on any network the service knows. */
import { Effect } from "effect"
import type { Chains } from "../../../runtime/Chains.ts"
import type { Screening } from "../../../runtime/Screening.ts"
import type { TokenCatalog } from "../../../runtime/TokenCatalog.ts"
import { readAddress } from "../../../schemas/Address.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { descriptorOf, type Environment, familyOf, familyRecord, type Network } from "../../../schemas/Network.ts"

/**
 * Why an address of the right form is no destination of a refund; `details.reason` of the error says which. Of a listed
 * one nobody is told more: the payor reads it too, and need not know which lists the operator keeps.
 */
const refusals = {
  receive_address:
    "address: payments are received at it, so a refund would come back: give an address of the payor's own wallet",
  not_a_wallet: "address: it is a token, a token account or another contract, where money would be lost: give the " +
    "address that the payor's own wallet shows for receiving",
  refused: "address: refunds cannot be sent to it: give another address of the payor's own wallet"
} as const

export type RefusedAddress = keyof typeof refusals

const refuse = (reason: RefusedAddress, message: string = refusals[reason]): PublicError =>
  publicError("WALLET_ADDRESS_INVALID", { message, param: "address", details: { reason } })

const tokenRefusal = "address: it is the contract of a token, where money would be lost: give the address that the " +
  "payor's own wallet shows for receiving"

const burnRefusal =
  "address: nobody has a key for it, so money that is sent there is lost: give the address that the " +
  "payor's own wallet shows for receiving"

const contractRefusal =
  "address: it is a contract that this service pays and collects with, where money would be lost: " +
  "give the address that the payor's own wallet shows for receiving"

/** Why a text is no address of the network. Only what a person can put right is told apart. */
const noAddress = (network: Network, environment: Environment, text: string): PublicError => {
  const lower = text.toLowerCase()
  const { label } = descriptorOf(network)
  return publicError("WALLET_ADDRESS_INVALID", {
    param: "address",
    message: /^0x0+$/.test(text)
      ? "address: it is the zero address, which nobody owns: give the address that the payor's own wallet shows for receiving"
      : lower !== text && readAddress(network, environment, lower) !== null
      ? "address: its checksum is wrong, which is the case of its letters: a character may be mistyped. Copy it again from " +
        "the wallet"
      : `address: it is not the address of a wallet on ${label}, or its checksum is wrong: copy it again from the wallet`
  })
}

/** Which refusal an error is; null for what is no address of the network at all, and for every other error. */
export const refusedAddressOf = ({ code, details }: PublicError): RefusedAddress | null => {
  const reason = code === "WALLET_ADDRESS_INVALID" ? details?.["reason"] : undefined
  return reason === "receive_address" || reason === "not_a_wallet" || reason === "refused" ? reason : null
}

/** What reading a destination takes. */
export interface RefundAddressServices {
  readonly catalog: TokenCatalog["Service"]
  readonly chains: Chains["Service"]
  readonly screening: Screening["Service"]
}

/** Whether an address names the contract of a token in the catalogue, on whatever network of the family. */
const isTokenContract = (
  catalog: TokenCatalog["Service"],
  network: Network,
  environment: Environment,
  address: string
): boolean => {
  const family = familyOf(network)
  const { accountKey, contractKey } = familyRecord(family)
  const key = accountKey(address)
  return catalog.list(environment).some((token) =>
    token.address !== null && familyOf(token.network) === family && contractKey(token.address) === key
  )
}

/**
 * Reads where a refund shall go. Errors: `WALLET_ADDRESS_INVALID` for what is no address, and for one that is a token's
 * contract, a token account, one of ours in whatever form (modules/docs/reference/refunds.md#destination), or a listed
 * one; `NETWORK_DEGRADED` and `SERVICE_UNAVAILABLE` where the chain or screening has to be asked and does not answer.
 */
export const readRefundAddress = Effect.fnUntraced(function*(
  { catalog, chains, screening }: RefundAddressServices,
  network: Network,
  environment: Environment,
  text: string
): Effect.fn.Return<string, PublicError> {
  const address = readAddress(network, environment, text)
  if (address === null) return yield* noAddress(network, environment, text)
  const { accountKey, burnAddresses = [], isWallet, ownContracts = [] } = familyRecord(familyOf(network))
  if (burnAddresses.includes(accountKey(address))) return yield* refuse("not_a_wallet", burnRefusal)
  if (ownContracts.includes(accountKey(address))) return yield* refuse("not_a_wallet", contractRefusal)
  if (yield* chains.isReceiveAddress(network, environment, address)) return yield* refuse("receive_address")
  if (isTokenContract(catalog, network, environment, address)) return yield* refuse("not_a_wallet", tokenRefusal)
  if (!isWallet(address) || (yield* chains.isTokenAccount(network, environment, address))) {
    return yield* refuse("not_a_wallet")
  }
  if (yield* screening.isListed(network, environment, [address])) return yield* refuse("refused")
  return address
})
