-- Makes a table of a partitioned table's form, and does not attach it. Key and storage are those of the partitions that
-- there are: a unique key of the whole table would have to hold the column of the months, and be built anew for old rows.
--
-- Only the version before partitions deletes by the place of a row, which is a place in every partition. So it must not
-- delete from months: `partition_keep_v1`.
CREATE FUNCTION partition_create_v1(p_table text, p_name text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_key text;
  v_options text[];
BEGIN
  SELECT pg_get_constraintdef(k.oid), c.reloptions INTO v_key, v_options
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    JOIN pg_constraint k ON k.conrelid = c.oid AND k.contype = 'p'
    WHERE i.inhparent = to_regclass(quote_ident(p_table)) ORDER BY c.oid LIMIT 1;
  EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', p_name, p_table);
  IF v_options IS NOT NULL THEN
    EXECUTE format('ALTER TABLE %I SET (%s)', p_name, array_to_string(v_options, ', '));
  END IF;
  IF NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = to_regclass(quote_ident(p_name)) AND contype = 'p') THEN
    EXECUTE format('ALTER TABLE %I ADD %s', p_name, v_key);
  END IF;
  IF p_table <> 'events' THEN
    EXECUTE format('CREATE TRIGGER keep_rows BEFORE DELETE ON %I FOR EACH ROW EXECUTE FUNCTION partition_keep_v1()',
      p_name);
  END IF;
END $$;
