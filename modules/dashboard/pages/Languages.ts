/** The languages of the dashboard, and which one somebody gets. */
import { acceptLanguage, makeNegotiate } from "../../../runtime/pages/Languages.ts"
import type { Language } from "../../../schemas/Languages.ts"
import type { Texts } from "./Texts.ts"
import { ar } from "./texts/ar.ts"
import { de } from "./texts/de.ts"
import { en } from "./texts/en.ts"
import { es } from "./texts/es.ts"
import { fr } from "./texts/fr.ts"
import { ja } from "./texts/ja.ts"
import { ptBR } from "./texts/pt-BR.ts"
import { zhHans } from "./texts/zh-Hans.ts"

/** In the order in which they are offered. */
export const languages: Readonly<Record<Language, Texts>> = { en, es, de, fr, "pt-BR": ptBR, ja, "zh-Hans": zhHans, ar }

const negotiate = makeNegotiate(Object.values(languages))

/** Who asks for a page: what the person chose, null where nobody has or is signed in, and the browser's `Accept-Language`. */
export const textsFor = (chosen: Language | null, browser: string | undefined): Texts =>
  chosen === null ? negotiate(browser === undefined ? [] : acceptLanguage(browser)) ?? en : languages[chosen]
