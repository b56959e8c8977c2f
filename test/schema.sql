-- What the migrations make, by owner. Written by: WRITE_SCHEMA=1 npx vitest run --config test/vitest.config.ts test/runtime/store/schema.test.ts

-- runtime

CREATE SEQUENCE event_seq AS bigint INCREMENT 1 START 1 CACHE 1;

CREATE TABLE account_balances (
  merchant_id integer NOT NULL,
  environment text NOT NULL,
  account text NOT NULL,
  asset text NOT NULL,
  units numeric(78,0) NOT NULL,
  usd_millis bigint NOT NULL,
  CONSTRAINT account_balances_pkey PRIMARY KEY (merchant_id, environment, account, asset)
) WITH (fillfactor=70);

CREATE TABLE address_claims (
  id text NOT NULL,
  merchant_id integer NOT NULL,
  is_shared boolean NOT NULL,
  CONSTRAINT address_claims_pkey PRIMARY KEY (id)
);

CREATE TABLE availability (
  id text NOT NULL,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  environment text NOT NULL,
  is_enabled boolean NOT NULL,
  reason text,
  changed_at bigint NOT NULL,
  CONSTRAINT availability_pkey PRIMARY KEY (id)
);

CREATE TABLE chain_cursors (
  id text NOT NULL,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  network text NOT NULL,
  environment text NOT NULL,
  recent jsonb NOT NULL,
  answered_at bigint NOT NULL,
  finalized bigint,
  condition text NOT NULL DEFAULT 'ok'::text,
  stored_at bigint NOT NULL DEFAULT 0,
  seen_until bigint,
  caught_up_token bigint,
  searched bigint,
  searched_alone bigint,
  CONSTRAINT chain_cursors_condition_check CHECK ((condition = ANY (ARRAY['ok'::text, 'frozen'::text, 'disagreement'::text, 'no_common_block'::text]))),
  CONSTRAINT chain_cursors_pkey PRIMARY KEY (id)
);

CREATE TABLE chain_repairs (
  id text NOT NULL,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  network text NOT NULL,
  environment text NOT NULL,
  kind text NOT NULL,
  from_height bigint,
  to_height bigint,
  next_height bigint,
  final_before bigint,
  credited integer NOT NULL,
  status text NOT NULL,
  reason text,
  requested_at bigint NOT NULL,
  since bigint,
  CONSTRAINT chain_repairs_kind_check CHECK ((kind = ANY (ARRAY['rescan'::text, 'reanchor'::text, 'restore'::text]))),
  CONSTRAINT chain_repairs_pkey PRIMARY KEY (id),
  CONSTRAINT chain_repairs_status_check CHECK ((status = ANY (ARRAY['waiting'::text, 'running'::text, 'done'::text, 'failed'::text])))
);

CREATE TABLE cluster_roles (
  address text NOT NULL,
  role text NOT NULL,
  names text[] NOT NULL,
  CONSTRAINT cluster_roles_pkey PRIMARY KEY (address, role)
);

CREATE TABLE cluster_runners (
  machine_id integer NOT NULL DEFAULT nextval('cluster_runners_machine_id_seq'::regclass),
  address character varying(255) NOT NULL,
  runner text NOT NULL,
  healthy boolean NOT NULL DEFAULT true,
  last_heartbeat timestamp without time zone NOT NULL DEFAULT now(),
  CONSTRAINT cluster_runners_address_key UNIQUE (address),
  CONSTRAINT cluster_runners_pkey PRIMARY KEY (machine_id)
);

CREATE TABLE event_snapshots (
  merchant_id integer NOT NULL,
  object text NOT NULL,
  id text NOT NULL,
  environment text NOT NULL,
  ms bigint NOT NULL,
  seq bigint NOT NULL,
  data text NOT NULL,
  CONSTRAINT event_snapshots_pkey PRIMARY KEY (merchant_id, object, id)
);

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
  CONSTRAINT events_pkey PRIMARY KEY (merchant_id, ms, seq)
) PARTITION BY RANGE (ms);

CREATE TABLE idempotency (
  merchant_id integer NOT NULL,
  environment text NOT NULL,
  scope text NOT NULL,
  fingerprint text NOT NULL,
  status integer NOT NULL,
  sealed_body text,
  reference text,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT idempotency_check CHECK (((sealed_body IS NULL) <> (reference IS NULL))),
  CONSTRAINT idempotency_pkey PRIMARY KEY (merchant_id, environment, scope)
);

CREATE TABLE leases (
  name text NOT NULL,
  holder text NOT NULL,
  token bigint NOT NULL,
  until timestamp with time zone NOT NULL,
  progressed_at timestamp with time zone,
  CONSTRAINT leases_pkey PRIMARY KEY (name)
);

CREATE TABLE master_key_uses (
  process_id text NOT NULL,
  check_value text NOT NULL,
  seen_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT master_key_uses_pkey PRIMARY KEY (process_id)
);

CREATE TABLE master_keys (
  place integer NOT NULL,
  check_value text NOT NULL,
  kept_in text NOT NULL,
  adopted_at timestamp with time zone NOT NULL DEFAULT now(),
  retired_at timestamp with time zone,
  CONSTRAINT master_keys_pkey PRIMARY KEY (place)
);

CREATE TABLE merchant_clocks (
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  seconds bigint NOT NULL,
  CONSTRAINT merchant_clocks_pkey PRIMARY KEY (merchant_id),
  CONSTRAINT merchant_clocks_seconds_check CHECK ((seconds > 0))
);

CREATE TABLE merchant_streams (
  merchant_id integer NOT NULL,
  last_ms bigint NOT NULL DEFAULT 0,
  last_seq bigint NOT NULL DEFAULT 0,
  pruned_ms bigint NOT NULL DEFAULT 0,
  pruned_seq bigint NOT NULL DEFAULT 0,
  CONSTRAINT merchant_streams_pkey PRIMARY KEY (merchant_id)
) WITH (fillfactor=50);

CREATE UNLOGGED TABLE rate_windows (
  name text NOT NULL,
  who text NOT NULL,
  stamps double precision[] NOT NULL,
  used_at timestamp with time zone NOT NULL,
  CONSTRAINT rate_windows_pkey PRIMARY KEY (name, who)
) WITH (fillfactor=50);

CREATE TABLE receive_targets (
  id text NOT NULL,
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
  refused_tokens integer[] NOT NULL DEFAULT '{}'::integer[],
  allocation_heads jsonb NOT NULL DEFAULT '{}'::jsonb,
  CONSTRAINT receive_targets_pkey PRIMARY KEY (id)
);

CREATE TABLE restores (
  backup_time bigint NOT NULL,
  declared_at bigint NOT NULL,
  CONSTRAINT restores_pkey PRIMARY KEY (backup_time)
);

CREATE TABLE retained_keys (
  label text NOT NULL,
  key_id smallint NOT NULL,
  sealed_key text NOT NULL,
  ends_at timestamp with time zone,
  CONSTRAINT retained_keys_pkey PRIMARY KEY (label, key_id)
);

CREATE TABLE rollup_versions (
  sum text NOT NULL,
  version integer NOT NULL,
  CONSTRAINT rollup_versions_pkey PRIMARY KEY (sum)
);

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
  CONSTRAINT rollups_pkey PRIMARY KEY (merchant_id, environment, sum, width, bucket, key)
) WITH (fillfactor=70);

CREATE TABLE target_balances (
  id text NOT NULL,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  network text NOT NULL,
  environment text NOT NULL,
  match_key text NOT NULL,
  invoice_id text NOT NULL,
  address text NOT NULL,
  since_height bigint NOT NULL,
  since_balance numeric(78,0),
  forwarded numeric(78,0) NOT NULL,
  forwarded_height bigint NOT NULL,
  height bigint NOT NULL,
  opened_at bigint NOT NULL,
  open boolean NOT NULL,
  CONSTRAINT target_balances_pkey PRIMARY KEY (id)
);

CREATE TABLE tokens (
  id integer NOT NULL DEFAULT nextval('tokens_id_seq'::regclass),
  key text NOT NULL,
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
  photo_uri text NOT NULL,
  CONSTRAINT tokens_key_key UNIQUE (key),
  CONSTRAINT tokens_pkey PRIMARY KEY (id)
);

CREATE TABLE transfers (
  id text NOT NULL,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  network text NOT NULL,
  environment text NOT NULL,
  tx_hash text NOT NULL,
  tx_index integer NOT NULL,
  kind text NOT NULL,
  invoice_id text,
  match_key text NOT NULL,
  token_address text,
  amount numeric(78,0) NOT NULL,
  sender text,
  height bigint NOT NULL,
  block_hash text NOT NULL,
  block_time bigint NOT NULL,
  observed_at bigint NOT NULL,
  status text NOT NULL,
  handled text NOT NULL,
  required_blocks integer,
  required_finalized boolean,
  confirmations integer NOT NULL,
  attempts integer NOT NULL,
  retry_at bigint NOT NULL,
  reorged_after_finality boolean NOT NULL DEFAULT false,
  unlisted boolean NOT NULL DEFAULT false,
  required_agreement boolean NOT NULL DEFAULT false,
  CONSTRAINT transfers_amount_check CHECK ((amount >= (0)::numeric)),
  CONSTRAINT transfers_handled_check CHECK ((handled = ANY (ARRAY['none'::text, 'seen'::text, 'confirmed'::text, 'reverted'::text]))),
  CONSTRAINT transfers_kind_check CHECK ((kind = ANY (ARRAY['direct'::text, 'internal'::text]))),
  CONSTRAINT transfers_pkey PRIMARY KEY (id),
  CONSTRAINT transfers_status_check CHECK ((status = ANY (ARRAY['seen'::text, 'confirmed'::text, 'reverted'::text])))
);

CREATE TABLE trial_writes (
  id integer NOT NULL,
  written_at timestamp with time zone NOT NULL,
  filler bytea NOT NULL STORAGE e,
  CONSTRAINT trial_writes_pkey PRIMARY KEY (id)
);

CREATE TABLE wallet_addresses (
  fingerprint text NOT NULL,
  wallet_index bigint NOT NULL,
  family text NOT NULL,
  address text NOT NULL,
  match_key text NOT NULL,
  memo text,
  batch bigint NOT NULL,
  CONSTRAINT wallet_addresses_pkey PRIMARY KEY (fingerprint, wallet_index)
);

CREATE TABLE wallet_batches (
  fingerprint text NOT NULL,
  batch bigint NOT NULL,
  changed_by xid8 NOT NULL,
  CONSTRAINT wallet_batches_pkey PRIMARY KEY (fingerprint)
);

CREATE TABLE wallet_counters (
  fingerprint text NOT NULL,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  next_index bigint NOT NULL,
  changed_by xid8 NOT NULL,
  CONSTRAINT wallet_counters_pkey PRIMARY KEY (fingerprint)
);

CREATE TABLE wallet_derivations (
  fingerprint text NOT NULL,
  claimed_to bigint NOT NULL,
  CONSTRAINT wallet_derivations_pkey PRIMARY KEY (fingerprint)
);

