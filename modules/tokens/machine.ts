/** What a merchant accepts, and what it is shown of the catalogue. Pure. */
import { displayNumber } from "../../schemas/Money.ts"
import type { Environment } from "../../schemas/Network.ts"
import { type AcceptancePolicy, type FoundToken, nativeAddress, type Token, type TokenRecord } from "../../schemas/Token.ts"

/** What one merchant accepts in one environment. */
export interface PolicyState {
  readonly merchantId: number
  readonly environment: Environment
  /** 0: the merchant never said anything. */
  readonly version: number
  readonly policy: AcceptancePolicy
  /** Kept under every policy; heeded under `selective`. */
  readonly blocked: ReadonlySet<number>
}

/** Of a merchant that never chose (modules/docs/reference/tokens.md#acceptance-policy). */
export const defaultPolicy = (merchantId: number, environment: Environment): PolicyState => ({
  merchantId,
  environment,
  version: 0,
  policy: "accept_all",
  blocked: new Set()
})

/** Whether payors are not offered the token. */
export const isBlocked = ({ blocked, policy }: PolicyState, tokenId: number): boolean => {
  switch (policy) {
    case "accept_all":
      return false
    case "accept_none":
      return true
    case "selective":
      return blocked.has(tokenId)
  }
}

/** The same state where nothing changes. */
export const choose = (state: PolicyState, policy: AcceptancePolicy): PolicyState =>
  state.policy === policy ? state : { ...state, policy, version: state.version + 1 }

/** The state with `tokenIds` on the list, or off it; the same state where nothing changes. */
export const block = (state: PolicyState, tokenIds: ReadonlyArray<number>, blocked: boolean): PolicyState => {
  const list = new Set(state.blocked)
  for (const id of tokenIds) {
    if (blocked) list.add(id)
    else list.delete(id)
  }
  return changes(state.blocked, list) === 0 ? state : { ...state, blocked: list, version: state.version + 1 }
}

/** Tokens on one of two lists and not on the other. */
export const changes = (before: ReadonlySet<number>, after: ReadonlySet<number>): number =>
  [...before].filter((id) => !after.has(id)).length + [...after].filter((id) => !before.has(id)).length

/** The policy as the merchant reads it. */
export const policyBody = ({ blocked, environment, policy }: PolicyState) => ({
  acceptance_policy: policy,
  environment,
  blocked_token_ids: [...blocked].toSorted((a, b) => a - b)
})

/**
 * What the search's `blocked` asks of a token under a policy (modules/docs/reference/tokens.md#the-blocked-filter):
 * nothing (null), or a test that it must pass.
 */
export const blockedFilter = (state: PolicyState, asked: boolean | null): ((tokenId: number) => boolean) | null => {
  if (asked === null) return null
  if (state.policy === "selective") return (tokenId) => state.blocked.has(tokenId) === asked
  return asked === (state.policy === "accept_none") ? null : () => false
}

/** A price to show, as `Quotes.latest` gives it. */
export interface ShownPrice {
  /** Decimal dollars per whole token. */
  readonly text: string
  readonly source: string
  /** Epoch seconds. */
  readonly at: number
}

const shownPrice = (price: ShownPrice | null): TokenRecord["price"] =>
  price === null
    ? null
    : { usd: displayNumber(price.text), last_updated_at: price.at, provider_type: price.source }

const tokenRecord = (token: Token, blocked: boolean, price: ShownPrice | null): TokenRecord => ({
  id: token.id,
  token_symbol: token.symbol,
  token_name: token.name,
  network: token.network,
  network_environment: token.environment,
  is_blocked: blocked,
  price: shownPrice(price)
})

/** A token with the search columns; `monitored`: a driver runs for its network. */
export const foundToken = (
  token: Token,
  blocked: boolean,
  price: ShownPrice | null,
  monitored: boolean
): FoundToken => ({
  ...tokenRecord(token, blocked, price),
  token_address: token.address ?? nativeAddress,
  token_decimals: token.decimals,
  token_type: token.type,
  requires_memo: token.requiresMemo,
  photo_uri: token.photoUri,
  supports_stable_settlement: token.stable,
  is_active: token.active,
  is_monitored: monitored
})

/**
 * The plain list (modules/docs/reference/tokens.md#the-list): every active token, without the
 * blocked ones under `selective`. Inactive tokens are left out: the list's columns could not tell them from payable
 * ones, and the search shows them. The order of `tokens` is kept.
 */
export const tokenList = (
  state: PolicyState,
  tokens: ReadonlyArray<Token>,
  priceOf: (token: Token) => ShownPrice | null
) => ({
  acceptance_policy: state.policy,
  environment: state.environment,
  tokens: tokens
    .filter(({ active, id }) => active && !(state.policy === "selective" && state.blocked.has(id)))
    .map((token) => tokenRecord(token, isBlocked(state, token.id), priceOf(token)))
})
