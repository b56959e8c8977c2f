/**
 * Goal: what an operator loads into Prometheus and Grafana works as it is: `config/alerts.yml` wakes somebody in each
 * trouble and nobody otherwise, each panel of `config/grafana.json` is a query, both name metrics that the service has,
 * and each rule leads to a section of a guide. Method: Debian's `promtool`, where it is installed, and a real service.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { randomUUID } from "node:crypto"
import { migratedDatabase } from "../support/Database.ts"
import { makeReceiver } from "../support/Receiver.ts"
import { configOf, exchange, startService, temporaryDirectory, until } from "../support/Service.ts"

const file = (path: string): string => new URL(`../../${path}`, import.meta.url).pathname
const rulesFile = file("config/alerts.yml")
const rulesText = readFileSync(rulesFile, "utf8")

interface Panel {
  readonly title: string
  readonly targets?: ReadonlyArray<{ readonly expr: string }>
}

const dashboard: { readonly panels: ReadonlyArray<Panel> } = JSON.parse(
  readFileSync(file("config/grafana.json"), "utf8")
)

/** Queries of the panels, with a time in place of Grafana's variable. */
const queries = dashboard.panels.flatMap(({ targets = [], title }) =>
  targets.map(({ expr }) => ({ title, expr: expr.replaceAll("$__rate_interval", "5m") }))
)

/** What fires a rule, and what is like it and does not: series with their values, one a minute. */
interface Trouble {
  readonly fires: Readonly<Record<string, string>>
  readonly silent: Readonly<Record<string, string>>
  /** Labels that the alert has beside its severity, where the series has others. */
  readonly labels?: Readonly<Record<string, string>>
}

const up = { "up{job=\"tillwire\"}": "1x60" }
const network = "network=\"base\",environment=\"mainnet\""
const condition = (name: string): Trouble => ({
  fires: { [`tillwire_network_condition{${network},condition="${name}"}`]: "1x60" },
  silent: { [`tillwire_network_condition{${network},condition="${name}"}`]: "0 0 1 0x57" }
})
const chainAlert = (kind: string): Trouble => ({
  fires: { [`tillwire_chain_alerts_total{${network},kind="${kind}"}`]: "0x50 1x10" },
  silent: { [`tillwire_chain_alerts_total{${network},kind="${kind}"}`]: "7x60" }
})

