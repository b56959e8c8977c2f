-- Writes results of rows whose lane still has the token of their claim, one row of attempts for each they spent, and
-- counts those; later ones are dropped silently by the fence. A row that was canceled while it was on its way ended as
-- it ended, and is not tried again. Sums are moved in key order, so that two marks never wait for each other. Lanes in
-- `p_released` are let go, unless a claim added to them meanwhile, or they are to be judged: until they are, nobody
-- else may know of a breaker that opens. Answers those. A lane is slow from a result of which the attempt took longer than
-- `p_slow_ms`, until one that did not. A row is found by its id, in the
-- partitions of the times in `p_created`: as an alternative, so that they choose no index. On empty tables that of an
-- endpoint's deliveries would look as good as the key.
--
-- A result names its lane by its place in `p_merchants`, `p_endpoints` and `p_tokens`. `p_claims` is null for a lane
-- that is not to be let go, else what its claims must be. Arrays: as JSON the same took seven times as long (measured).
CREATE FUNCTION webhook_mark_v2(
  p_merchants integer[], p_endpoints text[], p_tokens bigint[], p_claims bigint[],
  p_lanes integer[], p_ids uuid[], p_created timestamptz[], p_statuses text[], p_attempts integer[], p_dues bigint[], p_outcomes text[],
  p_answers integer[], p_errors text[], p_latencies integer[], p_responses text[], p_environments text[],
  p_commerce boolean[], p_sum text, p_widths integer[], p_window interval, p_patience interval,
  p_slow_ms integer
) RETURNS TABLE (
  merchant_id integer, endpoint_id text, outcomes text, version bigint, health text, consecutive_failures integer,
  failing_since_ms float8, open_until_ms float8, openings integer, judged_from_ms float8, now_ms float8,
  attempts integer, failures integer, timeouts integer, failed_events integer
) LANGUAGE plpgsql
  SET enable_seqscan = off
  SET enable_bitmapscan = off
  SET enable_hashjoin = off
  SET enable_mergejoin = off
  SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
  v_holds boolean[];
  v_merchants integer[];
  v_endpoints text[];
  v_outcomes text[];
  v_slow boolean[];
  v_first timestamptz;
  v_last timestamptz;
