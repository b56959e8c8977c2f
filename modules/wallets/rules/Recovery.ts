/**
 * The recovery document of a `forwarder` wallet: all that is needed to collect what lies on its addresses without this
 * service (modules/docs/reference/wallets.md#recovery). Pure.
 */
import type { Forwarder } from "../../../runtime/Chains.ts"
import type { ForwarderRecovery } from "../../../schemas/Wallet.ts"

/** `createdAt`: epoch seconds. */
export interface RecoveryFacts {
  readonly forwarder: Forwarder
  readonly nextIndex: number
  readonly isCurrent: boolean
  readonly recoveryConfirmedAt: number | null
  readonly createdAt: number
}

export const recoveryDocument = (
  { createdAt, forwarder, isCurrent, nextIndex, recoveryConfirmedAt }: RecoveryFacts
): ForwarderRecovery => ({
  collector: forwarder.collector,
  deployer: forwarder.deployer,
  payee: forwarder.payee,
  seed: `0x${forwarder.seed}`,
  next_index: nextIndex,
  init_code_hash: forwarder.initCodeHash,
  is_current: isCurrent,
  confirmed_at: recoveryConfirmedAt,
  created_at: createdAt
})

/**
 * What an owner sends back to show that the document is kept elsewhere: a hash of the parts that nobody can compute
 * again. It stands in no answer, so that only who has the document can name it. `hashOf`: SHA-256, hex.
 */
export const recoveryChecksum = (
  { collector, payee, seed }: Pick<Forwarder, "collector" | "payee" | "seed">,
  hashOf: (text: string) => string
): string => hashOf(`${collector}\n${payee}\n0x${seed}\n`)
