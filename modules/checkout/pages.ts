/** The payment page as HTML: what the handlers send. Pure; its parts are in `pages/`. */
import type { View } from "./machine.ts"
import { type Problem, problemFragment as drawProblem } from "./pages/Page.ts"
import { draw } from "./pages/Screens.ts"
import type { Texts } from "./pages/Texts.ts"

export { accentCss } from "./pages/Accent.ts"
export { type Assets, page, type Problem, problemPage } from "./pages/Page.ts"
export { css } from "./pages/Style.ts"
export type { Texts } from "./pages/Texts.ts"
export { en } from "./pages/texts/en.ts"

/** What stands inside `#state`: the answer of `GET {base}/pay/:id/state`. */
export const fragment = (view: View, texts: Texts): string => draw(view, texts).fragment.toString()

/** What stands there in place of a payment. */
export const problemFragment = (kind: Problem, texts: Texts, retry: string | null = null): string =>
  drawProblem(kind, texts, retry).toString()
