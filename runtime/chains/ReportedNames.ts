/** A transaction and a receiver as a report names them, in the spelling of the journal. */
import { descriptorOf, type Environment, type Network } from "../../schemas/Network.ts"

/**
 * The match key that a text names: an address as payors and the API show it, in any form of its family; behind a `:`
 * the memo, where a wallet's invoices are told apart by one. Any other text is a match key already, or nobody's.
 */
export const reportedMatchKey = (network: Network, environment: Environment, text: string): string => {
  const { accountKey, hasMemo, isCaseSensitive, readAddress } = descriptorOf(network).family
  const address = readAddress(text, environment)
  if (address !== null) return accountKey(address)
  // An address may have a `:` of its own, and no memo has.
  const end = hasMemo ? text.lastIndexOf(":") : -1
  const wallet = end === -1 ? null : readAddress(text.slice(0, end), environment)
  if (wallet !== null) return `${accountKey(wallet)}:${text.slice(end + 1).toUpperCase()}`
  return isCaseSensitive ? text : text.toLowerCase()
}

/** What is wrong with a hash that no transaction of the network can have, for messages. */
export const hashRefusal = (network: Network): string => {
  const { name, transactionHashForm } = descriptorOf(network).family
  return `\`tx_hash\` is no hash of a transaction on ${name}: write ${transactionHashForm}`
}

/** The hash of a transaction in the one spelling that the network's drivers tell of; null: no transaction has it. */
export const reportedHash = (network: Network, text: string): string | null =>
  descriptorOf(network).family.readTransactionHash(text)