BEGIN
  SELECT min(c), max(c) INTO v_first, v_last FROM unnest(p_created) c;
  SELECT array_agg(EXISTS (SELECT 1 FROM webhook_lanes l
      WHERE l.merchant_id = t.m AND l.endpoint_id = t.e AND l.token = t.token OFFSET 0) ORDER BY t.place) INTO v_holds
    FROM unnest(p_merchants, p_endpoints, p_tokens) WITH ORDINALITY AS t(m, e, token, place);
  WITH marks AS MATERIALIZED (
    SELECT r.*, p_merchants[r.lane] AS m, r.outcome IS NULL AND r.error IS NULL AS untried
    FROM unnest(p_lanes, p_ids, p_created, p_statuses, p_attempts, p_dues, p_outcomes, p_answers, p_errors, p_latencies,
        p_responses, p_environments, p_commerce)
      WITH ORDINALITY AS r(lane, id, created, status, attempt, due, outcome, answer, error, latency, response, environment,
        commerce, place)
    WHERE v_holds[r.lane]
    ORDER BY p_merchants[r.lane], r.id
  ), marked AS (
    UPDATE webhook_deliveries d SET attempt = r.attempt,
      status = CASE WHEN d.due_at IS NULL AND r.due IS NOT NULL THEN d.status ELSE r.status END,
      due_at = CASE WHEN d.due_at IS NOT NULL THEN now() + r.due * interval '1 millisecond' END,
      last_status = CASE WHEN r.untried THEN d.last_status ELSE r.answer END,
      last_error = CASE WHEN r.untried THEN d.last_error ELSE r.error END,
      last_latency_ms = CASE WHEN r.untried THEN d.last_latency_ms ELSE r.latency END,
      finished_at = CASE WHEN r.due IS NULL THEN now() ELSE d.finished_at END
    FROM marks r WHERE d.merchant_id = r.m AND d.id = r.id
      AND (d.created_at >= v_first AND d.created_at <= v_last OR d.created_at = v_first)
      AND CASE WHEN d.due_at IS NULL THEN d.status = 'canceled' AND (r.due IS NULL OR r.outcome IS NOT NULL)
        ELSE NOT r.untried OR d.status = 'delivering' END
    RETURNING d.merchant_id, d.endpoint_id, d.id, r.attempt, r.outcome, r.answer, r.error, r.latency, r.response,
      r.environment, r.commerce, r.place
  ), tried AS (
    INSERT INTO webhook_attempts
      (merchant_id, delivery_id, attempt, endpoint_id, outcome, status, error, latency_ms, response)
    SELECT k.merchant_id, k.id, k.attempt, k.endpoint_id, k.outcome, k.answer, k.error, k.latency, k.response
    FROM marked k WHERE k.outcome IS NOT NULL ON CONFLICT DO NOTHING
  ), spent AS (
    SELECT k.merchant_id, k.environment, w.width, floor(extract(epoch FROM now()) / w.width)::bigint * w.width
      AS bucket,
      k.key, k.count
    FROM (
      SELECT k.merchant_id, k.environment, CASE WHEN k.commerce THEN 'commerce:' ELSE 'standard:' END ||
        CASE WHEN k.outcome = 'succeeded' THEN 'succeeded' ELSE 'failed' END AS key, count(*) AS count
      FROM marked k WHERE k.outcome IS NOT NULL GROUP BY 1, 2, 3
    ) k CROSS JOIN unnest(p_widths) AS w(width)
  ), counted AS (
    INSERT INTO rollups AS t (merchant_id, environment, sum, width, bucket, key, count, amount, amount_paid)
    SELECT s.merchant_id, s.environment, p_sum, s.width, s.bucket, s.key, s.count, 0, 0 FROM spent s
    ORDER BY s.merchant_id, s.environment, s.width, s.bucket, s.key
    ON CONFLICT (merchant_id, environment, sum, width, bucket, key) DO UPDATE SET count = t.count + excluded.count
  ), said AS (
    SELECT k.merchant_id AS m, k.endpoint_id AS e, string_agg(left(k.outcome, 1), '' ORDER BY k.place) AS outcomes,
      (array_agg(k.latency > p_slow_ms ORDER BY k.place DESC))[1] AS slow
    FROM marked k WHERE k.outcome IS NOT NULL GROUP BY 1, 2
  )
  SELECT array_agg(s.m), array_agg(s.e), array_agg(s.outcomes), array_agg(s.slow)
    INTO v_merchants, v_endpoints, v_outcomes, v_slow FROM said s;
  IF v_merchants IS NOT NULL THEN
    RETURN QUERY SELECT * FROM webhook_lanes_v2(v_merchants, v_endpoints, v_outcomes, p_window, p_patience);
  END IF;
  WITH changes AS MATERIALIZED (
    SELECT l.merchant_id, l.endpoint_id, c.is_free, c.is_slow
    FROM (
      SELECT t.m, t.e, t.token, max(t.claims) AS claims FROM unnest(p_merchants, p_endpoints, p_tokens, p_claims)
        AS t(m, e, token, claims) GROUP BY 1, 2, 3
    ) r
    JOIN webhook_lanes l ON l.merchant_id = r.m AND l.endpoint_id = r.e AND l.token = r.token
    LEFT JOIN unnest(v_merchants, v_endpoints, v_outcomes, v_slow) AS o(m, e, outcomes, slow)
      ON o.m = r.m AND o.e = r.e
    CROSS JOIN LATERAL (
      SELECT l.claims IS NOT DISTINCT FROM r.claims AND (o.e IS NULL OR NOT (o.outcomes ~ '[ft]'
          OR l.health <> 'healthy' OR l.consecutive_failures > 0 OR l.open_until IS NOT NULL
          OR l.failing_since IS NOT NULL)) AS is_free,
        coalesce(o.slow, l.is_slow) AS is_slow
    ) c
    WHERE c.is_free OR c.is_slow <> l.is_slow
    ORDER BY l.merchant_id, l.endpoint_id FOR UPDATE OF l
  )
  UPDATE webhook_lanes l SET is_slow = c.is_slow,
      held_until = CASE WHEN c.is_free THEN '-infinity' ELSE l.held_until END
    FROM changes c WHERE l.merchant_id = c.merchant_id AND l.endpoint_id = c.endpoint_id;
END $$;
