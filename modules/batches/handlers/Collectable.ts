/** What can be collected, between the wire and the service. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { jsonText, readEnvironment, requireMerchantScope } from "../../../runtime/Http.ts"
import * as Operations from "../../../runtime/Operations.ts"
import { csvLine, decimal, text } from "../../../schemas/Csv.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { invalidParameter } from "../../../schemas/InvalidInput.ts"
import { formatUnits, readPrice, usdDecimal, usdMillis, usdWire } from "../../../schemas/Money.ts"
import { TokenCatalog } from "../../../runtime/TokenCatalog.ts"
import { BatchesApi } from "../api.ts"
import type { CollectableAddress, CollectableToken } from "../api/Collectable.ts"
import type { AddressHolding } from "../rules/Collecting.ts"
import { Batches } from "../service.ts"
import type { Collectable, CollectableGroup } from "../service/Collectable.ts"

const amountsOf = (holdings: ReadonlyArray<Pick<AddressHolding, "token" | "units" | "value">>) => {
  const units = holdings.reduce((sum, each) => sum + each.units, 0n)
  const isPriced = holdings.every(({ value }) => value !== null)
  const value = usdMillis(holdings.reduce((sum, each) => sum + (each.value ?? 0n), 0n))
  return {
    token_amount: formatUnits(units, holdings[0]!.token.decimals),
    amount: isPriced ? usdWire(value) : null,
    amount_decimal: isPriced ? usdDecimal(value) : null
  }
}

const addressObject = (holding: AddressHolding): typeof CollectableAddress.Encoded => ({
  address: holding.address,
  index: holding.index,
  ...amountsOf([holding]),
  payee: holding.payee,
  salt: holding.salt
})

const groupObject = (
  { gas, holdings, method, token }: CollectableGroup,
  withAddresses: boolean
): typeof CollectableToken.Encoded => ({
  network: token.network,
  token_id: token.id,
  symbol: token.symbol,
  ...amountsOf(holdings),
  amount_unit: "usd_millis",
  currency: "usd",
  addresses: holdings.length,
  method,
  estimated_gas: gas?.toString() ?? null,
  ...(withAddresses ? { sources: holdings.map(addressObject) } : {})
})

const columns = [
  "network",
  "token_id",
  "symbol",
  "token_address",
  "address",
  "index",
  "token_amount",
  "units",
  "amount_usd",
  "method",
  "payee",
  "salt"
]

const csvOf = ({ groups }: Collectable): string =>
  [
    csvLine(columns.map(text)),
    ...groups.flatMap(({ holdings, method, token }) =>
      holdings.map(({ address, index, payee, salt, tokenAddress, units, value }) =>
        csvLine([
          text(token.network),
          decimal(String(token.id)),
          text(token.symbol),
          text(tokenAddress),
          text(address),
          decimal(String(index)),
          decimal(formatUnits(units, token.decimals)),
          decimal(units.toString()),
          decimal(value === null ? null : usdDecimal(value)),
          text(method),
          text(payee),
          text(salt)
        ])
      )
    )
  ].join("")

export const collectableHandlers = Operations.group(
  BatchesApi,
  "collectable",
  Effect.fn(function*(group) {
    const batches = yield* Batches
    const catalog = yield* TokenCatalog
    return group.handle(
      "list",
      Effect.fnUntraced(function*({ query }) {
        const principal = yield* requireMerchantScope
        const environment = yield* readEnvironment(principal, query.environment)
        const { expand, format, min_value: least, network, token_id: tokenId } = query
        const minimumValue = least === undefined ? null : readPrice(least)
        if (minimumValue === undefined) {
          return yield* invalidParameter("min_value", "dollars with at most three decimals, like 2.5")
        }
        if (tokenId !== undefined && catalog.get(tokenId)?.environment !== environment) {
          return yield* publicError("TOKEN_NOT_FOUND", { message: "token_id: no such token", param: "token_id" })
        }
        const found = yield* batches.collectable({ merchantId: principal.merchantId, environment }, {
          networks: network === undefined ? null : [network],
          tokenIds: tokenId === undefined ? null : [tokenId],
          minimumValue
        })
        return format === "csv"
          ? HttpServerResponse.text(csvOf(found), {
            contentType: "text/csv; charset=utf-8; header=present",
            headers: { "content-disposition": "attachment; filename=\"collectable.csv\"" }
          })
          : jsonText(JSON.stringify({
            success: true,
            data: {
              object: "list",
              data: found.groups.map((each) => groupObject(each, expand === "addresses")),
              has_more: found.hasMore
            }
          }))
      })
    )
  })
)
