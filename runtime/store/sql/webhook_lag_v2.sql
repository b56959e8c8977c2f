-- How the queue stands, as milliseconds and counts. Lanes with something waiting are found as the claim finds them, one
-- index probe each, however much waits in them. `p_lease` is what a claim takes. Only deliveries made from `p_from` until
-- before `p_to` are looked at: `webhook_due_span_v1`.
--
-- `owed_ms` is how long the oldest delivery could have been sent and was not: of an enabled endpoint, held by nobody,
-- its breaker not open; since it was due, its breaker let it pass, and the attempt before it ended, whichever came
-- last. One that wants order owes the first of its row only. `oldest_ms` is how long ago the oldest delivery of all
-- became due, those of dead endpoints included. `waiting` counts endpoints with something due; `failing`, `opened` and
-- `half_open` count enabled ones by their last attempt and their breaker.
CREATE FUNCTION webhook_lag_v2(p_lease interval, p_from timestamptz, p_to timestamptz) RETURNS TABLE (
  owed_ms float8, oldest_ms float8, waiting integer, failing integer, opened integer, half_open integer
) LANGUAGE plpgsql STABLE
  SET enable_seqscan = off
  SET enable_bitmapscan = off
  SET enable_hashjoin = off
  SET enable_mergejoin = off
  SET plan_cache_mode = force_generic_plan
  SET enable_sort = off
  SET enable_incremental_sort = off
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH RECURSIVE lanes AS (
      (SELECT d.merchant_id AS m, d.endpoint_id AS e, d.due_at AS due FROM webhook_deliveries d
        WHERE d.due_at IS NOT NULL AND d.created_at >= p_from AND d.created_at < p_to
        ORDER BY d.merchant_id, d.endpoint_id, d.due_at LIMIT 1)
      UNION ALL
      SELECT n.m, n.e, n.due FROM lanes l CROSS JOIN LATERAL (
        SELECT d.merchant_id AS m, d.endpoint_id AS e, d.due_at AS due FROM webhook_deliveries d
        WHERE d.due_at IS NOT NULL AND (d.merchant_id, d.endpoint_id) > (l.m, l.e)
          AND d.created_at >= p_from AND d.created_at < p_to
        ORDER BY d.merchant_id, d.endpoint_id, d.due_at LIMIT 1) n
    ), looked AS (
    SELECT l.due, CASE WHEN w.status = 'enabled' AND (k.open_until IS NULL OR k.open_until <= now())
        AND (k.held_until IS NULL OR k.held_until <= now() OR k.held_until > now() + 2 * p_lease) THEN greatest(
          CASE WHEN w.ordered THEN (
            SELECT d.due_at FROM webhook_deliveries d
            WHERE d.merchant_id = l.m AND d.endpoint_id = l.e AND d.due_at IS NOT NULL
              AND d.created_at >= p_from AND d.created_at < p_to
            ORDER BY d.event_ms, d.event_seq LIMIT 1
          ) ELSE l.due END,
          k.open_until, k.judged_from,
          (SELECT a.ended_at FROM webhook_attempts a WHERE a.merchant_id = l.m AND a.endpoint_id = l.e
            ORDER BY a.ended_at DESC LIMIT 1)
        ) END AS since
    FROM lanes l
    LEFT JOIN webhook_lanes k ON k.merchant_id = l.m AND k.endpoint_id = l.e
    LEFT JOIN webhook_endpoints w ON w.id = l.e
    WHERE l.due <= now()
  ), queue AS (
    SELECT max(extract(epoch FROM now() - l.since)) FILTER (WHERE l.since <= now()) AS owed,
      max(extract(epoch FROM now() - l.due)) AS oldest, count(*) AS waiting
    FROM looked l
  ), broken AS (
    SELECT count(*) FILTER (WHERE k.health = 'failing') AS failing,
      count(*) FILTER (WHERE k.open_until > now()) AS opened, count(*) FILTER (WHERE k.open_until <= now()) AS half_open
    FROM webhook_lanes k JOIN webhook_endpoints w ON w.id = k.endpoint_id AND w.status = 'enabled'
    WHERE k.health = 'failing' OR k.open_until IS NOT NULL
  )
  SELECT coalesce(q.owed, 0)::float8 * 1000, coalesce(q.oldest, 0)::float8 * 1000, q.waiting::integer,
    b.failing::integer, b.opened::integer, b.half_open::integer
  FROM queue q CROSS JOIN broken b;
END $$;
