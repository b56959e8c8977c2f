/** Tags that name what a caller has already. Pure. */

/** Whether an `If-None-Match` header names `etag`, strong or weak; compared weakly (RFC 9110, section 13.1.2). */
export const matchesEtag = (header: string | undefined, etag: string): boolean =>
  header !== undefined &&
  (header.trim() === "*" || header.split(",").some((each) => strong(each.trim()) === strong(etag)))

const strong = (tag: string): string => tag.replace(/^W\//, "")
