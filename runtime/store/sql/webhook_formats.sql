-- Endpoints of a format of their own (`WebhookFormat` in runtime/Webhooks.ts): null stands for the canonical event.
ALTER TABLE webhook_endpoints ADD format text, ADD is_single_attempt boolean NOT NULL DEFAULT false;

-- What such endpoints are sent. No events: nothing but their deliveries reads them, and they go with the events of their
-- commit. `seq` is drawn as that of events is, so deliveries of both are in the order of commits.
CREATE TABLE webhook_messages (
  merchant_id integer NOT NULL,
  ms bigint NOT NULL,
  seq bigint NOT NULL,
  environment text NOT NULL,
  format text NOT NULL,
  type text NOT NULL,
  data text NOT NULL,
  PRIMARY KEY (merchant_id, ms, seq)
);
