/**
 * What must hold after any history of batches, once all that was sent is final: judged from the chain's blocks and the
 * service's tables, by rules that are written here once more.
 */
import { Effect } from "effect"
import { look } from "./BatchSteps.ts"
import type { StepContext } from "./Operators.ts"
import type { MovedMoney } from "./PayingChain.ts"

type Row = Readonly<Record<string, any>>

/** All that a judge reads. */
interface Evidence {
  readonly context: StepContext
  readonly moved: ReadonlyArray<MovedMoney>
  readonly batches: ReadonlyArray<Row>
  readonly lines: ReadonlyArray<Row>
  readonly exports: ReadonlyArray<Row>
  readonly refunds: ReadonlyArray<Row>
  readonly proofs: ReadonlyArray<Row>
  readonly exceptions: ReadonlyArray<Row>
  readonly audit: ReadonlyArray<Row>
  readonly balances: ReadonlyArray<Row>
}

const gather = Effect.fnUntraced(function*(context: StepContext): Effect.fn.Return<Evidence> {
  const { chain, deployment: { query }, shop } = context
  const of = (table: string, columns = "*") => query(`SELECT ${columns} FROM ${table} WHERE merchant_id = ${shop.id}`)
  return {
    context,
    moved: yield* chain.moved(shop.wallet),
    batches: yield* of("batches"),
    lines: yield* of("batch_lines", "*, units::text AS units"),
    exports: yield* of("batch_exports", "batch_id, part, attempt, payload"),
    refunds: yield* of("refunds"),
    proofs: yield* of("payout_proofs"),
    exceptions: yield* of("exceptions"),
    audit: yield* of("audit_entries"),
    balances: yield* of("account_balances", "account, asset, units::text AS units")
  }
})

const isExecutionOf = ({ context: { chain } }: Evidence, batchId: string) => ({ guard }: MovedMoney) =>
  guard === chain.guardOf(batchId, 1)

/** The promise itself: no line is paid twice by what the chain guards, whoever signs what, how often and when. */
const judgeGuarded = ({ context: { shop }, moved }: Evidence) =>
  shop.obligations.flatMap(({ to }) => {
    const count = moved.filter((each) => each.to === to && each.isGuarded).length
    return count <= 1 ? [] : [`${to} was paid ${count} times by guarded exports`]
  })

const listOf = ({ context: { shop } }: Evidence): ReadonlySet<string> =>
  new Set(shop.given.flatMap(({ batch, validUntil }) => validUntil === null ? batch.lines.map(({ to }) => to) : []))

const isStanding = ({ resolution, status }: Row): boolean => status === "open" || resolution !== null

/** Each second transfer to a line has its exception, and nothing else has one. */
const judgeDuplicates = (evidence: Evidence) => {
  const { context: { shop }, exceptions, moved } = evidence
  return shop.obligations.flatMap(({ to }) => {
    const paid = moved.filter((each) => each.to === to)
    const standing = exceptions.filter((each) =>
      each["type"] === "duplicate_payout" && each["evidence"].address === to && isStanding(each)
    )
    const expected = Math.max(0, paid.length - 1)
    const named = new Set(standing.map((each) => each["evidence"].tx_hash))
    return standing.length === expected && named.size === expected &&
        standing.every((each) => paid.some(({ txHash }) => txHash === each["evidence"].tx_hash))
      ? []
      : [`${to} was paid ${paid.length} times, and ${standing.length} exceptions tell of it, not ${expected}`]
  })
}

/** Whatever malware took is an exception. */
const judgeThefts = ({ context: { shop }, exceptions, moved }: Evidence) => {
  const stolen = moved.filter(({ to }) => to === shop.thief)
  const told = exceptions.filter((each) =>
    each["type"] === "payout_mismatch" && each["evidence"].address === shop.thief && isStanding(each)
  )
  return stolen.length === told.length
    ? []
    : [`${stolen.length} transfers went to somebody else, and ${told.length} exceptions tell of it`]
}

const isSame = (one: string | null, other: string | null): boolean => one?.toLowerCase() === other?.toLowerCase()

