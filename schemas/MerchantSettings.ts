/**
 * What a merchant decides about its later invoices and its payment page, per environment
 * (modules/docs/reference/settings.md#invoices). Every range here is complete.
 */
import { Schema } from "effect"
import { isReadable } from "./Colour.ts"
import { EpochSeconds } from "./Ids.ts"
import { ConfirmationPolicy, Environment } from "./Network.ts"
import { pendingChangeExample, pendingChangeFields } from "./PendingChange.ts"
import { DomainName, EmailAddress, HttpsOrigin, Locale, PictureUri } from "./Web.ts"

/**
 * Seconds after an invoice's end for which `locked_rate` holds: a day, for a transfer that was slow or sent late by
 * mistake. Without an end, a payor could wait until the tokens are worth less.
 */
export const lockedRateSeconds = 86_400

/**
 * How funds that come after the end are valued: at the price then, at the last quote given (at the price then once
 * {@link lockedRateSeconds} are over), or by a person.
 */
export const LatePaymentPolicy = Schema.Literals(["spot_rate", "locked_rate", "manual"]).annotate({
  description:
    "What funds after the end are worth. `spot_rate`: the price then. `locked_rate`: the last quote shown, for "
    + "24 hours after the end and the price then afterwards, so that nobody gains by waiting until the tokens have lost "
    + "value. `manual`: nothing until you say."
})
export type LatePaymentPolicy = typeof LatePaymentPolicy.Type

/** Whether the rest of a part payment must come by the route of the first part. */
export const PartialPaymentPolicy = Schema.Literals(["lock_route", "any_route"])
export type PartialPaymentPolicy = typeof PartialPaymentPolicy.Type

const integer = (minimum: number, maximum: number, description: string) =>
  Schema.Int.check(Schema.isBetween({ minimum, maximum })).annotate({ description })

/** Hundredths of a percent an invoice may be short: 0 to 100 %. */
export const ToleranceBasisPoints = integer(0, 10_000, "Hundredths of a percent an invoice may be short, 0 to 10,000.")

/** Milliseconds an invoice may live: a minute to thirty days (modules/docs/reference/invoices.md#creating). */
export const ExpiresIn = integer(60_000, 2_592_000_000, "Milliseconds until an invoice expires, 1 minute to 30 days.")

/** Origins that may frame the payment page, at most. */
export const maximumFrameAncestors = 10

