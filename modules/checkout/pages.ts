/** The payment page as HTML: what the handlers send. Pure; its parts are in `pages/`. */
import type { View } from "./rules.ts"
import { renderScreen } from "./pages/Screens.ts"
import type { Texts } from "./pages/Texts.ts"

export { accentCss } from "./pages/Accent.ts"
export { renderErrorPage } from "./pages/ErrorPage.ts"
export { type Assets, page } from "./pages/Page.ts"
export { css } from "./pages/Style.ts"
export type { Texts } from "./pages/Texts.ts"

/** What stands inside `#state`: the answer of `GET {base}/pay/:id/state`. */
export const fragment = (view: View, texts: Texts): string => renderScreen(view, texts).fragment.toString()
