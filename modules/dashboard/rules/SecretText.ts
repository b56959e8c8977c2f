/** Texts by which money can be taken: private keys and recovery phrases. None of them belongs into a form. Pure. */

/**
 * As a field's `pattern`, which browsers check without a script before anything is sent. 32 bytes in hex alone are a
 * key; what receives has more beside them. A phrase is twelve words or more, in any language; a list of numbers is how
 * wallets of Solana export a key, and so are 86 to 90 digits of base58.
 */
const secrets = [
  "(?:[\\s\\S]*[\\s,;])?(?:[tuvxyzTUVXYZ]prv|suiprivkey|[a-z]+_x?sk1)[0-9a-zA-Z]{16}[\\s\\S]*",
  "\\s*(?:0x)?[0-9a-fA-F]{64}\\s*",
  "\\s*[5KL][1-9A-HJ-NP-Za-km-z]{50,51}\\s*",
  "\\s*[1-9A-HJ-NP-Za-km-z]{86,90}\\s*",
  "\\s*\\[\\s*\\d[\\d\\s,]{60,}\\]\\s*",
  "\\s*(?:[\\p{L}\\p{M}]{1,8}[\\s,]+){11,}[\\p{L}\\p{M}]{1,8}\\s*"
].join("|")

/** The pattern of texts that are no secret, for the attribute. */
export const publicPattern = `(?!(?:${secrets})$)[\\s\\S]+`

const secretPattern = new RegExp(`^(?:${secrets})$`, "v")

/** Whether a text looks like something that lets its reader take money. */
export const looksSecret = (text: string): boolean => secretPattern.test(text)
