/**
 * Goal: what is sent to a node of Sui is what its interface expects, and what it answers is read as it was meant.
 * Method: the protobuf types of Sui's own SDK are the other side: they read what is written here and write what is read
 * here; random messages, and the same messages broken anywhere.
 */
import { GrpcTypes } from "@mysten/sui/grpc"
import { normalizeStructTag, normalizeSuiAddress, toBase58 } from "@mysten/sui/utils"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { readAnswer, readStatus, requestBody } from "../../../../modules/chains/sui/GrpcWeb.ts"
import {
  canonicalAddress,
  canonicalCoinType,
  isDigest,
  nativeCoinType
} from "../../../../modules/chains/sui/Identifiers.ts"
import {
  checkpointRequest,
  coinInfoRequest,
  listRequest,
  readCheckpointTime,
  readCoinInfo,
  readListed,
  readServiceInfo,
  readTransactions,
  transactionsRequest
} from "../../../../modules/chains/sui/Messages.ts"
import {
  bytesField,
  bytesOf,
  integerOf,
  message,
  messageOf,
  readMessage,
  textField,
  textOf,
  varintField
} from "../../../../modules/chains/sui/Protobuf.ts"

const Integer64 = Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: 2n ** 64n - 1n }))
const Text = Schema.String.check(Schema.isMaxLength(300))
const Byte = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))
const Place = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000 }))

const digestOf = (seed: number): string => toBase58(Uint8Array.from({ length: 32 }, (_, place) => seed * 7 + place + 1))
const address = (digit: string): string => `0x${digit.repeat(64)}`

const transactionOf = (more: Record<string, unknown> = {}) =>
  GrpcTypes.ExecutedTransaction.create({
    digest: digestOf(1),
    transaction: { sender: address("c") },
    effects: { status: { success: true } },
    checkpoint: 41n,
    timestamp: { seconds: 1_790_000_000n, nanos: 5 },
    balanceChanges: [{ address: "0xa", coinType: "0x2::sui::SUI", amount: "-7" }],
    ...more
  } as never)

const listedOf = (more: Record<string, unknown> = {}) =>
  GrpcTypes.ListTransactionsResponse.toBinary(GrpcTypes.ListTransactionsResponse.create({
    watermark: { cursor: Uint8Array.of(9), checkpoint: 41n },
    ...more
  } as never))

describe("sui protobuf", () => {
  it.prop("fields are read by Sui's SDK as they were written", [Integer64, Text], ([height, name]) => {
    const bytes = message(textField(1, name), textField(2, "x"), varintField(4, height))
    const read = GrpcTypes.GetServiceInfoResponse.fromBinary(bytes)
    assert.deepStrictEqual([read.chainId, read.chain, read.checkpointHeight], [name.toWellFormed(), "x", height])
  })

  it.prop("fields of Sui's SDK are read as they were written", [Integer64, Text, Text], ([height, id, name]) => {
    const bytes = GrpcTypes.GetServiceInfoResponse.toBinary({
      chainId: id,
      chain: name,
      checkpointHeight: height,
      timestamp: { seconds: 5n, nanos: 6 }
    })
    const fields = readMessage(bytes)!
    assert.deepStrictEqual([textOf(fields, 1), textOf(fields, 2), integerOf(fields, 4)], [
      id.toWellFormed(),
      name.toWellFormed(),
      height
    ])
    assert.strictEqual(integerOf(messageOf(fields, 5)!, 1), 5n)
  })

  it.prop("bytes that are no message are refused and never thrown at", [Schema.Array(Byte)], ([bytes]) => {
    const fields = readMessage(Uint8Array.from(bytes))
    if (fields === null) return
    for (const field of fields.keys()) {
      textOf(fields, field)
      messageOf(fields, field)
      bytesOf(fields, field)
    }
  })

  it("keeps a varint within 64 bits and refuses a longer one", () => {
    assert.strictEqual(integerOf(readMessage(varintField(3, 2n ** 64n - 1n))!, 3), 2n ** 64n - 1n)
    assert.isNull(readMessage(Uint8Array.from([0x18, ...Array.from({ length: 10 }, () => 0xff), 0x01])))
    assert.isNull(readMessage(Uint8Array.of(0x0a, 0x05, 0x01)))
    assert.deepStrictEqual([...message(bytesField(1))], [0x0a, 0x00])
  })
})

