-- The id of a delivery made at a moment: a UUID that begins with its milliseconds (RFC 9562, version 7), by which the
-- partition of the delivery is known.
CREATE FUNCTION delivery_id_v1(p_created timestamptz DEFAULT now()) RETURNS uuid LANGUAGE sql VOLATILE AS $$
  SELECT encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    PLACING substring(int8send(floor(extract(epoch FROM p_created) * 1000)::bigint) FROM 3) FROM 1 FOR 6), 52, 1), 53, 1),
    'hex')::uuid
$$;
