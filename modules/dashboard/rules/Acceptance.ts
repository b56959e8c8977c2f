/** Which tokens a shop takes, and what a form changes of it. Pure. */
import type { AcceptancePolicy } from "../../../schemas/Token.ts"

export interface Acceptance {
  readonly policy: AcceptancePolicy
  /** Kept under every policy, heeded under `selective` (modules/docs/reference/tokens.md#acceptance-policy). */
  readonly blocked: ReadonlySet<number>
}

/** Whether customers are offered a token. */
export const isOffered = ({ blocked, policy }: Acceptance, id: number): boolean =>
  policy === "accept_all" || (policy === "selective" && !blocked.has(id))

/**
 * What a form asks for that lists tokens and has the ids of those that are accepted. Tokens that it does not list stay
 * as they are: one is listed only while it can be offered, and is none for a while after each start.
 */
export const acceptanceOf = (
  policy: AcceptancePolicy,
  accepted: ReadonlyArray<string>,
  listed: ReadonlyArray<number>,
  saved: Acceptance
): Acceptance => ({
  policy,
  blocked: new Set([
    ...[...saved.blocked].filter((id) => !listed.includes(id)),
    ...listed.filter((id) => !accepted.includes(String(id)))
  ])
})

/** The calls that make one list of turned-off tokens into another; none where they are the same. */
export const changesOf = (
  before: Acceptance,
  after: Acceptance
): ReadonlyArray<{ readonly blocked: boolean; readonly ids: ReadonlyArray<number> }> =>
  [
    { blocked: true, ids: [...after.blocked].filter((id) => !before.blocked.has(id)) },
    { blocked: false, ids: [...before.blocked].filter((id) => !after.blocked.has(id)) }
  ].filter(({ ids }) => ids.length > 0)
