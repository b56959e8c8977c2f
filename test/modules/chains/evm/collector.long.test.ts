/**
 * Goal: what lies on a merchant's addresses goes to the merchant and to nobody else, whoever calls, whatever the token
 * does, and a transaction that succeeds has moved all that could be moved.
 * Method: the frozen Collector on a real node; strangers, hostile tokens and odd payees call it and are called by it.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { concat, encodeAbiParameters, type Hex, pad, recoverTransactionAddress, toHex } from "viem"
import { collector, keylessDeployer, topics } from "../../../../modules/chains/evm/Contracts.ts"
import { forwarderAddress, forwarderCode } from "../../../../modules/chains/evm/Forwarder.ts"
import { CollectTown } from "../../../support/CollectTown.ts"
import { callData, contractRig, nativeCoin } from "../../../support/ContractRig.ts"

/** Gas of a transaction at most (EIP-7825). */
const maximumGas = 2n ** 24n

/** What a hostile token or address may use up. */
const littleGas = 3_000_000n

const order = (receiver: string, value: bigint, data: Hex = "0x") =>
  concat([
    encodeAbiParameters([{ type: "address" }, { type: "uint256" }], [receiver as Hex, value]),
    data
  ])

const options = { excludeTestServices: true } as const

const costlyToken = Effect.flatMap(CollectTown, ({ deploy }) => deploy("CostlyBalanceToken"))

/** A token behind so many proxies, each of which keeps 1/64 of the gas. */
const deepToken = (layers: number) =>
  Effect.gen(function*() {
    const { deploy } = yield* CollectTown
    let token = yield* deploy("UsdcLogic")
    for (let depth = 0; depth < layers; depth++) token = yield* deploy("TokenLayer", token)
    return token
  })

