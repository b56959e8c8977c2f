/**
 * Goal: the dashboard says the same in every language, and a person gets the language they asked for. Method: pure;
 * catalogues are compared text by text with the English one, whose type holds them complete.
 */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { languages, textsFor } from "../../../modules/dashboard/pages/Languages.ts"
import { explain, messageOf } from "../../../modules/dashboard/pages/Refusal.ts"
import type { Texts } from "../../../modules/dashboard/pages/Texts.ts"
import { languages as payorLanguages } from "../../../modules/checkout/pages/Languages.ts"
import { moment } from "../../../runtime/pages/Amounts.ts"
import { errorCodes, publicError } from "../../../schemas/Errors.ts"
import { isTimeZone, Language } from "../../../schemas/Languages.ts"

const { en } = languages
const all = Object.values(languages)
const others = all.filter((texts) => texts !== en)

type Say = (...args: ReadonlyArray<unknown>) => string

/** What a catalogue says of itself, and what English does not need. */
const ofItself: ReadonlySet<string> = new Set(["direction", "language", "locale", "refusals"])

/** Every text by its path, such as `payments.story.worth`, but for what a catalogue says of itself. */
const textsOf = (texts: Texts): ReadonlyMap<string, string | Say> => {
  const found = new Map<string, string | Say>()
  const walk = (node: object, path: string): void => {
    for (const [name, value] of Object.entries(node)) {
      const at = path === "" ? name : `${path}.${name}`
      if (ofItself.has(at)) continue
      if (typeof value === "object") walk(value, at)
      else found.set(at, value)
    }
  }
  walk(texts, "")
  return found
}

/** Calls of functions whose arguments are no names: counts, and whether there are more. */
const calls: Readonly<Record<string, ReadonlyArray<ReadonlyArray<unknown>>>> = {
  "states.confirming": [[3, 12]],
  "overview.payments": [[11]],
  "overview.ofAll": [[3, 12]],
  "overview.medianSeconds": [[40]],
  "links.paidOf": [[3, null], [3, 12]],
  "periods.differences": [[11, false], [11, true]],
  "batches.approvalsOf": [[1, 2]],
  "webhooks.attempt": [[4]],
  "signing.part": [[2, 5]],
  "simulator.hours": [[11]]
}

const markers = ["«first»", "«second»", "«third»"] as const

/** The texts that a page may show, functions called with numbers or markers. */
const shown = (path: string, value: string | Say): ReadonlyArray<string> =>
  typeof value === "string"
    ? [value]
    : (calls[path] ?? [markers.slice(0, value.length)]).map((args) => value(...args))

const english = textsOf(en)

/** What a typesetter of each language never sets. */
const faults: Readonly<Record<string, RegExp>> = {
  en: /\s[.,:;!?]/,
  es: /\s[.,:;!?]|(?<!¿[^?]*)\?|(?<!¡[^!]*)!|[¿¡](?![^?!]*[?!])/,
  de: /\s[.,:;!?]/,
  // A narrow no-break space before the high ones, and no other kind.
  fr: /\s[.,]|(?<!\u202F)[:;!?]|\u00A0/,
  "pt-BR": /\s[.,:;!?]/,
  ja: /[,:;!?()]|\.(?!\d)|\s[、。：；！？（）]|[、。：；！？（）]\s/,
  "zh-Hans": /[,:;!?()]|\.(?!\d)|\s[，、。：；！？（）]|[，、。：；！？（）]\s/,
  ar: /\s[.:،؛؟!]|[,;?]/
}

/** Words that a payor or a merchant takes for something else: see the payment page's test. */
const misunderstood: Readonly<Record<string, RegExp>> = {
  es: /cancel|venc/i,
  "pt-BR": /venc/i,
  de: /Überweisung/,
  "zh-Hans": /逾期|发票/
}

