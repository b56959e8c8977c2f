/** What a page of the dashboard is: where it stands, what it shows, and what its forms do. Definitions only. */
import type { Effect, Schema } from "effect"
import type { Grant } from "../../../runtime/Http.ts"
import type { Content, Url } from "../../../runtime/pages/Html.ts"
import type { PagePreview } from "../../../runtime/PagePreviews.ts"
import type { PublicError } from "../../../schemas/Errors.ts"
import type { Environment } from "../../../schemas/Network.ts"
import type { Right } from "../../../schemas/Roles.ts"
import type { Membership, TeamSession } from "../../team/plugin.ts"
import type { MerchantApi } from "../service.ts"
import type { NoticeName, Texts } from "./Texts.ts"

/** Parameters of an address; null and undefined leave one out. */
export type Query = Readonly<Record<string, string | number | null | undefined>>

/** How somebody gets one more passkey. The API has no call for it: a passkey is bound to the session it was made in. */
export interface NewPasskeys {
  /** `PublicKeyCredentialCreationOptionsJSON`, good for one answer within 5 minutes. */
  readonly options: Effect.Effect<Schema.Json>
  /** `answer`: the browser's `RegistrationResponseJSON`. */
  readonly add: (name: string, answer: string) => Effect.Effect<unknown, PublicError>
}

/** Somebody who looks at a page, of which merchant, and where. */
export interface Visit {
  /** As whom the page is counted and calls the API. */
  readonly caller: Grant
  readonly session: TeamSession
  readonly membership: Membership
  /** Everything the person belongs to, for the choice of a shop. */
  readonly memberships: ReadonlyArray<Membership>
  readonly environment: Environment
  /** What the deployment serves. */
  readonly environments: ReadonlyArray<Environment>
  /** Path of the page below the merchant and its environment, as in {@link Page.path}. */
  readonly page: string
  /** Of the address: `id`. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  readonly api: MerchantApi
  readonly texts: Texts
  /** Epoch seconds. */
  readonly now: number
  /** Whether the person may do what takes a right, here: what they may not do is not drawn. */
  readonly may: (right: Right) => boolean
  /** Whether the deployment sends mail. */
  readonly sendsMail: boolean
  /** Whether people of a merchant are told by e-mail of what they must act on. */
  readonly sendsNotices: boolean
  /** Whether a route of the API is served: a module may be left out. */
  readonly serves: (path: `/api/${string}`) => boolean
  /** An address of the same merchant and environment; `path` as in {@link Page.path}, its parameters filled in. */
  readonly at: (path: string, query?: Query) => Url
  readonly passkeys: NewPasskeys
  /** The page on which customers pay, with invented data; undefined: the deployment has none. */
  readonly preview: PagePreview | undefined
  /** The address where browsers know passkeys, where the page was opened by an address of numbers; null: they do here. */
  readonly nameAddress: string | null
  /** New for each page: a form that is sent twice acts once. */
  readonly formKey: string
  /** A form of this page that was refused: what it said, so that nothing is typed twice. */
  readonly refusal: { readonly error: PublicError; readonly form: URLSearchParams } | null
}

/** What a page shows. */
export interface Screen {
  readonly title: string
  /** Beside the heading: links and forms of what can be done. */
  readonly acts?: Content
  /** Above the heading: where this belongs. */
  readonly trail?: { readonly text: string; readonly path: string }
  /** Beside the heading: the state of what is shown. */
  readonly state?: Content
  readonly body: Content
  /** Types of events after which it may look otherwise; absent: it stays as it was asked for. */
  readonly follows?: ReadonlyArray<string>
  /** Whether a wallet of the browser may sign something of it, by a script of its own. */
  readonly signs?: boolean
  /** Whether it shows another page of the dashboard in a frame: {@link Page.document}. */
  readonly frames?: boolean
  /** Where whoever asked for this page is led at once; absent: it is shown. */
  readonly goTo?: { readonly path: string; readonly query?: Query }
}

/** Where a form leads, and what is said there. */
export interface AfterForm {
  readonly path: string
  readonly query?: Query
  readonly notice: NoticeName | null
}

/** What is shown once and never again, such as a new key: the answer to the form itself. */
export interface OneTimeScreen {
  readonly screen: Screen
}

/** What only the page's own script asks for. */
export interface JsonAnswer {
  readonly json: Schema.Json
}

/** What a form of a page does. The API checks who may: a page decides nothing. */
export type FormAction = (
  visit: Visit,
  form: URLSearchParams
) => Effect.Effect<AfterForm | JsonAnswer | OneTimeScreen, PublicError>

export interface Page {
  /** Below the merchant and its environment: `payments`, `payments/:id`; empty for the first page. */
  readonly path: string
  /** What it takes to see it; the API refuses whoever has it not. */
  readonly right: Right
  /** The route of the API that it stands on: without it there is no such page. */
  readonly route: `/api/${string}`
  /** Where alone there is such a page; absent: everywhere. */
  readonly environment?: Environment
  readonly render: (visit: Visit) => Effect.Effect<Screen, PublicError>
  /** Of a page that is a file: which call of the API answers it. */
  readonly file?: (visit: Visit) => { readonly path: `/api/${string}`; readonly query: Query }
  /** Of a page that stands in a frame of another one: its whole document, and the headers that it goes under. */
  readonly document?: (
    visit: Visit
  ) => Effect.Effect<{ readonly html: string; readonly headers: Readonly<Record<string, string>> }, PublicError>
  /** By the field `action` of the form. */
  readonly actions?: Readonly<Record<string, FormAction>>
}
