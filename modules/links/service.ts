/** Payment links: made, turned on and off, and begun to be paid by a mailbox for each link. */
import { Context, Effect, Layer } from "effect"
import { hash, randomBytes } from "node:crypto"
import { Actors } from "../../runtime/Actors.ts"
import { AuditLog } from "../../runtime/AuditLog.ts"
import { nowSeconds } from "../../runtime/Clock.ts"
import { Commit, type CommitCause, decideAnew, dieOnReplay, type IdempotentCall } from "../../runtime/Commit.ts"
import { hmacUnder } from "../../runtime/Hmac.ts"
import type { AddressPrefix } from "../../runtime/http/Addresses.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { countPruned, inBatches, initializePruned, runPeriodically } from "../../runtime/Retention.ts"
import { Secrets } from "../../runtime/Secrets.ts"
import { Settings } from "../../runtime/Settings.ts"
import { uuidV7Ahead } from "../../runtime/Uuid.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import type { UsdMillis } from "../../schemas/Money.ts"
import { isPaymentLinkId } from "../../schemas/Ids.ts"
import type { Environment } from "../../schemas/Network.ts"
import type { PageCursor } from "../../schemas/Page.ts"
import { paymentLinkKey, paymentLinkOf } from "../../schemas/PaymentLink.ts"
import { Invoices, type InvoiceState, isPayable } from "../invoices/plugin.ts"
import { MerchantSettings } from "../settings/plugin.ts"
import { linkInvoiceWrite, linkWrite, makeRepo, pruneInvoices, visitRetentionDays } from "./repo.ts"
import {
  codeLength,
  codeOf,
  isCode,
  limitedInvoiceMillis,
  linkActOf,
  type LinkAmount,
  type LinkCounts,
  type LinkState,
  noCounts,
  type Obstacle,
  obstacleTo
} from "./rules.ts"

/** A link with what came of it, as of a moment of its merchant's time. */
export interface CountedLink {
  readonly link: LinkState
  readonly counts: LinkCounts
  /** Epoch seconds. */
  readonly now: number
}

/** What a new link is made of; everything is validated, but not that `expiresAt` is in the future. */
export interface NewLink {
  readonly merchantId: number
  readonly environment: Environment
  readonly title: string
  readonly description: string | null
  readonly amount: LinkAmount
  readonly maximumPayments: number | null
  readonly expiresAt: number | null
}

/** A change or a creation by somebody of the merchant. */
export interface LinkCall extends IdempotentCall<CountedLink> {
  readonly actor: string
}

/** Somebody before the page of a link. */
export interface Visitor {
  /** The random name that their browser was given. */
  readonly visit: string
  /** The ranges of the address they call from, the narrowest first. */
  readonly ranges: ReadonlyArray<AddressPrefix>
}

/** What somebody sees of a link. */
export interface LinkVisit extends CountedLink {
  /** Null: everybody can begin to pay. */
  readonly obstacle: Obstacle | null
  /** The invoice that this browser began and can pay still; null: none. */
  readonly openInvoice: InvoiceState | null
}

/** What became of the wish to pay. */
export type PaymentStart =
  | { readonly _tag: "Invoice"; readonly invoice: InvoiceState }
  | { readonly _tag: "Obstacle"; readonly obstacle: Obstacle }

/**
 * How often it is decided anew whether one more may pay a link, when another instance was faster: each loss means that
 * somebody else has begun.
 */
const conflictRetries = 20

const secondsOfHour = 3_600