/** Texts that are the same in both languages: names, and words that a language has taken over. */
const same: Readonly<Record<string, ReadonlyArray<string>>> = {
  all: [
    "exports.kinds.koinly",
    "settings.families.cardano",
    "settings.families.solana",
    "settings.families.sui",
    "settings.families.ton"
  ],
  ar: [],
  de: [
    "account.methods.link",
    "account.methods.passkey",
    "account.methods.wallet",
    "account.name",
    "account.passkeys",
    "account.wallets",
    "audit.hash",
    "balances.asset",
    "domain.name",
    "exports.kinds.journal",
    "fields.token",
    "keys.name",
    "links.link",
    "live",
    "periods.hash",
    "sections.limits",
    "sections.team",
    "sections.wallets",
    "sections.webhooks",
    "signing.form",
    "signing.formats.safe",
    "team.name",
    "test"
  ],
  es: [
    "audit.hash",
    "balances.asset",
    "fields.token",
    "periods.hash",
    "sections.tokens",
    "sections.webhooks",
    "signing.formats.safe",
    "webhooks.error"
  ],
  fr: [
    "balances.type",
    "events.type",
    "fields.note",
    "fields.transaction",
    "links.description",
    "links.dollars",
    "lists.pages",
    "menu",
    "payments.dollars",
    "refunds.dollars",
    "sections.webhooks",
    "signing.formats.safe",
    "team.invitations",
    "test",
    "webhooks.description"
  ],
  ja: [],
  "pt-BR": [
    "account.methods.link",
    "audit.hash",
    "balances.asset",
    "fields.token",
    "links.link",
    "menu",
    "periods.hash",
    "sections.tokens",
    "sections.webhooks",
    "signIn.email",
    "signing.formats.safe",
    "team.email"
  ],
  "zh-Hans": []
}

/** What the script of a page fills in. */
const placeholdersOf = (text: string): ReadonlyArray<string> => (text.match(/\{\w+\}/g) ?? []).toSorted()