CREATE TABLE wallet_owners (
  fingerprint text NOT NULL,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  CONSTRAINT wallet_owners_pkey PRIMARY KEY (fingerprint)
);

CREATE TABLE wallet_restores (
  backup_time bigint NOT NULL,
  fingerprint text NOT NULL,
  from_index bigint NOT NULL,
  to_index bigint NOT NULL,
  watched_to bigint NOT NULL,
  CONSTRAINT wallet_restores_pkey PRIMARY KEY (backup_time, fingerprint)
);

CREATE TABLE webhook_attempts (
  merchant_id integer NOT NULL,
  delivery_id uuid NOT NULL,
  attempt integer NOT NULL,
  endpoint_id text NOT NULL,
  ended_at timestamp with time zone NOT NULL DEFAULT now(),
  outcome text NOT NULL,
  status integer,
  error text,
  latency_ms integer NOT NULL,
  response text,
  CONSTRAINT webhook_attempts_outcome_check CHECK ((outcome = ANY (ARRAY['succeeded'::text, 'failed'::text, 'timed_out'::text])))
) PARTITION BY RANGE (ended_at);

CREATE TABLE webhook_deliveries (
  id uuid NOT NULL DEFAULT delivery_id_v1(),
  merchant_id integer NOT NULL,
  endpoint_id text NOT NULL,
  event_ms bigint NOT NULL,
  event_seq bigint NOT NULL,
  status text NOT NULL DEFAULT 'pending'::text,
  attempt integer NOT NULL DEFAULT 0,
  due_at timestamp with time zone DEFAULT now(),
  last_status integer,
  last_error text,
  last_latency_ms integer,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  finished_at timestamp with time zone,
  CONSTRAINT webhook_deliveries_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'delivering'::text, 'retrying'::text, 'succeeded'::text, 'failed'::text, 'canceled'::text])))
) PARTITION BY RANGE (created_at);

CREATE TABLE webhook_endpoints (
  id text NOT NULL,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  environment text,
  commerce_only boolean NOT NULL,
  url text NOT NULL,
  status text NOT NULL,
  filters text[] NOT NULL,
  api_version text NOT NULL,
  description text,
  sealed_secret text NOT NULL,
  sealed_previous_secret text,
  previous_secret_expires_at bigint,
  disabled_reason text,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  ordered boolean NOT NULL DEFAULT false,
  format text,
  is_single_attempt boolean NOT NULL DEFAULT false,
  CONSTRAINT webhook_endpoints_pkey PRIMARY KEY (id),
  CONSTRAINT webhook_endpoints_status_check CHECK ((status = ANY (ARRAY['enabled'::text, 'disabled'::text, 'deleted'::text])))
);

CREATE TABLE webhook_lanes (
  merchant_id integer NOT NULL,
  endpoint_id text NOT NULL,
  health text NOT NULL,
  is_slow boolean NOT NULL DEFAULT false,
  version bigint NOT NULL DEFAULT 0,
  holder text,
  token bigint NOT NULL DEFAULT 0,
  claims bigint NOT NULL DEFAULT 0,
  held_until timestamp with time zone NOT NULL DEFAULT '-infinity'::timestamp with time zone,
  consecutive_failures integer NOT NULL DEFAULT 0,
  failing_since timestamp with time zone,
  open_until timestamp with time zone,
  openings integer NOT NULL DEFAULT 0,
  judged_from timestamp with time zone NOT NULL DEFAULT '-infinity'::timestamp with time zone,
  CONSTRAINT webhook_lanes_health_check CHECK ((health = ANY (ARRAY['unknown'::text, 'healthy'::text, 'failing'::text]))),
  CONSTRAINT webhook_lanes_pkey PRIMARY KEY (merchant_id, endpoint_id)
) WITH (fillfactor=50);

CREATE TABLE webhook_messages (
  merchant_id integer NOT NULL,
  ms bigint NOT NULL,
  seq bigint NOT NULL,
  environment text NOT NULL,
  format text NOT NULL,
  type text NOT NULL,
  data text NOT NULL,
  CONSTRAINT webhook_messages_pkey PRIMARY KEY (merchant_id, ms, seq)
);

CREATE INDEX address_claims_by_merchant ON public.address_claims USING btree (merchant_id);

CREATE INDEX events_by_customer ON ONLY public.events USING btree (customer_id, environment, commerce, type, merchant_id, ms, seq) WHERE (customer_id IS NOT NULL);

CREATE INDEX events_by_invoice ON ONLY public.events USING btree (merchant_id, invoice_id, ms, seq) WHERE (invoice_id IS NOT NULL);

CREATE INDEX events_by_order ON ONLY public.events USING btree (merchant_id, order_id, ms, seq) WHERE (order_id IS NOT NULL);

CREATE INDEX events_by_type ON ONLY public.events USING btree (environment, commerce, type, merchant_id, ms, seq) WHERE (type <> ''::text);

CREATE INDEX idempotency_by_age ON public.idempotency USING btree (created_at);

CREATE UNIQUE INDEX receive_targets_by_invoice ON public.receive_targets USING btree (invoice_id, family);

CREATE INDEX receive_targets_by_owner ON public.receive_targets USING btree (merchant_id, environment, family);

CREATE INDEX receive_targets_by_wallet ON public.receive_targets USING btree (fingerprint, wallet_index);

CREATE INDEX target_balances_by_invoice ON public.target_balances USING btree (invoice_id);

CREATE INDEX target_balances_open ON public.target_balances USING btree (network, environment) WHERE open;

CREATE INDEX transfers_by_invoice ON public.transfers USING btree (invoice_id);

CREATE INDEX transfers_recent ON public.transfers USING btree (network, environment, height);

CREATE INDEX transfers_unhandled ON public.transfers USING btree (retry_at) WHERE (status <> handled);

CREATE INDEX transfers_unlisted ON public.transfers USING btree (match_key) WHERE unlisted;

CREATE INDEX transfers_unmatched ON public.transfers USING btree (match_key) WHERE (invoice_id IS NULL);

CREATE INDEX transfers_waiting ON public.transfers USING btree (network, environment, height) WHERE (status = 'seen'::text);

CREATE INDEX wallet_addresses_by_key ON public.wallet_addresses USING btree (match_key);

CREATE INDEX wallet_batches_by_change ON public.wallet_batches USING btree (changed_by);

CREATE INDEX wallet_counters_by_change ON public.wallet_counters USING btree (changed_by);

CREATE INDEX wallet_restores_by_wallet ON public.wallet_restores USING btree (fingerprint);

CREATE INDEX webhook_attempts_by_endpoint ON ONLY public.webhook_attempts USING btree (merchant_id, endpoint_id, ended_at);

CREATE INDEX webhook_deliveries_by_endpoint ON ONLY public.webhook_deliveries USING btree (merchant_id, endpoint_id, created_at, id);

CREATE INDEX webhook_deliveries_by_event ON ONLY public.webhook_deliveries USING btree (merchant_id, event_ms, event_seq, endpoint_id);

CREATE INDEX webhook_deliveries_given_up ON ONLY public.webhook_deliveries USING btree (merchant_id, endpoint_id, event_ms, event_seq) WHERE (status = ANY (ARRAY['failed'::text, 'canceled'::text]));

CREATE INDEX webhook_deliveries_given_up_by_age ON ONLY public.webhook_deliveries USING btree (merchant_id, endpoint_id, created_at, id) WHERE (status = ANY (ARRAY['failed'::text, 'canceled'::text]));

CREATE INDEX webhook_deliveries_in_order ON ONLY public.webhook_deliveries USING btree (merchant_id, endpoint_id, event_ms, event_seq) WHERE (due_at IS NOT NULL);

CREATE INDEX webhook_deliveries_waiting ON ONLY public.webhook_deliveries USING btree (merchant_id, endpoint_id, due_at) WHERE (due_at IS NOT NULL);

CREATE INDEX webhook_endpoints_by_merchant ON public.webhook_endpoints USING btree (merchant_id);

CREATE INDEX webhook_lanes_failing ON public.webhook_lanes USING btree (merchant_id, endpoint_id) WHERE ((health = 'failing'::text) OR (open_until IS NOT NULL));

-- FUNCTION allocate_shared_targets_v1(p_fingerprint text, p_family text, p_now bigint, p_heads jsonb, p_requests json) RETURNS SETOF receive_targets;

-- FUNCTION allocate_shared_targets_v2(p_fingerprint text, p_family text, p_now bigint, p_heads jsonb, p_requests json) RETURNS SETOF receive_targets;

-- FUNCTION allocate_targets_v1(p_fingerprint text, p_family text, p_start bigint, p_end bigint, p_now bigint, p_heads jsonb, p_requests json) RETURNS TABLE(targets jsonb, previous bigint, next bigint, ahead bigint);

-- FUNCTION allocate_targets_v2(p_fingerprint text, p_family text, p_start bigint, p_end bigint, p_now bigint, p_heads jsonb, p_requests json) RETURNS TABLE(targets jsonb, previous bigint, next bigint, ahead bigint);

-- FUNCTION claim_addresses_v1(p_fingerprint text, p_family text, p_merchant integer, p_kind text, p_limit integer, p_keys json) RETURNS TABLE(place bigint, reason text);

-- FUNCTION delivery_id_v1(p_created timestamp with time zone) RETURNS uuid;

-- FUNCTION mark_change_v1() RETURNS trigger;

-- FUNCTION partition_check_v1(p_table text, p_part text) RETURNS void;

-- FUNCTION partition_column_v1(p_table text) RETURNS text;

-- FUNCTION partition_create_v1(p_table text, p_name text) RETURNS void;

-- FUNCTION partition_end_v1(p_promise text) RETURNS timestamp with time zone;

-- FUNCTION partition_keep_v1() RETURNS trigger;

-- FUNCTION partition_limit_v1(p_table text, p_part text) RETURNS void;

-- FUNCTION partition_months_v1(p_table text, p_until timestamp with time zone) RETURNS integer;

-- FUNCTION partition_promise_v1(p_table text, p_part text) RETURNS text;

-- FUNCTION partition_switch_v1(p_table text) RETURNS void;

-- FUNCTION partition_value_v1(p_table text, p_at timestamp with time zone) RETURNS text;

-- FUNCTION partitions_v1(p_table text) RETURNS TABLE(name text, from_at timestamp with time zone, to_at timestamp with time zone, is_detaching boolean);

-- FUNCTION store_addresses_v1(p_fingerprint text, p_family text, p_rows json) RETURNS bigint;

-- FUNCTION webhook_claim_v1(p_holder text, p_merchants integer[], p_endpoints text[], p_counts integer[], p_held uuid[], p_slow boolean[], p_judged text[], p_slots integer, p_other_slots integer, p_failing_slots integer, p_ahead integer, p_slow_ahead integer, p_lease interval) RETURNS TABLE(id uuid, attempt integer, age_ms double precision, event_ms bigint, event_seq bigint, environment text, commerce boolean, type text, request_id text, idempotency_key text, pending_webhooks integer, data text, lane json);

