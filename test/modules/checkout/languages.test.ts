/**
 * Goal: the payment page says the same in every language, and a payor gets the language they asked for.
 * Method: pure; catalogues are compared key by key with the English one, whose type holds them complete.
 */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { languages, negotiate } from "../../../modules/checkout/pages/Languages.ts"
import { joinSentences, type Texts } from "../../../modules/checkout/pages/Texts.ts"
import { ar } from "../../../modules/checkout/pages/texts/ar.ts"
import { en } from "../../../modules/checkout/pages/texts/en.ts"
import { ja } from "../../../modules/checkout/pages/texts/ja.ts"
import { acceptLanguage } from "../../../runtime/pages/Languages.ts"

type Key = keyof Texts

const keys = Object.keys(en) as ReadonlyArray<Key>
const others = languages.filter((texts) => texts !== en)

/** Counts and not names: the plural forms, and `3 of 12`. */
const counted: ReadonlySet<Key> = new Set<Key>([
  "found",
  "networks",
  "aboutSeconds",
  "aboutMinutes",
  "minutesLeft",
  "confirmations"
])

const markers = [[11, 37], ["«first»", "«second»", "«third»"]] as const

const argumentsOf = (key: Key, value: { readonly length: number }): ReadonlyArray<number | string> =>
  (counted.has(key) ? markers[0] : markers[1]).slice(0, value.length)

/** The text as the page shows it, functions called with markers. */
const shown = (texts: Texts, key: Key): string => {
  const value = texts[key]
  return typeof value === "string"
    ? value
    : (value as (...args: ReadonlyArray<number | string>) => string)(...argumentsOf(key, value))
}

/** What a typesetter of each language never sets. */
const faults: Readonly<Record<string, RegExp>> = {
  en: /\s[.,:;!?]/,
  es: /\s[.,:;!?]|(?<!¿[^?]*)\?|(?<!¡[^!]*)!|[¿¡](?![^?!]*[?!])/,
  de: /\s[.,:;!?]/,
  // A narrow no-break space before the high ones, and no other kind.
  fr: /\s[.,]|(?<!\u202F)[:;!?]|\u00A0/,
  "pt-BR": /\s[.,:;!?]/,
  ja: /[.,:;!?()]|\s[、。：；！？（）]|[、。：；！？（）]\s/,
  "zh-Hans": /[.,:;!?()]|\s[，、。：；！？（）]|[，、。：；！？（）]\s/,
  ar: /\s[.:،؛؟!]|[,;?]/
}

/**
 * Words that say something else than is meant: in much of America an invoice that is "cancelada" is paid and one that
 * is "vencida" overdue; French "à" and "de" melt with the article of a merchant's name.
 */
const misunderstood: Readonly<Record<string, RegExp>> = {
  es: /cancel|venc/i,
  fr: /(?:^|\s)(?:à|de|que) «/,
  "pt-BR": /venc/i,
  de: /Überweisung/,
  "zh-Hans": /逾期|发票/
}

/** Words that are the same in both languages. */
const sameWords: Readonly<Record<string, ReadonlyArray<Key>>> = {
  de: ["memo"],
  es: ["memo", "total"],
  fr: ["transaction", "total"],
  "pt-BR": ["memo", "total"]
}