layer(CollectTown.layer("prague"), options)("the Collector", (it) => {
  it.effect("called by a stranger, sends tokens and coin to the payee, all of it", () =>
    Effect.gen(function*() {
      const { balance, code, collect, gain, mint, newAddress, pay, payee, stranger, usdc } = yield* CollectTown
      const { address, salt } = newAddress()
      yield* mint(usdc, address, 500n)
      yield* pay(address, 100n)
      const tokens = yield* gain(
        usdc,
        payee,
        gain(nativeCoin, payee, collect([usdc, nativeCoin], [salt], { from: stranger }))
      )
      assert.strictEqual(tokens.gained, 500n)
      assert.strictEqual(tokens.result.gained, 100n)
      assert.strictEqual(yield* balance(usdc, address), 0n)
      assert.strictEqual(yield* balance(nativeCoin, address), 0n)
      assert.strictEqual(yield* code(address), forwarderCode)
      const log = tokens.result.result.logs.at(-1)!
      assert.strictEqual(log.address.toLowerCase(), collector.address.toLowerCase())
      assert.deepStrictEqual(log.topics, [topics.nativeCollected, pad(address.toLowerCase() as Hex), pad(payee)])
      assert.strictEqual(BigInt(log.data), 100n)
    }))

  it.effect("is the only one a forwarder obeys: orders of others do nothing", () =>
    Effect.gen(function*() {
      const { balance, collect, mint, newAddress, pay, send, stranger, usdc } = yield* CollectTown
      const { address, salt } = newAddress()
      yield* mint(usdc, address, 1n)
      yield* collect([usdc], [salt])
      yield* mint(usdc, address, 7n)
      yield* pay(address, 5n)
      const transfer = callData("UsdcLogic", "transfer", [stranger, 7n])
      for (const data of ["0x", "0x010203", order(stranger, 5n), order(usdc, 0n, transfer)]) {
        const { gasUsed, isDone } = yield* send({ from: stranger, to: address, data })
        assert.isTrue(isDone)
        assert.isBelow(gasUsed, 24_000)
      }
      assert.strictEqual(yield* balance(usdc, address), 7n)
      assert.strictEqual(yield* balance(nativeCoin, address), 5n)
    }))

  it.effect.prop(
    "is the only one a forwarder obeys, whatever bytes others send it",
    [Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))).check(Schema.isMaxLength(200))],
    ([bytes]) =>
      Effect.gen(function*() {
        const { balance, collect, newAddress, pay, send, stranger } = yield* CollectTown
        const { address, salt } = newAddress()
        yield* pay(address, 1n)
        yield* collect([nativeCoin], [salt])
        yield* pay(address, 5n)
        const { isDone, logs } = yield* send({ from: stranger, to: address, data: toHex(Uint8Array.from(bytes)) })
        assert.isTrue(isDone)
        assert.deepStrictEqual(logs, [])
        assert.strictEqual(yield* balance(nativeCoin, address), 5n)
      }),
    { arbitrary: { runs: 30 } }
  )

  it.effect("collects the rest of a batch from which somebody took an address before", () =>
    Effect.gen(function*() {
      const { collect, gain, mintMany, newAddresses, payee, simulateCollect, stranger, usdc } = yield* CollectTown
      const batch = newAddresses(3)
      const salts = batch.map(({ salt }) => salt)
      yield* mintMany(usdc, batch.map(({ address }) => address), 10n)
      yield* collect([usdc], [salts[1]!], { from: stranger })
      assert.strictEqual((yield* gain(usdc, payee, collect([usdc], salts))).gained, 20n)
      assert.strictEqual(yield* simulateCollect([usdc], salts), "NothingCollected")
      assert.isFalse((yield* collect([usdc], salts)).isDone)
    }))

  it.effect("counts an address or a token that is named twice once", () =>
    Effect.gen(function*() {
      const { mint, newAddress, simulateCollect, usdc } = yield* CollectTown
      const { address, salt } = newAddress()
      yield* mint(usdc, address, 10n)
      assert.strictEqual(yield* simulateCollect([usdc, usdc], [salt, salt]), 1)
    }))

  it.effect("finds nothing where another payee is named with the same salt", () =>
    Effect.gen(function*() {
      const { balance, mint, newAddress, simulateCollect, stranger, usdc } = yield* CollectTown
      const { address, salt } = newAddress()
      yield* mint(usdc, address, 10n)
      assert.strictEqual(
        yield* simulateCollect([usdc], [salt], { payee: stranger, from: stranger }),
        "NothingCollected"
      )
      assert.strictEqual(yield* balance(usdc, address), 10n)
    }))

  it.effect("has what the chain undid on the address again, and collects it again", () =>
    Effect.gen(function*() {
      const { balance, code, collect, mint, newAddress, undone, usdc } = yield* CollectTown
      const { address, salt } = newAddress()
      yield* mint(usdc, address, 10n)
      assert.isTrue((yield* undone(collect([usdc], [salt]))).isDone)
      assert.strictEqual(yield* balance(usdc, address), 10n)
      assert.strictEqual(yield* code(address), "0x")
      assert.isTrue((yield* collect([usdc], [salt])).isDone)
      assert.strictEqual(yield* balance(usdc, address), 0n)
    }))

  const Steps = Schema.Array(Schema.Struct({
    place: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 })),
    kind: Schema.Literals(["transfer", "internal", "collect"]),
    value: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000 }))
  })).check(Schema.isMaxLength(12))

  it.effect.prop(
    "logs the coin it takes, so that balance and logs add up to what was paid, however it was paid and collected",
    [Steps],
    ([steps]) =>
      Effect.gen(function*() {
        const { balance, collect, deploy, newAddresses, pay, send, stranger } = yield* CollectTown
        const topUp = yield* deploy("TopUp")
        const addresses = newAddresses(3)
        const paid = [0n, 0n, 0n]
        const logged = [0n, 0n, 0n]
        for (const { kind, place, value } of steps) {
          const { address, salt } = addresses[place]!
          if (kind === "collect") {
            const { logs } = yield* collect([nativeCoin], [salt], { from: stranger })
            for (const { data } of logs) logged[place]! += BigInt(data)
            continue
          }
          const wei = BigInt(value)
          if (kind === "transfer") yield* pay(address, wei)
          else yield* send({ to: topUp, value: wei, data: callData("TopUp", "send", [[address], wei]) })
          paid[place]! += wei
        }
        for (const [place, { address }] of addresses.entries()) {
          assert.strictEqual((yield* balance(nativeCoin, address)) + logged[place]!, paid[place]!)
        }
      }),
    { arbitrary: { runs: 15 } }
  )
})