export class PaymentLinks extends Context.Service<PaymentLinks, {
  /** Errors: `VALIDATION_ERROR` for an end that is not in the future, `SERVICE_UNAVAILABLE`. */
  readonly create: (link: NewLink, call: LinkCall) => Effect.Effect<CountedLink, PublicError>
  /** Turns a link on or off. Errors: `PAYMENT_LINK_NOT_FOUND`, `SERVICE_UNAVAILABLE`. */
  readonly setActive: (
    merchantId: number,
    environment: Environment,
    id: string,
    isActive: boolean,
    call: LinkCall
  ) => Effect.Effect<CountedLink, PublicError>
  /** Errors: `PAYMENT_LINK_NOT_FOUND`, also for a link of another environment. */
  readonly get: (merchantId: number, environment: Environment, id: string) => Effect.Effect<CountedLink, PublicError>
  /** Newest first. Null where the cursor is no link of this merchant and environment. */
  readonly list: (
    merchantId: number,
    environment: Environment,
    page: { readonly cursor: PageCursor | null; readonly limit: number }
  ) => Effect.Effect<{ readonly links: ReadonlyArray<CountedLink>; readonly hasMore: boolean } | null>
  /** What the public sees by a code. Writes nothing. Errors: `NOT_FOUND`, also where its environment is not served. */
  readonly visit: (code: string, visit: string | null) => Effect.Effect<LinkVisit, PublicError>
  /**
   * The invoice that a visitor pays: the one they began before where it asks for the same and can be paid still, else a
   * new one. Errors: `NOT_FOUND`, `RATE_LIMIT_EXCEEDED` where their address made too many, `SERVICE_UNAVAILABLE`.
   */
  readonly begin: (
    code: string,
    visitor: Visitor,
    amount: UsdMillis,
    locale: string,
    cause: CommitCause
  ) => Effect.Effect<PaymentStart, PublicError>
}>()("tillwire/modules/links/PaymentLinks") {
  /** `invoicesPerHour`: that one address may have made. */
  static readonly layerOf = (invoicesPerHour: number) =>
    Layer.effect(
      PaymentLinks,
      Effect.gen(function*() {
        const context = yield* makeContext
        const { countedLink, repo } = context
        const begin = yield* makeBegin(context, invoicesPerHour)

        return PaymentLinks.of({
          ...changesOf(context),
          get: Effect.fnUntraced(function*(merchantId, environment, id) {
            return yield* countedLink(yield* findLink(context, merchantId, environment, id))
          }),
          list: Effect.fnUntraced(function*(merchantId, environment, page) {
            const found = yield* repo.list(merchantId, environment, page)
            if (found === null) return null
            const now = yield* context.clock.nowSeconds(merchantId, environment)
            const counts = yield* repo.counts(merchantId, environment, found.links.map(({ id }) => id))
            const links = found.links.map((link) => ({ link, counts: counts.get(link.id) ?? noCounts, now }))
            return { links, hasMore: found.hasMore }
          }),
          visit: Effect.fnUntraced(function*(code, visit) {
            const link = yield* findPublic(context, code)
            const counted = yield* countedLink(link)
            const obstacle = obstacleTo(link, counted.counts, counted.now)
            const openInvoice = visit === null
              ? null
              : yield* findOpenInvoice(context, link, hashOf(visit), counted.now)
            return { ...counted, obstacle, openInvoice }
          }),
          begin
        })
      })
    )
}

/** What stands in a row in place of a browser's random name. */
const hashOf = (visit: string): string => hash("sha256", visit, "base64url")

const makeContext = Effect.gen(function*() {
  const clock = yield* MerchantClock
  const repo = yield* makeRepo
  const { environments } = yield* Settings
  return {
    actors: yield* Actors,
    auditLog: yield* AuditLog,
    clock,
    commit: yield* Commit,
    environments,
    invoices: yield* Invoices,
    repo,
    settings: yield* MerchantSettings,
    countedLink: Effect.fnUntraced(function*(link: LinkState) {
      const { environment, id, merchantId } = link
      const now = yield* clock.nowSeconds(merchantId, environment)
      const counts = yield* repo.counts(merchantId, environment, [id])
      return { link, counts: counts.get(id) ?? noCounts, now } satisfies CountedLink
    })
  }
})

type LinkContext = Effect.Success<typeof makeContext>