-- FUNCTION webhook_claim_v2(p_holder text, p_merchants integer[], p_endpoints text[], p_counts integer[], p_held uuid[], p_slow boolean[], p_judged text[], p_slots integer, p_other_slots integer, p_failing_slots integer, p_ahead integer, p_slow_ahead integer, p_lease interval, p_from timestamp with time zone, p_to timestamp with time zone) RETURNS TABLE(id uuid, created text, attempt integer, age_ms double precision, event_ms bigint, event_seq bigint, environment text, commerce boolean, type text, request_id text, idempotency_key text, pending_webhooks integer, data text, lane json);

-- FUNCTION webhook_due_span_v1() RETURNS TABLE(from_at timestamp with time zone, to_at timestamp with time zone);

-- FUNCTION webhook_exchange_v1(p_results boolean, p_merchants integer[], p_endpoints text[], p_tokens bigint[], p_claims bigint[], p_lanes integer[], p_ids uuid[], p_statuses text[], p_attempts integer[], p_dues bigint[], p_outcomes text[], p_answers integer[], p_errors text[], p_latencies integer[], p_responses text[], p_environments text[], p_commerce boolean[], p_sum text, p_widths integer[], p_window interval, p_patience interval, p_slow_ms integer, p_request boolean, p_holder text, p_wanted_merchants integer[], p_wanted_endpoints text[], p_counts integer[], p_held uuid[], p_slow boolean[], p_slots integer, p_other_slots integer, p_failing_slots integer, p_ahead integer, p_slow_ahead integer, p_lease interval) RETURNS TABLE(id uuid, attempt integer, age_ms double precision, event_ms bigint, event_seq bigint, environment text, commerce boolean, type text, request_id text, idempotency_key text, pending_webhooks integer, data text, lane json, report json);

-- FUNCTION webhook_exchange_v2(p_results boolean, p_merchants integer[], p_endpoints text[], p_tokens bigint[], p_claims bigint[], p_lanes integer[], p_ids uuid[], p_created timestamp with time zone[], p_statuses text[], p_attempts integer[], p_dues bigint[], p_outcomes text[], p_answers integer[], p_errors text[], p_latencies integer[], p_responses text[], p_environments text[], p_commerce boolean[], p_sum text, p_widths integer[], p_window interval, p_patience interval, p_slow_ms integer, p_request boolean, p_holder text, p_wanted_merchants integer[], p_wanted_endpoints text[], p_counts integer[], p_held uuid[], p_slow boolean[], p_slots integer, p_other_slots integer, p_failing_slots integer, p_ahead integer, p_slow_ahead integer, p_lease interval, p_from timestamp with time zone, p_to timestamp with time zone) RETURNS TABLE(id uuid, created text, attempt integer, age_ms double precision, event_ms bigint, event_seq bigint, environment text, commerce boolean, type text, request_id text, idempotency_key text, pending_webhooks integer, data text, lane json, report json);

-- FUNCTION webhook_expire_v1(p_merchant integer, p_endpoint text, p_age interval, p_limit integer, p_error text) RETURNS integer;

-- FUNCTION webhook_expire_v2(p_merchant integer, p_endpoint text, p_age interval, p_limit integer, p_error text, p_from timestamp with time zone, p_to timestamp with time zone) RETURNS integer;

-- FUNCTION webhook_lag_v1(p_lease interval) RETURNS TABLE(owed_ms double precision, oldest_ms double precision, waiting integer, failing integer, opened integer, half_open integer);

-- FUNCTION webhook_lag_v2(p_lease interval, p_from timestamp with time zone, p_to timestamp with time zone) RETURNS TABLE(owed_ms double precision, oldest_ms double precision, waiting integer, failing integer, opened integer, half_open integer);

-- FUNCTION webhook_lanes_v1(p_merchants integer[], p_endpoints text[], p_outcomes text[], p_window interval, p_patience interval) RETURNS TABLE(merchant_id integer, endpoint_id text, outcomes text, version bigint, health text, consecutive_failures integer, failing_since_ms double precision, open_until_ms double precision, openings integer, judged_from_ms double precision, now_ms double precision, attempts integer, failures integer, timeouts integer, failed_events integer);

-- FUNCTION webhook_lanes_v2(p_merchants integer[], p_endpoints text[], p_outcomes text[], p_window interval, p_patience interval) RETURNS TABLE(merchant_id integer, endpoint_id text, outcomes text, version bigint, health text, consecutive_failures integer, failing_since_ms double precision, open_until_ms double precision, openings integer, judged_from_ms double precision, now_ms double precision, attempts integer, failures integer, timeouts integer, failed_events integer);

-- FUNCTION webhook_mark_v1(p_merchants integer[], p_endpoints text[], p_tokens bigint[], p_claims bigint[], p_lanes integer[], p_ids uuid[], p_statuses text[], p_attempts integer[], p_dues bigint[], p_outcomes text[], p_answers integer[], p_errors text[], p_latencies integer[], p_responses text[], p_environments text[], p_commerce boolean[], p_sum text, p_widths integer[], p_window interval, p_patience interval, p_slow_ms integer) RETURNS TABLE(merchant_id integer, endpoint_id text, outcomes text, version bigint, health text, consecutive_failures integer, failing_since_ms double precision, open_until_ms double precision, openings integer, judged_from_ms double precision, now_ms double precision, attempts integer, failures integer, timeouts integer, failed_events integer);

-- FUNCTION webhook_mark_v2(p_merchants integer[], p_endpoints text[], p_tokens bigint[], p_claims bigint[], p_lanes integer[], p_ids uuid[], p_created timestamp with time zone[], p_statuses text[], p_attempts integer[], p_dues bigint[], p_outcomes text[], p_answers integer[], p_errors text[], p_latencies integer[], p_responses text[], p_environments text[], p_commerce boolean[], p_sum text, p_widths integer[], p_window interval, p_patience interval, p_slow_ms integer) RETURNS TABLE(merchant_id integer, endpoint_id text, outcomes text, version bigint, health text, consecutive_failures integer, failing_since_ms double precision, open_until_ms double precision, openings integer, judged_from_ms double precision, now_ms double precision, attempts integer, failures integer, timeouts integer, failed_events integer);

-- FUNCTION webhook_waiting_v1(p_holder text, p_lease interval, p_merchants integer[], p_after_merchant integer, p_after_endpoint text, p_page integer, p_slots integer, p_other_slots integer, p_failing_slots integer, p_full text[]) RETURNS TABLE(merchant_id integer, endpoint_id text, claimable boolean, page_end boolean);

-- FUNCTION webhook_waiting_v2(p_holder text, p_lease interval, p_merchants integer[], p_after_merchant integer, p_after_endpoint text, p_page integer, p_slots integer, p_other_slots integer, p_failing_slots integer, p_full text[], p_from timestamp with time zone, p_to timestamp with time zone) RETURNS TABLE(merchant_id integer, endpoint_id text, claimable boolean, page_end boolean);

CREATE TRIGGER mark_change BEFORE INSERT OR UPDATE ON public.wallet_batches FOR EACH ROW EXECUTE FUNCTION mark_change_v1();

CREATE TRIGGER mark_change BEFORE INSERT OR UPDATE ON public.wallet_counters FOR EACH ROW EXECUTE FUNCTION mark_change_v1();

-- modules/audit

CREATE TABLE audit_chains (
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  chain_place bigint NOT NULL,
  hash text NOT NULL,
  CONSTRAINT audit_chains_pkey PRIMARY KEY (merchant_id)
);

CREATE TABLE audit_entries (
  merchant_id integer NOT NULL,
  id text NOT NULL,
  version bigint NOT NULL,
  environment text NOT NULL,
  actor text NOT NULL,
  action text NOT NULL,
  subject json NOT NULL,
  before json NOT NULL,
  after json NOT NULL,
  request_id text,
  created_at bigint NOT NULL,
  chain_place bigint,
  previous_hash text,
  hash text,
  CONSTRAINT audit_entries_chain_place_check CHECK ((chain_place > 0)),
  CONSTRAINT audit_entries_check CHECK ((((chain_place IS NULL) = (hash IS NULL)) AND ((chain_place IS NULL) = (previous_hash IS NULL)))),
  CONSTRAINT audit_entries_environment_check CHECK ((environment = ANY (ARRAY['devnet'::text, 'mainnet'::text]))),
  CONSTRAINT audit_entries_pkey PRIMARY KEY (merchant_id, id)
);

CREATE INDEX audit_entries_by_actor ON public.audit_entries USING btree (merchant_id, environment, actor, id);

CREATE UNIQUE INDEX audit_entries_by_place ON public.audit_entries USING btree (merchant_id, chain_place);

CREATE INDEX audit_entries_by_subject ON public.audit_entries USING btree (merchant_id, ((subject ->> 'id'::text)), id);

CREATE INDEX audit_entries_newest ON public.audit_entries USING btree (merchant_id, environment, id);

CREATE INDEX audit_entries_unchained ON public.audit_entries USING btree (id) WHERE (chain_place IS NULL);

-- modules/auth

CREATE SEQUENCE merchant_id_seq AS integer INCREMENT 1 START 1 CACHE 1;

CREATE TABLE api_key_uses (
  merchant_id integer NOT NULL,
  key_id text NOT NULL,
  used_at bigint NOT NULL,
  CONSTRAINT api_key_uses_pkey PRIMARY KEY (merchant_id, key_id)
);

CREATE TABLE api_keys (
  id text NOT NULL,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  environment text NOT NULL,
  scope text NOT NULL,
  name text NOT NULL,
  prefix text NOT NULL,
  last4 text NOT NULL,
  hash text NOT NULL,
  status text NOT NULL,
  expires_at bigint,
  api_version text NOT NULL,
  created_at bigint NOT NULL,
  ip_allowlist json NOT NULL DEFAULT '[]'::json,
  replaced_by text,
  created_by text,
  made_by text,
  permissions json NOT NULL DEFAULT '["read", "write", "refund"]'::json,
  role_limits json NOT NULL DEFAULT '[]'::json,
  use text,
  CONSTRAINT api_keys_environment_check CHECK ((environment = ANY (ARRAY['devnet'::text, 'mainnet'::text]))),
  CONSTRAINT api_keys_pkey PRIMARY KEY (id),
  CONSTRAINT api_keys_scope_check CHECK ((scope = ANY (ARRAY['merchant'::text, 'commerce'::text]))),
  CONSTRAINT api_keys_status_check CHECK ((status = ANY (ARRAY['active'::text, 'revoked'::text])))
);

CREATE TABLE merchants (
  id integer NOT NULL,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  name text NOT NULL,
  email text,
  created_at bigint NOT NULL,
  default_environment text,
  CONSTRAINT merchants_check CHECK ((merchant_id = id)),
  CONSTRAINT merchants_default_environment_check CHECK ((default_environment = ANY (ARRAY['devnet'::text, 'mainnet'::text]))),
  CONSTRAINT merchants_pkey PRIMARY KEY (id)
);

CREATE INDEX api_keys_by_hash ON public.api_keys USING btree (hash);

CREATE INDEX api_keys_by_maker ON public.api_keys USING btree (merchant_id, created_by) WHERE (created_by IS NOT NULL);

CREATE INDEX api_keys_by_merchant ON public.api_keys USING btree (merchant_id, created_at);

-- modules/batches

