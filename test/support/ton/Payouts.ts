/** A merchant's wallet on a rig of TON that executes what payouts export, and the driver that looks for it. */
import { Address, Cell, internal, SendMode } from "@ton/core"
import { Effect } from "effect"
import { makeDriver } from "../../../modules/chains/ton.ts"
import type { PayoutExport, PayoutLine, PayoutPart, PayoutSearchRequest } from "../../../runtime/Payouts.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { readTonAddress, tonAddressText } from "../../../schemas/TonAddress.ts"
import { TonRig } from "../TonRig.ts"
import { tonOptions } from "./Driver.ts"

/** A message of a request to a wallet, as the wallet reads it. */
export interface RequestedMessage {
  readonly address: string
  readonly amount: string
  readonly payload: string
}

export const addressText = (raw: string): string =>
  tonAddressText(readTonAddress(raw)!, { bounceable: false, testOnly: true })

/** A receiver that nothing was ever sent to. */
export const receiver = (byte: string): string => addressText(`0:${byte.repeat(32)}`)

export const openTonPayouts = (count = 1) =>
  Effect.gen(function*() {
    const rig = yield* Effect.promise(() => TonRig.make())
    const endpoints = yield* Effect.forEach(Array.from({ length: count }), () => rig.serve())
    const jetton = yield* Effect.promise(() => rig.deployJetton())
    const driver = yield* Effect.orDie(makeDriver(tonOptions(endpoints.map(({ url }) => url))))
    const payouts = driver.payouts!
    const from = addressText(rig.payer.address.toRawString())
    const token = jetton.address.toRawString()
    rig.mine()

    const lineOf = (
      destination: string,
      tokenAddress: string | null,
      amount: bigint,
      more: Partial<PayoutLine> = {}
    ): PayoutLine => ({
      destination,
      memo: null,
      tokenAddress,
      symbol: tokenAddress === null ? "GRAM" : "USDT",
      decimals: tokenAddress === null ? 9 : 6,
      amount: baseUnits(amount),
      reference: "re_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10",
      ...more
    })
    const partOf = (lines: ReadonlyArray<PayoutLine>, part = 1): PayoutPart => ({
      _tag: "Payout",
      batchId: "bat_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10",
      part,
      from,
      lines
    })
    const build = (
      part: PayoutPart,
      format: PayoutExport["format"] = "ton",
      spentInputs: ReadonlyArray<string> = []
    ) => payouts.build({ part, format, validUntil: rig.head.time + 86_400, spentInputs: new Set(spentInputs) })
    /** What a wallet does with a request that is still valid. `edit`: what malware does, or what the wallet drops. */
    const execute = (
      { payload }: PayoutExport,
      edit: (messages: ReadonlyArray<RequestedMessage>) => ReadonlyArray<RequestedMessage> = (all) => all
    ) =>
      Effect.promise(async () => {
        const request = JSON.parse(payload)
        if (request.validUntil < rig.head.time) throw new Error("the request is too old")
        if (request.from !== rig.payer.address.toRawString()) throw new Error("the request is for another wallet")
        const messages = edit(request.messages).map(({ address, amount, payload: body }) =>
          internal({
            to: Address.parse(address),
            value: BigInt(amount),
            bounce: Address.parseFriendly(address).isBounceable,
            body: Cell.fromBase64(body)
          })
        )
        return rig.act(() => rig.payer.sendMessages(messages, SendMode.PAY_GAS_SEPARATELY | SendMode.IGNORE_ERRORS))
      })
    const search = (
      part: PayoutPart,
      exported: PayoutExport,
      asked: Partial<Pick<PayoutSearchRequest, "from" | "hint">> = {}
    ) => payouts.search({ part, export: exported, from: exported.builtAt, hint: null, ...asked })
    return { rig, endpoints, jetton, token, driver, payouts, from, lineOf, partOf, build, execute, search }
  })
