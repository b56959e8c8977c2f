-- Endpoints of which the instance `p_holder` could claim rows that are due, those that wait longest first: of
-- `p_merchants`, or, with null, of the `p_page` endpoints with something waiting that come after
-- (`p_after_merchant`, `p_after_endpoint`). Not those in `p_full`, nor those that another instance holds or whose breaker
-- is open. Of each kind at most as many as its slots: `p_slots` quick ones, `p_other_slots` that never answered, as many
-- slow ones, and `p_failing_slots` whose last attempt failed, so that none crowds out another. The last endpoint of a
-- full page comes too, as `page_end`: the next page begins behind it.
--
-- Only deliveries made from `p_from` until before `p_to` are looked at: `webhook_due_span_v1`.
--
-- An endpoint costs one index probe, however long its backlog; only those that are due and not full are looked at more
-- closely. What a call costs is bounded by `p_page`, however many endpoints wait.
CREATE FUNCTION webhook_waiting_v2(
  p_holder text, p_lease interval, p_merchants integer[], p_after_merchant integer, p_after_endpoint text,
  p_page integer, p_slots integer, p_other_slots integer, p_failing_slots integer, p_full text[],
  p_from timestamptz, p_to timestamptz
) RETURNS TABLE (merchant_id integer, endpoint_id text, claimable boolean, page_end boolean) LANGUAGE plpgsql STABLE
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
  WITH RECURSIVE page AS (
    (SELECT d.merchant_id AS m, d.endpoint_id AS e, d.due_at AS due, 1 AS place FROM webhook_deliveries d
      WHERE p_merchants IS NULL AND d.due_at IS NOT NULL AND d.created_at >= p_from AND d.created_at < p_to
        AND (d.merchant_id, d.endpoint_id) > (p_after_merchant, p_after_endpoint)
      ORDER BY d.merchant_id, d.endpoint_id, d.due_at LIMIT 1)
    UNION ALL
    SELECT n.m, n.e, n.due, p.place + 1 FROM page p CROSS JOIN LATERAL (
      SELECT d.merchant_id AS m, d.endpoint_id AS e, d.due_at AS due FROM webhook_deliveries d
      WHERE d.due_at IS NOT NULL AND (d.merchant_id, d.endpoint_id) > (p.m, p.e)
        AND d.created_at >= p_from AND d.created_at < p_to
      ORDER BY d.merchant_id, d.endpoint_id, d.due_at LIMIT 1) n
    WHERE p.place < p_page
  ), waiting AS (
    SELECT p.m, p.e, p.due, p.place = p_page AS page_end FROM page p
    UNION ALL
    SELECT w.merchant_id, w.id, (SELECT d.due_at FROM webhook_deliveries d
        WHERE d.due_at IS NOT NULL AND d.merchant_id = w.merchant_id AND d.endpoint_id = w.id
          AND d.created_at >= p_from AND d.created_at < p_to
        ORDER BY d.merchant_id, d.endpoint_id, d.due_at LIMIT 1), false
      FROM webhook_endpoints w WHERE w.merchant_id = ANY (p_merchants) AND w.status <> 'deleted'
  ), candidates AS (
    SELECT w.m, w.e, w.due, w.page_end, CASE WHEN w.due <= now() AND w.e NOT IN (SELECT unnest(p_full)) THEN (
        SELECT CASE
          WHEN l.merchant_id IS NULL THEN 'unknown'
          WHEN l.open_until > now() THEN NULL
          WHEN l.holder = p_holder OR l.held_until <= now() OR l.held_until > now() + 2 * p_lease
            THEN CASE WHEN l.open_until IS NOT NULL THEN 'failing' WHEN l.health = 'healthy' AND l.is_slow THEN 'slow'
              ELSE l.health END
        END
        FROM (SELECT 1) AS one LEFT JOIN webhook_lanes l ON l.merchant_id = w.m AND l.endpoint_id = w.e
      ) END AS kind
    FROM waiting w
  ), ranked AS (
    SELECT c.*, row_number() OVER (PARTITION BY c.kind ORDER BY c.due) AS place FROM candidates c
    WHERE c.kind IS NOT NULL OR c.page_end
  )
  SELECT r.m, r.e, r.kind IS NOT NULL, r.page_end FROM ranked r
  WHERE r.page_end OR r.place <= CASE r.kind WHEN 'healthy' THEN p_slots
    WHEN 'failing' THEN least(p_failing_slots, p_other_slots) ELSE p_other_slots END
  ORDER BY r.due;
END $$;
