/**
 * Chains: drivers register, one follower per network keeps a cursor and a journal of transfers to our addresses, and
 * whoever credits payments hears of each transfer until it says, in its own commit, that it has dealt with it.
 */
// oxlint-disable max-lines -- one port: what drivers and callers promise each other is read in one place
import { Context, type Effect, type Scope, type Stream } from "effect"
import type { Write } from "./Commit.ts"
import type { Environment, Family, Network, RequiredDepth } from "../schemas/Network.ts"
import type { BaseUnits, UsdMillis } from "../schemas/Money.ts"
import type { Token, TokenType } from "../schemas/Token.ts"
import type { ForwarderProof, WalletKind } from "../schemas/Wallet.ts"
import type { PublicError } from "../schemas/Errors.ts"
import type { BlockPoint, ChainPoint } from "./chains/Points.ts"
import type { DriverError } from "./chains/DriverError.ts"
import type { PayoutDriver } from "./Payouts.ts"

export { DriverError, DriverErrorKind, isOutage, noStoredBlock } from "./chains/DriverError.ts"
export type { BlockPoint, ChainPoint } from "./chains/Points.ts"

/** What a payor is asked to send to. Unique on (family, matchKey) in the whole deployment. */
export interface ReceiveTarget {
  /** Display form, checksummed. */
  readonly address: string
  /**
   * What transfers are matched by: `accountKey` of the family (schemas/networks/NetworkFamily.ts) of the address, or,
   * where one wallet serves many invoices, what the driver makes of the wallet and the memo.
   */
  readonly matchKey: string
  readonly memo: string | null
}

/** A transfer as a driver saw it; `(txHash, index)` is stable when a reorg includes it again. */
export interface ObservedTransfer {
  /** `balance:<address>:<height>` where only a difference of balances is known. */
  readonly txHash: string
  /** Tells the transfers of one transaction apart: the driver's own, and the same whenever it is read. */
  readonly index: number
  readonly kind: "direct" | "internal"
  /** A target's; of money that came to a {@link SharedWallet} and names no invoice, the wallet's `accountKey`. */
  readonly matchKey: string
  /** In the one spelling of its family, by `tokenAddress` of schemas/Token.ts; null for the native coin. */
  readonly tokenAddress: string | null
  readonly amount: BaseUnits
  readonly from: string | null
  /** Its block, on a chain that is read by account; absent on one read by block: the block it comes with. */
  readonly at?: BlockPoint
  /** Texts that it carries for its receiver, as they are; only where {@link WatchSet.showsMemos} asks for them. */
  readonly memos?: ReadonlyArray<string>
}

/** What distinguishes one transfer from every other. */
export type TransferIdentity = Pick<ObservedTransfer, "index" | "matchKey" | "txHash">

/** A transfer that names its block. */
export type LocatedTransfer = ObservedTransfer & { readonly at: BlockPoint }

/** What following a chain yields, in order. Heights rise with every `Forward`, by whatever step. */
export type ChainEvent =
  | {
    readonly _tag: "Forward"
    readonly point: ChainPoint
    /** Epoch seconds of the block. */
    readonly time: number
    readonly transfers: ReadonlyArray<ObservedTransfer>
    /** True while catching up: the cursor need not be stored for an empty block. */
    readonly isCatchingUp: boolean
    /**
     * Epoch seconds: every transfer of this second or an earlier one was emitted. Absent: of the second before `time`.
     * For a chain whose nodes show an account's transfers later than its blocks.
     */
    readonly seenUntil?: number
  }
  /**
   * Everything after `to` is undone. `to`: a point that was told, or one of those that `follow` was given; below
   * height 0 where the chain was started anew.
   */
  | { readonly _tag: "Rollback"; readonly to: ChainPoint }
  /** These transfers have left the chain alone: what lies beside them stays. */
  | { readonly _tag: "Gone"; readonly transfers: ReadonlyArray<TransferIdentity> }
  /**
   * Heights the network itself marks; null where the node does not know the mark. The last event of every successful
   * look at the chain, even when nothing moved: it is also the sign of life, and says that the chain was read up to the
   * head, or a part of it where a `Forward` of the look was `isCatchingUp`. A look that saw blocks and could not read
   * them tells its `Condition` instead.
   */
  | { readonly _tag: "Finality"; readonly finalized: bigint | null }
  /** How the endpoints stand to each other, sent when it changes. A driver that sends none is always `ok`. */
  | { readonly _tag: "Condition"; readonly condition: DriverCondition }

/**
 * What endpoints have in a block that was read before. `Agreed`: more of those that answer have it than have another
 * block there, and an endpoint beside the one it was read from is among them; `Alone`: only the one it was read from
 * has shown it again, and no other can; `Disagreed`: others have another block, or one that was there a moment ago does
 * not answer; `Unavailable`: no other has answered for long.
 */
export type Corroboration =
  | {
    readonly _tag: "Agreed" | "Alone"
    /** Epoch seconds of the block. */
    readonly time: number
    /**
     * The transfers to watched addresses as each endpoint shows them; of one that shows its reading to be incomplete,
     * none.
     */
    readonly readings: ReadonlyArray<ReadonlyArray<ObservedTransfer>>
    /** Every configured endpoint has answered. */
    readonly hasAllAnswers: boolean
  }
  | { readonly _tag: "Disagreed" }
  | { readonly _tag: "Unavailable" }

/** A transfer of a token to a watched address, as a search shows it: its index in its transaction is not known. */
export interface FoundTransfer {
  readonly point: ChainPoint
  readonly txHash: string
  readonly matchKey: string
  readonly tokenAddress: string
  readonly amount: bigint
}

/** What a search of blocks came to. */
export interface SearchResult {
  readonly transfers: ReadonlyArray<FoundTransfer>
  /** Only endpoints that the blocks were read from were asked: every other one is away, or stands still. */
  readonly isSingleSource: boolean
}

