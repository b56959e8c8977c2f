/**
 * Goal: a line says what it pays as the chain's transfers do, so that these are found, and a batch of any size that is
 * offered can be stored.
 * Method: payouts of a catalogue whose tokens an operator has spelled in another way; more balances than a batch takes.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import type { BatchServices } from "../../../modules/batches/service/BatchServices.ts"
import { planPayouts } from "../../../modules/batches/service/Plans.ts"
import { type AddressHolding, collectParts } from "../../../modules/batches/rules/Collecting.ts"
import { maximumWrites } from "../../../runtime/Commit.ts"
import type { PayoutDriver } from "../../../runtime/Payouts.ts"
import { baseUnits, usdMillis } from "../../../schemas/Money.ts"
import { toChecksumAddress } from "../../../schemas/EvmAddress.ts"
import type { Token } from "../../../schemas/Token.ts"
import { receiver } from "./BatchShop.ts"

const address = "0x036cbd53842c5426634e7929541ec2318f3dcf7e"
const token = { id: 5, network: "base", environment: "devnet", active: true, symbol: "USDC", decimals: 6, address }

/** Services that know the token, and refuse no receiver. */
const services = {
  catalog: { get: () => token as unknown as Token, list: () => [token] },
  chains: { isReceiveAddress: () => Effect.succeed(false), isTokenAccount: () => Effect.succeed(false) },
  prices: { spot: () => Effect.succeed({ rate: { numerator: 1n, denominator: 1n } }) },
  screening: { isListed: () => Effect.succeed(false) }
} as unknown as BatchServices

it.effect("a line has its token in the one spelling of the family, whatever the catalogue has", () =>
  Effect.gen(function*() {
    const request = { tokenId: 5, tokenAmount: "2", address: receiver, memo: null, reference: "" }
    const driver = { maximumLines: 10 } as PayoutDriver
    const { lines } = yield* planPayouts(services, { merchantId: 1, environment: "devnet" }, "base", [request], driver)
    assert.deepStrictEqual(lines.map(({ tokenAddress }) => tokenAddress), [toChecksumAddress(address)])
  }))

/** Rows of a commit that makes a batch, beside those of its lines: the batch, its count, the entry of the audit log. */
const otherRows = 3

it("a batch that collects as much as it may fits into one commit", () => {
  const holdings = Array.from({ length: 2 * maximumWrites }, (_, index): AddressHolding => ({
    token: token as unknown as Token,
    tokenAddress: address,
    address: `0x${index.toString(16).padStart(40, "0")}`,
    index,
    fingerprint: "one wallet",
    payee: receiver,
    salt: "0x00",
    units: baseUnits(5_000_000n),
    value: usdMillis(5_000n),
    height: 1n
  }))
  assert.isAtMost(collectParts(holdings).lines.length + otherRows, maximumWrites)
})
