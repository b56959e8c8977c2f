/** What internal services may ask of the chains: report a transfer their own watcher saw, and how networks are. */
import { Schema } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { PublicError } from "../../schemas/Errors.ts"
import { EpochSeconds } from "../../schemas/Ids.ts"
import { Environment, Family, Network } from "../../schemas/Network.ts"

const Integer = Schema.String.check(Schema.isPattern(/^\d{1,78}$/))
const heightMessage = "write a block's height as text: 1 to 18 decimal digits, no sign, for example \"19000000\""
/** A block's height: the database keeps 64 bits. */
export const Height = Schema.String.annotate({ message: heightMessage }).check(
  Schema.isPattern(/^\d{1,18}$/, { message: heightMessage })
)
const amountMessage =
  "write the amount as text in base units of the token: 1 to 78 decimal digits, no sign and no point"
/** A token's base units: up to the largest number of 256 bits. */
const Amount = Schema.String.annotate({ message: amountMessage }).check(
  Schema.isPattern(/^\d{1,78}$/, { message: amountMessage })
)
const textMessage = "write 1 to 256 characters of text"
const Text = Schema.String.annotate({ message: textMessage }).check(
  Schema.isPattern(/^[^]{1,256}$/, { message: textMessage })
)
const secondsMessage = "write epoch seconds as a whole number"
/** A moment as an operator writes it; whether it is in its range is said by the call. */
const Seconds = Schema.Number.annotate({ message: secondsMessage }).check(Schema.isInt({ message: secondsMessage }))
const indexMessage =
  "write a whole number, 0 to 2147483647: 0 for the native coin, else 1 + the log's place in its receipt"
const skipMessage = "write a whole number of addresses, 0 to 1000"

/** A transfer another watcher saw. */
export const TransferReport = Schema.Struct({
  network: Network,
  environment: Environment,
  /** As explorers show it; with `index` the journal's key. Its form by family: modules/docs/reference/rpc.md#chains. */
  tx_hash: Text,
  /** 0 for the native coin, 1 + position of the log in its own receipt for tokens. */
  index: Schema.Number.annotate({ message: indexMessage }).check(
    Schema.isInt({ message: indexMessage }),
    Schema.isBetween({ minimum: 0, maximum: 2_147_483_647 }, { message: indexMessage })
  ),
  /** The receiving address as payors and the API show it, with `:` and the memo where the invoice has one. */
  match_key: Text,
  token_address: Schema.NullOr(Text),
  /** Base units of the token, above zero. */
  amount: Amount,
  from: Schema.NullOr(Text),
  height: Height,
  block_hash: Text,
  /** Epoch seconds, at most 15 min in the future. */
  block_time: Seconds
})
export type TransferReport = typeof TransferReport.Type

/**
 * `reported`: it is looked for on the chain; `seen` and `confirmed`: it is there; `reverted`: it was not found in its
 * block, or has left the chain. Report it again with the right block to have it looked for again.
 */
export const ReportAnswer = Schema.Struct({ status: Schema.Literals(["reported", "seen", "confirmed", "reverted"]) })

/**
 * An operator's request and how far it is. It fails where every endpoint has said for 10 min that it does not have a
 * block any more; the blocks that could be read were read, and `reason` names the others.
 */
export const Repair = Schema.Struct({
  kind: Schema.Literals(["rescan", "reanchor", "restore"]),
  /** `waiting` for the network's follower, which may run elsewhere; `failed` for `reason`. */
  status: Schema.Literals(["waiting", "running", "done", "failed"]),
  /** First and last block to read and the next one; null until they are chosen. */
  from: Schema.NullOr(Integer),
  to: Schema.NullOr(Integer),
  next: Schema.NullOr(Integer),
  /** Transfers it recorded, moved or took back. */
  credited: Schema.Int,
  reason: Schema.NullOr(Schema.String)
})

/** What came of a declared restore. */
export const RestoreAnswer = Schema.Struct({
  wallet_count: Schema.Int,
  /**
   * The first 1,000 wallets. Addresses below `to_index` are not given out again; those from `from_index` are watched.
   */
  wallets: Schema.Array(Schema.Struct({
    fingerprint: Schema.String,
    /** Null: its wallet is not in use any more. */
    family: Schema.NullOr(Family),
    from_index: Schema.Int,
    to_index: Schema.Int,
    watched_to: Schema.Int
  })),
  /** Per followed network, the blocks since the backup that are read again. */
  networks: Schema.Array(Schema.Struct({ network: Network, ...Repair.fields }))
})

export const NetworkHealth = Schema.Struct({
  network: Network,
  environment: Environment,
  healthy: Schema.Boolean,
  /** What is wrong with the network's nodes; `healthy` is true while it is `ok`. */
  condition: Schema.Literals(["ok", "silent", "frozen", "disagreement", "no_common_block"]),
  head: Schema.NullOr(Integer),
  head_time: Schema.NullOr(EpochSeconds),
  /** When the follower's place was last stored: every 5 s while the chain answers. */
  cursor_time: Schema.NullOr(EpochSeconds),
  /** The newest rescan, the newest reanchor and the newest restore, if there was any. */
  repairs: Schema.Array(Repair)
})

export class ChainsRpc extends RpcGroup.make(
  /**
   * Idempotent by (network, environment, tx_hash, index). Where a driver follows here, it must see it too: the block is
   * read, however old, and the answer to the same report tells what came of it.
   */
  Rpc.make("chains.report", { payload: TransferReport, success: ReportAnswer, error: PublicError }),
  /**
   * Reads blocks `from` to `to` again, at most 100,000, and credits what was missing. Goes on in the background, on
   * whichever instance follows the network; the same call again answers how far it is while it runs, and repeats it
   * later.
   */
  Rpc.make("chains.rescan", {
    payload: { network: Network, environment: Environment, from: Height, to: Height },
    success: Repair,
    error: PublicError
  }),
  /**
   * For a network in the condition `no_common_block`: goes on from the final block `height`, or without one from the
   * newest below everything that was followed. Blocks in between are read again, and transfers that are not where they
   * were are moved, reverted, or kept for an operator where they were final. Solana, TON and Sui go on at their newest
   * block, and what came since `height`, or since the oldest block that is remembered, is asked for again. Until it has
   * begun, another call corrects the height.
   */
  Rpc.make("chains.reanchor", {
    payload: { network: Network, environment: Environment, height: Schema.optionalKey(Height) },
    success: Repair,
    error: PublicError
  }),
  /**
   * A backup was restored. `backup_time`: epoch seconds at which the backup was begun, not in the future and at most 90
   * days ago. `skip`: addresses of each wallet that may have been given out since, 0 to 1,000; without it 1,000, and
   * none of a wallet that is a list. The same call again answers how far it is and passes over nothing twice.
   */
  Rpc.make("chains.restored", {
    payload: {
      environment: Environment,
      backup_time: Seconds,
      skip: Schema.optionalKey(
        Schema.Number.annotate({ message: skipMessage }).check(Schema.isInt({ message: skipMessage }))
      )
    },
    success: RestoreAnswer,
    error: PublicError
  }),
  Rpc.make("chains.status", {
    payload: { environment: Environment },
    success: Schema.Array(NetworkHealth),
    error: PublicError
  })
) {}
