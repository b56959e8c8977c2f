/**
 * A page as somebody reads it: tables, pairs and amounts, out of the HTML and by nothing of the code that wrote it.
 * Amounts are whole numbers of a fixed part of a dollar or a token, so that no digit is lost.
 */

/** An element, or a text where `name` is empty. */
export interface Node {
  readonly name: string
  readonly attributes: ReadonlyMap<string, string>
  readonly children: Array<Node>
  readonly text: string
}

const voidElements: ReadonlySet<string> = new Set(["input", "br", "link", "meta", "img", "hr", "wbr"])

const named: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: "\"", apos: "'", nbsp: "\u00A0" }

const decoded = (text: string): string =>
  text.replaceAll(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, (whole, decimal, hex, name) =>
    decimal !== undefined
      ? String.fromCodePoint(Number.parseInt(decimal, 10))
      : hex !== undefined
      ? String.fromCodePoint(Number.parseInt(hex, 16))
      : named[name] ?? whole)

/** A comment, a declaration, a tag with its attributes, or a text. */
const tokenPattern = /<!--[\s\S]*?-->|<![^>]*>|<(\/?)([a-z][\w-]*)((?:[^>"']|"[^"]*"|'[^']*')*)>|[^<]+|</gi

const attributePattern = /([^\s"'=<>/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g

const elementOf = (name: string, attributes = ""): Node => ({
  name,
  attributes: new Map(
    [...attributes.matchAll(attributePattern)].map(([, key, double, single, bare]) =>
      [key!.toLowerCase(), decoded(double ?? single ?? bare ?? "")] as const
    )
  ),
  children: [],
  text: ""
})

/** Reads a page. An end that fits no open element is a fault of the page, and thrown. */
export const readHtml = (html: string): Node => {
  const root = elementOf("#page")
  const open = [root]
  for (const [token, closing, tag, attributes] of html.matchAll(tokenPattern)) {
    const parent = open.at(-1)!
    if (tag === undefined) {
      if (!token.startsWith("<!")) parent.children.push({ ...elementOf(""), text: decoded(token) })
      continue
    }
    const name = tag.toLowerCase()
    if (closing === "/") {
      if (parent.name !== name) throw new Error(`</${name}> ends <${parent.name}>`)
      open.pop()
      continue
    }
    const element = elementOf(name, attributes)
    parent.children.push(element)
    if (!voidElements.has(name) && !attributes!.endsWith("/")) open.push(element)
  }
  if (open.length > 1) throw new Error(`<${open.at(-1)!.name}> does not end`)
  return root
}

/** Every element below that fits, in the order of the page. */
export const findAll = (node: Node, fits: (node: Node) => boolean): ReadonlyArray<Node> =>
  node.children.flatMap((child) => [...(fits(child) ? [child] : []), ...findAll(child, fits)])

export const byName = (name: string) => (node: Node): boolean => node.name === name

export const textOf = (node: Node): string => {
  const inner = (each: Node): string => each.text + each.children.map(inner).join("")
  return inner(node).replaceAll(/[\u2066-\u2069]/g, "").replaceAll(/\s+/g, " ").trim()
}

/** A row by the titles of its columns. */
export type ScreenRow = ReadonlyMap<string, string>

const rowsOfTable = (table: Node): ReadonlyArray<ScreenRow> => {
  const [head, body] = ["thead", "tbody"].map((name) => findAll(table, byName(name))[0]!)
  const cells = (row: Node) => row.children.filter(({ name }) => name === "td" || name === "th").map(textOf)
  const titles = cells(findAll(head!, byName("tr"))[0]!)
  return findAll(body!, byName("tr")).map((row) => new Map(cells(row).map((cell, place) => [titles[place]!, cell])))
}

/** The rows of the table with this label; none where there is no such table. */
export const rowsOf = (page: Node, label: string): ReadonlyArray<ScreenRow> =>
  findAll(page, (node) => node.attributes.get("role") === "region" && node.attributes.get("aria-label") === label)
    .flatMap((region) => findAll(region, byName("table")).flatMap(rowsOfTable))

/** The pairs of a page, in their order: a name may stand there more than once. */
export const pairsOf = (page: Node): ReadonlyArray<readonly [string, string]> =>
  findAll(page, byName("dl")).flatMap((list) =>
    findAll(list, byName("dt")).map((name, place) =>
      [textOf(name), textOf(findAll(list, byName("dd"))[place]!)] as const
    )
  )

export const pairOf = (page: Node, name: string): string | undefined =>
  pairsOf(page).find(([each]) => each === name)?.[1]

/** Digits after the point that an amount of a token has at most. */
const tokenPlaces = 24

const partsOf = (text: string, places: number): bigint => {
  const [, sign, whole, fraction = ""] = /^(-?)\$?(\d[\d,]*)(?:\.(\d+))?$/.exec(text) ?? []
  if (whole === undefined || fraction.length > places) throw new Error(`"${text}" is no amount`)
  return BigInt(`${sign}${whole.replaceAll(",", "")}${fraction.padEnd(places, "0")}`)
}

/** Thousandths of a dollar of "$1,234.50". */
export const dollarParts = (text: string): bigint => partsOf(text, 3)

/** An amount of a token in its smallest parts, and the token's symbol: "1,234.50 USDC". */
export const tokenParts = (text: string): { readonly parts: bigint; readonly symbol: string } => {
  const [amount = "", ...symbol] = text.split(" ")
  return { parts: partsOf(amount, tokenPlaces), symbol: symbol.join(" ") }
}

export const sumOf = (parts: Iterable<bigint>): bigint => [...parts].reduce((sum, each) => sum + each, 0n)