const findLink = Effect.fnUntraced(function*(
  { repo }: LinkContext,
  merchantId: number,
  environment: Environment,
  id: string
): Effect.fn.Return<LinkState, PublicError> {
  const link = isPaymentLinkId(id) ? yield* repo.find(merchantId, id) : null
  return link === null || link.environment !== environment ? yield* publicError("PAYMENT_LINK_NOT_FOUND") : link
})

const findPublic = Effect.fnUntraced(function*(
  { environments, repo }: LinkContext,
  code: string
): Effect.fn.Return<LinkState, PublicError> {
  const link = isCode(code) ? yield* repo.byCode(code) : null
  return link === null || !environments.includes(link.environment) ? yield* publicError("NOT_FOUND") : link
})

/** The invoice that a browser began on a link and can pay still. */
const findOpenInvoice = Effect.fnUntraced(function*(
  { invoices, repo }: LinkContext,
  { id, merchantId }: LinkState,
  visit: string,
  now: number
) {
  const invoiceId = yield* repo.invoiceOfVisit(merchantId, id, visit)
  const found = invoiceId === null ? null : yield* invoices.get(merchantId, invoiceId)
  return found !== null && isPayable(found.invoice, now) && paymentLinkOf(found.invoice.metadata) === id
    ? found.invoice
    : null
})

/** What people of the merchant do with links. */
const changesOf = (
  context: LinkContext
): Pick<PaymentLinks["Service"], "create" | "setActive"> => {
  const { actors, auditLog, clock, commit, countedLink } = context

  const append = Effect.fnUntraced(function*(before: LinkState | null, after: CountedLink, call: LinkCall) {
    const { link } = after
    yield* commit.append({
      merchantId: link.merchantId,
      environment: link.environment,
      cause: call.cause,
      writes: [
        linkWrite(link),
        ...(before?.isActive === link.isActive
          ? []
          : yield* auditLog.writesOf(linkActOf(before, link, call.actor, call.cause.requestId)))
      ],
      events: [],
      reply: call.reply(after)
    }).pipe(dieOnReplay)
    return after
  })

  return {
    create: Effect.fnUntraced(function*(input, call) {
      const { environment, expiresAt, merchantId } = input
      const now = yield* clock.nowSeconds(merchantId, environment)
      if (expiresAt !== null && expiresAt <= now) {
        return yield* publicError("VALIDATION_ERROR", {
          message: "expires_at must be a moment in the future, in epoch seconds",
          param: "expires_at"
        })
      }
      const id = `plink_${yield* uuidV7Ahead(clock.aheadSeconds(merchantId, environment))}`
      const code = yield* Effect.sync(() => codeOf(randomBytes(codeLength)))
      const link: LinkState = { ...input, id, version: 1, code, isActive: true, createdAt: now, updatedAt: now }
      return yield* decideAnew()(append(null, { link, counts: noCounts, now }, call))
    }),
    setActive: (merchantId, environment, id, isActive, call) =>
      actors.send(
        mailbox,
        id,
        Effect.gen(function*() {
          const before = yield* findLink(context, merchantId, environment, id)
          const counted = yield* countedLink(before)
          const link = { ...before, version: before.version + 1, isActive, updatedAt: counted.now }
          return yield* append(before, { ...counted, link }, call)
        })
      ).pipe(decideAnew(conflictRetries))
  }
}

/** One mailbox for each link: who begins to pay it, and who turns it off, come one after the other. */
const mailbox = "payment-link"