CREATE TABLE batch_counters (
  merchant_id integer NOT NULL,
  environment text NOT NULL,
  version bigint NOT NULL,
  CONSTRAINT batch_counters_pkey PRIMARY KEY (merchant_id, environment)
);

CREATE TABLE batch_exports (
  merchant_id integer NOT NULL,
  batch_id text NOT NULL,
  part integer NOT NULL,
  attempt integer NOT NULL,
  version bigint NOT NULL,
  payload text NOT NULL,
  created_at bigint NOT NULL,
  CONSTRAINT batch_exports_pkey PRIMARY KEY (merchant_id, batch_id, part, attempt),
  CONSTRAINT batch_exports_version_check CHECK ((version = 1))
);

CREATE TABLE batch_lines (
  merchant_id integer NOT NULL,
  batch_id text NOT NULL,
  line integer NOT NULL,
  version bigint NOT NULL,
  part integer NOT NULL,
  status text NOT NULL,
  token_id integer,
  symbol text NOT NULL,
  decimals integer NOT NULL,
  token_address text,
  units numeric(78,0) NOT NULL,
  amount bigint NOT NULL,
  destination json NOT NULL,
  source json,
  reference text NOT NULL,
  refund_id text,
  tx_hash text,
  transfer_index bigint,
  CONSTRAINT batch_lines_amount_check CHECK ((amount >= 0)),
  CONSTRAINT batch_lines_pkey PRIMARY KEY (merchant_id, batch_id, line),
  CONSTRAINT batch_lines_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'seen'::text, 'paid'::text, 'mismatch'::text, 'released'::text]))),
  CONSTRAINT batch_lines_units_check CHECK ((units > (0)::numeric))
);

CREATE TABLE batches (
  merchant_id integer NOT NULL,
  id text NOT NULL,
  version bigint NOT NULL,
  environment text NOT NULL,
  kind text NOT NULL,
  status text NOT NULL,
  network text NOT NULL,
  from_address text,
  valid_for_seconds integer NOT NULL,
  metadata json NOT NULL,
  content_hash text NOT NULL,
  approvals_required integer NOT NULL,
  approvals json NOT NULL,
  is_canceled boolean NOT NULL,
  is_expired boolean NOT NULL,
  parts json NOT NULL,
  created_by text NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  closed_at bigint,
  due_at bigint,
  CONSTRAINT batches_check CHECK (((kind = 'collect'::text) OR (from_address IS NOT NULL))),
  CONSTRAINT batches_environment_check CHECK ((environment = ANY (ARRAY['devnet'::text, 'mainnet'::text]))),
  CONSTRAINT batches_kind_check CHECK ((kind = ANY (ARRAY['refunds'::text, 'payouts'::text, 'collect'::text]))),
  CONSTRAINT batches_pkey PRIMARY KEY (merchant_id, id)
);

CREATE TABLE reservation_counters (
  merchant_id integer NOT NULL,
  environment text NOT NULL,
  network text NOT NULL,
  version bigint NOT NULL,
  CONSTRAINT reservation_counters_pkey PRIMARY KEY (merchant_id, environment, network)
);

CREATE INDEX batch_lines_by_refund ON public.batch_lines USING btree (refund_id) WHERE (refund_id IS NOT NULL);

CREATE INDEX batch_lines_by_source ON public.batch_lines USING btree (merchant_id, ((source ->> 'address'::text))) WHERE (source IS NOT NULL);

CREATE INDEX batch_lines_by_transaction ON public.batch_lines USING btree (tx_hash) WHERE (tx_hash IS NOT NULL);

CREATE INDEX batches_due ON public.batches USING btree (due_at) WHERE (due_at IS NOT NULL);

CREATE INDEX batches_due_devnet ON public.batches USING btree (((merchant_id)::bigint), due_at) WHERE ((due_at IS NOT NULL) AND (environment = 'devnet'::text));

CREATE INDEX batches_newest ON public.batches USING btree (merchant_id, environment, id);

CREATE INDEX batches_open ON public.batches USING btree (merchant_id, environment) WHERE (closed_at IS NULL);

CREATE INDEX batches_payouts ON public.batches USING btree (merchant_id, environment, created_at) WHERE (kind = 'payouts'::text);

CREATE INDEX batches_watched ON public.batches USING btree (merchant_id, environment, network) WHERE (due_at IS NOT NULL);

-- modules/btcpay

CREATE TABLE btcpay_fiat_rates (
  source text NOT NULL,
  document text NOT NULL,
  read_at bigint NOT NULL,
  CONSTRAINT btcpay_fiat_rates_pkey PRIMARY KEY (source)
);

CREATE TABLE btcpay_invoices (
  merchant_id integer NOT NULL,
  invoice_id uuid NOT NULL,
  version bigint NOT NULL,
  environment text NOT NULL,
  order_id text,
  currency text NOT NULL,
  amount text NOT NULL,
  rate_numerator text,
  rate_denominator text,
  checkout json NOT NULL,
  told_expired boolean NOT NULL,
  reversed boolean NOT NULL,
  marked boolean NOT NULL,
  status text NOT NULL,
  additional_status text NOT NULL,
  created_at bigint NOT NULL,
  CONSTRAINT btcpay_invoices_environment_check CHECK ((environment = ANY (ARRAY['devnet'::text, 'mainnet'::text]))),
  CONSTRAINT btcpay_invoices_pkey PRIMARY KEY (merchant_id, invoice_id)
);

CREATE UNIQUE INDEX btcpay_invoices_by_invoice ON public.btcpay_invoices USING btree (invoice_id);

CREATE INDEX btcpay_invoices_by_order ON public.btcpay_invoices USING btree (merchant_id, environment, order_id) WHERE (order_id IS NOT NULL);

CREATE INDEX btcpay_invoices_newest ON public.btcpay_invoices USING btree (merchant_id, environment, created_at, invoice_id);

-- modules/commerce

CREATE TABLE orders (
  merchant_id integer NOT NULL,
  id uuid NOT NULL,
  version bigint NOT NULL,
  environment text NOT NULL,
  invoice_id uuid NOT NULL,
  status text NOT NULL,
  substatus text NOT NULL,
  retailer text NOT NULL,
  timeline json NOT NULL,
  payment json NOT NULL,
  paid_by json NOT NULL,
  received bigint NOT NULL,
  received_late bigint NOT NULL,
  refunded bigint NOT NULL,
  provider_order_id text,
  placed_at bigint,
  delivered_at bigint,
  shipments json NOT NULL,
  items json NOT NULL,
  amounts json NOT NULL,
  customer_id text,
  wallet_address text,
  wallet_network text,
  cancellation text NOT NULL,
  refunds json NOT NULL,
  refund_quote json,
  refund_destination json,
  shipping json NOT NULL,
  address json NOT NULL,
  metadata json NOT NULL,
  tries integer NOT NULL,
  is_acknowledged boolean NOT NULL,
  due_at bigint,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  CONSTRAINT orders_cancellation_check CHECK ((cancellation = ANY (ARRAY['none'::text, 'requested'::text, 'accepted'::text, 'rejected'::text]))),
  CONSTRAINT orders_environment_check CHECK ((environment = ANY (ARRAY['devnet'::text, 'mainnet'::text]))),
  CONSTRAINT orders_pkey PRIMARY KEY (merchant_id, id),
  CONSTRAINT orders_received_check CHECK ((received >= 0)),
  CONSTRAINT orders_received_late_check CHECK ((received_late >= 0)),
  CONSTRAINT orders_refunded_check CHECK ((refunded >= 0)),
  CONSTRAINT orders_status_check CHECK ((status = ANY (ARRAY['pending_payment'::text, 'processing'::text, 'placed'::text, 'shipped'::text, 'delivered'::text, 'cancelled'::text, 'failed'::text])))
) WITH (fillfactor=90);

CREATE INDEX orders_by_customer ON public.orders USING btree (merchant_id, customer_id, created_at, id) WHERE (customer_id IS NOT NULL);

CREATE INDEX orders_by_id ON public.orders USING btree (id);

CREATE INDEX orders_by_network ON public.orders USING btree (merchant_id, environment, wallet_network, retailer, status, created_at, id) WHERE (wallet_network IS NOT NULL);

CREATE INDEX orders_by_retailer ON public.orders USING btree (merchant_id, environment, retailer, status, created_at, id);

CREATE INDEX orders_by_status ON public.orders USING btree (merchant_id, environment, status, created_at, id);

CREATE INDEX orders_by_wallet ON public.orders USING btree (merchant_id, wallet_address, created_at, id) WHERE (wallet_address IS NOT NULL);

CREATE INDEX orders_due ON public.orders USING btree (due_at) WHERE (due_at IS NOT NULL);

CREATE INDEX orders_due_devnet ON public.orders USING btree (((merchant_id)::bigint), due_at) WHERE ((due_at IS NOT NULL) AND (environment = 'devnet'::text));

CREATE INDEX orders_newest ON public.orders USING btree (merchant_id, environment, created_at, id);

-- modules/customers

CREATE TABLE customer_erasures (
  merchant_id integer NOT NULL,
  environment text NOT NULL,
  customer text NOT NULL,
  version bigint NOT NULL,
  sealed_customer_id text,
  until uuid NOT NULL,
  keeper text,
  after text,
  waiting_for text,
  requested_at bigint NOT NULL,
  finished_at bigint,
  due_at bigint,
  CONSTRAINT customer_erasures_check CHECK (((finished_at IS NULL) = (sealed_customer_id IS NOT NULL))),
  CONSTRAINT customer_erasures_check1 CHECK (((finished_at IS NULL) = (due_at IS NOT NULL))),
  CONSTRAINT customer_erasures_environment_check CHECK ((environment = ANY (ARRAY['devnet'::text, 'mainnet'::text]))),
  CONSTRAINT customer_erasures_pkey PRIMARY KEY (merchant_id, environment, customer)
);

CREATE INDEX customer_erasures_due ON public.customer_erasures USING btree (due_at) WHERE (due_at IS NOT NULL);

-- modules/exports

CREATE TABLE export_leases (
  merchant_id integer NOT NULL,
  holder uuid NOT NULL,
  until timestamp with time zone NOT NULL,
  CONSTRAINT export_leases_pkey PRIMARY KEY (merchant_id)
);

-- modules/identity

CREATE TABLE refresh_tokens (
  id text NOT NULL,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  session_id text NOT NULL,
  expires_at bigint NOT NULL,
  CONSTRAINT refresh_tokens_pkey PRIMARY KEY (id)
);

CREATE TABLE sign_in_challenges (
  id text NOT NULL,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  message text NOT NULL,
  challenge json NOT NULL,
  used boolean NOT NULL,
  expires_at bigint NOT NULL,
  CONSTRAINT sign_in_challenges_pkey PRIMARY KEY (id)
);

CREATE TABLE sign_in_sessions (
  id text NOT NULL,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  wallet_id text NOT NULL,
  status text NOT NULL,
  end_reason text,
  refresh_hash text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  CONSTRAINT sign_in_sessions_check CHECK (((end_reason IS NULL) = (status = 'active'::text))),
  CONSTRAINT sign_in_sessions_pkey PRIMARY KEY (id),
  CONSTRAINT sign_in_sessions_status_check CHECK ((status = ANY (ARRAY['active'::text, 'ended'::text])))
);

