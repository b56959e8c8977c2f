-- Writes results as `webhook_mark_v2` does, then claims as `webhook_claim_v2` does, in one transaction: the instance that
-- just finished rows of an endpoint gets the next ones with the same round trip. Endpoints that are to be judged by these
-- results are not claimed of; each is answered first, as `report`. `p_results` and `p_request` say whether there is
-- anything to write, and whether anything is wanted.
CREATE FUNCTION webhook_exchange_v2(
  p_results boolean,
  p_merchants integer[], p_endpoints text[], p_tokens bigint[], p_claims bigint[],
  p_lanes integer[], p_ids uuid[], p_created timestamptz[], p_statuses text[], p_attempts integer[], p_dues bigint[], p_outcomes text[],
  p_answers integer[], p_errors text[], p_latencies integer[], p_responses text[], p_environments text[],
  p_commerce boolean[], p_sum text, p_widths integer[], p_window interval, p_patience interval,
  p_slow_ms integer, p_request boolean, p_holder text, p_wanted_merchants integer[], p_wanted_endpoints text[], p_counts integer[],
  p_held uuid[], p_slow boolean[], p_slots integer, p_other_slots integer, p_failing_slots integer, p_ahead integer,
  p_slow_ahead integer, p_lease interval, p_from timestamptz, p_to timestamptz
) RETURNS TABLE (
  id uuid, created text, attempt integer, age_ms float8, event_ms bigint, event_seq bigint, environment text, commerce boolean,
  type text, request_id text, idempotency_key text, pending_webhooks integer, data text, lane json, report json
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_judged text[] := '{}';
  v_report record;
BEGIN
  IF p_results THEN
    FOR v_report IN SELECT * FROM webhook_mark_v2(p_merchants, p_endpoints, p_tokens, p_claims, p_lanes, p_ids, p_created,
      p_statuses, p_attempts, p_dues, p_outcomes, p_answers, p_errors, p_latencies, p_responses, p_environments,
      p_commerce, p_sum, p_widths, p_window, p_patience, p_slow_ms)
    LOOP
      v_judged := v_judged || v_report.endpoint_id;
      report := row_to_json(v_report);
      RETURN NEXT;
    END LOOP;
  END IF;
  IF p_request THEN
    RETURN QUERY SELECT c.*, NULL::json FROM webhook_claim_v2(p_holder, p_wanted_merchants, p_wanted_endpoints, p_counts,
      p_held, p_slow, v_judged, p_slots, p_other_slots, p_failing_slots, p_ahead, p_slow_ahead, p_lease,
      p_from, p_to) c;
  END IF;
END $$;
