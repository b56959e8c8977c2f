/** What a merchant accepts, and what it is shown of the catalogue. Pure. */
import type { AuditAct } from "../../runtime/AuditLog.ts"
import type { ReceiveTarget, WalletRef } from "../../runtime/Chains.ts"
import { displayNumber } from "../../schemas/Money.ts"
import type { Environment } from "../../schemas/Network.ts"
import {
  type AcceptancePolicy,
  type FoundToken,
  nativeAddress,
  type Token,
  type TokenRecord
} from "../../schemas/Token.ts"

/** What one merchant accepts in one environment. */
export interface PolicyState {
  readonly merchantId: number
  readonly environment: Environment
  /** 0: the merchant never said anything. */
  readonly version: number
  readonly policy: AcceptancePolicy
  /** Kept under every policy; heeded under `selective`. */
  readonly blockedTokens: ReadonlySet<number>
}

/** Of a merchant that never chose (modules/docs/reference/tokens.md#acceptance-policy). */
export const defaultPolicy = (merchantId: number, environment: Environment): PolicyState => ({
  merchantId,
  environment,
  version: 0,
  policy: "accept_all",
  blockedTokens: new Set()
})

/** Whether payors are not offered the token. */
export const isBlocked = ({ blockedTokens, policy }: PolicyState, tokenId: number): boolean => {
  switch (policy) {
    case "accept_all":
      return false
    case "accept_none":
      return true
    case "selective":
      return blockedTokens.has(tokenId)
  }
}

/** The same state where nothing changes. */
export const choosePolicy = (state: PolicyState, policy: AcceptancePolicy): PolicyState =>
  state.policy === policy ? state : { ...state, policy, version: state.version + 1 }

/** The state with `tokenIds` on the list, or off it; the same state where nothing changes. */
export const block = (state: PolicyState, tokenIds: ReadonlyArray<number>, shouldBlock: boolean): PolicyState => {
  const list = new Set(state.blockedTokens)
  for (const id of tokenIds) {
    if (shouldBlock) list.add(id)
    else list.delete(id)
  }
  return countDifferences(state.blockedTokens, list) === 0
    ? state
    : { ...state, blockedTokens: list, version: state.version + 1 }
}

const missingFrom = (list: ReadonlySet<number>, other: ReadonlySet<number>): ReadonlyArray<number> =>
  [...list].filter((id) => !other.has(id)).toSorted((a, b) => a - b)

/** What the audit log keeps of a change: the policy, and the tokens that came onto the list or left it. */
export const policyActOf = (
  before: PolicyState,
  after: PolicyState,
  actor: string,
  requestId: string | null
): AuditAct => {
  const isPolicyChanged = before.policy !== after.policy
  const removed = missingFrom(before.blockedTokens, after.blockedTokens)
  const added = missingFrom(after.blockedTokens, before.blockedTokens)
  return {
    merchantId: after.merchantId,
    environment: after.environment,
    actor,
    action: "token_policy.change",
    subject: { object: "token_policy", id: String(after.merchantId) },
    before: {
      ...(isPolicyChanged ? { acceptance_policy: before.policy } : {}),
      ...(removed.length > 0 ? { blocked_token_ids: removed } : {})
    },
    after: {
      ...(isPolicyChanged ? { acceptance_policy: after.policy } : {}),
      ...(added.length > 0 ? { blocked_token_ids: added } : {})
    },
    requestId
  }
}

/** Tokens on one of two lists and not on the other. */
export const countDifferences = (before: ReadonlySet<number>, after: ReadonlySet<number>): number =>
  missingFrom(before, after).length + missingFrom(after, before).length

/** The policy as the merchant reads it. */
export const policyBody = ({ blockedTokens, environment, policy }: PolicyState) => ({
  acceptance_policy: policy,
  environment,
  blocked_token_ids: [...blockedTokens].toSorted((a, b) => a - b)
})

/**
 * What the search's `blocked` asks of a token under a policy (modules/docs/reference/tokens.md#the-blocked-filter):
 * nothing (null), or a test that it must pass.
 */
export const blockedFilter = (state: PolicyState, wanted: boolean | null): ((tokenId: number) => boolean) | null => {
  if (wanted === null) return null
  if (state.policy === "selective") return (tokenId) => state.blockedTokens.has(tokenId) === wanted
  return wanted === (state.policy === "accept_none") ? null : () => false
}

/** A price to show, as `Prices.latest` gives it. */
export interface DisplayPrice {
  /** Decimal dollars per whole token. */
  readonly text: string
  readonly source: string
  /** Epoch seconds. */
  readonly at: number
}

/**
 * Whether who pays in a token must send a memo: where many payments come to one address, and only the memo tells them
 * apart. So an invoice's address decides, and before it has one, the wallet that it would get one from. Null: nobody
 * receives; then it is what the catalogue says of the token.
 *
 * @example
 * requiresMemo(sol, { address, matchKey, memo: null }) // => false: an address of the invoice's own
 */
export const requiresMemo = (
  token: Pick<Token, "requiresMemo">,
  receiver: Pick<ReceiveTarget, "memo"> | WalletRef | null
): boolean => {
  if (receiver === null) return token.requiresMemo
  return "memo" in receiver ? receiver.memo !== null : receiver._tag === "SharedWallet"
}

const priceBody = (price: DisplayPrice | null): TokenRecord["price"] =>
  price === null
    ? null
    : { usd: displayNumber(price.text), last_updated_at: price.at, provider_type: price.source }

const tokenRecord = (token: Token, isTokenBlocked: boolean, price: DisplayPrice | null): TokenRecord => ({
  id: token.id,
  token_symbol: token.symbol,
  token_name: token.name,
  network: token.network,
  network_environment: token.environment,
  is_blocked: isTokenBlocked,
  price: priceBody(price)
})

/** A token with the search columns; `isMonitored`: a driver runs for its network; `wallet`: where it arrives. */
export const searchResult = (
  token: Token,
  isTokenBlocked: boolean,
  price: DisplayPrice | null,
  isMonitored: boolean,
  wallet: WalletRef | null
): FoundToken => ({
  ...tokenRecord(token, isTokenBlocked, price),
  token_address: token.address ?? nativeAddress,
  token_decimals: token.decimals,
  token_type: token.type,
  requires_memo: requiresMemo(token, wallet),
  photo_uri: token.photoUri,
  supports_stable_settlement: token.stable,
  is_active: token.active,
  is_monitored: isMonitored
})

/**
 * The plain list (modules/docs/reference/tokens.md#the-list): every active token, without the
 * blocked ones under `selective`. Inactive tokens are left out: the list's columns could not tell them from payable
 * ones, and the search shows them. The order of `tokens` is kept.
 */
export const tokenList = (
  state: PolicyState,
  tokens: ReadonlyArray<Token>,
  priceOf: (token: Token) => DisplayPrice | null
) => ({
  acceptance_policy: state.policy,
  environment: state.environment,
  tokens: tokens
    .filter(({ active, id }) => active && !(state.policy === "selective" && state.blockedTokens.has(id)))
    .map((token) => tokenRecord(token, isBlocked(state, token.id), priceOf(token)))
})
