-- `allocate_targets_v1` in turn: whoever came first is served first. Those who wait for a row that is changed again and
-- again start anew with each change, so an instance could wait until `lock_timeout` beside two busy ones; those who wait
-- for an advisory lock keep their place. An instance of the version before takes the row's lock only: it loses no
-- update by that, only its place.
CREATE FUNCTION allocate_targets_v2(
  p_fingerprint text, p_family text, p_start bigint, p_end bigint, p_now bigint, p_heads jsonb, p_requests json
) RETURNS TABLE (targets jsonb, previous bigint, next bigint, ahead bigint) LANGUAGE plpgsql
  SET lock_timeout = 2000
AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(1414089815, hashtext(p_fingerprint));
  RETURN QUERY SELECT v.targets, v.previous, v.next, v.ahead
    FROM allocate_targets_v1(p_fingerprint, p_family, p_start, p_end, p_now, p_heads, p_requests) v;
END
$$;
