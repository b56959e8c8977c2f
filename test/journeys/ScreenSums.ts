/**
 * Every sum that a page of the dashboard shows, added up once more from the rows on the screens: what a person with a
 * calculator would do. Nothing of the service's own rules is used.
 */
import { Effect } from "effect"
import { en } from "../../modules/dashboard/pages/texts/en.ts"
import {
  byName,
  dollarParts,
  findAll,
  type Node,
  pairOf,
  pairsOf,
  readHtml,
  rowsOf,
  type ScreenRow,
  sumOf,
  textOf,
  tokenParts
} from "../support/Screens.ts"
import type { TestResponse } from "../support/Service.ts"

/** What collects can move, as the API names each address of it: the page shows the sums only. */
interface Collectable {
  readonly network: string
  readonly symbol: string | null
  readonly sources: ReadonlyArray<{ readonly token_amount: string }>
}

/** All pages with sums or with rows of them; a list is all its pages. */
export interface Screens {
  readonly overview: Node
  readonly payments: ReadonlyArray<Node>
  readonly paid: ReadonlyArray<Node>
  readonly invoices: ReadonlyArray<Node>
  readonly todo: ReadonlyArray<Node>
  readonly links: ReadonlyArray<Node>
  /** By id. */
  readonly link: ReadonlyMap<string, Node>
  readonly batches: ReadonlyArray<Node>
  readonly batch: ReadonlyMap<string, Node>
  readonly balances: ReadonlyArray<Node>
  readonly periods: Node
  readonly collect: Node
  readonly collectable: ReadonlyArray<Collectable>
}

/** How a page is asked for: its path below the merchant's. */
type See = (path: string) => Effect.Effect<TestResponse>

const pageAt = (see: See, path: string): Effect.Effect<Node> =>
  Effect.flatMap(
    see(path),
    ({ status, text }) =>
      status === 200 ? Effect.sync(() => readHtml(text)) : Effect.die(new Error(`${path}: ${status} ${text}`))
  )

const linksOf = (page: Node): ReadonlyArray<Node> => findAll(page, byName("a"))

/** The pages of a list from its first one on, as somebody goes through them. */
const pagesOf = Effect.fnUntraced(function*(see: See, path: string) {
  const found = [yield* pageAt(see, path)]
  for (;;) {
    const next = linksOf(found.at(-1)!).find((link) => textOf(link) === en.lists.next)
    if (next === undefined) return found
    const address = next.attributes.get("href")!
    found.push(yield* pageAt(see, address.slice(address.indexOf("/devnet") + "/devnet".length)))
  }
})

/** The ids that links of a list lead to. */
const idsIn = (pages: ReadonlyArray<Node>, section: string): ReadonlyArray<string> => [
  ...new Set(
    pages.flatMap((page) => findAll(page, byName("tbody"))).flatMap(linksOf).flatMap((link) => {
      const [, id] = new RegExp(`/${section}/([\\w-]{20,})$`).exec(link.attributes.get("href") ?? "") ?? []
      return id === undefined ? [] : [id]
    })
  )
]

const eachOf = Effect.fnUntraced(function*(see: See, section: string, pages: ReadonlyArray<Node>) {
  const found = new Map<string, Node>()
  for (const id of idsIn(pages, section)) found.set(id, yield* pageAt(see, `/${section}/${id}`))
  return found
})

export const readScreens = Effect.fnUntraced(function*(see: See, collectable: Effect.Effect<Screens["collectable"]>) {
  const payments = yield* pagesOf(see, "/payments")
  const links = yield* pagesOf(see, "/links")
  const batches = yield* pagesOf(see, "/batches")
  const screens: Screens = {
    overview: yield* pageAt(see, ""),
    payments,
    paid: yield* pagesOf(see, "/payments?status=paid"),
    invoices: [...(yield* eachOf(see, "payments", payments)).values()],
    todo: yield* pagesOf(see, "/todo"),
    links,
    link: yield* eachOf(see, "links", links),
    batches,
    batch: yield* eachOf(see, "batches", batches),
    balances: yield* pagesOf(see, "/balances"),
    periods: yield* pageAt(see, `/periods?period=${new Date().toISOString().slice(0, 7)}`),
    collect: yield* pageAt(see, "/collect"),
    collectable: yield* collectable
  }
  return screens
})

const allRows = (pages: ReadonlyArray<Node>, label: string): ReadonlyArray<ScreenRow> =>
  pages.flatMap((page) => rowsOf(page, label))

const dollarsIn = (rows: ReadonlyArray<ScreenRow>, column: string): bigint =>
  sumOf(rows.map((row) => dollarParts(row.get(column)!)))

