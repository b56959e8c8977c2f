/** The script of the reference that checks approvals, as a reader copies it. */
import { Effect } from "effect"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { fileURLToPath, pathToFileURL } from "node:url"

/**
 * Whether an approval, as the API gives it, is signed by whom it names. `nodeUrl`: of a node, which accounts that are
 * contracts need.
 */
export type CheckApproval = (approval: any, nodeUrl?: string) => Promise<boolean>

const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url))

/** It stands below `node_modules` for as long as the scope lasts, where it finds packages as a reader's script would. */
export const approvalScript: Effect.Effect<CheckApproval, never, import("effect").Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.promise(async () => {
      const page = readFileSync(at("modules/docs/reference/approvals.md"), "utf8")
      const [, script = ""] = /```js\n([\s\S]*?)```/.exec(page) ?? []
      mkdirSync(at("node_modules/.cache"), { recursive: true })
      const directory = mkdtempSync(at("node_modules/.cache/approvals-"))
      const file = `${directory}/check.mjs`
      writeFileSync(file, script)
      const { check } = await import(/* @vite-ignore */ pathToFileURL(file).href)
      return { check: check as CheckApproval, directory }
    }),
    ({ directory }) => Effect.sync(() => rmSync(directory, { recursive: true }))
  ),
  // What cannot even be read is not signed by anybody.
  ({ check }) => (approval, nodeUrl) => check(approval, nodeUrl).catch(() => false)
)
