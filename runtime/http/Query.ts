/** The query of a request's URL. Pure. */

/**
 * The parameters after the first `?`. Takes any text: a request's URL may be none that `new URL` reads, as `//%zz/a`
 * is.
 */
export const queryOf = (url: string): URLSearchParams => {
  const start = url.indexOf("?")
  return new URLSearchParams(start === -1 ? "" : url.slice(start + 1))
}
