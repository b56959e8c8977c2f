-- Between which times every delivery was made that is due or will be: `from_at` at the earliest, before `to_at`. Both
-- are bounds of partitions, so that statements which name them read the partitions between, mostly one.
--
-- A delivery that is not due any more never is again, and a new one is made now. So partitions without anything due only
-- become more, and what was answered once holds for good, as long as now is within it: the end is a day ahead at least.
CREATE FUNCTION webhook_due_span_v1() RETURNS TABLE (from_at timestamptz, to_at timestamptz) LANGUAGE plpgsql STABLE
  SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
  v_part record;
  v_is_due boolean;
BEGIN
  FOR v_part IN SELECT p.name, p.from_at, p.to_at FROM partitions_v1('webhook_deliveries') p WHERE NOT p.is_detaching LOOP
    v_is_due := v_part.from_at <= now() + interval '1 day' AND v_part.to_at > now() - interval '1 day';
    IF NOT v_is_due THEN
      EXECUTE format('SELECT EXISTS (SELECT FROM %I WHERE due_at IS NOT NULL)', v_part.name) INTO v_is_due;
    END IF;
    IF v_is_due THEN
      from_at := coalesce(from_at, v_part.from_at);
      to_at := v_part.to_at;
    END IF;
  END LOOP;
  RETURN NEXT;
END $$;
