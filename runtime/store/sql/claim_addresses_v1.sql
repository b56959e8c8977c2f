-- Makes the addresses of a wallet one merchant's, all of them or none. `p_keys`: their match keys, in order. Whoever
-- allocates holds the family's lock shared, so an address is claimed before an invoice is given it or after, and two
-- claims of one address follow each other.
--
-- Answers nothing where they are the merchant's now; else the first key that cannot be, counted from 0, and why:
-- `in_use` another wallet of the deployment has it; of the merchant's own wallets, `given_out` an invoice has it alone
-- and it was to be shared, `shared` many invoices share it and it was to be listed. These two are not asked of a wallet
-- that was the merchant's before. `too_many`, without a key: the merchant would have more than `p_limit`.
CREATE FUNCTION claim_addresses_v1(
  p_fingerprint text, p_family text, p_merchant integer, p_kind text, p_limit integer, p_keys json
) RETURNS TABLE (place bigint, reason text) LANGUAGE plpgsql
  SET enable_seqscan = off
  SET enable_hashjoin = off
  SET enable_mergejoin = off
  SET plan_cache_mode = force_generic_plan
  SET lock_timeout = 2000
AS $$
DECLARE
  v_was_owner boolean;
  v_new bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(1414089806, hashtext(p_family));
  v_was_owner := EXISTS (
    SELECT FROM wallet_owners o WHERE o.fingerprint = p_fingerprint AND o.merchant_id = p_merchant);
  RETURN QUERY SELECT f.place - 1, f.reason FROM (
    SELECT k.place, CASE
      WHEN EXISTS (
          SELECT FROM address_claims c WHERE c.id = p_family || ':' || k.key AND c.merchant_id <> p_merchant OFFSET 0)
        OR EXISTS (
          SELECT FROM receive_targets t WHERE t.id = p_family || ':' || k.key AND coalesce(
            (SELECT o.merchant_id FROM wallet_owners o WHERE o.fingerprint = t.fingerprint), 0) <> p_merchant OFFSET 0)
        OR EXISTS (
          SELECT FROM wallet_addresses a WHERE a.match_key = k.key AND a.family = p_family AND coalesce(
            (SELECT o.merchant_id FROM wallet_owners o WHERE o.fingerprint = a.fingerprint), 0) <> p_merchant OFFSET 0)
        THEN 'in_use'
      WHEN p_kind = 'address' AND NOT v_was_owner AND EXISTS (
          SELECT FROM receive_targets t WHERE t.id = p_family || ':' || k.key OFFSET 0)
        THEN 'given_out'
      WHEN p_kind = 'pool' AND NOT v_was_owner AND EXISTS (
          SELECT FROM address_claims c WHERE c.id = p_family || ':' || k.key AND c.is_shared OFFSET 0)
        THEN 'shared'
      END AS reason
    FROM json_array_elements_text(p_keys) WITH ORDINALITY AS k(key, place)
  ) f WHERE f.reason IS NOT NULL ORDER BY f.place LIMIT 1;
  IF FOUND THEN RETURN; END IF;
  SELECT count(*) INTO v_new FROM json_array_elements_text(p_keys) AS k(key)
    WHERE NOT EXISTS (SELECT FROM address_claims c WHERE c.id = p_family || ':' || k.key OFFSET 0);
  IF v_new > 0 AND v_new + (SELECT count(*) FROM address_claims c WHERE c.merchant_id = p_merchant) > p_limit THEN
    RETURN QUERY SELECT NULL::bigint, 'too_many';
    RETURN;
  END IF;
  INSERT INTO address_claims AS c (id, merchant_id, is_shared)
    SELECT p_family || ':' || k.key, p_merchant, p_kind = 'address' FROM json_array_elements_text(p_keys) AS k(key)
    ORDER BY 1
    ON CONFLICT (id) DO UPDATE SET is_shared = true WHERE excluded.is_shared AND NOT c.is_shared;
END
$$;
