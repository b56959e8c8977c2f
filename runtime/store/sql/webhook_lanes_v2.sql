-- What an attempt said of its lane, with what is needed to judge it: the attempts of the last `p_window` since the lane
-- was judged anew, how many of the newest in a row timed out, and, once it has only failed for `p_patience`, how many
-- events. Counts are bounded: what they are compared with is far smaller. Most lanes are well, and then no attempts are
-- read. A delivery is tried for 72 hours, so those of the attempts were made at most 4 days before.
CREATE FUNCTION webhook_lanes_v2(
  p_merchants integer[], p_endpoints text[], p_outcomes text[], p_window interval, p_patience interval
) RETURNS TABLE (
  merchant_id integer, endpoint_id text, outcomes text, version bigint, health text, consecutive_failures integer,
  failing_since_ms float8, open_until_ms float8, openings integer, judged_from_ms float8, now_ms float8,
  attempts integer, failures integer, timeouts integer, failed_events integer
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
  PERFORM FROM unnest(p_merchants, p_endpoints, p_outcomes) AS o(m, e, outcomes)
    JOIN webhook_lanes l ON l.merchant_id = o.m AND l.endpoint_id = o.e
    WHERE o.outcomes ~ '[ft]' OR l.health <> 'healthy' OR l.consecutive_failures > 0 OR l.open_until IS NOT NULL
      OR l.failing_since IS NOT NULL LIMIT 1;
  IF NOT FOUND THEN RETURN; END IF;
  RETURN QUERY SELECT l.merchant_id, l.endpoint_id, o.outcomes, l.version, l.health, l.consecutive_failures,
    extract(epoch FROM l.failing_since)::float8 * 1000, extract(epoch FROM l.open_until)::float8 * 1000, l.openings,
    CASE WHEN l.judged_from = '-infinity' THEN 0 ELSE extract(epoch FROM l.judged_from)::float8 * 1000 END,
    extract(epoch FROM now())::float8 * 1000, r.attempts, r.failures, t.timeouts, coalesce(f.events, 0)
  FROM unnest(p_merchants, p_endpoints, p_outcomes) AS o(m, e, outcomes)
  JOIN webhook_lanes l ON l.merchant_id = o.m AND l.endpoint_id = o.e
  CROSS JOIN LATERAL (
    SELECT count(*)::integer AS attempts, (count(*) FILTER (WHERE a.outcome <> 'succeeded'))::integer AS failures
    FROM (SELECT a.outcome FROM webhook_attempts a
      WHERE a.merchant_id = o.m AND a.endpoint_id = o.e AND a.ended_at > greatest(l.judged_from, now() - p_window)
        AND a.ended_at > now() - p_window
      ORDER BY a.ended_at DESC LIMIT 1000) a
  ) r
  CROSS JOIN LATERAL (
    SELECT (count(*) FILTER (WHERE a.outcome = 'timed_out'))::integer AS timeouts
    FROM (SELECT a.outcome FROM webhook_attempts a
      WHERE a.merchant_id = o.m AND a.endpoint_id = o.e AND a.ended_at > l.judged_from
      ORDER BY a.ended_at DESC LIMIT 5) a
  ) t
  LEFT JOIN LATERAL (
    SELECT count(*)::integer AS events FROM (
      SELECT DISTINCT d.event_ms, d.event_seq FROM webhook_attempts a
      CROSS JOIN LATERAL (
        SELECT d.event_ms, d.event_seq FROM webhook_deliveries d
        WHERE d.merchant_id = a.merchant_id AND d.id = a.delivery_id
          AND d.created_at >= l.failing_since - interval '4 days' OFFSET 0
      ) d
      WHERE a.merchant_id = o.m AND a.endpoint_id = o.e AND a.ended_at >= l.failing_since LIMIT 1000) d
  ) f ON l.failing_since <= now() - p_patience
  WHERE (o.outcomes ~ '[ft]' OR l.health <> 'healthy' OR l.consecutive_failures > 0 OR l.open_until IS NOT NULL
    OR l.failing_since IS NOT NULL);
END $$;
