-- The runtime's own tables. Every table carries merchant_id and every unique key contains it, except those that belong to
-- no merchant: receive targets and wallets (found by an address), transfers (network, transaction, index), leases, rate
-- windows, tokens, master keys and restores.

-- Events, newest last within a merchant, and the replies kept for idempotency keys.
CREATE SEQUENCE event_seq CACHE 1;
CREATE TABLE merchant_streams (
  merchant_id integer PRIMARY KEY,
  last_ms bigint NOT NULL DEFAULT 0,
  last_seq bigint NOT NULL DEFAULT 0,
  -- Events up to here were deleted by retention.
  pruned_ms bigint NOT NULL DEFAULT 0,
  pruned_seq bigint NOT NULL DEFAULT 0
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
  is_for_payors boolean NOT NULL DEFAULT false,
  data text NOT NULL,
  PRIMARY KEY (merchant_id, ms, seq)
);
-- Lists and streams of an invoice or an order, which have few events of any kind, and an invoice's last event.
CREATE INDEX events_by_invoice ON events (merchant_id, invoice_id, ms, seq) WHERE invoice_id IS NOT NULL;
CREATE INDEX events_by_order ON events (merchant_id, order_id, ms, seq) WHERE order_id IS NOT NULL;
-- Lists by environment, commerce or type, and those of a customer, who may have most events of a merchant: a run for each
-- combination, merged by runtime/eventbus/EventRuns.ts. The conditions are true of every event that has such a run; they
-- keep the planner from finding an event by its key here.
CREATE INDEX events_by_type ON events (environment, commerce, type, merchant_id, ms, seq) WHERE type <> '';
CREATE INDEX events_by_customer ON events (customer_id, environment, commerce, type, merchant_id, ms, seq)
  WHERE customer_id IS NOT NULL;
-- The last state of each object whose events were deleted.
CREATE TABLE event_snapshots (
  merchant_id integer NOT NULL,
  object text NOT NULL,
  id text NOT NULL,
  environment text NOT NULL,
  ms bigint NOT NULL,
  seq bigint NOT NULL,
  data text NOT NULL,
  PRIMARY KEY (merchant_id, object, id)
);
CREATE TABLE idempotency (
  merchant_id integer NOT NULL,
  environment text NOT NULL,
  scope text NOT NULL,
  fingerprint text NOT NULL,
  status integer NOT NULL,
  -- The answer whole, or from what its module makes it again.
  sealed_body text,
  reference text,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (merchant_id, environment, scope),
  CHECK ((sealed_body IS NULL) <> (reference IS NULL))
);
-- Pruning. Without it each round reads the whole table: 0.4 s of 300,000 rows, 1 ms with it (measured).
CREATE INDEX idempotency_by_age ON idempotency (created_at);

-- Counts and sums by time, for metrics.
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
);

-- What the accounts of a merchant hold: moved by commits, runtime/commit/BalanceDeltas.ts.
CREATE TABLE account_balances (
  merchant_id integer NOT NULL,
  environment text NOT NULL,
  -- Those whose names begin alike are read as a range.
  account text COLLATE "C" NOT NULL,
  asset text COLLATE "C" NOT NULL,
  units numeric(78, 0) NOT NULL,
  usd_millis bigint NOT NULL,
  PRIMARY KEY (merchant_id, environment, account, asset)
) WITH (fillfactor = 70);

-- Work that one instance does at a time.
CREATE TABLE leases (
  name text PRIMARY KEY,
  holder text NOT NULL,
  token bigint NOT NULL,
  until timestamptz NOT NULL
);

-- Unlogged: a crash of the database forgets who called in the last minute, and nothing else.
CREATE UNLOGGED TABLE rate_windows (
  name text NOT NULL,
  who text NOT NULL,
  stamps float8[] NOT NULL,
  used_at timestamptz NOT NULL,
  PRIMARY KEY (name, who)
) WITH (fillfactor = 50);

-- Which master keys the service was used with, in order of their adoption: runtime/secrets/MasterCheck.ts.
CREATE TABLE master_keys (
  place integer PRIMARY KEY,
  check_value text NOT NULL,
  kept_in text NOT NULL,
  adopted_at timestamptz NOT NULL DEFAULT now(),
  -- Since then nothing needs this key: it was replaced and the rotation is finished, or it was given up as lost.
  retired_at timestamptz
);

-- Keys derived from retired master keys, by which what was hashed or signed with them is still checked: one for each
-- label and id of a key. Sealed under the newest master key.
CREATE TABLE retained_keys (
  label text NOT NULL,
  key_id smallint NOT NULL,
  sealed_key text NOT NULL,
  -- What the key signed has ended by then; null: it checks for as long as the database lives.
  ends_at timestamptz,
  PRIMARY KEY (label, key_id)
);

-- Which master key each running process makes new values with: a key is not retired while one of them makes values
-- with it.
CREATE TABLE master_key_uses (
  process_id text PRIMARY KEY,
  check_value text NOT NULL,
  seen_at timestamptz NOT NULL DEFAULT now()
);

