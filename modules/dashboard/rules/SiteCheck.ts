/** Whether a form comes from a page of our own: reads headers only. */
import { isLocalPage, ownOriginsOf } from "../../../schemas/Web.ts"

type RequestHeaders = Readonly<Record<string, string | undefined>>

/**
 * Whether a form was sent by a page of the dashboard. Browsers say where a request comes from (Fetch Metadata); those
 * that do not, name the page's origin. What says neither, or `null`, is refused: a dashboard moves money.
 */
export const isFromOwnPage = (headers: RequestHeaders, origin: string): boolean => {
  const { origin: sent, "sec-fetch-site": site } = headers
  const isOwn = sent !== undefined && ownOriginsOf(origin).has(sent)
  if (sent !== undefined && !isOwn) return false
  return site === undefined ? isOwn : site === "same-origin"
}

/** The cookies of a session, where the public address is `origin`. */
export interface SessionCookies {
  /** Needed by every page: sent also when a link of another site leads here. */
  readonly read: string
  /** Needed by every form: never sent when another site leads here. */
  readonly act: string
  readonly secure: boolean
}

/**
 * Names of the cookies. `__Host-` binds them to this host and to https; a browser takes no such cookie over http, which
 * only a service on the own machine speaks.
 */
export const sessionCookies = (origin: string): SessionCookies => {
  const secure = !(origin.startsWith("http:") && isLocalPage(origin))
  const prefix = secure ? "__Host-" : ""
  return { read: `${prefix}tillwire_read`, act: `${prefix}tillwire_act`, secure }
}

/** Where a visitor goes after signing in: a page of the dashboard; anything else is no such place. */
export const destinationOf = (text: string | null, base: string): string => {
  const home = `${base}/dashboard`
  return text !== null && /^\/(?![/\\])[\w\-./?=&%:~+,]*$/.test(text) && (text === home || text.startsWith(`${home}/`))
    ? text
    : home
}
