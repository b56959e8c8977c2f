/** The public pages of payment links as HTML: the page, what stands in its place, and the poster. */
export { linkPage, type LinkView, refusalPage } from "./pages/LinkPage.ts"
export { type PaperSize, poster, posterStyles, readPaperSize } from "./pages/Poster.ts"
export { linkTextsOf } from "./pages/Texts.ts"
