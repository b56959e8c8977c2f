/** The words of the dashboard. A language is an object of {@link Texts} in `texts/`, with the sections of `texts/en.ts`. */
import type { Language } from "../../../schemas/Languages.ts"
import type { en } from "./texts/en.ts"
import type { accountTexts } from "./texts/enAccount.ts"
import type { approvalTexts } from "./texts/enApproval.ts"
import type { signingTexts } from "./texts/enSigning.ts"
import type { toolTexts } from "./texts/enTools.ts"

/** The same shape with any words: a text stays a text, a function keeps what it takes. */
type Words<A> = {
  readonly [Name in keyof A]: A[Name] extends string ? string
    : A[Name] extends (...args: infer Args) => string ? (...args: Args) => string
    : Words<A[Name]>
}

/**
 * What the refusals of the API mean to a shop. The API's own message, which names values and limits, is in English and
 * stands below.
 */
export interface Refusals {
  readonly wrongField: string
  readonly notFound: string
  readonly notAllowed: string
  readonly signIn: string
  readonly otherPerson: string
  readonly notNow: string
  readonly decided: string
  readonly notCancelable: string
  readonly inBatch: string
  readonly givenOut: string
  readonly tooMuchRefunded: string
  readonly overLimit: string
  readonly tooMany: string
  readonly tooLittleMoney: string
  readonly wallet: string
  readonly wait: string
  readonly unavailable: string
  readonly other: string
}

export type Texts = Words<Omit<typeof en, "locale" | "direction">> & {
  readonly locale: Language
  /** The language's own name, for the choice of languages. */
  readonly language: string
  readonly direction: "ltr" | "rtl"
  /** Absent in English, whose readers need nothing but the API's message. */
  readonly refusals?: Refusals
}

/** The parts of {@link Texts} that have a file of their own. */
export type AccountTexts = Words<typeof accountTexts>
export type ToolTexts = Words<typeof toolTexts>
export type ApprovalTexts = Words<typeof approvalTexts>
export type SigningTexts = Words<typeof signingTexts>

export type NoticeName = keyof typeof en.notices
