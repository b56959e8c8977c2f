/**
 * Challenges that prove by themselves that they were made here, for one use and until when, so that nothing is kept
 * until one is answered. Whoever uses them chooses how their bytes are written, and notes those that were answered.
 */

/** The end of its time in epoch seconds, which also orders them; random bytes; the hash that proves it. */
const endBytes = 6
const randomBytes = 12
const hashBytes = 14

/** Random bytes that a challenge needs, at least. */
export const challengeRandomBytes = randomBytes

/** Bytes of a challenge. */
const challengeBytes = endBytes + randomBytes + hashBytes

const hashOfHead = (head: Uint8Array, hashOf: (head: string) => string): Buffer =>
  Buffer.from(hashOf(Buffer.from(head).toString("hex")), "hex").subarray(0, hashBytes)

/** A challenge. `hashOf`: a keyed hash, hex, of its beginning and of what it is for, of 14 bytes or more. */
export const formChallenge = (random: Uint8Array, expiresAt: number, hashOf: (head: string) => string): Buffer => {
  const end = Buffer.alloc(endBytes)
  end.writeUIntBE(expiresAt, 0, endBytes)
  const head = Buffer.concat([end, random.subarray(0, randomBytes)])
  return Buffer.concat([head, hashOfHead(head, hashOf)])
}

/** When a challenge ends that was made under one of the hashes; undefined for all other bytes. */
export const readChallenge = (
  bytes: Uint8Array,
  hashesOf: (head: string) => ReadonlyArray<string>
): number | undefined => {
  if (bytes.length !== challengeBytes) return undefined
  const head = bytes.subarray(0, endBytes + randomBytes)
  const hash = bytes.subarray(head.length)
  const candidates = hashesOf(Buffer.from(head).toString("hex"))
  return candidates.some((candidate) => hashOfHead(head, () => candidate).equals(hash))
    ? Buffer.from(head).readUIntBE(0, endBytes)
    : undefined
}
