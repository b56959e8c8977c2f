/** Databases for simulations, on the server of the test run or on one of their own. */
import { randomBytes } from "node:crypto"
import { Client } from "pg"
import { fullTemplate, template, type TestServer } from "../support/Database.ts"
import type { DatabaseAddress } from "./SimulatedDatabase.ts"
import type { Scenario } from "./Simulation.ts"

const onServer = async (server: TestServer, statement: string): Promise<void> => {
  const client = new Client({ ...server, user: server.username, database: "postgres" })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

/** Runs `use` with a new database that is dropped afterwards. */
export const withDatabase = async <A>(
  server: TestServer,
  scenario: Scenario,
  use: (address: DatabaseAddress) => Promise<A>
): Promise<A> => {
  const database = `simulation_${randomBytes(8).toString("hex")}`
  const from = scenario.template === "all" ? fullTemplate : template
  await onServer(server, `create database ${database} template ${from} strategy file_copy`)
  try {
    return await use({ ...server, database })
  } finally {
    await onServer(server, `drop database ${database} with (force)`)
  }
}
