/**
 * The claim of due deliveries as an SQL function, made by a migration. Frozen once released: a change is a function under
 * a new name, so that two versions of the service run side by side.
 *
 * A lane is an endpoint's place in the queue. It is locked first, then at most a few rows of it: a dead endpoint's
 * backlog is never scanned, and the limit per endpoint holds over all instances, because each statement inside the
 * function sees what the holder of the lane before it committed. A claimed row's `due_at` is the end of its lease, so a
 * lease that lapses makes the row due again by itself.
 *
 * No deadlocks: claims make lanes in key order and never wait for one; marks wait for lanes in key order.
 */

/**
 * Claims at most `p_slots` rows, at most `p_failing_slots` of them for endpoints whose last attempt failed; of one
 * endpoint at most `p_per_endpoint` are in flight on all instances, and one until it has answered well. Rows of an
 * endpoint that is gone or disabled are canceled instead. Finding the lanes costs one index probe each, however long the
 * backlog. The queries stand in the function itself, where their plans are kept: called functions were planned anew each
 * time, 2 ms a claim.
 */
const claimFunction = (name: string, more: { readonly result: string; readonly value: string }): string => `
  CREATE FUNCTION ${name}(
    p_merchants integer[], p_slots integer, p_failing_slots integer, p_per_endpoint integer, p_lease interval
  ) RETURNS TABLE (
    id uuid, merchant_id integer, endpoint_id text, token bigint, attempt integer, age_ms bigint, failing boolean,
    event_ms bigint, event_seq bigint, environment text, type text, request_id text, idempotency_key text,
    pending_webhooks integer, data text, url text, sealed_secret text, sealed_previous_secret text,
    previous_secret_expires_at bigint${more.result}
  ) LANGUAGE plpgsql SET enable_seqscan = off AS $$
  #variable_conflict use_column
  DECLARE
    v_merchants integer[];
    v_endpoints text[];
    v_merchant integer;
    v_endpoint text;
    v_health text;
    v_allowed integer;
    v_count integer;
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
        FROM lanes l WHERE l.due <= now();
    ELSE
      SELECT array_agg(l.m ORDER BY l.due), array_agg(l.e ORDER BY l.due) INTO v_merchants, v_endpoints
        FROM (SELECT w.merchant_id AS m, w.id AS e, (
            SELECT d.due_at FROM webhook_deliveries d
            WHERE d.due_at IS NOT NULL AND d.merchant_id = w.merchant_id AND d.endpoint_id = w.id
            ORDER BY d.merchant_id, d.endpoint_id, d.due_at LIMIT 1) AS due
          FROM webhook_endpoints w WHERE w.merchant_id = ANY(p_merchants)) l
        WHERE l.due <= now();
    END IF;
    IF v_merchants IS NULL THEN RETURN; END IF;
    INSERT INTO webhook_lanes (merchant_id, endpoint_id, health)
      SELECT l.m, l.e, 'unknown' FROM unnest(v_merchants, v_endpoints) AS l(m, e)
      WHERE NOT EXISTS (SELECT 1 FROM webhook_lanes k WHERE k.merchant_id = l.m AND k.endpoint_id = l.e)
      ORDER BY l.m, l.e ON CONFLICT DO NOTHING;
    FOR v_at IN 1 .. cardinality(v_merchants) LOOP
      v_merchant := v_merchants[v_at];
      v_endpoint := v_endpoints[v_at];
      EXIT WHEN p_slots <= 0;
      SELECT l.health INTO v_health FROM webhook_lanes l
        WHERE l.merchant_id = v_merchant AND l.endpoint_id = v_endpoint FOR UPDATE SKIP LOCKED;
      CONTINUE WHEN NOT FOUND;
      PERFORM 1 FROM webhook_endpoints w
        WHERE w.merchant_id = v_merchant AND w.id = v_endpoint AND w.status = 'enabled';
      IF NOT FOUND THEN
        UPDATE webhook_deliveries d SET status = 'canceled', due_at = NULL, lease_until = NULL, finished_at = now()
          FROM (SELECT c.id FROM webhook_deliveries c
            WHERE c.merchant_id = v_merchant AND c.endpoint_id = v_endpoint AND c.due_at <= now()
            ORDER BY c.due_at LIMIT 1000 FOR UPDATE SKIP LOCKED) c
          WHERE d.merchant_id = v_merchant AND d.id = c.id;
        CONTINUE;
      END IF;
      SELECT count(*) INTO v_count FROM webhook_deliveries d
        WHERE d.merchant_id = v_merchant AND d.endpoint_id = v_endpoint
          AND d.status = 'delivering' AND d.lease_until > now();
      v_allowed := least(CASE WHEN v_health = 'healthy' THEN p_per_endpoint ELSE 1 END - v_count, p_slots);
      IF v_health = 'failing' THEN v_allowed := least(v_allowed, p_failing_slots); END IF;
      CONTINUE WHEN v_allowed <= 0;
      RETURN QUERY
        UPDATE webhook_deliveries d SET status = 'delivering', token = d.token + 1,
          lease_until = now() + p_lease, due_at = now() + p_lease
        FROM (SELECT c.id FROM webhook_deliveries c
            WHERE c.merchant_id = v_merchant AND c.endpoint_id = v_endpoint AND c.due_at <= now()
            ORDER BY c.due_at LIMIT v_allowed FOR UPDATE SKIP LOCKED) c,
          events e, webhook_endpoints w
        WHERE d.merchant_id = v_merchant AND d.id = c.id
          AND e.merchant_id = d.merchant_id AND e.ms = d.event_ms AND e.seq = d.event_seq
          AND w.id = d.endpoint_id
        RETURNING d.id, d.merchant_id, d.endpoint_id, d.token, d.attempt,
          (extract(epoch from now() - d.created_at) * 1000)::bigint, v_health = 'failing',
          d.event_ms, d.event_seq, e.environment, e.type, e.request_id, e.idempotency_key,
          e.pending_webhooks, e.data, w.url, w.sealed_secret, w.sealed_previous_secret,
          w.previous_secret_expires_at${more.value};
      GET DIAGNOSTICS v_count = ROW_COUNT;
      p_slots := p_slots - v_count;
      IF v_health = 'failing' THEN p_failing_slots := p_failing_slots - v_count; END IF;
    END LOOP;
  END $$`

/** The first claim; it may still be called by an instance of the first release. */
export const webhookClaimV1 = claimFunction("webhook_claim_v1", { result: "", value: "" })

/** Tells the version the endpoint is pinned to as well. */
export const webhookClaimV2 = claimFunction("webhook_claim_v2", {
  result: ", api_version text",
  value: ", w.api_version"
})
