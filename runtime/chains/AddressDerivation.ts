/** Derives addresses of wallets in slices, and keeps them for whoever gives them out. */
import { Effect } from "effect"
import { machineMillis } from "../Clock.ts"
import type { Family } from "../../schemas/Network.ts"
import type { IndexedWallet } from "../Chains.ts"
import type { ChainsRepo, WalletAddress } from "./ChainsRepo.ts"

/** Milliseconds of derivation before everything else has its turn: one takes 0.4 ms. */
export const sliceMillis = 3

/** Addresses stored at once. */
const chunkSize = 100

export const yieldToEventLoop = Effect.promise<void>(() => new Promise((resolve) => void setImmediate(resolve)))

export const range = (from: number, to: number): ReadonlyArray<number> =>
  Array.from({ length: Math.max(0, to - from) }, (_, place) => from + place)

export const make = Effect.fnUntraced(function*(repo: ChainsRepo) {
  const millis = yield* machineMillis
  let total = yield* repo.addressCount

  /** Derives `indices` in slices, so that nobody waits for more than a few milliseconds of it, and keeps them. */
  const derive = Effect.fnUntraced(function*(wallet: IndexedWallet, family: Family, indices: ReadonlyArray<number>) {
    for (let offset = 0; offset < indices.length; offset += chunkSize) {
      const chunk: Array<WalletAddress> = []
      let sliceStart = millis()
      for (const walletIndex of indices.slice(offset, offset + chunkSize)) {
        chunk.push({ ...wallet.derive(walletIndex), family, fingerprint: wallet.fingerprint, walletIndex })
        if (millis() - sliceStart < sliceMillis) continue
        yield* yieldToEventLoop
        sliceStart = millis()
      }
      total += yield* repo.storeAddresses(wallet.fingerprint, family, chunk)
    }
  })

  /** Derives what is missing of a wallet's indices in [from, to). */
  const deriveMissing = Effect.fnUntraced(function*(wallet: IndexedWallet, family: Family, from: number, to: number) {
    const end = Math.min(to, wallet.size ?? Number.POSITIVE_INFINITY)
    if (end <= from) return
    const present = new Set(yield* repo.derivedIndices(wallet.fingerprint, from, end))
    yield* derive(wallet, family, range(from, end).filter((index) => !present.has(index)))
  })

  /**
   * Claims and derives the next `count` indices from `from` on that no other instance derives; the index behind them.
   * Null: none, because those below `below` are claimed.
   */
  const deriveClaimed = Effect.fnUntraced(function*(
    wallet: IndexedWallet,
    family: Family,
    { below, count, from }: { readonly from: number; readonly count: number; readonly below: number | null }
  ) {
    // The addresses of a list are only read.
    const start = wallet.size === null
      ? yield* repo.claimDerivation({ fingerprint: wallet.fingerprint, from, count, below })
      : from
    if (start === null) return null
    yield* deriveMissing(wallet, family, start, start + count)
    return start + count
  })

  return {
    deriveMissing,
    deriveClaimed,
    /** Addresses that are derived and were not given out, of all wallets, as far as this instance counted. */
    total: () => total
  }
})
