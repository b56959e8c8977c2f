/**
 * Sends by a mail server of the operator's, over SMTP (RFC 5321) with TLS (RFC 8314), or without it to this very
 * machine. The library is loaded at the first message.
 */
import { Effect, FileSystem, Layer, Redacted, Schema } from "effect"
import { isAbsolute } from "node:path"
import { ConfigInvalid } from "../../../runtime/Config.ts"
import * as Plugin from "../../../runtime/Plugin.ts"
import { EmailAddress } from "../../../schemas/Web.ts"
import { MailRejected, Mails, MailUnavailable, messageIdOf, type OutgoingMail } from "../plugin.ts"

const name = "mail/smtp"

/** Milliseconds for each of: the address of the server, the connection, its greeting. */
const connectionTimeoutMillis = 10_000

/** Milliseconds that the server may be silent. */
const silenceTimeoutMillis = 20_000

/** Characters of what a server says that are kept in the log. */
const quotedCharacters = 200

const localHosts: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "::1"])

const Options = Schema.Struct({
  /** The mail server, by name: its certificate must be for this name. */
  host: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9.:-]{1,253}$/, { message: "Expected the name of a host" })),
  /** 1 to 65535; default 587, with `tls` "implicit" 465. */
  port: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 65_535 }))),
  /**
   * `starttls`, the default: begins in the clear and goes on only encrypted. `implicit`: encrypted from the start.
   * `none`: never, only to this very machine.
   */
  tls: Schema.optionalKey(Schema.Literals(["starttls", "implicit", "none"])),
  /** A file with the certificates (PEM) of an authority of your own; absent: those that Node knows. */
  caFile: Schema.optionalKey(
    Schema.String.check(Schema.makeFilter((path: string) => isAbsolute(path), { expected: "an absolute path" }))
  ),
  /** The account there, with `password`; absent: it takes messages from here without one. */
  user: Schema.optionalKey(Schema.NonEmptyString.check(Schema.isMaxLength(254))),
  /** By reference: `${file:…}` or `${env:…}`. */
  password: Schema.optionalKey(Schema.RedactedFromValue(Schema.NonEmptyString)),
  /** The address that messages come from; the server must let the account send as it. */
  from: EmailAddress.check(Schema.isPattern(/^[\x21-\x7e]+$/, { message: "Expected an address in ASCII" })),
  /** The name beside it; absent: none. */
  fromName: Schema.optionalKey(Schema.NonEmptyString.check(
    Schema.isMaxLength(100),
    Schema.isPattern(/^[^\p{C}"<>]+$/u, { message: "Expected a name on one line" })
  ))
}).check(
  Schema.makeFilter(({ host, tls }: { readonly host: string; readonly tls?: string }) =>
    tls !== "none" || localHosts.has(host) ||
    "tls \"none\" sends links in the clear: it is for localhost, 127.0.0.1 and ::1 only. Take \"starttls\""
  ),
  Schema.makeFilter(({ password, user }: { readonly password?: unknown; readonly user?: string }) =>
    (user === undefined) === (password === undefined) || "user and password go together: set both or none"
  )
)
export type SmtpOptions = typeof Options.Type

/** What the library says of a fault. */
interface SmtpFault {
  readonly code?: string
  readonly message?: string
  readonly command?: string
  readonly responseCode?: number
  readonly response?: string
}

/** Commands whose refusal for good is about this address or this message, and not about the account or the sender. */
const messageCommands: ReadonlySet<string> = new Set(["RCPT TO", "DATA"])

/**
 * Links and addresses are cut out of what a server says: a filter quotes the link that it refuses, whose token is good
 * still, and logs name nobody.
 */
const withoutSecrets = (text: string): string =>
  text.replace(/[\p{C}\s]+/gu, " ").replace(/\S*(?::\/\/|#t=|\/claim\/|\/invitation)\S*/gu, "<link>")
    .replace(/\S+@\S+/gu, "<address>").slice(0, quotedCharacters)

export const faultOf = (cause: unknown): MailRejected | MailUnavailable => {
  const { code = "unknown", command = "", message = "", response = message, responseCode } = (cause ?? {}) as SmtpFault
  const reason = withoutSecrets(`${code}${command === "" ? "" : ` at ${command}`}: ${response}`)
  return responseCode !== undefined && responseCode >= 500 && responseCode !== 503 && messageCommands.has(command)
    ? new MailRejected({ reason })
    : new MailUnavailable({ reason })
}

/** Sends over a connection of its own, which is closed when it is over or interrupted. */
export const makeSend = (options: SmtpOptions, ca: string | null, connectionMillis = connectionTimeoutMillis) => {
  const { from, fromName, host, password, port, tls = "starttls", user } = options
  const domain = from.slice(from.lastIndexOf("@") + 1)
  const library = Effect.tryPromise({
    try: () => import("nodemailer"),
    catch: (cause) => new MailUnavailable({ reason: `the library that sends mail did not load: ${String(cause)}` })
  })
  const open = Effect.map(
    library,
    ({ createTransport }) =>
      createTransport({
        host,
        port: port ?? (tls === "implicit" ? 465 : 587),
        secure: tls === "implicit",
        requireTLS: tls === "starttls",
        ignoreTLS: tls === "none",
        // What the service calls itself there: not the name of its machine.
        name: domain,
        ...(user === undefined || password === undefined ? {} : { auth: { user, pass: Redacted.value(password) } }),
        tls: { minVersion: "TLSv1.2", ...(ca === null ? {} : { ca }) },
        connectionTimeout: connectionMillis,
        greetingTimeout: connectionMillis,
        dnsTimeout: connectionMillis,
        socketTimeout: silenceTimeoutMillis,
        disableFileAccess: true,
        disableUrlAccess: true
      })
  )
  return ({ key, language, subject, text, to }: OutgoingMail): Effect.Effect<void, MailRejected | MailUnavailable> =>
    Effect.acquireUseRelease(
      open,
      (transport) =>
        Effect.tryPromise({
          try: () =>
            transport.sendMail({
              // As objects: in a text a comma or a bracket would make several addresses of one.
              envelope: { from: { name: "", address: from }, to: [{ name: "", address: to }] },
              from: { name: fromName ?? "", address: from },
              to: { name: "", address: to },
              subject,
              text,
              messageId: messageIdOf(key.merchantId, key.id, domain),
              // No answer by a machine is wanted (RFC 3834).
              headers: { "Auto-Submitted": "auto-generated", "Content-Language": language }
            }),
          catch: faultOf
        }),
      (transport) => Effect.sync(() => transport.close())
    ).pipe(Effect.asVoid)
}

export const plugin = Plugin.make({
  name,
  slot: "modules",
  options: Options,
  needs: { mail: Mails },
  layer: (options) =>
    Layer.effectDiscard(Effect.gen(function*() {
      const { caFile } = options
      const ca = caFile === undefined ? null : yield* (yield* FileSystem.FileSystem).readFileString(caFile).pipe(
        Effect.mapError(() =>
          new ConfigInvalid({
            report: `${caFile}: it is not there, or may not be read: let the account of the service read it`,
            count: 1
          })
        )
      )
      yield* (yield* Mails).register({ name, send: makeSend(options, ca) })
    }))
})
