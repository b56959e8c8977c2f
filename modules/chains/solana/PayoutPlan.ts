/** Whether a wallet can pay the lines of a part, by what the chain says of the accounts they touch. Pure. */
import { Result } from "effect"
import type { PayoutLine, PayoutPart } from "../../../runtime/Payouts.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { formatUnits } from "../../../schemas/Money.ts"
import { associatedTokenAccount, canSign, systemProgram, tokenPrograms } from "./Addresses.ts"
import { feeOf, missingAccounts, type PlannedLine } from "./PayoutTransaction.ts"
import { type Account, decimalsOf, tokenAccountLength, tokenAccountOf } from "./TokenFacts.ts"

const coin = { symbol: "SOL", decimals: 9 }
export const solOf = (lamports: bigint): string => `${formatUnits(lamports, coin.decimals)} ${coin.symbol}`

type ReadAccount = (Account & { readonly lamports: bigint }) | null

/** Accounts by key, as one node has them. */
export type ReadAccounts = ReadonlyMap<string, ReadAccount>

/** What a part costs beside its lines. */
export interface PayoutPlan {
  readonly lines: ReadonlyArray<PlannedLine>
  /** Lamports that stay in the token accounts that are made. */
  readonly rent: bigint
  readonly missing: number
}

export const refuseLine = (place: number, reason: string): PublicError =>
  publicError("PAYOUT_LINE_REFUSED", {
    message: `Line ${place + 1} cannot be paid: ${reason}. Make the batch anew without it`,
    details: { line: place + 1 }
  })

const notSpendable = (reason: string): PublicError =>
  publicError("WALLET_NOT_SPENDABLE", { message: `The wallet cannot sign the batch: ${reason}` })

const insufficient = (
  what: { readonly symbol: string; readonly decimals: number; readonly tokenAddress: string | null },
  required: bigint,
  available: bigint,
  why: string
): PublicError => {
  const words = (amount: bigint) => formatUnits(amount, what.decimals)
  return publicError("INSUFFICIENT_FUNDS", {
    message:
      `The part takes ${words(required)} ${what.symbol}${why}, and the wallet has ${words(available)}: send it ` +
      `${words(required - available)} ${what.symbol} or more, then export again`,
    details: {
      symbol: what.symbol,
      token_address: what.tokenAddress,
      required: words(required),
      available: words(available),
      missing: words(required - available)
    }
  })
}

/** The first refusal of a line that needs no look at the chain; null: none. */
export const refusalOfLines = ({ from, lines }: PayoutPart): PublicError | null => {
  for (const [place, { destination, memo }] of lines.entries()) {
    if (memo !== null) {
      return refuseLine(place, "its receiver needs a memo, and on Solana a transaction pays many lines with one memo")
    }
    if (destination === from) return refuseLine(place, "it would pay the wallet itself")
  }
  return null
}

/** Mints of the lines. */
export const mintsOf = (lines: ReadonlyArray<PayoutLine>): ReadonlyArray<string> => [
  ...new Set(lines.flatMap(({ tokenAddress }) => tokenAddress ?? []))
]

/** Accounts that a plan looks at, beside the mints. */
export const keysOfPlan = ({ from, lines }: PayoutPart, mints: ReadAccounts): ReadonlyArray<string> => {
  const tokenAccounts = lines.flatMap(({ destination, tokenAddress }) => {
    const program = tokenAddress === null ? undefined : mints.get(tokenAddress)?.owner
    return program === undefined || !tokenPrograms.has(program)
      ? []
      : [from, destination].map((owner) => associatedTokenAccount(owner, tokenAddress!, program))
  })
  return [...new Set([from, ...lines.map(({ destination }) => destination), ...tokenAccounts])]
}

/** Lengths of accounts whose rent a plan needs: of a wallet, and of a token account of each mint. */
export const lengthsOfPlan = (mints: ReadAccounts): ReadonlyArray<number> => [
  ...new Set([0, ...[...mints.values()].flatMap((mint) => mint === null ? [] : [tokenAccountLength(mint)])])
]

