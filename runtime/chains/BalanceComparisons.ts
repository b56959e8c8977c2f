/** Addresses whose native balance is compared with the journal: `Balances.ts` reads and compares them. */
import { Effect } from "effect"
import { nowSeconds } from "../Clock.ts"
import { type Environment, familyOf, type Network } from "../../schemas/Network.ts"
import type { Chains } from "../Chains.ts"
import { followerOf, type JournalContext, retryWrite, write } from "./JournalContext.ts"
import { balanceWrite } from "./ChainsRepo.ts"

const openComparison = Effect.fnUntraced(function*(
  journal: JournalContext,
  invoiceId: string,
  network: Network,
  environment: Environment
) {
  const { repo, targets } = journal
  const owner = yield* targets.target(invoiceId, familyOf(network))
  const follower = followerOf(journal, network, environment)
  if (owner === null || follower === undefined || follower.driver.balanceAt === null) return
  const id = `${network}:${environment}:${owner.matchKey}`
  const current = yield* repo.balance(id)
  if (current?.isOpen === true) return
  const head = follower.head() ?? (yield* repo.cursor(network, environment))?.recent[0]?.height
  if (current === null && head === undefined) return yield* Effect.logWarning("no block read yet", { network })
  const base = current ?? {
    id,
    merchantId: owner.merchantId,
    version: 0,
    network,
    environment,
    matchKey: owner.matchKey,
    invoiceId,
    address: owner.address,
    sinceHeight: head!,
    sinceBalance: null,
    forwarded: 0n,
    forwardedHeight: head!,
    height: head!,
    openedAt: yield* nowSeconds,
    isOpen: true
  }
  yield* write(journal, environment, [balanceWrite({ ...base, isOpen: true, version: base.version + 1 })])
})

const closeComparison = Effect.fnUntraced(function*(
  journal: JournalContext,
  invoiceId: string,
  network: Network,
  environment: Environment
) {
  const open = (yield* journal.repo.balancesOfInvoice(invoiceId)).filter((base) =>
    base.isOpen && base.network === network && base.environment === environment
  )
  if (open.length === 0) return
  const closed = open.map((base) => balanceWrite({ ...base, isOpen: false, version: base.version + 1 }))
  yield* write(journal, environment, closed)
})

export const reconcile =
  (journal: JournalContext): Chains["Service"]["reconcile"] => (invoiceId, network, environment, open = true) =>
    (open ? openComparison : closeComparison)(journal, invoiceId, network, environment).pipe(
      retryWrite,
      Effect.catchCause((cause) => Effect.logWarning("a balance is not compared", { invoiceId, network }, cause))
    )
