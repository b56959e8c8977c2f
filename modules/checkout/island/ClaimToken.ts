/** The token of a claim link (modules/docs/reference/refunds.md#claim-links): 256 bits in base64url. */

/** The token at the end of a link, or alone; undefined: the text has none. */
export const readClaimToken = (text: string): string | undefined => /^(?:\S*#t=)?([\w-]{43})$/.exec(text.trim())?.[1]
