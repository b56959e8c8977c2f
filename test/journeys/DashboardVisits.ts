/** A service with the dashboard, and somebody who opens its pages as a browser without a script does. */
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { pages } from "../../modules/dashboard/pages.ts"
import type { Page } from "../../modules/dashboard/pages/Page.ts"
import { migratedDatabase } from "../support/Database.ts"
import { freePort } from "../support/Ports.ts"
import { configOf, masterKey, rpcToken, type Service, startService, temporaryDirectory } from "../support/Service.ts"
import { loginLink } from "./LoginLink.ts"

/** Pages whose routes the service has: a copy of the tree may be without the module of a page. */
export const servedPages = (service: Service): Effect.Effect<ReadonlyArray<Page>> =>
  Effect.map(service.call("/openapi.json"), ({ text }) => {
    const served = Object.keys(JSON.parse(text).paths)
    return pages.filter(({ route }) => served.some((path) => path === route || path.startsWith(`${route}/`)))
  })

/** Somebody's cookies. */
export type Cookies = string

type Config = ReturnType<typeof configOf>

const form = (fields: Readonly<Record<string, string>>) => new URLSearchParams(fields).toString()

const cookiesOf = (headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>): Cookies =>
  [headers["set-cookie"] ?? []].flat().map((cookie) => cookie.split(";")[0]).join("; ")

/** A service, and whose pages of it are looked at. */
interface MerchantPages {
  readonly service: Pick<Service, "call" | "rpcUrl">
  readonly merchant: number
  /** What browsers name as the origin of its pages. */
  readonly origin: string
}

/** What a browser does with a merchant's pages: it signs in by a link, opens pages, and sends their forms. */
export const makeVisitor = ({ merchant, origin, service }: MerchantPages) => {
  const post = (cookies: Cookies, path: string, fields: Readonly<Record<string, string>>) =>
    service.call(path, {
      method: "POST",
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        origin,
        "sec-fetch-site": "same-origin",
        ...(cookies === "" ? {} : { cookie: cookies })
      },
      body: form(fields)
    })
  const pathOf = (path: string, where: "devnet" | "mainnet") => `/dashboard/${merchant}/${where}${path}`
  const send = (
    cookies: Cookies,
    path: string,
    fields: Readonly<Record<string, string>>,
    where: "devnet" | "mainnet" = "devnet"
  ) => post(cookies, pathOf(path, where), { form_key: randomUUID(), ...fields })
  return {
    send,
    signIn: Effect.fnUntraced(function*(member?: string) {
      const url = yield* loginLink({ service, merchant }, member)
      const token = new URL(url).hash.slice("#t=".length)
      const opened = yield* post("", "/dashboard/signin/link", { token, next: "" })
      return cookiesOf(opened.headers)
    }),
    see: (cookies: Cookies, path: string, where: "devnet" | "mainnet" = "devnet") =>
      service.call(pathOf(path, where), { headers: { cookie: cookies } }),
    /** Invites somebody with a role, who joins. */
    joinAs: Effect.fnUntraced(function*(owner: Cookies, role: string) {
      const invited = yield* send(owner, "/team", { action: "invite", role, email: `${role}@shop.example` })
      const token = /#t=([\w-]+)/.exec(invited.text)?.[1] ?? ""
      return cookiesOf((yield* post("", "/dashboard/invitation", { token, name: `A ${role}` })).headers)
    })
  }
}

/** Starts a service that serves both environments; `change` makes its config of the usual one. */
export const openDashboard = Effect.fnUntraced(function*(change: (config: Config) => object = (config) => config) {
  const directory = yield* temporaryDirectory
  const ports = { http: yield* freePort, rpc: yield* freePort }
  const origin = `http://localhost:${ports.http}`
  const environment = { RPC_TOKEN: rpcToken, MASTER: masterKey }
  const config = configOf({
    database: (yield* migratedDatabase).url,
    chains: [{ use: "simulated" }],
    http: { publicUrl: origin }
  })
  const service = yield* startService({
    directory,
    ports,
    config: change({
      ...config,
      environments: ["devnet", "mainnet"],
      // A config that serves mainnet names its secrets and never holds one.
      rpc: { token: "${env:RPC_TOKEN}" },
      secrets: { master: ["${env:MASTER}"] }
    }),
    environment
  })
  const { merchant_id: merchant, merchant_key: key } = yield* service.keys
  return { service, origin, merchant, key, ...makeVisitor({ service, merchant, origin }) }
})