/** One block as a driver reads it when it is asked for by its height. */
export interface BlockReading {
  readonly point: ChainPoint
  /** Epoch seconds of the block. */
  readonly time: number
  readonly transfers: ReadonlyArray<ObservedTransfer>
}

/** A target as it was given out, for the life of its invoice. */
export interface AllocatedTarget extends ReceiveTarget {
  /** Ids of tokens that the merchant refused when the target was given out: a transfer of one is not credited. */
  readonly refusedTokens: ReadonlyArray<number>
  /** {@link IndexedWallet.fingerprint} of the wallet that it is of. */
  readonly fingerprint: string
}

/** An account that receives, for drivers that ask the chain for accounts. */
export interface WatchedAccount {
  /** Match key of the target that is this account, or a {@link SharedWallet}'s `accountKey`. */
  readonly key: string
  /** An invoice may still be paid there. One that is not open is looked at too, though seldom. */
  readonly isOpen: boolean
}

/** Answers whether an address is ours, from memory. */
export interface WatchSet {
  readonly has: (matchKey: string) => boolean
  /** Whether transfers are wanted with the texts they carry, where the family's do. Absent: they are not. */
  readonly showsMemos?: boolean
  /** Each account once, the open ones first; the same array while nothing changed. Only where a driver's history is by
   * account, else empty. */
  readonly accounts: () => ReadonlyArray<WatchedAccount>
  /** Addresses of the tokens in the catalogue of the network, in the one spelling of its family. */
  readonly tokens: () => ReadonlyArray<string>
  /**
   * Transfers above a height that the journal holds and that were not taken back, the lowest first, at most 1,000: for
   * a driver that has to look, also after a restart, whether each of them stays on the chain.
   */
  readonly transfersAbove: (
    height: bigint
  ) => Effect.Effect<ReadonlyArray<TransferIdentity & { readonly height: bigint }>>
  /**
   * Learns the targets other instances allocated. A driver that reads blocks runs it AFTER it has read a block and
   * BEFORE it matches; one that asks for accounts AFTER it has read the head and BEFORE it asks: an address is told to
   * a payor only once it is committed, so no payment up to there can be to a target this look does not find. One small
   * query.
   */
  readonly refresh: Effect.Effect<void>
}

/** Where funds arrive for one family: addresses whose private keys are not here. */
export type WalletRef = IndexedWallet | SharedWallet

/**
 * What makes the addresses of a `forwarder` wallet. Who has it can collect what lies on them to the payee, and to
 * nobody else; who has lost it cannot, so it is kept for ever (modules/docs/reference/wallets.md#forwarders).
 */
export interface Forwarder {
  /** Whom every address pays, in the one spelling of its family. */
  readonly payee: string
  /** 32 random bytes, hex: nobody who lacks them can tell which addresses are the payee's. */
  readonly seed: string
  /** The contract that anybody may call to collect, and the one that it was made by. */
  readonly collector: string
  readonly deployer: string
  /** keccak-256 of the code that makes an address's contract, `0x` hex. */
  readonly initCodeHash: string
  /** The salt of an address, `0x` hex. Pure. */
  readonly saltOf: (index: number) => string
}

/** A wallet with an address for each invoice, given out by a counter. */
export interface IndexedWallet {
  readonly _tag: "IndexedWallet"
  /**
   * Same wallet, same fingerprint, whoever configures it: the counter's key. No other wallet of any family or kind has
   * it, so it is a hash of the wallet's public parts, all of them, under a name of their own; it is stored as it is.
   */
  readonly fingerprint: string
  /**
   * Pure, and of the index alone: addresses are watched before an invoice asks. `index`: 0 to `size`, and below 2^31.
   */
  readonly derive: (index: number) => ReceiveTarget
  /** The counter never stands below it, also when it is raised later. */
  readonly startIndex: number
  /** Addresses it has; null: as many as are asked for. */
  readonly size: number | null
  /**
   * Unused addresses in a row after which the family's wallets look no further (BIP-44, "address gap limit"): no more
   * than so many beyond the last one that was paid to are given out. Null: its wallets can be told how far to look.
   */
  readonly gapLimit: number | null
  /** Absent: the owner has the keys of the addresses. */
  readonly forwarder?: Forwarder
}

/**
 * Addresses of a wallet with an end that invoices which anybody can make do not get, so that strangers cannot use up
 * all of it: a quarter of those that it can give out at once, rounded down.
 */
export const reservedAddresses = (
  { gapLimit, size, startIndex }: Pick<IndexedWallet, "gapLimit" | "size" | "startIndex">
): number => {
  const left = size === null ? Number.POSITIVE_INFINITY : Math.max(0, size - startIndex)
  const most = Math.min(gapLimit ?? Number.POSITIVE_INFINITY, left)
  return Number.isFinite(most) ? Math.floor(most / 4) : 0
}

/** A wallet of one address, where a memo tells the invoices apart. */
export interface SharedWallet {
  readonly _tag: "SharedWallet"
  /** As {@link IndexedWallet.fingerprint}. */
  readonly fingerprint: string
  readonly address: string
  /** Match key of what comes to the address and names no invoice. */
  readonly accountKey: string
  /**
   * Pure, and of the invoice's id alone, never of a counter: two deployments may share the wallet, and a restored
   * backup must not give a memo out twice.
   */
  readonly targetOf: (invoiceId: string) => ReceiveTarget
}

/** Whose wallet is asked for. */
export interface WalletOwner {
  readonly merchantId: number
  readonly environment: Environment
  readonly family: Family
}

/** What a network knows of the contracts that a `forwarder` wallet needs. */
export interface ForwarderFacts {
  /** Whether the contract that collects is there, with the very code that it must have. */
  readonly hasCollector: boolean
  /** Whether the payee is a contract there: one that is not on another network cannot be paid there. */
  readonly isPayeeContract: boolean
  /** Whether the payee takes the network's own coin. */
  readonly takesCoin: boolean
}

