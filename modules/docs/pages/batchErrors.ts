/** Cause and fix of the errors of batches. Pure. */
import type { ErrorCode } from "../../../schemas/Errors.ts"
import { type ErrorNote, get, newKey, send } from "./ErrorNote.ts"

const makeBatch = (body: object): string => send("POST", "/api/v1/batches", body, "merchant", newKey)

const wallet = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

export const batchErrors = {
  BATCH_EMPTY: {
    cause: "No refund of the network waits to be paid, no line was named, or nothing lies on the addresses.",
    fix: "Refunds go into a batch once they are `processing`: approve them first.",
    example: [makeBatch({ kind: "refunds", network: "base", from: wallet, refund_ids: "all" })]
  },
  BATCH_TOO_LARGE: {
    cause: "More lines than one batch of the network may have.",
    fix: "Make several batches of at most `details.maximum` lines.",
    example: { requirement: "It takes more than 200 lines, on Solana and TON more than 100." }
  },
  AMOUNT_BELOW_MINIMUM: {
    cause: "The network does not carry so small an amount: an output of Cardano holds about one ADA or more.",
    fix: "Pay at least `details.minimum`, or on another network.",
    example: { requirement: "It takes a payout on Cardano of less than an output must hold." }
  },
  APPROVAL_REQUIRED: {
    cause: "People must say that the batch may be paid, and not enough of them did.",
    fix:
      "Sign in with a wallet of the merchant, compare `approval_code`, and send `POST /api/v1/batches/{id}/approve`.",
    example: { requirement: "It takes a batch that an API key made, exported before a person approved it." }
  },
  APPROVER_MUST_DIFFER: {
    cause: "The batch needs another person than those who approved it.",
    fix: "Ask somebody else of your team: people count, not wallets or keys.",
    example: { requirement: "It takes a batch above the merchant's limit, approved twice by one person." }
  },
  BATCH_NOT_FOUND: {
    cause: "No batch of this merchant and environment has the id.",
    fix: "`GET /api/v1/batches` lists them.",
    example: [get("/api/v1/batches/bat_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10")]
  },
  REFUND_IN_BATCH: {
    cause: "A batch that is not over pays the refund, so nothing else may.",
    fix: "Wait until the batch has paid it, or cancel the batch named in `details.batch_id`.",
    example: { requirement: "It takes a refund in a batch that is not over: put it into another one." }
  },
  EXPORT_LIVE: {
    cause: "The part was given out in another format, and a wallet can still execute that one.",
    fix: "Sign the first one, or wait until `details.valid_until` is over at a final block.",
    example: { requirement: "It takes a part that was exported, exported again in another format." }
  },
  LINES_AMBIGUOUS: {
    cause:
      "Lines of a list, and those with a receiver's memo on TON, are recognized by token, receiver and amount, and two that can be paid now have the same.",
    fix: "Export another format, make one line of both, or wait until the other part is over.",
    example: { requirement: "It takes two lines of the same amount to one receiver, exported as `csv`." }
  },
  BATCH_NOT_CANCELABLE: {
    cause: "The batch is paid, canceled or over.",
    fix: "Read it: nothing of it waits any more.",
    example: { requirement: "It takes a batch that is over, canceled again." }
  },
  BATCH_LIMIT_REACHED: {
    cause: "The merchant has 20 batches that are not over.",
    fix: "Cancel those that nobody will sign.",
    example: { requirement: "It takes 20 open batches." }
  },
  BATCH_PAID: {
    cause: "The part was executed on the chain already, and the service has not read that block yet.",
    fix: "Wait: it becomes `seen` by itself. Do not sign it again.",
    example: { requirement: "It takes a part that was executed a moment ago, exported again." }
  },
  PAYOUT_LIMIT_EXCEEDED: {
    cause: "The batch, or all payouts of the day, would come to more than the merchant's limit.",
    fix: "Pay less, or have a person raise `payout_limit_batch` or `payout_limit_day` in the settings.",
    example: { requirement: "It takes a limit that is set, and payouts beyond it." }
  },
  PAYOUT_LINE_REFUSED: {
    cause: "The chain says that a line would fail: its receiver is frozen by the token, or refuses the coin.",
    fix: "Cancel the batch, and make it anew without the line in `details.line`.",
    example: { requirement: "It takes a receiver whom the token's issuer has frozen." }
  },
  NOTHING_TO_COLLECT: {
    cause: "What lay on the addresses was collected in the meantime, by somebody.",
    fix: "Nothing: the payee has it. `GET /api/v1/collectable` shows what is left.",
    example: { requirement: "It takes addresses that were collected between making the batch and exporting it." }
  },
  COLLECTOR_MISSING: {
    cause: "Nobody has put the contract that collects on this network yet.",
    fix: "Deploy it from any wallet: the guide on collecting has the transaction.",
    example: { requirement: "It takes a private network without the contract." }
  },
  PAYER_MISSING: {
    cause: "Nobody has put the contract that pays batches on this network yet.",
    fix: "Deploy it from any wallet: the guide on collecting has the transaction.",
    example: { requirement: "It takes a private network without the contract." }
  },
  INSUFFICIENT_FUNDS: {
    cause: "The wallet that is to pay has less than the lines come to.",
    fix: "Fund it with what `details` says is missing, and export again.",
    example: { requirement: "It takes a wallet without funds." }
  },
  WALLET_NOT_SPENDABLE: {
    cause: "The wallet holds its money in a form that a batch cannot spend, such as address balances on Sui.",
    fix: "Send the money to itself once as a coin, or pay from another wallet.",
    example: { requirement: "It takes such a wallet." }
  },
  WALLET_NOT_LINKED: {
    cause:
      "The export is recognized by what the wallet pays or spends, and the wallet of the batch does not sign in for the merchant.",
    fix:
      "Link the wallet in the dashboard, by `POST /api/v1/auth/wallets`, or have the operator link it; or take a format that names the part.",
    example: { requirement: "It takes a batch of a wallet that the merchant has not linked, exported as `csv`." }
  }
} satisfies Partial<Record<ErrorCode, ErrorNote>>