const troubles: Readonly<Record<string, Trouble>> = {
  TillwireDown: { fires: { "up{job=\"tillwire\"}": "0x60" }, silent: {} },
  TillwireNotReady: { fires: { tillwire_ready: "0x60" }, silent: { tillwire_ready: "1 0 1x58" } },
  TillwireServerErrors: {
    fires: {
      "tillwire_http_server_errors_total{status=\"500\"}": "0+3x60",
      "tillwire_http_requests_total{route=\"GET /a\",status=\"200\"}": "0+100x60"
    },
    silent: {
      "tillwire_http_server_errors_total{status=\"500\"}": "0+1x60",
      "tillwire_http_requests_total{route=\"GET /a\",status=\"200\"}": "0+100x60"
    }
  },
  TillwireEventLoopBusy: {
    fires: { tillwire_process_event_loop_busy_ratio: "0.97x60" },
    silent: { tillwire_process_event_loop_busy_ratio: "0.97 0.97 0.5x58" }
  },
  TillwireWorkStopped: {
    fires: {
      "tillwire_lease_age_seconds{name=\"chain:base:mainnet\"}": "0+60x60",
      "tillwire_lease_term_seconds{name=\"chain:base:mainnet\"}": "6x60"
    },
    silent: {
      "tillwire_lease_age_seconds{name=\"chain:base:mainnet\"}": "5x60",
      "tillwire_lease_term_seconds{name=\"chain:base:mainnet\"}": "6x60"
    }
  },
  TillwireShardsUnowned: {
    fires: { "tillwire_unowned_shards{instance=\"a\"}": "3x60", "tillwire_unowned_shards{instance=\"b\"}": "3x60" },
    silent: { "tillwire_unowned_shards{instance=\"a\"}": "3x60", "tillwire_unowned_shards{instance=\"b\"}": "0x60" }
  },
  TillwireWorkStuck: {
    fires: {
      "tillwire_work_progress_seconds{name=\"timer:invoices\"}": "0+60x60",
      "tillwire_work_limit_seconds{name=\"timer:invoices\"}": "60x60"
    },
    silent: {
      "tillwire_work_progress_seconds{name=\"timer:invoices\"}": "100x60",
      "tillwire_work_limit_seconds{name=\"timer:invoices\"}": "60x60"
    }
  },
  TillwireTimersOverdue: {
    fires: { "tillwire_timer_overdue_seconds{name=\"invoices\"}": "0+60x60" },
    silent: { "tillwire_timer_overdue_seconds{name=\"invoices\"}": "200x60" }
  },
  TillwireCannotWrite: { fires: { tillwire_commit_writable: "0x60" }, silent: { tillwire_commit_writable: "1x60" } },
  TillwireReplicaUnused: {
    fires: { tillwire_replica_unused: "1x60" },
    silent: { tillwire_replica_unused: "1x8 0x52" }
  },
  TillwireDiskFilling: {
    fires: { tillwire_data_directory_free_bytes: "5x60", tillwire_data_directory_size_bytes: "100x60" },
    silent: { tillwire_data_directory_free_bytes: "15x60", tillwire_data_directory_size_bytes: "100x60" }
  },
  TillwireMonthsMissing: {
    fires: { "tillwire_partition_ahead_seconds{table=\"events\"}": "2600000x120" },
    silent: { "tillwire_partition_ahead_seconds{table=\"events\"}": "8000000x120" }
  },
  TillwireMonthsStay: {
    fires: { "tillwire_partition_overdue_seconds{table=\"events\"}": "1300000x120" },
    silent: { "tillwire_partition_overdue_seconds{table=\"events\"}": "600000x120" }
  },
  TillwireClockStepped: {
    fires: { tillwire_clock_step_seconds: "0x55 -30x5" },
    // Time is set right all the time, by little.
    silent: { tillwire_clock_step_seconds: "0-0.1x60" }
  },
  TillwireFarBehindAfterStart: {
    fires: {
      [`tillwire_network_head_age_seconds{${network}}`]: "7200x60",
      tillwire_process_uptime_seconds: "60x60"
    },
    silent: {
      [`tillwire_network_head_age_seconds{${network}}`]: "30x60",
      tillwire_process_uptime_seconds: "60x60"
    }
  },
  TillwireSecretsUnreadable: {
    fires: { "tillwire_webhook_deliveries_total{outcome=\"pending\"}": "0+1x60" },
    silent: {
      "tillwire_webhook_deliveries_total{outcome=\"pending\"}": "3x60",
      "tillwire_webhook_deliveries_total{outcome=\"failed\"}": "0+5x60"
    }
  },
  TillwireNetworkFrozen: condition("frozen"),
  TillwireNetworkSilent: condition("silent"),
  TillwireNodesForked: condition("disagreement"),
  TillwireNoCommonBlock: {
    ...condition("no_common_block"),
    silent: { [`tillwire_network_condition{${network},condition="no_common_block"}`]: "0x60" }
  },
  TillwireNodeFailing: {
    fires: {
      [`tillwire_chain_endpoints_failing{${network}}`]: "0x60",
      [`tillwire_chain_endpoints_frozen{${network}}`]: "1x60"
    },
    silent: {
      [`tillwire_chain_endpoints_failing{${network}}`]: "1x10 0x50",
      [`tillwire_chain_endpoints_frozen{${network}}`]: "0x60"
    }
  },
  TillwireFinalBlockReverted: chainAlert("reorg_below_final"),
  TillwireNodeLeftOut: { ...chainAlert("transfer_left_out"), labels: { network: "base", kind: "transfer_left_out" } },
  TillwirePaymentStuck: {
    fires: { tillwire_transfers_oldest_unhandled_seconds: "0+60x60" },
    silent: { tillwire_transfers_oldest_unhandled_seconds: "100x60" }
  },
  TillwirePaymentsWaitForAgreement: {
    fires: { [`tillwire_chain_payments_waiting_for_agreement{${network}}`]: "1x60" },
    silent: { [`tillwire_chain_payments_waiting_for_agreement{${network}}`]: "1x5 0x55" }
  },
  TillwirePricesLost: {
    fires: { "tillwire_price_assets_lost{environment=\"mainnet\"}": "2x60" },
    silent: { "tillwire_price_assets_lost{environment=\"mainnet\"}": "0x60" }
  },
  TillwireBooksWrong: {
    fires: { tillwire_ledger_trial_balance_millis: "-1x60", tillwire_ledger_unbalanced_assets: "0x60" },
    silent: { tillwire_ledger_trial_balance_millis: "0x60", tillwire_ledger_unbalanced_assets: "0x60" }
  },
  TillwireScreeningFails: {
    fires: { tillwire_screening_failures_total: "0+1x60" },
    silent: { tillwire_screening_failures_total: "4x60" }
  },
  TillwireWebhooksLate: {
    fires: { tillwire_outbox_lag_seconds: "0+60x60" },
    silent: { tillwire_outbox_lag_seconds: "200x60" }
  },
  TillwireSpansDropped: {
    fires: { "tillwire_otlp_spans_dropped_total{reason=\"full\"}": "0+5x60" },
    silent: { "tillwire_otlp_spans_dropped_total{reason=\"full\"}": "9x60" }
  }
}

