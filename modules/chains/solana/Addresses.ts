/** Addresses of Solana: programs that matter here, and the token account of an owner and a mint. Pure. */
import { ed25519 } from "@noble/curves/ed25519.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { concatBytes, utf8ToBytes } from "@noble/hashes/utils.js"
import { base58 } from "@scure/base"
import { Result } from "effect"

/** Owner of every wallet that is no program's account. */
export const systemProgram = "11111111111111111111111111111111"
/** SPL Token and Token-2022. Source of the ids: `declare_id!` of each program (github.com/solana-program). */
export const tokenProgram = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
export const token2022Program = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"
/** Mints and token accounts belong to one of these. */
export const tokenPrograms: ReadonlySet<string> = new Set([tokenProgram, token2022Program])
/** The memo program that every cluster has. */
export const memoProgram = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"
/** The memo program, its first version, and the one that newer clients name. */
export const memoPrograms: ReadonlySet<string> = new Set([
  memoProgram,
  "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo",
  "Memo4c2pwuUyTPR9KrzzxNaQcvubdu5E6DAs3aEAa3S"
])
/** Its account says what time it is on the chain. */
export const clockSysvar = "SysvarC1ock11111111111111111111111111111111"

/** Makes token accounts at the addresses of {@link associatedTokenAccount}. */
export const associatedTokenProgram = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"
/** Says what a transaction may cost. */
export const computeBudgetProgram = "ComputeBudget111111111111111111111111111111"
/** Metaplex Token Metadata, where SPL tokens have their names. */
const metadataProgram = base58.decode("metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s")
const addressMarker = utf8ToBytes("ProgramDerivedAddress")

/** Whether 32 bytes are a point of the curve, by the rule of `curve25519-dalek`, which is looser than RFC 8032. */
const isOnCurve = (bytes: Uint8Array): boolean =>
  Result.isSuccess(Result.try(() => ed25519.Point.fromBytes(bytes, true)))

/** Whether somebody can have the private key of an address. Those that programs derive have none. */
export const canSign = (address: string): boolean => isOnCurve(base58.decode(address))

/**
 * Address that a program derives from seeds: the first below bump 255 that is no public key (Solana documentation,
 * "Program derived addresses").
 */
const programAddress = (seeds: ReadonlyArray<Uint8Array>, program: Uint8Array): string => {
  for (let bump = 255; bump >= 0; bump--) {
    const candidate = sha256(concatBytes(...seeds, Uint8Array.of(bump), program, addressMarker))
    if (!isOnCurve(candidate)) return base58.encode(candidate)
  }
  // Each try fails for one half of all seeds.
  throw new Error("no address can be derived from these seeds")
}

/**
 * Where an owner's tokens of a mint arrive. `program`: the one that the mint belongs to.
 *
 * @example
 * associatedTokenAccount(owner, "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", tokenProgram)
 */
export const associatedTokenAccount = (owner: string, mint: string, program: string): string =>
  programAddress(
    [base58.decode(owner), base58.decode(program), base58.decode(mint)],
    base58.decode(associatedTokenProgram)
  )

/** Where Metaplex keeps the name of an SPL token. */
export const metadataAccount = (mint: string): string =>
  programAddress([utf8ToBytes("metadata"), metadataProgram, base58.decode(mint)], metadataProgram)