describe("sui grpc-web", () => {
  const frame = (flags: number, content: Uint8Array): Uint8Array => {
    const body = requestBody(content)
    body[0] = flags
    return body
  }
  const trailers = (text: string): Uint8Array => frame(0x80, Buffer.from(text))

  it.prop(
    "an answer is read whole or not at all, wherever it is cut",
    [Schema.Array(Text), Place],
    ([texts, place]) => {
      const whole = message(
        ...texts.map((text) => requestBody(Buffer.from(text))),
        trailers("grpc-status:0\r\ngrpc-message:\r\n")
      )
      const read = readAnswer(whole)!
      assert.deepStrictEqual(
        read.messages.map((each) => Buffer.from(each).toString()),
        texts.map((text) => text.toWellFormed())
      )
      assert.strictEqual(read.status.code, 0)
      assert.isNull(readAnswer(whole.subarray(0, place % whole.length)))
    }
  )

  it("reads errors from trailers and from headers, and takes nothing after the trailers", () => {
    const failed = trailers("Grpc-Status: 8\r\ngrpc-message: too%20many\r\n")
    assert.deepStrictEqual(readAnswer(failed)?.status, { code: 8, message: "too many" })
    assert.deepStrictEqual(readStatus({ "grpc-status": "5", "grpc-message": "100% gone" }), {
      code: 5,
      message: "100% gone"
    })
    assert.isNull(readStatus({}))
    assert.isNull(readAnswer(message(failed, failed)))
    assert.isNull(readAnswer(trailers("nothing")))
    assert.isNull(readAnswer(message(frame(1, Buffer.from("compressed")), trailers("grpc-status:0"))))
  })
})

describe("sui messages", () => {
  it("asks what Sui's own types read from the request", () => {
    const { ListTransactionsRequest } = GrpcTypes
    const filtered = ListTransactionsRequest.fromBinary(
      listRequest(7n, 9n, [address("a"), address("b")], 50, Uint8Array.of(1, 2))
    )
    assert.deepStrictEqual([filtered.startCheckpoint, filtered.endCheckpoint, filtered.options?.limit], [7n, 10n, 50])
    assert.deepStrictEqual([...filtered.options!.after!], [1, 2])
    assert.deepStrictEqual(
      filtered.filter!.terms.map(({ literals }) => literals),
      [address("a"), address("b")].map((each) => [{
        negated: false,
        predicate: { oneofKind: "affectedAddress" as const, affectedAddress: { address: each } }
      }])
    )
    assert.include(filtered.readMask!.paths, "balance_changes")
    assert.isUndefined(ListTransactionsRequest.fromBinary(listRequest(7n, 9n, null, 500, null)).filter)
    assert.strictEqual(GrpcTypes.GetCoinInfoRequest.fromBinary(coinInfoRequest("0x2::a::B")).coinType, "0x2::a::B")
    assert.deepStrictEqual(GrpcTypes.GetCheckpointRequest.fromBinary(checkpointRequest(5n)).checkpointId, {
      oneofKind: "sequenceNumber",
      sequenceNumber: 5n
    })
    assert.deepStrictEqual(GrpcTypes.BatchGetTransactionsRequest.fromBinary(transactionsRequest(["x", "y"])).digests, [
      "x",
      "y"
    ])
  })

  it("reads a page: what moved, how far the node looked, and whether there is more", () => {
    const page = readListed([
      listedOf({ transaction: transactionOf() }),
      listedOf({ watermark: { cursor: Uint8Array.of(3), checkpoint: 44n }, end: { reason: 2 } })
    ])!
    assert.deepStrictEqual([page.covered, [...page.cursor], page.hasMore], [44n, [3], true])
    assert.deepStrictEqual(page.transactions, [{
      digest: digestOf(1),
      sender: address("c"),
      isSuccess: true,
      checkpoint: 41n,
      time: 1_790_000_000,
      balanceChanges: [{ address: `0x${"a".padStart(64, "0")}`, coinType: nativeCoinType, amount: -7n }]
    }])
    const atTip = [listedOf({ watermark: { cursor: Uint8Array.of(3) }, end: { reason: 5 } })]
    assert.deepInclude(readListed(atTip), { covered: null, hasMore: false })
  })

  it("refuses a page that ends without its end, goes back, or holds a transaction that is not whole", () => {
    const end = listedOf({ end: { reason: 3 } })
    assert.isNotNull(readListed([listedOf({ transaction: transactionOf() }), end]))
    assert.isNull(readListed([listedOf({ transaction: transactionOf() })]))
    assert.isNull(readListed([]))
    assert.isNull(readListed([end, end]))
    assert.isNull(readListed([listedOf({ watermark: { cursor: Uint8Array.of(1), checkpoint: 42n } }), end]))
    for (
      const lacking of [
        { digest: "short" },
        { effects: undefined },
        { checkpoint: undefined },
        { timestamp: undefined },
        { balanceChanges: [{ address: "0xg", coinType: "0x2::sui::SUI", amount: "1" }] },
        { balanceChanges: [{ address: "0xa", coinType: "sui", amount: "1" }] },
        { balanceChanges: [{ address: "0xa", coinType: "0x2::sui::SUI", amount: "1.5" }] }
      ]
    ) {
      assert.isNull(readListed([listedOf({ transaction: transactionOf(lacking) }), end]), JSON.stringify(lacking))
    }
  })

  it("a coin whose maker chose an endless name does not stop what else a transaction moved", () => {
    const page = readListed([
      listedOf({
        transaction: transactionOf({
          balanceChanges: [
            { address: "0xa", coinType: `0x5::${"m".repeat(600)}::M`, amount: "1" },
            { address: "0xb", coinType: "0x2::sui::SUI", amount: "2" }
          ]
        })
      }),
      listedOf({ end: { reason: 3 } })
    ])
    assert.deepStrictEqual(page?.transactions[0]?.balanceChanges.map(({ amount }) => amount), [2n])
  })

  it("reads a node's own facts, transactions by digest, times and coins", () => {
    const info = GrpcTypes.GetServiceInfoResponse.toBinary({
      chainId: digestOf(3),
      checkpointHeight: 12n,
      epoch: 7n,
      timestamp: { seconds: 99n, nanos: 0 },
      lowestAvailableCheckpoint: 0n
    })
    assert.deepStrictEqual(readServiceInfo(info), {
      chainId: digestOf(3),
      height: 12n,
      time: 99,
      epoch: 7n,
      lowestHeight: 0n
    })
    assert.isNull(readServiceInfo(GrpcTypes.GetServiceInfoResponse.toBinary({ checkpointHeight: 12n })))
    const batch = GrpcTypes.BatchGetTransactionsResponse.toBinary({
      transactions: [
        { result: { oneofKind: "transaction", transaction: transactionOf() } },
        { result: { oneofKind: "error", error: { code: 5, message: "no", details: [] } } },
        {
          result: {
            oneofKind: "transaction",
            transaction: transactionOf({ digest: digestOf(2), checkpoint: undefined })
          }
        }
      ]
    })
    const digests = [1, 9, 2].map(digestOf)
    assert.deepStrictEqual(
      readTransactions(batch, digests)?.map((each) => each === "missing" ? each : each.checkpoint),
      [41n, "missing", "missing"]
    )
    assert.isNull(readTransactions(batch, digests.toReversed()), "another transaction than the one asked for")
    assert.isNull(readTransactions(batch, digests.slice(1)))
    const checkpoint = GrpcTypes.GetCheckpointResponse.toBinary({
      checkpoint: GrpcTypes.Checkpoint.create(
        { sequenceNumber: 5n, summary: { timestamp: { seconds: 8n, nanos: 0 } } } as never
      )
    })
    assert.deepStrictEqual([readCheckpointTime(checkpoint, 5n), readCheckpointTime(checkpoint, 6n)], [8, null])
    const coin = GrpcTypes.GetCoinInfoResponse.toBinary(
      { coinType: "0x2::sui::SUI", metadata: { decimals: 9, symbol: "SUI" } } as never
    )
    assert.deepStrictEqual(readCoinInfo(coin, nativeCoinType), { symbol: "SUI", decimals: 9 })
    assert.isNull(readCoinInfo(coin, `${address("1")}::sui::SUI`))
  })
})

