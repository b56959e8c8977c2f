/** What stands in an event or an answer: plain JSON with a fixed order of keys. */

/** A snapshot as it stands on the wire; `object` names what it is. */
export type WireObject = { readonly object: string } & Readonly<Record<string, unknown>>
