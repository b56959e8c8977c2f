-- `allocate_shared_targets_v1` in turn, as `allocate_targets_v2` says.
CREATE FUNCTION allocate_shared_targets_v2(
  p_fingerprint text, p_family text, p_now bigint, p_heads jsonb, p_requests json
) RETURNS SETOF receive_targets LANGUAGE plpgsql
  SET lock_timeout = 2000
AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(1414089815, hashtext(p_fingerprint));
  RETURN QUERY SELECT * FROM allocate_shared_targets_v1(p_fingerprint, p_family, p_now, p_heads, p_requests);
END
$$;
