/** Which language a visitor of a page gets, and how a language counts. Pure. */
import { negotiateLanguage } from "../../schemas/Languages.ts"

/**
 * Chooses among the catalogues of all languages, whose tag is their `locale`, as `negotiateLanguage` does. Null: no
 * preference has one.
 *
 * @example
 * makeNegotiate(catalogues)(["zh-TW", "de-AT", "en"])?.locale // => "de"
 */
export const makeNegotiate = <Texts extends { readonly locale: string }>(
  catalogues: ReadonlyArray<Texts>
): (preferences: ReadonlyArray<string>) => Texts | null => {
  const byTag = new Map(catalogues.map((texts) => [texts.locale, texts]))
  return (preferences) => byTag.get(negotiateLanguage(preferences) ?? "") ?? null
}

/** Most of an `Accept-Language` that is read: browsers send some 50 characters. */
export const maximumLanguageHeader = { characters: 500, entries: 20 } as const

const entryPattern = /^([a-z0-9-]+)(?:;q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?))?$/i

/**
 * The tags of an `Accept-Language` (RFC 9110, 12.5.4), the most wanted first, those with `q=0` left out. Reads at most
 * 20 entries within 500 characters, and passes over entries that are malformed.
 *
 * @example
 * acceptLanguage("en;q=0.8, de-AT") // => ["de-AT", "en"]
 */
export const acceptLanguage = (header: string): ReadonlyArray<string> => {
  const { characters, entries } = maximumLanguageHeader
  // One character more, so that an entry the limit cuts is told from one that ends there.
  const parts = header.slice(0, characters + 1).split(",")
  const whole = header.length > characters ? parts.slice(0, -1) : parts
  return whole.slice(0, entries).flatMap((entry) => {
    const [, tag, q = "1"] = entryPattern.exec(entry.replaceAll(/[ \t]/g, "")) ?? []
    return tag === undefined || Number(q) === 0 ? [] : [{ tag, q: Number(q) }]
  }).toSorted((left, right) => right.q - left.q).map(({ tag }) => tag)
}

/** The form of `count` in a language: `other` where a language has no form of its own. */
export const plural = (
  locale: string,
  forms: Readonly<Partial<Record<Intl.LDMLPluralRule, string>> & { other: string }>
): (count: number) => string => {
  const rules = new Intl.PluralRules(locale)
  const numbers = new Intl.NumberFormat(locale, { numberingSystem: "latn" })
  return (count) => (forms[rules.select(count)] ?? forms.other).replace("#", numbers.format(count))
}
