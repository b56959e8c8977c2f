-- The column that says to which month a row of a partitioned table belongs: runtime/store/partitions/Tables.ts.
CREATE FUNCTION partition_column_v1(p_table text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE p_table WHEN 'events' THEN 'ms' WHEN 'webhook_deliveries' THEN 'created_at'
    WHEN 'webhook_attempts' THEN 'ended_at' END
$$;
