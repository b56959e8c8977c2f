/**
 * Keys for every purpose, all derived from the master secrets (modules/docs/reference/conventions.md#secrets). The
 * masters come from the settings, or from a key file in the data directory on devnet.
 */
import { Context, Effect, FileSystem, Layer, Option, Path, Schema } from "effect"
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes
} from "node:crypto"
import { Settings } from "./Settings.ts"

/** One purpose, one HKDF label: a key for one is useless for another. */
export type SecretLabel =
  | "session"
  | "pepper"
  | "webhook"
  | "jwt"
  | "reply"
  | "personal"
  | "mail"
  | "receipt"
  | "retained"

/** A column of sealed values, which a rotation of the master key seals anew. */
export interface SealedColumn {
  /** Has a primary key. Where it has a `version` too, each new seal raises it, as every other write of the row does. */
  readonly table: string
  readonly column: string
  /** The label its values are sealed under. */
  readonly label: SecretLabel
}

/** A derived key that is known without its master, see `runtime/secrets/RetainedKeys.ts`. */
export interface RetainedKey {
  readonly label: SecretLabel
  readonly id: number
  readonly bytes: Buffer
}

/** A derived 32-byte key; `id` (0 to 255, a hash of the master) tells which master it came from. */
export interface DerivedKey {
  readonly id: number
  /** A key object, not bytes: handing raw bytes to node:crypto anew each time costs three to seven times the work. */
  readonly key: KeyObject
}

export class Secrets extends Context.Service<Secrets, {
  /** Newest first: the first one makes, all of them check. Never empty. Retained ones come last. */
  readonly keys: (label: SecretLabel) => readonly [DerivedKey, ...ReadonlyArray<DerivedKey>]
  /** AES-256-GCM under the newest key of `label`: key id, nonce, tag and ciphertext in base64. */
  readonly seal: (label: SecretLabel, plain: string) => string
  /** Opens what {@link seal} made under any master still configured; `undefined` if none fits or it was altered. */
  readonly open: (label: SecretLabel, sealed: string) => string | undefined
}>()("tillwire/runtime/Secrets") {}

/** Bytes of a master key and of every key derived from it. */
const keyBytes = 32
/** AES-GCM's own sizes: a random nonce of 96 bits, a tag of 128. */
const nonceBytes = 12
const tagBytes = 16

/** Name of the devnet key file in the data directory. */
export const masterFile = "master.key"

const labels: ReadonlyArray<SecretLabel> = [
  "session",
  "pepper",
  "webhook",
  "jwt",
  "reply",
  "personal",
  "mail",
  "receipt",
  "retained"
]

/** The masters cannot be used: what is wrong and what to do. Never holds a key. */
export class SecretsError extends Schema.TaggedError<SecretsError>()("SecretsError", { reason: Schema.String }) {
  override get message() {
    return this.reason
  }
}

/** The 32 bytes a master is written as: 64 hex digits, or base64 (standard or URL alphabet). */
export const parseMaster = (text: string): Option.Option<Buffer> => {
  const hex = /^[0-9a-fA-F]{64}$/.test(text)
  const base64 = /^[A-Za-z0-9+/_-]{43}=?$/.test(text)
  const bytes = hex ? Buffer.from(text, "hex") : base64 ? Buffer.from(text, "base64") : Buffer.alloc(0)
  return bytes.length === keyBytes ? Option.some(bytes) : Option.none()
}

/** Tells masters apart in what was made with them: the first byte of a hash of the master, so it is safe to show. */
export const idOf = (master: Buffer): number =>
  createHash("sha256").update("tillwire master id\0").update(master).digest()[0] ?? 0

const derive = (master: Buffer, label: SecretLabel): DerivedKey => ({
  id: idOf(master),
  key: createSecretKey(Buffer.from(hkdfSync("sha256", master, Buffer.alloc(0), `tillwire/${label}`, keyBytes)))
})

/** 64 hex digits that identify a master key; the key cannot be found from them. */
export type CheckValue = string

/** The {@link CheckValue} of a master: a derived key of its own, hashed once more. */
export const checkValueOf = (master: Buffer): CheckValue =>
  createHash("sha256").update(Buffer.from(hkdfSync("sha256", master, Buffer.alloc(0), "tillwire/check", keyBytes)))
    .digest("hex")