layer(CollectTown.layer("prague"), options)("a token", (it) => {
  it.effect("that answers nothing, keeps a fee or lies behind 12 calls is collected", () =>
    Effect.gen(function*() {
      const { balance, collect, deploy, mint, newAddress, payee } = yield* CollectTown
      const cases = [
        [yield* deploy("SilentToken"), 1_000n],
        [yield* deploy("FeeToken"), 990n],
        [yield* deepToken(12), 1_000n]
      ] as const
      for (const [token, expected] of cases) {
        const { address, salt } = newAddress()
        yield* mint(token, address, 1_000n)
        assert.isTrue((yield* collect([token], [salt])).isDone)
        assert.strictEqual(yield* balance(token, payee), expected)
        assert.strictEqual(yield* balance(token, address), 0n)
      }
    }))

  it.effect("that answers false stays, and holds up no other", () =>
    Effect.gen(function*() {
      const { balance, collect, deploy, gain, mint, newAddress, payee, usdc } = yield* CollectTown
      const refusing = yield* deploy("FalseToken")
      const { address, salt } = newAddress()
      yield* mint(refusing, address, 5n)
      yield* mint(usdc, address, 9n)
      assert.strictEqual((yield* gain(usdc, payee, collect([refusing, usdc], [salt]))).gained, 9n)
      assert.strictEqual(yield* balance(refusing, address), 5n)
    }))

  it.effect("whose issuer froze an address stays there, and the other addresses are collected", () =>
    Effect.gen(function*() {
      const { balance, collect, gain, mintMany, newAddresses, payee, send, usdc } = yield* CollectTown
      const batch = newAddresses(3)
      yield* mintMany(usdc, batch.map(({ address }) => address), 10n)
      yield* send({ to: usdc, data: callData("UsdcLogic", "blacklist", [batch[1]!.address]) })
      assert.strictEqual((yield* gain(usdc, payee, collect([usdc], batch.map(({ salt }) => salt)))).gained, 20n)
      assert.strictEqual(yield* balance(usdc, batch[1]!.address), 10n)
    }))

  it.effect("that orders the forwarder and calls the Collector from within gets nothing", () =>
    Effect.gen(function*() {
      const { balance, collect, deploy, gain, mint, newAddress, pay, payee, read, send, usdc } = yield* CollectTown
      const hostile = yield* deploy("ReenteringToken")
      const { address, salt } = newAddress()
      yield* mint(hostile, address, 5n)
      yield* mint(usdc, address, 9n)
      yield* pay(address, 3n)
      yield* send({
        to: hostile,
        data: callData("ReenteringToken", "arm", [collector.address, payee, salt, usdc])
      })
      const { gained, result } = yield* gain(usdc, payee, collect([hostile, usdc, nativeCoin], [salt]))
      assert.isTrue(result.isDone)
      assert.strictEqual(gained, 9n)
      assert.strictEqual(yield* read("ReenteringToken", hostile, "depth"), 3n)
      assert.strictEqual(yield* balance(usdc, hostile), 0n)
      assert.strictEqual(yield* balance(nativeCoin, hostile), 0n)
    }))

  it.effect("that burns all gas makes the call fail in plain sight, and nothing is lost", () =>
    Effect.gen(function*() {
      const { balance, collect, deploy, mint, newAddress, simulateCollect, usdc } = yield* CollectTown
      const burning = yield* deploy("BurningToken")
      const { address, salt } = newAddress()
      yield* mint(burning, address, 5n)
      yield* mint(usdc, address, 9n)
      for (const tokens of [[burning, usdc], [usdc, burning]]) {
        assert.strictEqual(yield* simulateCollect(tokens, [salt], { gas: littleGas }), "GasTooLow")
        assert.isFalse((yield* collect(tokens, [salt], { gas: littleGas })).isDone)
        assert.strictEqual(yield* balance(usdc, address), 9n)
      }
    }))

  it.effect("that answers a balance with 1 MB holds up no other, or fails in plain sight", () =>
    Effect.gen(function*() {
      const { deploy, mint, newAddress, simulateCollect, usdc } = yield* CollectTown
      const long = yield* deploy("LongAnswerToken")
      const { address, salt } = newAddress()
      yield* mint(usdc, address, 9n)
      assert.strictEqual(yield* simulateCollect([long, usdc], [salt], { gas: 20_000_000n }), 1)
      assert.strictEqual(yield* simulateCollect([long, usdc], [salt], { gas: 2_000_000n }), "GasTooLow")
    }))

  it.effect("that is none - a contract of ours, an account, the deployer, a precompile - moves nothing", () =>
    Effect.gen(function*() {
      const { collect, mint, newAddress, payee, stranger, totalOf, usdc } = yield* CollectTown
      const [mine, another] = [newAddress(), newAddress()]
      yield* mint(usdc, another.address, 1n)
      yield* collect([usdc], [another.salt])
      yield* mint(usdc, another.address, 3n)
      yield* mint(usdc, mine.address, 9n)
      const precompiles = Array.from({ length: 10 }, (_, place) => pad(toHex(place + 1), { size: 20 }))
      const odd = [collector.address, another.address, mine.address, stranger, keylessDeployer, ...precompiles]
      const before = yield* totalOf(usdc, [payee])
      for (const token of odd) yield* collect([token], [mine.salt], { gas: littleGas })
      assert.strictEqual(yield* totalOf(usdc, [payee]), before)
      assert.strictEqual(yield* totalOf(usdc, [mine.address, another.address]), 12n)
      yield* collect([stranger, collector.address, usdc], [mine.salt])
      assert.strictEqual(yield* totalOf(usdc, [payee]), before + 9n)
    }))
})

