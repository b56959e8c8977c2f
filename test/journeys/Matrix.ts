/**
 * Who may do what: a row for each operation of the served OpenAPI document, one status a credential. The rows of a
 * module that comes and goes are with its tests, and go with them.
 */
import { globSync, readFileSync } from "node:fs"
import matrix from "./matrix.json" with { type: "json" }

/** A row of the table: how to call the route, and the statuses in the order of {@link callers}. */
export interface Row {
  readonly route: string
  /** Tells rows of one route apart. */
  readonly case?: string
  /** Query string, where `{…}` is a resource. */
  readonly query?: string
  readonly body?: unknown
  /** What `{name}` of the path stands for, where it is not the resource of that name. */
  readonly path?: Readonly<Record<string, string>>
  readonly expect: string
}

export const callers: ReadonlyArray<string> = matrix.callers

const folder = new URL("../modules/", import.meta.url)

const brought = globSync("*/matrix.json", { cwd: folder.pathname }).toSorted().flatMap((path) =>
  (JSON.parse(readFileSync(new URL(path, folder), "utf8")) as { readonly rows: ReadonlyArray<Row> }).rows
)

export const rows: ReadonlyArray<Row> = [...matrix.rows as ReadonlyArray<Row>, ...brought]
