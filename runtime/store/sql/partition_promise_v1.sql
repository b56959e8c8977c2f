-- The name of the promise of a table that its rows are older than the first of a month; null: it has none.
CREATE FUNCTION partition_promise_v1(p_table text, p_part text) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT conname::text FROM pg_constraint
  WHERE conrelid = to_regclass(quote_ident(p_part)) AND contype = 'c'
    AND conname LIKE replace(p_table, '_', '\_') || '\_before\_%'
$$;
