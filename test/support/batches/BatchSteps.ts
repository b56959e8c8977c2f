/** What operators, wallets, networks and machines do in a history of batches: one step each. */
import { Effect } from "effect"
import { chooseOne, newKey, rollOf } from "../money/Shop.ts"
import type { MovedMoney } from "./PayingChain.ts"
import {
  approveAt,
  type Credential,
  decimalOf,
  type GivenExport,
  type KnownBatch,
  type Obligation,
  read,
  type StepContext,
  unitsOf,
  write
} from "./Operators.ts"

const credentialOf = ({ roll }: StepContext): Credential => (roll(2) === 0 ? "person" : "program")

const remember = ({ shop }: StepContext, kind: KnownBatch["kind"], id: string, lines: ReadonlyArray<Obligation>) => {
  const batch: KnownBatch = { id, kind, lines }
  shop.batches.push(batch)
  return batch
}

const newPayouts = ({ chain, roll, shop }: StepContext): ReadonlyArray<Obligation> => {
  // A list finds only the transfers of tokens, which leave logs.
  const listable = chain.tokens.filter(({ address }) => address !== null)
  const tokens = roll(2) === 0 && listable.length > 0 ? listable : chain.tokens
  return Array.from({ length: 1 + roll(3) }, (): Obligation => {
    const token = chooseOne(roll, tokens)!
    const one: Obligation = {
      to: chain.newReceiver(`${shop.seed} payout ${shop.obligations.length}`),
      token: token.address,
      units: unitsOf(token, 1_000 + roll(90_000)),
      decimals: token.decimals,
      refundId: null
    }
    shop.obligations.push(one)
    return one
  })
}

/** Lines of the merchant's own. */
export const makePayouts = Effect.fnUntraced(function*(context: StepContext) {
  const { chain, shop } = context
  const lines = newPayouts(context)
  const { json, status, text } = yield* write(context, "/api/v1/batches", {
    kind: "payouts",
    network: chain.network,
    from: shop.wallet,
    valid_for_seconds: yield* chain.validitySeconds,
    lines: lines.map(({ decimals, to, token, units }) => ({
      token_id: shop.tokenIds.get(chain.tokens.find(({ address }) => address === token)!.symbol),
      token_amount: decimalOf(units, decimals),
      destination: { address: to },
      reference: "history"
    }))
  }, credentialOf(context))
  if (status === 200) return void remember(context, "payouts", json.data.id, lines)
  if (json?.error?.code !== "BATCH_LIMIT_REACHED") shop.faults.push(`payouts were refused: ${text}`)
})

/** Refunds that wait: some by name, or all of the network. */
export const makeRefunds = Effect.fnUntraced(function*(context: StepContext) {
  const { chain, roll, shop } = context
  const refunds = shop.obligations.filter(({ refundId }) => refundId !== null)
  if (refunds.length === 0) return
  const named = refunds.filter(() => roll(2) === 0)
  const { json, status } = yield* write(context, "/api/v1/batches", {
    kind: "refunds",
    network: chain.network,
    from: shop.wallet,
    valid_for_seconds: yield* chain.validitySeconds,
    refund_ids: named.length === 0 ? "all" : named.map(({ refundId }) => refundId)
  }, credentialOf(context))
  if (status !== 200) return
  const { lines } = yield* read(context, `/api/v1/batches/${json.data.id}?expand=lines`)
  const held = new Set(lines.map((line: any) => line.refund_id ?? line.reference))
  remember(context, "refunds", json.data.id, refunds.filter(({ refundId }) => held.has(refundId)))
})

/** The newest batches: those before are mostly over. */
const someBatch = ({ roll, shop }: StepContext): KnownBatch | undefined =>
  chooseOne(roll, roll(3) === 0 ? shop.batches : shop.batches.slice(-3))

export const approve = Effect.fnUntraced(function*(context: StepContext) {
  const batch = someBatch(context)
  if (batch !== undefined) yield* approveAt(context, `/api/v1/batches/${batch.id}`, credentialOf(context))
})

export const cancel = Effect.fnUntraced(function*(context: StepContext) {
  const batch = someBatch(context)
  if (batch !== undefined) yield* write(context, `/api/v1/batches/${batch.id}/cancel`, {}, credentialOf(context))
})

/** Gives a part out; whatever was ever answered may be signed at any time from then on. Answers it. */
const giveOut = Effect.fnUntraced(function*(context: StepContext, batch: KnownBatch) {
  const { chain, roll, shop } = context
  const isListed = chain.isListing && roll(3) === 0 && batch.lines.every(({ token }) => token !== null)
  const format = isListed ? "csv" : chooseOne(roll, chain.formats)!
  const path = `/api/v1/batches/${batch.id}/export`
  const { json, status } = yield* write(context, path, { part: 1, format }, credentialOf(context))
  if (status !== 200) return null
  const { format: given, payload, valid_until: validUntil } = json.data
  const known = shop.given.find((each) => each.payload === payload)
  if (known !== undefined) return known
  const fresh: GivenExport = { batch, format: given, payload, validUntil }
  shop.given.push(fresh)
  return fresh
})

