/** How a command ends: the sentence on stderr, and the exit code that scripts decide by. */
import { Cause, Exit, Predicate, Schema } from "effect"
import { isConfigFailure } from "../../runtime/config/Problem.ts"

/** Codes of the process (modules/docs/guides/cli.md#exit-codes). */
export const exitCodes = { done: 0, failed: 1, usage: 2, unauthorized: 3, notFound: 4, interrupted: 130 } as const

/** Why a command ends with another code than 0. */
export type FailureKind = "failed" | "usage" | "unauthorized" | "notFound"

/** A command could not do what it was asked for. `message` says what happened, `hint` what to do. */
export class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", {
  kind: Schema.Literals(["failed", "usage", "unauthorized", "notFound"]),
  reason: Schema.String,
  hint: Schema.optionalKey(Schema.String),
  /** The code of the API, where the service answered with one. */
  code: Schema.optionalKey(Schema.String)
}) {
  override get message() {
    return this.reason
  }
}

/** A failure of `kind`; `hint` says what to do. */
export const commandFailed = (kind: FailureKind, reason: string, hint?: string): CommandFailed =>
  new CommandFailed({ kind, reason, ...(hint === undefined ? {} : { hint }) })

/** The command line was read, and one of its values cannot be used. */
export const wrongUse = (reason: string, hint?: string): CommandFailed => commandFailed("usage", reason, hint)

/**
 * The exit code of a command. `ownCode` is what the command itself set before it was interrupted: a service that a
 * signal stopped in order ends with 0.
 */
export const exitCodeOf = (exit: Exit.Exit<unknown, unknown>, ownCode?: string | number | null): number => {
  if (Exit.isSuccess(exit)) return exitCodes.done
  if (Cause.hasInterruptsOnly(exit.cause)) return typeof ownCode === "number" ? ownCode : exitCodes.interrupted
  const error = Cause.squash(exit.cause)
  if (error instanceof CommandFailed) return exitCodes[error.kind]
  return isConfigFailure(error) || Predicate.isTagged(error, "ShowHelp") ? exitCodes.usage : exitCodes.failed
}
