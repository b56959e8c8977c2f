/** How commits move balances: what a flush moves is added up, and each row is written once. Pure. */
import type { BalanceDelta } from "../Commit.ts"
import { selectRows, type Value } from "./RowValues.ts"

/** Columns of a balance; the first four are its key. */
const balanceColumns = [
  { name: "merchant_id", type: "integer" },
  { name: "environment", type: "text" },
  { name: "account", type: "text" },
  { name: "asset", type: "text" },
  { name: "units", type: "numeric" },
  { name: "usd_millis", type: "bigint" }
]

/** Deltas of equal balances added up; those that do not move are left out. */
export const sumBalances = (deltas: Iterable<BalanceDelta>): ReadonlyArray<BalanceDelta> => {
  const sums = new Map<string, BalanceDelta>()
  for (const delta of deltas) {
    const id = `${delta.merchantId}\n${delta.environment}\n${delta.account}\n${delta.asset}`
    const existing = sums.get(id)
    sums.set(
      id,
      existing === undefined
        ? delta
        : { ...existing, units: existing.units + delta.units, usdMillis: existing.usdMillis + delta.usdMillis }
    )
  }
  return [...sums.values()].filter(({ units, usdMillis }) => units !== 0n || usdMillis !== 0n)
}

const balanceValues = ({ account, asset, environment, merchantId, units, usdMillis }: BalanceDelta) => [
  String(merchantId),
  environment,
  account,
  asset,
  units.toString(),
  usdMillis.toString()
]

/**
 * Values of rows of balances for the deltas of a commit whose balances must hold what is taken; of a sum that need not,
 * the delta is zero.
 */
export const heldRows = (deltas: ReadonlyArray<BalanceDelta> = []): ReadonlyArray<ReadonlyArray<Value>> =>
  deltas.flatMap((delta) =>
    delta.mustHold === undefined ? [] : [balanceValues({
      ...delta,
      units: delta.mustHold.units ? delta.units : 0n,
      usdMillis: delta.mustHold.usdMillis ? delta.usdMillis : 0n
    })]
  )

/** Values of rows of balances (`RowValues.ts`), one for each balance that the commits move. */
export const balanceRows = (
  commits: Iterable<ReadonlyArray<BalanceDelta> | undefined>
): ReadonlyArray<ReadonlyArray<string>> => {
  const moved: Array<BalanceDelta> = []
  for (const deltas of commits) if (deltas !== undefined) moved.push(...deltas)
  if (moved.length === 0) return []
  return sumBalances(moved).map(balanceValues)
}

const names = balanceColumns.map(({ name }) => name)

const isSameBalance = names.slice(0, 4).map((name) => `t.${name} = r.${name}`).join(" and ")

/** Whether a sum that a delta takes from has come past zero with it. */
const isOvertaken = (sum: string, delta: string): string => `${delta} > 0 and ${sum} > 0 or ${delta} < 0 and ${sum} < 0`

/** The condition that balances, after they were moved, did not hold what one of `count` {@link heldRows} takes. */
export const isMoreTaken = (values: string, count: string): string =>
  `exists (
      select from (${selectRows(balanceColumns, { values, count })}) r join account_balances t on ${isSameBalance}
        where ${isOvertaken("t.units", "r.units")} or ${isOvertaken("t.usd_millis", "r.usd_millis")}
    )`

/** The statement that names, by their places from 1, those of `count` {@link heldRows} that take more than there is. */
export const placesOfMoreTaken = (values: string, count: string): string =>
  `select r.place from (${selectRows(balanceColumns, { values, count })}) r
      left join account_balances t on ${isSameBalance}
      where ${isOvertaken("coalesce(t.units, 0) + r.units", "r.units")}
        or ${isOvertaken("coalesce(t.usd_millis, 0) + r.usd_millis", "r.usd_millis")}`

/**
 * The statement that moves `count` balances of {@link balanceRows}. It takes them in key order and locks one after the
 * other, so flushes of two instances that move the same balances wait for each other and never in a circle.
 */
export const moveBalances = (values: string, count: string): string =>
  `insert into account_balances as t (${names.join(", ")})
      select ${names.map((name) => `r.${name}`).join(", ")} from (
        ${selectRows(balanceColumns, { values, count })}
      ) r order by ${names.slice(0, 4).map((name) => `r.${name}`).join(", ")}
      on conflict (${names.slice(0, 4).join(", ")}) do update
        set units = t.units + excluded.units, usd_millis = t.usd_millis + excluded.usd_millis`
