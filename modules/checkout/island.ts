/**
 * The payment page's script in the payor's browser: it shows what the server says, as soon as the server knows it.
 * Served with its parts in `island/` as one classic script, for the browsers that `repo.ts` names.
 * It decides nothing about a payment. What a screen says and how it looks comes from the server, as a fragment.
 */
import { foldCode, localMoments } from "./island/Device.ts"
import { focusHeading } from "./island/Focus.ts"
import { makeClocks } from "./island/Clocks.ts"
import { copyIn } from "./island/Copy.ts"
import { makeFollower } from "./island/Follow.ts"
import { startReturn } from "./island/Return.ts"
import { pickIn } from "./island/Picker.ts"
import { makeScreen } from "./island/Screen.ts"
import { searchIn } from "./island/Search.ts"
import { makeAnnounce } from "./island/Announce.ts"
import { offerWallets } from "./island/Wallets.ts"

/** Takes charge of the page (`pages/Page.ts`). */
const start = (main: HTMLElement, state: HTMLElement, live: HTMLElement, offline: HTMLElement): void => {
  const announce = makeAnnounce(live)
  const clocks = makeClocks(state, announce, () => follower.refetch())
  const search = searchIn(state, announce)
  const nameChoice = pickIn(main, state, (url) => follower.move(url))
  const returnToShop = startReturn(state, announce)
  const showWallets = offerWallets(state, announce)
  const prepare = () => {
    showWallets()
    localMoments(state)
    foldCode()
    returnToShop()
  }
  const screen = makeScreen(state, announce, clocks, prepare, () => {
    search()
    nameChoice()
  })
  const follower = makeFollower(main.dataset.state!, screen, clocks, offline)

  screen.begin()
  copyIn(main, announce)
  focusHeading(state)
  addEventListener("focus", follower.look)
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) follower.look()
  })
  addEventListener("offline", () => {
    offline.hidden = false
    // An answer that was on its way would take the banner down for as long as the socket does not notice.
    follower.refetch()
  })
  addEventListener("online", follower.renew)
  // An open socket would keep the page out of the browser's back and forward cache.
  addEventListener("pagehide", follower.rest)
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted) follower.renew()
  })
  follower.follow()
}

const [main, state, live, offline] = ["pay", "state", "live", "offline"].map((id) => document.getElementById(id))
if (main && state && live && offline) start(main, state, live, offline)
