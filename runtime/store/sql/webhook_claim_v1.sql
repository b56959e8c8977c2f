-- Reads at most `p_slots` rows for the instance `p_holder` to send, at most `p_failing_slots` of them for endpoints
-- whose last attempt failed, none of `p_held`, which it has. Of one endpoint it may have `p_ahead`, to be sent a few at
-- a time, and one until it has answered well. An endpoint that wants order gets its rows in the order of the events,
-- and none behind one that has to wait. An endpoint whose breaker is open is passed over; when its time is up it gets
-- one probe, the oldest delivery. Rows of an endpoint that is gone or disabled are canceled instead. Finding the lanes
-- costs one index probe each, however long the backlog.
CREATE FUNCTION webhook_claim_v1(
  p_holder text, p_merchants integer[], p_slots integer, p_failing_slots integer, p_ahead integer, p_lease interval,
  p_held uuid[], p_lanes text[], p_counts integer[]
) RETURNS TABLE (
  id uuid, merchant_id integer, endpoint_id text, token bigint, claims bigint, attempt integer, age_ms float8,
  failing boolean, single boolean, more boolean, event_ms bigint, event_seq bigint, environment text,
  type text, request_id text, idempotency_key text, pending_webhooks integer, data text, url text,
  sealed_secret text, sealed_previous_secret text, previous_secret_expires_at bigint, api_version text
) LANGUAGE plpgsql
  SET enable_seqscan = off
  SET enable_bitmapscan = off
  SET enable_hashjoin = off
  SET enable_mergejoin = off
  SET plan_cache_mode = force_generic_plan
  SET enable_sort = off
AS $$
#variable_conflict use_column
DECLARE
  v_merchants integer[];
  v_endpoints text[];
  v_merchant integer;
  v_endpoint text;
  v_lane webhook_lanes;
  v_target webhook_endpoints;
  v_probe boolean;
  v_failing boolean;
  v_well boolean;
  v_share integer;
  v_allowed integer;
  v_count integer;
  v_ids uuid[];