const sumsBy = (amounts: ReadonlyArray<readonly [string, bigint]>): ReadonlyMap<string, bigint> => {
  const sums = new Map<string, bigint>()
  for (const [name, amount] of amounts) sums.set(name, (sums.get(name) ?? 0n) + amount)
  return new Map([...sums].filter(([, sum]) => sum !== 0n).toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

const written = (value: unknown): string =>
  value instanceof Map ? [...value].map(([name, sum]) => `${name} ${sum}`).join(", ") : String(value)

/** What a screen says, and what its rows come to. */
type Claim = readonly [what: string, shown: unknown, counted: unknown]

const { balances: balanceWords, batches: batchWords, fields, links: linkWords, overview: overviewWords } = en

/** States of payments that count. */
const counts: ReadonlySet<string> = new Set([en.paymentStates.confirmed, en.paymentStates.underpaid])

const countedPayments = (invoices: ReadonlyArray<Node>): ReadonlyArray<ScreenRow> =>
  allRows(invoices, en.payments.ofInvoice).filter((row) => counts.has(row.get(fields.state)!))

const tileOf = (page: Node, title: string): readonly [value: string, text: string] => {
  const tile = findAll(page, ({ attributes }) => attributes.get("class") === "card tile").find((each) =>
    textOf(each.children[0]!) === title
  )!
  const [, value, text] = tile.children.filter(({ name }) => name !== "").map(textOf)
  return [value!, text!]
}

const overviewClaims = ({ invoices, overview, paid, payments, todo }: Screens): ReadonlyArray<Claim> => {
  const counted = countedPayments(invoices)
  const received = dollarsIn(counted, fields.worth)
  const [today, number] = tileOf(overview, overviewWords.receivedToday)
  const days = rowsOf(overview, overviewWords.perDay)
  const networks = rowsOf(overview, overviewWords.byNetwork)
  const cases = todo.flatMap((page) => findAll(page, ({ attributes }) => attributes.get("class") === "queue"))
    .flatMap((list) => findAll(list, byName("li")))
  return [
    ["received today", dollarParts(today), received],
    ["received today, of the networks", dollarParts(today), dollarsIn(networks, fields.received)],
    [
      "by network",
      sumsBy(networks.map((row) => [row.get(fields.network)!, dollarParts(row.get(fields.received)!)])),
      sumsBy(counted.map((row) => [row.get(fields.network)!, dollarParts(row.get(fields.worth)!)]))
    ],
    ["received per day", dollarsIn(days, fields.received), received],
    ["payments today", number, overviewWords.payments(counted.length)],
    [
      "invoices paid today",
      tileOf(overview, overviewWords.paidToday)[0],
      overviewWords.ofAll(allRows(paid, en.sections.payments).length, allRows(payments, en.sections.payments).length)
    ],
    ["cases to do", tileOf(overview, overviewWords.todo)[0], String(cases.length)]
  ]
}

const invoiceClaims = ({ invoices }: Screens): ReadonlyArray<Claim> =>
  invoices.flatMap((page): ReadonlyArray<Claim> => {
    const id = pairOf(page, fields.number)
    const [due, received] = [fields.due, fields.received].map((name) => dollarParts(pairOf(page, name)!))
    const missing = pairOf(page, fields.missing)
    return [
      [`received of ${id}`, received, dollarsIn(countedPayments([page]), fields.worth)],
      [
        `missing of ${id}`,
        missing === undefined ? 0n : dollarParts(missing),
        due! > received! ? due! - received! : 0n
      ]
    ]
  })

const linkClaims = ({ invoices, link, links, paid }: Screens): ReadonlyArray<Claim> => {
  const paidIds = new Set(idsIn(paid, "payments"))
  const listed = allRows(links, en.sections.links)
  return [...link].flatMap(([id, page], place): ReadonlyArray<Claim> => {
    const own = invoices.filter((invoice) => pairOf(invoice, "payment_link") === id)
    const received = sumOf(own.map((invoice) => dollarsIn(countedPayments([invoice]), fields.worth)))
    const times = own.filter((invoice) => paidIds.has(pairOf(invoice, fields.number)!)).length
    return [
      [`received by the link ${id}`, dollarParts(pairOf(page, fields.received)!), received],
      [`received by the link ${id}, in the list`, dollarParts(listed[place]!.get(fields.received)!), received],
      [`payments of the link ${id}`, pairOf(page, linkWords.paid), String(times)],
      [`payments of the link ${id}, in the list`, listed[place]!.get(linkWords.paid), String(times)]
    ]
  })
}

const tokensBy = (texts: ReadonlyArray<string>): ReadonlyMap<string, bigint> =>
  sumsBy(texts.map(tokenParts).map(({ parts, symbol }) => [symbol, parts]))

const batchClaims = ({ batch, batches }: Screens): ReadonlyArray<Claim> => {
  const listed = allRows(batches, en.sections.batches)
  return [...batch].flatMap(([id, page], place): ReadonlyArray<Claim> => {
    const lines = rowsOf(page, batchWords.lines)
    const totals = findAll(page, byName("dd")).find((_, index) => pairsOf(page)[index]![0] === fields.amount)!
    return [
      [
        `total of ${id}`,
        tokensBy(findAll(totals, byName("div")).map(textOf)),
        tokensBy(lines.map((row) => row.get(fields.amount)!))
      ],
      [`worth of ${id}`, dollarParts(pairOf(page, batchWords.worth)!), dollarsIn([listed[place]!], fields.amount)],
      [`lines of ${id}`, listed[place]!.get(batchWords.lines), String(lines.length)],
      [
        `lines of the parts of ${id}`,
        sumOf(rowsOf(page, batchWords.parts).map((row) => BigInt(row.get(batchWords.lines)!))),
        BigInt(lines.length)
      ]
    ]
  })
}

/** Of the columns that are shown. */
const tokenSum = (row: ScreenRow, columns: ReadonlyArray<string>): bigint =>
  sumOf(columns.map((column) => tokenParts(row.get(column) ?? "0").parts))

const balanceClaims = ({ balances }: Screens): ReadonlyArray<Claim> => {
  const moved = allRows(balances, balanceWords.newest)
  const netOf = (status: string) => dollarsIn(moved.filter((row) => row.get(fields.state) === status), balanceWords.net)
  const held = [
    balanceWords.available,
    balanceWords.pending,
    balanceWords.refundPayable,
    balanceWords.suspense,
    balanceWords.ignored
  ]
  const page = balances[0]!
  return [
    ["what is yours", dollarParts(pairOf(page, balanceWords.available)!), netOf("available")],
    ["what is not final yet", dollarParts(pairOf(page, balanceWords.pending)!), netOf("pending")],
    // Of a token in no list nobody knows the decimals, so no amount of it is shown.
    ...rowsOf(page, balanceWords.byAsset).filter((row) => row.get(balanceWords.chain) !== "").map((row): Claim => [
      `${row.get(balanceWords.asset)} on the network`,
      tokenSum(row, [balanceWords.chain]),
      tokenSum(row, held)
    ])
  ]
}

const periodClaims = ({ balances, periods }: Screens): ReadonlyArray<Claim> => {
  const { flows } = en.periods
  const rows = rowsOf(periods, en.periods.equation).filter((row) => row.get(flows.closing) !== "")
  const symbolOf = (name: string) => name.split(" · ")[0]!
  return [
    ...rows.map((row): Claim => [
      `the month of ${row.get(en.periods.asset)}`,
      tokenSum(row, [flows.closing]),
      tokenSum(row, [flows.opening, flows.received, flows.unmatched, flows.collected_in, flows.other])
      - tokenSum(row, [flows.refunded, flows.paid_out, flows.collected_out, flows.fees])
    ]),
    [
      "what the month closes with",
      sumsBy(rows.map((row) => [symbolOf(row.get(en.periods.asset)!), tokenSum(row, [flows.closing])])),
      sumsBy(
        rowsOf(balances[0]!, balanceWords.byAsset).filter((row) => row.get(balanceWords.chain) !== "").map((row) =>
          [symbolOf(row.get(balanceWords.asset)!), tokenSum(row, [balanceWords.chain])] as const
        )
      )
    ]
  ]
}

const collectClaims = ({ collect, collectable }: Screens): ReadonlyArray<Claim> =>
  rowsOf(collect, en.sections.collect).flatMap((row, place): ReadonlyArray<Claim> => {
    const { sources, symbol } = collectable[place]!
    return [
      [
        `to collect of ${symbol}`,
        tokensBy([row.get(fields.amount)!]),
        tokensBy(sources.map(({ token_amount: amount }) => `${amount} ${symbol}`))
      ],
      [`addresses with ${symbol}`, row.get(batchWords.addresses), String(sources.length)]
    ]
  })

/** How many sums were looked at, and those that are another than what their rows come to. */
export const wrongSums = (screens: Screens): { readonly looked: number; readonly wrong: ReadonlyArray<string> } => {
  const claims = [
    overviewClaims,
    invoiceClaims,
    linkClaims,
    batchClaims,
    balanceClaims,
    periodClaims,
    collectClaims
  ].flatMap((claimsOf) => claimsOf(screens))
  return {
    looked: claims.length,
    wrong: claims.map(([what, shown, counted]) => [what, written(shown), written(counted)] as const)
      .filter(([, shown, counted]) => shown !== counted)
      .map(([what, shown, counted]) => `${what}: the screen says ${shown}, its rows come to ${counted}`)
  }
}

/** The page without the first row of a table that fits; null: it has none. */
export const withoutRow = (page: Node, label: string, fits: (row: ScreenRow) => boolean): Node | null => {
  const place = rowsOf(page, label).findIndex(fits)
  if (place === -1) return null
  const cut = (node: Node, isInside: boolean): Node => ({
    ...node,
    children: isInside && node.name === "tbody"
      ? node.children.filter((child) => child !== findAll(node, byName("tr"))[place])
      : node.children.map((child) => cut(child, isInside || node.attributes.get("aria-label") === label))
  })
  return cut(page, false)
}
