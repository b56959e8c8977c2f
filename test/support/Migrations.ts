/** The migrations of every owner of tables: the runtime, and each module that is in the tree. */
import { readdirSync } from "node:fs"
import type { Migrations } from "../../runtime/Plugin.ts"
import { runtimeMigrations } from "../../runtime/Tables.ts"

const modules = new URL("../../modules/", import.meta.url)

/** Modules with tables, by their folders, which are named as their plugins. */
const modulesWithTables = readdirSync(modules, { recursive: true, encoding: "utf8" })
  .flatMap((path) => path.endsWith("/migrations.ts") ? [path.slice(0, -"/migrations.ts".length)] : []).toSorted()

const migrationsOf = async (module: string): Promise<Migrations> => {
  const { migrations } = await import(new URL(`${module}/migrations.ts`, modules).href)
  return migrations
}

/** In the order in which they can run. */
export const allMigrations = async (): Promise<
  ReadonlyArray<{ readonly name: string; readonly migrations: Migrations }>
> => [
  { name: "runtime", migrations: runtimeMigrations },
  ...await Promise.all(modulesWithTables.map(async (name) => ({ name, migrations: await migrationsOf(name) })))
]
