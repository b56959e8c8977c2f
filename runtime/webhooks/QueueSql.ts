/**
 * What the delivery queue does often, as SQL functions made by a migration: in a function the plans are kept, inline they
 * were made anew each time, 2 ms a claim (measured). Frozen once released: a change is a function under a new name, so
 * that two versions of the service run side by side.
 *
 * A lane is an endpoint's place in the queue, and a lease: whoever holds it is the only instance that sends to the
 * endpoint. It is locked first, then at most a few rows of it are read: a dead endpoint's backlog is never scanned, the
 * limit per endpoint holds over all instances, and rows that are sent need no write until they are answered (a write for
 * each cost 62 us, reading it 25, measured). A lane that lapses makes its rows claimable by themselves; its token, a new
 * one for each holder, keeps late results of the former one out.
 *
 * No deadlocks: claims make lanes in key order and never wait for one; marks and whoever writes lanes lock them in key
 * order, after the rows; nobody who has a lane waits for a row.
 */

/**
 * Plans are made once, often while the tables are empty, when every index looks equally good: so rows are found by the
 * index that has their key or their order, and in no other way. Without it a claim read all that was ever sent to an
 * endpoint, 24 ms instead of 6 (measured).
 */
const byIndex = ["enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin"]
  .map((way) => `SET ${way} = off`).join(" ") + " SET plan_cache_mode = force_generic_plan"

/** Endpoints with something that waits and when the first of it is due: one index probe each, however much waits. */
const waitingLanes = `lanes AS (
        (SELECT d.merchant_id AS m, d.endpoint_id AS e, d.due_at AS due FROM webhook_deliveries d
          WHERE d.due_at IS NOT NULL ORDER BY d.merchant_id, d.endpoint_id, d.due_at LIMIT 1)
        UNION ALL
        SELECT n.m, n.e, n.due FROM lanes l CROSS JOIN LATERAL (
          SELECT d.merchant_id AS m, d.endpoint_id AS e, d.due_at AS due FROM webhook_deliveries d
          WHERE d.due_at IS NOT NULL AND (d.merchant_id, d.endpoint_id) > (l.m, l.e)
          ORDER BY d.merchant_id, d.endpoint_id, d.due_at LIMIT 1) n
      )`

/**
 * Whether nobody holds a lane: its lease ran out, or it ends later than any lease can. Then the clock of the database was
 * set back, and the holder may be dead. Twice the life of a lease, so that a small correction takes none from those who live.
 */
const isFree = (lane: string) => `${lane}.held_until <= now() OR ${lane}.held_until > now() + 2 * p_lease`

/**
 * Reads at most `p_slots` rows for the instance `p_holder` to send, at most `p_failing_slots` of them for endpoints whose
 * last attempt failed, none of `p_held`, which it has. Of one endpoint it may have `p_ahead`, to be sent a few at a time,
 * and one until it has answered well. An endpoint that wants order gets its rows in the order of the events, and none
 * behind one that has to wait. An endpoint whose breaker is open is passed over; when its time is up it gets one probe,
 * the oldest delivery. Rows of an endpoint that is gone or disabled are canceled instead. Finding the lanes costs one
 * index probe each, however long the backlog.
 */