/** A line that is paid was paid by one transfer, which pays nothing else; and what executed a batch paid its lines. */
const judgeLines = (evidence: Evidence) => {
  const { batches, context: { chain, shop }, lines, moved } = evidence
  const lists = listOf(evidence)
  const faults: Array<string> = []
  const names = new Set<string>()
  for (const line of lines) {
    const { batch_id: batchId, destination: { address: to }, status, tx_hash: txHash, transfer_index: index } = line
    const name = `the line ${line["line"]} of ${batchId} is ${status}`
    const toLine = moved.filter((each) => each.to === to)
    const isDecided = ({ to: receiver }: MovedMoney) => chain.isDecidedByLine !== true || receiver === to
    const executions = moved.filter(isExecutionOf(evidence, batchId)).filter(isDecided)
    const own = toLine.filter(isExecutionOf(evidence, batchId))
    const isListed = shop.given.some((each) => each.batch.id === batchId && each.validUntil === null)
    if (status === "paid") {
      const proof = toLine.find((each) =>
        each.txHash === txHash && each.units === BigInt(line["units"]) && isSame(each.token, line["token_address"])
      )
      if (proof === undefined) faults.push(`${name}, and ${txHash} does not pay it`)
      else if (!proof.isFinal) faults.push(`${name}, and ${txHash} is not final`)
      const transfer = `${txHash} ${index}`
      if (names.has(transfer)) faults.push(`${name}, and ${transfer} pays another line, too`)
      names.add(transfer)
    } else if (own.length > 0) faults.push(`${name}, and ${own[0]!.txHash} pays it`)
    else if (status === "mismatch" && executions.length === 0) faults.push(`${name}, and nothing executed its batch`)
    else if (executions.length > 0 && status !== "mismatch") faults.push(`${name}, and its batch was executed`)
    else if (isListed && toLine.length > 0 && lists.has(to)) faults.push(`${name}, and ${toLine[0]!.txHash} pays it`)
    if (status === "seen") faults.push(`${name}, when everything is final`)
    if (status === "released" && batches.some(({ closed_at: at, id }) => id === batchId && at === null)) {
      faults.push(`${name}, and its batch is open`)
    }
  }
  return faults
}

const openStatuses = new Set(["pending_approval", "ready", "open"])

/** The status that the parts and lines of a batch come to. */
const statusOf = (batch: Row, lines: ReadonlyArray<Row>): string => {
  const parts: ReadonlyArray<Row> = batch["parts"]
  const isIdle = ({ status }: Row) => status === "ready" || status === "lapsed"
  const isDone = ({ status }: Row) => status === "paid" || status === "mismatch"
  if (parts.every((part) => isDone(part) || (batch["is_canceled"] && isIdle(part)))) {
    const paid = lines.filter(({ status }) => status === "paid").length
    if (paid === lines.length) return "paid"
    if (paid > 0) return "partly_paid"
    return parts.some((part) => part["export"] !== null) ? "expired" : "canceled"
  }
  if (!parts.every(isIdle)) return "open"
  return batch["approvals"].length < batch["approvals_required"] ? "pending_approval" : "ready"
}

/** States are those of the reference, and what is over is looked for no more. */
const judgeStates = (evidence: Evidence) => {
  const { batches, context: { shop }, lines, moved } = evidence
  return batches.flatMap((batch) => {
    const { closed_at: closedAt, due_at: dueAt, id, status } = batch
    const name = `${id} is ${status}`
    const expected = statusOf(batch, lines.filter((line) => line["batch_id"] === id))
    const parts: ReadonlyArray<Row> = batch["parts"]
    const faults = status === expected ? [] : [`${name}, and its parts come to ${expected}`]
    if (openStatuses.has(status) !== (closedAt === null)) faults.push(`${name}, closed at ${closedAt}`)
    const isWatched = parts.some((part) => part["isWatched"])
    // One that is looked for nowhere is due while it is open: when it expires.
    const isDue = isWatched || openStatuses.has(status)
    if (isDue !== (dueAt !== null)) faults.push(`${name}, looked for: ${isWatched}, due at ${dueAt}`)
    for (const part of parts) {
      const isListed = part["export"]?.validUntil === null
      const isExecuted = moved.some(isExecutionOf(evidence, id))
      if (!isListed && ["out", "seen"].includes(part["status"])) faults.push(`${name}: a part is ${part["status"]}`)
      if (part["status"] === "lapsed" && isExecuted) faults.push(`${name}: its part lapsed, and the chain has it`)
      if (part["unexpected"].length > 0) faults.push(`${name}: ${part["unexpected"].length} transfers are unexpected`)
      if (part["export"] !== null && batch["approvals"].length < batch["approvals_required"]) {
        faults.push(`${name}: nobody approved what was given out`)
      }
    }
    if (!shop.batches.some((known) => known.id === id)) faults.push(`${name}, and nobody was told of it`)
    return faults
  })
}

