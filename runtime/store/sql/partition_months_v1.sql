-- Makes the months of a table that are not there yet, up to the one that holds `p_until`, in place of the open-ended
-- partition, which then begins behind them. Answers how many it made.
--
-- Where that partition has rows, because nobody made months for long or because a clock ran ahead, it becomes the
-- partition of all the time up to where `partition_limit_v1` said, and its rows stay where they are. Then the answer is
-- -1 until that was promised and checked.
--
-- What takes time is done before the table is locked, and while it is locked only the catalog changes.
CREATE FUNCTION partition_months_v1(p_table text, p_until timestamptz) RETURNS integer LANGUAGE plpgsql
  SET TimeZone = 'UTC'
AS $$
DECLARE
  v_last record;
  v_promise text;
  v_from timestamptz;
  v_to timestamptz;
  v_open text;
  v_is_used boolean;
  v_months timestamptz[] := '{}';
BEGIN
  -- lockSpace and advisoryLock.partitions of runtime/store/Locks.ts.
  PERFORM pg_advisory_xact_lock(1414089804, 6);
  SELECT * INTO STRICT v_last FROM partitions_v1(p_table) WHERE to_at = 'infinity';
  EXECUTE format('SELECT EXISTS (SELECT FROM %I)', v_last.name) INTO v_is_used;
  IF v_last.from_at > p_until AND NOT v_is_used THEN RETURN 0; END IF;
  v_from := v_last.from_at;
  IF v_is_used THEN
    v_promise := partition_promise_v1(p_table, v_last.name);
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = to_regclass(quote_ident(v_last.name))
      AND conname = v_promise AND convalidated) THEN RETURN -1; END IF;
    v_from := partition_end_v1(v_promise);
  END IF;
  v_to := v_from;
  WHILE v_to <= p_until LOOP
    v_months := v_months || v_to;
    PERFORM partition_create_v1(p_table, p_table || '_' || to_char(v_to, 'YYYY_MM'));
    v_to := v_to + interval '1 month';
  END LOOP;
  v_open := p_table || '_from_' || to_char(v_to, 'YYYY_MM');
  PERFORM partition_create_v1(p_table, v_open);
  EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', p_table);
  IF v_is_used THEN
    EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', p_table, v_last.name);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', p_table, v_last.name,
      partition_value_v1(p_table, v_last.from_at), partition_value_v1(p_table, v_from));
    EXECUTE format('ALTER TABLE %I DROP CONSTRAINT %I', v_last.name, v_promise);
  ELSE
    EXECUTE format('SELECT EXISTS (SELECT FROM %I)', v_last.name) INTO v_is_used;
    IF v_is_used THEN
      RAISE EXCEPTION USING ERRCODE = '55P03', MESSAGE = format('A row was just written to %s.', v_last.name);
    END IF;
    EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', p_table, v_last.name);
    EXECUTE format('DROP TABLE %I', v_last.name);
  END IF;
  FOR v_at IN 1 .. cardinality(v_months) LOOP
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', p_table,
      p_table || '_' || to_char(v_months[v_at], 'YYYY_MM'), partition_value_v1(p_table, v_months[v_at]),
      partition_value_v1(p_table, coalesce(v_months[v_at + 1], v_to)));
  END LOOP;
  EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (MAXVALUE)', p_table, v_open,
    partition_value_v1(p_table, v_to));
  RETURN cardinality(v_months);
END $$;
