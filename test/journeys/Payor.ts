/** A payor's browser without a script, as far as the payment page needs one: cookies, redirects, forms, no referrer. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { exchange, type TestRequest, type TestResponse } from "../support/Service.ts"

/** More redirects than the page's own. */
const maximumRedirects = 5

export interface Cookie {
  readonly name: string
  readonly value: string
  readonly path: string
  readonly attributes: string
}

export interface Payor {
  /** Asks once, with the cookies that belong there, and keeps those that come back. */
  readonly ask: (path: string, sent?: TestRequest) => Effect.Effect<TestResponse>
  /** Opens an address or a path and follows it to its end. */
  readonly open: (address: string, headers?: Readonly<Record<string, string>>) => Effect.Effect<TestResponse>
  /** Sends a form as the page's own are sent, and follows to its end. */
  readonly send: (path: string, fields: Readonly<Record<string, string>>) => Effect.Effect<TestResponse>
  /** Where the last answer came from. */
  readonly at: () => string
  /** The newest cookie of a name. */
  readonly cookie: (name: string) => Cookie | undefined
}

export const formType = "application/x-www-form-urlencoded"

/** A form as a browser without referrers sends it. */
export const asForm = (fields: Readonly<Record<string, string>> | string): TestRequest => ({
  method: "POST",
  headers: { "content-type": formType, origin: "null", "sec-fetch-site": "same-origin" },
  body: typeof fields === "string" ? fields : new URLSearchParams(fields).toString()
})

/**
 * A new browser that reaches the service at `base` by the public URL `publicUrl`, as through a proxy that takes its
 * path away; one that refuses cookies where `refuses` says so.
 */
export const makePayor = (base: string, publicUrl: string, refuses = false): Payor => {
  const { origin, pathname } = new URL(publicUrl)
  const prefix = pathname === "/" ? "" : pathname
  const jar = new Map<string, Cookie>()
  let current = "/"

  const keep = ({ headers }: TestResponse) => {
    for (const line of refuses ? [] : headers["set-cookie"] ?? []) {
      const [pair = "", ...attributes] = line.split("; ")
      const name = pair.slice(0, pair.indexOf("="))
      const path = attributes.find((one) => one.startsWith("Path="))?.slice("Path=".length) ?? "/"
      jar.set(`${name} ${path}`, { name, value: pair.slice(name.length + 1), path, attributes: attributes.join("; ") })
    }
  }

  const ask = (path: string, sent: TestRequest = {}) => {
    const [bare = ""] = path.split("?")
    const cookie = [...jar.values()].filter(({ path }) => bare === path || bare.startsWith(`${path}/`))
      .map(({ name, value }) => `${name}=${value}`).join("; ")
    return Effect.tap(
      exchange(base, path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : path, {
        ...sent,
        headers: { ...(cookie === "" ? {} : { cookie }), ...sent.headers }
      }),
      (answer) =>
        Effect.sync(() => {
          keep(answer)
          current = path
        })
    )
  }

  const follow = (
    answer: TestResponse,
    headers: Readonly<Record<string, string>>,
    left = maximumRedirects
  ): Effect.Effect<TestResponse> => {
    if (answer.status !== 303) return Effect.succeed(answer)
    assert.isAbove(left, 0, "the page redirects for ever")
    return Effect.flatMap(ask(answer.headers.location!, { headers }), (next) => follow(next, headers, left - 1))
  }

  const pathOf = (address: string) => address.startsWith(origin) ? address.slice(origin.length) : address

  return {
    ask,
    open: (address, headers = {}) =>
      Effect.flatMap(ask(pathOf(address), { headers }), (answer) => follow(answer, headers)),
    send: (path, fields) => Effect.flatMap(ask(path, asForm(fields)), (answer) => follow(answer, {})),
    at: () => current,
    cookie: (name) => [...jar.values()].findLast((cookie) => cookie.name === name)
  }
}

/** The name of the screen that a page or fragment shows. */
export const screenIn = ({ text }: TestResponse): string | undefined => /data-screen="([a-z_]+)"/.exec(text)?.[1]