CREATE TABLE sign_in_wallets (
  id text NOT NULL,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  family text NOT NULL,
  address text NOT NULL,
  chain_id text,
  status text NOT NULL,
  linked_at bigint NOT NULL,
  signed_in_at bigint,
  person text,
  money_from bigint NOT NULL,
  CONSTRAINT sign_in_wallets_pkey PRIMARY KEY (id),
  CONSTRAINT sign_in_wallets_status_check CHECK ((status = ANY (ARRAY['linked'::text, 'unlinked'::text])))
);

CREATE INDEX refresh_tokens_by_end ON public.refresh_tokens USING btree (expires_at);

CREATE INDEX sign_in_challenges_by_end ON public.sign_in_challenges USING btree (expires_at);

CREATE INDEX sign_in_sessions_by_end ON public.sign_in_sessions USING btree (expires_at);

CREATE INDEX sign_in_sessions_by_wallet ON public.sign_in_sessions USING btree (wallet_id) WHERE (status = 'active'::text);

CREATE INDEX sign_in_wallets_by_merchant ON public.sign_in_wallets USING btree (merchant_id, status);

-- modules/invoices

CREATE TABLE exceptions (
  merchant_id integer NOT NULL,
  id text NOT NULL,
  version bigint NOT NULL,
  environment text NOT NULL,
  type text NOT NULL,
  status text NOT NULL,
  invoice_id uuid,
  invoice_payment_id uuid,
  amount bigint NOT NULL,
  evidence json NOT NULL,
  created_at bigint NOT NULL,
  resolved_at bigint,
  resolution json,
  CONSTRAINT exceptions_check CHECK (((resolved_at IS NULL) = (status = 'open'::text))),
  CONSTRAINT exceptions_pkey PRIMARY KEY (merchant_id, id),
  CONSTRAINT exceptions_status_check CHECK ((status = ANY (ARRAY['open'::text, 'resolved'::text])))
);

CREATE TABLE invoice_payments (
  merchant_id integer NOT NULL,
  id uuid NOT NULL,
  version bigint NOT NULL,
  invoice_id uuid NOT NULL,
  environment text NOT NULL,
  status text NOT NULL,
  network text NOT NULL,
  token_id integer,
  token_decimals integer,
  tx_hash text,
  sender text,
  units numeric(78,0) NOT NULL,
  amount bigint NOT NULL,
  seen_at bigint NOT NULL,
  created_at bigint NOT NULL,
  confirmed_at bigint,
  metadata json NOT NULL,
  settlement json,
  refunded bigint NOT NULL DEFAULT 0,
  ordinal integer NOT NULL,
  wallet text,
  balance_transaction_id text,
  CONSTRAINT invoice_payments_amount_check CHECK ((amount >= 0)),
  CONSTRAINT invoice_payments_ordinal_check CHECK ((ordinal > 0)),
  CONSTRAINT invoice_payments_pkey PRIMARY KEY (id, merchant_id),
  CONSTRAINT invoice_payments_refunded_check CHECK ((refunded >= 0)),
  CONSTRAINT invoice_payments_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'underpaid'::text, 'confirmed'::text, 'manual_retry'::text, 'reverted'::text, 'rejected'::text]))),
  CONSTRAINT invoice_payments_units_check CHECK ((units >= (0)::numeric))
);

CREATE TABLE invoices (
  merchant_id integer NOT NULL,
  id uuid NOT NULL,
  version bigint NOT NULL,
  environment text NOT NULL,
  status text NOT NULL,
  type text NOT NULL,
  amount bigint NOT NULL,
  amount_paid bigint NOT NULL,
  customer_id text,
  payer_wallet_address text,
  payer_wallet_network text,
  order_id text,
  expires_at bigint NOT NULL,
  created_at bigint NOT NULL,
  paid_at bigint,
  last_payment_at bigint,
  metadata json NOT NULL,
  policy json NOT NULL,
  details json NOT NULL,
  accepted_shortfall bigint NOT NULL DEFAULT 0,
  grace_ended boolean NOT NULL,
  due_at bigint,
  open_refunds json,
  CONSTRAINT invoices_accepted_shortfall_check CHECK ((accepted_shortfall >= 0)),
  CONSTRAINT invoices_amount_check CHECK ((amount > 0)),
  CONSTRAINT invoices_amount_paid_check CHECK ((amount_paid >= 0)),
  CONSTRAINT invoices_check CHECK (((paid_at IS NOT NULL) = (status = 'paid'::text))),
  CONSTRAINT invoices_environment_check CHECK ((environment = ANY (ARRAY['devnet'::text, 'mainnet'::text]))),
  CONSTRAINT invoices_pkey PRIMARY KEY (id, merchant_id),
  CONSTRAINT invoices_status_check CHECK ((status = ANY (ARRAY['unpaid'::text, 'underpaid'::text, 'paid'::text, 'expired'::text, 'canceled'::text]))),
  CONSTRAINT invoices_type_check CHECK ((type = ANY (ARRAY['standard'::text, 'commerce'::text])))
);

CREATE INDEX exceptions_by_invoice ON public.exceptions USING btree (merchant_id, invoice_id) WHERE (invoice_id IS NOT NULL);

CREATE INDEX exceptions_newest ON public.exceptions USING btree (merchant_id, environment, status, created_at, id);

CREATE INDEX exceptions_open ON public.exceptions USING btree (type) WHERE (status = 'open'::text);

CREATE INDEX invoice_payments_by_ordinal ON public.invoice_payments USING btree (merchant_id, invoice_id, ordinal);

CREATE INDEX invoice_payments_held ON public.invoice_payments USING btree (seen_at, id) WHERE (status = 'manual_retry'::text);

CREATE INDEX invoice_payments_newest ON public.invoice_payments USING btree (merchant_id, environment, id);

CREATE INDEX invoices_by_customer ON public.invoices USING btree (merchant_id, customer_id, id) WHERE (customer_id IS NOT NULL);

CREATE INDEX invoices_by_network ON public.invoices USING btree (merchant_id, environment, payer_wallet_network, type, status, id) WHERE (payer_wallet_network IS NOT NULL);

CREATE INDEX invoices_by_payer ON public.invoices USING btree (merchant_id, payer_wallet_address, id) WHERE (payer_wallet_address IS NOT NULL);

CREATE INDEX invoices_by_state ON public.invoices USING btree (merchant_id, environment, type, status, id);

CREATE INDEX invoices_due ON public.invoices USING btree (due_at) WHERE (due_at IS NOT NULL);

CREATE INDEX invoices_due_by_merchant ON public.invoices USING btree (((merchant_id)::bigint), due_at) WHERE ((due_at IS NOT NULL) AND (environment = 'devnet'::text));

CREATE INDEX invoices_newest ON public.invoices USING btree (merchant_id, environment, id);

-- modules/ledger

CREATE TABLE balance_transactions (
  merchant_id integer NOT NULL,
  id text NOT NULL,
  version bigint NOT NULL,
  environment text NOT NULL,
  type text NOT NULL,
  is_pending boolean NOT NULL,
  amount bigint NOT NULL,
  net bigint NOT NULL,
  asset text,
  units numeric(78,0) NOT NULL,
  source_object text NOT NULL,
  source_id text NOT NULL,
  reverses text,
  booked_micros bigint NOT NULL,
  CONSTRAINT balance_transactions_environment_check CHECK ((environment = ANY (ARRAY['devnet'::text, 'mainnet'::text]))),
  CONSTRAINT balance_transactions_pkey PRIMARY KEY (merchant_id, id)
);

CREATE TABLE ledger_entries (
  merchant_id integer NOT NULL,
  transaction_id text NOT NULL,
  step smallint NOT NULL,
  line smallint NOT NULL,
  version bigint NOT NULL,
  environment text NOT NULL,
  kind text NOT NULL,
  debit text NOT NULL,
  credit text NOT NULL,
  asset text NOT NULL,
  units numeric(78,0) NOT NULL,
  usd_millis bigint NOT NULL,
  created_at bigint NOT NULL,
  payment_id uuid,
  CONSTRAINT ledger_entries_check CHECK ((((kind = 'booked'::text) AND (step = 1)) OR ((kind = ANY (ARRAY['posted'::text, 'voided'::text])) AND (step = 2)))),
  CONSTRAINT ledger_entries_check1 CHECK ((credit <> debit)),
  CONSTRAINT ledger_entries_pkey PRIMARY KEY (merchant_id, transaction_id, step, line),
  CONSTRAINT ledger_entries_step_check CHECK ((step = ANY (ARRAY[1, 2]))),
  CONSTRAINT ledger_entries_units_check CHECK ((units >= (0)::numeric)),
  CONSTRAINT ledger_entries_usd_millis_check CHECK ((usd_millis >= 0))
);

CREATE TABLE settlement_preferences (
  merchant_id integer NOT NULL,
  environment text NOT NULL,
  version bigint NOT NULL,
  preference text NOT NULL,
  CONSTRAINT settlement_preferences_environment_check CHECK ((environment = ANY (ARRAY['devnet'::text, 'mainnet'::text]))),
  CONSTRAINT settlement_preferences_pkey PRIMARY KEY (merchant_id, environment),
  CONSTRAINT settlement_preferences_preference_check CHECK ((preference = ANY (ARRAY['stables_only'::text, 'stables_preferred'::text, 'tokens'::text])))
);

CREATE INDEX balance_transactions_by_asset ON public.balance_transactions USING btree (merchant_id, environment, asset, type, booked_micros, id);

CREATE INDEX balance_transactions_by_source ON public.balance_transactions USING btree (merchant_id, source_id);

CREATE INDEX balance_transactions_newest ON public.balance_transactions USING btree (merchant_id, environment, type, booked_micros, id);

CREATE INDEX invoice_payments_unbooked ON public.invoice_payments USING btree (id) WHERE ((balance_transaction_id IS NULL) AND (status <> 'reverted'::text));

CREATE INDEX ledger_entries_without_payment ON public.ledger_entries USING btree (merchant_id, environment, created_at) WHERE ((payment_id IS NULL) AND (starts_with(debit, 'chain:'::text) OR starts_with(credit, 'chain:'::text)));

-- modules/links

CREATE TABLE payment_link_invoices (
  merchant_id integer NOT NULL,
  invoice_id uuid NOT NULL,
  version bigint NOT NULL,
  link_id text NOT NULL,
  visit text NOT NULL,
  source text NOT NULL,
  source_56 text,
  source_48 text,
  created_at bigint NOT NULL,
  CONSTRAINT payment_link_invoices_pkey PRIMARY KEY (merchant_id, invoice_id)
);

