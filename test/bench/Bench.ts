/** What every section of the bench is given. */
import type { DatabaseServer } from "./Database.ts"

export interface Bench {
  readonly server: DatabaseServer
  /** Interleaved rounds; figures are medians of them. */
  readonly rounds: number
  /** Times the service is killed by the `crash` section. */
  readonly kills: number
  /** How long the `chaos` section goes on, but for the calm at its end. */
  readonly minutes: number
  /** Invoices in the database that the `backup` section backs up. */
  readonly rows: number
  readonly seed: number
  /** Histories of each family that the `histories` section tries, and the one family it keeps to. */
  readonly histories: number
  readonly family: string | undefined
  /** Another working copy of the project to compare with in the same run, its dependencies installed. */
  readonly before: string | undefined
  readonly progress: (line: string) => void
}