layer(CollectTown.layer("prague"), options)("a payee", (it) => {
  it.effect("that refuses the coin gets its tokens, and the coin stays on the address", () =>
    Effect.gen(function*() {
      const { balance, collect, deploy, mint, newAddress, pay, usdc } = yield* CollectTown
      const refusing = yield* deploy("RefusingReceiver")
      const { address, salt } = newAddress(refusing)
      yield* mint(usdc, address, 9n)
      yield* pay(address, 100n)
      assert.isTrue((yield* collect([nativeCoin, usdc], [salt], { payee: refusing })).isDone)
      assert.strictEqual(yield* balance(usdc, refusing), 9n)
      assert.strictEqual(yield* balance(nativeCoin, address), 100n)
    }))

  it.effect("that logs the coin it gets, as a Safe does, gets it", () =>
    Effect.gen(function*() {
      const { balance, collect, deploy, newAddress, pay } = yield* CollectTown
      const safe = yield* deploy("LoggingReceiver")
      const { address, salt } = newAddress(safe)
      yield* pay(address, 100n)
      const { logs } = yield* collect([nativeCoin], [salt], { payee: safe })
      assert.deepStrictEqual(logs.map(({ address }) => address.toLowerCase()), [safe, collector.address.toLowerCase()])
      assert.strictEqual(yield* balance(nativeCoin, safe), 100n)
    }))

  it.effect("without code on this chain gets coin and tokens all the same", () =>
    Effect.gen(function*() {
      const { balance, collect, mint, newAddress, pay, usdc } = yield* CollectTown
      const absent = `0x${"5afe".repeat(10)}`
      const { address, salt } = newAddress(absent)
      yield* mint(usdc, address, 9n)
      yield* pay(address, 100n)
      yield* collect([nativeCoin, usdc], [salt], { payee: absent })
      assert.strictEqual(yield* balance(usdc, absent), 9n)
      assert.strictEqual(yield* balance(nativeCoin, absent), 100n)
    }))
})

