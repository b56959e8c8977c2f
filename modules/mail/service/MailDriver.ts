/** What a driver of mail is, and how messages are named that it sends. */
import { type Effect, Schema } from "effect"
import { createHash } from "node:crypto"
import type { Language } from "../../../schemas/Languages.ts"

/** A message as a driver gets it. */
export interface OutgoingMail {
  /** One that is the same for each attempt at it; without the part behind `@`, which is the driver's. */
  readonly key: { readonly merchantId: number; readonly id: string }
  readonly to: string
  readonly language: Language
  /** One line. */
  readonly subject: string
  readonly text: string
}

/** The server will never take this message to this address: it is not tried again. `reason` names no address. */
export class MailRejected extends Schema.TaggedError<MailRejected>()("MailRejected", { reason: Schema.String }) {
  override get message() {
    return this.reason
  }
}

/** It could not be sent now, or the server says to try later. `reason` names no address. */
export class MailUnavailable
  extends Schema.TaggedError<MailUnavailable>()("MailUnavailable", { reason: Schema.String })
{
  override get message() {
    return this.reason
  }
}

export interface MailDriver {
  /** Its config entry. */
  readonly name: string
  /**
   * Succeeds once a server has taken the message. Called again for the same one after a crash, with the same key. An
   * error, a defect and silence for 40 s all mean that it is tried again; only {@link MailRejected} ends it. Null: no
   * mail is sent, and no message is ever made.
   */
  readonly send: ((mail: OutgoingMail) => Effect.Effect<void, MailRejected | MailUnavailable>) | null
}

/** The same for each attempt at a message, so that mail programs show a copy once; it says nothing of the merchant. */
export const messageIdOf = (merchantId: number, id: string, domain: string): string =>
  `<${createHash("sha256").update(`mail ${merchantId}\n${id}`).digest("hex").slice(0, 40)}@${domain}>`
