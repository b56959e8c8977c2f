/** A chain on which a merchant's wallet pays what it was given, as a history of batches needs it. */
import type { Effect } from "effect"
import type { Roll } from "../money/Shop.ts"

/** Money that a transaction of the wallet moved, as long as the chain has it. */
export interface MovedMoney {
  readonly txHash: string
  readonly to: string
  /** In the one spelling of its family; null: the network's own coin. */
  readonly token: string | null
  readonly units: bigint
  readonly isFinal: boolean
  readonly height: number
  /** The part that it executed, as `guardOf` names it; null: nothing on the chain says that it is a part's. */
  readonly guard: string | null
  /** Whether the chain keeps what is given out of that part from being executed beside it. */
  readonly isGuarded: boolean
}

/** A line of a list for people. */
export interface ListedLine {
  readonly to: string
  readonly token: string | null
  readonly units: bigint
}

/** What an export is changed by: somebody puts another receiver into it, or the wallet adds something of its own. */
export type Change = "changed_destination" | "added_instruction"

/** What a wallet does with an export: signs it as it is, or changed. */
export type Signature = "as_given" | Change

/** A token that is paid in. */
export interface PaidToken {
  readonly symbol: string
  readonly decimals: number
  readonly address: string | null
  /** Whole dollars of one. */
  readonly dollars: bigint
}

export interface WalletProof {
  readonly signature: string
  /** Where the address does not tell the key. */
  readonly public_key?: string
  /** The whole `ton_proof`, whose signature is of more than the text. */
  readonly proof?: unknown
}

/** Everything but the service: the network, the wallet, and the endpoints between them. */
export interface PayingChain {
  readonly network: string
  readonly environment: "devnet" | "mainnet"
  readonly tokens: ReadonlyArray<PaidToken>
  /** Formats that the chain keeps from being executed twice. */
  readonly formats: ReadonlyArray<string>
  /** Whether it can be given out as a list, which nothing on the chain keeps from being paid twice. */
  readonly isListing: boolean
  /** How an export may be changed before it is signed. */
  readonly changes: ReadonlyArray<Change>
  /** Whether the chain keeps one that was changed from being executed beside the one that was given out, too. */
  readonly isGuardedChanged: boolean
  /** Whether each line of a part may be executed without the others; absent: all are, or none. */
  readonly isDecidedByLine?: boolean
  /** Blocks until one is final. */
  readonly finality: number
  /** Of the wallet as one that receives, too; null: invoices are paid to one of the deployment. */
  readonly receivingKind: string | null
  /** Seconds that an export must be valid to be so for a few minutes of the chain's time. */
  readonly validitySeconds: Effect.Effect<number>
  /** A wallet with money. */
  readonly newWallet: (seed: string) => Effect.Effect<string>
  /** What proves a wallet to `POST /api/v1/auth/wallets` beside the text that it was asked to sign. */
  readonly proveWallet: (wallet: string, message: string) => Effect.Effect<WalletProof>
  readonly newReceiver: (seed: string) => string
  /** What could be the name of a transaction. */
  readonly newHash: (roll: Roll) => string
  /** Whoever malware pays in place of a receiver. */
  readonly thief: (seed: string) => string
  /** How the chain names a part that it keeps from being executed twice. */
  readonly guardOf: (batchId: string, part: number) => string
  /**
   * Signs and sends; nothing is in a block before the next one is mined. The chain may refuse it. `batchId`: of which
   * the export is, where nothing in it says so.
   */
  readonly sign: (
    wallet: string,
    payload: string,
    how: Signature,
    thief: string,
    batchId: string
  ) => Effect.Effect<void>
  /** Sends the transfer of one line of a list; answers its transaction, null where it was not taken. */
  readonly payLine: (wallet: string, line: ListedLine) => Effect.Effect<string | null>
  /** The payer of an invoice pays. */
  readonly receive: (
    address: string,
    token: PaidToken,
    units: bigint,
    memo: string | null
  ) => Effect.Effect<unknown>
  readonly mine: (blocks: number) => Effect.Effect<void>
  /** Replaces blocks that are not final, where there are such; their transactions come again at once, later or never. */
  readonly reorganise: (depth: number, roll: Roll) => Effect.Effect<void>
  /** The chain's time goes on. */
  readonly pass: (seconds: number) => Effect.Effect<void>
  /** What the wallet moved, in the blocks of now. */
  readonly moved: (wallet: string) => Effect.Effect<ReadonlyArray<MovedMoney>>
  /** The height of the newest block. */
  readonly head: Effect.Effect<number>
  /** Epoch seconds of the newest block. */
  readonly time: Effect.Effect<number>
  /** Something goes wrong with a minority of the endpoints; answers what. */
  readonly disturb: (roll: Roll) => string
  /** The endpoints are well again. */
  readonly heal: () => void
}
