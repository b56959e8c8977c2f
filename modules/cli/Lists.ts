/** Lists of the API as commands show them. */
import { Effect, Option, Schema } from "effect"
import { Flag } from "effect/cli"
import { pageLimits } from "../../schemas/Page.ts"
import { answer, printable, say, table } from "./Output.ts"

/** `--limit` of every list. */
export const limitFlag = Flag.Int("limit").pipe(
  Flag.withSchema(Schema.Int.check(Schema.isBetween(pageLimits))),
  Flag.withDescription(`Entries at most, ${pageLimits.minimum} to ${pageLimits.maximum}`),
  Flag.withDefault(pageLimits.default)
)

/** `--after` of every list: where the page before ended. */
export const afterFlag = Flag.String("after").pipe(
  Flag.withDescription("Older than the one with this id"),
  Flag.optional
)

/** The query of a page, by the two flags. */
export const pageQuery = ({ after, limit }: { readonly after: Option.Option<string>; readonly limit: number }) => ({
  limit,
  ...(Option.isSome(after) ? { starting_after: after.value } : {})
})

/** A field that is only sent when its flag was given. */
export const optionalField = <Name extends string, A>(
  name: Name,
  value: Option.Option<A>
): { readonly [_ in Name]?: A } => Option.isSome(value) ? { [name]: value.value } as { [_ in Name]: A } : {}

/**
 * A page of a list: a table for people, the whole page with `--json`. `cursorOf`: what names an item in `--after`, its
 * id if not said.
 */
export const answerList = <A extends Readonly<Record<string, unknown>> | { readonly id: string }>(
  page: { readonly data: ReadonlyArray<A>; readonly has_more: boolean },
  columns: Readonly<Record<string, (item: A) => unknown>>,
  cursorOf: (item: A) => unknown = (item) => (item as { readonly id?: unknown }).id
) =>
  Effect.gen(function*() {
    const rows = page.data.map((item) => Object.values(columns).map((valueOf) => valueOf(item)))
    yield* answer(page, (paint) => rows.length === 0 ? "none" : table(Object.keys(columns), rows, paint))
    const last = page.data.at(-1)
    if (page.has_more && last !== undefined) yield* say(`there are more: --after ${printable(cursorOf(last))}`)
  })
