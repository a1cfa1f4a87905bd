-- Usage by hour and by day, by team too. They take the place of usage_hours, whose key has no team and cannot get one: its rows
-- are moved from there a bounded number at a time, and until then whoever reads adds them. Texts are ordered
-- by their bytes, as SQLite and Rust do it.

-- Sums by hour (UTC, when the request began). Texts are empty where a line has none.
CREATE TABLE usage_by_hour (
  hour TEXT COLLATE "C" NOT NULL,
  key_id TEXT COLLATE "C" NOT NULL,
  owner TEXT COLLATE "C" NOT NULL,
  team TEXT COLLATE "C" NOT NULL,
  group_id TEXT COLLATE "C" NOT NULL,
  source TEXT COLLATE "C" NOT NULL,
  account TEXT COLLATE "C" NOT NULL,
  model TEXT COLLATE "C" NOT NULL,
  entry TEXT COLLATE "C" NOT NULL,
  outcome TEXT COLLATE "C" NOT NULL,
  currency TEXT COLLATE "C" NOT NULL,
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
  PRIMARY KEY (hour, key_id, owner, team, group_id, source, account, model, entry, outcome, currency)
);
CREATE INDEX usage_by_hour_by_key ON usage_by_hour (key_id, hour);
CREATE INDEX usage_by_hour_by_owner ON usage_by_hour (owner, hour);

-- Sums by day of the hours up to a place, which are not added up anew each time that they are asked for.
CREATE TABLE usage_by_day (
  day TEXT COLLATE "C" NOT NULL,
  key_id TEXT COLLATE "C" NOT NULL,
  owner TEXT COLLATE "C" NOT NULL,
  team TEXT COLLATE "C" NOT NULL,
  group_id TEXT COLLATE "C" NOT NULL,
  source TEXT COLLATE "C" NOT NULL,
  account TEXT COLLATE "C" NOT NULL,
  model TEXT COLLATE "C" NOT NULL,
  entry TEXT COLLATE "C" NOT NULL,
  outcome TEXT COLLATE "C" NOT NULL,
  currency TEXT COLLATE "C" NOT NULL,
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
  PRIMARY KEY (day, key_id, owner, team, group_id, source, account, model, entry, outcome, currency)
);
CREATE INDEX usage_by_day_by_key ON usage_by_day (key_id, day);
CREATE INDEX usage_by_day_by_owner ON usage_by_day (owner, day);

-- That place: usage_by_day has the rows of usage_by_hour whose hour and key come before it or stand at it.
CREATE TABLE usage_by_day_to (
  one    INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  hour   TEXT COLLATE "C" NOT NULL,
  key_id TEXT COLLATE "C" NOT NULL
);
INSERT INTO usage_by_day_to (one, hour, key_id) VALUES (1, '', '');
