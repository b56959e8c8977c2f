/** The payment page as HTML: what the handlers send. Pure; its parts are in `pages/`. */
export { en } from "./pages/texts/en.ts"
