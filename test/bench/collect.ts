/**
 * What it costs to collect and to pay out, in gas, on a real node: the Collector beside the two other ways, in the same
 * run. Gas does not depend on the machine; the rate at which addresses are computed does.
 */
import { Effect } from "effect"
import { type Hex, hexToBytes, keccak256, toHex } from "viem"
import { collector, maximumAddressesPerCall, payer } from "../../modules/chains/evm/Contracts.ts"
import { forwarders } from "../../modules/chains/evm/Forwarder.ts"
import { CollectTown } from "../support/CollectTown.ts"
import { callData, nativeCoin } from "../support/ContractRig.ts"
import type { Bench } from "./Bench.ts"
import { median, type ReportLine } from "./Report.ts"

const counts = [1, 10, 100, 200] as const

/** Each of 200 addresses the first time, and again. */
const firstGoal = 65_000
const againGoal = 16_000

const paidAddresses = 1_000
const signaturesGoal = 5

/** Gas money that a plain account is given to send its tokens. */
const gasMoney = 10n ** 15n

const derivedAddresses = 2_000

const gasRow = (what: string, value: number, more: { readonly atMost?: number; readonly note?: string } = {}) => ({
  section: "collect",
  what,
  value: Math.round(value),
  unit: "gas",
  ...(more.atMost === undefined ? {} : { goal: { atMost: more.atMost } }),
  ...(more.note === undefined ? {} : { note: more.note })
})

type Place = readonly [what: "USDC" | "coin", token: string]

/** Pays every address, in the token or the coin. */
const fund = ([what, token]: Place, addresses: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const { mintMany, pay } = yield* CollectTown
    if (what === "USDC") yield* mintMany(token, addresses, 10n)
    else yield* Effect.forEach(addresses, (address) => pay(address, 10n))
  })

const succeeded = <A extends { readonly isDone: boolean }>(what: string, receipt: A) =>
  receipt.isDone ? Effect.succeed(receipt) : Effect.die(new Error(`${what} failed`))

const collectRows = (place: Place) =>
  Effect.gen(function*() {
    const { collect, newAddresses, totalOf } = yield* CollectTown
    const rows: Array<ReportLine> = []
    for (const count of counts) {
      const batch = newAddresses(count)
      const addresses = batch.map(({ address }) => address)
      for (const [time, goal] of [["first", firstGoal], ["again", againGoal]] as const) {
        yield* fund(place, addresses)
        const { gasUsed } = yield* Effect.flatMap(
          collect([place[1]], batch.map(({ salt }) => salt)),
          (receipt) => succeeded("collect", receipt)
        )
        const left = yield* totalOf(place[1], addresses)
        if (left !== 0n) return yield* Effect.die(new Error(`${left} were left behind`))
        rows.push(gasRow(
          `Collector, ${place[0]}, ${time}, each of ${count}`,
          gasUsed / count,
          count === maximumAddressesPerCall ? { atMost: goal } : {}
        ))
      }
    }
    return rows
  })

const cloneRows = (place: Place, factory: string) =>
  Effect.gen(function*() {
    const { newAddresses, payee, read, send } = yield* CollectTown
    const rows: Array<ReportLine> = []
    for (const count of counts) {
      const salts = newAddresses(count).map(({ salt }) => salt)
      const addresses: ReadonlyArray<string> = yield* Effect.forEach(
        salts,
        (salt) => read("CloneFactory", factory, "addressOf", [payee, salt])
      )
      for (const time of ["first", "again"]) {
        yield* fund(place, addresses)
        const data = callData("CloneFactory", "collect", [payee, [place[1]], salts])
        const { gasUsed } = yield* Effect.flatMap(
          send({ to: factory, data }),
          (receipt) => succeeded("the clones", receipt)
        )
        rows.push(gasRow(`ERC-1167 clones, ${place[0]}, ${time}, each of ${count}`, gasUsed / count))
      }
    }
    return rows
  })

/** Plain accounts, a key each: gas money from one transaction, then a transfer by every account. */
const plainRows = ([what, token]: Place, topUp: string) =>
  Effect.gen(function*() {
    const { newAddresses, node, payee, send } = yield* CollectTown
    const rows: Array<ReportLine> = []
    for (const count of counts) {
      const accounts = newAddresses(count).map(({ address }) => address)
      yield* Effect.forEach(accounts, (account) => node.rpc("anvil_impersonateAccount", account))
      const data = callData("TopUp", "send", [accounts, gasMoney])
      const given = yield* Effect.flatMap(
        send({ to: topUp, value: gasMoney * BigInt(count), data }),
        (receipt) => succeeded("the top-up", receipt)
      )
      let gas = what === "USDC" ? given.gasUsed : 0
      if (what === "USDC") yield* fund([what, token], accounts)
      for (const from of accounts) {
        const transfer = what === "USDC"
          ? { from, to: token, gas: 100_000n, data: callData("UsdcLogic", "transfer", [payee, 10n]) }
          : { from, to: payee, gas: 21_000n, value: 1n }
        gas += (yield* Effect.flatMap(send(transfer), (receipt) => succeeded("a transfer", receipt))).gasUsed
      }
      const transactions = what === "USDC" ? count + 1 : count
      const way = what === "USDC" ? "top-up + transfer" : "transfer"
      rows.push(gasRow(`plain accounts, ${way}, ${what}, each of ${count}`, gas / count, {
        note: `${transactions} transactions, ${count} keys`
      }))
    }
    return rows
  })

