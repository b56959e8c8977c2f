/** What the simulated networks of one family have in common, and in what they differ from those of the others. */
import type { ChainDriver } from "../../../runtime/Chains.ts"
import { familyOf, type Network, networks } from "../../../schemas/Network.ts"
import { cardanoPaymentUri, solanaPaymentUri, suiPaymentUri, tonPaymentUri } from "../../../schemas/PaymentUri.ts"
import type { TokenType } from "../../../schemas/Token.ts"
import { type OtherFamily, type SimulatedFamily, solanaReference } from "./Wallets.ts"

/** How a chain of a family goes on, and what can go wrong with it. */
export interface FamilyTraits {
  readonly tokenTypes: ReadonlyArray<TokenType>
  /** Whether the newest blocks may be replaced by others. */
  readonly hasRollbacks: boolean
  /** Whether a single transaction may leave its block. */
  readonly hasDrops: boolean
  /** Blocks by which the finality mark is behind the head; null: the node knows no mark. */
  readonly finalityLagBlocks: number | null
  readonly nextHeight: (height: bigint) => bigint
}

const nextBlock = (height: bigint): bigint => height + 1n

/** Every fourth slot has no block, so that code that counts heights by one is found. */
const nextSlot = (height: bigint): bigint => height % 4n === 2n ? height + 2n : height + 1n

const familyTraits: Readonly<Record<SimulatedFamily, FamilyTraits>> = {
  evm: {
    tokenTypes: ["native", "erc20"],
    hasRollbacks: true,
    hasDrops: false,
    finalityLagBlocks: null,
    nextHeight: nextBlock
  },
  solana: {
    tokenTypes: ["native", "spl"],
    hasRollbacks: false,
    hasDrops: true,
    // Slots between `confirmed` and `finalized`: schemas/networks/solana.ts.
    finalityLagBlocks: 32,
    nextHeight: nextSlot
  },
  ton: {
    tokenTypes: ["native", "ton"],
    hasRollbacks: false,
    hasDrops: false,
    finalityLagBlocks: 0,
    nextHeight: nextBlock
  },
  sui: {
    tokenTypes: ["native", "sui"],
    hasRollbacks: false,
    hasDrops: false,
    finalityLagBlocks: 0,
    nextHeight: nextBlock
  },
  cardano: {
    tokenTypes: ["native"],
    hasRollbacks: true,
    hasDrops: false,
    finalityLagBlocks: null,
    nextHeight: nextBlock
  }
}

const isSimulatedFamily = (family: string): family is SimulatedFamily => family in familyTraits

/** Networks of the families that are known here. */
export const simulatedNetworks = networks.filter((network) => isSimulatedFamily(familyOf(network)))

/** The family of one of {@link simulatedNetworks}. */
export const simulatedFamilyOf = (network: Network): SimulatedFamily => familyOf(network) as SimulatedFamily

/** What its family is like, of one of {@link simulatedNetworks}. */
export const traitsOf = (network: Network): FamilyTraits => familyTraits[simulatedFamilyOf(network)]

/** `ChainDriver.paymentUri` of a family. */
export const paymentUriOf: Readonly<Record<OtherFamily, ChainDriver["paymentUri"]>> = {
  solana: (target, token, amount, words) =>
    solanaPaymentUri(target, token, amount, { ...words, reference: solanaReference(target) }),
  ton: tonPaymentUri,
  sui: suiPaymentUri,
  cardano: cardanoPaymentUri
}
