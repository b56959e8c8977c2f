/**
 * The payment page's script in the payor's browser: it shows what the server says, as soon as the server knows it.
 * Served as one classic script, for the browsers that `repo.ts` names.
 * It decides nothing about a payment. What a screen says and how it looks comes from the server, as a fragment.
 */

/** Milliseconds to wait after so many failures in a row, 0.5 to 30 s (Experience, "States"); `random` is in [0, 1). */
export const backoffMillis = (failures: number, random: number): number => {
  const most = Math.min(30_000, 1000 * 2 ** (failures - 1))
  return most / 2 + random * most / 2
}

/** Failed connections in a row after which the page also polls (Experience, "States"). */
const failuresBeforePolling = 3

/** Seconds between polls where the fragment names none (Experience, "States"). */
const pollSeconds = 5

/** A connection that lasted so long was a good one: the wait starts anew. */
const steadyMillis = 10_000

/** What is known of the line to the server. */
export interface Line {
  /** Fetches of the state that failed in a row. */
  readonly fetchFailures: number
  /** Connections that ended in a row without having lasted. */
  readonly socketFailures: number
  /** Whether there is something to follow, and no socket that is live. */
  readonly isDown: boolean
  /** Seconds between polls, as the fragment says them. */
  readonly poll: string | undefined
}

/** Milliseconds until the state is fetched without being told to; undefined: not before something happens. */
export const nextFetchMillis = (line: Line, random: number): number | undefined =>
  line.fetchFailures > 0
    ? backoffMillis(line.fetchFailures, random)
    : line.isDown && line.socketFailures >= failuresBeforePolling
    ? 1000 * (Number(line.poll) || pollSeconds)
    : undefined

/** Failures in a row, once a connection that was live for so long has ended; 0: it never was. */
export const failuresAfterClose = (failures: number, liveMillis: number): number =>
  liveMillis > steadyMillis ? 1 : failures + 1

/** What a frame of the socket means for the page. */
export interface News {
  readonly isReady?: boolean
  /** The state has changed. */
  readonly isChange?: boolean
  /** The state may have changed: the price is told on every connection, changed or not. */
  readonly isHint?: boolean
  /** The socket's token is no good any more: only a new fragment brings another. */
  readonly isRefused?: boolean
  /** Where to resume; empty: from nowhere. */
  readonly since?: string
  /** Epoch seconds. */
  readonly now?: number
}

/** Reads a frame (API reference, "Websocket"). What it does not know means nothing. */
export const newsOf = (text: string): News => {
  try {
    const { id, object, server_time: now, type } = JSON.parse(text)
    if (object === "event") return { [type === "payment_quote.updated" ? "isHint" : "isChange"]: true, since: String(id) }
    if (object === "ws_error") return { isRefused: true }
    if (object !== "ws_control") return {}
    if (type === "ready") return { isReady: true, isHint: true, now }
    if (type === "resync_required") return { isChange: true, since: "" }
    return type === "confirmations" ? { isChange: true } : { now }
  } catch {
    return {}
  }
}

/** Whether a text is a fragment of this page, and not what a gateway or a captive portal put in its place. */
export const isFragment = (text: string): boolean => /^\s*<section\s[^>]*\bdata-screen="/.test(text)

/** Answers whose fragment is shown. A fragment in any other, as of a server in trouble, is a failure like no answer. */
const shownStatuses = [200, 401, 403, 404, 410]

export const isShown = (status: number, text: string): boolean => shownStatuses.includes(status) && isFragment(text)

/** `4:32`, or `1:04:32` from an hour on. A begun second counts, so that 0:00 is the end. */
export const clockText = (seconds: number): string => {
  const left = Math.max(0, Math.ceil(seconds))
  const minutes = Math.floor(left / 60)
  const pad = (value: number) => String(value).padStart(2, "0")
  return (left < 3600 ? minutes : `${Math.floor(minutes / 60)}:${pad(minutes % 60)}`) + `:${pad(left % 60)}`
}

/** Whether a clock may be loud: in its last quarter (Experience, "WCAG checklist"). */
export const isUrgent = (left: number, whole: number): boolean => left <= whole / 4

/** The minutes a clock is spoken at (Experience, "WCAG checklist"): the one just passed, else undefined. */
export const spokenMinutes = (before: number, left: number): number | undefined =>
  [1, 5].find((minutes) => left <= minutes * 60 && before > minutes * 60)

/** Whether a row is found: it has every word that was typed, in any order. */
export const isFound = (row: string, typed: string): boolean =>
  typed.toLowerCase().split(/\s+/).every((word) => row.includes(word))

/** Milliseconds without a frame after which a connection counts as lost: two heartbeats of 25 s and some. */
const silenceMillis = 60_000

