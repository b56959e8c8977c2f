/**
 * Which migrations an older version of the service survives. While a service of several instances is upgraded, the
 * older version runs over the tables of the newer one: what it reads must be there, and what it writes must be taken.
 */

/** The parts of an `ALTER TABLE` between its commas, but for those in parentheses. */
const actionsOf = (text: string): ReadonlyArray<string> => {
  const actions: Array<string> = []
  let depth = 0
  let action = ""
  for (const letter of text) {
    if (letter === "(") depth++
    if (letter === ")") depth--
    if (letter === "," && depth === 0) {
      actions.push(action.trim())
      action = ""
    } else action += letter
  }
  return [...actions, action.trim()]
}

const objectionToAction = (action: string): string | null => {
  if (/^rename\b/i.test(action)) return "the older version asks for the old name"
  if (/^drop (?!constraint)/i.test(action)) return "the older version still reads and writes it"
  if (/^drop constraint\b/i.test(action)) return "the newer version may write what the older one does not expect"
  if (/^add (constraint|check|unique|primary key|foreign key|exclude)\b/i.test(action)) {
    return "what the older version writes may be refused"
  }
  if (/^add\b/i.test(action)) {
    const isRequired = /\bnot null\b/i.test(action) && !/\bdefault\b|\bgenerated\b/i.test(action)
    if (isRequired) return "the older version writes rows without it: give it a default, or let it be null"
    return /\b(unique|check|references|primary key)\b/i.test(action)
      ? "what the older version writes may be refused"
      : null
  }
  if (/^alter\b.*\b(set data type|type)\b/i.test(action)) return "the older version reads and writes the old type"
  if (/^alter\b.*\bset not null\b/i.test(action)) return "the older version may write null"
  if (/^alter\b.*\bdrop not null\b/i.test(action)) return "the older version does not expect null"
  if (/^alter\b.*\bdrop default\b/i.test(action)) return "the older version relies on the default"
  return null
}

const tableOf = (text: string) => text.replace(/^(if (not )?exists|only)\s+/i, "").split(/[\s(]/)[0]!.toLowerCase()

/** What stands against one statement; null: nothing. `ownTables` were made by the same step or one before it. */
const objectionToStatement = (statement: string, ownTables: ReadonlySet<string>): string | null => {
  const [, altered] = /^alter table (.*)$/is.exec(statement) ?? []
  if (altered !== undefined) {
    const table = tableOf(altered)
    if (ownTables.has(table)) return null
    const name = altered.replace(/^(if exists|only)\s+/i, "")
    return actionsOf(name.slice(name.search(/\s/) + 1)).map(objectionToAction).find((found) => found !== null) ?? null
  }
  const [, dropped] = /^drop table (.*)$/is.exec(statement) ?? []
  if (dropped !== undefined) {
    return ownTables.has(tableOf(dropped))
      ? null
      : "the older version still reads and writes it"
  }
  if (/^drop (?!index)/i.test(statement)) return "the older version may still use it"
  if (/^create or replace function/i.test(statement)) {
    return "the older version calls it too: give the new body a new name, such as webhook_claim_v2"
  }
  const [, unique] = /^create unique index .*? on (.*)$/is.exec(statement) ?? []
  if (unique !== undefined && !ownTables.has(tableOf(unique))) return "what the older version writes may be refused"
  const [, emptied] = /^(?:truncate(?: table)?|delete from) (.*)$/is.exec(statement) ?? []
  if (emptied !== undefined && !ownTables.has(tableOf(emptied))) return "the older version may still need the rows"
  return null
}

/** The statements of a step that the older version does not survive, each with the reason. Pure. */
export const objectionsTo = (statements: ReadonlyArray<string>): ReadonlyArray<string> => {
  const ownTables = new Set<string>()
  return statements.flatMap((statement) => {
    const [, created] = /^create (?:unlogged )?table (.*)$/is.exec(statement) ?? []
    if (created !== undefined) ownTables.add(tableOf(created))
    const objection = objectionToStatement(statement, ownTables)
    return objection === null ? [] : [`${statement}: ${objection}`]
  })
}
