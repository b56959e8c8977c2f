/** The languages of the payment page, and which one a payor gets. */
import { makeNegotiate } from "../../../runtime/pages/Languages.ts"
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

export const negotiate = makeNegotiate(languages)