/**
 * Why nothing can be received in a wallet on a network now, though it runs there: `COLLECTOR_MISSING` nobody has put
 * the contract there that collects; `PAYEE_MISSING` the payee is a contract that is on another network only;
 * `PAYEE_REFUSES_COIN` of the network's own coin; `RECOVERY_UNCONFIRMED` the owner has not shown that what the wallet
 * is collected by is kept elsewhere; `NETWORK_DEGRADED` the network could not be asked.
 */
export type ReceivingObstacle =
  | "COLLECTOR_MISSING"
  | "PAYEE_MISSING"
  | "PAYEE_REFUSES_COIN"
  | "RECOVERY_UNCONFIRMED"
  | "NETWORK_DEGRADED"

/** A wallet that was ever set. */
export interface WalletRecord {
  readonly wallet: WalletRef
  /** Of a forwarder: its payee was a contract on some network when it was set. */
  readonly isPayeeContract: boolean
  /** False: its addresses must not be paid yet ({@link ReceivingObstacle}, `RECOVERY_UNCONFIRMED`). */
  readonly mayReceive: boolean
}

/** Who knows the merchants' own wallets. */
export interface MerchantWallets {
  /** The wallet that receives now; null: the merchant has none of its own. */
  readonly current: (owner: WalletOwner) => Effect.Effect<WalletRef | null>
  /** Any wallet that was ever set, by its fingerprint; null: none has it. */
  readonly withFingerprint: (fingerprint: string) => Effect.Effect<WalletRecord | null>
}

/** How far a wallet has been given out. */
export interface WalletUse {
  /** Null: its counter has not started. */
  readonly nextIndex: number | null
  /** Highest index that was ever paid to and not reverted; null: none. */
  readonly highestUsedIndex: number | null
}

/**
 * Why a wallet cannot be its owner's. `in_use`: another wallet of the deployment has the address; whose it is nobody is
 * told. `given_out`: an invoice has the address alone, so it cannot be shared. `shared`: many invoices share the
 * address, so it cannot be given to one. `too_many`: the merchant would have named more than `limit` addresses.
 */
export type AddressConflict =
  | {
    readonly reason: "in_use" | "given_out" | "shared"
    /** Which of the wallet's addresses it is; 0 for a wallet of one. */
    readonly index: number
    /** As it is shown. */
    readonly address: string
  }
  | { readonly reason: "too_many"; readonly limit: number }

/** What a contract says of its token; null where it says nothing of the right form. */
export interface ContractToken {
  /** At most 32 visible characters, chosen by whoever made the contract. */
  readonly symbol: string | null
  /** 0 to 255. */
  readonly decimals: number | null
}

/** Words of a payment link beside the payment, where the family's links have a place for them; null: none. */
export interface PaymentWords {
  /** Who is paid. */
  readonly label: string | null
  /** What for. */
  readonly message: string | null
}

/** A chain whose blocks are read one by one. */
export interface BlockHistory {
  readonly _tag: "BlockHistory"
  /**
   * The block at `height` on the branch of `anchor`, which lies at or above it: both are read from one node, and one
   * that does not have `anchor` is on another branch or behind, which is a failure like any other. Matched as `follow`
   * does.
   */
  readonly readBlock: (
    height: bigint,
    anchor: ChainPoint,
    watch: WatchSet
  ) => Effect.Effect<BlockReading, DriverError>
}

/** A chain that is asked what came to an account. */
export interface AccountHistory {
  readonly _tag: "AccountHistory"
  /**
   * The transfers to watched accounts in a transaction, each with its block; none: the chain does not have it, or it
   * has failed. Matched as `follow` does. `height`: of the block that it is said to be in. An endpoint that has not
   * come so far cannot say that there is none, and neither can one alone while another should answer: that is a
   * failure.
   */
  readonly readTransaction: (
    txHash: string,
    watch: WatchSet,
    height: bigint
  ) => Effect.Effect<ReadonlyArray<LocatedTransfer>, DriverError>
  /** What came to every watched account between two heights, both included, open or not. Matched as `follow` does. */
  readonly readTransfers: (
    from: bigint,
    to: bigint,
    watch: WatchSet
  ) => Effect.Effect<ReadonlyArray<LocatedTransfer>, DriverError>
  /**
   * Epoch seconds of a height, or of the nearest below it that has a block; null: the chain has none so old any more.
   */
  readonly timeOf: (height: bigint) => Effect.Effect<number | null, DriverError>
}

/**
 * What the runtime asks of one network. Every driver has `readWallet`, `paymentUri`, `follow` and `history`; what may
 * be null is a check, or a second way to find payments, that its chain may do without. A driver keeps nothing that a
 * restart would miss: cursor, journal, depths and counters are the runtime's, and the network's descriptor says the
 * rest (schemas/networks/). `test/conformance/chains.ts` tries what is promised here.
 */
