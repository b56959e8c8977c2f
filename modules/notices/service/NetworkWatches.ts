/** Looks at the networks now and then, and drafts a notice for the operator where one is in trouble for a while. */
import { Effect } from "effect"
import { nowSeconds } from "../../../runtime/Clock.ts"
import { Chains } from "../../../runtime/Chains.ts"
import { Commit, noCause, systemMerchant } from "../../../runtime/Commit.ts"
import { type Notice, Notices } from "../../../runtime/Notices.ts"
import { Settings } from "../../../runtime/Settings.ts"
import { type Repo, watchWrite } from "../repo.ts"
import { type NetworkWatch, watchNetwork } from "../rules.ts"

const noticeOf = ({ condition, environment, network, version }: NetworkWatch): Notice => ({
  id: `${environment}_${network}_${version}`,
  merchantId: systemMerchant,
  environment,
  kind: "network",
  subject: network,
  type: condition,
  amount: null
})

/** One look at all networks. */
export const makeNetworkLook = Effect.fnUntraced(function*(repo: Repo) {
  const chains = yield* Chains
  const commit = yield* Commit
  const notices = yield* Notices
  const { environments } = yield* Settings
  return Effect.gen(function*() {
    if (!notices.isEnabled()) return
    const now = yield* nowSeconds
    for (const { condition, environment, network } of environments.flatMap((each) => chains.status(each))) {
      const step = watchNetwork(yield* repo.watch(environment, network, now), condition, now)
      if (step === null) continue
      const told = step.tells ? yield* notices.draft(noticeOf(step.next)) : []
      // A conflict: another instance has looked.
      yield* commit.append({
        merchantId: systemMerchant,
        environment,
        cause: noCause,
        writes: [watchWrite(step.next), ...told],
        events: []
      }).pipe(Effect.catchTag("Conflict", () => Effect.void))
    }
  }).pipe(Effect.catch((error) => Effect.logWarning("the networks are looked at again in a minute", error)))
})
