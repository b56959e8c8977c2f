-- Keeps addresses derived ahead, whoever derived them first, under the next batch number of the wallet: a reader that
-- has seen batch N misses nothing if it reads those above N.
CREATE FUNCTION store_addresses_v1(p_fingerprint text, p_family text, p_rows json)
RETURNS bigint LANGUAGE plpgsql
  SET enable_seqscan = off
  SET enable_hashjoin = off
  SET enable_mergejoin = off
  SET plan_cache_mode = force_generic_plan
  SET lock_timeout = 2000
AS $$
DECLARE
  v_batch bigint;
  v_stored bigint;
BEGIN
  INSERT INTO wallet_batches AS b (fingerprint, batch) VALUES (p_fingerprint, 1)
    ON CONFLICT (fingerprint) DO UPDATE SET batch = b.batch + 1 RETURNING b.batch INTO v_batch;
  INSERT INTO wallet_addresses (fingerprint, wallet_index, family, address, match_key, memo, batch)
  SELECT p_fingerprint, r.wallet_index, p_family, r.address, r.match_key, r.memo, v_batch
  FROM json_to_recordset(p_rows) AS r(wallet_index bigint, address text, match_key text, memo text)
  ORDER BY r.wallet_index
  ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS v_stored = ROW_COUNT;
  RETURN v_stored;
END
$$;