export interface ChainDriver {
  readonly network: Network
  readonly environment: Environment
  /** Types of the tokens whose transfers it shows, the native coin's among them. */
  readonly tokenTypes: ReadonlyArray<TokenType>
  /** The deployment's own wallet, for merchants who have none; `null`: their payors are not offered the network. */
  readonly wallet: WalletRef | null
  /**
   * Reads a wallet its owner gave: public parts only, every checksum checked, `startIndex` 0. A sentence for people
   * when it is none of this family, and it never repeats the value: that may be a secret pasted by mistake. Pure, and a
   * long list gives way to others every few milliseconds; callers keep what they read. `seed`: of a `forwarder`,
   * {@link Forwarder.seed}; absent for the others.
   */
  readonly readWallet: (kind: WalletKind, value: string, seed?: string) => Effect.Effect<WalletRef | string>
  /**
   * Decimals a token's own contract names; null: there is no such contract. Null instead of a function where the chain
   * has no such thing to read.
   */
  readonly tokenDecimals: ((address: string) => Effect.Effect<number | null, DriverError>) | null
  /**
   * Asks the chain whether a wallet is what its owner takes it for: a sentence for people when it is not, null when
   * nothing speaks against it. Null instead of a function where the chain knows nothing of a wallet.
   */
  readonly verifyWallet: ((wallet: WalletRef) => Effect.Effect<string | null, DriverError>) | null
  /**
   * What the network knows of a `forwarder` wallet's contracts, at its newest block. Null where the family has no such
   * wallets.
   */
  readonly readForwarderFacts: ((payee: string) => Effect.Effect<ForwarderFacts, DriverError>) | null
  /**
   * Whether an address, in the form `readAddress` gives, is an account in which a wallet keeps a token, and not the
   * wallet: what is sent to it is lost. Null instead of a function where an address tells by itself, or none is one.
   */
  readonly isTokenAccount: ((address: string) => Effect.Effect<boolean, DriverError>) | null
  /** Base units of the coin for a unit of gas, at the newest block. Absent where fees follow no such price. */
  readonly gasPrice?: Effect.Effect<BaseUnits, DriverError>
  /** Payment link of the family, by `schemas/PaymentUri.ts`; null where its standard has none for the token. */
  readonly paymentUri: (target: ReceiveTarget, token: Token, amount: BaseUnits, words: PaymentWords) => string | null
  /**
   * Blocks after the newest of `recent` that is still canonical (newest first; empty: from the head), for ever.
   * Rolls back first when the newest is not. At least once; resumable.
   *
   * A look tells `Gone` and `Rollback`, then `Forward`, then `Condition` where it changed, then `Finality`; the next
   * one begins when its last event was taken. Its transfers are those to keys that `watch.has`: of the coin, of the
   * tokens of `watch.tokens`, and of others where the chain shows them. It fails where no endpoint served a look, and
   * is run again after a pause, with the newest points that were stored; `no_common_block` where none of `recent` is on
   * the chain.
   */
  readonly follow: (recent: ReadonlyArray<ChainPoint>, watch: WatchSet) => Stream.Stream<ChainEvent, DriverError>
  /** How what was passed is read again. */
  readonly history: BlockHistory | AccountHistory
  /**
   * Balance of a token (null: the native coin) at a height and whether the address ever sent anything, to find payments
   * no transfer log shows and to compare the books with the chain. Null where the chain is asked for no balances.
   */
  readonly balanceAt:
    | ((address: string, token: string | null, height: bigint) => Effect.Effect<
      { readonly balance: BaseUnits; readonly hasSent: boolean },
      DriverError
    >)
    | null
  /**
   * Coins that the contract at an address, one of a `forwarder` wallet, sent to its payee in blocks above `from` up to
   * `to`; null: there is no such contract at `to`. Null instead of a function where the family has none.
   */
  readonly coinsForwarded:
    | ((address: string, from: bigint, to: bigint) => Effect.Effect<BaseUnits | null, DriverError>)
    | null
  /**
   * Units of a token (null: the native coin) that contracts of a `forwarder` wallet sent to its payee in blocks above
   * `from` up to `to`. Absent where the family has none.
   */
  readonly unitsForwarded?: (request: {
    readonly payee: string
    /** Those of the wallet. */
    readonly addresses: ReadonlyArray<string>
    readonly token: string | null
    readonly from: bigint
    readonly to: bigint
  }) => Effect.Effect<BaseUnits, DriverError>
  /**
   * What addresses hold together of each token (null: the native coin), in their order, at the newest final block, for
   * a chain that is asked for no older one. All are of that one block; what came in later blocks is in none of them.
   * Answers null where the configured nodes cannot tell of these. Null instead of a function where `balanceAt` tells
   * more, and where nobody can tell the block.
   */
  readonly finalBalances:
    | ((
      addresses: ReadonlyArray<string>,
      tokens: ReadonlyArray<string | null>
    ) => Effect.Effect<FinalBalances | null, DriverError>)
    | null
  /**
   * What a contract answers to `data` (ABI-encoded, `0x` hex) at the newest block, as `0x` hex. `0x` alone when no
   * contract is there, it reverts or returns more than 32 KB: that is an answer, and only a node that gives none is a
   * `DriverError`. The caller
   * sets its own time limit. Null where the chain has no contracts that are read this way.
   */
  readonly readContract: ((to: string, data: string) => Effect.Effect<string, DriverError>) | null
  /**
   * What the contract at an address says of its token: untrusted, but short and visible. The caller sets its own time
   * limit. Null where the chain has no contracts.
   */
  readonly readToken: ((address: string) => Effect.Effect<ContractToken, DriverError>) | null
  /**
   * Reads a block again before its transfers are confirmed: from an endpoint it was not read from, and where
   * `isThorough` from all of them. A chain that is asked for accounts reads these transactions again, which lie at
   * `point`. Null where nodes cannot differ: the chain is in this process.
   */
  readonly corroborate:
    | ((
      point: ChainPoint,
      watch: WatchSet,
      isThorough: boolean,
      txHashes: ReadonlyArray<string>
    ) => Effect.Effect<Corroboration>)
    | null
  /**
   * Token transfers to watched addresses in a range of blocks, both ends included, from another endpoint than the one
   * that is followed where there is one: what `follow` was not shown is found so. Only an endpoint is asked that has
   * the block at `to`, with `hash` where that is known. Null as above.
   */
  readonly findTransfers:
    | ((
      from: bigint,
      to: bigint,
      hash: string | null,
      watch: WatchSet
    ) => Effect.Effect<SearchResult, DriverError>)
    | null
  /**
   * A payment of this many thousandths of a dollar or more, or of an invoice of as many, is confirmed only where two
   * endpoints have its block. Null: none needs that.
   */
  readonly agreementAboveUsdMillis: UsdMillis | null
  /** How money leaves wallets there. Null where nobody can be given a batch to sign. */
  readonly payouts: PayoutDriver | null
}