const planLine = (
  line: PayoutLine,
  place: number,
  mints: ReadAccounts,
  accounts: ReadAccounts
): Result.Result<PlannedLine, PublicError> => {
  const receiver = accounts.get(line.destination) ?? null
  if (receiver !== null && (receiver.isExecutable || tokenPrograms.has(receiver.owner))) {
    return Result.fail(refuseLine(place, "its receiver is a program or a token account, and no wallet"))
  }
  if (line.tokenAddress === null) return Result.succeed({ line, token: null })
  const mint = mints.get(line.tokenAddress) ?? null
  const decimals = decimalsOf(mint)
  if (mint === null || decimals === null) return Result.fail(refuseLine(place, "there is no such token on the network"))
  const account = associatedTokenAccount(line.destination, line.tokenAddress, mint.owner)
  const existing = accounts.get(account) ?? null
  const held = tokenAccountOf(existing)
  // Somebody may have given the account away: then it would receive what the line pays.
  if (held !== null && held.holder !== line.destination) {
    return Result.fail(refuseLine(place, "the receiver's account of the token belongs to somebody else"))
  }
  if (held?.isFrozen === true) return Result.fail(refuseLine(place, "the token's issuer has frozen the receiver"))
  return Result.succeed({
    line,
    token: { mint: line.tokenAddress, program: mint.owner, decimals, account, isMissing: held === null }
  })
}

const refusalOfTokens = (
  { from, lines }: PayoutPart,
  planned: ReadonlyArray<PlannedLine>,
  accounts: ReadAccounts
): PublicError | null => {
  for (const mint of mintsOf(lines)) {
    const ofMint = planned.filter(({ token }) => token?.mint === mint)
    const [{ line, token }] = ofMint as [PlannedLine]
    const own = tokenAccountOf(accounts.get(associatedTokenAccount(from, mint, token!.program)) ?? null)
    if (own?.isFrozen === true) return notSpendable(`the issuer of ${line.symbol} has frozen its account`)
    const required = ofMint.reduce((sum, each) => sum + each.line.amount, 0n)
    const available = own === null || own.holder !== from ? 0n : own.amount
    if (available < required) return insufficient(line, required, available, "")
  }
  return null
}

/** A wallet is there with so much as an empty account must have, or not at all. */
const refusalOfSmallCoins = ({ lines }: PayoutPart, accounts: ReadAccounts, walletRent: bigint): PublicError | null => {
  const coins = lines.filter(({ tokenAddress }) => tokenAddress === null)
  for (const [destination, ofOne] of Map.groupBy(coins, (line) => line.destination)) {
    const sum = ofOne.reduce((total, { amount }) => total + amount, 0n)
    const after = sum + (accounts.get(destination)?.lamports ?? 0n)
    if (after >= walletRent) continue
    return refuseLine(
      lines.indexOf(ofOne[0]!),
      `its receiver is a new wallet, which must have ${solOf(walletRent)} or more`
    )
  }
  return null
}

/** What a part takes, or why the wallet cannot pay it. `rents`: lamports by bytes of an account. */
export const planPayout = (
  part: PayoutPart,
  mints: ReadAccounts,
  accounts: ReadAccounts,
  rents: ReadonlyMap<number, bigint>
): Result.Result<PayoutPlan, PublicError> => {
  const refusal = refusalOfLines(part)
  if (refusal !== null) return Result.fail(refusal)
  const wallet = accounts.get(part.from) ?? null
  if (!canSign(part.from) || (wallet !== null && (wallet.owner !== systemProgram || wallet.data.length > 0))) {
    return Result.fail(notSpendable(
      "its address belongs to a program, such as a multisig's vault, and has no key. Name a wallet that signs itself"
    ))
  }
  return Result.flatMap(
    Result.all(part.lines.map((line, place) => planLine(line, place, mints, accounts))),
    (lines): Result.Result<PayoutPlan, PublicError> => {
      const walletRent = rents.get(0)!
      const missing = missingAccounts(lines)
      const rent = [...missing.values()].reduce(
        (sum, place) => sum + rents.get(tokenAccountLength(mints.get(lines[place]!.token!.mint)!))!,
        0n
      )
      const coins = part.lines.reduce((sum, { amount, tokenAddress }) => tokenAddress === null ? sum + amount : sum, 0n)
      const required = coins + rent + feeOf(lines) + walletRent
      const available = wallet?.lamports ?? 0n
      const shortage = refusalOfSmallCoins(part, accounts, walletRent) ?? refusalOfTokens(part, lines, accounts) ??
        (available < required
          ? insufficient(
            { ...coin, tokenAddress: null },
            required,
            available,
            " with the fee, new token accounts and what must remain"
          )
          : null)
      return shortage === null ? Result.succeed({ lines, rent, missing: missing.size }) : Result.fail(shortage)
    }
  )
}