CREATE TABLE payment_links (
  merchant_id integer NOT NULL,
  id text NOT NULL,
  version bigint NOT NULL,
  environment text NOT NULL,
  code text NOT NULL,
  title text NOT NULL,
  description text,
  amount bigint,
  minimum_amount bigint,
  maximum_amount bigint,
  maximum_payments integer,
  expires_at bigint,
  is_active boolean NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  CONSTRAINT payment_links_check CHECK (((amount IS NULL) = (minimum_amount IS NOT NULL))),
  CONSTRAINT payment_links_check1 CHECK (((amount IS NULL) = (maximum_amount IS NOT NULL))),
  CONSTRAINT payment_links_environment_check CHECK ((environment = ANY (ARRAY['devnet'::text, 'mainnet'::text]))),
  CONSTRAINT payment_links_pkey PRIMARY KEY (merchant_id, id)
);

CREATE INDEX payment_link_invoices_by_age ON public.payment_link_invoices USING btree (created_at);

CREATE INDEX payment_link_invoices_by_source ON public.payment_link_invoices USING btree (source, created_at);

CREATE INDEX payment_link_invoices_by_source_48 ON public.payment_link_invoices USING btree (source_48, created_at) WHERE (source_48 IS NOT NULL);

CREATE INDEX payment_link_invoices_by_source_56 ON public.payment_link_invoices USING btree (source_56, created_at) WHERE (source_56 IS NOT NULL);

CREATE INDEX payment_link_invoices_by_visit ON public.payment_link_invoices USING btree (merchant_id, link_id, visit);

CREATE UNIQUE INDEX payment_links_by_code ON public.payment_links USING btree (code);

CREATE INDEX payment_links_newest ON public.payment_links USING btree (merchant_id, environment, id);

-- modules/mail

CREATE TABLE mail_messages (
  merchant_id integer NOT NULL,
  id text NOT NULL,
  version bigint NOT NULL,
  environment text NOT NULL,
  kind text NOT NULL,
  sealed_content text,
  recipient_hash text,
  customer_id text,
  status text NOT NULL,
  attempts integer NOT NULL,
  created_at bigint NOT NULL,
  due_at bigint,
  attempt_token text,
  CONSTRAINT mail_messages_attempts_check CHECK ((attempts >= 0)),
  CONSTRAINT mail_messages_check CHECK (((status = 'waiting'::text) = (sealed_content IS NOT NULL))),
  CONSTRAINT mail_messages_check1 CHECK (((status = 'waiting'::text) = (due_at IS NOT NULL))),
  CONSTRAINT mail_messages_environment_check CHECK ((environment = ANY (ARRAY['devnet'::text, 'mainnet'::text]))),
  CONSTRAINT mail_messages_pkey PRIMARY KEY (merchant_id, id),
  CONSTRAINT mail_messages_status_check CHECK ((status = ANY (ARRAY['waiting'::text, 'sent'::text, 'bounced'::text, 'given_up'::text, 'erased'::text])))
);

CREATE INDEX mail_messages_by_age ON public.mail_messages USING btree (created_at);

CREATE INDEX mail_messages_by_customer ON public.mail_messages USING btree (merchant_id, environment, customer_id, id) WHERE (customer_id IS NOT NULL);

CREATE INDEX mail_messages_by_kind ON public.mail_messages USING btree (merchant_id, kind, created_at);

CREATE INDEX mail_messages_by_recipient ON public.mail_messages USING btree (merchant_id, recipient_hash, created_at);

CREATE INDEX mail_messages_due ON public.mail_messages USING btree (due_at) WHERE (due_at IS NOT NULL);

-- modules/notices

CREATE TABLE notice_groups (
  merchant_id integer NOT NULL,
  environment text NOT NULL,
  kind text NOT NULL,
  version bigint NOT NULL,
  sent_at bigint NOT NULL,
  CONSTRAINT notice_groups_pkey PRIMARY KEY (merchant_id, environment, kind)
);

CREATE TABLE notice_networks (
  id text NOT NULL,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  condition text NOT NULL,
  since bigint NOT NULL,
  is_told boolean NOT NULL,
  CONSTRAINT notice_networks_pkey PRIMARY KEY (id)
);

CREATE TABLE notices (
  merchant_id integer NOT NULL,
  id text NOT NULL,
  version bigint NOT NULL,
  environment text NOT NULL,
  kind text NOT NULL,
  subject text NOT NULL,
  type text NOT NULL,
  amount bigint,
  count integer NOT NULL,
  created_at bigint NOT NULL,
  due_at bigint,
  CONSTRAINT notices_count_check CHECK ((count >= 1)),
  CONSTRAINT notices_environment_check CHECK ((environment = ANY (ARRAY['devnet'::text, 'mainnet'::text]))),
  CONSTRAINT notices_kind_check CHECK ((kind = ANY (ARRAY['exception'::text, 'endpoint'::text, 'network'::text]))),
  CONSTRAINT notices_pkey PRIMARY KEY (merchant_id, id)
);

CREATE INDEX notices_by_age ON public.notices USING btree (created_at);

CREATE INDEX notices_due ON public.notices USING btree (due_at) WHERE (due_at IS NOT NULL);

CREATE INDEX notices_waiting ON public.notices USING btree (merchant_id, environment, kind, created_at, id) WHERE (due_at IS NOT NULL);

-- modules/payments

CREATE TABLE payor_contacts (
  merchant_id integer NOT NULL,
  invoice_id text NOT NULL,
  version bigint NOT NULL,
  email text,
  updated_at bigint NOT NULL,
  CONSTRAINT payor_contacts_pkey PRIMARY KEY (merchant_id, invoice_id)
);

CREATE TABLE refund_destinations (
  merchant_id integer NOT NULL,
  invoice_id text NOT NULL,
  network text NOT NULL,
  version bigint NOT NULL,
  address text,
  memo text,
  updated_at bigint NOT NULL,
  CONSTRAINT refund_destinations_pkey PRIMARY KEY (merchant_id, invoice_id, network)
);

CREATE INDEX payor_contacts_by_age ON public.payor_contacts USING btree (updated_at);

CREATE INDEX refund_destinations_by_age ON public.refund_destinations USING btree (updated_at);

-- modules/quotes

CREATE TABLE quotes (
  id text NOT NULL,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  invoice_id text NOT NULL,
  network text NOT NULL,
  token_id integer NOT NULL,
  decimals integer NOT NULL,
  environment text NOT NULL,
  exchange_rate text NOT NULL,
  rate_source text NOT NULL,
  priced_at bigint NOT NULL,
  token_amount numeric(78,0) NOT NULL,
  amount_remaining bigint NOT NULL,
  created_at bigint NOT NULL,
  valid_until bigint NOT NULL,
  shown boolean NOT NULL DEFAULT true,
  CONSTRAINT quotes_amount_remaining_check CHECK ((amount_remaining >= 0)),
  CONSTRAINT quotes_pkey PRIMARY KEY (id),
  CONSTRAINT quotes_token_amount_check CHECK ((token_amount >= (0)::numeric))
);

CREATE INDEX quotes_by_invoice ON public.quotes USING btree (invoice_id, created_at DESC);

-- modules/reconciliation

CREATE TABLE chain_balance_readings (
  merchant_id integer NOT NULL,
  environment text NOT NULL,
  period text NOT NULL,
  account text NOT NULL,
  asset text NOT NULL,
  version bigint NOT NULL,
  units numeric(78,0),
  later_units numeric(78,0) NOT NULL,
  forwarded_units numeric(78,0) NOT NULL DEFAULT 0,
  has_sent boolean NOT NULL,
  height bigint,
  block_hash text,
  block_time bigint,
  reason text,
  read_at bigint NOT NULL,
  CONSTRAINT chain_balance_readings_check CHECK (((units IS NULL) = (reason IS NOT NULL))),
  CONSTRAINT chain_balance_readings_pkey PRIMARY KEY (merchant_id, environment, period, account, asset)
);

CREATE TABLE closed_period_chains (
  merchant_id integer NOT NULL,
  environment text NOT NULL,
  version bigint NOT NULL,
  period text NOT NULL,
  hash text NOT NULL,
  CONSTRAINT closed_period_chains_pkey PRIMARY KEY (merchant_id, environment)
);

CREATE TABLE closed_periods (
  merchant_id integer NOT NULL,
  environment text NOT NULL,
  period text NOT NULL,
  version bigint NOT NULL,
  report text NOT NULL,
  previous_hash text NOT NULL,
  hash text NOT NULL,
  actor text NOT NULL,
  closed_at bigint NOT NULL,
  CONSTRAINT closed_periods_environment_check CHECK ((environment = ANY (ARRAY['devnet'::text, 'mainnet'::text]))),
  CONSTRAINT closed_periods_pkey PRIMARY KEY (merchant_id, environment, period),
  CONSTRAINT closed_periods_version_check CHECK ((version = 1))
);

CREATE TABLE reconciliation_adjustments (
  merchant_id integer NOT NULL,
  environment text NOT NULL,
  ordinal integer NOT NULL,
  version bigint NOT NULL,
  id text NOT NULL,
  account text NOT NULL,
  asset text NOT NULL,
  units numeric(78,0) NOT NULL,
  usd_millis bigint NOT NULL,
  ignored_units numeric(78,0) NOT NULL DEFAULT 0,
  ignored_usd_millis bigint NOT NULL DEFAULT 0,
  note text NOT NULL,
  explains_period text,
  explains_id text,
  balance_transaction_id text NOT NULL,
  actor text NOT NULL,
  created_at bigint NOT NULL,
  CONSTRAINT reconciliation_adjustments_ordinal_check CHECK ((ordinal > 0)),
  CONSTRAINT reconciliation_adjustments_pkey PRIMARY KEY (merchant_id, environment, ordinal),
  CONSTRAINT reconciliation_adjustments_units_check CHECK ((units <> (0)::numeric)),
  CONSTRAINT reconciliation_adjustments_version_check CHECK ((version = 1))
);

CREATE TABLE transfers (
  id text NOT NULL,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  network text NOT NULL,
  environment text NOT NULL,
  tx_hash text NOT NULL,
  tx_index integer NOT NULL,
  kind text NOT NULL,
  invoice_id text,
  match_key text NOT NULL,
  token_address text,
  amount numeric(78,0) NOT NULL,
  sender text,
  height bigint NOT NULL,
  block_hash text NOT NULL,
  block_time bigint NOT NULL,
  observed_at bigint NOT NULL,
  status text NOT NULL,
  handled text NOT NULL,
  required_blocks integer,
  required_finalized boolean,
  confirmations integer NOT NULL,
  attempts integer NOT NULL,
  retry_at bigint NOT NULL,
  reorged_after_finality boolean NOT NULL DEFAULT false,
  unlisted boolean NOT NULL DEFAULT false,
  required_agreement boolean NOT NULL DEFAULT false,
  payment_id uuid GENERATED ALWAYS AS (payment_id_of_transfer(id)) STORED,
  CONSTRAINT transfers_amount_check CHECK ((amount >= (0)::numeric)),
  CONSTRAINT transfers_handled_check CHECK ((handled = ANY (ARRAY['none'::text, 'seen'::text, 'confirmed'::text, 'reverted'::text]))),
  CONSTRAINT transfers_kind_check CHECK ((kind = ANY (ARRAY['direct'::text, 'internal'::text]))),
  CONSTRAINT transfers_pkey PRIMARY KEY (id),
  CONSTRAINT transfers_status_check CHECK ((status = ANY (ARRAY['seen'::text, 'confirmed'::text, 'reverted'::text])))
);

