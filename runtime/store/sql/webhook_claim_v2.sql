-- Reads rows for the instance `p_holder` to send: at most `p_slots` of quick endpoints, those that answered well and not
-- slowly, and at most `p_other_slots` of all others, of which at most `p_failing_slots` of endpoints whose last attempt
-- failed. Only the endpoints (`p_merchants`, `p_endpoints`) are looked at, in that order, and none of `p_judged`. Of each
-- the instance has `p_counts` rows: their ids are `p_held`, endpoint after endpoint. It knows those in `p_slow` to be
-- slow; else the lane says it.
--
-- Of one endpoint it may have `p_ahead`, to be sent a few at a time, of a slow one `p_slow_ahead`, which may all be sent,
-- and one until it has answered well. An endpoint that
-- wants order gets its rows in the order of the events, and none behind one that has to wait. An endpoint whose breaker
-- is open is passed over; when its time is up it gets one probe, the oldest delivery. Rows of an endpoint that is gone or
-- disabled are canceled instead.
--
-- Only deliveries made from `p_from` until before `p_to` are looked at: `webhook_due_span_v1`. Their events are read by
-- a statement of its own, which knows between which times they lie, and so reads one partition or two.
--
-- What an endpoint with a format of its own is sent is a message, and no event.
--
-- The rows of an endpoint are followed by one with nothing but `lane`, what they have in common.
CREATE FUNCTION webhook_claim_v2(
  p_holder text, p_merchants integer[], p_endpoints text[], p_counts integer[], p_held uuid[], p_slow boolean[],
  p_judged text[], p_slots integer, p_other_slots integer, p_failing_slots integer, p_ahead integer,
  p_slow_ahead integer, p_lease interval, p_from timestamptz, p_to timestamptz
) RETURNS TABLE (
  id uuid, created text, attempt integer, age_ms float8, event_ms bigint, event_seq bigint, environment text, commerce boolean,
  type text, request_id text, idempotency_key text, pending_webhooks integer, data text, lane json
) LANGUAGE plpgsql
  SET enable_seqscan = off
  SET enable_bitmapscan = off
  SET enable_hashjoin = off
  SET enable_mergejoin = off
  SET plan_cache_mode = force_generic_plan
  SET enable_sort = off
  SET enable_incremental_sort = off
AS $$
#variable_conflict use_column
DECLARE
  v_merchant integer;
  v_endpoint text;
  v_lane webhook_lanes;
  v_target webhook_endpoints;
  v_held uuid[];
  v_next integer := 1;
  v_probe boolean;
  v_failing boolean;
  v_well boolean;
  v_slow boolean;
  v_share integer := greatest(p_slots / greatest(cardinality(p_endpoints), 1), 4);
  v_allowed integer;
  v_count integer;
  v_ids uuid[];
  v_created timestamptz[];
  v_attempts integer[];
  v_ms bigint[];
  v_seqs bigint[];
  v_first_ms bigint;
  v_last_ms bigint;