/** Where a transfer stands on its chain. */
export type TransferStatus = "seen" | "confirmed" | "reverted"

/**
 * How sure a transfer is, whatever depth its invoice's policy asked for: `final` no reorganisation takes it back;
 * `reported` a watcher elsewhere told of it and no driver here has seen it; `reorged_after_finality` it was final and
 * left its chain all the same, so an operator decides (modules/docs/reference/payments.md#finality); else `waiting`.
 */
export type TransferFinality = "waiting" | "final" | "reported" | "reorged_after_finality"

/** `waiting` for its follower, `running`, `done`, or `failed` for a reason that trying again does not change. */
export type RepairStatus = "waiting" | "running" | "done" | "failed"

/**
 * Blocks asked for are read again; following goes on from another block; blocks since a time are read again: that of a
 * restored backup, or of the first target given out before the network's first block was read.
 */
export type RepairKind = "rescan" | "reanchor" | "restore"

/** What an operator asked a follower to do, and how far it is. */
export interface RepairProgress {
  readonly kind: RepairKind
  readonly status: RepairStatus
  /** First and last block to read, and the next one; null until they are chosen. */
  readonly from: bigint | null
  readonly to: bigint | null
  readonly next: bigint | null
  /** Journal entries it made or changed. */
  readonly credited: number
  readonly reason: string | null
}

/** What came of the declaration that a backup was restored. */
export interface RestoreProgress {
  /** How many wallets there were when it was first declared. */
  readonly walletCount: number
  /** Some of them: addresses from `fromIndex` on may be lost invoices', and none below `toIndex` is given out again. */
  readonly wallets: ReadonlyArray<{
    readonly fingerprint: string
    readonly family: Family | null
    readonly fromIndex: number
    readonly toIndex: number
    readonly watchedTo: number
  }>
  readonly networks: ReadonlyArray<RepairProgress & { readonly network: Network }>
}

/** Addresses of a wallet whose balances are read, at most: each costs two calls for each token. */
export const maximumWalletAddresses = 10_000

/** What addresses hold at a final block, a sum for each token that was asked for. */
export interface FinalBalances {
  /** `time` in epoch seconds. */
  readonly point: ChainPoint & { readonly time: number }
  readonly balances: ReadonlyArray<BaseUnits>
  /** Whether any of the addresses is seen to have sent something: where that cannot be told, not. */
  readonly hasSent: boolean
}

/**
 * What a wallet's addresses hold at a final block, a sum for each token asked for, in their order; or why nobody can
 * say. `not_followed`: the network has no driver here, or read no block yet; `not_offered`: its driver reads no
 * balances; `too_many_addresses`: more than {@link maximumWalletAddresses}; `collected`: the contract of a forwarder
 * has paid its payee, and its driver cannot tell how much.
 */
export type WalletBalances =
  | (FinalBalances & {
    readonly _tag: "Balances"
    /**
     * Of each token, what contracts of a forwarder have ever sent to its payee: it is in `balances`, because it is the
     * owner's as before.
     */
    readonly forwarded: ReadonlyArray<BaseUnits>
  })
  | {
    readonly _tag: "Unreadable"
    readonly reason: "collected" | "not_followed" | "not_offered" | "too_many_addresses"
  }

/** What is asked of one address: how much it holds of a token. */
export interface BalanceQuestion {
  readonly address: string
  /** Null: the native coin. */
  readonly token: string | null
  /** Base units that the journal has and no chain shows: play money. Only balances of simulated networks include it. */
  readonly offChainUnits: bigint
}

/**
 * What addresses hold at a final block, in the order that was asked for; or why nobody can say: as in {@link
 * WalletBalances}.
 */
export type AddressBalances =
  | {
    readonly _tag: "Balances"
    /** Nothing that came or left in a later block is in them. */
    readonly height: bigint
    readonly units: ReadonlyArray<BaseUnits>
  }
  | { readonly _tag: "Unreadable"; readonly reason: "not_followed" | "not_offered" }

/**
 * What a transaction brought to an account, as the network's driver reads it. `isFinal`: no reorganisation takes it
 * back. `not_followed`: the network has no driver here, or read no block yet; `not_reached`: it was not read up to that
 * height yet; `not_agreed`: endpoints have different blocks there, or one beside the reader could not be asked.
 */
export type TransactionReading =
  | {
    readonly _tag: "Transaction"
    readonly isFinal: boolean
    /** In no order; none: the transaction brought it nothing, has failed, or is not in that block. */
    readonly transfers: ReadonlyArray<
      Pick<ObservedTransfer, "amount" | "from" | "index" | "tokenAddress"> & {
        /** Epoch seconds of its block. */
        readonly time: number
        /** Texts that it carries; empty where the network's transfers carry none. */
        readonly memos: ReadonlyArray<string>
      }
    >
  }
  | { readonly _tag: "Unreadable"; readonly reason: "not_followed" | "not_reached" | "not_agreed" }

/** How a reported transfer stands: `reported` until it is found on the chain here, then as any other. */
export type ReportState = "reported" | TransferStatus

