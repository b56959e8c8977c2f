/**
 * Slots and times of Cardano: since Shelley a slot takes a second, so a network's slots and times differ by one number.
 * A server that tells other slots would have an export be valid for years. Pure.
 */

export const mainnetMagic = 764_824_073

/**
 * Epoch seconds of slot 0 if slots had always taken a second, by the network's magic number: mainnet's Shelley began at
 * 1,596,059,091 with slot 4,492,800, preprod's at 1,655,769,600 with slot 86,400, preview's at 1,666,656,000 with slot
 * 0. Source: the genesis files of book.world.dev.cardano.org/environments, and what 208 and 4 epochs of Byron's slots
 * of 20 seconds come to.
 */
const slotZeros: ReadonlyMap<number, number> = new Map([
  [mainnetMagic, 1_591_566_291],
  [1, 1_655_683_200],
  [2, 1_666_656_000]
])

/** An era as the API tells it: its start in seconds after the network's, and how long a slot takes. */
export interface Era {
  readonly start: { readonly time: number; readonly slot: number }
  readonly parameters: { readonly slot_length: number }
}

/** Epoch seconds of slot 0 by a server's word; null: it tells of no era whose slots take a second. */
export const slotZeroOf = (systemStart: number, eras: ReadonlyArray<Era>): number | null => {
  const era = eras.findLast(({ parameters }) => parameters.slot_length === 1)
  return era === undefined ? null : systemStart + era.start.time - era.start.slot
}

/** The slot of a time on a public network; null: the network is another one. */
export const slotAt = (networkMagic: number, time: number): bigint | null => {
  const zero = slotZeros.get(networkMagic)
  return zero === undefined ? null : BigInt(time - zero)
}

/** A sentence about a server whose slots are not those of its network; null: they are, or nobody knows. */
export const wrongSlots = (networkMagic: number, slotZero: number | null): string | null => {
  const expected = slotZeros.get(networkMagic)
  return expected === undefined || slotZero === null || slotZero === expected
    ? null
    : `counts its slots from ${slotZero}, and the network with the magic number ${networkMagic} counts them from ` +
      `${expected}: what it says of times cannot be relied on, use another server`
}
