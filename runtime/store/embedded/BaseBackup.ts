/**
 * A copy of a running embedded server, made by the server itself: the command BASE_BACKUP of PostgreSQL's replication
 * protocol, which the package of binaries has no program for. It begins and ends the backup, reads each file once,
 * checks the checksum of every page, and sends the log of changes that belongs to it.
 * Source: PostgreSQL documentation, "Streaming Replication Protocol" and "Message Formats".
 */
import { randomUUID } from "node:crypto"
import { connect, type Socket } from "node:net"
import { StoreError } from "../StoreError.ts"
import { backupRole } from "./Cluster.ts"

/** A piece of what the server sends, in this order: the size, one archive, its bytes, the manifest, its bytes. */
export type BaseBackupPart =
  /** About how many bytes the archive will have, without the log of changes. */
  | { readonly _tag: "Size"; readonly bytes: number }
  | { readonly _tag: "Archive"; readonly name: string }
  | { readonly _tag: "Manifest" }
  | { readonly _tag: "Bytes"; readonly bytes: Uint8Array }
  /** Bytes of the archive so far, of about `total` (0: the server does not say). */
  | { readonly _tag: "Progress"; readonly done: number }

/** Version 3.0 of the protocol, in the startup message. */
const protocolVersion = 196_608

/** Bytes of one message, at most. The server sends pieces of 32 KiB. */
const maximumMessageBytes = 16 * 1024 * 1024

/** Silence after which the server counts as gone. Its first answer waits for a checkpoint. */
const silenceMillis = 5 * 60_000

/** Megabytes a second that a backup reads, which PostgreSQL itself keeps to (`MAX_RATE`, in KiB). */
export const rateLimits = { atLeast: 1, atMost: 1_000, default: 20 } as const

const kibibytesPerMegabyte = 1_000_000 / 1_024

const commandOf = (rate: number): string =>
  "BASE_BACKUP (LABEL 'tillwire', PROGRESS true, CHECKPOINT 'fast', WAL true, WAIT true, "
  + `MAX_RATE ${Math.round(rate * kibibytesPerMegabyte)}, MANIFEST 'yes', MANIFEST_CHECKSUMS 'SHA256')`

/**
 * Keeps the log of changes from here on until the connection ends: the server would remove what a long backup still
 * needs of it, and fail it at its end. Source: PostgreSQL documentation, pg_basebackup, `--wal-method=fetch`.
 */
const keepLogCommand = (): string =>
  `CREATE_REPLICATION_SLOT tillwire_backup_${randomUUID().replaceAll("-", "")} TEMPORARY PHYSICAL RESERVE_WAL`

interface Message {
  readonly type: string
  readonly body: Buffer
}

const startupMessage = (): Buffer => {
  const fields = ["user", backupRole, "replication", "true", "application_name", "tillwire backup"]
  const text = Buffer.from(`${fields.join("\0")}\0\0`)
  const message = Buffer.alloc(8 + text.length)
  message.writeInt32BE(message.length, 0)
  message.writeInt32BE(protocolVersion, 4)
  text.copy(message, 8)
  return message
}

const queryMessage = (text: string): Buffer => {
  const body = Buffer.from(`${text}\0`)
  const message = Buffer.alloc(5 + body.length)
  message.write("Q", 0)
  message.writeInt32BE(body.length + 4, 1)
  body.copy(message, 5)
  return message
}

/** Fields of an error: each a letter and a text. */
const errorOf = (body: Buffer): StoreError => {
  const fields = new Map(
    body.toString("utf8").split("\0").filter((field) => field !== "").map((field) =>
      [field[0], field.slice(1)] as const
    )
  )
  const isRoleMissing = fields.get("C") === "28000" && fields.get("M")?.includes(`"${backupRole}" does not exist`)
  return isRoleMissing === true
    ? new StoreError({
      what: "This database was made by a build that took no backups, and lacks the account for them.",
      hint: "Stop the service and run the backup once while it is stopped: that adds the account."
    })
    : new StoreError({
      what: `The embedded database made no backup: ${fields.get("M") ?? "no message"}.`,
      hint: "Its messages are in postgres.log of the data directory."
    })
}