const Accent = Schema.String.check(
  Schema.isPattern(/^#[0-9a-f]{6}$/, { message: "Expected a colour like #2a4fd8, in lower case" })
).annotate({ description: "Colour of buttons and links, `#rrggbb` in lower case; white text on it can be read." })

/** Only what is chosen from now on: a colour that was kept before there was this rule stays. */
const ReadableAccent = Accent.check(
  Schema.makeFilter((colour: string) =>
    isReadable("#ffffff", colour) || "White text on this colour cannot be read: its contrast must be at least 4.5:1"
  )
)

const brandingFields = {
  name: Schema.NonEmptyString.check(Schema.isMaxLength(255)).annotate({
    description: "Name on the payment page, at most 255 characters; the merchant's own by default."
  }),
  logo_uri: PictureUri.annotate({
    description:
      "Logo on the payment page: a png, jpeg or webp as `data:image/…;base64,…`, at most 16 KiB. Also an https " +
      "URL, at most 2,000 characters: your own page may show it; ours asks nothing of third parties and shows the first " +
      "letter of the name instead."
  }),
  accent: ReadableAccent,
  support_email: EmailAddress,
  domain: DomainName.annotate({
    description:
      "Your shop's domain, such as `shop.example`, in lower case and without `https://`. The payment page names it once " +
      "it is verified: `domain_check` says what to publish there. Naming it again has it checked again."
  }),
  frame_ancestors: Schema.Array(HttpsOrigin).check(Schema.isMaxLength(maximumFrameAncestors)).annotate({
    description: `Origins that may show the payment page in a frame, at most ${maximumFrameAncestors}; none by default.`
  }),
  default_locale: Locale,
  allow_restart: Schema.Boolean.annotate({
    description: "Whether the payment page of an expired invoice offers to begin anew."
  }),
  show_payee_proof: Schema.Boolean.annotate({
    description:
      "Whether the payment page shows that an address of a wallet of kind `forwarder` pays to your payee. It names the " +
      "payee to every payor."
  })
}

/** How the payment page looks, and where it may be shown. Without a logo or an address for help, it shows none. */
export const Branding = Schema.Struct({
  ...brandingFields,
  logo_uri: Schema.NullOr(brandingFields.logo_uri),
  accent: Accent,
  support_email: Schema.NullOr(brandingFields.support_email),
  domain: Schema.NullOr(brandingFields.domain),
  domain_verified_at: Schema.NullOr(EpochSeconds).annotate({
    description: "When `domain` was last found to name you, while it is verified; null: it is not."
  })
})
export type Branding = typeof Branding.Type

/** usd_millis that payouts come to at most; null: no limit. */
const payoutLimit = (of: string) =>
  Schema.NullOr(integer(
    0,
    1_000_000_000_000,
    `usd_millis that ${of} may come to, 0 to 1,000,000,000,000; null, the default: no limit. Only a signed-in wallet ` +
      "changes it."
  ))

/** Settings of one environment, without what belongs to the merchant as a whole. */
const environmentFields = {
  payment_tolerance_bps: ToleranceBasisPoints,
  payment_tolerance_amount: integer(
    0,
    100_000,
    "usd_millis an invoice may be short, 0 to 100,000. The larger of the two tolerances holds, up to a tenth of the " +
      "invoice and 100,000."
  ),
  overpay_tolerance_amount: integer(
    0,
    1_000_000_000,
    "usd_millis above the amount that open no exception, 0 to 1,000,000,000."
  ),
  late_payment_policy: LatePaymentPolicy,
  late_window_seconds: integer(0, 31_536_000, "Seconds after the end in which funds still count, 0 to 1 year."),
  underpaid_grace_seconds: integer(
    0,
    2_592_000,
    "Seconds after the end in which a part payment may be completed before an exception opens, 0 to 30 days."
  ),
  partial_payment_policy: PartialPaymentPolicy,
  invoice_default_expires_in: ExpiresIn,
  confirmation_policy: ConfirmationPolicy,
  auto_approve_limit: integer(
    0,
    1_000_000_000,
    "usd_millis up to which one person approves a refund, 0 to 1,000,000,000; above it two do, where two may approve. On " +
      "mainnet only a signed-in wallet changes it."
  ),
  auto_approve_limit_day: integer(
    0,
    1_000_000_000,
    "usd_millis that may go out on one day of UTC on the approval of one person, of all refunds and batches of payouts " +
      "together, 0 to 1,000,000,000; above it two approve, where two may approve. On mainnet only a signed-in wallet " +
      "changes it."
  ),
  payout_limit_batch: payoutLimit("one batch of payouts"),
  payout_limit_day: payoutLimit("all batches of payouts that are made on one day of UTC")
}

/** The settings that say who may let money go out, and how much. */
export const moneyRules = [
  "auto_approve_limit",
  "auto_approve_limit_day",
  "payout_limit_batch",
  "payout_limit_day"
] as const
export type MoneyRule = typeof moneyRules[number]

const MoneyRules = Schema.Struct({
  auto_approve_limit: Schema.optionalKey(environmentFields.auto_approve_limit),
  auto_approve_limit_day: Schema.optionalKey(environmentFields.auto_approve_limit_day),
  payout_limit_batch: Schema.optionalKey(environmentFields.payout_limit_batch),
  payout_limit_day: Schema.optionalKey(environmentFields.payout_limit_day)
})

/** Limits as they are to be: those that change. */
export type MoneyRulesChange = typeof MoneyRules.Type

export const PendingSettings = Schema.Struct({
  ...pendingChangeFields,
  settings: MoneyRules.annotate({ description: "The limits as they will be: those that change" })
}).annotate({
  identifier: "PendingSettings",
  description:
    "Higher limits of real money, which wait: for another person who may approve them, where there is one, and then "
    + "24 hours.",
  examples: [{ ...pendingChangeExample, settings: { auto_approve_limit: 2_000_000 } }]
})

/** What a domain says of a merchant. `proved`: it names this merchant, and this payment page. */
const verdicts = ["proved", "other_merchant", "other_host"] as const

/** What is at the address of the file. */
export const FileFinding = Schema.Literals([...verdicts, "absent", "unreadable", "refused", "unreachable"]).annotate({
  description:
    "`proved`: the file names you. `other_merchant`, `other_host`: it names another merchant, or another payment page. " +
    "`absent`: the answer was not 200; no redirect is followed. `unreadable`: it is no such JSON, or longer than 4 KiB. " +
    "`refused`: the address is not public, or this service's own. `unreachable`: no answer over https in 12 seconds."
})
export type FileFinding = typeof FileFinding.Type

/** What the records of the DNS say. */
export const DnsFinding = Schema.Literals([...verdicts, "absent", "unreachable"]).annotate({
  description:
    "`proved`: a TXT record names you. `other_merchant`, `other_host`: they name another merchant, or another payment " +
    "page. `absent`: there is none. `unreachable`: no name server answered in 5 seconds."
})
export type DnsFinding = typeof DnsFinding.Type

export const DomainCheck = Schema.Struct({
  file_url: Schema.String.annotate({ description: "Where the file is read" }),
  file: Schema.Struct({ merchant_id: Schema.Int, pay_host: Schema.String }).annotate({
    description: "The JSON that it must have; more fields are ignored"
  }),
  dns_name: Schema.String.annotate({ description: "Where a TXT record is read instead" }),
  dns_value: Schema.String.annotate({ description: "The record that it must have, beside any others" }),
  checked_at: Schema.NullOr(EpochSeconds).annotate({ description: "Of the last check; null: there was none yet" }),
  next_check_at: EpochSeconds,
  file_result: Schema.NullOr(FileFinding),
  dns_result: Schema.NullOr(DnsFinding)
}).annotate({
  identifier: "DomainCheck",
  description: "How `branding.domain` is verified, by a file or by a record, and what the last check found.",
  examples: [{
    file_url: "https://shop.example/.well-known/tillwire.json",
    file: { merchant_id: 42, pay_host: "pay.example" },
    dns_name: "_tillwire.shop.example",
    dns_value: "merchant_id=42 pay_host=pay.example",
    checked_at: 1_766_320_498,
    next_check_at: 1_766_406_898,
    file_result: "proved",
    dns_result: "absent"
  }]
})
export type DomainCheck = typeof DomainCheck.Type

/** The body of `GET` and `PATCH /api/v1/merchant/settings`. */
export const MerchantSettings = Schema.Struct({
  ...environmentFields,
  default_environment: Environment.annotate({
    description:
      "Environment of calls with a JWT that name none. One for the whole merchant; a devnet key may not change it."
  }),
  branding: Branding,
  pending_change: Schema.NullOr(PendingSettings).annotate({
    description: "Higher limits that do not hold yet; null: none wait."
  }),
  domain_check: Schema.NullOr(DomainCheck).annotate({
    description: "How `branding.domain` is verified; null: there is none."
  })
}).annotate({
  identifier: "MerchantSettings",
  description: "What a merchant decides about its later invoices and its payment page, in one environment.",
  examples: [{
    payment_tolerance_bps: 0,
    payment_tolerance_amount: 10,
    overpay_tolerance_amount: 1_000,
    late_payment_policy: "spot_rate",
    late_window_seconds: 604_800,
    underpaid_grace_seconds: 86_400,
    partial_payment_policy: "lock_route",
    invoice_default_expires_in: 43_200_000,
    confirmation_policy: "standard",
    auto_approve_limit: 500_000,
    auto_approve_limit_day: 2_000_000,
    payout_limit_batch: null,
    payout_limit_day: null,
    default_environment: "devnet",
    branding: {
      name: "Demo Store",
      logo_uri: null,
      accent: "#2a4fd8",
      support_email: null,
      domain: null,
      domain_verified_at: null,
      frame_ancestors: [],
      default_locale: "en",
      allow_restart: false,
      show_payee_proof: false
    },
    pending_change: null,
    domain_check: null
  }]
})

/** Settings as the API shows them, with the change that waits and the check of the domain. */
export type ShownMerchantSettings = typeof MerchantSettings.Type

/** What holds. */
export type MerchantSettings = Omit<ShownMerchantSettings, "pending_change" | "domain_check">

/** Those that decide about new invoices: not the page's looks, nor where a wallet's calls act. */
export type InvoiceSettings = Omit<MerchantSettings, "default_environment" | "branding">

type Fields = Record<string, Schema.Top>
const eachOptional = <F extends Fields>(fields: F) => {
  const change = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))
  return Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, change(schema)])) as {
    readonly [Name in keyof F]: ReturnType<typeof change<F[Name]>>
  }
}

/**
 * A change of settings: what is absent stays, `null` goes back to the default, `branding` is changed field by field.
 * Unknown fields are ignored.
 */
export const MerchantSettingsChange = Schema.Struct({
  ...eachOptional(environmentFields),
  default_environment: Schema.optionalKey(Schema.NullOr(Environment)),
  branding: Schema.optionalKey(Schema.NullOr(Schema.Struct(eachOptional(brandingFields))))
}).annotate({
  identifier: "MerchantSettingsChange",
  description: "What is absent stays, null goes back to the default, branding is changed field by field.",
  examples: [{ payment_tolerance_bps: 50, branding: { accent: "#0b7a43", support_email: "help@shop.example" } }]
})
export type MerchantSettingsChange = typeof MerchantSettingsChange.Type
