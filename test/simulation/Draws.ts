/** Numbers that only depend on a seed: what a run decides is decided again by the same seed. */

export interface Draws {
  /** At least 0, below 1. */
  readonly fraction: () => number
  /** A whole number, at least 0, below `end`. */
  readonly below: (end: number) => number
  readonly oneOf: <A>(list: ReadonlyArray<A>) => A
  readonly happens: (probability: number) => boolean
}

/** Mulberry32. `purpose` gives a seed several sequences of which none changes when more is drawn of another. */
export const drawsOf = (seed: number, purpose: string): Draws => {
  let state = seed | 0
  for (let index = 0; index < purpose.length; index++) state = Math.imul(state ^ purpose.charCodeAt(index), 0x01000193)
  const fraction = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (end: number) => Math.floor(fraction() * end)
  return {
    fraction,
    below,
    oneOf: (list) => list[below(list.length)]!,
    happens: (probability) => fraction() < probability
  }
}