export const webhookClaimV4 = `
  CREATE FUNCTION webhook_claim_v4(
    p_holder text, p_merchants integer[], p_slots integer, p_failing_slots integer, p_ahead integer, p_lease interval,
    p_held uuid[], p_lanes text[], p_counts integer[]
  ) RETURNS TABLE (
    id uuid, merchant_id integer, endpoint_id text, token bigint, claims bigint, attempt integer, age_ms float8,
    failing boolean, single boolean, more boolean, event_ms bigint, event_seq bigint, environment text,
    type text, request_id text, idempotency_key text, pending_webhooks integer, data text, url text,
    sealed_secret text, sealed_previous_secret text, previous_secret_expires_at bigint, api_version text
  ) LANGUAGE plpgsql ${byIndex} SET enable_sort = off AS $$
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
      WITH RECURSIVE ${waitingLanes}
      SELECT array_agg(l.m ORDER BY l.due), array_agg(l.e ORDER BY l.due) INTO v_merchants, v_endpoints
        FROM lanes l LEFT JOIN webhook_lanes k ON k.merchant_id = l.m AND k.endpoint_id = l.e
        WHERE l.due <= now() AND (k.open_until IS NULL OR k.open_until <= now())
          AND (k.held_until IS NULL OR ${isFree("k")} OR k.holder = p_holder);
    ELSE
      SELECT array_agg(l.m ORDER BY l.due), array_agg(l.e ORDER BY l.due) INTO v_merchants, v_endpoints
        FROM (SELECT w.merchant_id AS m, w.id AS e, (
            SELECT d.due_at FROM webhook_deliveries d
            WHERE d.due_at IS NOT NULL AND d.merchant_id = w.merchant_id AND d.endpoint_id = w.id
            ORDER BY d.merchant_id, d.endpoint_id, d.due_at LIMIT 1) AS due
          FROM webhook_endpoints w WHERE w.merchant_id = ANY(p_merchants) AND w.status <> 'deleted') l
        LEFT JOIN webhook_lanes k ON k.merchant_id = l.m AND k.endpoint_id = l.e
        WHERE l.due <= now() AND (k.open_until IS NULL OR k.open_until <= now())
          AND (k.held_until IS NULL OR ${isFree("k")} OR k.holder = p_holder);
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
          AND (l.open_until IS NULL OR l.open_until <= now()) AND (${isFree("l")} OR l.holder = p_holder)
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
        JOIN webhook_deliveries d ON d.merchant_id = v_merchant AND d.id = c.id
        JOIN events e ON e.merchant_id = d.merchant_id AND e.ms = d.event_ms AND e.seq = d.event_seq
        ORDER BY c.place;
      GET DIAGNOSTICS v_count = ROW_COUNT;
      p_slots := p_slots - v_count;
      IF v_failing THEN p_failing_slots := p_failing_slots - v_count; END IF;
    END LOOP;
  END $$`

/** What is needed to judge a lane. Times are epoch milliseconds of the database; outcomes are letters, oldest first. */
const laneColumns = `
    merchant_id integer, endpoint_id text, outcomes text, version bigint, health text, consecutive_failures integer,
    failing_since_ms float8, open_until_ms float8, openings integer, judged_from_ms float8, now_ms float8,
    attempts integer, failures integer, timeouts integer, failed_events integer
  `

/** Whether a lane `l` has to be judged by outcomes `o`: all but a healthy one that stays so. */
const isJudged = `(o.outcomes ~ '[ft]' OR l.health <> 'healthy' OR l.consecutive_failures > 0 OR l.open_until IS NOT NULL
      OR l.failing_since IS NOT NULL)`

/**
 * What an attempt said of its lane, with what is needed to judge it: the attempts of the last `p_window` since the lane
 * was judged anew, how many of the newest in a row timed out, and, once it has only failed for `p_patience`, how many
 * events. Counts are bounded: what they are compared with is far smaller.
 */
export const webhookLanesV1 = `
  CREATE FUNCTION webhook_lanes_v1(
    p_merchants integer[], p_endpoints text[], p_outcomes text[], p_window interval, p_patience interval
  ) RETURNS TABLE (${laneColumns}) LANGUAGE plpgsql STABLE ${byIndex} SET enable_sort = off AS $$
  #variable_conflict use_column
  BEGIN
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
        JOIN webhook_deliveries d ON d.merchant_id = a.merchant_id AND d.id = a.delivery_id
        WHERE a.merchant_id = o.m AND a.endpoint_id = o.e AND a.ended_at >= l.failing_since LIMIT 1000) d
    ) f ON l.failing_since <= now() - p_patience
    WHERE ${isJudged};
  END $$`

/**
 * Writes results of rows whose lane still has the token of their claim, one row of attempts for each they spent, and
 * counts those; later ones are dropped silently by the fence. A row that was canceled while it was on its way ended as
 * it ended, and is not tried again. Sums are moved in key order, so that two marks never wait for each other. Lanes in
 * `p_released` are let go, unless a claim added to them meanwhile, or they are to be judged: until they are, nobody else
 * may know of a breaker that opens. Answers those.
 */
