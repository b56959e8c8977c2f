/** Calls of Sui's gRPC interface to one endpoint: each answer is read whole and checked, or it is a failure. */
import { Effect } from "effect"
import type { DriverError, DriverErrorKind } from "../../../runtime/Chains.ts"
import type { Connection, NodeEndpoint } from "../../../runtime/nodes/Endpoints.ts"
import { type CallLimits, kindOfStatus, smallCall } from "../../../runtime/nodes/NodeHttp.ts"
import { contentType, type GrpcStatus, readAnswer, readStatus, requestBody, statusCodes } from "./GrpcWeb.ts"
import {
  type CheckpointedTransaction,
  checkpointRequest,
  type CoinInfo,
  coinInfoRequest,
  type ListedTransactions,
  listRequest,
  readCheckpointTime,
  readCoinInfo,
  readListed,
  readServiceInfo,
  readTransactions,
  type ServiceInfo,
  serviceInfoRequest,
  transactionsRequest
} from "./Messages.ts"

/** One endpoint of Sui. */
export interface SuiNode extends NodeEndpoint {
  readonly serviceInfo: Effect.Effect<ServiceInfo, DriverError>
  /** One page of what moved these addresses (null: of all transactions) from one checkpoint to another. */
  readonly listTransactions: (
    range: { readonly from: bigint; readonly to: bigint },
    addresses: ReadonlyArray<string> | null,
    page: { readonly limit: number; readonly after: Uint8Array | null }
  ) => Effect.Effect<ListedTransactions, DriverError>
  /** Transactions by digest, in that order. */
  readonly transactions: (
    digests: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlyArray<CheckpointedTransaction | "missing">, DriverError>
  /** Epoch seconds of a checkpoint. */
  readonly checkpointTime: (height: bigint) => Effect.Effect<number, DriverError>
  /** What the chain says of a coin; null: there is no such coin. */
  readonly coinInfo: (coinType: string) => Effect.Effect<CoinInfo | null, DriverError>
  /** A call with one message for an answer, which `read` makes something of; null: it is not what was asked for. */
  readonly ask: <A>(
    service: SuiService,
    method: string,
    message: Uint8Array,
    read: (bytes: Uint8Array) => A | null,
    limits?: CallLimits
  ) => Effect.Effect<A, DriverError>
  /** An error that names the endpoint and what was asked of it. */
  readonly fail: Connection["fail"]
}

/** Services of `sui.rpc.v2`. */
export type SuiService = "LedgerService" | "StateService" | "TransactionExecutionService"

const interfaceName = "sui.rpc.v2"
const ledgerService = "LedgerService"
const stateService = "StateService"

/**
 * A page of transactions: a transaction changes a few hundred balances at most, each of some 150 bytes. A page that is
 * larger is asked for again with fewer transactions.
 */
const listCall: CallLimits = { maximumBytes: 16 * 1024 * 1024, timeoutMillis: 15_000 }

/** Transactions asked for in one call by their digests. */
export const digestsPerCall = 50

/**
 * What kind of failure a status of gRPC is. An argument that is refused for the size of the filter, or a message that
 * would be too large, is asked for again in parts.
 */
export const kindOfGrpc = ({ code, message }: GrpcStatus): DriverErrorKind => {
  switch (code) {
    case statusCodes.invalidArgument:
      return /terms?\b|literals?\b|too (?:many|large|long)/i.test(message) ? "too_large" : "refused"
    case statusCodes.resourceExhausted:
      return /message|bytes|size|too (?:many (?:terms|items)|large|long)/i.test(message) ? "too_large" : "rate_limited"
    case statusCodes.deadlineExceeded:
      return "timeout"
    case statusCodes.notFound:
      return "not_found"
    case statusCodes.outOfRange:
      return "pruned"
    case statusCodes.unavailable:
      return "unavailable"
    default:
      return "refused"
  }
}

/** What a node answers to a method that it does not have. */
const notOffered = "this node does not offer it"

/** Whether a node does not have the method that it was asked for. */
export const isNotOffered = ({ reason }: DriverError): boolean => reason.includes(notOffered)

const wordsOf = ({ code, message }: GrpcStatus): string =>
  code === statusCodes.unimplemented
    ? `${notOffered}: use one that serves \`${interfaceName}\` with the history of transactions`
    : `gRPC status ${code}${message === "" ? "" : `: ${message.slice(0, 200)}`}`

/** The client of one endpoint. */
export const suiNode = (connection: Connection): SuiNode => {
  const { fail, name, network, place } = connection

  const call = Effect.fnUntraced(function*(
    service: SuiService,
    method: string,
    message: Uint8Array,
    limits: CallLimits
  ): Effect.fn.Return<ReadonlyArray<Uint8Array>, DriverError> {
    const response = yield* connection.send({
      subject: method,
      method: "POST",
      path: `/${interfaceName}.${service}/${method}`,
      headers: { accept: contentType, "x-grpc-web": "1" },
      body: { content: requestBody(message), type: contentType },
      limits
    })
    const ofHeaders = readStatus(response.headers)
    const kind = kindOfStatus(response.status)
    if (kind !== null) return yield* fail(method, `HTTP status ${response.status}`, kind)
    if (ofHeaders !== null && ofHeaders.code !== statusCodes.ok) {
      return yield* fail(method, wordsOf(ofHeaders), kindOfGrpc(ofHeaders))
    }
    const answer = readAnswer(response.bytes)
    if (answer === null) return yield* fail(method, "its answer broke off", "unanswered")
    if (answer.status.code !== statusCodes.ok) {
      return yield* fail(method, wordsOf(answer.status), kindOfGrpc(answer.status))
    }
    return answer.messages
  })

  const callOnce: SuiNode["ask"] = (service, method, message, read, limits = smallCall) =>
    Effect.flatMap(call(service, method, message, limits), (messages) => {
      const answer = messages.length === 1 ? read(messages[0]!) : null
      return answer === null
        ? Effect.fail(fail(method, "its answer is not what the interface promises", "contradiction"))
        : Effect.succeed(answer)
    })

  return {
    network,
    place,
    name,
    fail,
    ask: callOnce,
    serviceInfo: callOnce(ledgerService, "GetServiceInfo", serviceInfoRequest, readServiceInfo),
    listTransactions: ({ from, to }, addresses, { after, limit }) =>
      Effect.flatMap(
        call(ledgerService, "ListTransactions", listRequest(from, to, addresses, limit, after), listCall),
        (messages) => {
          const listed = readListed(messages)
          return listed === null
            ? Effect.fail(fail("ListTransactions", "its answer is not what the interface promises", "contradiction"))
            : Effect.succeed(listed)
        }
      ),
    transactions: (digests) =>
      callOnce(
        ledgerService,
        "BatchGetTransactions",
        transactionsRequest(digests),
        (bytes) => readTransactions(bytes, digests),
        listCall
      ),
    checkpointTime: (height) =>
      callOnce(ledgerService, "GetCheckpoint", checkpointRequest(height), (bytes) => readCheckpointTime(bytes, height)),
    coinInfo: (coinType) =>
      Effect.catchIf(
        callOnce(stateService, "GetCoinInfo", coinInfoRequest(coinType), (bytes) => readCoinInfo(bytes, coinType)),
        ({ kind }) => kind === "not_found",
        () => Effect.succeed(null)
      )
  }
}