export const exportPart = Effect.fnUntraced(function*(context: StepContext) {
  const batch = someBatch(context)
  if (batch !== undefined) yield* giveOut(context, batch)
})

/** One signature in so many is of something else than what was given out: more where that may be paid twice. */
const changeOdds = ({ isGuardedChanged }: StepContext["chain"]): number => isGuardedChanged ? 12 : 4

const pay = Effect.fnUntraced(
  function*({ chain, roll, shop }: StepContext, { batch, payload, validUntil }: GivenExport) {
    if (validUntil !== null) {
      const how = roll(changeOdds(chain)) === 0 ? chooseOne(roll, chain.changes)! : "as_given"
      return yield* chain.sign(shop.wallet, payload, how, shop.thief, batch.id)
    }
    for (const line of batch.lines.filter(() => roll(3) > 0)) yield* chain.payLine(shop.wallet, line)
  }
)

/** The usual way: a batch is approved, given out and, mostly, signed at once. */
export const deliver = Effect.fnUntraced(function*(context: StepContext) {
  const { chain, roll, shop } = context
  const fresh = shop.batches.filter(({ id }) => !shop.given.some(({ batch }) => batch.id === id))
  const batch = chooseOne(roll, roll(5) === 0 || fresh.length === 0 ? shop.batches : fresh)
  if (batch === undefined) return
  yield* approveAt(context, `/api/v1/batches/${batch.id}`, "person")
  const given = yield* giveOut(context, batch)
  if (given === null || roll(3) === 0) return
  yield* pay(context, given)
  if (roll(3) > 0) yield* chain.mine(1)
})

const guarded = ({ shop }: StepContext) => shop.given.filter(({ validUntil }) => validUntil !== null)
const listed = ({ shop }: StepContext) => shop.given.filter(({ validUntil }) => validUntil === null)

/** Somebody signs an export: the newest, or any that was ever given out; early, late, or once more. */
export const sign = Effect.fnUntraced(function*(context: StepContext) {
  const { chain, roll } = context
  const all = guarded(context)
  const given = roll(2) === 0 ? all.at(-1) : chooseOne(roll, all)
  if (given === undefined) return
  for (let time = roll(4) === 0 ? 2 : 1; time > 0; time--) yield* pay(context, given)
  if (roll(2) === 0) yield* chain.mine(1)
})

/** Somebody pays lines of a list, each by a transfer of its own; some of them twice. */
export const payList = Effect.fnUntraced(function*(context: StepContext) {
  const { chain, roll, shop } = context
  const given = chooseOne(roll, listed(context))
  if (given === undefined) return
  for (const line of given.batch.lines.filter(() => roll(3) > 0)) {
    for (let time = roll(4) === 0 ? 2 : 1; time > 0; time--) yield* chain.payLine(shop.wallet, line)
  }
  yield* chain.mine(1)
})

/** Milliseconds that a look may take on a busy machine. */
const lookMillis = 30_000

/** Every batch that is looked for on its network is looked at now; others are due when they expire. */
export const look = Effect.fnUntraced(function*(context: StepContext) {
  const { chain, deployment, roll, shop } = context
  const { query } = deployment
  // One of which a page has told is due at that second, until it was looked for.
  const waiting = `SELECT count(*)::int AS count FROM batches WHERE merchant_id = ${shop.id}
    AND due_at <= extract(epoch FROM clock_timestamp())`
  const [due] = yield* query(
    `UPDATE batches SET due_at = 1 WHERE merchant_id = ${shop.id} AND due_at IS NOT NULL AND EXISTS (
      SELECT 1 FROM json_array_elements(parts) AS part WHERE (part ->> 'isWatched')::boolean
    ) RETURNING id`
  )
  if (due === undefined) return
  // Each process is woken by a page that says where to look, as one that has sent something does.
  for (let instance = 0; instance < deployment.instances; instance++) {
    yield* deployment.ask(instance, `/api/v1/batches/${due["id"]}/sent`, {
      method: "POST",
      headers: { ...shop.person, "idempotency-key": newKey(roll) },
      body: { part: 1, tx_hash: chain.newHash(roll) }
    })
  }
  const end = Date.now() + lookMillis
  while ((yield* query(waiting))[0]!["count"] > 0) {
    if (Date.now() > end) return void shop.faults.push("a batch was due and not looked at")
    yield* Effect.sleep(10)
  }
})

/** Transfers of lines that were paid before, as the chain has them now. */
const duplicates = Effect.fnUntraced(function*({ chain, shop }: StepContext) {
  const moved = (yield* chain.moved(shop.wallet)).filter(({ to }) => to !== shop.thief)
  return [...Map.groupBy(moved, ({ to }) => to)].filter(([, all]) => all.length > 1)
})