describe("the languages of the dashboard", () => {
  it("are those of the payment page, each named in itself, with its direction", () => {
    assert.deepStrictEqual(Object.keys(languages), [...Language.literals])
    for (const [tag, { direction, language, locale }] of Object.entries(languages)) {
      const payor = payorLanguages.find((texts) => texts.locale === tag)
      assert.deepStrictEqual({ locale, direction, language }, {
        locale: tag,
        direction: payor?.direction,
        language: payor?.language
      })
    }
  })

  for (const texts of all) {
    const { locale } = texts
    const own = textsOf(texts)

    it(`${locale}: no text is empty, padded, or has HTML in it; each is set as the language is`, () => {
      assert.deepStrictEqual([...own.keys()].toSorted(), [...english.keys()].toSorted())
      for (const [path, value] of own) {
        for (const [index, text] of shown(path, value).entries()) {
          const where = `${path}: ${text}`
          assert.match(text, /^\S(.*\S)?$/s, where)
          assert.notMatch(text, /[<>&`]|\.\.|\s\s|'$/, where)
          assert.notMatch(text, faults[locale]!, where)
          assert.notMatch(text, misunderstood[locale] ?? /^$/, where)
          // A name may be of any script: no letter, and so no article or particle, is joined to it.
          assert.notMatch(text, /\p{L}«|»\p{L}/u, where)
          assert.strictEqual(/[.。]$/.test(text), shown(path, english.get(path)!)[index]!.endsWith("."), where)
        }
      }
    })

    it(`${locale}: every argument and placeholder is shown as often as in English`, () => {
      for (const [path, original] of english) {
        const value = own.get(path)!
        assert.strictEqual(typeof value, typeof original, path)
        for (const [index, text] of shown(path, value).entries()) {
          const model = shown(path, original)[index]!
          assert.deepStrictEqual(placeholdersOf(text), placeholdersOf(model), path)
          if (typeof original === "string") continue
          for (const argument of (calls[path]?.[index] ?? markers.slice(0, original.length)).map(String)) {
            const times = (said: string) => said.match(new RegExp(`(?<!\\d)${argument}(?!\\d)`, "g"))?.length ?? 0
            assert.strictEqual(times(text), times(model), `${path}: ${text}`)
          }
        }
      }
    })

    it(`${locale}: counts by every form that the language has`, () => {
      const rules = new Intl.PluralRules(locale)
      const counts = [...Array(201).keys(), 1_000_000]
      for (const say of [texts.overview.payments, (count: number) => texts.periods.differences(count, false)]) {
        const forms = new Map<string, Set<string>>()
        for (const count of counts) {
          const rule = rules.select(count)
          const form = say(count).replace(/\d+(?:[\s.,]\d+)*/, "#")
          forms.set(rule, (forms.get(rule) ?? new Set()).add(form))
        }
        assert.deepStrictEqual([...forms.keys()].toSorted(), [...rules.resolvedOptions().pluralCategories].toSorted())
        for (const [rule, said] of forms) {
          assert.strictEqual(said.size, 1, `${rule}: ${[...said].join(" / ")}`)
        }
      }
    })
  }

  it("leave no text in English but names, and words that are the same", () => {
    for (const texts of others) {
      const { locale } = texts
      const own = textsOf(texts)
      const left = [...english].filter(([path, value]) =>
        shown(path, value).every((text, index) =>
          /\p{L}{2}/u.test(text.replaceAll(/«\w+»|\{\w+\}/g, "")) && text === shown(path, own.get(path)!)[index]
        )
      ).map(([path]) => path)
      assert.deepStrictEqual(left.toSorted(), [...same["all"]!, ...same[locale]!].toSorted(), locale)
    }
  })

  it("say what a refusal means, and leave what the API says of it in English", () => {
    const meanings = Object.keys(others[0]!.refusals!)
    for (const texts of others) {
      assert.deepStrictEqual(Object.keys(texts.refusals!), meanings)
      assert.strictEqual(new Set(Object.values(texts.refusals!)).size, meanings.length)
      for (const text of Object.values(texts.refusals!)) {
        assert.notMatch(text, faults[texts.locale]!)
        assert.match(text, /[.。]$/)
      }
      for (const code of errorCodes) {
        const said = String(explain(texts, publicError(code)))
        assert.match(said, /^[^<]+<br><bdi lang="en" dir="ltr">/, `${texts.locale} ${code}`)
      }
      // What the dashboard says itself is in the language already.
      const own = publicError("VALIDATION_ERROR", { message: texts.faults.dollars, param: "amount_usd" })
      assert.strictEqual(explain(texts, own), texts.faults.dollars)
      assert.strictEqual(messageOf(texts, own), texts.faults.dollars)
    }
    assert.strictEqual(explain(en, publicError("NOT_FOUND")), "No such resource")
  })
})

describe("somebody", () => {
  it("gets the language they chose, else the browser's, else English", () => {
    const table: ReadonlyArray<readonly [Language | null, string | undefined, Language]> = [
      ["ar", "de", "ar"],
      ["en", "de", "en"],
      [null, "de-AT,de;q=0.9,en;q=0.8", "de"],
      [null, "pt", "pt-BR"],
      [null, "zh-CN", "zh-Hans"],
      [null, "tlh, fr;q=0.2", "fr"],
      [null, "tlh", "en"],
      [null, "<script>", "en"],
      [null, undefined, "en"]
    ]
    for (const [chosen, browser, expected] of table) {
      assert.strictEqual(textsFor(chosen, browser).locale, expected, `${chosen} ${browser}`)
    }
  })

  it("sees times in a time zone that is named, in summer and in winter", () => {
    const [winter, summer] = [1_766_320_500, 1_782_045_300]
    assert.strictEqual(moment("de", winter, "Europe/Berlin"), "21.12.2025, 13:35 MEZ")
    assert.strictEqual(moment("de", summer, "Europe/Berlin"), "21.06.2026, 14:35 MESZ")
    assert.strictEqual(moment("de", winter), "21.12.2025, 12:35 UTC")
    assert.strictEqual(moment("ja", winter, "Asia/Tokyo"), "2025/12/21 21:35 JST")
    // More zones than are kept at once, each right when it comes again.
    for (const zone of Intl.supportedValuesOf("timeZone")) {
      assert.isTrue(isTimeZone(zone), zone)
      assert.match(moment("en", winter, zone), /^Dec 2[012], 2025, \d+:\d\d\s[AP]M \S+$/u, zone)
    }
    assert.strictEqual(moment("de", winter, "Europe/Berlin"), "21.12.2025, 13:35 MEZ")
  })
})

describe("the stylesheet of the dashboard", () => {
  it("names no side by left and right: pages run from right to left too", () => {
    const css = readFileSync(new URL("../../../modules/dashboard/style.css", import.meta.url), "utf8")
    const physical = [
      /[;{\s-](?:left|right)\s*:/,
      /text-align:(?:left|right)/,
      /[;{](?:float|clear):/,
      // Four values name the sides: the second and the fourth must be the same.
      /(?:margin|padding|inset|border-width):[^\s;]+ ([^\s;]+) [^\s;]+ (?!\1[;}])[^\s;}]+[;}]/
    ]
    for (const rule of physical) assert.isNull(rule.exec(css), rule.exec(css)?.[0])
  })
})