/** `PaymentLinks.begin`. */
const makeBegin = Effect.fnUntraced(function*(context: LinkContext, invoicesPerHour: number) {
  const { actors, countedLink, invoices, repo, settings } = context
  const secrets = yield* Secrets

  /** The hash of a range as it is kept, and those of before the last master keys were replaced. */
  const hashesOfRange = ({ name }: AddressPrefix): readonly [string, ...ReadonlyArray<string>] => {
    const [newest, ...former] = secrets.keys("personal")
    const hash = ({ key }: typeof newest) => hmacUnder(key)(name, "utf8")
    return [hash(newest), ...former.map(hash)]
  }

  /** Refuses an address of which a range has had its invoices of the hour. */
  const checkRange = Effect.fnUntraced(
    function*({ limitFactor }: AddressPrefix, place: number, sources: ReadonlyArray<string>, now: number) {
      const limit = invoicesPerHour * limitFactor
      const oldest = yield* repo.nthInvoiceOfSource(place, sources, now - secondsOfHour, limit)
      if (oldest === null) return
      const retryAfterSeconds = Math.max(1, oldest + secondsOfHour - now)
      return yield* publicError("RATE_LIMIT_EXCEEDED", {
        message: "Too many payments were begun from your address or those beside it: wait as long as Retry-After says",
        details: { retry_after_seconds: retryAfterSeconds },
        retryAfterSeconds
      })
    }
  )

  const lifetimeOf = Effect.fnUntraced(function*({ environment, maximumPayments, merchantId }: LinkState) {
    if (maximumPayments === null) return null
    const { invoice_default_expires_in } = yield* settings.forInvoices(merchantId, environment)
    return Math.min(limitedInvoiceMillis, invoice_default_expires_in)
  })

  const beginOnce = Effect.fnUntraced(function*(
    code: string,
    { ranges, visit }: Visitor,
    amount: UsdMillis,
    locale: string,
    cause: CommitCause
  ) {
    const link = yield* findPublic(context, code)
    const { environment, id, merchantId } = link
    const { counts, now } = yield* countedLink(link)
    const open = yield* findOpenInvoice(context, link, hashOf(visit), now)
    if (open !== null && open.amount === amount) return { _tag: "Invoice", invoice: open } satisfies PaymentStart
    const obstacle = obstacleTo(link, counts, now)
    if (obstacle !== null) return { _tag: "Obstacle", obstacle } satisfies PaymentStart
    const createdAt = yield* nowSeconds
    const sources = ranges.map(hashesOfRange)
    for (const [place, range] of ranges.entries()) yield* checkRange(range, place, sources[place]!, createdAt)
    const draft = yield* invoices.draft({
      merchantId,
      environment,
      commerce: false,
      amount,
      expiresInMillis: yield* lifetimeOf(link),
      customerId: null,
      metadata: { [paymentLinkKey]: id },
      details: {
        title: link.title,
        description: link.description,
        footer: null,
        customerEmail: null,
        returnUrl: null,
        locale
      },
      toleranceBasisPoints: null,
      acceptedNetworks: null
    })
    const invoiceId = draft.invoice.id
    const writes = [
      linkWrite({ ...link, version: link.version + 1 }),
      linkInvoiceWrite({
        merchantId,
        invoiceId,
        linkId: id,
        visit: hashOf(visit),
        sources: sources.map(([newest]) => newest),
        createdAt
      })
    ]
    yield* invoices.createWith(draft, { writes, events: [] }, cause, undefined).pipe(dieOnReplay)
    return { _tag: "Invoice", invoice: draft.invoice } satisfies PaymentStart
  })

  const begin: PaymentLinks["Service"]["begin"] = Effect.fnUntraced(function*(code, ...rest) {
    const { id } = yield* findPublic(context, code)
    return yield* decideAnew(conflictRetries)(actors.send(mailbox, id, beginOnce(code, ...rest)))
  })
  return begin
})

/** Forgets which browser and which address an invoice was made for, {@link visitRetentionDays} later. */
export const pruneRegularly = Effect.andThen(
  initializePruned(["payment_link_invoices"]),
  runPeriodically(
    "links-prune",
    "10 minutes",
    Effect.flatMap(
      nowSeconds,
      (now) => inBatches(countPruned("payment_link_invoices")(pruneInvoices(now - visitRetentionDays * 86_400)))
    )
  )
)
