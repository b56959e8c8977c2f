/**
 * The claim of due deliveries as SQL functions, made by a migration. Frozen once released: a change is a function under
 * a new name, so that two versions of the service run side by side.
 *
 * A lane is an endpoint's place in the queue. It is locked first, then at most a few rows of it: a dead endpoint's
 * backlog is never scanned, and the limit per endpoint holds over all instances, because each statement inside the
 * function sees what the holder of the lane before it committed. A claimed row's `due_at` is the end of its lease, so a
 * lease that lapses makes the row due again by itself.
 *
 * No deadlocks: claims make lanes in key order and never wait for one; marks wait for lanes in key order.
 */

/** Endpoints with waiting rows and the time of their earliest: one index probe each, however long the backlog. */
export const webhookLanesV1 = `
  CREATE FUNCTION webhook_due_lanes_v1(p_merchants integer[])
  RETURNS TABLE (merchant_id integer, endpoint_id text, due_at timestamptz)
  LANGUAGE sql STABLE AS $$
    WITH RECURSIVE lanes AS (
      (SELECT d.merchant_id, d.endpoint_id, d.due_at FROM webhook_deliveries d
        WHERE d.due_at IS NOT NULL AND p_merchants IS NULL
        ORDER BY d.merchant_id, d.endpoint_id, d.due_at LIMIT 1)
      UNION ALL
      SELECT n.merchant_id, n.endpoint_id, n.due_at FROM lanes l CROSS JOIN LATERAL (
        SELECT d.merchant_id, d.endpoint_id, d.due_at FROM webhook_deliveries d
        WHERE d.due_at IS NOT NULL AND (d.merchant_id, d.endpoint_id) > (l.merchant_id, l.endpoint_id)
        ORDER BY d.merchant_id, d.endpoint_id, d.due_at LIMIT 1) n
    )
    SELECT l.merchant_id, l.endpoint_id, l.due_at FROM lanes l
    UNION ALL
    SELECT w.merchant_id, w.id, n.due_at FROM webhook_endpoints w CROSS JOIN LATERAL (
      SELECT d.due_at FROM webhook_deliveries d
      WHERE d.due_at IS NOT NULL AND d.merchant_id = w.merchant_id AND d.endpoint_id = w.id
      ORDER BY d.due_at LIMIT 1) n
    WHERE p_merchants IS NOT NULL AND w.merchant_id = ANY(p_merchants)
  $$`

/**
 * Claims at most `p_slots` rows, at most `p_failing_slots` of them for endpoints whose last attempt failed; of one
 * endpoint at most `p_per_endpoint` are in flight on all instances, and one until it has answered well. Rows of an
 * endpoint that is gone or disabled are canceled instead.
 */
export const webhookClaimV1 = `
  CREATE FUNCTION webhook_claim_v1(
    p_merchants integer[], p_slots integer, p_failing_slots integer, p_per_endpoint integer, p_lease interval
  ) RETURNS TABLE (
    id uuid, merchant_id integer, endpoint_id text, token bigint, attempt integer, age_ms bigint, failing boolean,
    event_ms bigint, event_seq bigint, environment text, type text, request_id text, idempotency_key text,
    pending_webhooks integer, data text, url text, sealed_secret text, sealed_previous_secret text,
    previous_secret_expires_at bigint
  ) LANGUAGE plpgsql SET enable_seqscan = off AS $$
  #variable_conflict use_column
  DECLARE
    v_lane record;
    v_health text;
    v_allowed integer;
    v_count integer;
  BEGIN
    INSERT INTO webhook_lanes (merchant_id, endpoint_id, health)
      SELECT l.merchant_id, l.endpoint_id, 'unknown' FROM webhook_due_lanes_v1(p_merchants) l
      WHERE NOT EXISTS (SELECT 1 FROM webhook_lanes k
        WHERE k.merchant_id = l.merchant_id AND k.endpoint_id = l.endpoint_id)
      ORDER BY l.merchant_id, l.endpoint_id ON CONFLICT DO NOTHING;
    FOR v_lane IN
      SELECT l.merchant_id, l.endpoint_id FROM webhook_due_lanes_v1(p_merchants) l
      WHERE l.due_at <= now() ORDER BY l.due_at
    LOOP
      EXIT WHEN p_slots <= 0;
      SELECT l.health INTO v_health FROM webhook_lanes l
        WHERE l.merchant_id = v_lane.merchant_id AND l.endpoint_id = v_lane.endpoint_id FOR UPDATE SKIP LOCKED;
      CONTINUE WHEN NOT FOUND;
      PERFORM 1 FROM webhook_endpoints w
        WHERE w.merchant_id = v_lane.merchant_id AND w.id = v_lane.endpoint_id AND w.status = 'enabled';
      IF NOT FOUND THEN
        UPDATE webhook_deliveries d SET status = 'canceled', due_at = NULL, lease_until = NULL, finished_at = now()
          FROM (SELECT c.id FROM webhook_deliveries c
            WHERE c.merchant_id = v_lane.merchant_id AND c.endpoint_id = v_lane.endpoint_id AND c.due_at <= now()
            ORDER BY c.due_at LIMIT 1000 FOR UPDATE SKIP LOCKED) c
          WHERE d.merchant_id = v_lane.merchant_id AND d.id = c.id;
        CONTINUE;
      END IF;
      SELECT count(*) INTO v_count FROM webhook_deliveries d
        WHERE d.merchant_id = v_lane.merchant_id AND d.endpoint_id = v_lane.endpoint_id
          AND d.status = 'delivering' AND d.lease_until > now();
      v_allowed := least(CASE WHEN v_health = 'healthy' THEN p_per_endpoint ELSE 1 END - v_count, p_slots);
      IF v_health = 'failing' THEN v_allowed := least(v_allowed, p_failing_slots); END IF;
      CONTINUE WHEN v_allowed <= 0;
      RETURN QUERY
        UPDATE webhook_deliveries d SET status = 'delivering', token = d.token + 1,
          lease_until = now() + p_lease, due_at = now() + p_lease
        FROM (SELECT c.id FROM webhook_deliveries c
            WHERE c.merchant_id = v_lane.merchant_id AND c.endpoint_id = v_lane.endpoint_id AND c.due_at <= now()
            ORDER BY c.due_at LIMIT v_allowed FOR UPDATE SKIP LOCKED) c,
          events e, webhook_endpoints w
        WHERE d.merchant_id = v_lane.merchant_id AND d.id = c.id
          AND e.merchant_id = d.merchant_id AND e.ms = d.event_ms AND e.seq = d.event_seq
          AND w.id = d.endpoint_id
        RETURNING d.id, d.merchant_id, d.endpoint_id, d.token, d.attempt,
          (extract(epoch from now() - d.created_at) * 1000)::bigint, v_health = 'failing',
          d.event_ms, d.event_seq, e.environment, e.type, e.request_id, e.idempotency_key,
          e.pending_webhooks, e.data, w.url, w.sealed_secret, w.sealed_previous_secret, w.previous_secret_expires_at;
      GET DIAGNOSTICS v_count = ROW_COUNT;
      p_slots := p_slots - v_count;
      IF v_health = 'failing' THEN p_failing_slots := p_failing_slots - v_count; END IF;
    END LOOP;
  END $$`
