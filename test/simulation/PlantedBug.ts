/** A bug that a scenario can be run with, to see that it is found. Nothing of the service knows of it. */
export interface PlantedBug {
  readonly name: string
  /** The promise that it breaks. */
  readonly promise: string
  /** What it makes of the text of a statement. */
  readonly statement?: (statement: string) => string
  /** What it makes of a function in the database. */
  readonly function?: { readonly name: string; readonly from: string; readonly to: string }
  /** A seed that finds it; where the code has changed since, others are searched. */
  readonly seed: number
  /** Only `npm run simulate -- --plants` looks for it: each costs the tests seconds. */
  readonly isLeftOut?: boolean
}
