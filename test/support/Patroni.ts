/**
 * A database that fails over, of Debian's own programs: three PostgreSQL servers under Patroni, which agree by etcd on
 * which of them is the primary, and haproxy, which leads connections to it.
 */
import { Effect, type Scope } from "effect"
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process"
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { get } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Client } from "pg"
import { freePort } from "./Ports.ts"
import { until } from "./Service.ts"

/** Where Debian puts the programs of its servers: one folder a major version. */
const serverFolder = "/usr/lib/postgresql"

const programs = ["patroni", "etcd", "haproxy"]

/** What this machine lacks for the rig; empty: nothing. */
export const missingPrograms = (): ReadonlyArray<string> => [
  ...programs.filter((program) => spawnSync(program, ["--version"]).error !== undefined),
  ...(existsSync(serverFolder) ? [] : ["postgresql"])
]

/** How often haproxy asks each node whether it is the primary, and how many answers decide. */
const checkMillis = 500
const checksDown = 2

/** Seconds of Patroni: how long a primary is one that says nothing, which may not be less, and its pauses. */
const leaderSeconds = 20
const loopSeconds = 2

/** Milliseconds that the first start and a return of a node may take. */
const startPatienceMillis = 120_000

/** One PostgreSQL server and its Patroni. */
interface Node {
  readonly name: string
  readonly folder: string
  readonly port: number
  readonly restPort: number
  process: ChildProcess
}

export interface FailoverDatabase {
  /** By way of haproxy. */
  readonly url: string
  readonly query: (text: string) => Effect.Effect<ReadonlyArray<Record<string, any>>>
  /** Ends the primary at once, as a machine that loses its power; answers its name. */
  readonly killPrimary: Effect.Effect<string>
  /** Starts what was killed, and waits until all nodes follow the primary. */
  readonly restoreNodes: Effect.Effect<void>
}

const database = "tillwire"
const superuser = "postgres"

const statusOf = (url: string): Effect.Effect<number> =>
  Effect.callback((resume) => {
    const request = get(url, { agent: false, timeout: 1_000 }, (response) => {
      response.resume()
      resume(Effect.succeed(response.statusCode ?? 0))
    })
    request.once("timeout", () => request.destroy(new Error("timeout")))
    request.once("error", () => resume(Effect.succeed(0)))
  })

const configOf = (
  { folder, name, port, restPort }: Omit<Node, "process">,
  etcdPort: number,
  binaries: string
) => ({
  scope: "tillwire",
  name,
  restapi: { listen: `127.0.0.1:${restPort}`, connect_address: `127.0.0.1:${restPort}` },
  etcd3: { host: `127.0.0.1:${etcdPort}` },
  bootstrap: {
    dcs: {
      ttl: leaderSeconds,
      loop_wait: loopSeconds,
      retry_timeout: 5,
      maximum_lag_on_failover: 1_048_576,
      synchronous_mode: true,
      postgresql: { use_pg_rewind: true, use_slots: true, parameters: { max_connections: 200, wal_log_hints: "on" } }
    },
    initdb: [{ encoding: "UTF8" }, { locale: "C.UTF-8" }, "data-checksums"]
  },
  postgresql: {
    listen: `127.0.0.1:${port}`,
    connect_address: `127.0.0.1:${port}`,
    data_dir: join(folder, "data"),
    bin_dir: binaries,
    pgpass: join(folder, "pgpass"),
    pg_hba: ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"],
    authentication: {
      superuser: { username: superuser },
      replication: { username: "replicator", password: "replicator" }
    },
    parameters: { unix_socket_directories: folder }
  }
})

const haproxyConfig = (port: number, nodes: ReadonlyArray<Node>): string =>
  `global
  maxconn 400
defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
listen primary
  bind 127.0.0.1:${port}
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter ${checkMillis}ms fall ${checksDown} rise 1 on-marked-down shutdown-sessions
${nodes.map(({ name, port, restPort }) => `  server ${name} 127.0.0.1:${port} check port ${restPort}\n`).join("")}`

/** A process of the account that PostgreSQL runs as; its group ends with the scope. */
const accountOf = (name: string) => {
  const [, , uid, gid] = execFileSync("getent", ["passwd", name], { encoding: "utf8" }).split(":")
  return { uid: Number(uid), gid: Number(gid) }
}

const killGroup = ({ pid }: ChildProcess) => {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL")
  } catch {
    // It has ended.
  }
}

/** Kills Patroni first, so that it cannot start the server again, and the server with it. */
const killNode = (node: Node) => {
  killGroup(node.process)
  const file = join(node.folder, "data", "postmaster.pid")
  if (!existsSync(file)) return
  try {
    process.kill(Number(readFileSync(file, "utf8").split("\n")[0]), "SIGKILL")
  } catch {
    // It has ended.
  }
}

