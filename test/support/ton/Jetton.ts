/**
 * A jetton of TEP-74 on the rig's chain. `jettonCodes.json` is what `jettonWallet.fc` and `jettonMaster.fc` compile to,
 * because the compiler takes longer than most tests (`test/modules/chains/ton/jettonCodes.test.ts`).
 */
import { type Address, beginCell, Cell, contractAddress, Dictionary, type StateInit } from "@ton/core"
import { createHash } from "node:crypto"
import codes from "./jettonCodes.json" with { type: "json" }

const keyOf = (name: string): Buffer => createHash("sha256").update(name).digest()

/** Content kept on the chain (TEP-64), as USDT's master has it. */
export const onChainContent = (values: Readonly<Record<string, string>>): Cell => {
  const entries = Dictionary.empty(Dictionary.Keys.Buffer(32), Dictionary.Values.Cell())
  for (const [name, value] of Object.entries(values)) {
    entries.set(keyOf(name), beginCell().storeUint(0, 8).storeStringTail(value).endCell())
  }
  return beginCell().storeUint(0, 8).storeDict(entries).endCell()
}

/** Content kept elsewhere: the chain has its address alone. */
export const offChainContent = (uri: string): Cell => beginCell().storeUint(1, 8).storeStringTail(uri).endCell()

export interface JettonState {
  readonly address: Address
  readonly init: StateInit
}

export const jettonMaster = (admin: Address, content: Cell): JettonState => {
  const data = beginCell().storeCoins(0).storeAddress(admin).storeRef(content)
    .storeRef(Cell.fromBase64(codes["jettonWallet.fc"])).endCell()
  const init = { code: Cell.fromBase64(codes["jettonMaster.fc"]), data }
  return { address: contractAddress(0, init), init }
}

export const mintBody = (to: Address, amount: bigint): Cell =>
  beginCell().storeUint(21, 32).storeUint(0, 64).storeAddress(to).storeCoins(amount).endCell()

/** `forwardPayload`: in a cell of its own; null: none. */
export const transferBody = (options: {
  readonly to: Address
  readonly amount: bigint
  readonly response: Address
  readonly forwardAmount: bigint
  readonly forwardPayload: Cell | null
}): Cell => {
  const { amount, forwardAmount, forwardPayload, response, to } = options
  return beginCell().storeUint(0x0f8a7ea5, 32).storeUint(0, 64).storeCoins(amount).storeAddress(to)
    .storeAddress(response).storeBit(0).storeCoins(forwardAmount).storeMaybeRef(forwardPayload).endCell()
}