/** A row of the transfer journal: a fact about a chain, matched to an invoice where there is one. */
export interface JournalEntry {
  /** `<network>:<environment>:<txHash>:<index>`, and `:<matchKey>` where a report had named another receiver first. */
  readonly id: string
  readonly network: Network
  readonly environment: Environment
  readonly txHash: string
  readonly index: number
  readonly kind: "direct" | "internal"
  /**
   * The invoice's merchant; without one whose wallet the address is of, and 0 (`systemMerchant`) if several share it.
   */
  readonly merchantId: number
  /**
   * Null: it pays no invoice. The address was never given out, or the block is older than the target, so it was meant
   * for somebody who had the address before. Only a person's decision gives it one: `assignEntry`.
   */
  readonly invoiceId: string | null
  readonly matchKey: string
  readonly tokenAddress: string | null
  readonly amount: BaseUnits
  readonly from: string | null
  /** Below zero: it lies on no chain, as play money does, so no follower looks for it, confirms it or takes it back. */
  readonly height: bigint
  readonly blockHash: string
  /** Epoch seconds of the block, and of when it was first observed here. */
  readonly blockTime: number
  readonly observedAt: number
  readonly status: TransferStatus
  /** The status the handler has dealt with. */
  readonly handledStatus: TransferStatus | "none"
  readonly requiredDepth: RequiredDepth | null
  /** Depth when the row was last written: 1 in its own block, 0 when reported and not yet seen by the driver here. */
  readonly confirmations: number
  /** Tries of the handler at this status that failed. */
  readonly attempts: number
  /** It left the chain below its final depth; absent: it did not. */
  readonly reorgedAfterFinality?: boolean
  /** Its token was not in the catalogue when it was seen: handled after those that were. Absent: it was. */
  readonly isUnlisted?: boolean
  readonly version: number
}

/**
 * What is wrong with a network's nodes, worst first: `no_common_block` no stored block is on the chain any more, or all
 * heads lie far below them, and an operator must act; `silent` no answer for 60 s; `disagreement` the endpoints are on
 * different branches, so payments that need agreement are not confirmed and no invoice with an address on the network
 * expires; `frozen` every endpoint that answers has shown the same head for longer than the network's blocks ever take;
 * else `ok`.
 */
export type NetworkCondition = "ok" | "silent" | "frozen" | "disagreement" | "no_common_block"

/** What a driver finds out by itself; the follower finds out the rest. */
export type DriverCondition = "ok" | "frozen" | "disagreement"

/** A network that a driver follows, as it is now. */
export interface NetworkStatus {
  readonly network: Network
  readonly environment: Environment
  /** True while `condition` is `ok`; else nothing new is offered there. */
  readonly healthy: boolean
  readonly condition: NetworkCondition
  /** Epoch seconds the cursor was last stored, every 5 s while the chain answers; null: never. */
  readonly cursorTime: number | null
  readonly head: bigint | null
  /** Epoch seconds of the newest block read. */
  readonly headTime: number | null
}

/** How far a network was read, for whoever waits until nothing can have happened before some time that is not known. */
export interface NetworkCoverage {
  readonly network: Network
  /**
   * Epoch seconds: every transfer in a block of this second or an earlier one is in the journal. Null: no block was
   * read, or what was read cannot be relied on.
   */
  readonly seenUntil: number | null
  /** Its nodes answer and agree: what was not seen yet is only a matter of time. */
  readonly isAdvancing: boolean
}

/**
 * What may still become known of transfers to an invoice. `handling`: of its entries in the journal; `failing` when one
 * could not be handled {@link failingAttempts} times.
 */
export interface InvoiceCoverage {
  /** Those that are followed in the families of its targets. */
  readonly networks: ReadonlyArray<NetworkCoverage>
  readonly handling: "done" | "under_way" | "failing"
}

/** Failures of the handler after which an entry counts as failing: with the pauses between them, about 17 minutes. */
export const failingAttempts = 10

