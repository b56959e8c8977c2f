/** The words of the dashboard. A language is an object of {@link Texts} in `texts/`. */
import type { en } from "./texts/en.ts"

/** The same shape with any words: a text stays a text, a function keeps what it takes. */
type Words<A> = {
  readonly [Name in keyof A]: A[Name] extends string ? string
    : A[Name] extends (...args: infer Args) => string ? (...args: Args) => string
    : Words<A[Name]>
}

export type Texts = Words<typeof en>

export type NoticeName = keyof typeof en.notices