-- Written by the health check only, while what was written last was not stored. Uncompressed, because the check is
-- whether there is room.
CREATE TABLE trial_writes (
  id integer PRIMARY KEY,
  written_at timestamptz NOT NULL,
  filler bytea NOT NULL
);
ALTER TABLE trial_writes ALTER COLUMN filler SET STORAGE EXTERNAL;

-- Only of merchants whose devnet time was ever moved.
CREATE TABLE merchant_clocks (
  merchant_id integer PRIMARY KEY,
  version bigint NOT NULL,
  seconds bigint NOT NULL CHECK (seconds > 0)
);

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
);

-- Webhooks. Endpoints are what merchants change; how an endpoint answers is its lane's, so that an attempt never writes a
-- row that merchants change.
CREATE TABLE webhook_endpoints (
  id text PRIMARY KEY,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  environment text,
  commerce_only boolean NOT NULL,
  url text NOT NULL,
  status text NOT NULL CHECK (status IN ('enabled', 'disabled', 'deleted')),
  filters text[] NOT NULL,
  api_version text NOT NULL,
  description text,
  sealed_secret text NOT NULL,
  sealed_previous_secret text,
  previous_secret_expires_at bigint,
  disabled_reason text,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  ordered boolean NOT NULL DEFAULT false
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
  last_status integer,
  last_error text,
  last_latency_ms integer,
  created_at timestamptz NOT NULL DEFAULT now(),
  finished_at timestamptz,
  PRIMARY KEY (merchant_id, id)
) WITH (fillfactor = 80);
-- Claims of an endpoint, looks for those that wait, and the queue's metrics: webhook_claim, webhook_waiting, webhook_lag.
CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (merchant_id, endpoint_id, due_at)
  WHERE due_at IS NOT NULL;
-- Claims of an endpoint that wants order, probes, and the end of what waited too long: webhook_claim, webhook_expire.
CREATE INDEX webhook_deliveries_in_order ON webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq)
  WHERE due_at IS NOT NULL;
-- Lists of an endpoint's deliveries. Neither claims nor results need this one or those below: each costs a result a
-- write, because what is due is in an index, and so no result is an update in place.
CREATE INDEX webhook_deliveries_by_endpoint ON webhook_deliveries (merchant_id, endpoint_id, created_at, id);
CREATE INDEX webhook_deliveries_by_event ON webhook_deliveries (merchant_id, event_ms, event_seq, endpoint_id);
-- What failed is few of many: lists of it and replays find it without reading the rest.
CREATE INDEX webhook_deliveries_given_up ON webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq)
  WHERE status IN ('failed', 'canceled');
CREATE INDEX webhook_deliveries_given_up_by_age ON webhook_deliveries (merchant_id, endpoint_id, created_at, id)
  WHERE status IN ('failed', 'canceled');
CREATE TABLE webhook_lanes (
  merchant_id integer NOT NULL,
  endpoint_id text NOT NULL,
  health text NOT NULL CHECK (health IN ('unknown', 'healthy', 'failing')),
  is_slow boolean NOT NULL DEFAULT false,
  version bigint NOT NULL DEFAULT 0,
  holder text,
  token bigint NOT NULL DEFAULT 0,
  claims bigint NOT NULL DEFAULT 0,
  held_until timestamptz NOT NULL DEFAULT '-infinity',
  consecutive_failures integer NOT NULL DEFAULT 0,
  failing_since timestamptz,
  open_until timestamptz,
  openings integer NOT NULL DEFAULT 0,
  judged_from timestamptz NOT NULL DEFAULT '-infinity',
  PRIMARY KEY (merchant_id, endpoint_id)
) WITH (fillfactor = 50);
CREATE INDEX webhook_lanes_failing ON webhook_lanes (merchant_id, endpoint_id)
  WHERE health = 'failing' OR open_until IS NOT NULL;
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
-- Old attempts are found by endpoint: an index of block ranges would find every block of the table once space is used
-- again, because a range never forgets the oldest row it held.
CREATE INDEX webhook_attempts_by_endpoint ON webhook_attempts (merchant_id, endpoint_id, ended_at);

