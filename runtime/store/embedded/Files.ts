/** Local files of the embedded server: every failure says which path, and what the operator can do. */
import { Effect } from "effect"
import { reasonOf, StoreError } from "../StoreError.ts"

const hints: Readonly<Record<string, string>> = {
  EACCES: "Give the user of this process write permission there, or set data.directory to a directory it owns.",
  EPERM: "Give the user of this process ownership of it, or set data.directory to a directory it owns.",
  EROFS: "That file system is read-only: set data.directory to one that can be written.",
  ENOSPC: "The disk is full: free some space and start again.",
  EDQUOT: "The disk quota is used up: free some space and start again.",
  ENOTDIR: "A part of that path is a file: set data.directory to a directory.",
  ENOENT: "A directory of that path is missing: check the path, and that its file system takes writes.",
  EEXIST: "A file is in the way: set data.directory to a directory."
}

/** Runs file system work; a failure becomes `StoreError` with the path (Node's message has it) and a hint by code. */
export const attempt = <A>(what: string, work: () => A): Effect.Effect<A, StoreError> =>
  Effect.try({
    try: work,
    catch: (cause) => {
      const code = String((cause as { readonly code?: unknown }).code)
      const hint = hints[code] ?? "Check that directory, or set data.directory to another one."
      return new StoreError({ what: `${what}: ${reasonOf(cause)}.`, hint, cause })
    }
  })