BEGIN
  INSERT INTO webhook_lanes (merchant_id, endpoint_id, health)
    SELECT l.m, l.e, 'unknown' FROM unnest(p_merchants, p_endpoints) AS l(m, e)
    WHERE NOT EXISTS (SELECT 1 FROM webhook_lanes k WHERE k.merchant_id = l.m AND k.endpoint_id = l.e)
    ORDER BY l.m, l.e ON CONFLICT DO NOTHING;
  FOR v_at IN 1 .. cardinality(p_endpoints) LOOP
    EXIT WHEN p_slots <= 0 AND p_other_slots <= 0;
    v_merchant := p_merchants[v_at];
    v_endpoint := p_endpoints[v_at];
    v_count := p_counts[v_at];
    v_held := p_held[v_next : v_next + v_count - 1];
    v_next := v_next + v_count;
    CONTINUE WHEN v_endpoint = ANY (p_judged);
    -- One that can take nothing is not locked: a lock is a write.
    SELECT l.* INTO v_lane FROM webhook_lanes l
      WHERE l.merchant_id = v_merchant AND l.endpoint_id = v_endpoint
        AND (l.open_until IS NULL OR l.open_until <= now())
        AND (l.held_until <= now() OR l.held_until > now() + 2 * p_lease OR l.holder = p_holder)
        AND CASE
          WHEN l.health <> 'healthy' OR l.open_until IS NOT NULL THEN v_count < 1 AND p_other_slots > 0
            AND (p_failing_slots > 0 OR l.health <> 'failing' AND l.open_until IS NULL)
          WHEN l.is_slow OR p_slow[v_at] THEN v_count < p_slow_ahead AND p_other_slots > 0
          ELSE v_count < p_ahead AND p_slots > 0
        END
      FOR UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND;
    SELECT w.* INTO v_target FROM webhook_endpoints w
      WHERE w.id = v_endpoint AND w.merchant_id = v_merchant AND w.status = 'enabled';
    IF NOT FOUND THEN
      WITH c AS MATERIALIZED (
        SELECT c.id, c.created_at FROM webhook_deliveries c
        WHERE c.merchant_id = v_merchant AND c.endpoint_id = v_endpoint AND c.due_at <= now()
          AND c.created_at >= p_from AND c.created_at < p_to
        ORDER BY c.due_at LIMIT 1000 FOR UPDATE SKIP LOCKED
      )
      UPDATE webhook_deliveries d SET status = 'canceled', due_at = NULL, finished_at = now()
        FROM c WHERE d.merchant_id = v_merchant AND d.id = c.id AND d.created_at = c.created_at
          AND d.created_at >= p_from AND d.created_at < p_to;
      CONTINUE;
    END IF;
    CONTINUE WHEN v_target.ordered AND v_count > 0;
    v_probe := v_lane.open_until IS NOT NULL;
    v_failing := v_probe OR v_lane.health = 'failing';
    v_well := v_lane.health = 'healthy' AND NOT v_probe;
    v_slow := v_lane.is_slow OR p_slow[v_at];
    v_allowed := CASE
      WHEN NOT v_well OR v_slow AND v_target.ordered THEN 1
      WHEN v_slow THEN least(p_slow_ahead - v_count, p_other_slots)
      ELSE least(p_ahead - v_count, v_share, p_slots)
    END;
    IF v_target.ordered OR v_probe THEN
      SELECT array_agg(d.id), array_agg(d.created_at), array_agg(d.attempt), array_agg(d.event_ms),
          array_agg(d.event_seq), min(d.event_ms), max(d.event_ms)
        INTO v_ids, v_created, v_attempts, v_ms, v_seqs, v_first_ms, v_last_ms
        FROM (
          SELECT c.*, bool_and(c.due_at <= now()) OVER (ORDER BY c.event_ms, c.event_seq, c.id) AS free FROM (
            SELECT c.* FROM webhook_deliveries c
            WHERE c.merchant_id = v_merchant AND c.endpoint_id = v_endpoint AND c.due_at IS NOT NULL
              AND c.created_at >= p_from AND c.created_at < p_to AND (v_target.ordered OR c.due_at <= now())
            ORDER BY c.event_ms, c.event_seq, c.id LIMIT v_allowed) c
          ORDER BY c.event_ms, c.event_seq, c.id
        ) d WHERE d.free;
    ELSE
      SELECT array_agg(d.id), array_agg(d.created_at), array_agg(d.attempt), array_agg(d.event_ms),
          array_agg(d.event_seq), min(d.event_ms), max(d.event_ms)
        INTO v_ids, v_created, v_attempts, v_ms, v_seqs, v_first_ms, v_last_ms
        FROM (
          SELECT c.* FROM webhook_deliveries c
          WHERE c.merchant_id = v_merchant AND c.endpoint_id = v_endpoint AND c.due_at <= now()
            AND c.created_at >= p_from AND c.created_at < p_to AND NOT c.id = ANY (v_held)
          ORDER BY c.due_at LIMIT v_allowed) d;
    END IF;
    CONTINUE WHEN v_ids IS NULL;
    RETURN QUERY
      SELECT d.id, d.created::text, d.attempt, extract(epoch FROM now() - d.created)::float8 * 1000, d.event_ms,
        d.event_seq, e.environment, e.commerce, e.type, e.request_id, e.idempotency_key, e.pending_webhooks, e.data,
        NULL::json
      FROM unnest(v_ids, v_created, v_attempts, v_ms, v_seqs) WITH ORDINALITY
        AS d(id, created, attempt, event_ms, event_seq, place)
      CROSS JOIN LATERAL (
        (SELECT e.environment, e.commerce, e.type, e.request_id, e.idempotency_key, e.pending_webhooks, e.data
          FROM events e WHERE v_target.format IS NULL
            AND e.merchant_id = v_merchant AND e.ms = d.event_ms AND e.seq = d.event_seq
            AND e.ms >= v_first_ms AND e.ms <= v_last_ms OFFSET 0)
        UNION ALL
        (SELECT m.environment, false, m.type, NULL, NULL, 0, m.data
          FROM webhook_messages m WHERE v_target.format IS NOT NULL
            AND m.merchant_id = v_merchant AND m.ms = d.event_ms AND m.seq = d.event_seq OFFSET 0)
      ) e
      ORDER BY d.place;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    CONTINUE WHEN v_count = 0;
    UPDATE webhook_lanes l SET holder = p_holder, claims = l.claims + 1, held_until = now() + p_lease,
        token = l.token + CASE WHEN l.holder = p_holder THEN 0 ELSE 1 END
      WHERE l.merchant_id = v_merchant AND l.endpoint_id = v_endpoint RETURNING l.* INTO v_lane;
    lane := json_build_object('merchantId', v_merchant, 'endpointId', v_endpoint, 'token', v_lane.token::text,
      'claims', v_lane.claims::text, 'health', CASE WHEN v_failing THEN 'failing' ELSE v_lane.health END,
      'isSlow', v_slow, 'single', v_target.ordered OR NOT v_well,
      'hasMore', v_count = v_allowed, 'url', v_target.url, 'sealedSecret', v_target.sealed_secret,
      'sealedPreviousSecret', v_target.sealed_previous_secret,
      'previousSecretExpiresAt', v_target.previous_secret_expires_at, 'apiVersion', v_target.api_version,
      'format', v_target.format, 'isSingleAttempt', v_target.is_single_attempt);
    RETURN NEXT;
    lane := NULL;
    IF v_well AND NOT v_slow THEN p_slots := p_slots - v_count; ELSE p_other_slots := p_other_slots - v_count; END IF;
    IF v_failing THEN p_failing_slots := p_failing_slots - v_count; END IF;
  END LOOP;
END $$;
