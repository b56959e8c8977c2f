/**
 * Payouts on TON: `ChainDriver.payouts`. A part is one request to a wallet, with a message for each line. A wallet
 * chooses its own sequence number, so within the request's time it can be paid twice: that is told, not prevented
 * (modules/docs/reference/batches.md#exports).
 */
import { Effect } from "effect"
import { DriverError } from "../../../runtime/Chains.ts"
import type { Endpoints } from "../../../runtime/nodes/Endpoints.ts"
import type { PayoutDriver, PayoutLine } from "../../../runtime/Payouts.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { makeJettonWallets } from "./JettonWallets.ts"
import { buildPayout, validitySeconds } from "./PayoutBuild.ts"
import { searchPayout } from "./PayoutSearch.ts"
import type { Toncenter } from "./Toncenter.ts"

/** Messages of one signature: what every wallet can send, though newer ones (v5) can send 255. */
const linesPerPart = 4

/** See `PayoutDriver.partSizes`. */
export const partSizes = (lines: ReadonlyArray<PayoutLine>): ReadonlyArray<number> =>
  Array.from(
    { length: Math.ceil(lines.length / linesPerPart) },
    (_, place) => Math.min(linesPerPart, lines.length - place * linesPerPart)
  )

/** `globalId`: of the network, as wallets name it. */
export const makePayouts = (
  endpoints: Endpoints<Toncenter>,
  environment: Environment,
  globalId: number
): PayoutDriver => {
  const jettonWallets = makeJettonWallets(endpoints)
  return {
    formats: ["ton", "csv"],
    collectFormats: [],
    estimateCollect: null,
    maximumLines: 100,
    maximumValiditySeconds: validitySeconds,
    minimumAmount: () => baseUnits(1n),
    partSizes,
    build: ({ format, part, spentInputs, validUntil }) =>
      part._tag === "Collect" || (format !== "ton" && format !== "csv")
        ? Effect.fail(
          new DriverError({ network: "ton", reason: `${format} is no format of this network`, kind: "refused" })
        )
        : buildPayout(endpoints, environment, jettonWallets, globalId, {
          part,
          isList: format === "csv",
          validUntil,
          spentInputs
        }),
    search: (request) => searchPayout(endpoints, environment, jettonWallets, request)
  }
}
