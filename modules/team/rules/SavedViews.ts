/** Lists with their filters that somebody wants to find again. Pure. */

/** The filters of each list of the dashboard that has some: nothing else of an address is saved. */
export const filtersOfLists = {
  payments: ["status", "customer"],
  todo: ["status"],
  refunds: ["status"],
  events: ["type"],
  audit: ["action"]
} as const
export type ViewList = keyof typeof filtersOfLists
export const viewLists = Object.keys(filtersOfLists) as ReadonlyArray<ViewList>

/** Views that one person may have made at one merchant, shared ones included. */
export const maximumViews = 50

/** Characters of a view's name, and of its filters. */
export const maximumViewName = 60
export const maximumViewQuery = 500

export interface SavedViewState {
  readonly id: string
  readonly merchantId: number
  /** Id of the person who made it. */
  readonly person: string
  readonly name: string
  readonly list: ViewList
  /** The filters as in the address of the list, without `?`. */
  readonly query: string
  /** Whether everybody of the merchant has it in the list. */
  readonly isShared: boolean
  readonly status: "active" | "removed"
  /** When it was removed, epoch seconds; the row is deleted later. */
  readonly endedAt: number | null
  readonly createdAt: number
  readonly version: number
}

/** A view and whose it is, for the person who asks. */
export interface ViewForPerson {
  readonly view: SavedViewState
  /** Whether that person made it. */
  readonly isOwn: boolean
}

/** The state of a view that is removed: its name and filters are cleared, because they may name customers. */
export const removeView = (view: SavedViewState, now: number): SavedViewState => ({
  ...view,
  name: "",
  query: "",
  status: "removed",
  endedAt: now,
  version: view.version + 1
})

/**
 * The filters of a list in one order and spelling, so that the same ones are the same text; null: `query` names one
 * that the list has not, or one twice. An empty filter is none.
 */
export const normalizeQuery = (list: ViewList, query: string): string | null => {
  const names: ReadonlyArray<string> = filtersOfLists[list]
  const found = [...new URLSearchParams(query)]
  const isOfList = found.every(([name]) => names.includes(name))
  if (!isOfList || new Set(found.map(([name]) => name)).size < found.length) return null
  return new URLSearchParams(
    names.flatMap((name) => found.filter(([each, value]) => each === name && value !== ""))
  ).toString()
}
