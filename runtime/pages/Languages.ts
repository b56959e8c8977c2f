/** Which language a visitor of a page gets, and how a language counts. Pure. */

/** Longest language tag that is read (RFC 5646, 4.4.1). */
const maximumTagLength = 35

/** A well-formed tag begins so (RFC 5646, 2.1); what a header says beside tags (`*`, `i-klingon`) is none of ours. */
const tagPattern = /^[a-z]{2,3}(?:-[a-z0-9]{1,8})*$/

/** Where Chinese is written in traditional characters, unless the tag names a script (CLDR, likely subtags). */
const traditionalRegions: ReadonlySet<string> = new Set(["tw", "hk", "mo"])

const subtagsOf = (tag: string): ReadonlyArray<string> => {
  const lower = tag.length > maximumTagLength ? "" : tag.toLowerCase()
  return tagPattern.test(lower) ? lower.split("-") : []
}

/** Whether the tag asks for characters that its language's catalogue is not written in. */
const inOtherScript = ([language, ...rest]: ReadonlyArray<string>): boolean =>
  language === "zh" && !rest.includes("hans") &&
  (rest.includes("hant") || rest.some((subtag) => traditionalRegions.has(subtag)))

/**
 * Chooses among catalogues, whose tag is their `locale`: the one for the first tag that has one, best first. It is that
 * of the same tag, else of the same language (`de-AT` gives `de`, `pt` and `pt-PT` give `pt-BR`, `zh-CN` gives
 * `zh-Hans`). Traditional Chinese gives `zh-Hans` only where no other tag has a catalogue. Null: none has. Any text may
 * stand in `preferences`; what is no tag of at most 35 characters is passed over.
 *
 * @example
 * makeNegotiate(catalogues)(["zh-TW", "de-AT", "en"])?.locale // => "de"
 */
export const makeNegotiate = <Texts extends { readonly locale: string }>(
  catalogues: ReadonlyArray<Texts>
): (preferences: ReadonlyArray<string>) => Texts | null => {
  const byTag = new Map(catalogues.map((texts) => [texts.locale.toLowerCase(), texts]))
  const byLanguage = new Map(catalogues.map((texts) => [texts.locale.split("-")[0]!, texts]))
  const catalogueOf = (subtags: ReadonlyArray<string>) => byTag.get(subtags.join("-")) ?? byLanguage.get(subtags[0]!)
  return (preferences) => {
    const tags = preferences.map(subtagsOf).filter((subtags) => subtags.length > 0)
    const best = tags.find((subtags) => catalogueOf(subtags) !== undefined && !inOtherScript(subtags)) ??
      tags.find((subtags) => catalogueOf(subtags) !== undefined)
    return best === undefined ? null : catalogueOf(best) ?? null
  }
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
