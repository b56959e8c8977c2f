/** Receiving wallets: what a merchant gives so that funds arrive at addresses whose keys are not here. */
import { Schema } from "effect"
import { EpochSeconds } from "./Ids.ts"
import { Environment, Family } from "./Network.ts"

/**
 * What the value is: `xpub` an account's extended public key, an address for each invoice is derived from it; `pool` a
 * list of addresses, each given to one invoice; `address` one address for all, where a memo or reference tells payments
 * apart. Which of them a family takes is the family's own affair (modules/docs/reference/wallets.md#kinds).
 */
export const WalletKind = Schema.Literals(["xpub", "address", "pool"])
export type WalletKind = typeof WalletKind.Type

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
  next_index: Schema.Int.annotate({ description: "Index of the address the next invoice is given" }),
  highest_used_index: Schema.NullOr(Schema.Int).annotate({
    description: "Highest index that was paid to; null: none yet. Set your own wallet's gap limit beyond it"
  }),
  addresses_left: Schema.NullOr(Schema.Int).annotate({
    description:
      "Addresses that can still be given to invoices, at most: the rest of a list, or up to the gap limit of the " +
      "family's wallets. At 0 no other invoice gets an address. Null: without end"
  }),
  created_at: EpochSeconds
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
    next_index: 12,
    highest_used_index: 9,
    addresses_left: null,
    created_at: 1_766_320_496
  }]
})
export type ReceivingWallet = typeof ReceivingWallet.Type
