-- Makes a table the first partition of a new one of its name, which begins at no moment and ends where
-- `partition_limit_v1` said; what comes later has an open-ended partition, so no row is ever without a place. It changes
-- the catalog only: no row is read or written, because the promise was checked before.
--
-- Whoever waited for the table finds the new one by its name. Rights that were granted on it are granted on the new one.
CREATE FUNCTION partition_switch_v1(p_table text) RETURNS void LANGUAGE plpgsql SET TimeZone = 'UTC' AS $$
DECLARE
  v_column text := partition_column_v1(p_table);
  v_promise text;
  v_first text;
  v_limit timestamptz;
  v_open text;
  v_key text;
  v_index record;
  v_grant record;
BEGIN
  IF EXISTS (SELECT FROM pg_partitioned_table WHERE partrelid = to_regclass(quote_ident(p_table))) THEN RETURN; END IF;
  EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', p_table);
  v_promise := partition_promise_v1(p_table, p_table);
  v_first := v_promise;
  v_limit := partition_end_v1(v_promise);
  EXECUTE format('ALTER TABLE %I RENAME TO %I', p_table, v_first);
  EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL EXCLUDING INDEXES) PARTITION BY RANGE (%I)', p_table, v_first,
    v_column);
  EXECUTE format('ALTER TABLE %I DROP CONSTRAINT %I', p_table, v_promise);
  -- Those of an operator too, but for a unique one: that would need the column of the months.
  FOR v_index IN SELECT c.relname::text AS name, pg_get_indexdef(c.oid) AS definition, x.indisunique AS is_unique,
      left(CASE WHEN starts_with(c.relname::text, p_table) THEN v_first || substr(c.relname::text, length(p_table) + 1)
        ELSE v_first || '_' || c.relname END, 63) AS new_name
    FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid WHERE x.indrelid = to_regclass(quote_ident(v_first))
  LOOP
    EXECUTE format('ALTER INDEX %I RENAME TO %I', v_index.name, v_index.new_name);
    IF NOT v_index.is_unique THEN
      EXECUTE regexp_replace(v_index.definition, '^CREATE INDEX \S+ ON \S+ USING',
        format('CREATE INDEX %I ON %I USING', v_index.name, p_table));
    END IF;
  END LOOP;
  -- The key of the whole table, where it holds the column of the months.
  SELECT pg_get_constraintdef(oid) INTO v_key FROM pg_constraint
    WHERE conrelid = to_regclass(quote_ident(v_first)) AND contype = 'p';
  IF v_key ~ format('\m%s\M', v_column) THEN EXECUTE format('ALTER TABLE %I ADD %s', p_table, v_key); END IF;
  FOR v_grant IN SELECT a.privilege_type, CASE WHEN a.is_grantable THEN 'WITH GRANT OPTION' ELSE '' END AS option,
      CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS grantee
    FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
    WHERE c.oid = to_regclass(quote_ident(v_first)) AND a.grantee <> c.relowner
  LOOP
    EXECUTE format('GRANT %s ON %I TO %s %s', v_grant.privilege_type, p_table, v_grant.grantee, v_grant.option);
  END LOOP;
  EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%s)', p_table, v_first,
    partition_value_v1(p_table, v_limit));
  -- What it promised is now what its place says.
  EXECUTE format('ALTER TABLE %I DROP CONSTRAINT %I', v_first, v_promise);
  v_open := p_table || '_from_' || to_char(v_limit, 'YYYY_MM');
  PERFORM partition_create_v1(p_table, v_open);
  EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (MAXVALUE)', p_table, v_open,
    partition_value_v1(p_table, v_limit));
END $$;
