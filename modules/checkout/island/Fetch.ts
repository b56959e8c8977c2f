/** The state, asked for over HTTP. */
import type { Clocks } from "./Clocks.ts"
import { isDisplayable } from "./Fragment.ts"

/** Milliseconds for an answer to the state's fetch. */
const answerMillis = 10_000

export interface Fetch {
  /** Asks the server for the state and shows it; false: it gave none. One at a time. */
  readonly ask: () => Promise<boolean>
  /** Has the next fetch answered in full, for what its tag leaves out: the socket's token. */
  readonly wantAll: () => void
  /** Has the state asked for at another address from now on. */
  readonly move: (url: string) => void
}

export const makeFetch = (firstUrl: string, show: (text: string) => void, clocks: Clocks): Fetch => {
  let url = firstUrl
  let etag = ""
  let needsAll = false
  return {
    move: (next) => {
      url = next
    },
    wantAll: () => {
      needsAll = true
    },
    ask: async () => {
      // Used up here: what is asked for while this answer is on its way is asked for again.
      if (needsAll) etag = ""
      needsAll = false
      const answer = await fetch(url, {
        headers: etag ? { "if-none-match": etag } : {},
        cache: "no-store",
        redirect: "manual",
        signal: AbortSignal.timeout(answerMillis)
      })
      if (answer.status === 304) {
        clocks.set(Date.parse(answer.headers.get("date")!) / 1000)
      } else {
        const text = await answer.text()
        if (!isDisplayable(answer.status, text)) return false
        etag = answer.headers.get("etag") ?? ""
        show(text)
      }
      return true
    }
  }
}
