/**
 * Customers of a shop as a process of its own: estimate, address and invoice one after the other, or the invoice alone
 * of what was estimated and addressed before. Keep-alive sockets, one request at a time on each; an answer is only
 * searched for the id that the next call needs.
 */
import { Agent, request } from "node:http"
import { cpuMicros, say, specification } from "../support/Process.ts"

export interface CheckoutSpec {
  readonly port: number
  /** Of the service, whose processor time is counted. */
  readonly pid: number
  readonly callers: number
  /** Seconds of whole checkouts; the invoices alone are as many as `prepared`. */
  readonly seconds: number
  readonly prepared: number
  /** Commerce keys, one of them for each checkout in turn. */
  readonly keys: ReadonlyArray<string>
  readonly estimate: object
  readonly address: object
  /** What each customer's body adds to ids. */
  readonly customer: object
}

export interface CheckoutRate {
  readonly count: number
  readonly perSecond: number
  /** Milliseconds of a whole checkout, or of the invoice alone. */
  readonly p50: number
  /** Microseconds of the service's processor time for one. */
  readonly cpuEach: number
}

export interface CheckoutResult {
  readonly whole: CheckoutRate
  readonly invoice: CheckoutRate
}

interface Purchase {
  readonly key: string
  readonly estimate: string
  readonly address: string
}

const idOf = (name: string, text: string): string => {
  const id = new RegExp(`"${name}":"([^"]+)"`).exec(text)?.[1]
  if (id === undefined) throw new Error(`no ${name} in ${text.slice(0, 800)}`)
  return id
}

const serve = async (spec: CheckoutSpec): Promise<CheckoutResult> => {
  const agent = new Agent({ keepAlive: true, maxSockets: spec.callers })
  let sent = 0
  const post = (path: string, key: string, body: object) =>
    new Promise<string>((resolve, reject) => {
      const text = JSON.stringify({ ...spec.customer, ...body })
      const headers = {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(text),
        "x-api-key": key,
        "idempotency-key": `c-${process.pid}-${sent++}`
      }
      const asked = request({
        agent,
        port: spec.port,
        host: "127.0.0.1",
        path: `/api/commerce/merchant/checkout/${path}`,
        method: "POST",
        headers
      }, (response) => {
        let answer = ""
        response.setEncoding("utf8").on("data", (chunk: string) => answer += chunk).once("end", () =>
          response.statusCode === 200 ? resolve(answer) : reject(new Error(answer.slice(0, 800))))
      })
      asked.once("error", reject).end(text)
    })

  let customers = 0
  const prepare = async (): Promise<Purchase> => {
    const key = spec.keys[customers++ % spec.keys.length]!
    const estimate = idOf("estimate_id", await post("estimate", key, spec.estimate))
    const address = idOf("address_id", await post("address", key, { estimate_id: estimate, address: spec.address }))
    return { key, estimate, address }
  }
  const buy = ({ address, estimate, key }: Purchase) =>
    post("invoice", key, { estimate_id: estimate, address_id: address })

  /** All callers do `next` again and again until it says that there is no more. */
  const rate = async (next: () => Promise<unknown> | undefined): Promise<CheckoutRate> => {
    const waits: Array<number> = []
    const [began, before] = [performance.now(), cpuMicros(spec.pid)]
    await Promise.all(Array.from({ length: spec.callers }, async () => {
      for (let at = performance.now(), doing = next(); doing !== undefined; at = performance.now(), doing = next()) {
        await doing
        waits.push(performance.now() - at)
      }
    }))
    const [seconds, spent] = [(performance.now() - began) / 1_000, cpuMicros(spec.pid) - before]
    waits.sort((a, b) => a - b)
    const count = waits.length
    return { count, perSecond: count / seconds, p50: waits[Math.floor(count / 2)] ?? 0, cpuEach: spent / count }
  }

  const until = performance.now() + spec.seconds * 1_000
  const whole = await rate(() => performance.now() < until ? prepare().then(buy) : undefined)
  const ready: Array<Purchase> = []
  let open = spec.prepared
  await rate(() => open-- > 0 ? prepare().then((purchase) => ready.push(purchase)) : undefined)
  const invoice = await rate(() => {
    const purchase = ready.pop()
    return purchase === undefined ? undefined : buy(purchase)
  })
  agent.destroy()
  return { whole, invoice }
}

if (import.meta.main) {
  say(await serve(specification<CheckoutSpec>()))
  process.disconnect()
}
