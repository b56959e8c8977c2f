/**
 * A wallet of TON of version 5 (W5) as its owner's app drives it: the contract's own code, and external messages that
 * are written and signed by the words of its specification (github.com/ton-blockchain/wallet-contract-v5).
 */
import {
  Address,
  beginCell,
  Cell,
  contractAddress,
  external,
  internal,
  type OutActionSendMsg,
  SendMode,
  storeOutList
} from "@ton/core"
import { createShardAccount } from "@ton/sandbox"
import nacl from "tweetnacl"
import { keysOf, tonState } from "../SignInWallets.ts"
import type { TonRig } from "../TonRig.ts"

/** `signed_external` of the contract: the sender is whoever brings the signature. */
const signedExternal = 0x7369676e

/** What the client's context, version and workchain make of the network's number: `-3 ^ 0x80000000`. */
export const walletIdOf = (globalId: number): number => 0x8000_0000 ^ globalId

export interface W5Wallet {
  readonly address: Address
  /** Puts it on a chain, with coins. */
  readonly place: (rig: TonRig, balance: bigint) => Promise<void>
  /** Signs a request of TON Connect and sends it; null where the contract refuses it. */
  readonly execute: (rig: TonRig, payload: string) => Promise<Awaited<ReturnType<TonRig["act"]>> | null>
}

export const w5Wallet = (seed: number, globalId = -3): W5Wallet => {
  const keys = keysOf(seed)
  const walletId = walletIdOf(globalId)
  const state = tonState("v5r1", keys.publicKey, { walletId })
  const address = contractAddress(0, state)

  const actionOf = (message: any): OutActionSendMsg => ({
    type: "sendMsg",
    mode: SendMode.PAY_GAS_SEPARATELY | SendMode.IGNORE_ERRORS,
    outMsg: internal({
      to: Address.parse(message.address),
      value: BigInt(message.amount),
      bounce: Address.parseFriendly(message.address).isBounceable,
      body: Cell.fromBase64(message.payload)
    })
  })

  return {
    address,
    place: (rig, balance) =>
      rig.chain.setShardAccount(
        address,
        createShardAccount({ address, code: state.code!, data: state.data!, balance })
      ),
    execute: async (rig, payload) => {
      const request = JSON.parse(payload)
      if (request.from !== address.toRawString()) throw new Error("the request is for another wallet")
      const { stackReader } = await rig.chain.runGetMethod(address, "seqno")
      const unsigned = beginCell()
        .storeUint(signedExternal, 32)
        .storeInt(walletId, 32)
        .storeUint(request.validUntil, 32)
        .storeUint(stackReader.readNumber(), 32)
        .storeMaybeRef(beginCell().store(storeOutList(request.messages.map(actionOf))).endCell())
        .storeBit(0)
      const signature = nacl.sign.detached(unsigned.endCell().hash(), keys.secretKey)
      const body = beginCell().storeBuilder(unsigned).storeBuffer(Buffer.from(signature)).endCell()
      try {
        return await rig.act(() => rig.chain.sendMessage(external({ to: address, body })))
      } catch {
        return null
      }
    }
  }
}
