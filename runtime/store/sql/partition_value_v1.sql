-- A moment as a value of the column in `partition_column_v1`, written as SQL: events are dated in epoch milliseconds.
CREATE FUNCTION partition_value_v1(p_table text, p_at timestamptz) RETURNS text LANGUAGE sql STABLE SET TimeZone = 'UTC' AS $$
  SELECT CASE
    WHEN p_at = '-infinity' THEN 'MINVALUE'
    WHEN p_at = 'infinity' THEN 'MAXVALUE'
    WHEN p_table = 'events' THEN (extract(epoch FROM p_at) * 1000)::bigint::text
    ELSE quote_literal(p_at)
  END
$$;
