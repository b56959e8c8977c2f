-- The partitions of a table, oldest first. `from_at` is the first moment of a partition, `to_at` the first one after it;
-- the oldest may begin at `-infinity`, and the last one ends at `infinity`. One that is being taken away has no bounds
-- for new statements: `is_detaching`.
CREATE FUNCTION partitions_v1(p_table text) RETURNS TABLE (
  name text, from_at timestamptz, to_at timestamptz, is_detaching boolean
) LANGUAGE sql STABLE AS $$
  SELECT c.relname::text, f.at, t.at, i.inhdetachpending
  FROM pg_inherits i
  JOIN pg_class c ON c.oid = i.inhrelid
  CROSS JOIN LATERAL regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \((.*)\) TO \((.*)\)') AS bounds
  CROSS JOIN LATERAL (SELECT trim(both '''' FROM bounds[1]) AS text) fs
  CROSS JOIN LATERAL (SELECT trim(both '''' FROM bounds[2]) AS text) ts
  CROSS JOIN LATERAL (SELECT CASE WHEN fs.text = 'MINVALUE' THEN '-infinity'
    WHEN fs.text ~ '^\d+$' THEN to_timestamp(fs.text::float8 / 1000) ELSE fs.text::timestamptz END AS at) f
  CROSS JOIN LATERAL (SELECT CASE WHEN ts.text = 'MAXVALUE' THEN 'infinity'
    WHEN ts.text ~ '^\d+$' THEN to_timestamp(ts.text::float8 / 1000) ELSE ts.text::timestamptz END AS at) t
  WHERE i.inhparent = to_regclass(quote_ident(p_table))
  ORDER BY f.at
$$;
