-- What is old is found by an index, a bounded number at a time.
CREATE INDEX idempotency_by_time ON idempotency (at);
CREATE INDEX webhook_events_over ON webhook_events (period) WHERE next_at IS NULL;