describe("sui identifiers", () => {
  const types = [
    "0x2::sui::SUI",
    "2::sui::SUI",
    `0x${"2".padStart(64, "0")}::sui::SUI`,
    "0xDBA3::usdc::USDC",
    "0x5::lp::LP<0x2::sui::SUI, 0xA::b::C<0x1::d::E>>"
  ]

  it("every spelling of a coin type is one token, as Sui's SDK has it", () => {
    for (const type of types) {
      assert.strictEqual(canonicalCoinType(type), normalizeStructTag(type).replace(/\s/g, ""), type)
    }
    assert.deepStrictEqual(types.slice(0, 3).map(canonicalCoinType), [nativeCoinType, nativeCoinType, nativeCoinType])
    for (const wrong of ["", "SUI", "0x2", "0x2::sui", "0xg::a::B", "0x2::a::B\u202e", `0x${"1".repeat(65)}::a::B`]) {
      assert.isNull(canonicalCoinType(wrong), wrong)
    }
  })

  it.prop("addresses are padded as Sui's SDK pads them", [
    Schema.String.check(Schema.isPattern(/^0x[0-9a-fA-F]{1,64}$/))
  ], ([text]) => {
    assert.strictEqual(canonicalAddress(text), normalizeSuiAddress(text))
  })

  it("a digest is 32 bytes in base58", () => {
    assert.isTrue(isDigest("4btiuiMPvEENsttpZC7CZ53DruC3MAgfznDbASZ7DR6S"))
    for (const wrong of ["", "0x12", "4btiuiMPvEENsttpZC7CZ53DruC3MAgfznDbASZ7DR6SS1", "I".repeat(44)]) {
      assert.isFalse(isDigest(wrong))
    }
  })
})