CREATE INDEX account_balances_of_wallets ON public.account_balances USING btree (account, merchant_id, environment, asset) WHERE ((account >= 'chain:'::text) AND (account < 'chain;'::text));

CREATE INDEX balance_transactions_of_exceptions ON public.balance_transactions USING btree (merchant_id, environment) WHERE ((source_object = 'exception'::text) AND (type <> 'payout'::text));

CREATE INDEX invoice_payments_by_time ON public.invoice_payments USING btree (merchant_id, environment, created_at);

CREATE INDEX ledger_entries_by_time ON public.ledger_entries USING btree (merchant_id, environment, created_at);

CREATE INDEX reconciliation_adjustments_by_period ON public.reconciliation_adjustments USING btree (merchant_id, environment, explains_period) WHERE (explains_period IS NOT NULL);

CREATE INDEX transfers_by_time ON public.transfers USING btree (merchant_id, environment, block_time);

-- FUNCTION payment_id_of_transfer(transfer_id text) RETURNS uuid;

-- modules/refunds

CREATE TABLE approvals (
  merchant_id integer NOT NULL,
  id text NOT NULL,
  version bigint NOT NULL,
  environment text NOT NULL,
  object text NOT NULL,
  object_id text NOT NULL,
  person text NOT NULL,
  actor text NOT NULL,
  text text,
  signature json,
  at bigint NOT NULL,
  CONSTRAINT approvals_check CHECK (((signature IS NULL) = (text IS NULL))),
  CONSTRAINT approvals_environment_check CHECK ((environment = ANY (ARRAY['devnet'::text, 'mainnet'::text]))),
  CONSTRAINT approvals_object_check CHECK ((object = ANY (ARRAY['refund'::text, 'batch'::text]))),
  CONSTRAINT approvals_pkey PRIMARY KEY (merchant_id, id)
);

CREATE TABLE payout_proofs (
  network text NOT NULL,
  environment text NOT NULL,
  tx_hash text NOT NULL,
  transfer_index bigint NOT NULL,
  version bigint NOT NULL,
  merchant_id integer NOT NULL,
  refund_id text,
  batch_id text,
  line integer,
  wallet text,
  CONSTRAINT payout_proofs_check CHECK (((refund_id IS NOT NULL) OR (batch_id IS NOT NULL))),
  CONSTRAINT payout_proofs_check1 CHECK (((batch_id IS NULL) = (line IS NULL))),
  CONSTRAINT payout_proofs_pkey PRIMARY KEY (network, environment, tx_hash, transfer_index)
);

CREATE TABLE refunds (
  merchant_id integer NOT NULL,
  id text NOT NULL,
  version bigint NOT NULL,
  environment text NOT NULL,
  invoice_id uuid,
  payment_id uuid,
  terms json,
  claim json,
  source text NOT NULL,
  status text NOT NULL,
  amount bigint NOT NULL,
  fee bigint NOT NULL,
  fee_free boolean NOT NULL,
  quoted json,
  destination json,
  token json,
  token_amount numeric(78,0),
  tx_hash text,
  balance_transaction_id text,
  batch json,
  reason text NOT NULL,
  failure_code text,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  due_at bigint,
  CONSTRAINT refunds_amount_check CHECK ((amount >= 0)),
  CONSTRAINT refunds_check CHECK (((terms IS NULL) OR ((payment_id IS NULL) = (invoice_id IS NULL)))),
  CONSTRAINT refunds_check1 CHECK (((fee >= 0) AND (fee <= amount))),
  CONSTRAINT refunds_check2 CHECK (((invoice_id IS NOT NULL) OR ((terms ->> 'exceptionId'::text) IS NOT NULL))),
  CONSTRAINT refunds_check3 CHECK ((((status = ANY (ARRAY['pending_approval'::text, 'processing'::text, 'succeeded'::text])) AND (destination IS NULL)) IS FALSE)),
  CONSTRAINT refunds_check4 CHECK ((((status = ANY (ARRAY['processing'::text, 'succeeded'::text])) AND (token_amount IS NULL)) IS FALSE)),
  CONSTRAINT refunds_check5 CHECK ((((status = 'succeeded'::text) AND (tx_hash IS NULL)) IS FALSE)),
  CONSTRAINT refunds_environment_check CHECK ((environment = ANY (ARRAY['devnet'::text, 'mainnet'::text]))),
  CONSTRAINT refunds_pkey PRIMARY KEY (merchant_id, id),
  CONSTRAINT refunds_source_check CHECK ((source = ANY (ARRAY['all'::text, 'late'::text]))),
  CONSTRAINT refunds_status_check CHECK ((status = ANY (ARRAY['awaiting_destination'::text, 'pending_approval'::text, 'processing'::text, 'succeeded'::text, 'failed'::text, 'canceled'::text, 'expired'::text]))),
  CONSTRAINT refunds_token_amount_check CHECK ((token_amount > (0)::numeric))
);

CREATE TABLE sole_approvals (
  merchant_id integer NOT NULL,
  environment text NOT NULL,
  day date NOT NULL,
  version bigint NOT NULL,
  amount bigint NOT NULL,
  CONSTRAINT sole_approvals_amount_check CHECK ((amount >= 0)),
  CONSTRAINT sole_approvals_environment_check CHECK ((environment = ANY (ARRAY['devnet'::text, 'mainnet'::text]))),
  CONSTRAINT sole_approvals_pkey PRIMARY KEY (merchant_id, environment, day)
);

CREATE INDEX approvals_of_object ON public.approvals USING btree (merchant_id, object_id, id);

CREATE INDEX refunds_by_exception ON public.refunds USING btree (merchant_id, ((terms ->> 'exceptionId'::text)), id) WHERE ((terms ->> 'exceptionId'::text) IS NOT NULL);

CREATE INDEX refunds_by_id ON public.refunds USING btree (id);

CREATE INDEX refunds_by_invoice ON public.refunds USING btree (merchant_id, invoice_id);

CREATE INDEX refunds_by_status ON public.refunds USING btree (status, id);

CREATE INDEX refunds_due ON public.refunds USING btree (due_at) WHERE (due_at IS NOT NULL);

CREATE INDEX refunds_due_devnet ON public.refunds USING btree (((merchant_id)::bigint), due_at) WHERE ((due_at IS NOT NULL) AND (environment = 'devnet'::text));

CREATE INDEX refunds_newest ON public.refunds USING btree (merchant_id, environment, id);

CREATE INDEX refunds_newest_by_status ON public.refunds USING btree (merchant_id, environment, status, id);

CREATE UNIQUE INDEX refunds_one_of_exception ON public.refunds USING btree (merchant_id, ((terms ->> 'exceptionId'::text))) WHERE ((invoice_id IS NULL) AND (status <> ALL (ARRAY['canceled'::text, 'expired'::text])));

-- modules/search

CREATE INDEX invoice_payments_by_transaction ON public.invoice_payments USING btree (merchant_id, tx_hash);

-- modules/settings

CREATE TABLE merchant_settings (
  merchant_id integer NOT NULL,
  environment text NOT NULL,
  version bigint NOT NULL,
  choices json NOT NULL,
  proposal json,
  due_at bigint,
  domain_state json,
  domain_due_at bigint,
  CONSTRAINT merchant_settings_environment_check CHECK ((environment = ANY (ARRAY['devnet'::text, 'mainnet'::text]))),
  CONSTRAINT merchant_settings_pkey PRIMARY KEY (merchant_id, environment)
);

CREATE INDEX merchant_settings_domain_due ON public.merchant_settings USING btree (domain_due_at) WHERE (domain_due_at IS NOT NULL);

CREATE INDEX merchant_settings_due ON public.merchant_settings USING btree (due_at) WHERE (due_at IS NOT NULL);

-- modules/settlement

CREATE TABLE settlements (
  merchant_id integer NOT NULL,
  payment_id uuid NOT NULL,
  version bigint NOT NULL,
  environment text NOT NULL,
  invoice_id uuid NOT NULL,
  driver text NOT NULL,
  status text,
  retries integer NOT NULL,
  reason text,
  open boolean NOT NULL,
  due_at bigint,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  CONSTRAINT settlements_pkey PRIMARY KEY (merchant_id, payment_id)
);

CREATE INDEX settlements_by_invoice ON public.settlements USING btree (invoice_id);

CREATE INDEX settlements_due ON public.settlements USING btree (due_at) WHERE (due_at IS NOT NULL);

CREATE INDEX settlements_due_devnet ON public.settlements USING btree (((merchant_id)::bigint), due_at) WHERE ((due_at IS NOT NULL) AND (environment = 'devnet'::text));

CREATE INDEX settlements_open ON public.settlements USING btree (environment, status, created_at, payment_id) WHERE open;

CREATE INDEX settlements_open_by_driver ON public.settlements USING btree (environment, driver) WHERE open;

-- modules/sinks

CREATE TABLE event_sink_positions (
  sink text NOT NULL,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  ms bigint NOT NULL,
  seq bigint NOT NULL,
  CONSTRAINT event_sink_positions_pkey PRIMARY KEY (sink, merchant_id)
);

CREATE TABLE event_sinks (
  sink text NOT NULL,
  version bigint NOT NULL,
  from_ms bigint NOT NULL,
  CONSTRAINT event_sinks_pkey PRIMARY KEY (sink)
);

-- modules/storefront

CREATE TABLE carts (
  merchant_id integer NOT NULL,
  environment text NOT NULL,
  customer text NOT NULL,
  version bigint NOT NULL,
  customer_id text,
  wallet_address text,
  wallet_network text,
  items json NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  CONSTRAINT carts_environment_check CHECK ((environment = ANY (ARRAY['devnet'::text, 'mainnet'::text]))),
  CONSTRAINT carts_pkey PRIMARY KEY (merchant_id, environment, customer)
);

CREATE TABLE checkout_addresses (
  merchant_id integer NOT NULL,
  id text NOT NULL,
  version bigint NOT NULL,
  environment text NOT NULL,
  estimate_id text NOT NULL,
  address json NOT NULL,
  quotation json NOT NULL,
  created_at bigint NOT NULL,
  CONSTRAINT checkout_addresses_environment_check CHECK ((environment = ANY (ARRAY['devnet'::text, 'mainnet'::text]))),
  CONSTRAINT checkout_addresses_pkey PRIMARY KEY (merchant_id, id)
);

CREATE TABLE checkout_estimates (
  merchant_id integer NOT NULL,
  id text NOT NULL,
  version bigint NOT NULL,
  environment text NOT NULL,
  customer_id text,
  wallet_address text,
  wallet_network text,
  quotation json NOT NULL,
  zip_code text,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  order_id text,
  CONSTRAINT checkout_estimates_environment_check CHECK ((environment = ANY (ARRAY['devnet'::text, 'mainnet'::text]))),
  CONSTRAINT checkout_estimates_pkey PRIMARY KEY (merchant_id, id)
);

CREATE INDEX carts_by_change ON public.carts USING btree (updated_at);

CREATE INDEX checkout_addresses_by_age ON public.checkout_addresses USING btree (created_at);

