/** Pictures of the menu and of buttons: our own lines, 24 by 24. */
import { type Html, html } from "../../../runtime/pages/Html.ts"

const paths = {
  overview: "M4 11 12 4l8 7v9h-5v-6H9v6H4z",
  payments: "M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01",
  todo: "M12 3 2 20h20zM12 10v4m0 3v.01",
  links: "M10 13a4 4 0 0 0 6 .5l3-3a4 4 0 0 0-6-6l-1 1M14 11a4 4 0 0 0-6-.5l-3 3a4 4 0 0 0 6 6l1-1",
  refunds: "M9 7 4 12l5 5M4 12h11a5 5 0 0 1 0 10h-2",
  collect: "M12 3v10m0 0-4-4m4 4 4-4M4 15v5h16v-5",
  batches: "M4 7l8-4 8 4-8 4zM4 12l8 4 8-4M4 17l8 4 8-4",
  balances: "M12 4v16M6 20h12M5 7h14M5 7l-3 7a3.5 3.5 0 0 0 6 0zM19 7l-3 7a3.5 3.5 0 0 0 6 0z",
  periods: "M5 5h14v16H5zM9 3v4m6-4v4M5 10h14m-10 5 2 2 4-4",
  metrics: "M4 20h16M6 20v-7M11 20V6M16 20v-10",
  webhooks: "M12 9a3 3 0 1 0-3-3M12 9l-4 7M8 16a3 3 0 1 0 3 3h5M16 19a3 3 0 1 0 2-4l-4-6",
  events: "M13 3 5 14h6l-1 7 8-11h-6z",
  keys: "M8 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 12h9v3m-4-3v2",
  tokens:
    "M12 4c4.4 0 8 1.3 8 3s-3.6 3-8 3-8-1.3-8-3 3.6-3 8-3M4 7v5c0 1.7 3.6 3 8 3s8-1.3 8-3V7M4 12v5c0 1.7 3.6 3 8 3s8-1.3 8-3v-5",
  wallets: "M4 7h15v13H4zM4 7l11-4v4M15 13h5v3h-5z",
  limits: "M4 20a8 8 0 1 1 16 0M12 20l4-6M4 20h16",
  branding: "M14 4l6 6-8 8H6v-6zM4 21h16",
  team: "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7M3 20c0-4 3-6 6-6s6 2 6 6M16 4a3.5 3.5 0 0 1 0 7m2 3c2 .8 3 3 3 6",
  audit: "M6 3h9l4 4v14H6zM9 11h7m-7 4h7",
  networks: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M3 12h18M12 3c3 3 3 15 0 18-3-3-3-15 0-18",
  simulator: "M9 3h6m-5 0v6l-5 9a2 2 0 0 0 2 3h10a2 2 0 0 0 2-3l-5-9V3M7 15h10",
  menu: "M4 6h16M4 12h16M4 18h16",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14M16 16l5 5"
} as const

export type IconName = keyof typeof paths

/** Beside words that say the same, so it is hidden from readers of the screen. */
export const icon = (name: IconName): Html =>
  html`<svg class="ico" width="18" height="18" viewBox="0 0 24 24" aria-hidden="true"><path d="${paths[name]}"/></svg>`
