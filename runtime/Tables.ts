/**
 * The runtime's own tables. Plugins bring theirs in `migrations`; both are forward only and safe when two instances
 * start at once. Every table carries `merchant_id` and every unique key contains it, except transfers
 * (network, tx, index), receive targets (family, match key), wallet counters, leases, rate windows and the token catalogue.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "./Plugin.ts"
import { allocateTargetsV1, storeAddressesV1 } from "./chains/TargetSql.ts"
import { webhookClaimV4, webhookExpireV1, webhookLagV2, webhookLanesV1, webhookMarkV1 } from "./webhooks/QueueSql.ts"

const statements = (script: string) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    for (const statement of script.split(";\n")) {
      if (statement.trim() !== "") yield* sql.unsafe(statement)
    }
  })

/** Tables the runtime itself commits rows to. */
export const runtimeTables: ReadonlyArray<string> = [
  "webhook_endpoints", "wallet_owners", "chain_cursors", "transfers", "target_balances",
  "merchant_clocks", "chain_repairs"
]

export const runtimeMigrations: Migrations = {
  "0001_events": statements(`
    CREATE SEQUENCE event_seq CACHE 1;
    CREATE TABLE merchant_streams (
      merchant_id integer PRIMARY KEY,
      last_ms bigint NOT NULL DEFAULT 0,
      last_seq bigint NOT NULL DEFAULT 0
    ) WITH (fillfactor = 50);
    CREATE TABLE events (
      merchant_id integer NOT NULL,
      ms bigint NOT NULL,
      seq bigint NOT NULL,
      environment text NOT NULL,
      type text NOT NULL,
      invoice_id text,
      order_id text,
      customer_id text,
      commerce boolean NOT NULL,
      request_id text,
      idempotency_key text,
      pending_webhooks integer NOT NULL,
      data text NOT NULL,
      payor_data text,
      PRIMARY KEY (merchant_id, ms, seq)
    );
    CREATE INDEX events_by_invoice ON events (merchant_id, invoice_id, ms, seq) WHERE invoice_id IS NOT NULL;
    CREATE INDEX events_by_customer ON events (merchant_id, customer_id, ms, seq) WHERE customer_id IS NOT NULL;
    CREATE INDEX events_by_order ON events (merchant_id, order_id, ms, seq) WHERE order_id IS NOT NULL;
    CREATE TABLE idempotency (
      merchant_id integer NOT NULL,
      environment text NOT NULL,
      scope text NOT NULL,
      fingerprint text NOT NULL,
      status integer NOT NULL,
      sealed_body text NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (merchant_id, environment, scope)
    );
    CREATE TABLE leases (
      name text PRIMARY KEY,
      holder text NOT NULL,
      token bigint NOT NULL,
      until timestamptz NOT NULL
    )`),
  "0002_webhooks": statements(`
    CREATE TABLE webhook_endpoints (
      id text PRIMARY KEY,
      merchant_id integer NOT NULL,
      version bigint NOT NULL,
      environment text,
      commerce_only boolean NOT NULL,
      url text NOT NULL,
      status text NOT NULL CHECK (status IN ('enabled', 'disabled')),
      filters text[] NOT NULL,
      api_version text NOT NULL,
      description text,
      sealed_secret text NOT NULL,
      sealed_previous_secret text,
      previous_secret_expires_at bigint,
      consecutive_failures integer NOT NULL,
      disabled_reason text,
      created_at bigint NOT NULL,
      updated_at bigint NOT NULL
    );
    CREATE INDEX webhook_endpoints_by_merchant ON webhook_endpoints (merchant_id);
    CREATE TABLE webhook_deliveries (
      id uuid NOT NULL DEFAULT gen_random_uuid(),
      merchant_id integer NOT NULL,
      endpoint_id text NOT NULL,
      event_ms bigint NOT NULL,
      event_seq bigint NOT NULL,
      status text NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'delivering', 'retrying', 'succeeded', 'failed', 'canceled')),
      attempt integer NOT NULL DEFAULT 0,
      due_at timestamptz DEFAULT now(),
      lease_until timestamptz,
      token bigint NOT NULL DEFAULT 0,
      last_status integer,
      last_error text,
      last_latency_ms integer,
      created_at timestamptz NOT NULL DEFAULT now(),
      finished_at timestamptz,
      PRIMARY KEY (merchant_id, id)
    ) WITH (fillfactor = 80);
    CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (merchant_id, endpoint_id, due_at)
      WHERE due_at IS NOT NULL;
    CREATE INDEX webhook_deliveries_in_flight ON webhook_deliveries (merchant_id, endpoint_id)
      WHERE status = 'delivering';
    CREATE TABLE webhook_lanes (
      merchant_id integer NOT NULL,
      endpoint_id text NOT NULL,
      health text NOT NULL CHECK (health IN ('unknown', 'healthy', 'failing')),
      PRIMARY KEY (merchant_id, endpoint_id)
    ) WITH (fillfactor = 50);
    CREATE INDEX webhook_deliveries_open ON webhook_deliveries (merchant_id, event_ms, event_seq)
      WHERE status IN ('pending', 'delivering', 'retrying')`),
  "0003_tokens": statements(`
    CREATE TABLE tokens (
      id serial PRIMARY KEY,
      key text NOT NULL UNIQUE,
      source text NOT NULL,
      network text NOT NULL,
      environment text NOT NULL,
      symbol text NOT NULL,
      name text NOT NULL,
      address text,
      decimals integer NOT NULL,
      type text NOT NULL,
      requires_memo boolean NOT NULL,
      asset text,
      stable boolean NOT NULL,
      active boolean NOT NULL,
      photo_uri text NOT NULL
    )`),
  "0004_chains": statements(`
    CREATE TABLE wallet_counters (
      fingerprint text PRIMARY KEY,
      merchant_id integer NOT NULL,
      version bigint NOT NULL,
      next_index bigint NOT NULL
    );
    CREATE TABLE receive_targets (
      id text PRIMARY KEY,
      merchant_id integer NOT NULL,
      version bigint NOT NULL,
      family text NOT NULL,
      match_key text NOT NULL,
      invoice_id text NOT NULL,
      environment text NOT NULL,
      address text NOT NULL,
      memo text,
      fingerprint text NOT NULL,
      wallet_index bigint NOT NULL,
      created_at bigint NOT NULL
    );
    CREATE INDEX receive_targets_by_wallet ON receive_targets (fingerprint, wallet_index);
    CREATE UNIQUE INDEX receive_targets_by_invoice ON receive_targets (invoice_id, family);
    CREATE TABLE chain_cursors (
      id text PRIMARY KEY,
      merchant_id integer NOT NULL,
      version bigint NOT NULL,
      network text NOT NULL,
      environment text NOT NULL,
      recent jsonb NOT NULL,
      answered_at bigint NOT NULL
    );
    CREATE TABLE transfers (
      id text PRIMARY KEY,
      merchant_id integer NOT NULL,
      version bigint NOT NULL,
      network text NOT NULL,
      environment text NOT NULL,
      tx_hash text NOT NULL,
      tx_index integer NOT NULL,
      kind text NOT NULL CHECK (kind IN ('direct', 'internal')),
      invoice_id text NOT NULL,
      match_key text NOT NULL,
      token_address text,
      amount numeric(78, 0) NOT NULL CHECK (amount >= 0),
      sender text,
      height bigint NOT NULL,
      block_hash text NOT NULL,
      block_time bigint NOT NULL,
      observed_at bigint NOT NULL,
      status text NOT NULL CHECK (status IN ('seen', 'confirmed', 'reverted')),
      handled text NOT NULL CHECK (handled IN ('none', 'seen', 'confirmed', 'reverted')),
      required_blocks integer,
      required_finalized boolean,
      confirmations integer NOT NULL,
      attempts integer NOT NULL,
      retry_at bigint NOT NULL
    );
    CREATE INDEX transfers_unhandled ON transfers (retry_at) WHERE status <> handled;
    CREATE INDEX transfers_waiting ON transfers (network, environment, height) WHERE status = 'seen';
    CREATE INDEX transfers_recent ON transfers (network, environment, height);
    CREATE INDEX transfers_by_invoice ON transfers (invoice_id);
    CREATE TABLE target_balances (
      id text PRIMARY KEY,
      merchant_id integer NOT NULL,
      version bigint NOT NULL,
      network text NOT NULL,
      environment text NOT NULL,
      match_key text NOT NULL,
      invoice_id text NOT NULL,
      address text NOT NULL,
      since_height bigint NOT NULL,
      since_balance numeric(78, 0),
      height bigint NOT NULL,
      opened_at bigint NOT NULL,
      open boolean NOT NULL
    );
    CREATE INDEX target_balances_by_invoice ON target_balances (invoice_id);
    CREATE INDEX target_balances_open ON target_balances (network, environment) WHERE open`),
  // Both made functions that 0013 drops.
  "0005_webhook_claims": Effect.void,
  "0006_webhook_versions": Effect.void,
  "0007_rollups": statements(`
    CREATE TABLE rollups (
      merchant_id integer NOT NULL,
      environment text NOT NULL,
      sum text NOT NULL,
      width integer NOT NULL,
      bucket bigint NOT NULL,
      key text NOT NULL,
      count bigint NOT NULL,
      amount bigint NOT NULL,
      amount_paid bigint NOT NULL,
      PRIMARY KEY (merchant_id, environment, sum, width, bucket, key)
    ) WITH (fillfactor = 70);
    CREATE TABLE rollup_versions (
      sum text PRIMARY KEY,
      version integer NOT NULL
    )`),
  "0008_refused_tokens": statements(`
    ALTER TABLE receive_targets ADD COLUMN refused_tokens integer[] NOT NULL DEFAULT '{}'`),
  // Unlogged: a crash of the database forgets who called in the last minute, and nothing else.
  "0009_rate_windows": statements(`
    CREATE UNLOGGED TABLE rate_windows (
      name text NOT NULL,
      who text NOT NULL,
      stamps float8[] NOT NULL,
      used_at timestamptz NOT NULL,
      PRIMARY KEY (name, who)
    ) WITH (fillfactor = 50)`),
  // Without it each round of pruning reads the whole table: 0.4 s of 300,000 rows, 1 ms with it (measured).
  "0010_replies_by_age": statements(`
    CREATE INDEX idempotency_by_age ON idempotency (created_at)`),
  // How many failures came in a row is the lane's: an attempt must not write a row that merchants change.
  "0011_webhook_operations": statements(`
    ALTER TABLE webhook_endpoints
      ADD COLUMN ordered boolean NOT NULL DEFAULT false,
      DROP COLUMN consecutive_failures,
      DROP CONSTRAINT webhook_endpoints_status_check,
      ADD CONSTRAINT webhook_endpoints_status_check CHECK (status IN ('enabled', 'disabled', 'deleted'));
    ALTER TABLE webhook_lanes
      ADD COLUMN version bigint NOT NULL DEFAULT 0,
      ADD COLUMN holder text,
      ADD COLUMN token bigint NOT NULL DEFAULT 0,
      ADD COLUMN claims bigint NOT NULL DEFAULT 0,
      ADD COLUMN held_until timestamptz NOT NULL DEFAULT '-infinity',
      ADD COLUMN consecutive_failures integer NOT NULL DEFAULT 0,
      ADD COLUMN failing_since timestamptz,
      ADD COLUMN open_until timestamptz,
      ADD COLUMN openings integer NOT NULL DEFAULT 0,
      ADD COLUMN judged_from timestamptz NOT NULL DEFAULT '-infinity';
    CREATE TABLE webhook_attempts (
      merchant_id integer NOT NULL,
      delivery_id uuid NOT NULL,
      attempt integer NOT NULL,
      endpoint_id text NOT NULL,
      ended_at timestamptz NOT NULL DEFAULT now(),
      outcome text NOT NULL CHECK (outcome IN ('succeeded', 'failed', 'timed_out')),
      status integer,
      error text,
      latency_ms integer NOT NULL,
      response text,
      PRIMARY KEY (merchant_id, delivery_id, attempt)
    );
    CREATE INDEX webhook_attempts_by_endpoint ON webhook_attempts (merchant_id, endpoint_id, ended_at);
    CREATE INDEX webhook_attempts_by_age ON webhook_attempts USING brin (ended_at);
    CREATE INDEX webhook_deliveries_in_order ON webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq)
      WHERE due_at IS NOT NULL;
    CREATE INDEX webhook_deliveries_by_endpoint ON webhook_deliveries (merchant_id, endpoint_id, created_at, id);
    CREATE INDEX webhook_deliveries_by_event ON webhook_deliveries (merchant_id, event_ms, event_seq, endpoint_id);
    DROP INDEX webhook_deliveries_open;
    DROP INDEX webhook_deliveries_in_flight;
    ALTER TABLE webhook_deliveries DROP COLUMN lease_until, DROP COLUMN token`),
  "0012_event_retention": statements(`
    ALTER TABLE merchant_streams
      ADD COLUMN pruned_ms bigint NOT NULL DEFAULT 0,
      ADD COLUMN pruned_seq bigint NOT NULL DEFAULT 0;
    CREATE TABLE event_snapshots (
      merchant_id integer NOT NULL,
      object text NOT NULL,
      id text NOT NULL,
      environment text NOT NULL,
      ms bigint NOT NULL,
      seq bigint NOT NULL,
      data text NOT NULL,
      PRIMARY KEY (merchant_id, object, id)
    )`),
  // An instance of an older build claims no more: it would send without regard to breakers and order.
  "0013_webhook_queue": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`DROP FUNCTION IF EXISTS webhook_claim_v1`
    yield* sql`DROP FUNCTION IF EXISTS webhook_claim_v2`
    for (const definition of [webhookLanesV1, webhookMarkV1]) yield* sql.unsafe(definition)
    yield* sql`CREATE INDEX webhook_lanes_failing ON webhook_lanes (merchant_id, endpoint_id)
      WHERE health = 'failing' OR open_until IS NOT NULL`
  }),
  // What failed is few of many: lists of it and replays find it without reading the rest.
  "0014_webhook_given_up": statements(`
    CREATE INDEX webhook_deliveries_given_up ON webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq)
      WHERE status IN ('failed', 'canceled');
    CREATE INDEX webhook_deliveries_given_up_by_age ON webhook_deliveries (merchant_id, endpoint_id, created_at, id)
      WHERE status IN ('failed', 'canceled')`),
  // Old attempts are found by endpoint: a block range never forgets the oldest row it held, so once space is used again
  // its index would find every block of the table.
  "0015_webhook_lag": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`DROP INDEX webhook_attempts_by_age`
    yield* sql.unsafe(webhookExpireV1)
  }),
  // Only of merchants whose devnet time was ever moved.
  "0016_merchant_clocks": statements(`
    CREATE TABLE merchant_clocks (
      merchant_id integer PRIMARY KEY,
      version bigint NOT NULL,
      seconds bigint NOT NULL CHECK (seconds > 0)
    )`),
  // Whoever asks whether a transfer is final is rarely the instance that follows the network.
  "0017_finality": statements(`
    ALTER TABLE chain_cursors ADD COLUMN finalized bigint;
    ALTER TABLE transfers ADD COLUMN doubted boolean NOT NULL DEFAULT false`),
  // Instances that do not follow a network say how it is from its cursor.
  "0018_network_conditions": statements(`
    ALTER TABLE chain_cursors
      ADD COLUMN condition text NOT NULL DEFAULT 'ok'
        CHECK (condition IN ('ok', 'frozen', 'disagreement', 'no_common_block')),
      ADD COLUMN stored_at bigint NOT NULL DEFAULT 0`),
  // Lanes whose lease ends later than any lease can are claimed: the clock of the database was set back. Functions of
  // older builds stay where they are: an instance of one may still run beside this one.
  "0019_webhook_lease_ends": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    for (const definition of [webhookClaimV4, webhookLagV2]) yield* sql.unsafe(definition)
  }),
  // A transfer to an address that no invoice has, or had when it was mined, is recorded too.
  "0020_unmatched_transfers": statements(`
    ALTER TABLE transfers ALTER COLUMN invoice_id DROP NOT NULL;
    CREATE INDEX transfers_unmatched ON transfers (match_key) WHERE invoice_id IS NULL`),
  // Invoices are expired by one instance and networks followed by another.
  "0021_sight": statements(`ALTER TABLE chain_cursors ADD COLUMN seen_until bigint`),
  // Which master keys the service was used with, in order of their adoption: `secrets/MasterCheck.ts`.
  "0022_master_keys": statements(`
    CREATE TABLE master_keys (
      place integer PRIMARY KEY,
      check_value text NOT NULL,
      kept_in text NOT NULL,
      adopted_at timestamptz NOT NULL DEFAULT now()
    )`),
  // Transfers of tokens nobody lists are handled last, and counted by target: a stranger can send any number of them.
  "0023_unlisted_transfers": statements(`
    ALTER TABLE transfers ADD COLUMN unlisted boolean NOT NULL DEFAULT false;
    CREATE INDEX transfers_unlisted ON transfers (match_key) WHERE unlisted`),
  // Addresses are given out under the lock of their wallet's counter, and watched before they are: a restored backup may
  // have lost invoices whose payors still pay. `allocation_heads`: the chains' heads when a target was given out.
  "0024_wallet_addresses": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* statements(`
      CREATE TABLE wallet_owners (
        fingerprint text PRIMARY KEY,
        merchant_id integer NOT NULL,
        version bigint NOT NULL
      );
      CREATE TABLE wallet_batches (
        fingerprint text PRIMARY KEY,
        batch bigint NOT NULL
      );
      CREATE TABLE wallet_addresses (
        fingerprint text NOT NULL,
        wallet_index bigint NOT NULL,
        family text NOT NULL,
        address text NOT NULL,
        match_key text NOT NULL,
        memo text,
        batch bigint NOT NULL,
        PRIMARY KEY (fingerprint, wallet_index)
      );
      CREATE INDEX wallet_addresses_by_key ON wallet_addresses (match_key);
      ALTER TABLE receive_targets ADD COLUMN allocation_heads jsonb NOT NULL DEFAULT '{}';
      ALTER TABLE chain_cursors ADD COLUMN caught_up_token bigint`)
    for (const definition of [allocateTargetsV1, storeAddressesV1]) yield* sql.unsafe(definition)
  }),
  // Written by the health check only, while what was written last was not stored. Kept uncompressed: it has to need room.
  "0025_trial_writes": statements(`
    CREATE TABLE trial_writes (
      id integer PRIMARY KEY,
      written_at timestamptz NOT NULL,
      filler bytea NOT NULL
    );
    ALTER TABLE trial_writes ALTER COLUMN filler SET STORAGE EXTERNAL`),
  // A payment above its network's threshold waits for two endpoints; what was left out at first is searched for.
  "0026_corroboration": statements(`
    ALTER TABLE transfers ADD COLUMN required_agreement boolean NOT NULL DEFAULT false;
    ALTER TABLE chain_cursors ADD COLUMN searched bigint`),
  // What an operator asks of a network's follower, which may be another instance: `chains/Repairs.ts`.
  "0027_chain_repairs": statements(`
    CREATE TABLE chain_repairs (
      id text PRIMARY KEY,
      merchant_id integer NOT NULL,
      version bigint NOT NULL,
      network text NOT NULL,
      environment text NOT NULL,
      kind text NOT NULL CHECK (kind IN ('rescan', 'reanchor')),
      from_height bigint,
      to_height bigint,
      next_height bigint,
      final_before bigint,
      credited integer NOT NULL,
      status text NOT NULL CHECK (status IN ('waiting', 'running', 'done', 'failed')),
      reason text,
      requested_at bigint NOT NULL
    )`),
  // Backups that an operator said were restored, and where each wallet's counter stood then: `chains/Restores.ts`.
  "0028_restores": statements(`
    CREATE TABLE restores (
      backup_time bigint PRIMARY KEY,
      declared_at bigint NOT NULL
    );
    CREATE TABLE wallet_restores (
      backup_time bigint NOT NULL,
      fingerprint text NOT NULL,
      from_index bigint NOT NULL,
      to_index bigint NOT NULL,
      watched_to bigint NOT NULL,
      PRIMARY KEY (backup_time, fingerprint)
    );
    CREATE INDEX wallet_restores_by_wallet ON wallet_restores (fingerprint);
    ALTER TABLE chain_repairs
      DROP CONSTRAINT chain_repairs_kind_check,
      ADD CONSTRAINT chain_repairs_kind_check CHECK (kind IN ('rescan', 'reanchor', 'restore')),
      ADD COLUMN since bigint`),
  // Blocks that only their own reader was asked about while others were away: `chains/Verification.ts`.
  "0029_searched_alone": statements(`ALTER TABLE chain_cursors ADD COLUMN searched_alone bigint`)
}
