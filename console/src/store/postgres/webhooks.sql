-- Who is told when a budget runs out, and what they are told.

CREATE TABLE webhooks (
  id         TEXT NOT NULL PRIMARY KEY,
  url        TEXT NOT NULL,
  -- What its messages are signed with.
  secret     TEXT NOT NULL,
  -- Percents of a budget, a JSON list.
  thresholds TEXT NOT NULL,
  created_at BIGINT NOT NULL
);

-- Up to which version of the spend feed budgets were looked at.
CREATE TABLE webhook_watch (
  one     INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  version BIGINT NOT NULL
);
INSERT INTO webhook_watch (one, version) VALUES (1, 0);

-- Messages, each once for a subject, a period and a threshold.
CREATE TABLE webhook_events (
  webhook_id   TEXT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
  kind         TEXT NOT NULL,
  subject      TEXT NOT NULL,
  period       TEXT NOT NULL,
  threshold    BIGINT NOT NULL,
  id           TEXT NOT NULL UNIQUE,
  body         TEXT NOT NULL,
  attempts     BIGINT NOT NULL,
  -- When it is tried next. NULL: it was delivered, or is given up.
  next_at      BIGINT,
  delivered_at BIGINT,
  -- What was in the way last.
  problem      TEXT,
  PRIMARY KEY (webhook_id, kind, subject, period, threshold)
);
CREATE INDEX webhook_events_due ON webhook_events (next_at) WHERE next_at IS NOT NULL;