BEGIN
  IF p_merchants IS NULL THEN
    WITH RECURSIVE lanes AS (
      (SELECT d.merchant_id AS m, d.endpoint_id AS e, d.due_at AS due FROM webhook_deliveries d
        WHERE d.due_at IS NOT NULL ORDER BY d.merchant_id, d.endpoint_id, d.due_at LIMIT 1)
      UNION ALL
      SELECT n.m, n.e, n.due FROM lanes l CROSS JOIN LATERAL (
        SELECT d.merchant_id AS m, d.endpoint_id AS e, d.due_at AS due FROM webhook_deliveries d
        WHERE d.due_at IS NOT NULL AND (d.merchant_id, d.endpoint_id) > (l.m, l.e)
        ORDER BY d.merchant_id, d.endpoint_id, d.due_at LIMIT 1) n
    )
    SELECT array_agg(l.m ORDER BY l.due), array_agg(l.e ORDER BY l.due) INTO v_merchants, v_endpoints
      FROM lanes l LEFT JOIN webhook_lanes k ON k.merchant_id = l.m AND k.endpoint_id = l.e
      WHERE l.due <= now() AND (k.open_until IS NULL OR k.open_until <= now())
        AND (k.held_until IS NULL OR k.held_until <= now() OR k.held_until > now() + 2 * p_lease
          OR k.holder = p_holder);
  ELSE
    SELECT array_agg(l.m ORDER BY l.due), array_agg(l.e ORDER BY l.due) INTO v_merchants, v_endpoints
      FROM (SELECT w.merchant_id AS m, w.id AS e, (
          SELECT d.due_at FROM webhook_deliveries d
          WHERE d.due_at IS NOT NULL AND d.merchant_id = w.merchant_id AND d.endpoint_id = w.id
          ORDER BY d.merchant_id, d.endpoint_id, d.due_at LIMIT 1) AS due
        FROM webhook_endpoints w WHERE w.merchant_id = ANY(p_merchants) AND w.status <> 'deleted') l
      LEFT JOIN webhook_lanes k ON k.merchant_id = l.m AND k.endpoint_id = l.e
      WHERE l.due <= now() AND (k.open_until IS NULL OR k.open_until <= now())
        AND (k.held_until IS NULL OR k.held_until <= now() OR k.held_until > now() + 2 * p_lease
          OR k.holder = p_holder);
  END IF;
  IF v_merchants IS NULL THEN RETURN; END IF;
  INSERT INTO webhook_lanes (merchant_id, endpoint_id, health)
    SELECT l.m, l.e, 'unknown' FROM unnest(v_merchants, v_endpoints) AS l(m, e)
    WHERE NOT EXISTS (SELECT 1 FROM webhook_lanes k WHERE k.merchant_id = l.m AND k.endpoint_id = l.e)
    ORDER BY l.m, l.e ON CONFLICT DO NOTHING;
  v_share := greatest(p_slots / cardinality(v_merchants), 4);
  FOR v_at IN 1 .. cardinality(v_merchants) LOOP
    v_merchant := v_merchants[v_at];
    v_endpoint := v_endpoints[v_at];
    EXIT WHEN p_slots <= 0;
    SELECT l.* INTO v_lane FROM webhook_lanes l
      WHERE l.merchant_id = v_merchant AND l.endpoint_id = v_endpoint
        AND (l.open_until IS NULL OR l.open_until <= now())
        AND (l.held_until <= now() OR l.held_until > now() + 2 * p_lease OR l.holder = p_holder)
      FOR UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND;
    SELECT w.* INTO v_target FROM webhook_endpoints w
      WHERE w.id = v_endpoint AND w.merchant_id = v_merchant AND w.status = 'enabled';
    IF NOT FOUND THEN
      WITH c AS MATERIALIZED (
        SELECT c.id FROM webhook_deliveries c
        WHERE c.merchant_id = v_merchant AND c.endpoint_id = v_endpoint AND c.due_at <= now()
        ORDER BY c.due_at LIMIT 1000 FOR UPDATE SKIP LOCKED
      )
      UPDATE webhook_deliveries d SET status = 'canceled', due_at = NULL, finished_at = now()
        FROM c WHERE d.merchant_id = v_merchant AND d.id = c.id;
      CONTINUE;
    END IF;
    v_count := coalesce((SELECT k.n FROM unnest(p_lanes, p_counts) AS k(e, n) WHERE k.e = v_endpoint), 0);
    v_probe := v_lane.open_until IS NOT NULL;
    v_failing := v_probe OR v_lane.health = 'failing';
    v_well := v_lane.health = 'healthy' AND NOT v_probe;
    v_allowed := least(CASE WHEN v_well THEN least(p_ahead - v_count, v_share) ELSE 1 - v_count END, p_slots);
    IF v_failing THEN v_allowed := least(v_allowed, p_failing_slots); END IF;
    CONTINUE WHEN v_allowed <= 0 OR (v_target.ordered AND v_count > 0);
    IF v_target.ordered THEN
      SELECT array_agg(h.id) INTO v_ids FROM (
        SELECT h.id, bool_and(h.due_at <= now()) OVER (ORDER BY h.event_ms, h.event_seq, h.id) AS free FROM (
          SELECT c.id, c.due_at, c.event_ms, c.event_seq FROM webhook_deliveries c
          WHERE c.merchant_id = v_merchant AND c.endpoint_id = v_endpoint AND c.due_at IS NOT NULL
          ORDER BY c.event_ms, c.event_seq, c.id LIMIT v_allowed) h) h
      WHERE h.free;
    ELSIF v_probe THEN
      SELECT array_agg(h.id) INTO v_ids FROM (
        SELECT c.id FROM webhook_deliveries c
        WHERE c.merchant_id = v_merchant AND c.endpoint_id = v_endpoint AND c.due_at <= now()
        ORDER BY c.event_ms, c.event_seq, c.id LIMIT 1) h;
    ELSE
      SELECT array_agg(h.id) INTO v_ids FROM (
        SELECT c.id FROM webhook_deliveries c
        WHERE c.merchant_id = v_merchant AND c.endpoint_id = v_endpoint AND c.due_at <= now()
          AND NOT c.id = ANY (p_held)
        ORDER BY c.due_at LIMIT v_allowed) h;
    END IF;
    CONTINUE WHEN v_ids IS NULL;
    UPDATE webhook_lanes l SET holder = p_holder, claims = l.claims + 1, held_until = now() + p_lease,
        token = l.token + CASE WHEN l.holder = p_holder THEN 0 ELSE 1 END
      WHERE l.merchant_id = v_merchant AND l.endpoint_id = v_endpoint RETURNING l.* INTO v_lane;
    RETURN QUERY
      SELECT d.id, d.merchant_id, d.endpoint_id, v_lane.token, v_lane.claims, d.attempt,
        extract(epoch from now() - d.created_at)::float8 * 1000, v_failing, v_target.ordered OR NOT v_well,
        cardinality(v_ids) = v_allowed, d.event_ms, d.event_seq, e.environment, e.type, e.request_id,
        e.idempotency_key, e.pending_webhooks, e.data, v_target.url, v_target.sealed_secret,
        v_target.sealed_previous_secret, v_target.previous_secret_expires_at, v_target.api_version
      FROM unnest(v_ids) WITH ORDINALITY AS c(id, place)
      CROSS JOIN LATERAL (
        SELECT * FROM webhook_deliveries d WHERE d.merchant_id = v_merchant AND d.id = c.id OFFSET 0
      ) d
      CROSS JOIN LATERAL (
        SELECT * FROM events e WHERE e.merchant_id = v_merchant AND e.ms = d.event_ms AND e.seq = d.event_seq OFFSET 0
      ) e
      ORDER BY c.place;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    p_slots := p_slots - v_count;
    IF v_failing THEN p_failing_slots := p_failing_slots - v_count; END IF;
  END LOOP;
END $$;
