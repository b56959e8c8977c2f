-- Fails deliveries of one endpoint that wait behind its breaker and were queued `p_age` ago or longer, at most
-- `p_limit`, oldest event first, and answers how many. The lane is locked as a claim locks it, and passed over while
-- somebody holds it: what is on its way ends by its answer. An event is never newer than its deliveries, so the index
-- in event order finds the old ones without the rest of the backlog. Only deliveries made from `p_from` until before
-- `p_to` are looked at: `webhook_due_span_v1`.
CREATE FUNCTION webhook_expire_v2(
  p_merchant integer, p_endpoint text, p_age interval, p_limit integer, p_error text,
  p_from timestamptz, p_to timestamptz
) RETURNS integer LANGUAGE plpgsql
  SET enable_seqscan = off
  SET enable_bitmapscan = off
  SET enable_hashjoin = off
  SET enable_mergejoin = off
  SET plan_cache_mode = force_generic_plan
  SET enable_sort = off
  SET enable_incremental_sort = off
AS $$
DECLARE
  v_count integer;
BEGIN
  PERFORM 1 FROM webhook_lanes l
    WHERE l.merchant_id = p_merchant AND l.endpoint_id = p_endpoint AND l.open_until IS NOT NULL
      AND l.held_until <= now()
    FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN RETURN 0; END IF;
  WITH c AS MATERIALIZED (
    SELECT c.id, c.created_at FROM webhook_deliveries c
    WHERE c.merchant_id = p_merchant AND c.endpoint_id = p_endpoint AND c.due_at IS NOT NULL
      AND c.event_ms <= floor(extract(epoch FROM now() - p_age) * 1000)::bigint AND c.created_at <= now() - p_age
      AND c.created_at >= p_from AND c.created_at < p_to
    ORDER BY c.event_ms, c.event_seq LIMIT p_limit FOR UPDATE SKIP LOCKED
  )
  UPDATE webhook_deliveries d SET status = 'failed', due_at = NULL, last_error = p_error, finished_at = now()
    FROM c WHERE d.merchant_id = p_merchant AND d.id = c.id AND d.created_at = c.created_at
      AND d.created_at >= p_from AND d.created_at < p_to;
  GET DIAGNOSTICS v_count = ROW_COUNT;
  RETURN v_count;
END $$;