-- Receiving wallets and the addresses they gave out: ADR 14.
CREATE TABLE wallet_owners (
  fingerprint text PRIMARY KEY,
  merchant_id integer NOT NULL,
  version bigint NOT NULL
);
-- Addresses of merchants' wallets as far as they were named: every entry of a list, the one that many invoices share, and
-- the first ones of a key. Each is one merchant's, once and for all and in both environments; the id is that of a target.
CREATE TABLE address_claims (
  id text PRIMARY KEY,
  merchant_id integer NOT NULL,
  is_shared boolean NOT NULL
);
CREATE INDEX address_claims_by_merchant ON address_claims (merchant_id);
-- `changed_by`: the transaction of the last change, by `mark_change_v1`. Followers read what changed since they looked.
CREATE TABLE wallet_counters (
  fingerprint text PRIMARY KEY,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  next_index bigint NOT NULL,
  changed_by xid8 NOT NULL
);
CREATE INDEX wallet_counters_by_change ON wallet_counters (changed_by);
CREATE TABLE wallet_batches (
  fingerprint text PRIMARY KEY,
  batch bigint NOT NULL,
  changed_by xid8 NOT NULL
);
CREATE INDEX wallet_batches_by_change ON wallet_batches (changed_by);
-- Derived ahead, and watched before they are given out: a restored backup may have lost invoices whose payors still pay.
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
  created_at bigint NOT NULL,
  refused_tokens integer[] NOT NULL DEFAULT '{}',
  -- The heads of the chains when the target was given out: what was mined before is not its invoice's.
  allocation_heads jsonb NOT NULL DEFAULT '{}'
);
-- The targets of a wallet in order of allocation: what a start watches, and the span that a restore looks through.
CREATE INDEX receive_targets_by_wallet ON receive_targets (fingerprint, wallet_index);
-- The targets of an invoice; that a family has one, also when two instances allocate at once.
CREATE UNIQUE INDEX receive_targets_by_invoice ON receive_targets (invoice_id, family);
-- Whether a merchant ever had an address. Its equal keys are stored once: a million rows take 6.3 MB (measured).
CREATE INDEX receive_targets_by_owner ON receive_targets (merchant_id, environment, family);

-- How far each network was read. Whoever asks whether a transfer is final, how a network is, or up to which time it was
-- read is rarely the instance that follows it, so all of that is kept here.
CREATE TABLE chain_cursors (
  id text PRIMARY KEY,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  network text NOT NULL,
  environment text NOT NULL,
  recent jsonb NOT NULL,
  answered_at bigint NOT NULL,
  finalized bigint,
  condition text NOT NULL DEFAULT 'ok' CHECK (condition IN ('ok', 'frozen', 'disagreement', 'no_common_block')),
  stored_at bigint NOT NULL DEFAULT 0,
  seen_until bigint,
  caught_up_token bigint,
  -- Blocks searched at a second node for what the first left out: runtime/chains/TransferSearch.ts.
  searched bigint,
  searched_alone bigint
);
-- Networks and tokens that an operator has disabled, or enabled again: runtime/Availability.ts.
CREATE TABLE availability (
  id text PRIMARY KEY,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  environment text NOT NULL,
  is_enabled boolean NOT NULL,
  reason text,
  changed_at bigint NOT NULL
);
-- Transfers to our addresses, and to those that no invoice has, or had when they were mined.
CREATE TABLE transfers (
  id text PRIMARY KEY,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  network text NOT NULL,
  environment text NOT NULL,
  tx_hash text NOT NULL,
  tx_index integer NOT NULL,
  kind text NOT NULL CHECK (kind IN ('direct', 'internal')),
  invoice_id text,
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
  retry_at bigint NOT NULL,
  reorged_after_finality boolean NOT NULL DEFAULT false,
  -- Of tokens nobody lists, which are handled last and counted by target: a stranger can send any number of them.
  unlisted boolean NOT NULL DEFAULT false,
  -- Whether a second node must have it: true above its network's threshold.
  required_agreement boolean NOT NULL DEFAULT false
);
CREATE INDEX transfers_unhandled ON transfers (retry_at) WHERE status <> handled;
CREATE INDEX transfers_waiting ON transfers (network, environment, height) WHERE status = 'seen';
CREATE INDEX transfers_recent ON transfers (network, environment, height);
CREATE INDEX transfers_by_invoice ON transfers (invoice_id);
CREATE INDEX transfers_unmatched ON transfers (match_key) WHERE invoice_id IS NULL;
CREATE INDEX transfers_unlisted ON transfers (match_key) WHERE unlisted;
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
  -- What the contract at the address sent to its payee since then, and up to which height that is known.
  forwarded numeric(78, 0) NOT NULL,
  forwarded_height bigint NOT NULL,
  height bigint NOT NULL,
  opened_at bigint NOT NULL,
  open boolean NOT NULL
);
CREATE INDEX target_balances_by_invoice ON target_balances (invoice_id);
CREATE INDEX target_balances_open ON target_balances (network, environment) WHERE open;

-- What an operator asks of a network's follower, which may be another instance: runtime/chains/Repairs.ts.
CREATE TABLE chain_repairs (
  id text PRIMARY KEY,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  network text NOT NULL,
  environment text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('rescan', 'reanchor', 'restore')),
  from_height bigint,
  to_height bigint,
  next_height bigint,
  final_before bigint,
  credited integer NOT NULL,
  status text NOT NULL CHECK (status IN ('waiting', 'running', 'done', 'failed')),
  reason text,
  requested_at bigint NOT NULL,
  since bigint
);
-- Backups that an operator said were restored, and where each wallet's counter stood then: runtime/chains/Restores.ts.
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
