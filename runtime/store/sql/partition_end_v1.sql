-- The first moment after the rows that a promise of `partition_limit_v1` is about, as its name has it.
CREATE FUNCTION partition_end_v1(p_promise text) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT make_timestamptz(left(right(p_promise, 7), 4)::integer, right(p_promise, 2)::integer, 1, 0, 0, 0, 'UTC')
$$;
