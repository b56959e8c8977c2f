/**
 * The claim page's script in the payor's browser. The token stands behind `#`, which browsers send to nobody, so the
 * script posts it. What the answer says is shown in place, so that the link stays in the address and a reload works.
 * It decides nothing. Without it the payor pastes the link into a form, and gets whole pages.
 */
import { readClaimToken } from "./ClaimToken.ts"
import { isFragment, makeParser } from "./Fragment.ts"

/** Milliseconds for an answer: an address may be asked about at its network. */
const answerMillis = 20_000

/** The merchant's colours, in the order in which a fragment names them. */
const colours = ["--accent-light", "--on-light", "--accent-dark", "--on-dark"]

/** Answers that say nothing of the refund: what stands on the page stays, so that nothing that was typed is lost. */
const isTrouble = (status: number): boolean => status === 429 || status >= 500

/** Takes charge of the page (`pages/ClaimPage.ts`). */
const start = (main: HTMLElement, state: HTMLElement, shop: HTMLElement, trouble: HTMLElement): void => {
  const parse = makeParser()
  const noAnswer = trouble.textContent
  let token = readClaimToken(location.hash)
  let isBusy = false
  /** Whether the second look has its own entry in the browser's history, from which "back" leads to the address. */
  let hasEntry = false

  const dataOf = () => state.querySelector<HTMLElement>("[data-screen]")!.dataset

  const show = (text: string, isOwnAct: boolean) => {
    const box = parse(text)
    shop.replaceChildren(...box.querySelectorAll("header"))
    state.replaceChildren(...box.querySelectorAll("section"))
    const { colours: values, screen, title } = dataOf()
    document.title = title!
    values?.split(" ").forEach((value, at) => document.documentElement.style.setProperty(colours[at]!, value))
    if (token && screen !== "ended") history.replaceState(null, "", `#t=${token}`)
    if (screen === "check" && !hasEntry) {
      history.pushState(null, "")
      hasEntry = true
    }
    if (!isOwnAct) return
    const first = state.querySelector<HTMLElement>("[aria-invalid]") ?? state.querySelector("h1")
    first?.focus()
  }

  const send = async (fields: URLSearchParams, isOwnAct: boolean) => {
    if (isBusy) return
    isBusy = true
    state.setAttribute("aria-busy", "true")
    trouble.hidden = true
    const typed = fields.get("token")
    if (typed) token = readClaimToken(typed)
    fields.set("token", token ?? typed ?? "")
    try {
      const answer = await fetch(main.dataset.state!, {
        method: "POST",
        body: fields,
        cache: "no-store",
        redirect: "manual",
        signal: AbortSignal.timeout(answerMillis)
      })
      const text = await answer.text()
      if (!isFragment(text)) throw 0
      if (isTrouble(answer.status)) report(parse(text).querySelector("section")!.dataset.say!)
      else show(text, isOwnAct)
    } catch {
      report(noAnswer)
    }
    isBusy = false
    state.removeAttribute("aria-busy")
  }

  const report = (text: string | null) => {
    trouble.textContent = text
    trouble.hidden = false
    for (const form of state.querySelectorAll("form")) form.hidden = false
  }

  const reopen = () => send(new URLSearchParams({ action: "open" }), false)

  document.addEventListener("submit", (event) => {
    const form = event.target as HTMLFormElement
    event.preventDefault()
    const fields = new URLSearchParams(new FormData(form) as never)
    // The address keeps what stands behind `#`.
    if (!state.contains(form)) location.search = `lang=${fields.get("lang")}`
    else void send(fields, true)
  })
  addEventListener("hashchange", () => location.reload())
  addEventListener("popstate", () => {
    hasEntry = false
    const back = state.querySelector<HTMLFormElement>("form.edit")
    if (back) back.requestSubmit()
    else if (token) void reopen()
  })
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted) location.reload()
  })
  if (token) {
    for (const form of state.querySelectorAll("form")) form.hidden = true
    void reopen()
  }
}

const [main, state, shop, trouble] = ["claim", "state", "shop", "trouble"].map((id) => document.getElementById(id))
if (main && state && shop && trouble) start(main, state, shop, trouble)