layer(CollectTown.layer("prague"), options)("a payment in the coin", (it) => {
  it.effect("with 2,300 gas arrives before and after the first collect, where an ERC-1167 clone refuses it", () =>
    Effect.gen(function*() {
      const { collect, deploy, newAddress, pay, payee, read, send } = yield* CollectTown
      const sender = yield* deploy("StipendSender")
      const factory = yield* deploy("CloneFactory")
      const { address, salt } = newAddress()
      const clone = yield* read("CloneFactory", factory, "addressOf", [payee, salt])
      yield* pay(clone, 1n)
      yield* send({ to: factory, data: callData("CloneFactory", "collect", [payee, [nativeCoin], [salt]]) })
      const arrives = (to: string) =>
        Effect.map(
          send({ to: sender, value: 1n, data: callData("StipendSender", "pay", [to]) }),
          ({ isDone }) => isDone
        )
      assert.isTrue(yield* arrives(address))
      yield* collect([nativeCoin], [salt])
      assert.isTrue(yield* arrives(address))
      assert.isFalse(yield* arrives(clone))
    }))

  it.effect("with 21,000 gas arrives before the first collect; after it, stays with its sender", () =>
    Effect.gen(function*() {
      const { balance, collect, newAddress, pay } = yield* CollectTown
      const { address, salt } = newAddress()
      assert.isTrue((yield* pay(address, 1n, { gas: 21_000n })).isDone)
      yield* collect([nativeCoin], [salt])
      assert.isFalse((yield* pay(address, 1n, { gas: 21_000n })).isDone)
      assert.strictEqual(yield* balance(nativeCoin, address), 0n)
      assert.strictEqual((yield* pay(address, 1n)).gasUsed, 21_021)
    }))
})

layer(CollectTown.layer("prague"), options)("gas", (it) => {
  for (const count of [200, 280]) {
    it.effect(`of ${count} first collects fits into one transaction of 2^24`, () =>
      Effect.gen(function*() {
        const { collect, mintMany, newAddresses, totalOf, usdc } = yield* CollectTown
        const batch = newAddresses(count)
        const addresses = batch.map(({ address }) => address)
        yield* mintMany(usdc, addresses, 10n)
        const { isDone } = yield* collect([usdc], batch.map(({ salt }) => salt), { gas: maximumGas })
        assert.isTrue(isDone)
        assert.strictEqual(yield* totalOf(usdc, addresses.slice(-3)), 0n)
      }))
  }

  it.effect("as a node estimates it suffices for one address, with token and coin", () =>
    Effect.gen(function*() {
      const { collect, collectCall, estimate, mint, newAddress, pay, totalOf, usdc } = yield* CollectTown
      const { address, salt } = newAddress()
      yield* mint(usdc, address, 10n)
      yield* pay(address, 7n)
      const gas = yield* estimate(collectCall([usdc, nativeCoin], [salt]))
      assert.isTrue((yield* collect([usdc, nativeCoin], [salt], { gas })).isDone)
      assert.strictEqual((yield* totalOf(usdc, [address])) + (yield* totalOf(nativeCoin, [address])), 0n)
    }))

  it.effect("as a node estimates it leaves nothing behind on 20 addresses, frozen, costly or deep as the token is", () =>
    Effect.gen(function*() {
      const town = yield* CollectTown
      const { collect, collectCall, deploy, estimate, mintMany, newAddresses, send, totalOf, usdc } = town
      const costly = yield* deploy("CostlyBalanceToken")
      const deep = yield* deepToken(6)
      for (const [token, frozen] of [[usdc, 0], [usdc, 1], [costly, 0], [deep, 0]] as const) {
        const batch = newAddresses(20)
        const addresses = batch.map(({ address }) => address)
        yield* mintMany(token, addresses, 10n)
        for (const { address } of batch.slice(20 - frozen)) {
          yield* send({ to: token, data: callData("UsdcLogic", "blacklist", [address]) })
        }
        const salts = batch.map(({ salt }) => salt)
        const gas = yield* estimate(collectCall([token], salts))
        assert.isTrue((yield* collect([token], salts, { gas })).isDone)
        assert.strictEqual(yield* totalOf(token, addresses), BigInt(10 * frozen))
      }
    }))

  it.effect.prop(
    "of any limit makes a collect fail in plain sight or move everything",
    [
      Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 })),
      Schema.Literals(["usdc", "costly", "deep"])
    ],
    ([part, kind]) =>
      Effect.gen(function*() {
        const { collectCall, estimate, mintMany, newAddresses, simulateCollect, usdc } = yield* CollectTown
        const token = kind === "usdc" ? usdc : yield* kind === "costly" ? costlyToken : deepToken(6)
        const batch = newAddresses(3)
        yield* mintMany(token, batch.map(({ address }) => address), 10n)
        const salts = batch.map(({ salt }) => salt)
        const needed = Number(yield* estimate(collectCall([token], salts)))
        // From the bare cost of a transaction to a little more than is needed.
        const gas = BigInt(Math.round(30_000 + (needed * 1.1 - 30_000) * part / 1_000_000))
        const answer = yield* simulateCollect([token], salts, { gas })
        if (typeof answer === "number") assert.strictEqual(answer, 3)
      }),
    { arbitrary: { runs: 60 } }
  )
})