/** The rig, ready, with an empty database; it ends with the scope. Needs root and all of {@link missingPrograms}. */
export const failoverDatabase: Effect.Effect<FailoverDatabase, never, Scope.Scope> = Effect.gen(function*() {
  const account = accountOf("postgres")
  const version = readdirSync(serverFolder).toSorted((a, b) => Number(b) - Number(a))[0]!
  const binaries = join(serverFolder, version, "bin")
  const root = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const folder = mkdtempSync(join(tmpdir(), "till-failover-"))
      chmodSync(folder, 0o755)
      return folder
    }),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
  )
  const folderOf = (name: string): string => {
    const folder = join(root, name)
    mkdirSync(folder)
    chownSync(folder, account.uid, account.gid)
    return folder
  }
  const run = (command: string, words: ReadonlyArray<string>): ChildProcess =>
    spawn(command, words, { ...account, cwd: root, detached: true, stdio: "ignore" })
  const runScoped = (command: string, words: ReadonlyArray<string>) =>
    Effect.acquireRelease(
      Effect.sync(() => run(command, words)),
      (child) => Effect.sync(() => killGroup(child))
    )

  const [etcdPort, peerPort] = [yield* freePort, yield* freePort]
  const urlOf = (port: number) => `http://127.0.0.1:${port}`
  yield* runScoped("etcd", [
    ...["--name", "agreement", "--data-dir", folderOf("etcd")],
    ...["--listen-client-urls", urlOf(etcdPort), "--advertise-client-urls", urlOf(etcdPort)],
    ...["--listen-peer-urls", urlOf(peerPort), "--initial-advertise-peer-urls", urlOf(peerPort)],
    ...["--initial-cluster", `agreement=${urlOf(peerPort)}`]
  ])
  yield* until("etcd answers", statusOf(`${urlOf(etcdPort)}/health`), (status) => status === 200)

  const startNode = (node: Omit<Node, "process">) => run("patroni", [join(node.folder, "patroni.json")])
  const nodes = yield* Effect.forEach(["one", "two", "three"], (name) =>
    Effect.gen(function*() {
      const node = { name, folder: folderOf(name), port: yield* freePort, restPort: yield* freePort }
      writeFileSync(join(node.folder, "patroni.json"), JSON.stringify(configOf(node, etcdPort, binaries)))
      return yield* Effect.acquireRelease(
        Effect.sync((): Node => ({ ...node, process: startNode(node) })),
        (made) => Effect.sync(() => killNode(made))
      )
    }))

  const stands = (node: Node, role: "primary" | "replica") => statusOf(`${urlOf(node.restPort)}/${role}`)
  const primary: Effect.Effect<Node | undefined> = Effect.map(
    Effect.forEach(nodes, (node) => Effect.map(stands(node, "primary"), (status) => ({ node, status }))),
    (found) => found.find(({ status }) => status === 200)?.node
  )
  const areWhole = Effect.gen(function*() {
    const primaries = yield* Effect.forEach(nodes, (node) => stands(node, "primary"))
    const replicas = yield* Effect.forEach(nodes, (node) => stands(node, "replica"))
    const good = (statuses: ReadonlyArray<number>) => statuses.filter((status) => status === 200).length
    return good(primaries) === 1 && good(replicas) === nodes.length - 1
  })
  const whole = until("a primary and two replicas", areWhole, (is) => is, startPatienceMillis)
  yield* whole

  const port = yield* freePort
  writeFileSync(join(root, "haproxy.cfg"), haproxyConfig(port, nodes))
  yield* runScoped("haproxy", ["-db", "-f", join(root, "haproxy.cfg")])

  const onServer = (name: string, text: string) =>
    Effect.promise(async () => {
      const client = new Client({ host: "127.0.0.1", port, user: superuser, database: name })
      client.on("error", () => undefined)
      await client.connect()
      try {
        return (await client.query(text)).rows as ReadonlyArray<Record<string, any>>
      } finally {
        await client.end()
      }
    })
  // Before its checks are through, haproxy takes every node for a primary.
  yield* Effect.sleep(checkMillis * (checksDown + 2))
  const isReachable = onServer("postgres", "select pg_is_in_recovery() as standby").pipe(
    Effect.map(([row]) => row?.["standby"] === false),
    Effect.catchDefect(() => Effect.succeed(false))
  )
  yield* until("haproxy leads to the primary", isReachable, (is) => is)
  yield* onServer("postgres", `create database ${database} template template0`)

  return {
    url: `postgresql://${superuser}@127.0.0.1:${port}/${database}`,
    query: (text) => onServer(database, text),
    killPrimary: Effect.gen(function*() {
      const node = yield* primary
      if (node === undefined) return yield* Effect.die(new Error("there is no primary to kill"))
      killNode(node)
      return node.name
    }),
    restoreNodes: Effect.gen(function*() {
      for (const node of nodes) {
        if ((yield* statusOf(`${urlOf(node.restPort)}/liveness`)) === 0) node.process = startNode(node)
      }
      yield* whole
    })
  }
})
