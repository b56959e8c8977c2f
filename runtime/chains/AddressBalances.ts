/** What single addresses hold at a final block: what can be collected of each. */
import { Effect } from "effect"
import { type BaseUnits, baseUnits } from "../../schemas/Money.ts"
import type { AddressBalances, BalanceQuestion, ChainDriver, Chains, DriverError } from "../Chains.ts"
import type { NetworkWallets } from "../SimulatedWallets.ts"
import { finalHeight } from "./Confirmations.ts"
import { driverOf, type JournalContext } from "./JournalContext.ts"

/** Addresses asked for at once: more than for a month's reading, because a person waits for the answer. */
const concurrency = 8

type Balance = (question: BalanceQuestion) => Effect.Effect<BaseUnits, DriverError>

/** How the balance of one address at a height is read; null: the driver reads no balances at a height. */
const balanceAtHeight = (
  { balanceAt }: ChainDriver,
  simulated: NetworkWallets | null,
  height: bigint
): Balance | null => {
  if (simulated !== null) {
    return ({ address, offChainUnits, token }) =>
      Effect.map(simulated.balanceChange(address, token, height), (change) => {
        const units = offChainUnits + change
        return baseUnits(units > 0n ? units : 0n)
      })
  }
  return balanceAt === null
    ? null
    : ({ address, token }) => Effect.map(balanceAt(address, token, height), ({ balance }) => balance)
}

/** Each address at the newest final block: the lowest of their heights is the one for all. */
const readNow = Effect.fnUntraced(function*(
  finalBalances: NonNullable<ChainDriver["finalBalances"]>,
  questions: ReadonlyArray<BalanceQuestion>,
  height: bigint
): Effect.fn.Return<AddressBalances, DriverError> {
  const found = yield* Effect.forEach(
    questions,
    ({ address, token }) => finalBalances([address], [token]),
    { concurrency }
  )
  const whole = found.filter((each) => each !== null)
  if (whole.length < found.length) return { _tag: "Unreadable", reason: "not_offered" }
  return {
    _tag: "Balances",
    height: whole.reduce((lowest, { point }) => point.height < lowest ? point.height : lowest, height),
    units: whole.map(({ balances }) => balances[0]!)
  }
})

/** `Chains.addressBalances`. */
export const addressBalances =
  (journal: JournalContext): Chains["Service"]["addressBalances"] => ({ environment, network, questions }) =>
    Effect.gen(function*(): Effect.fn.Return<AddressBalances, DriverError> {
      const driver = driverOf(journal, network, environment)
      const cursor = driver === undefined ? null : yield* journal.repo.cursor(network, environment)
      const head = cursor?.recent[0]
      if (driver === undefined || cursor === null || head === undefined) {
        return { _tag: "Unreadable", reason: "not_followed" }
      }
      const height = finalHeight(network, environment, { head: head.height, finalized: cursor.finalized })
      const balance = balanceAtHeight(driver, journal.simulatedWallets.find(network, environment), height)
      if (balance !== null) {
        return { _tag: "Balances", height, units: yield* Effect.forEach(questions, balance, { concurrency }) }
      }
      return driver.finalBalances === null
        ? { _tag: "Unreadable", reason: "not_offered" }
        : yield* readNow(driver.finalBalances, questions, height)
    })

/** `Chains.walletRecord`. */
export const walletRecord = (journal: JournalContext): Chains["Service"]["walletRecord"] => (fingerprint) =>
  journal.merchantWallets.current()?.withFingerprint(fingerprint) ?? Effect.succeed(null)