const payRows = ([what, token]: Place) =>
  Effect.gen(function*() {
    const { accounts, mint, node, send, usdc } = yield* CollectTown
    const wallet = accounts[0]!
    const chainId = BigInt(node.chainId)
    yield* mint(usdc, wallet, 10n ** 12n)
    const rows: Array<ReportLine> = []
    for (const count of counts) {
      const lines = Array.from({ length: count }, (_, place) => ({
        token,
        to: `0x${keccak256(toHex(`receiver ${what} ${count} ${place}`)).slice(26)}`,
        amount: 1_000n + BigInt(place)
      }))
      const sum = lines.reduce((total, { amount }) => total + amount, 0n)
      const approval = what === "USDC"
        ? yield* send({ to: token, data: callData("UsdcLogic", "approve", [payer.address, sum]) })
        : { gasUsed: 0 }
      const batch = keccak256(toHex(`batch ${what} ${count}`))
      const data = callData("Payer", "pay", [wallet, chainId, batch, 2n ** 40n, lines])
      const { gasUsed } = yield* Effect.flatMap(
        send({ to: payer.address, data, value: what === "USDC" ? 0n : sum }),
        (receipt) => succeeded("the batch", receipt)
      )
      rows.push(
        gasRow(
          `Payer${what === "USDC" ? " with approval" : ""}, ${what}, each of ${count} lines`,
          (gasUsed + approval.gasUsed) / count
        )
      )
    }
    return rows
  })

/** Transactions, of which each is one signature, until 1,000 paid addresses are empty. */
const signatureRow = Effect.gen(function*() {
  const { collect, newAddresses, totalOf, usdc } = yield* CollectTown
  const batch = newAddresses(paidAddresses)
  const addresses = batch.map(({ address }) => address)
  let gas = 0
  let signatures = 0
  for (let start = 0; start < paidAddresses; start += maximumAddressesPerCall) {
    const part = batch.slice(start, start + maximumAddressesPerCall)
    yield* fund(["USDC", usdc], part.map(({ address }) => address))
    gas += (yield* collect([usdc], part.map(({ salt }) => salt))).gasUsed
    signatures++
  }
  const left = yield* totalOf(usdc, addresses)
  if (left !== 0n) return yield* Effect.die(new Error(`${left} were left behind`))
  return {
    section: "collect",
    what: `signatures for ${paidAddresses} paid addresses`,
    value: signatures,
    unit: "",
    goal: { atMost: signaturesGoal },
    note: `${Math.round(gas / paidAddresses).toLocaleString("en")} gas each`
  }
})

const derivationRow = (rounds: number): ReportLine => {
  const { address } = forwarders(collector.address, hexToBytes(keccak256("0x01") as Hex))
  const rates = Array.from({ length: rounds }, () => {
    const start = performance.now()
    for (let index = 0; index < derivedAddresses; index++) address(index)
    return derivedAddresses * 1_000 / (performance.now() - start)
  })
  return { section: "collect", what: "addresses computed", value: median(rates), unit: "/s" }
}

export const collect = ({ progress, rounds }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.gen(function*() {
    const { deploy, deployFrozen, deploymentGas, usdc } = yield* CollectTown
    const factory = yield* deploy("CloneFactory")
    const topUp = yield* deploy("TopUp")
    const lines: Array<ReportLine> = [
      derivationRow(rounds),
      gasRow("Collector, deployed once per chain", deploymentGas)
    ]
    for (const [what, token] of [["USDC", usdc], ["coin", nativeCoin]] as const) {
      for (
        const rows of [
          collectRows([what, token]),
          cloneRows([what, token], factory),
          plainRows([what, token], topUp)
        ]
      ) {
        lines.push(...yield* rows)
        progress(`collect: ${lines.length} figures`)
      }
    }
    lines.push(yield* signatureRow)
    const { gasUsed } = yield* deployFrozen("Payer")
    lines.push(gasRow("Payer, deployed once per chain", gasUsed))
    for (const place of [["USDC", usdc], ["coin", nativeCoin]] as const) lines.push(...yield* payRows(place))
    return lines
  }).pipe(Effect.provide(CollectTown.layer("prague")), Effect.scoped)
