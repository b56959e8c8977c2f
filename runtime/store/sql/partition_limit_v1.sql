-- Promises of a table that its rows are older than the first of a month, so that it can become a partition without
-- being read while it is locked. Rows that are there are not read: `partition_check_v1` does that later, and blocks
-- nobody. `p_part` is the table itself before it has partitions, later the open-ended partition.
--
-- The month begins 31 days ahead or later, and after every row there is: until then everything that is written has its
-- place, also while an instance of a version runs that knows nothing of partitions.
CREATE FUNCTION partition_limit_v1(p_table text, p_part text) RETURNS void LANGUAGE plpgsql SET TimeZone = 'UTC' AS $$
DECLARE
  v_column text := partition_column_v1(p_table);
  v_newest timestamptz;
  v_limit timestamptz;
BEGIN
  IF partition_promise_v1(p_table, p_part) IS NOT NULL THEN RETURN; END IF;
  IF p_part = 'events' THEN
    -- The streams know it without reading every event.
    SELECT to_timestamp(max(last_ms)::float8 / 1000) INTO v_newest FROM merchant_streams;
  ELSE
    EXECUTE format(CASE p_table WHEN 'events' THEN 'SELECT to_timestamp(max(%I)::float8 / 1000) FROM %I'
      ELSE 'SELECT max(%I) FROM %I' END, v_column, p_part) INTO v_newest;
  END IF;
  v_limit := date_trunc('month', greatest(now(), v_newest) + interval '31 days') + interval '1 month';
  EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I CHECK (%I < %s) NOT VALID', p_part,
    p_table || '_before_' || to_char(v_limit, 'YYYY_MM'), v_column, partition_value_v1(p_table, v_limit));
END $$;