layer(CollectTown.layer("london"), options)("on a chain of 2021", (it) => {
  it.effect("a stranger collects for the payee", () =>
    Effect.gen(function*() {
      const { code, collect, gain, mint, newAddress, payee, stranger, usdc } = yield* CollectTown
      const { address, salt } = newAddress()
      yield* mint(usdc, address, 500n)
      assert.strictEqual((yield* gain(usdc, payee, collect([usdc], [salt], { from: stranger }))).gained, 500n)
      assert.strictEqual(yield* code(address), forwarderCode)
    }))
})

/**
 * The transaction that creates the keyless deployer on any chain. Its signature is made up, so that nobody has the key
 * of its sender.
 */
const keylessTransaction =
  "0xf8a58085174876e800830186a08080b853604580600e600039806000f350fe7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe03601600081602082378035828234f58015156039578182fd5b8082525050506014600cf31ba02222222222222222222222222222222222222222222222222222222222222222a02222222222222222222222222222222222222222222222222222222222222222"

layer(Layer.empty, options)("on a chain that has neither deployer nor Collector", (it) => {
  it.effect("coins sent by mistake are the payee's as soon as anybody deploys both", () =>
    Effect.gen(function*() {
      const { accounts, balance, code, deployFrozen, node, send } = yield* contractRig("prague", 8_453, [
        "--disable-default-create2-deployer"
      ])
      const [, stranger, , payee] = accounts
      const salt = pad("0x11")
      const address = forwarderAddress(payee!, salt)
      yield* send({ to: address, value: 1_000n })
      assert.strictEqual(yield* code(keylessDeployer), "0x")
      const sender = yield* Effect.promise(() =>
        recoverTransactionAddress({ serializedTransaction: keylessTransaction as never })
      )
      yield* send({ to: sender, value: 10n ** 16n })
      yield* node.rpc("eth_sendRawTransaction", keylessTransaction)
      yield* deployFrozen("Collector", stranger)
      const before = yield* balance(nativeCoin, payee!)
      const data = callData("Collector", "collect", [payee, [nativeCoin], [salt]])
      assert.isTrue((yield* send({ from: stranger!, to: collector.address, data })).isDone)
      assert.strictEqual((yield* balance(nativeCoin, payee!)) - before, 1_000n)
    }))
})
