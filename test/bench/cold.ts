import { Effect } from "effect"
import { databaseServer } from "./Database.ts"
import * as Tillwire from "./Tillwire.ts"
import { startService } from "../support/Service.ts"
import { makeMerchants } from "../support/Merchants.ts"
import { drive } from "./load.ts"
import { invoiceBody } from "./create.ts"
const steps = (process.argv[2] ?? "500,1500,6000").split(",").map(Number)
const callers = Number(process.argv[3] ?? 64)
const program = Effect.scoped(Effect.gen(function*() {
  const server = yield* databaseServer
  const deployed = yield* Tillwire.deploy(server, "cold_till", [])
  const keys = (yield* Tillwire.prepare(deployed, (service: any) =>
    Effect.map(makeMerchants(service, 50), (m) =>
      m.map(({ key }: any) =>
        key
      )) as any)) as any

  const service: any = yield* startService({
    directory: deployed.directory,
    config: deployed.config,
    environment: process.env.FLAGS
      ? { NODE_OPTIONS: "--require /tmp/ab2/flags.cjs", V8FLAGS: process.env.FLAGS }
      : process.env.PROF
      ? { NODE_OPTIONS: `--cpu-prof --cpu-prof-interval=200 --cpu-prof-dir=${process.env.PROF}` }
      : {}
  } as any)

  const out = []
  for (const count of steps) {
    const r: any = yield* drive(
      service.pid,
      {
        port: service.ports.http,
        callers,
        seconds: 60,
        count,
        method: "POST",
        paths: ["/api/v1/invoices"],
        keys,
        body: invoiceBody,
        keyed: true
      } as any
    ) as any
    out.push(`${count}: ${r.cpuEach.toFixed(0)}us`)
  }
  console.log(process.cwd(), out.join(" "))
  yield* service.stop()
}))
Effect.runPromise(program as any).then(() => process.exit(0), (e) => {
  console.error(e)
  process.exit(1)
})
