/** Domains that merchants name are looked at when they are due: one timer asks, the merchant's mailbox keeps the answer. */
import { Effect } from "effect"
import { nowSeconds } from "../../../runtime/Clock.ts"
import { PublicWeb } from "../../../runtime/PublicWeb.ts"
import { Timers } from "../../../runtime/Timers.ts"
import type { DomainClaim, DomainFindings } from "../rules.ts"
import { fileUrlOf, findingOfPage, findingOfRecords, recordNameOf } from "../rules.ts"
import type { SettingsOwner } from "../repo.ts"
import { domainTimerName } from "./Changes.ts"

/** Domains asked at once, and in one run: one that is slow takes 12 s. */
const concurrency = 8
const batchSize = 32

/**
 * How long a check that is due waits at the start for a transport that can ask. Where none ever registers, the domain
 * counts as one that does not answer, so that it does not stay verified for ever.
 */
const startWaitSeconds = 3_600

/** A claim that is due. */
export interface DueDomain extends SettingsOwner {
  readonly domain: string
}

/** Asks the domain, by both ways. */
const askDomain = Effect.fnUntraced(function*(web: PublicWeb["Service"], claim: DomainClaim) {
  const file = web.page(fileUrlOf(claim.domain)).pipe(
    Effect.map((page) => findingOfPage(claim, page)),
    Effect.catch(({ isRefused }) => Effect.succeed(isRefused ? "refused" as const : "unreachable" as const))
  )
  const dns = web.textRecords(recordNameOf(claim.domain)).pipe(
    Effect.map((records) => findingOfRecords(claim, records)),
    Effect.catch(() => Effect.succeed("unreachable" as const))
  )
  return yield* Effect.all({ file, dns }, { concurrency: 2 })
})

/** Checks domains for as long as the scope lives. `record` keeps what was found, unless the merchant names another now. */
export const registerDomainChecks = Effect.fnUntraced(
  function*<E>({ due, nextDue, payHost, record }: {
    readonly payHost: string
    readonly due: (now: number, limit: number) => Effect.Effect<ReadonlyArray<DueDomain>>
    readonly nextDue: Effect.Effect<number | null>
    readonly record: (owner: DueDomain, findings: DomainFindings) => Effect.Effect<void, E>
  }) {
    const web = yield* PublicWeb
    const { register } = yield* Timers
    const startWait = () => web.isAvailable() ? 0 : startWaitSeconds

    const check = (owner: DueDomain) =>
      askDomain(web, { domain: owner.domain, merchantId: owner.merchantId, payHost }).pipe(
        Effect.flatMap((findings) => record(owner, findings)),
        Effect.as(1),
        Effect.catch((error) =>
          Effect.as(Effect.logWarning("a domain is checked again: its check was not kept", { owner, error }), 0)
        )
      )

    yield* register({
      name: domainTimerName,
      batchSize,
      run: Effect.fnUntraced(function*(_: number, limit: number) {
        const owners = yield* due((yield* nowSeconds) - startWait(), limit)
        const counts = yield* Effect.forEach(owners, check, { concurrency })
        return counts.reduce((sum, each) => sum + each, 0)
      }),
      nextDueMillis: Effect.map(nextDue, (seconds) => seconds === null ? null : (seconds + startWait()) * 1000)
    })
  }
)