/** Blocks above a second transfer by which it must have been told. */
const tellingDepth = 3

/**
 * A look that had begun before a transfer came sees nothing of it, and endpoints that were wrong are asked again after
 * a pause: so long a real network takes for a few blocks, and none comes meanwhile.
 */
const tellingMillis = 40_000
const pauseMillis = 100

/** A second transfer that many blocks lie on was told before: an exception of it is there. */
export const tellDuplicates = Effect.fnUntraced(function*(context: StepContext) {
  const { chain, deployment, shop } = context
  // Only of these may a line be paid twice.
  if (chain.isGuardedChanged && shop.given.every(({ validUntil }) => validUntil !== null)) return
  const head = yield* chain.head
  const all = yield* duplicates(context)
  const isDeep = ({ height, txHash }: MovedMoney) => !shop.told.has(txHash) && head - height >= tellingDepth
  if (!all.some(([, moved]) => moved.some(isDeep))) return
  chain.heal()
  for (const end = Date.now() + tellingMillis;; yield* Effect.sleep(pauseMillis)) {
    yield* look(context)
    const rows = yield* deployment.query(
      `SELECT evidence ->> 'tx_hash' AS tx_hash, evidence ->> 'address' AS address FROM exceptions
      WHERE merchant_id = ${shop.id} AND type = 'duplicate_payout' AND (status = 'open' OR resolution IS NOT NULL)`
    )
    const untold = all.filter(([to, moved]) =>
      rows.filter((row) => row["address"] === to && moved.some(({ txHash }) => txHash === row["tx_hash"])).length <
        moved.length - 1
    )
    if (untold.length > 0 && Date.now() < end) continue
    for (const [to, moved] of untold) {
      const named = moved.map(({ height, txHash }) => `${txHash} in block ${height} of ${head}`).join(", ")
      shop.faults.push(`of ${moved.length} transfers to ${to} (${named}) some were not told`)
    }
    for (const { txHash } of all.flatMap(([, moved]) => moved)) shop.told.add(txHash)
    return
  }
})

/** Blocks come, and a second transfer is looked for before it is final. */
export const mine = Effect.fnUntraced(function*(context: StepContext, blocks: number) {
  const { chain } = context
  for (let left = blocks; left > 0; left -= tellingDepth) {
    yield* chain.mine(Math.min(tellingDepth, left))
    yield* tellDuplicates(context)
  }
})

/** Blocks that are not final go; a transfer that comes in another block is told of anew. */
export const reorganise = Effect.fnUntraced(function*({ chain, roll, shop }: StepContext) {
  yield* chain.reorganise(1 + roll(Math.max(1, chain.finality - 3)), roll)
  shop.told.clear()
})

/** Time passes until an export that was given out can no longer be executed. */
export const passTime = Effect.fnUntraced(function*({ chain, deployment, shop }: StepContext, seconds: number) {
  yield* chain.pass(seconds)
  // The service's own clock stands still here: what it gives out from now on would be over on the chain.
  yield* deployment.query(
    `UPDATE batches SET valid_for_seconds = valid_for_seconds + ${seconds} WHERE merchant_id = ${shop.id}`
  )
})

export const pass = Effect.fnUntraced(function*(context: StepContext) {
  const { chain, roll } = context
  yield* passTime(context, 200 + roll(400))
  if (roll(2) === 0) yield* mine(context, chain.finality + 1)
})

/** A refund that failed is to be tried again; whatever else moves a refund that a batch holds is refused. */
export const moveRefund = Effect.fnUntraced(function*(context: StepContext) {
  const { roll, shop } = context
  const refund = chooseOne(roll, shop.obligations.filter(({ refundId }) => refundId !== null))
  if (refund !== undefined) yield* write(context, `/api/v1/refunds/${refund.refundId}/retry`, {}, credentialOf(context))
})

const randomly = (context: StepContext): StepContext => ({ ...context, roll: rollOf(context.roll(2 ** 30)) })

/** Milliseconds into a step at which a process is killed, at most. */
const latestKill = 80

/** A process is killed while this is done. */
export const killDuring = <E>(context: StepContext, step: (own: StepContext) => Effect.Effect<unknown, E>) => {
  const { deployment, roll, shop } = context
  shop.kills++
  const kill = Effect.delay(deployment.killInstance(roll(deployment.instances)), roll(latestKill))
  return Effect.all([step(randomly(context)), kill], { concurrency: 2, discard: true })
}

/** Two act at once. */
export const race = <E>(
  context: StepContext,
  one: (own: StepContext) => Effect.Effect<unknown, E>,
  other: (own: StepContext) => Effect.Effect<unknown, E>
) => Effect.all([one(randomly(context)), other(randomly(context))], { concurrency: 2, discard: true })