/** Check values of the master keys in use, for `runtime/secrets/MasterCheck.ts`. */
export class MasterKeys extends Context.Service<MasterKeys, {
  /** Newest first, never empty. */
  readonly values: ReadonlyArray<CheckValue>
  /** The {@link DerivedKey.id} of each, in the same order. */
  readonly ids: ReadonlyArray<number>
  /**
   * Adds derived keys of masters that are not configured any more: they check and open, and never make. Fails where one
   * has the id of another key.
   */
  readonly retain: (keys: ReadonlyArray<RetainedKey>) => Effect.Effect<void, SecretsError>
  /** The setting or file they come from. */
  readonly keptIn: string
  /** Whether `keptIn` is a file that the service creates where there is none. */
  readonly isFile: boolean
  /** Writes the file if this start found none: its key is a draft until the database is known to fit it. */
  readonly keepDraft: Effect.Effect<void, SecretsError> | undefined
}>()("tillwire/runtime/secrets/MasterKeys") {}

type Keys = readonly [DerivedKey, ...ReadonlyArray<DerivedKey>]

/** The keys of some masters. */
interface KeyRing {
  readonly secrets: Secrets["Service"]
  readonly retain: MasterKeys["Service"]["retain"]
}

/** The keys of `masters`, newest first. Fails when two share an id: their values could not be told apart. */
export const makeKeyRing = (
  masters: readonly [Buffer, ...ReadonlyArray<Buffer>]
): Effect.Effect<KeyRing, SecretsError> => {
  const ids = masters.map(idOf)
  const duplicate = ids.findIndex((id, index) => ids.indexOf(id) !== index)
  if (duplicate !== -1) {
    return Effect.fail(
      new SecretsError({
        reason: `secrets.master[${
          ids.indexOf(ids[duplicate] ?? 0)
        }] and [${duplicate}] have the same key id: make another key`
      })
    )
  }
  const [newest, ...older] = masters
  const derivedKeys = new Map(
    labels.map((label): readonly [SecretLabel, Keys] => [
      label,
      [derive(newest, label), ...older.map((master) => derive(master, label))]
    ])
  )
  const keys = (label: SecretLabel): Keys => derivedKeys.get(label) ?? [derive(newest, label)]
  const retainOne = ({ bytes, id, label }: RetainedKey) => {
    const retained: DerivedKey = { id, key: createSecretKey(bytes) }
    const other = keys(label).find((key) => key.id === id)
    if (other === undefined) return Effect.sync(() => void derivedKeys.set(label, [...keys(label), retained]))
    // Its master is still configured.
    if (other.key.equals(retained.key)) return Effect.void
    return Effect.fail(
      new SecretsError({
        reason: "A master key of secrets.master has the key id of one that was used before, so that what the two made "
          + "could not be told apart: make another key (openssl rand -hex 32)"
      })
    )
  }
  return Effect.succeed({
    secrets: { keys, seal: sealWith(keys), open: openWith(keys) },
    retain: (retainedKeys) => Effect.forEach(retainedKeys, retainOne, { discard: true })
  })
}

/** The service over `masters` alone, newest first. */
export const fromMasters = (
  masters: readonly [Buffer, ...ReadonlyArray<Buffer>]
): Effect.Effect<Secrets["Service"], SecretsError> => Effect.map(makeKeyRing(masters), ({ secrets }) => secrets)

/** Layout in base64: key id (1 byte), nonce (12), tag (16), ciphertext. The label is authenticated beside it. */
const sealWith = (keys: Secrets["Service"]["keys"]) => (label: SecretLabel, plain: string): string => {
  const [key] = keys(label)
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv("aes-256-gcm", key.key, nonce).setAAD(Buffer.from(label))
  const text = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()])
  return Buffer.concat([Buffer.of(key.id), nonce, cipher.getAuthTag(), text]).toString("base64")
}

/** Base64 digits, in order (RFC 4648). */
const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

/**
 * A regular expression that is true of what was sealed under a key with this id, for JavaScript and PostgreSQL. The
 * first byte is the first digit of base64 and two bits of the second one.
 */
export const sealedPattern = (id: number): string => {
  const secondDigits = base64Digits.slice((id & 3) << 4, ((id & 3) << 4) + 16)
  return `^[${base64Digits[id >> 2]}][${secondDigits}]`
}

const openWith = (keys: Secrets["Service"]["keys"]) => (label: SecretLabel, sealedText: string): string | undefined => {
  const bytes = Buffer.from(sealedText, "base64")
  const key = keys(label).find((candidate) => candidate.id === bytes[0])
  if (key === undefined || bytes.length < 1 + nonceBytes + tagBytes) return undefined
  const nonce = bytes.subarray(1, 1 + nonceBytes)
  const tag = bytes.subarray(1 + nonceBytes, 1 + nonceBytes + tagBytes)
  const decipher = createDecipheriv("aes-256-gcm", key.key, nonce, { authTagLength: tagBytes })
    .setAAD(Buffer.from(label))
    .setAuthTag(tag)
  const text = bytes.subarray(1 + nonceBytes + tagBytes)
  // `final` throws when the tag does not fit: altered, or made under another key.
  return Option.getOrUndefined(
    Option.liftThrowable(() => decipher.update(text, undefined, "utf8") + decipher.final("utf8"))()
  )
}