CREATE INDEX checkout_estimates_by_age ON public.checkout_estimates USING btree (created_at);

-- modules/streams

CREATE TABLE stream_tickets (
  id text NOT NULL,
  merchant_id integer NOT NULL,
  scope text NOT NULL,
  environment text NOT NULL,
  api_version text NOT NULL,
  credential text NOT NULL,
  revocable_as text NOT NULL,
  kind text NOT NULL,
  authority json NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT stream_tickets_kind_check CHECK ((kind = ANY (ARRAY['key'::text, 'wallet'::text]))),
  CONSTRAINT stream_tickets_pkey PRIMARY KEY (id),
  CONSTRAINT stream_tickets_scope_check CHECK ((scope = ANY (ARRAY['merchant'::text, 'commerce'::text])))
);

CREATE INDEX stream_tickets_by_credential ON public.stream_tickets USING btree (merchant_id, credential, expires_at);

CREATE INDEX stream_tickets_by_end ON public.stream_tickets USING btree (expires_at);

-- modules/team

CREATE TABLE members (
  id text NOT NULL,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  person text NOT NULL,
  role text NOT NULL,
  status text NOT NULL,
  is_first boolean NOT NULL,
  proposal json,
  joined_at bigint NOT NULL,
  money_from bigint NOT NULL,
  CONSTRAINT members_pkey PRIMARY KEY (id),
  CONSTRAINT members_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'developer'::text, 'support'::text, 'accountant'::text, 'viewer'::text]))),
  CONSTRAINT members_status_check CHECK ((status = ANY (ARRAY['active'::text, 'removed'::text])))
);

CREATE TABLE people (
  id text NOT NULL,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  name text NOT NULL,
  email text,
  recovery_set integer NOT NULL,
  language text,
  time_zone text,
  notices text NOT NULL,
  created_at bigint NOT NULL,
  CONSTRAINT people_notices_check CHECK ((notices = ANY (ARRAY['mainnet'::text, 'all'::text, 'none'::text]))),
  CONSTRAINT people_pkey PRIMARY KEY (id)
);

CREATE TABLE saved_views (
  id text NOT NULL,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  person text NOT NULL,
  name text NOT NULL,
  list text NOT NULL,
  query text NOT NULL,
  is_shared boolean NOT NULL,
  status text NOT NULL,
  ended_at bigint,
  created_at bigint NOT NULL,
  CONSTRAINT saved_views_check CHECK (((ended_at IS NULL) = (status = 'active'::text))),
  CONSTRAINT saved_views_pkey PRIMARY KEY (id),
  CONSTRAINT saved_views_status_check CHECK ((status = ANY (ARRAY['active'::text, 'removed'::text])))
);

CREATE TABLE team_invitations (
  id text NOT NULL,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  role text NOT NULL,
  email text,
  status text NOT NULL,
  invited_by text NOT NULL,
  needs_approval boolean NOT NULL,
  approved_by text,
  token_hash text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  CONSTRAINT team_invitations_pkey PRIMARY KEY (id),
  CONSTRAINT team_invitations_status_check CHECK ((status = ANY (ARRAY['open'::text, 'accepted'::text, 'revoked'::text])))
);

CREATE TABLE team_links (
  id text NOT NULL,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  person text NOT NULL,
  used boolean NOT NULL,
  expires_at bigint NOT NULL,
  CONSTRAINT team_links_pkey PRIMARY KEY (id)
);

CREATE TABLE team_passkey_answers (
  id text NOT NULL,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  expires_at bigint NOT NULL,
  CONSTRAINT team_passkey_answers_pkey PRIMARY KEY (id)
);

CREATE TABLE team_passkeys (
  id text NOT NULL,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  person text NOT NULL,
  name text NOT NULL,
  credential_id text NOT NULL,
  public_key text NOT NULL,
  counter bigint NOT NULL,
  transports json NOT NULL,
  status text NOT NULL,
  money_from bigint NOT NULL,
  created_at bigint NOT NULL,
  last_used_at bigint,
  CONSTRAINT team_passkeys_pkey PRIMARY KEY (id),
  CONSTRAINT team_passkeys_status_check CHECK ((status = ANY (ARRAY['active'::text, 'removed'::text])))
);

CREATE TABLE team_recovery_codes (
  id text NOT NULL,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  person text NOT NULL,
  code_set integer NOT NULL,
  ended_at bigint,
  CONSTRAINT team_recovery_codes_pkey PRIMARY KEY (id)
);

CREATE TABLE team_recovery_tries (
  id text NOT NULL,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  tries json NOT NULL,
  expires_at bigint NOT NULL,
  CONSTRAINT team_recovery_tries_pkey PRIMARY KEY (id)
);

CREATE TABLE team_sessions (
  id text NOT NULL,
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  person text NOT NULL,
  method text NOT NULL,
  passkey text,
  read_hash text NOT NULL,
  act_hash text NOT NULL,
  status text NOT NULL,
  end_reason text,
  signed_in_at bigint NOT NULL,
  last_used_at bigint NOT NULL,
  fresh_until bigint NOT NULL,
  money_from bigint NOT NULL,
  CONSTRAINT team_sessions_check CHECK (((end_reason IS NULL) = (status = 'active'::text))),
  CONSTRAINT team_sessions_method_check CHECK ((method = ANY (ARRAY['passkey'::text, 'wallet'::text, 'link'::text, 'recovery'::text]))),
  CONSTRAINT team_sessions_pkey PRIMARY KEY (id),
  CONSTRAINT team_sessions_status_check CHECK ((status = ANY (ARRAY['active'::text, 'ended'::text])))
);

CREATE UNIQUE INDEX members_by_person ON public.members USING btree (merchant_id, person);

CREATE UNIQUE INDEX members_first ON public.members USING btree (merchant_id) WHERE is_first;

CREATE INDEX members_of_person ON public.members USING btree (person) WHERE (status = 'active'::text);

CREATE INDEX saved_views_by_end ON public.saved_views USING btree (ended_at) WHERE (ended_at IS NOT NULL);

CREATE INDEX saved_views_by_merchant ON public.saved_views USING btree (merchant_id, id) WHERE (status = 'active'::text);

CREATE INDEX saved_views_by_person ON public.saved_views USING btree (merchant_id, person) WHERE (status = 'active'::text);

CREATE INDEX team_invitations_by_merchant ON public.team_invitations USING btree (merchant_id, id);

CREATE INDEX team_invitations_by_token ON public.team_invitations USING btree (token_hash);

CREATE INDEX team_links_by_end ON public.team_links USING btree (expires_at);

CREATE INDEX team_passkey_answers_by_end ON public.team_passkey_answers USING btree (expires_at);

CREATE UNIQUE INDEX team_passkeys_by_credential ON public.team_passkeys USING btree (credential_id);

CREATE INDEX team_passkeys_by_person ON public.team_passkeys USING btree (person) WHERE (status = 'active'::text);

CREATE INDEX team_recovery_codes_by_end ON public.team_recovery_codes USING btree (ended_at) WHERE (ended_at IS NOT NULL);

CREATE INDEX team_recovery_codes_by_person ON public.team_recovery_codes USING btree (person) WHERE (ended_at IS NULL);

CREATE INDEX team_recovery_tries_by_end ON public.team_recovery_tries USING btree (expires_at);

CREATE INDEX team_sessions_by_person ON public.team_sessions USING btree (person) WHERE (status = 'active'::text);

CREATE INDEX team_sessions_by_start ON public.team_sessions USING btree (signed_in_at);

CREATE INDEX team_sessions_by_token ON public.team_sessions USING btree (read_hash);

-- modules/tokens

CREATE TABLE token_policies (
  merchant_id integer NOT NULL,
  environment text NOT NULL,
  version bigint NOT NULL,
  acceptance_policy text NOT NULL,
  blocked_token_ids integer[] NOT NULL,
  CONSTRAINT token_policies_acceptance_policy_check CHECK ((acceptance_policy = ANY (ARRAY['accept_all'::text, 'selective'::text, 'accept_none'::text]))),
  CONSTRAINT token_policies_pkey PRIMARY KEY (merchant_id, environment)
);

-- modules/wallets

CREATE TABLE receiving_wallets (
  merchant_id integer NOT NULL,
  environment text NOT NULL,
  family text NOT NULL,
  version bigint NOT NULL,
  id text,
  kind text,
  value text,
  seed text,
  start_index bigint,
  created_at bigint,
  proposal json,
  due_at bigint,
  CONSTRAINT receiving_wallets_check CHECK ((num_nulls(id, kind, value, start_index, created_at) = ANY (ARRAY[0, 5]))),
  CONSTRAINT receiving_wallets_check1 CHECK (((seed IS NOT NULL) = (NOT (kind IS DISTINCT FROM 'forwarder'::text)))),
  CONSTRAINT receiving_wallets_environment_check CHECK ((environment = ANY (ARRAY['devnet'::text, 'mainnet'::text]))),
  CONSTRAINT receiving_wallets_kind_check CHECK ((kind = ANY (ARRAY['xpub'::text, 'address'::text, 'pool'::text, 'forwarder'::text]))),
  CONSTRAINT receiving_wallets_pkey PRIMARY KEY (merchant_id, environment, family),
  CONSTRAINT receiving_wallets_seed_check CHECK ((seed ~ '^[0-9a-f]{64}$'::text))
);

CREATE TABLE wallet_values (
  fingerprint text NOT NULL,
  version bigint NOT NULL,
  merchant_id integer NOT NULL,
  environment text NOT NULL,
  family text NOT NULL,
  kind text NOT NULL,
  value text NOT NULL,
  seed text,
  payee_is_contract boolean,
  recovery_confirmed_at bigint,
  created_at bigint NOT NULL,
  CONSTRAINT wallet_values_check CHECK (((kind = 'forwarder'::text) = (seed IS NOT NULL))),
  CONSTRAINT wallet_values_check1 CHECK (((seed IS NULL) = (payee_is_contract IS NULL))),
  CONSTRAINT wallet_values_environment_check CHECK ((environment = ANY (ARRAY['devnet'::text, 'mainnet'::text]))),
  CONSTRAINT wallet_values_kind_check CHECK ((kind = ANY (ARRAY['xpub'::text, 'address'::text, 'pool'::text, 'forwarder'::text]))),
  CONSTRAINT wallet_values_pkey PRIMARY KEY (fingerprint),
  CONSTRAINT wallet_values_seed_check CHECK ((seed ~ '^[0-9a-f]{64}$'::text))
);

CREATE INDEX receiving_wallets_due ON public.receiving_wallets USING btree (due_at) WHERE (due_at IS NOT NULL);

CREATE INDEX wallet_values_forwarders ON public.wallet_values USING btree (merchant_id, environment, family, created_at) WHERE (kind = 'forwarder'::text);

-- modules/webhooks

CREATE TABLE webhook_counts (
  merchant_id integer NOT NULL,
  version bigint NOT NULL,
  endpoints integer NOT NULL,
  CONSTRAINT webhook_counts_endpoints_check CHECK ((endpoints >= 0)),
  CONSTRAINT webhook_counts_pkey PRIMARY KEY (merchant_id)
);
