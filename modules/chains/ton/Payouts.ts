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
import { readAccountKey } from "./Account.ts"
import { makeJettonWallets } from "./JettonWallets.ts"
import { buildPayout, validitySeconds } from "./PayoutBuild.ts"
import { searchPayout } from "./PayoutSearch.ts"
import { readWalletStates, type Toncenter } from "./Toncenter.ts"

/** Messages of one signature that every wallet can send: each is a line of a part. */
const messagesOfAnyWallet = 4

/**
 * Those of a wallet of version 5: the 255 actions that the virtual machine allows a transaction. An application may
 * take fewer at once, its `maxMessages`. Source: TON Connect, `Feature`, as of August 2025,
 * https://github.com/ton-blockchain/ton-connect/blob/48a2597864efd5dc1a26b696c3caaa414ca8f0c0/requests-responses.md
 */
const messagesOfWalletV5 = 255

/** See `PayoutDriver.partSizes`. */
export const partSizes = (lines: ReadonlyArray<PayoutLine>, capacity = messagesOfAnyWallet): ReadonlyArray<number> =>
  Array.from(
    { length: Math.ceil(lines.length / capacity) },
    (_, place) => Math.min(capacity, lines.length - place * capacity)
  )

/** See `PayoutDriver.capacityOf`. A wallet that has sent nothing has no code yet, and nobody knows its version. */
const capacityOf = (endpoints: Endpoints<Toncenter>) => (from: string): Effect.Effect<number> => {
  const wallet = readAccountKey(from)
  return wallet === null ?
    Effect.succeed(messagesOfAnyWallet) :
    endpoints.withFailover((client) =>
      Effect.map(
        readWalletStates(client, [wallet]),
        (states) =>
          states.some(({ account, isVersion5 }) => account === wallet && isVersion5)
            ? messagesOfWalletV5
            : messagesOfAnyWallet
      )
    ).pipe(
      Effect.catch(({ reason }) =>
        Effect.as(
          Effect.logInfo("a wallet's version cannot be read, so 4 lines go into a part", { reason }),
          messagesOfAnyWallet
        )
      )
    )
}

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
    capacityOf: capacityOf(endpoints),
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
