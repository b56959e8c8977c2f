-- The targets of invoices that one address serves: `p_requests` holds each invoice's own address, match key and memo.
-- An invoice that has a target in the family keeps it. The wallet's counter numbers the targets, so that a reader that
-- has seen those below N misses none if it reads from N on.
--
-- Answers the targets of all invoices asked for. One is left out whose match key another invoice has.
CREATE FUNCTION allocate_shared_targets_v1(
  p_fingerprint text, p_family text, p_now bigint, p_heads jsonb, p_requests json
) RETURNS SETOF receive_targets LANGUAGE plpgsql
  SET enable_seqscan = off
  SET enable_hashjoin = off
  SET enable_mergejoin = off
  SET plan_cache_mode = force_generic_plan
  SET lock_timeout = 2000
AS $$
DECLARE
  v_next bigint;
  v_placed bigint;
BEGIN
  INSERT INTO wallet_counters (fingerprint, merchant_id, version, next_index) VALUES (p_fingerprint, 0, 1, 0)
    ON CONFLICT DO NOTHING;
  SELECT c.next_index INTO v_next FROM wallet_counters c WHERE c.fingerprint = p_fingerprint FOR UPDATE;
  INSERT INTO receive_targets (
    id, merchant_id, version, family, match_key, invoice_id, environment, address, memo, fingerprint, wallet_index,
    refused_tokens, created_at, allocation_heads
  )
  SELECT p_family || ':' || r.match_key, r.merchant_id, 1, p_family, r.match_key, r.invoice_id, r.environment,
    r.address, r.memo, p_fingerprint, v_next - 1 + row_number() OVER (ORDER BY r.place), r.refused_tokens, p_now,
    p_heads
  FROM ROWS FROM (
    json_to_recordset(p_requests) AS (
      invoice_id text, merchant_id integer, environment text, refused_tokens integer[], address text, match_key text,
      memo text
    )
  ) WITH ORDINALITY
    AS r(invoice_id, merchant_id, environment, refused_tokens, address, match_key, memo, place)
  WHERE NOT EXISTS (SELECT FROM receive_targets t WHERE t.invoice_id = r.invoice_id AND t.family = p_family)
  ORDER BY r.place
  ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS v_placed = ROW_COUNT;
  IF v_placed > 0 THEN
    UPDATE wallet_counters c
    SET next_index = 1 + (SELECT max(t.wallet_index) FROM receive_targets t
        WHERE t.fingerprint = p_fingerprint AND t.wallet_index >= v_next),
      version = c.version + 1
    WHERE c.fingerprint = p_fingerprint;
  END IF;
  RETURN QUERY SELECT t.* FROM receive_targets t
    WHERE t.family = p_family
      AND t.invoice_id = ANY (ARRAY(SELECT r.invoice_id FROM json_to_recordset(p_requests) AS r(invoice_id text)));
END
$$;