/** Reads the masters, or on a deployment without mainnet the key file; where there is none it drafts a key. */
const masters = Effect.gen(function*() {
  const settings = yield* Settings
  if (settings.secrets !== undefined) {
    const [first, ...rest] = yield* Effect.forEach(
      settings.secrets.master,
      (text, index) =>
        Option.match(parseMaster(text), {
          onSome: Effect.succeed,
          onNone: () =>
            new SecretsError({
              reason: `secrets.master[${index}] is not 32 bytes in hex or base64: openssl rand -hex 32`
            })
        })
    )
    return { keys: [first, ...rest] as const, keptIn: "secrets.master", isFile: false, keepDraft: undefined }
  }
  if (settings.environments.includes("mainnet")) {
    return yield* new SecretsError({
      reason: "mainnet needs a master key: set secrets.master to [\"${file:/path}\"] or [\"${env:NAME}\"] "
        + "with 32 bytes (openssl rand -hex 32), and keep a copy: without it no stored secret can be read"
    })
  }
  const path = yield* Path.Path
  const file = path.join(settings.dataDirectory, masterFile)
  const { keep, text } = yield* keyFile(file)
  return Option.match(parseMaster(text), {
    onSome: (master) => ({ keys: [master] as const, keptIn: file, isFile: true, keepDraft: keep }),
    onNone: () => undefined
  }) ?? (yield* new SecretsError({ reason: `${file} is not 32 bytes in hex: restore it, or remove it with the data` }))
})

/**
 * The text of the key file. Where it is absent, the text of a draft beside it, and how to keep that one: whether a new
 * key may be made is known only once the database was asked, and a start that is refused must not leave a key that does
 * not fit. Processes that start together share the draft; it is removed when it is kept, or when the scope closes.
 */
const keyFile = Effect.fnUntraced(function*(file: string) {
  const fs = yield* FileSystem.FileSystem
  const services = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
  const draft = `${file}.new`
  const readKeyFile = fs.readFileString(file).pipe(
    Effect.map((text) => text.trim()),
    Effect.catchReason("PlatformError", "NotFound", () => Effect.undefined),
    Effect.mapError((error) => new SecretsError({ reason: `${file} cannot be used: ${error.message}` }))
  )
  const storedText = yield* readKeyFile
  if (storedText !== undefined) return { text: storedText, keep: undefined }
  const text = yield* Effect.acquireRelease(
    ensureSecretFile(draft, () => randomBytes(keyBytes).toString("hex")),
    () => Effect.ignore(fs.remove(draft))
  )
  // A process that started together with this one may have kept its draft since.
  const concurrentText = yield* readKeyFile
  if (concurrentText !== undefined) return { text: concurrentText, keep: undefined }
  const keep = Effect.gen(function*() {
    if ((yield* ensureSecretFile(file, () => text)) !== text) {
      return yield* new SecretsError({ reason: `another process has just written another key to ${file}: start again` })
    }
    // Not with the scope: a process that is killed must not leave a second copy of the key for years.
    yield* Effect.ignore(fs.remove(draft))
  })
  return { text, keep: Effect.provide(keep, services) }
})

/**
 * The secret in `file`, made once and kept with mode 600. Written beside it and linked into place, so that it is never
 * half there, and of two processes that start together both read the same one.
 */
export const ensureSecretFile = (
  file: string,
  make: () => string
): Effect.Effect<string, SecretsError, FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    yield* fs.makeDirectory(path.dirname(file), { recursive: true, mode: 0o700 })
    if (!(yield* fs.exists(file))) {
      const draft = `${file}.${randomBytes(8).toString("hex")}`
      yield* fs.writeFileString(draft, `${make()}\n`, { flag: "wx", mode: 0o600 })
      yield* fs.link(draft, file).pipe(
        Effect.catchReason("PlatformError", "AlreadyExists", () => Effect.void),
        Effect.ensuring(Effect.ignore(fs.remove(draft)))
      )
    }
    return (yield* fs.readFileString(file)).trim()
  }).pipe(Effect.mapError((error) => new SecretsError({ reason: `${file} cannot be used: ${error.message}` })))

export const layer: Layer.Layer<Secrets | MasterKeys, SecretsError, Settings | FileSystem.FileSystem | Path.Path> =
  Layer
    .effectContext(Effect.gen(function*() {
      const { isFile, keepDraft, keptIn, keys } = yield* masters
      const { retain, secrets } = yield* makeKeyRing(keys)
      return Context.make(Secrets, secrets).pipe(
        Context.add(MasterKeys, {
          values: keys.map(checkValueOf),
          ids: keys.map(idOf),
          retain,
          keptIn,
          isFile,
          keepDraft
        })
      )
    }))
