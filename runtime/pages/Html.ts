/**
 * HTML by tagged templates that escape. What a template was written with is markup; everything put into it is text,
 * unless it is markup that another template made. Nothing else makes markup: its class stays in this file.
 */
import { networkFamilies } from "../../schemas/Network.ts"
import { isLocalPage } from "../../schemas/Web.ts"

/** Finished markup. Only this file's functions make it. */
class Markup {
  readonly #text: string
  constructor(text: string) {
    this.#text = text
  }
  static is(value: unknown): value is Markup {
    return typeof value === "object" && value !== null && #text in value
  }
  toString(): string {
    return this.#text
  }
}
export type Html = Markup

/** An address that may stand in a link; made by one of the functions below for its kind. */
class Address {
  readonly #text: string
  constructor(text: string) {
    this.#text = text
  }
  static is(value: unknown): value is Address {
    return typeof value === "object" && value !== null && #text in value
  }
  toString(): string {
    return this.#text
  }
}
export type Url = Address

/** What may be put into a template; null, false and undefined are nothing. */
export type Content = string | number | Html | Url | null | undefined | false | ReadonlyArray<Content>

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  "\"": "&quot;",
  "'": "&#39;"
}

/** Text as it stands in content and in a quoted attribute. A NUL has no place in HTML. */
const escape = (text: string): string =>
  /[&<>"'\0]/.test(text) ? text.replace(/[&<>"'\0]/g, (character) => escapes[character] ?? "\uFFFD") : text

const asText = (value: Content): string =>
  typeof value === "string"
    ? escape(value)
    : value === null || value === undefined || value === false
    ? ""
    : typeof value === "number"
    ? String(value)
    : Markup.is(value)
    ? value.toString()
    : Address.is(value)
    ? escape(value.toString())
    : value.map(asText).join("")

/**
 * Where a value stands: `content` between tags, `address` the start of an attribute that leads somewhere, `quoted` any
 * other place within quotes.
 */
type Place = "content" | "tag" | "quoted" | "address"

const addressAttributes: ReadonlySet<string> = new Set(["href", "src", "action", "formaction", "data-state", "data-ws"])

/** Attributes that a page under its Content-Security-Policy cannot have. */
const forbiddenAttributes = /\s(?:style|on[a-z]+)\s*=/i

/** A template that was looked through once. */
interface Template {
  /** Its parts without the breaks that lay them out. */
  readonly parts: ReadonlyArray<string>
  /** Where the value after each part stands. */
  readonly places: ReadonlyArray<Place>
}

/**
 * Reads a template once for all its uses: where each value stands, and what it is without its line breaks. Throws on a
 * template that no value can be put into safely: a bug of its author.
 */
const templateOf = (strings: ReadonlyArray<string>): Template => {
  const whole = strings.join("…")
  if (forbiddenAttributes.test(whole) || /<(?:script|style)\b[^>]*>[^<]/i.test(whole)) {
    throw new TypeError(`Script or style within a template: ${whole}`)
  }
  let place: Place = "content"
  let attribute = ""
  const places: Array<Place> = []
  const parts = strings.map((part) => {
    let text = ""
    if (place === "address") place = "quoted"
    for (let index = 0; index < part.length; index++) {
      const character = part[index]!
      if (character === "\n") {
        if (place === "quoted") throw new TypeError(`A break within quotes: ${part}`)
        while (part[index + 1] === " ") index++
        // An attribute's name needs its space; a value brings its own.
        if (place === "tag" && /[a-z]/.test(part[index + 1] ?? "")) text += " "
        continue
      }
      if (place === "quoted") {
        if (character === "\"") place = "tag"
      } else if (place === "tag") {
        if (character === ">") place = "content"
        else if (character === "\"") {
          place = "quoted"
          attribute = /([a-z-]+)=$/.exec(text)?.[1] ?? ""
        }
      } else if (character === "<") place = "tag"
      text += character
    }
    if (place === "tag" && /[=<]$/.test(text)) throw new TypeError(`A value without quotes: ${part}`)
    if (place === "quoted" && text.endsWith("\"") && addressAttributes.has(attribute)) place = "address"
    places.push(place)
    return text
  })
  return { parts, places }
}

const templates = new WeakMap<TemplateStringsArray, Template>()

/**
 * Markup of a template. Values are escaped as content and within double quotes, the only two places where text may
 * stand; inside a tag only {@link attribute} may, and at the start of `href` and its like only a {@link Url}. A
 * template that breaks this, or holds `style=`, a script or an event handler, throws when it is first used. A line
 * break and the spaces after it are nothing: they lay out the template, not the page.
 *
 * @example
 * html`<p>${"<b>"}</p>`.toString() // => "<p>&lt;b&gt;</p>"
 */
export const html = (strings: TemplateStringsArray, ...values: ReadonlyArray<Content>): Html => {
  let template = templates.get(strings)
  if (template === undefined) {
    template = templateOf(strings)
    templates.set(strings, template)
  }
  const { parts, places } = template
  let text = parts[0]!
  for (let index = 0; index < values.length; index++) {
    const value = values[index]
    const place = places[index]
    if (place === "address" && !Address.is(value)) throw new TypeError(`No address: ${parts[index]}`)
    const valueText = asText(value)
    if (place === "tag" && valueText !== "" && !(Markup.is(value) && valueText.startsWith(" "))) {
      throw new TypeError(`No attribute: ${parts[index]}`)
    }
    text += valueText + parts[index + 1]!
  }
  return new Markup(text)
}

/** ` name="value"` for the inside of a tag; true: the name alone; null and false: nothing. */
export const attribute = (name: string, value: string | number | boolean | null): Html => {
  if (!/^[a-z][a-z0-9-]*$/.test(name) || name === "style" || name.startsWith("on") || addressAttributes.has(name)) {
    throw new TypeError(`No attribute for text: ${name}`)
  }
  if (value === null || value === false) return new Markup("")
  return new Markup(value === true ? ` ${name}` : ` ${name}="${escape(String(value))}"`)
}

/** A `<style>` of our own text, which its hash allows. */
export const styleElement = (css: string): Html => {
  if (css.includes("<")) throw new TypeError("A stylesheet that could end its element")
  return new Markup(`<style>${css}</style>`)
}

/** An address of another site, https only; null: not one. */
export const webUrl = (text: string | null): Url | null => {
  if (text === null || !URL.canParse(text)) return null
  const { href, protocol } = new URL(text)
  return protocol === "https:" || isLocalPage(href) ? new Address(href) : null
}

/** A path of this origin. Throws on what could lead to another. */
export const pathUrl = (path: string): Url => {
  if (!/^\/(?![/\\])[^\s\\<>]*$/.test(path)) throw new TypeError(`Not a path: ${path}`)
  return new Address(path)
}

/** The websocket of this service. */
export const socketUrl = (text: string | null): Url | null =>
  text !== null && /^wss?:\/\/[^\s<>]+$/.test(text) ? new Address(text) : null

/** Writes an e-mail. What is no address with one `@` gives null. */
export const mailUrl = (address: string | null, subject: string): Url | null => {
  if (address === null || !/^[^\s@]+@[^\s@]+$/.test(address) || !address.isWellFormed()) return null
  const [local, host] = address.split("@").map(encodeURIComponent)
  return new Address(`mailto:${local}@${host}?subject=${encodeURIComponent(subject.toWellFormed())}`)
}

/** Links of the schemes that the drivers make for wallets. */
const walletLink = new RegExp(
  `^(?:${networkFamilies.map(({ paymentUriScheme }) => paymentUriScheme.replaceAll("+", "\\+")).join("|")}):[^\\s<>"]+$`
)

/** A link that opens a wallet; null: not of a scheme that a driver makes. */
export const walletUrl = (text: string | null): Url | null =>
  text !== null && walletLink.test(text) ? new Address(text) : null

/** A picture within the page itself: a page that asks another site for one tells it who pays. Null: not one. */
export const pictureUrl = (text: string | null): Url | null =>
  text !== null && /^data:image\/(?:png|jpeg|webp);base64,[A-Za-z0-9+/]*={0,2}$/.test(text) ? new Address(text) : null
