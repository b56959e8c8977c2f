/** What the steps of migrations send to the database: the text of each statement, in order. */
import { Effect, Tracer } from "effect"
import { SqlClient } from "effect/sql"
import { createHash } from "node:crypto"
import type { Migrations } from "../../runtime/Plugin.ts"

export interface RunStep {
  readonly owner: string
  readonly step: string
  /** Without comments, and with single blanks: a change of either changes nothing. */
  readonly statements: ReadonlyArray<string>
}

const plain = (text: string) => text.replaceAll(/--.*$/gm, "").replaceAll(/\s+/g, " ").trim()

/** Runs `step`, and answers the statements that it sent. */
export const statementsOfStep = <E, R>(step: Effect.Effect<unknown, E, R>) =>
  Effect.suspend(() => {
    const spans: Array<Tracer.Span> = []
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    })
    return step.pipe(
      Effect.withTracer(tracer),
      Effect.map(() => spans.flatMap(({ attributes }) => attributes.get("db.query.text") ?? []).map(String).map(plain))
    )
  })

/** Runs all steps of all owners on the connected database, which must be empty. */
export const runSteps = (owners: ReadonlyArray<{ readonly name: string; readonly migrations: Migrations }>) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const steps: Array<RunStep> = []
    for (const { migrations, name: owner } of owners) {
      for (const [step, run] of Object.entries(migrations).toSorted(([a], [b]) => a < b ? -1 : 1)) {
        steps.push({ owner, step, statements: yield* sql.withTransaction(statementsOfStep(run)) })
      }
    }
    return steps
  })

/** What stands for a step in `test/releases/<version>/steps.json`. */
export const fingerprintOfStep = ({ statements }: RunStep): string =>
  createHash("sha256").update(JSON.stringify(statements)).digest("hex")
