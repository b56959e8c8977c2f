/** Why no backup was made, or one cannot be used. */
import { Schema } from "effect"

/** `what` happened, and `hint` what to do about it; neither holds a key. */
export class BackupError extends Schema.TaggedError<BackupError>()("BackupError", {
  what: Schema.String,
  hint: Schema.String
}) {
  override get message() {
    return `${this.what} ${this.hint}`
  }
}
