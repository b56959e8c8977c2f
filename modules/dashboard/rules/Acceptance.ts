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

/** The calls that make one list of turned-off tokens into another; none where they are the same. */
export const changesOf = (
  before: Acceptance,
  after: Acceptance
): ReadonlyArray<{ readonly blocked: boolean; readonly ids: ReadonlyArray<number> }> =>
  [
    { blocked: true, ids: [...after.blocked].filter((id) => !before.blocked.has(id)) },
    { blocked: false, ids: [...before.blocked].filter((id) => !after.blocked.has(id)) }
  ].filter(({ ids }) => ids.length > 0)
