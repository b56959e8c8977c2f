/**
 * What a plugin from outside is written with: `tillwire/plugin`. A plugin imports this and `effect`, and nothing else
 * of the project; what is not here may change with any version.
 *
 * A change that breaks one of these names or types raises `pluginApiVersion` (`runtime/Plugin.ts`). More names, and
 * fields that a plugin may leave out, do not. How a plugin is made: `modules/docs/guides/plugins.md`.
 */
import type { Schema } from "effect"
import type { Needs, Plugin, pluginApiVersion } from "./Plugin.ts"

// A plugin.

/** The plugin API of this package: what a plugin says in `api`. */
export type ApiVersion = typeof pluginApiVersion

/**
 * Declares a plugin; the file's `export const plugin`. Write the number of `api` yourself: it says for which version
 * you wrote the plugin, and a service of another version refuses it at the start instead of failing at a call.
 *
 * @example
 * export const plugin = make({ api: 1, name: "acme-price", slot: "prices", options, layer })
 */
export const make = <
  Options extends Schema.Codec<any, any> = Schema.Codec<any, any>,
  N extends Needs = {},
  Provides = never
>(plugin: Plugin<Options, N, Provides> & { readonly api: ApiVersion }): Plugin<Options, N, Provides> => plugin

export type { Kernel, Migrations, Needs, Plugin, RequiredServices, Slot } from "./Plugin.ts"

// Ports of drivers.

export {
  type AccountHistory,
  type AddressBalances,
  type AddressConflict,
  type AllocatedTarget,
  type BalanceQuestion,
  type BlockHistory,
  type BlockPoint,
  type BlockReading,
  type ChainDriver,
  type ChainEvent,
  type ChainPoint,
  Chains,
  type ContractToken,
  type Corroboration,
  type DriverCondition,
  DriverError,
  type FinalBalances,
  type FoundTransfer,
  type IndexedWallet,
  type LocatedTransfer,
  type MerchantWallets,
  type NetworkStatus,
  type ObservedTransfer,
  type PaymentWords,
  type ReceiveTarget,
  type ReceivingObstacle,
  type SearchResult,
  type SharedWallet,
  type TransactionReading,
  type TransferIdentity,
  type WalletBalances,
  type WalletOwner,
  type WalletRecord,
  type WalletRef,
  type WalletUse,
  type WatchedAccount,
  type WatchSet
} from "./Chains.ts"
export { type PricePoint, Prices, type PriceSource, PriceSourceError, PriceUnavailable, type Spot } from "./Prices.ts"
export {
  type Challenge,
  type SignInDriver,
  type SignInProof,
  SignInRefused,
  SignIns,
  SignInUnavailable,
  type WalletIdentity
} from "./SignIns.ts"
export { TokenCatalog, type TokenListing } from "./TokenCatalog.ts"
export {
  type DeliveryAnswer,
  type DeliveryRequest,
  type EndpointOwner,
  type MessageAttempt,
  type RenderedMessage,
  type Transport,
  TransportFailed,
  UrlRefused,
  type WebhookFormat,
  Webhooks
} from "./Webhooks.ts"

// State: rows and events in one transaction, and who hears of it.

export { Actors } from "./Actors.ts"
export { type AuditAct, AuditLog } from "./AuditLog.ts"
export {
  type Append,
  Commit,
  type CommitCause,
  type CommitResult,
  type CommittedEvent,
  Conflict,
  decideAnew,
  dieOnReplay,
  type IdempotentCall,
  IdempotentReplay,
  maximumWrites,
  noCause,
  type ReplyWrite,
  retryConflicts,
  systemMerchant,
  type Write
} from "./Commit.ts"
export { EventBus, type EventHandler, type EventsAfter, type EventsOf } from "./EventBus.ts"
export { Leases } from "./Leases.ts"
export { MerchantClock } from "./MerchantClock.ts"
export {
  type Erasure,
  type Person,
  PersonalData,
  type PersonalDataKeeper,
  type PersonalRecord,
  type PersonalRecords
} from "./PersonalData.ts"
export { batchSize, inBatches, runPeriodically } from "./Retention.ts"
export { type DueSource, Timers } from "./Timers.ts"

// HTTP routes, and calls of the internal port.

export {
  ActsByOneCommit,
  Anonymous,
  answerIdempotently,
  authenticationErrors,
  CurrentPrincipal,
  environmentErrors,
  errors,
  FlatErrors,
  type Grant,
  Idempotency,
  IdempotencyRequired,
  Idempotent,
  jsonText,
  MerchantAuth,
  ParameterCodes,
  RateLimiter,
  readEnvironment,
  RequestInfo,
  requireMerchantScope,
  requirePerson,
  UnknownParameters,
  WrappedErrors
} from "./Http.ts"
export { group as handlersOf, Operations } from "./Operations.ts"
export { RightOf, RightsOf } from "./Rights.ts"
export { handlers as rpcHandlersOf, Rpc } from "./Rpc.ts"

// Mail, health, settings.

export { monotonicMillis, nowSeconds } from "./Clock.ts"
export { Mail, type MailMessage } from "./Mail.ts"
export { Settings } from "./Settings.ts"
export { Health, type HealthCheck, initializeSeries } from "./Telemetry.ts"
export type { Finding } from "./telemetry/HealthReport.ts"
export { uuidV4, uuidV7 } from "./Uuid.ts"

// Schemas of what crosses the wire or is in an event.

export type { Principal } from "../schemas/Auth.ts"
export { type ErrorCode, isPublicError, PublicError, publicError } from "../schemas/Errors.ts"
export { Event, type EventDraft, type EventObject, type EventType, previousAttributes } from "../schemas/Event.ts"
export {
  compareEventPositions,
  EpochSeconds,
  EventId,
  eventIdOf,
  type EventPosition,
  InvoiceId,
  isUuid,
  MerchantId,
  PathId,
  readEventId,
  Uuid
} from "../schemas/Ids.ts"
export { Invoice, InvoiceStatus, Metadata } from "../schemas/Invoice.ts"
export {
  BaseUnits,
  baseUnits,
  compareRates,
  formatUnits,
  parseUnits,
  type Rate,
  rateText,
  readRate,
  signedUsdDecimal,
  signedUsdWire,
  tokenAmountDown,
  tokenAmountUp,
  UsdDecimal,
  usdDecimal,
  UsdMillis,
  usdMillis,
  usdValueDown,
  usdWire
} from "../schemas/Money.ts"
export { descriptorOf, Environment, Family, familyOf, Network, networks } from "../schemas/Network.ts"
export { cursorQuery, type PageCursor, pageLimits, pageQuery, readPageCursor, unknownCursor } from "../schemas/Page.ts"
export { Payment } from "../schemas/Payment.ts"
export type { Right } from "../schemas/Roles.ts"
export { success } from "../schemas/Success.ts"
export { Token, tokenKey } from "../schemas/Token.ts"
export type { WireObject } from "../schemas/WireObject.ts"