/** Networks: drivers register, and each observed transfer is kept in the journal and handed to whom it pays. */
export class Chains extends Context.Service<Chains, {
  /** Adds a driver and starts following for as long as the scope lives. */
  readonly register: (driver: ChainDriver) => Effect.Effect<void, never, Scope.Scope>
  readonly driver: (network: Network, environment: Environment) => ChainDriver | undefined
  /** Of every network that is followed; with a merchant, as it is to that one: {@link registerOutages}. */
  readonly status: (environment: Environment, merchantId?: number) => ReadonlyArray<NetworkStatus>
  /**
   * Who simulates outages registers here, for as long as the scope lives: devnet networks that are down to one merchant
   * and to nobody else. One per deployment.
   */
  readonly registerOutages: (
    isDown: (merchantId: number, network: Network) => boolean
  ) => Effect.Effect<void, never, Scope.Scope>
  /** Who knows the merchants' own wallets registers here, for as long as the scope lives. One per deployment. */
  readonly registerWallets: (wallets: MerchantWallets) => Effect.Effect<void, never, Scope.Scope>
  /** Where a merchant's funds of a family arrive: the merchant's own wallet, else the deployment's, else null. */
  readonly wallet: (owner: WalletOwner) => Effect.Effect<WalletRef | null>
  /** {@link ChainDriver.readWallet} of any driver of the family and environment; null when none runs. */
  readonly readWallet: (
    owner: Omit<WalletOwner, "merchantId">,
    kind: WalletKind,
    value: string,
    seed?: string
  ) => Effect.Effect<WalletRef | string | null>
  /**
   * What stands against receiving on a network in the wallet with this fingerprint; `isCoin`: in the network's own
   * coin. Null: nothing. Of other kinds than `forwarder` always null. What was found is kept for an hour.
   */
  readonly obstacleTo: (
    wallet: { readonly fingerprint: string },
    network: Network,
    environment: Environment,
    isCoin: boolean
  ) => Effect.Effect<ReceivingObstacle | null>
  /** What each network of the family that runs in the environment knows of a payee's contracts; null: not asked now. */
  readonly forwarderFacts: (
    owner: Omit<WalletOwner, "merchantId">,
    payee: string
  ) => Effect.Effect<ReadonlyMap<Network, ForwarderFacts | null>>
  /**
   * What shows that an address, in the form `readAddress` gives, pays to the payee of a `forwarder` wallet that the
   * owner ever set. Null: no invoice was given it, or it is another's, or an address of another kind of wallet. Three
   * small queries.
   */
  readonly forwarderProof: (owner: WalletOwner, address: string) => Effect.Effect<ForwarderProof | null>
  /**
   * {@link ChainDriver.verifyWallet} of a driver of the family and environment; null: nothing speaks against the
   * wallet, or there is nothing to ask. `NETWORK_DEGRADED` where the chain does not answer in 10 s.
   */
  readonly verifyWallet: (
    owner: Omit<WalletOwner, "merchantId">,
    wallet: WalletRef
  ) => Effect.Effect<string | null, PublicError>
  /**
   * What makes a wallet a merchant's, for the commit that gives it: nothing where it is already. Null: it is another
   * merchant's, or the deployment's own. Two who claim it at once meet in a conflict. Once given it stays its owner's,
   * because its addresses stay watched.
   */
  readonly claimWallet: (fingerprint: string, merchantId: number) => Effect.Effect<ReadonlyArray<Write> | null>
  /**
   * Makes the addresses of a wallet its owner's alone, before the commit that gives it: every entry of a `pool`, the
   * `address` that many invoices share, and the first ones of an `xpub` from `startIndex` on. All of them or none. From
   * then on no other merchant of the deployment can name them, in either environment. Claimed again by the same
   * merchant, nothing changes. Null: they are the owner's. Errors: `SERVICE_UNAVAILABLE`.
   */
  readonly claimAddresses: (
    owner: WalletOwner,
    kind: WalletKind,
    wallet: WalletRef
  ) => Effect.Effect<AddressConflict | null, PublicError>
  /** Derives and watches the wallet's next addresses, in the background; see `chains/WalletAddresses.ts`. */
  readonly watchWallet: (wallet: WalletRef, family: Family) => Effect.Effect<void>
  /** How far a wallet has been given out, whoever uses it. */
  readonly walletUse: (fingerprint: string) => Effect.Effect<WalletUse>
  /** Addresses that a wallet can still give out now, at most: of a list, or below its gap limit. Null: without end. */
  readonly addressesLeft: (wallet: WalletRef) => Effect.Effect<number | null>
  /**
   * What the addresses of a wallet, given out or watched ahead, hold of tokens (null: the native coin), at the newest
   * block of the network that is final here. Asks the chain twice for each address and token.
   */
  readonly walletBalances: (request: {
    readonly network: Network
    readonly environment: Environment
    readonly fingerprint: string
    readonly tokens: ReadonlyArray<string | null>
    /** What an earlier answer said was forwarded of each, and its height: only later blocks are searched. */
    readonly forwardedBefore?: ReadonlyArray<{ readonly units: bigint; readonly height: bigint } | null>
  }) => Effect.Effect<WalletBalances, DriverError>
  /**
   * Addresses of a merchant's wallet, given out or watched ahead, of which `matchKey` is one; empty: it is of no wallet
   * of this merchant's, or the wallet has more than {@link maximumWalletAddresses}. Three small queries.
   */
  readonly walletAddresses: (request: {
    readonly merchantId: number
    readonly network: Network
    readonly environment: Environment
    readonly matchKey: string
  }) => Effect.Effect<ReadonlyArray<string>>
  /** What addresses hold, each by itself, at the newest block of the network that is final here. */
  readonly addressBalances: (request: {
    readonly network: Network
    readonly environment: Environment
    readonly questions: ReadonlyArray<BalanceQuestion>
  }) => Effect.Effect<AddressBalances, DriverError>
  /** A merchant's wallet that was ever set; null: none has this fingerprint, or no driver of its family runs. */
  readonly walletRecord: (fingerprint: string) => Effect.Effect<WalletRecord | null>
  /**
   * Reads what a transaction brought to an address that is none of ours, to see that money went where it should.
   * `address` is in the form `readAddress` gives, `txHash` in that of `readTransactionHash`; `height`: of the block it
   * is said to be in. Asks every endpoint, and counts what more than half of them show.
   */
  readonly readTransaction: (request: {
    readonly network: Network
    readonly environment: Environment
    readonly txHash: string
    readonly height: bigint
    readonly address: string
    /** Null for the native coin. */
    readonly tokenAddress: string | null
  }) => Effect.Effect<TransactionReading, DriverError>
  /**
   * The invoice's target on a family: the same one for the life of the invoice, never another invoice's, from the
   * wallet that {@link wallet} gives now. `refusedTokens` (absent: none) is kept with a new target and has no effect on
   * one that is there. Watched for ever. `isOfStranger` (absent: no): anybody may have made the invoice, so it gets
   * none of the {@link reservedAddresses}. Errors: `UNSUPPORTED_NETWORK` when there is no driver or no wallet, the
   * wallet is a list of addresses that has come to its end, or as many of its addresses wait for their first payment as
   * its `gapLimit` allows.
   */
  readonly allocate: (
    request: WalletOwner & {
      readonly invoiceId: string
      readonly refusedTokens?: ReadonlyArray<number>
      readonly isOfStranger?: boolean
    }
  ) => Effect.Effect<AllocatedTarget, PublicError>
  /** The invoice's target if one was allocated. */
  readonly target: (invoiceId: string, family: Family) => Effect.Effect<AllocatedTarget | null>
  /** Every target that was allocated to the invoice, by family: one small query. */
  readonly targets: (invoiceId: string) => Effect.Effect<ReadonlyMap<Family, AllocatedTarget>>
  /** Whether an invoice of the owner was ever given an address of the family, of whichever wallet. */
  readonly hasTargets: (owner: WalletOwner) => Effect.Effect<boolean>
  /**
   * Whether the service receives at `address`, in the form `readAddress` gives: every address that was ever given to an
   * invoice, on any network of its family, those that are watched ahead, and all that merchants named, each also in
   * another form that the same owner has (`addressKeys` of its family). Two small queries.
   */
  readonly isReceiveAddress: (network: Network, environment: Environment, address: string) => Effect.Effect<boolean>
  /**
   * {@link ChainDriver.isTokenAccount} of the network's driver; false where none runs. `NETWORK_DEGRADED` where the
   * chain does not answer in 10 s.
   */
  readonly isTokenAccount: (
    network: Network,
    environment: Environment,
    address: string
  ) => Effect.Effect<boolean, PublicError>
  /**
   * Whose money it is that comes to a match key and pays no invoice: the merchant's whose wallet has it, and
   * `systemMerchant` for the deployment's own wallet, or where wallets of several have it. `isAccount`: it is a {@link
   * SharedWallet}'s `accountKey`, so the transfer lacks its memo. `walletIndex`: of an {@link IndexedWallet}'s address,
   * which one it is. Null: nobody receives there. Three small queries.
   */
  readonly walletReceiver: (network: Network, environment: Environment, matchKey: string) => Effect.Effect<
    | {
      readonly merchantId: number
      readonly isAccount: boolean
      readonly fingerprint: string
      readonly walletIndex: number
    }
    | null
  >
  /**
   * What may still become known of transfers to these invoices, all of one environment; one small query. An invoice
   * without a target is not in it: nothing can have been paid to it. Whoever has read an invoice before may rely on
   * this: what was handled since has changed the invoice's version.
   */
  readonly coverage: (
    environment: Environment,
    invoices: ReadonlyArray<{ readonly id: string; readonly merchantId: number }>
  ) => Effect.Effect<ReadonlyMap<string, InvoiceCoverage>>
  /** The write that gives an entry without an invoice to one, as a person decided. */
  readonly assignEntry: (entry: JournalEntry, invoice: Pick<JournalEntry, "invoiceId" | "merchantId">) => Write
  /** An entry of the journal by its id; null: there is none. */
  readonly journalEntry: (id: string) => Effect.Effect<JournalEntry | null>
  /** The journal of the invoice, in no order: one small query. */
  readonly transfers: (invoiceId: string) => Effect.Effect<ReadonlyArray<JournalEntry>>
  /**
   * Deals with journal entries whose `status` differs from `handledStatus`, one at a time per invoice, those without
   * one each by itself, again after a failure with a growing pause. The handler's commit must contain {@link
   * markHandled}'s write. One handler per deployment.
   */
  readonly onTransfer: (handler: (entry: JournalEntry) => Effect.Effect<void, unknown>) => Effect.Effect<
    void,
    never,
    Scope.Scope
  >
  /** The write that marks `entry` as dealt with at its present status, and sets the depth it must reach. */
  readonly markHandled: (entry: JournalEntry, required: RequiredDepth) => Write
  /** How sure each transfer to these invoices is: from what is stored, so any instance may ask. */
  readonly finality: (invoiceIds: ReadonlyArray<string>) => Effect.Effect<
    ReadonlyArray<Pick<JournalEntry, "id" | "network"> & { readonly finality: TransferFinality }>
  >
  /**
   * A transfer seen by a watcher elsewhere, at whatever height: journalled under the driver's key format. Where its
   * network is followed, the driver reads its block and the entry is `confirmed` as any other, or `reverted` when it is
   * not there; reported again, it is looked for again. Answers how the entry stands now. Errors: `VALIDATION_ERROR`
   * for a match key that is no target's, and for a height above the chain's; `SERVICE_UNAVAILABLE`.
   */
  readonly report: (
    report: ObservedTransfer & {
      readonly network: Network
      readonly environment: Environment
      readonly point: ChainPoint
      readonly time: number
    }
  ) => Effect.Effect<ReportState, PublicError>
  /**
   * Has the follower read blocks again, wherever it runs, and credit what was missing; what is right already stays as
   * it is. Answers how far it is: asked again with the same blocks while it runs, no second one is begun. Errors:
   * `UNSUPPORTED_NETWORK` where nobody follows the network, `VALIDATION_ERROR` for blocks that are too many or not
   * there yet, `INVALID_TRANSITION` while another rescan of the network runs, `SERVICE_UNAVAILABLE`. `extraWrites` are
   * rows of the request's commit: none are written where no request is.
   */
  readonly rescan: (
    network: Network,
    environment: Environment,
    from: bigint,
    to: bigint,
    extraWrites?: ReadonlyArray<Write>
  ) => Effect.Effect<RepairProgress, PublicError>
  /**
   * Has a follower whose blocks are no longer on the chain go on from a final block of it (`height`; null: the newest
   * below everything that was followed). No block is left out, and each entry that is not where it was is moved,
   * reverted, or marked `reorgedAfterFinality` where it was final. Errors: as {@link rescan}; `INVALID_TRANSITION`
   * where its blocks are there.
   */
  readonly reanchor: (
    network: Network,
    environment: Environment,
    height: bigint | null,
    extraWrites?: ReadonlyArray<Write>
  ) => Effect.Effect<RepairProgress, PublicError>
  /**
   * A backup was restored that was begun at `backupTime` (epoch seconds). Every wallet's counter moves on by `skip`
   * addresses (null: 1,000; none where the wallet is a list), because those may be lost invoices' and their customers
   * may still pay; the next 1,000 are watched for 7 days, and the blocks since the backup are read again. Said again
   * for the same backup, nothing is passed over twice, and a larger `skip` moves on to that. Errors: `VALIDATION_ERROR`
   * for a time or a number out of range and where no network of the environment is followed; `SERVICE_UNAVAILABLE`.
   */
  readonly declareRestore: (
    environment: Environment,
    backupTime: number,
    skip: number | null
  ) => Effect.Effect<RestoreProgress, PublicError>
  /** Every repair of an environment's networks, each kind's newest. */
  readonly repairs: (environment: Environment) => Effect.Effect<
    ReadonlyArray<RepairProgress & { readonly network: Network }>
  >
  /**
   * Tells the follower that an address needs its native balance compared (`open`: an invoice with a native route), or
   * no longer needs it. Ends by itself after 30 days. Without a target, or where the driver reads no balances: nothing.
   */
  readonly reconcile: (
    invoiceId: string,
    network: Network,
    environment: Environment,
    open?: boolean
  ) => Effect.Effect<void>
}>()("tillwire/runtime/Chains") {}
