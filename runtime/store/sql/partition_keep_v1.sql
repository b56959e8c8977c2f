-- Refuses to delete rows of a month one by one, unless whoever does it says that it finds them by their key. Version 0.2
-- finds them by their place in a table, and would delete what has the same place in another partition: deliveries that
-- are still to be sent.
CREATE FUNCTION partition_keep_v1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('tillwire.deletes_by_key', true) IS DISTINCT FROM 'on' THEN
    RAISE EXCEPTION USING
      MESSAGE = format('Rows of %s are removed with their month, not one by one.', TG_TABLE_NAME),
      HINT = 'Stop instances of version 0.2. To delete a row by its key: SET LOCAL tillwire.deletes_by_key = ''on''.';
  END IF;
  RETURN OLD;
END $$;