/** Milliseconds for a connection to be ready, and for an answer to the state's fetch. */
const openingMillis = 10_000

/** Milliseconds for an answer to a ping, when the payor comes back to the page. */
const pingMillis = 5000

/** Milliseconds in which frames that come together make one fetch. */
const gatherMillis = 20

/** A state of so few seconds needs no look at once: a page that has just come asks for nothing twice. */
const freshSeconds = 3

/** Milliseconds until a fresh state is looked at all the same. */
const settleMillis = 1000

/** Milliseconds a copy button says so (Experience, "States"). */
const copiedMillis = 2000

/** Milliseconds without a key before the count of found rows is spoken. */
const typingMillis = 500

/** A live region speaks a change: the same words twice need a moment of nothing between them. */
const speechMillis = 50

interface Policy {
  readonly createHTML: (text: string) => string
}

/** Takes charge of the page. */
const start = (main: HTMLElement, state: HTMLElement): void => {
  const part = (id: string) => document.getElementById(id)
  const all = <E extends HTMLElement = HTMLElement>(selector: string) => [...state.querySelectorAll<E>(selector)]
  const seconds = () => performance.now() / 1000
  // Named "pay" by the page's policy. Where the browser has no Trusted Types, the text goes in as it is.
  const policy: Policy | undefined = (globalThis as { trustedTypes?: { createPolicy: (name: string, rules: Policy) => Policy } })
    .trustedTypes?.createPolicy("pay", { createHTML: (text) => isFragment(text) ? text : "" })

  /** The newest section's data, shown or not: its socket, its poll. */
  let told: DOMStringMap = {}
  /** The server's clock less the browser's running time, in seconds: a payor who sets the clock changes nothing. */
  let skew = 0
  let shown = ""
  let etag = ""
  let needsAll = false
  /** When the state was asked for that the server answered with; at first, when the page was. */
  let askedAt = 0
  let isFetching = false
  let isWanted = false
  let fetchFailures = 0
  let socket: WebSocket | undefined
  let socketFailures = 0
  /** When the socket got ready, in milliseconds of `performance.now()`; 0: it is not. */
  let liveAt = 0
  let since = ""
  let checkedAt = 0
  let overChecks = 0
  let nextCheck = 0
  let copied: (() => void) | undefined
  const spoken = new Set<string>()
  const timers: Record<string, ReturnType<typeof setTimeout> | 0> = {}

  const stop = (name: string) => {
    clearTimeout(timers[name])
    timers[name] = 0
  }

  /** Sets the one timer of a name anew. */
  const after = (name: string, millis: number, run: () => void) => {
    stop(name)
    timers[name] = setTimeout(() => {
      timers[name] = 0
      run()
    }, millis)
  }

  const say = (text = "") => {
    const live = part("live")!
    live.textContent = ""
    after("say", speechMillis, () => live.textContent = text)
  }

  const setClock = (now: unknown) => {
    if (Number(now) > 0) skew = Number(now) - seconds()
  }

  const tick = () => {
    const now = seconds() + skew
    let isOver = false
    for (const clock of all("[data-ends]")) {
      const ends = Number(clock.dataset.ends)
      const left = ends - now
      isOver ||= left <= 0
      if (clock instanceof HTMLProgressElement) clock.value = Math.max(0, left)
      else clock.textContent = clockText(left)
      clock.toggleAttribute("data-urgent", isUrgent(left, ends - Number(clock.dataset.from)))
      const minutes = spokenMinutes(ends - checkedAt, left)
      const text = clock.dataset[`say-${minutes}`]
      if (text && !spoken.has(ends + text)) {
        spoken.add(ends + text)
        say(text)
      }
    }
    checkedAt = now
    if (!isOver) overChecks = nextCheck = 0
    else if (now >= nextCheck) {
      nextCheck = now + backoffMillis(++overChecks, Math.random()) / 1000
      refetch()
    }
    after("tick", 1000 - now * 1000 % 1000, tick)
  }

  /** Shows the rows that are found; gives the words for their count. */
  const filter = (input: HTMLInputElement) => {
    const rows = all("[data-find]")
    const found = rows.filter(({ dataset }) => isFound(dataset.find!, input.value))
    // What is chosen is in sight: "Continue" means it. So the choice goes along with what is found.
    if (!found.some((row) => row.querySelector(":checked"))) {
      const first = found.map((row) => row.querySelector<HTMLInputElement>("input:enabled")).find((each) => each)
      if (first) first.checked = true
    }
    for (const row of rows) row.hidden = !found.includes(row) && !row.querySelector(":checked")
    return (JSON.parse(input.dataset.found ?? "[]") as ReadonlyArray<string>)[found.length]
  }

  /** What makes a control the same one in the next fragment. */
  const keyOf = (control: Element) => {
    const { ariaLabel, id, name, textContent, type, value } = control as HTMLInputElement
    return id || (name ? name + (/radio|submit/.test(type) ? value : "") : ariaLabel ?? textContent)
  }

  const controls = () => all<HTMLInputElement & HTMLDetailsElement>("a,button,input,select,textarea,summary,details,[tabindex]")

  /** Notes what the payor has typed, chosen, opened and reached, and gives what puts it into the next fragment. */
  const keep = () => {
    const kept = controls().map((control) => ({
      key: control.tagName + keyOf(control),
      control,
      isFocused: control === document.activeElement
    }))
    const scrolled = all("[id]").filter(({ scrollTop }) => scrollTop > 0).map(({ id, scrollTop }) => ({ id, scrollTop }))
    return () => {
      const next = controls()
      for (const { control, isFocused, key } of kept) {
        const same = next.find((other) => other.tagName + keyOf(other) === key)
        if (!same) continue
        if (control.open) same.open = true
        if (control.type === "radio" || control.type === "checkbox") {
          if (control.checked !== control.defaultChecked) same.checked = control.checked
        } else if (control.defaultValue !== undefined && control.value !== control.defaultValue) {
          same.value = control.value
        }
        if (!isFocused) continue
        same.focus({ preventScroll: true })
        if (control.selectionStart != null) same.setSelectionRange(control.selectionStart, control.selectionEnd)
      }
      for (const { id, scrollTop } of scrolled) {
        const box = part(id)
        if (box) box.scrollTop = scrollTop
      }
    }
  }

  /** A fragment as text, less what differs each time it is made. */
  const likeness = (box: Element) => {
    const copy = box.cloneNode(true) as Element
    for (const name of ["data-now", "data-ws"]) copy.querySelector("[data-screen]")?.removeAttribute(name)
    for (const clock of copy.querySelectorAll<HTMLElement>("[data-ends]")) clock.replaceWith(clock.dataset.ends!)
    return copy.innerHTML.trim()
  }

  /** Shows what works with a script only, before anything in it can have the focus. */
  const wire = (putBack?: () => void) => {
    for (const control of all("[data-copy],[data-filter]")) control.hidden = false
    putBack?.()
    for (const input of all<HTMLInputElement>("[data-filter]")) filter(input)
    tick()
  }

  const show = (text: string) => {
    const box = document.createElement("div")
    box.innerHTML = policy ? policy.createHTML(text) : text
    const before = told.screen
    told = (box.firstElementChild as HTMLElement).dataset
    setClock(told.now)
    const next = likeness(box)
    if (next === shown) return
    shown = next
    const putBack = keep()
    state.replaceChildren(...box.childNodes)
    wire(putBack)
    document.title = told.title ?? document.title
    if (told.screen !== before) say(told.say)
  }

  /** Asks the server for the state; false: it gave none. */
  const ask = async (): Promise<boolean> => {
    const began = seconds()
    // Used up here: what is asked for while this answer is on its way is asked for again.
    if (needsAll) etag = ""
    needsAll = false
    const answer = await fetch(main.dataset.state!, {
      headers: etag ? { "if-none-match": etag } : {},
      cache: "no-store",
      redirect: "manual",
      signal: AbortSignal.timeout(openingMillis)
    })
    if (answer.status === 304) {
      setClock(Date.parse(answer.headers.get("date")!) / 1000)
    } else {
      const text = await answer.text()
      if (!isShown(answer.status, text)) return false
      etag = answer.headers.get("etag") ?? ""
      show(text)
    }
    askedAt = began
    return true
  }

  const refetch = async () => {
    // A session that ended stays so: asking again is of no use.
    if (told.screen === "ended") return
    isWanted = isFetching
    if (isFetching) return
    isFetching = true
    stop("settle")
    const isWell = await ask().catch(() => false)
    isFetching = false
    part("offline")!.hidden = isWell
    // The server is back: no need to sit out the wait for the socket.
    if (isWell && fetchFailures > 0) stop("connect")
    fetchFailures = isWell ? 0 : fetchFailures + 1
    if (isWanted) refetch()
    follow()
  }

  /** Asks for a state that may be what is shown. */
  const recheck = () => {
    if (seconds() - askedAt < freshSeconds) after("settle", settleMillis, refetch)
    else if (!isFetching) refetch()
  }

  /** Makes the timers and the socket what the newest fragment asks for. */
  const follow = () => {
    const { poll, ws } = told
    stop("fetch")
    const millis = nextFetchMillis({ fetchFailures, socketFailures, isDown: !!ws && !liveAt, poll }, Math.random())
    if (millis !== undefined) after("fetch", millis, refetch)
    if (!ws) drop()
    else if (!socket && !timers.connect && !isFetching) connect(ws)
  }

  /** Leaves the socket; its end is then no news. */
  const drop = () => {
    const old = socket
    socket = undefined
    liveAt = 0
    stop("silence")
    // Closed before it is open, a socket makes the browser complain.
    if (old?.readyState === 0) old.addEventListener("open", () => old.close())
    else old?.close()
  }

  const lost = () => {
    socketFailures = failuresAfterClose(socketFailures, liveAt && performance.now() - liveAt)
    // Refused before it was ready, a socket does not say why: its token may have ended.
    if (liveAt === 0) needsAll = true
    drop()
    after("connect", backoffMillis(socketFailures, Math.random()), follow)
    refetch()
  }

  const connect = (url: string) => {
    try {
      const opened = new WebSocket(url + (since && `&since=${since}`))
      socket = opened
      after("silence", openingMillis, lost)
      opened.addEventListener("close", () => {
        if (socket === opened) lost()
      })
      opened.addEventListener("message", ({ data }) => {
        if (socket !== opened) return
        const news = newsOf(data)
        after("silence", silenceMillis, lost)
        setClock(news.now)
        since = news.since ?? since
        needsAll ||= news.isRefused === true
        if (news.isReady) {
          liveAt = performance.now()
          stop("fetch")
        }
        if (news.isHint) recheck()
        if (news.isChange && !timers.gather) after("gather", gatherMillis, refetch)
      })
    } catch {
      lost()
    }
  }

  /** The payor is back: looks at once, and whether the socket still hears. */
  const look = () => {
    recheck()
    if (socket?.readyState === 1) {
      socket.send(`{"object":"ws_ping"}`)
      after("silence", pingMillis, lost)
    } else if (!socket) stop("connect")
  }

  const tellCopied = (button: HTMLElement) => {
    copied?.()
    const label = [...button.childNodes]
    copied = () => {
      button.replaceChildren(...label)
      copied = undefined
    }
    button.replaceChildren(main.dataset.copied!)
    say(main.dataset.copied)
    after("copied", copiedMillis, () => copied?.())
  }

  const copy = (button: HTMLElement, text: string) => {
    /** The old way, for where there is no clipboard or it is forbidden. */
    const bySelection = () => {
      const field = document.createElement("textarea")
      field.value = text
      field.readOnly = true
      field.className = "visually-hidden"
      main.append(field)
      field.select()
      const isDone = document.execCommand("copy")
      field.remove()
      button.focus({ preventScroll: true })
      if (isDone) tellCopied(button)
    }
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(() => tellCopied(button), bySelection)
    else bySelection()
  }

  /** Whether the payor asked for this page; remembers whether they ask for the next. */
  const asked = (next: boolean): boolean => {
    try {
      const before = sessionStorage.till !== undefined
      if (next) sessionStorage.till = ""
      else delete sessionStorage.till
      return before
    } catch {
      // Without storage the focus starts at the top, as on any page.
      return false
    }
  }

  document.addEventListener("submit", () => asked(true))
  document.addEventListener("click", ({ target }) => {
    const at = (selector: string) => (target as Element).closest<HTMLElement & HTMLAnchorElement>(selector)
    const button = at("[data-copy]")
    if (button) copy(button, button.dataset.copy!)
    const link = at("a[href]")
    if (link?.origin === location.origin && link.pathname === location.pathname && link.hash === "") asked(true)
  })
  state.addEventListener("input", ({ target }) => {
    const input = target as HTMLInputElement
    if (!input.matches("[data-filter]")) return
    const found = filter(input)
    after("typing", typingMillis, () => say(found))
  })
  state.addEventListener("keydown", (key) => {
    const input = key.target as HTMLInputElement
    if (key.key !== "Enter" || key.isComposing || !input.matches("[data-filter]")) return
    // Enter in the search goes to what was found, not on with it: the payor has not seen it yet.
    key.preventDefault()
    state.querySelector<HTMLElement>("[data-find] :checked")?.focus()
  })
  addEventListener("focus", look)
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) look()
  })
  addEventListener("offline", () => {
    part("offline")!.hidden = false
    // An answer that was on its way would take the banner down for as long as the socket does not notice.
    refetch()
  })
  addEventListener("online", () => {
    drop()
    look()
  })
  // An open socket would keep the page out of the browser's back and forward cache.
  addEventListener("pagehide", drop)
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted) look()
  })

  told = state.querySelector<HTMLElement>("[data-screen]")?.dataset ?? {}
  setClock(told.now)
  checkedAt = seconds() + skew
  shown = likeness(state)
  wire()
  if (asked(false)) state.querySelector("h1")?.focus()
  follow()
}

if (typeof document !== "undefined") {
  const main = document.getElementById("pay")
  const state = document.getElementById("state")
  if (main && state) start(main, state)
}