describe("catalogues", () => {
  for (const texts of languages) {
    const { locale } = texts

    it(`${locale} has every text, none empty, none padded, none with HTML in it`, () => {
      assert.deepStrictEqual(Object.keys(texts), [...keys])
      for (const key of keys) {
        const text = shown(texts, key)
        assert.match(text, /^\S(.*\S)?$/s, key)
        assert.notMatch(text, /[<>&"'`]|\.\.|\s\s/, key)
      }
    })

    it(`${locale} is set as the language is, and says nothing that is taken for something else`, () => {
      for (const key of keys) {
        if (key === "fullStop") continue
        const text = shown(texts, key)
        assert.notMatch(text, faults[locale]!, key)
        assert.notMatch(text, misunderstood[locale] ?? /^$/, key)
        // A name may be of any script: no letter, and so no article or particle, is joined to it.
        assert.notMatch(text, /\p{L}«|»\p{L}/u, key)
        assert.strictEqual(text.endsWith(texts.fullStop), shown(en, key).endsWith("."), `${key}: ${text}`)
      }
    })

    it(`${locale} shows every argument as often as English does`, () => {
      for (const key of keys) {
        const [value, original] = [texts[key], en[key]]
        if (typeof original !== "function") assert.strictEqual(typeof value, "string", key)
        else {
          for (const argument of argumentsOf(key, original)) {
            const times = (text: string) => text.split(String(argument)).length - 1
            assert.isAbove(times(shown(en, key)), 0, key)
            assert.strictEqual(times(shown(texts, key)), times(shown(en, key)), key)
          }
        }
      }
    })

    it(`${locale} names its language and direction as Unicode does`, () => {
      const named = new Intl.DisplayNames([locale], { type: "language" }).of(locale)
      assert.strictEqual(texts.language.toLowerCase(), named?.toLowerCase())
      assert.strictEqual(texts.direction, locale === "ar" ? "rtl" : "ltr")
      assert.deepStrictEqual(Intl.getCanonicalLocales(locale), [locale])
    })
  }

  it("leave no text in English but words that are the same", () => {
    for (const texts of others) {
      const same = keys.filter((key) =>
        shown(texts, key) === shown(en, key) && key !== "direction" && key !== "fullStop"
      )
      assert.deepStrictEqual(same.toSorted(), [...sameWords[texts.locale] ?? []].toSorted(), texts.locale)
    }
  })

  it("count in English and Arabic by every form these have", () => {
    const counts = [0, 1, 2, 3, 11, 100]
    assert.deepStrictEqual(counts.map(en.found), [
      "0 currencies",
      "1 currency",
      "2 currencies",
      "3 currencies",
      "11 currencies",
      "100 currencies"
    ])
    assert.deepStrictEqual(counts.map(ar.found), [
      "لا توجد عملات",
      "عملة واحدة",
      "عملتان",
      "3 عملات",
      "11 عملة",
      "100 عملة"
    ])
    assert.deepStrictEqual(counts.map(ar.minutesLeft), [
      "السعر ثابت لأقل من دقيقة",
      "السعر ثابت لدقيقة واحدة أخرى",
      "السعر ثابت لدقيقتين أخريين",
      "السعر ثابت لمدة 3 دقائق أخرى",
      "السعر ثابت لمدة 11 دقيقة أخرى",
      "السعر ثابت لمدة 100 دقيقة أخرى"
    ])
  })

  it("put sentences after one another as the language does, with a stop after a heading", () => {
    assert.strictEqual(joinSentences(en, "Too late", "Why?", "Do not."), "Too late. Why? Do not.")
    assert.strictEqual(joinSentences(ja, "期限切れ", "送金しないでください。"), "期限切れ。送金しないでください。")
    assert.strictEqual(joinSentences(ar, "إلى أين؟", "هنا"), "إلى أين؟ هنا.")
  })

  it("give every plural category of their language a form of its own", () => {
    const numbers = [...Array(201).keys(), 1_000_000]
    for (const { found, locale, minutesLeft, networks } of languages) {
      const rules = new Intl.PluralRules(locale)
      for (const text of [found, networks, minutesLeft]) {
        const forms = new Set(
          numbers.map((number) => `${rules.select(number)} ${text(number).replace(/\d+(?:[\s.,]\d+)*/, "#")}`)
        )
        assert.deepStrictEqual(
          [...new Set([...forms].map((form) => form.split(" ")[0]))].toSorted(),
          [...rules.resolvedOptions().pluralCategories].toSorted(),
          locale
        )
        // Arabic counts 11 and 100 with the same word, in both sentences.
        const shared = locale === "ar" ? 1 : 0
        assert.strictEqual(
          new Set([...forms].map((form) => form.slice(form.indexOf(" ")))).size,
          forms.size - shared,
          locale
        )
      }
    }
  })
})

describe("negotiation", () => {
  const table: ReadonlyArray<readonly [ReadonlyArray<string>, string | null]> = [
    [["en"], "en"],
    [["EN-us"], "en"],
    [["de-AT"], "de"],
    [["de-Latn-CH-1996"], "de"],
    [["fr-CA", "en"], "fr"],
    [["es-419"], "es"],
    [["pt"], "pt-BR"],
    [["pt-PT"], "pt-BR"],
    [["pt-br"], "pt-BR"],
    [["ar-EG"], "ar"],
    [["ja-JP"], "ja"],
    [["zh"], "zh-Hans"],
    [["zh-CN"], "zh-Hans"],
    [["zh-Hans-CN"], "zh-Hans"],
    [["zh-SG"], "zh-Hans"],
    [["zh-Hans-HK", "en"], "zh-Hans"],
    [["zh-TW"], "zh-Hans"],
    [["zh-Hant", "fi"], "zh-Hans"],
    [["zh-TW", "en"], "en"],
    [["zh-HK", "zh-TW", "ja"], "ja"],
    [["zh-Hant-TW", "zh-CN"], "zh-Hans"],
    [["fi", "sv", "de"], "de"],
    [["fi"], null],
    [[], null],
    [["*"], null],
    [["", "x", "x-de", "i-klingon", "deutsch", "de_AT", "../de", "d\u0435"], null],
    [[`de-${"a".repeat(40)}`, `de${"-aaaa".repeat(7)}`], null],
    [["constructor", "__proto__", "toString"], null]
  ]

  for (const [wanted, expected] of table) {
    it(`of ${JSON.stringify(wanted).slice(0, 70)} is ${expected}`, () => {
      assert.strictEqual(negotiate(wanted)?.locale ?? null, expected)
    })
  }

  it("reads a header by its weights, in their order where these are the same", () => {
    const headers: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
      ["de-AT,de;q=0.9,en;q=0.8", ["de-AT", "de", "en"]],
      ["en;q=0.1, fr ; q=0.5 ,ja", ["ja", "fr", "en"]],
      ["en;q=0, de;q=0.000, fr;q=0.001", ["fr"]],
      ["en,,de, ,;q=1", ["en", "de"]],
      ["en;q=2, de;q=-1, fr;q=x, es;level=1, ja;q=1.000", ["ja"]],
      ["*, de;q=0.5", ["de"]],
      ["", []]
    ]
    for (const [header, tags] of headers) assert.deepStrictEqual(acceptLanguage(header), tags, header)
  })

  it("reads no more of a header than 20 entries and 500 characters, and no entry that the limit cuts", () => {
    assert.lengthOf(acceptLanguage(Array(100).fill("de").join(",")), 20)
    const filler = "a".repeat(493)
    assert.deepStrictEqual(acceptLanguage(`${filler},en-GB`), [filler, "en-GB"])
    assert.deepStrictEqual(acceptLanguage(`${filler},en-GBX`), [filler, "en-GBX"])
    assert.deepStrictEqual(acceptLanguage(`${filler},en-GBXY`), [filler])
    assert.deepStrictEqual(acceptLanguage(`${filler},en-GBX,de`), [filler, "en-GBX"])
    assert.deepStrictEqual(acceptLanguage("a".repeat(1_000_000)), [])
  })

  it.prop("never fails, whatever a header says", [Schema.Array(Schema.Union([
    Schema.String,
    Schema.Literals(["de", "zh-TW", ",", ";q=", "0.5", "1", "-", "*", " "])
  ]))], ([parts]) => {
    const tags = acceptLanguage(parts.join(""))
    assert.isAtMost(tags.length, 20)
    const chosen = negotiate(tags)
    assert.isTrue(chosen === null || languages.includes(chosen))
    assert.strictEqual(negotiate(parts) === null, !parts.some((part) => negotiate([part]) !== null))
  })
})
