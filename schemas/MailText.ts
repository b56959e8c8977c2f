/** Texts of others as parts of a message by e-mail. Pure. */

/** Characters of a name in a message, at most. */
const maximumNameCharacters = 60

/**
 * A text that somebody else chose, such as a shop's name, as a part of a line of a message: on one line, without marks
 * that nobody sees, cut, and with a space behind each point, because mail programs make links of what looks like one.
 */
export const nameInMail = (text: string): string => {
  const plain = text.normalize("NFKC").replace(/[\p{C}\p{Z}]+/gu, " ").trim()
    .replaceAll("://", ": ").replace(/([.。@])(?=\S)/gu, "$1 ")
  const characters = [...plain]
  return characters.length <= maximumNameCharacters ? plain : `${characters.slice(0, maximumNameCharacters).join("")}…`
}
