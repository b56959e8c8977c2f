/**
 * Goal: what lies on receiving addresses is moved to its payee by one signature of anybody, and what has moved is
 * found, whoever moved it.
 * Method: the driver on a real node with the Collector; the export is executed by wallets of strangers.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { decodeFunctionData, type Hex, serializeTransaction, size, toFunctionSelector, toHex } from "viem"
import { collector } from "../../../../modules/chains/evm/Contracts.ts"
import { unsignedTransaction } from "../../../../modules/chains/evm/OpStackFees.ts"
import { toChecksumAddress } from "../../../../schemas/EvmAddress.ts"
import type { PublicError } from "../../../../schemas/Errors.ts"
import { baseUnits } from "../../../../schemas/Money.ts"
import type { CollectLine, CollectPart, PayoutExport, PayoutFormat } from "../../../../runtime/Payouts.ts"
import { CollectTown } from "../../../support/CollectTown.ts"
import { builds, callData, contractRig, nativeCoin } from "../../../support/ContractRig.ts"
import { callsOf, payoutDriverAt } from "../../../support/PayoutTown.ts"

const options = { excludeTestServices: true } as const

const codeOf = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.map(Effect.flip(effect), (error) => (error as PublicError).code)

const makeDesk = Effect.gen(function*() {
  const town = yield* CollectTown
  const driver = yield* payoutDriverAt("devnet", [town.node.url])
  const usdc = toChecksumAddress(town.usdc)

  const usdcLine = (
    { address, salt }: { readonly address: string; readonly salt: string },
    amount = 7n
  ): CollectLine => ({
    address,
    salt,
    tokenAddress: usdc,
    symbol: "USDC",
    decimals: 6,
    amount: baseUnits(amount)
  })

  const coinLine = (at: { readonly address: string; readonly salt: string }, amount = 5n): CollectLine => ({
    ...usdcLine(at, amount),
    tokenAddress: null,
    symbol: "ETH",
    decimals: 18
  })

  const newPart = (lines: ReadonlyArray<CollectLine>, from: string | null = null): CollectPart => ({
    _tag: "Collect",
    batchId: `bat_${randomUUID()}`,
    part: 1,
    payee: toChecksumAddress(town.payee),
    from,
    lines
  })

  const build = (part: CollectPart, format: PayoutFormat = "transactions") =>
    driver.build({ part, format, validUntil: 2_000_000_000, spentInputs: new Set() })

  const sign = (exported: PayoutExport, from: string = town.stranger) =>
    town.send({ ...callsOf(exported)[0]!, from, gas: 16_000_000n })

  const search = (part: CollectPart, exported: PayoutExport) =>
    driver.search({ part, export: exported, from: exported.builtAt, hint: null })

  return { ...town, usdc, driver, usdcLine, coinLine, newPart, build, sign, search }
})

layer(CollectTown.layer("prague"), options)("collecting", (it) => {
  it.effect("empties 200 addresses by one call of a stranger, in each format, and every line is found", () =>
    Effect.gen(function*() {
      const {
        build,
        coinLine,
        driver,
        gain,
        mintMany,
        newAddresses,
        newPart,
        pay,
        payee,
        search,
        sign,
        usdc,
        usdcLine
      } = yield* makeDesk
      const addresses = newAddresses(200)
      yield* mintMany(usdc, addresses.map(({ address }) => address), 7n)
      yield* pay(addresses[0]!.address, 5n)
      const lines = [...addresses.map((at) => usdcLine(at)), coinLine(addresses[0]!)]
      const part = newPart(lines)
      for (const format of ["eip5792", "transactions", "safe"] as const) {
        const exported = yield* build(part, format)
        const [call, ...more] = callsOf(exported)
        assert.deepStrictEqual([more.length, call!.to, call!.value], [0, collector.address as Hex, 0n])
        const { args, functionName } = decodeFunctionData({ abi: builds["Collector"]!.abi, data: call!.data })
        assert.deepStrictEqual([functionName, args as unknown], ["collect", [
          part.payee,
          [usdc, nativeCoin],
          addresses.map(({ salt }) => salt)
        ]])
        assert.deepStrictEqual([exported.validUntil, exported.notices], [null, []])
      }
      const cost = yield* driver.estimateCollect!(part)
      const exported = yield* build(part)
      const { gained, result } = yield* gain(usdc, payee, sign(exported))
      assert.strictEqual(gained, 1_400n)
      assert.isBelow(result.gasUsed, 2 ** 24)
      assert.isAtLeast(Number(cost.gas), result.gasUsed)
      assert.isBelow(Number(cost.gas), result.gasUsed * 1.5)
      assert.isAbove(Number(cost.gasPrice), 0)

      const { executions, isOver } = yield* search(part, exported)
      assert.isFalse(isOver)
      assert.lengthOf(executions, 1)
      const { transfers } = executions[0]!
      assert.deepStrictEqual(
        transfers.toSorted((one, next) => one.line! - next.line!).map(({ amount, from, line }) => [line, from, amount]),
        lines.map(({ address, amount }, place) => [place, address, amount])
      )
      assert.strictEqual(new Set(transfers.map(({ index }) => index)).size, 201)
      assert.isTrue(transfers.every(({ destination }) => destination === part.payee))
      assert.strictEqual(yield* codeOf(build(part)), "NOTHING_TO_COLLECT")
      assert.strictEqual(yield* codeOf(driver.estimateCollect!(part)), "NOTHING_TO_COLLECT")
    }))

  it.effect("costs what the rollup takes for its bytes beside the gas", () =>
    Effect.gen(function*() {
      const { build, driver, mintMany, newAddresses, newPart, node, usdc, usdcLine } = yield* makeDesk
      const addresses = newAddresses(30)
      yield* mintMany(usdc, addresses.map(({ address }) => address), 7n)
      const part = newPart(addresses.map((at) => usdcLine(at)))
      const { dataFee } = yield* driver.estimateCollect!(part)
      assert.strictEqual(dataFee, 0n, "no chain without the contract takes anything")
      // A stand-in that takes one base unit for each byte of the transaction that it is asked about.
      yield* node.rpc("anvil_setCode", "0x420000000000000000000000000000000000000F", "0x60243560005260206000f3")
      const cost = yield* driver.estimateCollect!(part)
      const [call] = callsOf(yield* build(part))
      const unsigned = serializeTransaction({
        type: "eip1559",
        chainId: 84_532,
        nonce: 0xffff,
        maxFeePerGas: cost.gasPrice,
        maxPriorityFeePerGas: cost.gasPrice,
        gas: cost.gas,
        ...call!
      })
      assert.strictEqual(cost.dataFee, BigInt(size(unsigned)))
      assert.strictEqual(
        toHex(
          unsignedTransaction({ ...call!, value: 0n }, { chainId: 84_532, gas: cost.gas, gasPrice: cost.gasPrice })
        ),
        unsigned
      )
    }))

  it.effect("costs what the rollup's operator takes for its gas, where the rollup has such a fee", () =>
    Effect.gen(function*() {
      const { driver, mintMany, newAddresses, newPart, node, usdc, usdcLine } = yield* makeDesk
      const addresses = newAddresses(2)
      yield* mintMany(usdc, addresses.map(({ address }) => address), 7n)
      const part = newPart(addresses.map((at) => usdcLine(at)))
      const { gas, operatorFee } = yield* driver.estimateCollect!(part)
      assert.strictEqual(operatorFee, 0n, "no chain without the contract takes anything")
      // Stand-ins that take 7 base units for the bytes; asked for the operator's fee, one ends with an error, as the
      // contract did before Isthmus, and the other takes 100 base units for each unit of gas, and 5 more.
      const selector = toFunctionSelector("getOperatorFee(uint256)").slice(2)
      const contract = (operator: string) => `0x60003560e01c63${selector}14601957600760005260206000f35b${operator}`
      const estimateWith = (operator: string) =>
        Effect.andThen(
          node.rpc("anvil_setCode", "0x420000000000000000000000000000000000000F", contract(operator)),
          driver.estimateCollect!(part)
        )
      const before = yield* estimateWith("60006000fd")
      assert.deepStrictEqual([before.dataFee, before.operatorFee], [7n, 0n] as unknown)
      const since = yield* estimateWith("60043560640260050160005260206000f3")
      assert.deepStrictEqual([since.dataFee, since.operatorFee], [7n, 100n * since.gas + 5n] as unknown)
      assert.strictEqual(since.gas, gas)
    }))

  it.effect("is found where somebody else collected, each in its own transaction, and what is left goes on", () =>
    Effect.gen(function*() {
      const { build, coinLine, collect, mintMany, newAddresses, newPart, other, pay, search, sign, usdc, usdcLine } =
        yield* makeDesk
      const addresses = newAddresses(3)
      const [first, second] = addresses
      yield* mintMany(usdc, addresses.map(({ address }) => address), 7n)
      yield* pay(first!.address, 5n)
      const part = newPart([...addresses.map((at) => usdcLine(at)), coinLine(first!)])
      const exported = yield* build(part, "safe")
      yield* collect([nativeCoin], [first!.salt], { from: other })
      yield* collect([usdc], [second!.salt], { from: other })
      const again = yield* build(part, "eip5792")
      assert.deepStrictEqual(again.notices, [
        "2 of 4 balances would be collected: the others are empty by now, or their tokens refuse."
      ])
      yield* sign(exported)
      const { executions } = yield* search(part, exported)
      assert.deepStrictEqual(
        executions.map(({ transfers }) => transfers.map(({ amount, line }) => [line, amount as bigint])),
        [[[3, 5n]], [[1, 7n]], [[0, 7n], [2, 7n]]]
      )
    }))

  it.effect("names who signs where that is known, and takes any wallet where it is not", () =>
    Effect.gen(function*() {
      const { build, mint, newAddress, newPart, stranger, usdc, usdcLine } = yield* makeDesk
      const at = newAddress()
      yield* mint(usdc, at.address, 7n)
      const from = toChecksumAddress(stranger)
      const [named, unnamed] = [newPart([usdcLine(at)], from), newPart([usdcLine(at)])]
      const request = (part: CollectPart, format: PayoutFormat) =>
        Effect.map(build(part, format), ({ payload }) => JSON.parse(payload))
      const [call] = yield* request(named, "eip5792")
      assert.deepStrictEqual([call.from, call.atomicRequired], [from, false])
      assert.match(call.id, /^0x[0-9a-f]{64}$/)
      assert.strictEqual((yield* request(named, "eip5792"))[0].id, call.id, "of the same calls")
      assert.notStrictEqual((yield* request(unnamed, "eip5792"))[0].id, call.id)
      assert.notProperty((yield* request(unnamed, "eip5792"))[0], "from")
      assert.notProperty((yield* request(unnamed, "transactions"))[0], "from")
      assert.strictEqual((yield* request(unnamed, "safe")).meta.createdFromSafeAddress, "")
    }))

  it.effect("is refused for more addresses than one call can empty, and where no Collector is", () =>
    Effect.gen(function*() {
      const { build, driver, newAddresses, newPart, usdcLine } = yield* makeDesk
      const many = newPart(newAddresses(201).map((at) => usdcLine(at)))
      assert.strictEqual(yield* codeOf(build(many)), "BATCH_TOO_LARGE")
      assert.strictEqual(yield* codeOf(driver.estimateCollect!(many)), "BATCH_TOO_LARGE")
      const { node } = yield* contractRig("prague")
      const elsewhere = yield* payoutDriverAt("devnet", [node.url])
      const part = newPart(newAddresses(1).map((at) => usdcLine(at)))
      const request = { part, format: "safe" as const, validUntil: 2_000_000_000, spentInputs: new Set<string>() }
      assert.strictEqual(yield* codeOf(elsewhere.build(request)), "COLLECTOR_MISSING")
      assert.strictEqual(yield* codeOf(elsewhere.estimateCollect!(part)), "COLLECTOR_MISSING")
    }).pipe(Effect.scoped))

  it.effect("leaves a frozen address where it is, and says before that it will", () =>
    Effect.gen(function*() {
      const { build, mintMany, newAddresses, newPart, search, send, sign, usdc, usdcLine } = yield* makeDesk
      const addresses = newAddresses(2)
      yield* mintMany(usdc, addresses.map(({ address }) => address), 7n)
      yield* send({ to: usdc, data: callData("UsdcLogic", "blacklist", [addresses[0]!.address]) })
      const part = newPart(addresses.map((at) => usdcLine(at)))
      const exported = yield* build(part)
      assert.include(exported.notices[0]!, "1 of 2 balances would be collected")
      yield* sign(exported)
      const { executions } = yield* search(part, exported)
      assert.deepStrictEqual(executions.flatMap(({ transfers }) => transfers.map(({ line }) => line)), [1])
    }))
})
