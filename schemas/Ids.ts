/** Identifiers as they cross the wire, and the total order of event ids. */
import { Schema, SchemaGetter } from "effect"

/** A pattern in Unicode mode also stands in the OpenAPI document, whose patterns have no other. */
const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/u

const exampleUuid = "550e8400-e29b-41d4-a716-446655440000"

const uuid = Schema.String.check(Schema.isPattern(uuidPattern, { message: "Expected a UUID in lower case" })).annotate({
  examples: [exampleUuid]
})

/** A lower-case UUID: invoices, payments, orders, estimates, addresses (modules/docs/reference/conventions.md#ids). */
export const Uuid = uuid
/** Whether a text is a UUID in lower case. */
export const isUuid = (text: string): boolean => uuidPattern.test(text)

const uuidOfAnyCase = /^(?:[a-z]+_)?[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$/u

/**
 * An id in a path; the reference describes it as what the name of its parameter says, or so. UUIDs are the same in
 * either case (RFC 9562, section 4); they are compared in lower case.
 */
export const pathId = (description?: string) =>
  Schema.String.annotate(description === undefined ? {} : { description }).pipe(Schema.decodeTo(Schema.String, {
    decode: SchemaGetter.transform((text) => uuidOfAnyCase.test(text) ? text.toLowerCase() : text),
    encode: SchemaGetter.transform((text) => text)
  }))

/** {@link pathId}, as the name of its parameter says. */
export const PathId = pathId()

/** A lower-case UUID. */
export const InvoiceId = uuid.pipe(Schema.brand("InvoiceId"))
export type InvoiceId = typeof InvoiceId.Type

export const PaymentId = uuid.pipe(Schema.brand("PaymentId"))
export type PaymentId = typeof PaymentId.Type

/** A positive integer, assigned in order of creation. */
export const MerchantId = Schema.Int.check(Schema.isGreaterThan(0)).annotate({ examples: [123] }).pipe(
  Schema.brand("MerchantId")
)
export type MerchantId = typeof MerchantId.Type

/** A positive integer, assigned at first sight of (network, environment, address) and never reused. */
export const TokenId = Schema.Int.check(Schema.isGreaterThan(0)).annotate({ examples: [7] }).pipe(
  Schema.brand("TokenId")
)
export type TokenId = typeof TokenId.Type

/**
 * `evt_<ms>-<seq>` (modules/docs/reference/events.md#ids). Compare with {@link compareEventPositions}, never as text.
 */
export const EventId = Schema.String.check(Schema.isPattern(/^evt_\d{1,15}-\d{1,19}$/u)).annotate({
  examples: ["evt_1766320496123-8841"]
}).pipe(Schema.brand("EventId"))
export type EventId = typeof EventId.Type

/** An event id as the two numbers it is compared by. For one merchant, position order is commit order. */
export interface EventPosition {
  /** Milliseconds of the merchant's hybrid clock. */
  readonly ms: bigint
  /** From one sequence of the database, so ids are globally unique. */
  readonly seq: bigint
}

/** The largest value PostgreSQL's bigint holds; a cursor beyond it is malformed. */
const maximumSequence = 9_223_372_036_854_775_807n

/** Reads an event id; `undefined` when malformed. A well-formed id need not exist: it is a position. */
export const readEventId = (id: string): EventPosition | undefined => {
  const match = /^evt_(\d{1,15})-(\d{1,19})$/.exec(id)
  if (match === null) return undefined
  const seq = BigInt(match[2]!)
  return seq > maximumSequence ? undefined : { ms: BigInt(match[1]!), seq }
}

/** The id of an event at a position; the reverse of {@link readEventId}. */
export const eventIdOf = ({ ms, seq }: EventPosition): EventId => `evt_${ms}-${seq}` as EventId

/** Negative, zero or positive as `a` is before, at or after `b`. */
export const compareEventPositions = (a: EventPosition, b: EventPosition): number => {
  const difference = a.ms === b.ms ? a.seq - b.seq : a.ms - b.ms
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

/** `<prefix>_<uuid>`: ids of the resources that carry a prefix. */
const prefixedId = (prefix: string) =>
  Schema.String.check(Schema.isPattern(new RegExp(`^${prefix}_${uuidPattern.source.slice(1)}`, "u"))).annotate({
    examples: [`${prefix}_${exampleUuid}`]
  })

export const EndpointId = prefixedId("we").pipe(Schema.brand("EndpointId"))
export type EndpointId = typeof EndpointId.Type

export const DeliveryId = prefixedId("whd").pipe(Schema.brand("DeliveryId"))
export type DeliveryId = typeof DeliveryId.Type

export const QuoteId = prefixedId("quo").pipe(Schema.brand("QuoteId"))
export type QuoteId = typeof QuoteId.Type

export const KeyId = prefixedId("key").pipe(Schema.brand("KeyId"))
export type KeyId = typeof KeyId.Type

/** A wallet that signs in for a merchant. */
export const SignInWalletId = prefixedId("siw").pipe(Schema.brand("SignInWalletId"))
export type SignInWalletId = typeof SignInWalletId.Type

/** A person, of as many merchants as it is a member of. */
export const PersonId = prefixedId("per").pipe(Schema.brand("PersonId"))
export type PersonId = typeof PersonId.Type

/** A person at a merchant. */
export const MemberId = prefixedId("mem").pipe(Schema.brand("MemberId"))
export type MemberId = typeof MemberId.Type

export const TeamInvitationId = prefixedId("tin").pipe(Schema.brand("TeamInvitationId"))
export type TeamInvitationId = typeof TeamInvitationId.Type

export const TeamSessionId = prefixedId("tms").pipe(Schema.brand("TeamSessionId"))
export type TeamSessionId = typeof TeamSessionId.Type

export const PasskeyId = prefixedId("tpk").pipe(Schema.brand("PasskeyId"))
export type PasskeyId = typeof PasskeyId.Type

export const SavedViewId = prefixedId("view").pipe(Schema.brand("SavedViewId"))
export type SavedViewId = typeof SavedViewId.Type

export const RefundId = prefixedId("re").pipe(Schema.brand("RefundId"))
export type RefundId = typeof RefundId.Type

/** A payment link (modules/docs/reference/payment-links.md). */
export const PaymentLinkId = prefixedId("plink").pipe(Schema.brand("PaymentLinkId"))
export type PaymentLinkId = typeof PaymentLinkId.Type
export const isPaymentLinkId = Schema.is(PaymentLinkId)

export const BatchId = prefixedId("bat").pipe(Schema.brand("BatchId"))
export type BatchId = typeof BatchId.Type

export const ExceptionId = prefixedId("exc").pipe(Schema.brand("ExceptionId"))
export type ExceptionId = typeof ExceptionId.Type
export const isExceptionId = Schema.is(ExceptionId)

export const AuditEntryId = prefixedId("aud").pipe(Schema.brand("AuditEntryId"))
export type AuditEntryId = typeof AuditEntryId.Type

export const BalanceTransactionId = prefixedId("bt").pipe(Schema.brand("BalanceTransactionId"))
export type BalanceTransactionId = typeof BalanceTransactionId.Type

/** Unix epoch seconds: every timestamp that crosses a wire (modules/docs/reference/time.md#times-in-answers). */
export const EpochSeconds = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)).annotate({ examples: [1_766_320_496] })
