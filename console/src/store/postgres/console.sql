-- What the console keeps beside the keys, in PostgreSQL. Moments are microseconds since 1970; hours, days and months are
-- texts as `trilane usage` writes them.

-- How far the ledger file of an Envoy was taken in.
CREATE TABLE ledger_files (
  envoy_id TEXT NOT NULL,
  file_id  TEXT NOT NULL,
  -- The bytes taken from its beginning.
  position BIGINT NOT NULL,
  -- Whether that is within a line that is too long, whose rest is skipped.
  skipping BOOLEAN NOT NULL,
  -- Lines that were counted, and lines that were kept aside.
  lines    BIGINT NOT NULL,
  aside    BIGINT NOT NULL,
  taken_at BIGINT NOT NULL,
  PRIMARY KEY (envoy_id, file_id)
);

-- Lines that could not be counted.
CREATE TABLE lines_aside (
  envoy_id TEXT NOT NULL,
  file_id  TEXT NOT NULL,
  position BIGINT NOT NULL,
  length   BIGINT NOT NULL,
  reason   TEXT NOT NULL,
  detail   TEXT NOT NULL,
  -- Its beginning.
  line     TEXT NOT NULL,
  taken_at BIGINT NOT NULL,
  PRIMARY KEY (envoy_id, file_id, position)
);

-- Sums by hour (UTC, when the request began). Texts are empty where a line has none.
CREATE TABLE usage_hours (
  hour TEXT NOT NULL,
  key_id TEXT NOT NULL,
  owner TEXT NOT NULL,
  group_id TEXT NOT NULL,
  source TEXT NOT NULL,
  account TEXT NOT NULL,
  model TEXT NOT NULL,
  entry TEXT NOT NULL,
  outcome TEXT NOT NULL,
  currency TEXT NOT NULL,
  "requests" BIGINT NOT NULL,
  "complete" BIGINT NOT NULL,
  "estimated" BIGINT NOT NULL,
  "partial" BIGINT NOT NULL,
  "none" BIGINT NOT NULL,
  "failed" BIGINT NOT NULL,
  "input" BIGINT NOT NULL,
  "output" BIGINT NOT NULL,
  "cache_read" BIGINT NOT NULL,
  "cache_write_5m" BIGINT NOT NULL,
  "cache_write_1h" BIGINT NOT NULL,
  "reasoning" BIGINT NOT NULL,
  "tool_use" BIGINT NOT NULL,
  "input_image" BIGINT NOT NULL,
  "images" BIGINT NOT NULL,
  "input_audio" BIGINT NOT NULL,
  "output_audio" BIGINT NOT NULL,
  "output_image" BIGINT NOT NULL,
  "web_search" BIGINT NOT NULL,
  "code_execution" BIGINT NOT NULL,
  "file_search" BIGINT NOT NULL,
  "maps_search" BIGINT NOT NULL,
  "estimated_input" BIGINT NOT NULL,
  "estimated_output" BIGINT NOT NULL,
  "uncovered" BIGINT NOT NULL,
  charge NUMERIC NOT NULL,
  estimated_charge NUMERIC NOT NULL,
  PRIMARY KEY (hour, key_id, owner, group_id, source, account, model, entry, outcome, currency)
);
CREATE INDEX usage_hours_by_key ON usage_hours (key_id, hour);
CREATE INDEX usage_hours_by_owner ON usage_hours (owner, hour);

-- Charges by day and by month (UTC, when the request ended, as the gateway counts budgets).
CREATE TABLE spend (
  -- key, owner or group
  kind     TEXT NOT NULL,
  subject  TEXT NOT NULL,
  -- 2026-11-24 or 2026-11
  period   TEXT NOT NULL,
  currency TEXT NOT NULL,
  amount   NUMERIC NOT NULL,
  PRIMARY KEY (kind, subject, period, currency)
);

-- When a key was last used: the beginning of its latest request.
CREATE TABLE key_use (
  key_id TEXT NOT NULL PRIMARY KEY,
  at     BIGINT NOT NULL
);

-- Lines of the ledger, for some days: a partition for each day. `taken_on` is the console's day, so that no clock of a
-- gateway decides which partitions there are.
CREATE TABLE requests (
  taken_on TEXT NOT NULL,
  envoy_id TEXT NOT NULL,
  file_id  TEXT NOT NULL,
  position BIGINT NOT NULL,
  at       BIGINT NOT NULL,
  key_id   TEXT NOT NULL,
  owner    TEXT NOT NULL,
  group_id TEXT NOT NULL,
  model    TEXT NOT NULL,
  outcome  TEXT NOT NULL,
  line     TEXT NOT NULL,
  PRIMARY KEY (taken_on, envoy_id, file_id, position)
) PARTITION BY LIST (taken_on);
CREATE INDEX requests_by_time ON requests (at, envoy_id, file_id, position);
CREATE INDEX requests_by_key ON requests (key_id, at, envoy_id, file_id, position);
CREATE INDEX requests_by_owner ON requests (owner, at, envoy_id, file_id, position);

-- Every published document, and which is in force: the greatest.
CREATE TABLE documents (
  version      BIGINT NOT NULL PRIMARY KEY,
  -- As it was written, and as gateways get it: with numbers where it names the catalogue of prices.
  body         TEXT NOT NULL,
  served       TEXT NOT NULL,
  -- The digest of what gateways get.
  etag         TEXT NOT NULL,
  author       TEXT NOT NULL,
  note         TEXT NOT NULL,
  -- The version that this one publishes again.
  again        BIGINT,
  published_at BIGINT NOT NULL
);

-- Documents that are written but not published.
CREATE TABLE drafts (
  id         TEXT NOT NULL PRIMARY KEY,
  -- Grows with each change: what If-Match compares.
  revision   BIGINT NOT NULL,
  -- The version that was in force when it was begun; 0: none was.
  based_on   BIGINT NOT NULL,
  body       TEXT NOT NULL,
  author     TEXT NOT NULL,
  note       TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL
);

CREATE TABLE people (
  id         TEXT NOT NULL PRIMARY KEY,
  name       TEXT NOT NULL,
  role       TEXT NOT NULL CHECK (role IN ('admin', 'member', 'viewer', 'agent')),
  disabled   BOOLEAN NOT NULL,
  created_at BIGINT NOT NULL
);

-- Tokens of the API: their digests only.
CREATE TABLE api_tokens (
  id         TEXT NOT NULL PRIMARY KEY,
  digest     TEXT NOT NULL UNIQUE,
  person_id  TEXT NOT NULL REFERENCES people (id),
  name       TEXT NOT NULL,
  hint       TEXT NOT NULL,
  expires_at BIGINT,
  created_at BIGINT NOT NULL
);
CREATE INDEX api_tokens_by_person ON api_tokens (person_id);

-- Who changed what.
CREATE TABLE audit (
  id      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at      BIGINT NOT NULL,
  actor   TEXT NOT NULL,
  address TEXT NOT NULL,
  action  TEXT NOT NULL,
  object  TEXT NOT NULL,
  before  TEXT,
  after   TEXT
);

-- Answers to requests that may be sent again.
CREATE TABLE idempotency (
  token_id TEXT NOT NULL,
  key      TEXT NOT NULL,
  -- Of the request: another one under the same key is refused.
  digest   TEXT NOT NULL,
  status   BIGINT NOT NULL,
  body     TEXT NOT NULL,
  at       BIGINT NOT NULL,
  PRIMARY KEY (token_id, key)
);
