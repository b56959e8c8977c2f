/** Receiving wallets: what a merchant gives so that funds arrive at addresses whose keys are not here. */
import { Schema } from "effect"
import { EpochSeconds } from "./Ids.ts"
import { Environment, Family } from "./Network.ts"
import { PendingChange } from "./PendingChange.ts"

/**
 * What the value is: `xpub` an account's extended public key, an address for each invoice is derived from it; `pool` a
 * list of addresses, each given to one invoice; `address` one address for all, where a memo or reference tells payments
 * apart; `forwarder` the owner's own address, and each invoice gets an address of a contract that can pay to it only.
 * Which of them a family takes is the family's own affair (modules/docs/reference/wallets.md#kinds).
 */
export const WalletKind = Schema.Literals(["xpub", "address", "pool", "forwarder"])
export type WalletKind = typeof WalletKind.Type

/** Why a family without contracts takes no {@link WalletKind} `forwarder`. */
export const noForwarders =
  "a forwarder is a contract, and only EVM networks have them: give this family's own kind of wallet"

/** `wal_<uuid>`. */
export const WalletId = Schema.String.check(
  Schema.isPattern(/^wal_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/)
)

/** Addresses of a wallet that are shown for comparison with the owner's own wallet, at most. */
export const shownAddresses = 3

/** A receiving wallet as it is shown: enough to recognise it, never the value itself. */
export const ReceivingWallet = Schema.Struct({
  id: WalletId,
  family: Family,
  kind: WalletKind,
  environment: Environment,
  value_preview: Schema.String.annotate({ description: "Start and end of the value, to recognise it by" }),
  first_addresses: Schema.Array(Schema.String).check(Schema.isMaxLength(shownAddresses)).annotate({
    description: "The first addresses of the wallet, at most three: compare them with what your own wallet shows"
  }),
  payee: Schema.NullOr(Schema.String).annotate({
    description: "Of a `forwarder`, the one address that its addresses can pay to: compare it in their place. Else null"
  }),
  next_index: Schema.Int.annotate({ description: "Index of the address the next invoice is given" }),
  highest_used_index: Schema.NullOr(Schema.Int).annotate({
    description: "Highest index that was paid to; null: none yet. Set your own wallet's gap limit beyond it"
  }),
  addresses_left: Schema.NullOr(Schema.Int).annotate({
    description:
      "Addresses that can still be given to invoices, at most: the rest of a list, or up to the gap limit of the " +
      "family's wallets. At 0 no other invoice gets an address. Null: without end"
  }),
  created_at: EpochSeconds,
  pending_change: Schema.NullOr(PendingChange).annotate({
    description:
      "Of a wallet that does not receive yet: what it waits for to take the place of the one that does. Null: " +
      "it receives"
  })
}).annotate({
  identifier: "ReceivingWallet",
  description: "Where funds of one network family arrive.",
  examples: [{
    id: "wal_0198c0de-0000-7000-8000-000000000001",
    family: "evm",
    kind: "xpub",
    environment: "devnet",
    value_preview: "xpub6Ce9NcJv…sJxqP",
    first_addresses: [
      "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
      "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
      "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
    ],
    payee: null,
    next_index: 12,
    highest_used_index: 9,
    addresses_left: null,
    created_at: 1_766_320_496,
    pending_change: null
  }]
})
export type ReceivingWallet = typeof ReceivingWallet.Type

export const forwarderRecoveryExample = {
  collector: "0x7A8c3658258FE04EE067A7D8FC74CE54DA169dAC",
  deployer: "0x4e59b44847b379578588920cA78FbF26c0B4956C",
  payee: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
  seed: "0x5b1f3c0de29a4f7786c1d0a9e4b35f60718293a4b5c6d7e8f90a1b2c3d4e5f60",
  next_index: 12,
  init_code_hash: "0xd4af28e8f1a064705ec952db0261ef9b2a764944f199a76c948d448624d84323",
  is_current: true,
  confirmed_at: null,
  created_at: 1_766_320_496
}

const Bytes32 = Schema.String.check(Schema.isPattern(/^0x[0-9a-f]{64}$/))

/** What is needed to collect what lies on the addresses of a forwarder, with no service of ours. */
export const ForwarderRecovery = Schema.Struct({
  collector: Schema.String.annotate({ description: "The contract that anybody may call to collect" }),
  deployer: Schema.String.annotate({ description: "The contract by which anybody may put the collector on a network" }),
  payee: Schema.String.annotate({ description: "Whom every address pays" }),
  seed: Bytes32.annotate({
    description: "What the addresses are made of beside the payee. Who has it can move money to " +
      "the payee only, and can tell which addresses are yours"
  }),
  next_index: Schema.Int.annotate({
    description: "Index of the address the next invoice is given; look past it until " +
      "1,000 addresses in a row are empty"
  }),
  init_code_hash: Bytes32.annotate({ description: "keccak-256 of the code that makes an address's contract" }),
  is_current: Schema.Boolean.annotate({ description: "Whether invoices are given addresses of it now" }),
  confirmed_at: Schema.NullOr(EpochSeconds).annotate({
    description: "When you showed that you keep this document; null: " +
      "not yet. On mainnet no address is given out before"
  }),
  created_at: EpochSeconds
}).annotate({
  identifier: "ForwarderRecovery",
  description: "Keep it where you keep what must not be lost: without it, and without this service, the money on the " +
    "addresses of this wallet cannot be moved.",
  examples: [forwarderRecoveryExample]
})
export type ForwarderRecovery = typeof ForwarderRecovery.Type

/** A forwarder whose owner has shown that its recovery document is kept elsewhere. */
export const ConfirmedForwarder = Schema.Struct({
  payee: Schema.String.annotate({ description: "Whom the addresses of the forwarder pay" }),
  confirmed_at: EpochSeconds
}).annotate({
  identifier: "ConfirmedForwarder",
  examples: [{ payee: forwarderRecoveryExample.payee, confirmed_at: 1_766_320_496 }]
})
export type ConfirmedForwarder = typeof ConfirmedForwarder.Type

/** What shows that an address pays to its payee: two hashes that anybody can compute again. */
export const ForwarderProof = Schema.Struct({
  address: Schema.String,
  payee: Schema.String,
  salt: Bytes32,
  collector: Schema.String,
  init_code_hash: Bytes32
}).annotate({
  identifier: "ForwarderProof",
  description:
    "`address` is the end of keccak256(0xff, collector, keccak256(abi.encode(payee, salt)), init_code_hash) (EIP-1014).",
  examples: [{
    address: "0x7B2e93C8f0D1a6B5E4F3029182736455463728aB",
    payee: forwarderRecoveryExample.payee,
    salt: "0x0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0",
    collector: forwarderRecoveryExample.collector,
    init_code_hash: forwarderRecoveryExample.init_code_hash
  }]
})
export type ForwarderProof = typeof ForwarderProof.Type
