-- Says in a row which transaction changed it last. A trigger, so that no statement can forget it, an operator's neither.
CREATE FUNCTION mark_change_v1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.changed_by := pg_current_xact_id();
  RETURN NEW;
END
$$;
