/** Lists with their filters that somebody wants to find again. Pure. */

/** Lists of the dashboard that have filters. */
export const viewLists = ["payments", "todo", "refunds", "events", "audit"] as const
export type ViewList = typeof viewLists[number]

/** Views of one person at one merchant, shared ones included. */
export const maximumViews = 50

/** Characters of a view's name, and of its filters. */
export const maximumViewName = 60
export const maximumViewQuery = 500

export interface SavedViewState {
  readonly id: string
  readonly merchantId: number
  /** Who made it. */
  readonly person: string
  readonly name: string
  readonly list: ViewList
  /** The filters as in the address of the list, without `?`. */
  readonly query: string
  /** Whether everybody of the merchant has it in the list. */
  readonly isShared: boolean
  readonly status: "active" | "removed"
  /** Of a removed one the end: it is deleted later. */
  readonly endedAt: number | null
  readonly createdAt: number
  readonly version: number
}

/** A view as one person sees it. */
export interface SeenView {
  readonly view: SavedViewState
  /** Whether that person made it. */
  readonly isOwn: boolean
}

/** The state of a view that is removed: neither name nor filters are kept, which may name customers. */
export const removeView = (view: SavedViewState, now: number): SavedViewState => ({
  ...view,
  name: "",
  query: "",
  status: "removed",
  endedAt: now,
  version: view.version + 1
})

/** Filters in one spelling, so that the same ones are the same text. */
export const normalQuery = (query: string): string => new URLSearchParams(query).toString()