const connectionEnded = () =>
  new StoreError({
    what: "The embedded database ended the connection in the middle of the backup.",
    hint: "Run the backup again; the unfinished file was removed."
  })

async function* messagesOf(socket: Socket): AsyncGenerator<Message> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of socket) {
    rest = rest.length === 0 ? chunk as Buffer : Buffer.concat([rest, chunk as Buffer])
    let at = 0
    while (rest.length - at >= 5) {
      const length = rest.readInt32BE(at + 1)
      if (length < 4 || length > maximumMessageBytes) throw connectionEnded()
      if (rest.length - at < length + 1) break
      yield { type: String.fromCharCode(rest[at]!), body: rest.subarray(at + 5, at + 1 + length) }
      at += length + 1
    }
    rest = rest.subarray(at)
  }
}

const textAt = (body: Buffer, from: number): string => body.toString("utf8", from, body.indexOf(0, from))

/** Columns of a row as text; null where a column is. */
const columnsOf = (body: Buffer): ReadonlyArray<string | null> => {
  const columns: Array<string | null> = []
  let at = 2
  for (let count = body.readInt16BE(0); count > 0; count--) {
    const length = body.readInt32BE(at)
    at += 4
    columns.push(length < 0 ? null : body.toString("utf8", at, at + length))
    at += Math.max(0, length)
  }
  return columns
}

/** The second of the server's results lists tablespaces: their ids, places and sizes in KiB. */
const sizeResult = 2
const sizeColumn = 2

/** What a piece of copied data is, by its first byte. */
const partOf = (body: Buffer): BaseBackupPart => {
  const kind = String.fromCharCode(body[0] ?? 0)
  if (kind === "n") return { _tag: "Archive", name: textAt(body, 1) }
  if (kind === "m") return { _tag: "Manifest" }
  if (kind === "p") return { _tag: "Progress", done: Number(body.readBigInt64BE(1)) }
  return { _tag: "Bytes", bytes: body.subarray(1) }
}

/**
 * Everything that the server at a socket's directory sends at `rate` megabytes a second, whole or with a
 * {@link StoreError} thrown. Whoever reads slowly slows the server down, and nothing is kept in memory. Ending the
 * iteration ends the backup.
 */
export async function* baseBackup(socketDirectory: string, rate: number): AsyncGenerator<BaseBackupPart> {
  const socket = connect(`${socketDirectory}/.s.PGSQL.5432`)
  socket.setTimeout(silenceMillis, () => socket.destroy(connectionEnded()))
  let isComplete = false
  try {
    socket.write(startupMessage())
    const commands = [keepLogCommand(), commandOf(rate)]
    let results = 0
    for await (const { body, type } of messagesOf(socket)) {
      if (type === "E") throw errorOf(body)
      if (type === "R" && body.readInt32BE(0) !== 0) {
        throw new StoreError({
          what: "The embedded database asks for a password, which the account of backups does not have.",
          hint: "Run the backup as the account that runs the service, or as root."
        })
      }
      if (type === "T") results++
      if (type === "D" && commands.length === 0 && results === sizeResult) {
        yield { _tag: "Size", bytes: Number(columnsOf(body)[sizeColumn] ?? 0) * 1_024 }
      }
      if (type === "d") yield partOf(body)
      if (type !== "Z") continue
      // The server is ready: for the next command, and once more when all of the last one was sent.
      const next = commands.shift()
      if (next === undefined) {
        isComplete = true
        break
      }
      results = 0
      socket.write(queryMessage(next))
    }
    if (!isComplete) throw connectionEnded()
  } finally {
    socket.destroy()
  }
}
