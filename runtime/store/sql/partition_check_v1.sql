-- Reads whether the rows of a table are as `partition_limit_v1` promised. Nobody waits for it but changes of the table.
CREATE FUNCTION partition_check_v1(p_table text, p_part text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_promise text := partition_promise_v1(p_table, p_part);
BEGIN
  IF v_promise IS NOT NULL THEN EXECUTE format('ALTER TABLE %I VALIDATE CONSTRAINT %I', p_part, v_promise); END IF;
END $$;
