-- What gateways are told of spend: for each subject of a budget the total, and what each process of an Envoy has in its own
-- counters.

-- One row. Whoever gives a version away has it locked until the transaction ends, so versions become visible in their order.
CREATE TABLE spend_feed (
  one  INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  -- Which sequence of versions this is.
  feed TEXT NOT NULL,
  -- The greatest version given away. Versions follow the clock (microseconds since 1970) where it goes forward, so that those
  -- which a restored backup has taken back are not given again to other changes.
  head BIGINT NOT NULL
);
INSERT INTO spend_feed (one, feed, head) VALUES (1, lower(hex(randomblob(16))), 0);

-- Subjects that gateways count budgets of.
CREATE TABLE spend_subjects (
  -- key, owner, team or group
  kind      TEXT NOT NULL,
  subject   TEXT NOT NULL,
  -- That of its latest change.
  version   BIGINT NOT NULL UNIQUE,
  -- The budget of an owner or a team, as it was written. Those of keys and groups stand with their limits.
  per_day   TEXT,
  per_month TEXT,
  PRIMARY KEY (kind, subject)
) WITHOUT ROWID;

-- Charges that a process of an Envoy has in its counters, by its number. Those of periods that are over go.
CREATE TABLE spend_shares (
  kind     TEXT NOT NULL,
  subject  TEXT NOT NULL,
  period   TEXT NOT NULL,
  envoy_id TEXT NOT NULL,
  instance TEXT NOT NULL,
  currency TEXT NOT NULL,
  amount   TEXT NOT NULL,
  PRIMARY KEY (kind, subject, period, envoy_id, instance, currency)
) WITHOUT ROWID;
CREATE INDEX spend_shares_by_period ON spend_shares (period);
