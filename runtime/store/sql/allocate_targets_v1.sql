-- A target for each invoice of `p_requests` that has none in the family yet, from the first free address at or after
-- the counter and `p_start` on, below `p_end` where it is not null. Passes over addresses that another wallet gave out
-- already (two lists of a merchant may name one address), those that are claimed for another merchant, those that money
-- without an invoice ever reached, and those that a wallet of one address receives at: what names no invoice there is
-- that wallet's. Ends at the first address that is not derived yet: whoever is left without a target derives more and
-- calls again.
--
-- Answers the targets of all invoices asked for, where the counter stood and stands now, and how many addresses are
-- derived ahead, counted to 100.
CREATE FUNCTION allocate_targets_v1(
  p_fingerprint text, p_family text, p_start bigint, p_end bigint, p_now bigint, p_heads jsonb, p_requests json
) RETURNS TABLE (targets jsonb, previous bigint, next bigint, ahead bigint) LANGUAGE plpgsql
  SET enable_seqscan = off
  SET enable_hashjoin = off
  SET enable_mergejoin = off
  SET plan_cache_mode = force_generic_plan
  SET lock_timeout = 2000
AS $$
#variable_conflict use_column
DECLARE
  v_before bigint;
  v_next bigint;
  v_wanted bigint;
  v_placed bigint;
  v_last bigint;
  v_end bigint;
  v_owner integer;
BEGIN
  -- Shared by all who allocate: `claim_addresses` waits for them, and they for it.
  PERFORM pg_advisory_xact_lock_shared(1414089806, hashtext(p_family));
  v_owner := coalesce((SELECT o.merchant_id FROM wallet_owners o WHERE o.fingerprint = p_fingerprint), 0);
  SELECT c.next_index INTO v_before FROM wallet_counters c WHERE c.fingerprint = p_fingerprint FOR UPDATE;
  IF NOT FOUND THEN
    INSERT INTO wallet_counters (fingerprint, merchant_id, version, next_index) VALUES (p_fingerprint, 0, 1, p_start)
      ON CONFLICT DO NOTHING;
    SELECT c.next_index INTO v_before FROM wallet_counters c WHERE c.fingerprint = p_fingerprint FOR UPDATE;
  END IF;
  v_next := greatest(v_before, p_start);
  WITH wanted AS MATERIALIZED (
    SELECT r.*, row_number() OVER (ORDER BY r.place) AS n
    FROM ROWS FROM (
      json_to_recordset(p_requests)
        AS (invoice_id text, merchant_id integer, environment text, refused_tokens integer[])
    ) WITH ORDINALITY AS r(invoice_id, merchant_id, environment, refused_tokens, place)
    WHERE NOT EXISTS (
      SELECT FROM receive_targets t WHERE t.invoice_id = r.invoice_id AND t.family = p_family)
  ), run AS MATERIALIZED (
    SELECT a.*, row_number() OVER (ORDER BY a.wallet_index) AS step FROM (
      SELECT * FROM wallet_addresses WHERE fingerprint = p_fingerprint AND wallet_index >= v_next
        AND wallet_index < coalesce(p_end, 9223372036854775807)
      ORDER BY wallet_index LIMIT (SELECT CASE count(*) WHEN 0 THEN 0 ELSE count(*) + 100 END FROM wanted)
    ) a
  ), free AS MATERIALIZED (
    SELECT u.*, row_number() OVER (ORDER BY u.wallet_index) AS n FROM run u
    WHERE u.wallet_index - u.step = v_next - 1
      AND NOT EXISTS (SELECT FROM receive_targets t WHERE t.id = p_family || ':' || u.match_key)
      AND NOT EXISTS (SELECT FROM transfers x WHERE x.match_key = u.match_key AND x.invoice_id IS NULL)
      AND NOT EXISTS (SELECT FROM address_claims c
        WHERE c.id = p_family || ':' || u.match_key AND (c.is_shared OR c.merchant_id <> v_owner))
      AND NOT EXISTS (SELECT FROM wallet_addresses o WHERE o.match_key = u.match_key AND o.wallet_index = -1)
  ), placed AS (
    INSERT INTO receive_targets (
      id, merchant_id, version, family, match_key, invoice_id, environment, address, memo, fingerprint, wallet_index,
      refused_tokens, created_at, allocation_heads
    )
    SELECT p_family || ':' || f.match_key, w.merchant_id, 1, p_family, f.match_key, w.invoice_id, w.environment,
      f.address, f.memo, p_fingerprint, f.wallet_index, w.refused_tokens, p_now, p_heads
    FROM wanted w JOIN free f ON f.n = w.n ORDER BY f.wallet_index
    ON CONFLICT DO NOTHING
    RETURNING wallet_index
  ), moved AS (
    DELETE FROM wallet_addresses d USING placed p
    WHERE d.fingerprint = p_fingerprint AND d.wallet_index = p.wallet_index
  )
  SELECT (SELECT count(*) FROM wanted), (SELECT count(*) FROM placed), (SELECT max(wallet_index) FROM placed),
    (SELECT max(wallet_index) FROM run u WHERE u.wallet_index - u.step = v_next - 1)
  INTO v_wanted, v_placed, v_last, v_end;
  -- With too few free ones all that was looked at is used or taken.
  v_next := greatest(v_next, 1 + CASE WHEN v_placed < v_wanted THEN v_end ELSE v_last END);
  IF v_next > v_before THEN
    UPDATE wallet_counters c SET next_index = v_next, version = c.version + 1 WHERE c.fingerprint = p_fingerprint;
  END IF;
  RETURN QUERY SELECT
    (SELECT coalesce(jsonb_agg(to_jsonb(t)), '[]') FROM receive_targets t
      WHERE t.family = p_family
        AND t.invoice_id = ANY (ARRAY(SELECT r.invoice_id FROM json_to_recordset(p_requests) AS r(invoice_id text)))),
    v_before, v_next,
    (SELECT count(*) FROM (SELECT FROM wallet_addresses a
      WHERE a.fingerprint = p_fingerprint AND a.wallet_index >= v_next LIMIT 100) rest);
END
$$;
