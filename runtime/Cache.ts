/** How long the caches of look-ups, each an `effect/Cache`, remember what they read. */
import type { Exit } from "effect"

/** How long a cache keeps a look-up: `millis` where it succeeded and `isKept`, else not at all, so it is asked anew. */
export const keepSuccess =
  <A>(millis: number, isKept: (value: A) => boolean = () => true) => <E>(exit: Exit.Exit<A, E>): number =>
    exit._tag === "Success" && isKept(exit.value) ? millis : 0