export const webhookMarkV1 = `
  CREATE FUNCTION webhook_mark_v1(
    p_marks json, p_released json, p_sum text, p_widths integer[], p_window interval, p_patience interval
  ) RETURNS TABLE (${laneColumns}) LANGUAGE plpgsql ${byIndex} AS $$
  #variable_conflict use_column
  DECLARE
    v_merchants integer[];
    v_endpoints text[];
    v_outcomes text[];
  BEGIN
    WITH marks AS MATERIALIZED (
      SELECT r.*, r.outcome IS NULL AND r.error IS NULL AS untried FROM ROWS FROM (
        json_to_recordset(p_marks) AS (m integer, e text, id uuid, token bigint, status text, attempt integer,
          outcome text, due bigint, answer integer, error text, latency integer, response text)
      ) WITH ORDINALITY AS r(m, e, id, token, status, attempt, outcome, due, answer, error, latency, response, place)
      WHERE EXISTS (SELECT 1 FROM webhook_lanes l
        WHERE l.merchant_id = r.m AND l.endpoint_id = r.e AND l.token = r.token)
      ORDER BY r.m, r.id
    ), marked AS (
      UPDATE webhook_deliveries d SET attempt = r.attempt,
        status = CASE WHEN d.due_at IS NULL AND r.due IS NOT NULL THEN d.status ELSE r.status END,
        due_at = CASE WHEN d.due_at IS NOT NULL THEN now() + r.due * interval '1 millisecond' END,
        last_status = CASE WHEN r.untried THEN d.last_status ELSE r.answer END,
        last_error = CASE WHEN r.untried THEN d.last_error ELSE r.error END,
        last_latency_ms = CASE WHEN r.untried THEN d.last_latency_ms ELSE r.latency END,
        finished_at = CASE WHEN r.due IS NULL THEN now() ELSE d.finished_at END
      FROM marks r WHERE d.merchant_id = r.m AND d.id = r.id
        AND CASE WHEN d.due_at IS NULL THEN d.status = 'canceled' AND (r.due IS NULL OR r.outcome IS NOT NULL)
          ELSE NOT r.untried OR d.status = 'delivering' END
      RETURNING d.merchant_id, d.endpoint_id, d.id, d.event_ms, d.event_seq, r.attempt, r.outcome, r.answer, r.error,
        r.latency, r.response, r.place
    ), tried AS (
      INSERT INTO webhook_attempts (merchant_id, delivery_id, attempt, endpoint_id, outcome, status, error, latency_ms, response)
      SELECT k.merchant_id, k.id, k.attempt, k.endpoint_id, k.outcome, k.answer, k.error, k.latency, k.response
      FROM marked k WHERE k.outcome IS NOT NULL ON CONFLICT DO NOTHING
    ), spent AS (
      SELECT k.merchant_id, k.environment, w.width, floor(extract(epoch FROM now()) / w.width)::bigint * w.width AS bucket,
        k.key, k.count
      FROM (
        SELECT e.merchant_id, e.environment, CASE WHEN e.commerce THEN 'commerce:' ELSE 'standard:' END ||
          CASE WHEN k.outcome = 'succeeded' THEN 'succeeded' ELSE 'failed' END AS key, count(*) AS count
        FROM marked k JOIN events e ON e.merchant_id = k.merchant_id AND e.ms = k.event_ms AND e.seq = k.event_seq
        WHERE k.outcome IS NOT NULL GROUP BY 1, 2, 3
      ) k CROSS JOIN unnest(p_widths) AS w(width)
    ), counted AS (
      INSERT INTO rollups AS t (merchant_id, environment, sum, width, bucket, key, count, amount, amount_paid)
      SELECT s.merchant_id, s.environment, p_sum, s.width, s.bucket, s.key, s.count, 0, 0 FROM spent s
      ORDER BY s.merchant_id, s.environment, s.width, s.bucket, s.key
      ON CONFLICT (merchant_id, environment, sum, width, bucket, key) DO UPDATE SET count = t.count + excluded.count
    ), said AS (
      SELECT k.merchant_id AS m, k.endpoint_id AS e, string_agg(left(k.outcome, 1), '' ORDER BY k.place) AS outcomes
      FROM marked k WHERE k.outcome IS NOT NULL GROUP BY 1, 2
    )
    SELECT array_agg(s.m), array_agg(s.e), array_agg(s.outcomes) INTO v_merchants, v_endpoints, v_outcomes FROM said s;
    IF v_merchants IS NOT NULL THEN
      RETURN QUERY SELECT * FROM webhook_lanes_v1(v_merchants, v_endpoints, v_outcomes, p_window, p_patience);
    END IF;
    WITH free AS MATERIALIZED (
      SELECT l.merchant_id, l.endpoint_id FROM json_to_recordset(p_released) AS r(m integer, e text, token bigint, claims bigint)
      JOIN webhook_lanes l ON l.merchant_id = r.m AND l.endpoint_id = r.e AND l.token = r.token AND l.claims = r.claims
      LEFT JOIN unnest(v_merchants, v_endpoints, v_outcomes) AS o(m, e, outcomes) ON o.m = r.m AND o.e = r.e
      WHERE o.e IS NULL OR NOT ${isJudged}
      ORDER BY l.merchant_id, l.endpoint_id FOR UPDATE OF l
    )
    UPDATE webhook_lanes l SET held_until = '-infinity' FROM free f
      WHERE l.merchant_id = f.merchant_id AND l.endpoint_id = f.endpoint_id;
  END $$`

