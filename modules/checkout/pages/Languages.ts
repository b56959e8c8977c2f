/** The languages of the payment page, and which one a payor gets. */
import { negotiateLanguage } from "../../../schemas/Language.ts"
import type { Texts } from "./Texts.ts"
import { ar } from "./texts/ar.ts"
import { de } from "./texts/de.ts"
import { en } from "./texts/en.ts"
import { es } from "./texts/es.ts"
import { fr } from "./texts/fr.ts"
import { ja } from "./texts/ja.ts"
import { ptBR } from "./texts/pt-BR.ts"
import { zhHans } from "./texts/zh-Hans.ts"

/** Every catalogue, in the order of the choice of languages. A catalogue's tag is its `locale`. */
export const languages: ReadonlyArray<Texts> = [en, es, de, fr, ptBR, ja, zhHans, ar]

const byTag = new Map(languages.map((texts) => [texts.locale, texts]))

/** The catalogue of the language that the preferences come to, best first; null: none has one. */
export const negotiate = (preferences: ReadonlyArray<string>): Texts | null => {
  const tag = negotiateLanguage(preferences)
  return tag === null ? null : byTag.get(tag) ?? null
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
