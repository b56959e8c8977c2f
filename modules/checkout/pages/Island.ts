/** The script of the payment page as browsers get it. */
import { stripTypeScriptTypes } from "node:module"

/** Comments on lines of their own, indentation and empty lines, and the room that types leave. */
const unread = /^\s*\/\*\*[^]*?\*\/\s*?\n|^\s*\/\/.*\n|^\s+| +(?= )/gm

/** Texts, which stay as they are, and signs with the spaces around them. */
const spaced = /("[^"\n]*"|`[^`]*`)| ?([-+*=<>{}(),:?&|]+) ?/g

/**
 * Makes one classic script of `island.ts`: without types and comments, without the `export` that tests import by, and
 * with a scope of its own. It shortens no name, so that a payor's report names what the source names.
 * The source has no text that spans lines or holds two spaces, which the test of this function would see.
 */
export const islandScript = (source: string): string => {
  const lines = stripTypeScriptTypes(source, { mode: "strip" }).replace(unread, "").replace(/^export /gm, "")
  return `(()=>{"use strict"\n${lines.replace(spaced, (_, text?: string, sign?: string) => text ?? sign ?? "")}})()\n`
}