/**
 * How the queue stands, as milliseconds and counts. Lanes with something waiting are found as the claim finds them, one
 * index probe each, however much waits in them. `p_lease` is what a claim takes.
 *
 * `owed_ms` is how long the oldest delivery could have been sent and was not: of an enabled endpoint, held by nobody, its
 * breaker not open; since it was due, its breaker let it pass, and the attempt before it ended, whichever came last. One
 * that wants order owes the first of its row only. `oldest_ms` is how long ago the oldest delivery of all became due, those
 * of dead endpoints included. `waiting` counts endpoints with something due; `failing`, `opened` and `half_open` count
 * enabled ones by their last attempt and their breaker.
 */
export const webhookLagV2 = `
  CREATE FUNCTION webhook_lag_v2(p_lease interval) RETURNS TABLE (
    owed_ms float8, oldest_ms float8, waiting integer, failing integer, opened integer, half_open integer
  ) LANGUAGE plpgsql STABLE ${byIndex} SET enable_sort = off AS $$
  #variable_conflict use_column
  BEGIN
    RETURN QUERY
    WITH RECURSIVE ${waitingLanes}, looked AS (
      SELECT l.due, CASE WHEN w.status = 'enabled' AND (k.open_until IS NULL OR k.open_until <= now())
          AND (k.held_until IS NULL OR ${isFree("k")}) THEN greatest(
            CASE WHEN w.ordered THEN (
              SELECT d.due_at FROM webhook_deliveries d
              WHERE d.merchant_id = l.m AND d.endpoint_id = l.e AND d.due_at IS NOT NULL
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
  END $$`

/**
 * Fails deliveries of one endpoint that wait behind its breaker and were queued `p_age` ago or longer, at most `p_limit`,
 * oldest event first, and answers how many. The lane is locked as a claim locks it, and passed over while somebody holds it:
 * what is on its way ends by its answer. An event is never newer than its deliveries, so the index in event order finds
 * the old ones without the rest of the backlog.
 */
export const webhookExpireV1 = `
  CREATE FUNCTION webhook_expire_v1(
    p_merchant integer, p_endpoint text, p_age interval, p_limit integer, p_error text
  ) RETURNS integer LANGUAGE plpgsql ${byIndex} SET enable_sort = off AS $$
  DECLARE
    v_count integer;
  BEGIN
    PERFORM 1 FROM webhook_lanes l
      WHERE l.merchant_id = p_merchant AND l.endpoint_id = p_endpoint AND l.open_until IS NOT NULL AND l.held_until <= now()
      FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN RETURN 0; END IF;
    WITH c AS MATERIALIZED (
      SELECT c.id FROM webhook_deliveries c
      WHERE c.merchant_id = p_merchant AND c.endpoint_id = p_endpoint AND c.due_at IS NOT NULL
        AND c.event_ms <= floor(extract(epoch FROM now() - p_age) * 1000)::bigint AND c.created_at <= now() - p_age
      ORDER BY c.event_ms, c.event_seq LIMIT p_limit FOR UPDATE SKIP LOCKED
    )
    UPDATE webhook_deliveries d SET status = 'failed', due_at = NULL, last_error = p_error, finished_at = now()
      FROM c WHERE d.merchant_id = p_merchant AND d.id = c.id;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
  END $$`
