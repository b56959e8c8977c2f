/**
 * What following a network has shown so far, as a state and the lines that tell of each change. Pure: the same events
 * that the service's follower gets.
 */
import type { ChainEvent, ChainPoint, LocatedTransfer, TransferIdentity } from "../../runtime/Chains.ts"

/** A transfer that was seen, and how deep it is; `gone`: it left the chain again. */
export interface Sighting {
  readonly transfer: LocatedTransfer
  readonly status: "seen" | "deep" | "final" | "gone"
}

export interface SightingState {
  /** The newest points, newest first: where following goes on after a failure. */
  readonly recent: ReadonlyArray<ChainPoint>
  /** Epoch seconds of the newest point; null: none. */
  readonly headTime: number | null
  readonly finalized: bigint | null
  readonly looks: number
  readonly sightings: ReadonlyMap<string, Sighting>
}

/** How deep a payment must be. */
export interface DepthGoal {
  /** Blocks of mainnet's policy `standard`. */
  readonly standardBlocks: number
  /** Blocks that stand in for finality where nodes have no mark of it. */
  readonly finalBlocks: number
}

const recentLimit = 128

export const initialState: SightingState = {
  recent: [],
  headTime: null,
  finalized: null,
  looks: 0,
  sightings: new Map()
}

const keyOf = ({ index, matchKey, txHash }: TransferIdentity) => `${txHash}:${index}:${matchKey}`

/** Blocks from a transfer's own, which counts as 1, to the head; 0: the head has not come so far. */
export const depthOf = ({ recent: [head] }: SightingState, { at }: LocatedTransfer): number =>
  head === undefined || head.height < at.height ? 0 : Number(head.height - at.height) + 1

const statusOf = (state: SightingState, { transfer }: Sighting, goal: DepthGoal): Sighting["status"] => {
  const depth = depthOf(state, transfer)
  const isFinal = state.finalized === null ? depth >= goal.finalBlocks : state.finalized >= transfer.at.height
  return isFinal ? "final" : depth >= goal.standardBlocks ? "deep" : "seen"
}

const statusWords: Readonly<Record<Exclude<Sighting["status"], "gone">, string>> = {
  seen: "seen",
  deep: "deep enough for mainnet's policy `standard`",
  final: "final"
}

const describe = (state: SightingState, { status, transfer }: Sighting): string =>
  status === "gone"
    ? `  ${transfer.txHash}: left the chain again`
    : `  ${transfer.txHash}: ${depthOf(state, transfer)} deep, ${statusWords[status]}`

/** Places a transfer in the block it is told with where it does not name its own. */
const placed = (event: Extract<ChainEvent, { _tag: "Forward" }>): ReadonlyArray<LocatedTransfer> =>
  event.transfers.map((transfer) => ({ ...transfer, at: transfer.at ?? { ...event.point, time: event.time } }))

const withGone = (
  state: SightingState,
  isGone: (transfer: LocatedTransfer) => boolean
): readonly [SightingState, ReadonlyArray<string>] => {
  const sightings = new Map(state.sightings)
  const lines: Array<string> = []
  for (const [key, { status, transfer }] of state.sightings) {
    if (status === "gone" || !isGone(transfer)) continue
    const gone: Sighting = { transfer, status: "gone" }
    sightings.set(key, gone)
    lines.push(describe(state, gone))
  }
  return [{ ...state, sightings }, lines]
}

const deepen = (state: SightingState, goal: DepthGoal): readonly [SightingState, ReadonlyArray<string>] => {
  const lines: Array<string> = []
  const sightings = new Map([...state.sightings].map(([key, sighting]) => {
    const status = sighting.status === "gone" ? "gone" : statusOf(state, sighting, goal)
    if (status !== sighting.status) lines.push(describe(state, { ...sighting, status }))
    return [key, { ...sighting, status }]
  }))
  return [{ ...state, sightings }, lines]
}

/** The next state and what to print. `show` writes a transfer that is seen for the first time. */
export const step = (
  state: SightingState,
  event: ChainEvent,
  goal: DepthGoal,
  show: (transfer: LocatedTransfer) => ReadonlyArray<string>
): readonly [SightingState, ReadonlyArray<string>] => {
  switch (event._tag) {
    case "Forward": {
      const sightings = new Map(state.sightings)
      const lines: Array<string> = []
      for (const transfer of placed(event)) {
        const known = sightings.get(keyOf(transfer))
        const isNews = known === undefined || known.status === "gone" || known.transfer.at.hash !== transfer.at.hash
        if (isNews) lines.push(...show(transfer))
        if (isNews) sightings.set(keyOf(transfer), { transfer, status: "seen" })
      }
      const recent = [event.point, ...state.recent].slice(0, recentLimit)
      const [next, deeper] = deepen({ ...state, recent, headTime: event.time, sightings }, goal)
      return [next, [...lines, ...deeper]]
    }
    case "Rollback": {
      const recent = state.recent.filter(({ height }) => height <= event.to.height)
      const [next, lines] = withGone({ ...state, recent }, ({ at }) => at.height > event.to.height)
      return [next, [`  the chain was reorganised above block ${event.to.height}`, ...lines]]
    }
    case "Gone": {
      const keys = new Set(event.transfers.map(keyOf))
      return withGone(state, (transfer) => keys.has(keyOf(transfer)))
    }
    case "Finality":
      return deepen({ ...state, finalized: event.finalized ?? state.finalized, looks: state.looks + 1 }, goal)
    case "Condition":
      return [
        state,
        event.condition === "ok" ? [] : [`  the driver says that the network is not usable now: ${event.condition}`]
      ]
  }
}

/** Whether something was paid, and all of it that is still on the chain is deep enough. */
export const isDone = ({ sightings }: SightingState): boolean => {
  const present = [...sightings.values()].filter(({ status }) => status !== "gone")
  return present.length > 0 && present.every(({ status }) => status !== "seen")
}