/** A refund succeeded where a line of it is paid, and only there; one proof for each. */
const judgeRefunds = ({ batches, lines, proofs, refunds }: Evidence) => {
  const faults: Array<string> = []
  const open = new Set(batches.filter(({ closed_at: at }) => at === null).map(({ id }) => id))
  for (const { batch, failure_code: failure, id, status, tx_hash: txHash } of refunds) {
    const own = lines.filter((line) => line["refund_id"] === id)
    const paid = own.filter((line) => line["status"] === "paid")
    const name = `the refund ${id} is ${status}`
    if (paid.length > 1) faults.push(`${name}, and ${paid.length} lines paid it`)
    if ((status === "succeeded") !== (paid.length === 1)) faults.push(`${name}, and ${paid.length} lines paid it`)
    if (status === "succeeded" && paid[0]?.["tx_hash"] !== txHash) faults.push(`${name} by ${txHash}, its line is not`)
    if (status === "failed" && failure !== "payout_mismatch") faults.push(`${name}: ${failure}`)
    const holding = own.filter((line) => line["status"] === "pending" || line["status"] === "seen")
    if (holding.length > 1) faults.push(`${name}, and ${holding.length} open lines are to pay it`)
    if (batch !== null && (status !== "processing" || !open.has(batch.id))) {
      faults.push(`${name}, and is held by ${batch.id}`)
    }
    if (batch === null && holding.length > 0) faults.push(`${name}, and is in ${holding[0]!["batch_id"]} unheld`)
    const proven = proofs.filter((proof) => proof["refund_id"] === id)
    if (proven.length !== paid.length) faults.push(`${name}, with ${proven.length} proofs`)
  }
  return faults
}

/** What the books took out of the wallets, and what came in: as the chain has it, to the base unit. */
const judgeBooks = ({ balances, context: { chain, shop }, moved }: Evidence) =>
  chain.tokens.flatMap(({ address, symbol }) => {
    const asset = `${chain.network}:${address ?? "native"}`
    const booked = balances
      .filter((each) => each["account"].startsWith("chain:") && isSame(each["asset"], asset))
      .reduce((sum, each) => sum + BigInt(each["units"]), 0n)
    const left = moved.filter(({ token }) => isSame(token, address)).reduce((sum, { units }) => sum + units, 0n)
    const expected = (shop.received.get(symbol) ?? 0n) - left
    return booked === expected ? [] : [`${asset}: the chain has ${expected}, the books have ${booked}`]
  })

/** Every act is in the audit log, once. */
const judgeAudit = ({ audit, batches, exports }: Evidence) =>
  batches.flatMap(({ approvals, id, is_canceled: isCanceled }) => {
    const expected: Readonly<Record<string, number>> = {
      create: 1,
      approve: approvals.length,
      cancel: isCanceled ? 1 : 0,
      export: exports.filter((each) => each["batch_id"] === id).length
    }
    return Object.entries(expected).flatMap(([verb, times]) => {
      const rows = audit.filter((row) => row["subject"].id === id && row["action"] === `batch.${verb}`)
      return rows.length === times ? [] : [`${id}: ${times} times ${verb}, ${rows.length} in the audit log`]
    })
  })

/** Whatever was given out had been stored first. */
const judgeExports = ({ context: { shop }, exports }: Evidence) =>
  shop.given.flatMap(({ batch, payload }) =>
    exports.some((each) => each["batch_id"] === batch.id && each["payload"] === payload)
      ? []
      : [`an export of ${batch.id} was given out and is not kept`]
  )

const judgeOnce = Effect.fnUntraced(function*(context: StepContext) {
  const evidence = yield* gather(context)
  const checked = yield* context.deployment.check(context.shop.id)
  return [
    ...judgeGuarded(evidence),
    ...judgeDuplicates(evidence),
    ...judgeThefts(evidence),
    ...judgeLines(evidence),
    ...judgeStates(evidence),
    ...judgeRefunds(evidence),
    ...judgeBooks(evidence),
    ...judgeAudit(evidence),
    ...judgeExports(evidence),
    ...checked.map((each) => `ledger.check: ${JSON.stringify(each)}`)
  ]
})

/** What a process still had to do is done by then. */
const patienceMillis = 20_000
const againMillis = 250

/** Adds what is wrong and stays wrong to the faults of the history. */
export const judgeBatches = Effect.fnUntraced(function*(context: StepContext) {
  const end = Date.now() + patienceMillis
  for (;;) {
    const faults = yield* judgeOnce(context)
    if (faults.length === 0) return
    if (Date.now() > end) return void context.shop.faults.push(...faults)
    yield* Effect.sleep(againMillis)
    // One that failed is repeated after a pause that is longer than this.
    yield* look(context)
  }
})