const alertNames = [...rulesText.matchAll(/^ +- alert: (\w+)$/gm)].map(([, name]) => name!)

/** Metrics that a text of PromQL names. */
const metricsIn = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/\btillwire_[a-z_]+/g)].map(([name]) => name)

const hasPromtool = spawnSync("promtool", ["--version"]).status === 0

/** Runs promtool on a file with this text, which is YAML as all JSON is. */
const promtool = (command: ReadonlyArray<string>, content: unknown) => {
  const directory = mkdtempSync(join(tmpdir(), "till-promtool-"))
  try {
    const path = join(directory, "input.yml")
    writeFileSync(path, JSON.stringify(content))
    const { status, stderr, stdout } = spawnSync("promtool", [...command, path], { encoding: "utf8" })
    return { status, output: `${stdout}${stderr}` }
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** The names of the alerts that fire after an hour of these series. */
const isFiring = (name: string, series: Readonly<Record<string, string>>, fires: boolean) => ({
  interval: "1m",
  input_series: Object.entries({ ...up, ...series }).map(([series, values]) => ({ series, values })),
  // By the number of series that the alert shows itself by: what labels it has is promtool's own matter.
  promql_expr_test: [{
    expr: `count(ALERTS{alertname="${name}",alertstate="firing"}) or vector(0)`,
    eval_time: "59m",
    exp_samples: [{ labels: "{}", value: fires ? 1 : 0 }]
  }]
})

// `apt-get install prometheus` has promtool: `.ci/run` installs it where it can.
describe.skipIf(!hasPromtool)("the rules of Prometheus", () => {
  it("are rules", () => {
    const { status, stderr } = spawnSync("promtool", ["check", "rules", rulesFile], { encoding: "utf8" })
    assert.strictEqual(status, 0, stderr)
  })

  it("fire in the trouble that each is for, and not in what looks like it", () => {
    assert.sameMembers(Object.keys(troubles), alertNames)
    const tests = Object.entries(troubles).flatMap(([name, { fires, silent }]) => [
      isFiring(name, fires, true),
      isFiring(name, silent, false)
    ])
    const { output, status } = promtool(["test", "rules"], {
      rule_files: [rulesFile],
      evaluation_interval: "1m",
      tests
    })
    assert.strictEqual(status, 0, output)
  })

  it("make each panel a query that Prometheus reads", () => {
    const { output, status } = promtool(["check", "rules"], {
      groups: [{
        name: "panels",
        rules: queries.map(({ expr }, index) => ({ record: `panel:${index}`, expr }))
      }]
    })
    assert.strictEqual(status, 0, output)
    assert.isAbove(queries.length, 40)
    assert.notStrictEqual(
      promtool(["check", "rules"], { groups: [{ name: "wrong", rules: [{ record: "a:b", expr: "sum(rate(x[5m]" }] }] })
        .status,
      0,
      "a query that is none is found"
    )
  })
})

describe("a rule", () => {
  it("leads to a section of the runbooks, and each section is of a rule", () => {
    const guide = readFileSync(file("modules/docs/guides/runbooks.md"), "utf8")
    const anchors = [...guide.matchAll(/^## (.+)$/gm)]
      .map(([, heading]) => heading!.toLowerCase().replaceAll(/[^a-z0-9 -]/g, "").replaceAll(" ", "-"))
    const links = [...rulesText.matchAll(/runbook_url: https:\/\/payments\.example\/docs\/guides\/runbooks#(\S+)/g)]
      .map(([, anchor]) => anchor!)
    assert.lengthOf(links, alertNames.length)
    assert.deepStrictEqual(links.filter((link) => !anchors.includes(link)), [])
    assert.deepStrictEqual(anchors.filter((anchor) => !links.includes(anchor)), [])
    for (const name of alertNames) assert.include(guide, `\`${name}\``)
  })

  it("says in its description what it means, and what to do first", () => {
    const rules = rulesText.split(/^ +- alert: /m).slice(1).map((text) => {
      const [, description = ""] = /^ +description: (.*(?:\n {12}.*)*)/m.exec(text) ?? []
      return {
        name: text.split("\n", 1)[0]!,
        sentences: description.replace(">-", "").replaceAll(/\s+/g, " ").trim().split(/[.,] (?=\S)|\.$/)
      }
    })
    const acts =
      /^(then |if .*, )?(add|call|check|compare|declare|enlarge|find|look|make|read|replace|set|take|wait)\b/i
    const withoutAct = rules.filter(({ sentences }) => !sentences.some((sentence) => acts.test(sentence)))
    assert.deepStrictEqual(withoutAct.map(({ name }) => name), [])
    assert.isTrue(rules.every(({ sentences }) => sentences.length >= 2))
  })
})

/** Labels of the service's metrics: none names a merchant, an invoice, a customer, an address or a path. */
const labelNames: ReadonlySet<string> = new Set([
  "check",
  "commit",
  "condition",
  "driver",
  "environment",
  "kind",
  "le",
  "limit",
  "name",
  "network",
  "node",
  "outcome",
  "postgres",
  "quantile",
  "reason",
  "retailer",
  "route",
  "server",
  "state",
  "status",
  "store",
  "stream",
  "table",
  "time_unit",
  "token",
  "type",
  "version"
])

class Scraped extends Context.Service<Scraped, { readonly text: string }>()("test/deployment/Scraped") {
  static readonly layer = Layer.effect(
    Scraped,
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const receiver = yield* makeReceiver()
      const directory = yield* temporaryDirectory
      const screened = join(directory, "screened.txt")
      writeFileSync(screened, "base 0x000000000000000000000000000000000000dEaD\n")
      // A node that says nothing of use has the series of a network with nodes.
      const nodes = { network: "arbitrum", environment: "devnet", rpc: [receiver.url("/node")] }
      const config = configOf({
        database: database.url,
        chains: [{ use: "simulated", options: { networks: ["base"] } }, { use: "evm", options: nodes }],
        receivers: [receiver.host]
      })
      const service = yield* startService({
        directory,
        config: {
          ...config,
          modules: [{ use: "screening" }, { use: "screening/list", options: { file: screened } }, ...config.modules],
          telemetry: { ...config.telemetry, otlp: { url: new URL(receiver.url("/")).origin } }
        }
      })
      const { merchant_key: key } = yield* service.keys
      const headers = () => ({ "x-api-key": key, "idempotency-key": randomUUID() })
      yield* service.call("/api/v1/webhooks", {
        headers: headers(),
        body: { url: receiver.url("/hook"), enabled_events: ["*"] }
      })
      const { json } = yield* service.call("/api/v1/invoices", { headers: headers(), body: { amount_usd: 5 } })
      yield* service.call(`/api/v1/devnet/invoices/${json.invoice_id}/simulate`, {
        headers: headers(),
        body: { action: "pay" }
      })
      return yield* until(
        "the invoice is paid",
        exchange(service.rpcUrl, "/metrics"),
        ({ text }) => text.includes("tillwire_invoices_paid_usd_total{environment=\"devnet\"} 5")
      )
    })
  )
}

layer(Scraped.layer, { excludeTestServices: true })("the metrics of a service", (it) => {
  it.effect("are those that rules and panels name", () =>
    Effect.gen(function*() {
      const { text } = yield* Scraped
      const there = new Set([...text.matchAll(/^(tillwire_[a-z_]+)[ {]/gm)].map(([, name]) => name!))
      const named = new Set([...metricsIn(rulesText), ...queries.flatMap(({ expr }) => metricsIn(expr))])
      assert.isAbove(named.size, 40)
      assert.deepStrictEqual([...named].filter((name) => !there.has(name)), [])
    }))

  it.effect("have no label that names a merchant, an invoice, an address or a path", () =>
    Effect.gen(function*() {
      const { text } = yield* Scraped
      const names = new Set([...text.matchAll(/[{,]([a-z_]+)="/g)].map(([, name]) => name!))
      assert.deepStrictEqual([...names].filter((name) => !labelNames.has(name)), [])
      assert.notMatch(text, /0x[0-9a-f]{16}|inv_|[0-9a-f]{8}-[0-9a-f]{4}-/i)
    }))
})
