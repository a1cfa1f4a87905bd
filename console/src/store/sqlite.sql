-- The tables of the console in SQLite. Moments are microseconds since 1970; hours, days and months are texts as `trilane usage`
-- writes them. No money is a float.
--
-- postgres.sql has the same tables for PostgreSQL.

-- === Keys, and the feed that gateways read them from.

-- Change keys by any SQL, from any program: triggers do the rest.
CREATE TABLE keys (
  -- The digest of the key. An error names the constraint, so the names say what is wanted.
  sha256     TEXT NOT NULL PRIMARY KEY
             CONSTRAINT "sha256 must be 64 hexadecimal digits in lower case"
             CHECK (typeof(sha256) = 'text' AND length(CAST(sha256 AS BLOB)) = 64 AND sha256 NOT GLOB '*[^0-9a-f]*'),
  id         TEXT NOT NULL
             CONSTRAINT "id must be 1 to 64 letters, digits or any of - _ . :"
             CHECK (typeof(id) = 'text' AND length(id) BETWEEN 1 AND 64 AND length(CAST(id AS BLOB)) = length(id)
                    AND id NOT GLOB '*[^-A-Za-z0-9_.:]*'),
  group_id   TEXT NOT NULL
             CONSTRAINT "group_id must be 1 to 64 letters, digits or any of - _ . :"
             CHECK (typeof(group_id) = 'text' AND length(group_id) BETWEEN 1 AND 64
                    AND length(CAST(group_id AS BLOB)) = length(group_id) AND group_id NOT GLOB '*[^-A-Za-z0-9_.:]*'),
  -- NULL, or a text for ledgers; the team that the key belongs to.
  owner      TEXT,
  team       TEXT,
  -- NULL, or the id of the key in whose counters its limits count: the old value of a key that was rotated has the key's.
  counts_as  TEXT
             CONSTRAINT "counts_as must be 1 to 64 letters, digits or any of - _ . :"
             CHECK (counts_as IS NULL OR (typeof(counts_as) = 'text' AND length(counts_as) BETWEEN 1 AND 64
                    AND length(CAST(counts_as AS BLOB)) = length(counts_as) AND counts_as NOT GLOB '*[^-A-Za-z0-9_.:]*')),
  -- NULL, or a JSON list of those models of its group that the key may use.
  models     TEXT,
  -- NULL, or the final multiplier of the key's requests, such as 0.2000.
  multiplier TEXT,
  expires_at TEXT
             CONSTRAINT "expires_at must be NULL or a time such as 2027-01-01T00:00:00Z"
             CHECK (expires_at IS NULL OR (length(CAST(expires_at AS BLOB)) = 20 AND
                    coalesce(strftime('%Y-%m-%dT%H:%M:%SZ', expires_at, '+0 days') = expires_at, 0))),
  disabled   INTEGER NOT NULL DEFAULT 0
             CONSTRAINT "disabled must be 0 or 1"
             CHECK (disabled IN (0, 1)),
  -- NULL, or a JSON object as `limits` is in a document.
  limits     TEXT,
  -- Notes, which no feed gives: a text, when the key was made and by whom, and its last four characters.
  label      TEXT,
  created_at TEXT,
  created_by TEXT,
  hint       TEXT
) WITHOUT ROWID;
CREATE INDEX keys_by_id ON keys (id);

-- Lists of the keys of one owner or one group, in the order of their ids.
CREATE INDEX keys_by_owner ON keys (owner, id);
CREATE INDEX keys_by_group ON keys (group_id, id);

-- What members may make is counted by owner and team.
CREATE INDEX keys_by_team ON keys (team, owner) WHERE team IS NOT NULL;
CREATE INDEX keys_by_counters ON keys (counts_as) WHERE counts_as IS NOT NULL;

-- The feed of keys: one row.
CREATE TABLE key_feed (
  one       INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  -- Which sequence of versions this is. After a backup was restored: UPDATE key_feed SET feed = lower(hex(randomblob(16)))
  feed      TEXT NOT NULL CHECK (length(feed) BETWEEN 1 AND 64 AND feed NOT GLOB '*[^A-Za-z0-9]*'),
  -- The greatest version assigned. Versions follow the clock (microseconds since 1970) where it goes forward, so that those
  -- which a crash or a restored backup has taken back are not given again to other changes.
  head      INTEGER NOT NULL,
  -- The greatest version of a removal that is forgotten.
  compacted INTEGER NOT NULL DEFAULT 0
);
INSERT INTO key_feed (one, feed, head) VALUES (1, lower(hex(randomblob(16))), CAST(strftime('%s', 'now') AS INTEGER) * 1000000);

-- What the feed says of each key that exists, or was removed not long ago. A copy of the key, so that a page is read from one
-- place, in the order of versions.
CREATE TABLE key_changes (
  version    INTEGER NOT NULL PRIMARY KEY,
  sha256     TEXT NOT NULL UNIQUE,
  id         TEXT,
  group_id   TEXT,
  owner      TEXT,
  team       TEXT,
  counts_as  TEXT,
  models     TEXT,
  multiplier TEXT,
  expires_at TEXT,
  disabled   INTEGER,
  limits     TEXT,
  -- When it was removed, in seconds since 1970; then all between are NULL.
  removed_at INTEGER
);
CREATE INDEX key_removals ON key_changes (removed_at) WHERE removed_at IS NOT NULL;

-- No trigger relies on REPLACE or IGNORE: within it the conflict clause of the statement outside holds, whatever it is.
-- Nor may `id` be UNIQUE: REPLACE would then take a row away without the trigger of DELETE.
CREATE TRIGGER keys_insert_id BEFORE INSERT ON keys
WHEN EXISTS (SELECT 1 FROM keys WHERE id = NEW.id AND sha256 <> NEW.sha256) BEGIN
  SELECT RAISE(ABORT, 'keys.id: is the id of another key too');
END;

CREATE TRIGGER keys_update_id BEFORE UPDATE OF id ON keys
WHEN NEW.id <> OLD.id AND EXISTS (SELECT 1 FROM keys WHERE id = NEW.id AND sha256 <> OLD.sha256) BEGIN
  SELECT RAISE(ABORT, 'keys.id: is the id of another key too');
END;

-- A page with bad limits is refused whole by every gateway, so none may get in here: each change of a key comes by.
CREATE TRIGGER key_limits BEFORE INSERT ON key_changes WHEN NEW.limits IS NOT NULL BEGIN
  SELECT RAISE(ABORT, 'keys.limits: must be NULL or a JSON object of at most 1000 bytes')
    WHERE typeof(NEW.limits) <> 'text' OR length(CAST(NEW.limits AS BLOB)) > 1000 OR NOT json_valid(NEW.limits);
  SELECT RAISE(ABORT, 'keys.limits: has a member that limits of a document have not, or a value that they cannot have')
    FROM json_tree(NEW.limits)
    WHERE NOT CASE
      WHEN key IS NULL THEN type = 'object'
      WHEN path = '$' AND key IN
        ('requests_per_minute', 'input_tokens_per_minute', 'output_tokens_per_minute', 'concurrent_requests')
        THEN type = 'null' OR (type = 'integer' AND atom BETWEEN 1 AND 1000000000)
      WHEN (path = '$' AND key = 'budget') OR (path = '$.budget' AND key = 'spent') THEN type IN ('object', 'null')
      WHEN path = '$.budget.spent' AND key = 'at' THEN type = 'text' AND length(CAST(atom AS BLOB)) = 20
        AND coalesce(strftime('%Y-%m-%dT%H:%M:%SZ', atom, '+0 days') = atom, 0)
      -- Amounts: plain decimals of at most 20 fractional digits, below 10^9, and what is granted is more than 0.
      WHEN (path = '$.budget' AND key IN ('per_day', 'per_month'))
        OR (path = '$.budget.spent' AND key IN ('in_day', 'in_month'))
        THEN type = 'null' OR (type = 'text' AND length(CAST(atom AS BLOB)) <= 28 AND atom NOT GLOB '*[^0-9.]*'
          AND atom GLOB '[0-9]*' AND atom GLOB '*[0-9]' AND atom NOT GLOB '*.*.*'
          AND (instr(atom, '.') = 0 OR length(atom) - instr(atom, '.') <= 20) AND CAST(atom AS INTEGER) < 1000000000
          AND (path = '$.budget.spent' OR atom GLOB '*[1-9]*'))
      ELSE 0 END;
  SELECT RAISE(ABORT, 'keys.limits: has a member twice')
    FROM json_tree(NEW.limits) GROUP BY path, key HAVING count(*) > 1;
  SELECT RAISE(ABORT, 'keys.limits: limits nothing: put NULL')
    WHERE coalesce(
      json_extract(NEW.limits, '$.requests_per_minute'), json_extract(NEW.limits, '$.input_tokens_per_minute'),
      json_extract(NEW.limits, '$.output_tokens_per_minute'), json_extract(NEW.limits, '$.concurrent_requests'),
      json_extract(NEW.limits, '$.budget')) IS NULL;
  SELECT RAISE(ABORT, 'keys.limits: budget needs per_day or per_month')
    WHERE json_extract(NEW.limits, '$.budget') IS NOT NULL AND
      coalesce(json_extract(NEW.limits, '$.budget.per_day'), json_extract(NEW.limits, '$.budget.per_month')) IS NULL;
  SELECT RAISE(ABORT, 'keys.limits: budget.spent needs at')
    WHERE json_extract(NEW.limits, '$.budget.spent') IS NOT NULL
      AND json_extract(NEW.limits, '$.budget.spent.at') IS NULL;
  -- Whole parts, then fractions of 20 digits: as exact as amounts are.
  SELECT RAISE(ABORT, 'keys.limits: budget.spent.in_month is less than in_day, which is part of it')
    FROM (SELECT json_extract(NEW.limits, '$.budget.spent.in_day') || '.' AS d,
      json_extract(NEW.limits, '$.budget.spent.in_month') || '.' AS m)
    WHERE (CAST(m AS INTEGER), substr(rtrim(substr(m, instr(m, '.') + 1), '.') || '00000000000000000000', 1, 20))
        < (CAST(d AS INTEGER), substr(rtrim(substr(d, instr(d, '.') + 1), '.') || '00000000000000000000', 1, 20));
END;

-- A page with a bad owner is refused whole by every gateway, so none may get in here: each change of a key comes by. A text
-- that is not UTF-8 is not the same when its characters are put together again, one by one.
CREATE TRIGGER key_owner BEFORE INSERT ON key_changes WHEN NEW.owner IS NOT NULL BEGIN
  SELECT RAISE(ABORT, 'keys.owner: must be NULL or a text of 1 to 128 bytes without control characters')
    WHERE typeof(NEW.owner) <> 'text' OR length(CAST(NEW.owner AS BLOB)) NOT BETWEEN 1 AND 128
      OR instr(CAST(NEW.owner AS BLOB), x'00') > 0
      OR NEW.owner GLOB '*[' || char(1) || '-' || char(31) || char(127) || '-' || char(159) || ']*';
  SELECT RAISE(ABORT, 'keys.owner: must be UTF-8')
    WHERE (SELECT group_concat(char(unicode(substr(NEW.owner, key + 1, 1))), '')
      FROM json_each('[' || rtrim(replace(hex(zeroblob(64)), '0', '0,'), ',') || ']')
      WHERE key < length(NEW.owner)) IS NOT NEW.owner;
END;

-- A page with one that is bad is refused whole by every gateway, so none may get in here: each change of a key comes by.
CREATE TRIGGER key_team BEFORE INSERT ON key_changes WHEN NEW.team IS NOT NULL BEGIN
  SELECT RAISE(ABORT, 'keys.team: must be NULL or 1 to 64 letters, digits or any of - _ . :')
    WHERE typeof(NEW.team) <> 'text' OR length(NEW.team) NOT BETWEEN 1 AND 64
      OR length(CAST(NEW.team AS BLOB)) <> length(NEW.team) OR NEW.team GLOB '*[^-A-Za-z0-9_.:]*';
END;

CREATE TRIGGER key_models BEFORE INSERT ON key_changes WHEN NEW.models IS NOT NULL BEGIN
  SELECT RAISE(ABORT, 'keys.models: must be NULL or a JSON list of 1 to 64 names of models')
    WHERE typeof(NEW.models) <> 'text' OR length(CAST(NEW.models AS BLOB)) > 9000 OR NEW.models GLOB '*[^ -~]*'
      OR NOT json_valid(NEW.models);
  SELECT RAISE(ABORT, 'keys.models: must be NULL or a JSON list of 1 to 64 names of models')
    WHERE json_type(NEW.models) <> 'array' OR json_array_length(NEW.models) NOT BETWEEN 1 AND 64;
  SELECT RAISE(ABORT, 'keys.models: each must be 1 to 128 letters, digits or any of - _ . : / @ + [ ]')
    FROM json_each(NEW.models)
    WHERE type <> 'text' OR length(CAST(atom AS BLOB)) NOT BETWEEN 1 AND 128 OR atom GLOB '*[^]-A-Za-z0-9_.:/@+[]*';
  SELECT RAISE(ABORT, 'keys.models: names a model twice')
    FROM json_each(NEW.models) GROUP BY atom HAVING count(*) > 1;
END;

CREATE TRIGGER key_multiplier BEFORE INSERT ON key_changes WHEN NEW.multiplier IS NOT NULL BEGIN
  SELECT RAISE(ABORT, 'keys.multiplier: must be NULL or a plain decimal of at most 4 fractional digits, at most 1000000')
    WHERE typeof(NEW.multiplier) <> 'text' OR length(CAST(NEW.multiplier AS BLOB)) > 12
      OR NEW.multiplier GLOB '*[^0-9.]*' OR NEW.multiplier NOT GLOB '[0-9]*' OR NEW.multiplier NOT GLOB '*[0-9]'
      OR NEW.multiplier GLOB '*.*.*'
      OR (instr(NEW.multiplier, '.') > 0 AND length(NEW.multiplier) - instr(NEW.multiplier, '.') > 4)
      OR CAST(NEW.multiplier AS INTEGER) > 1000000
      OR (CAST(NEW.multiplier AS INTEGER) = 1000000 AND NEW.multiplier GLOB '*.*[1-9]*');
END;

CREATE TRIGGER keys_inserted AFTER INSERT ON keys BEGIN
  UPDATE key_feed SET head = max(head + 1, CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
  DELETE FROM key_changes WHERE sha256 = NEW.sha256;
  INSERT INTO key_changes (version, sha256, id, group_id, owner, team, counts_as, models, multiplier, expires_at, disabled, limits)
    SELECT head, NEW.sha256, NEW.id, NEW.group_id, NEW.owner, NEW.team, NEW.counts_as, NEW.models, NEW.multiplier,
      NEW.expires_at, NEW.disabled, NEW.limits FROM key_feed;
END;

CREATE TRIGGER keys_updated AFTER UPDATE ON keys
WHEN NEW.sha256 = OLD.sha256 AND (NEW.id <> OLD.id OR NEW.group_id <> OLD.group_id OR NEW.owner IS NOT OLD.owner
  OR NEW.team IS NOT OLD.team OR NEW.counts_as IS NOT OLD.counts_as OR NEW.models IS NOT OLD.models OR NEW.multiplier IS NOT OLD.multiplier
  OR NEW.expires_at IS NOT OLD.expires_at OR NEW.disabled <> OLD.disabled OR NEW.limits IS NOT OLD.limits) BEGIN
  UPDATE key_feed SET head = max(head + 1, CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
  DELETE FROM key_changes WHERE sha256 = NEW.sha256;
  INSERT INTO key_changes (version, sha256, id, group_id, owner, team, counts_as, models, multiplier, expires_at, disabled, limits)
    SELECT head, NEW.sha256, NEW.id, NEW.group_id, NEW.owner, NEW.team, NEW.counts_as, NEW.models, NEW.multiplier,
      NEW.expires_at, NEW.disabled, NEW.limits FROM key_feed;
END;

CREATE TRIGGER keys_exchanged AFTER UPDATE OF sha256 ON keys WHEN NEW.sha256 <> OLD.sha256 BEGIN
  UPDATE key_feed SET head = max(head + 2, CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
  DELETE FROM key_changes WHERE sha256 IN (OLD.sha256, NEW.sha256);
  INSERT INTO key_changes (version, sha256, removed_at)
    SELECT head - 1, OLD.sha256, CAST(strftime('%s', 'now') AS INTEGER) FROM key_feed;
  INSERT INTO key_changes (version, sha256, id, group_id, owner, team, counts_as, models, multiplier, expires_at, disabled, limits)
    SELECT head, NEW.sha256, NEW.id, NEW.group_id, NEW.owner, NEW.team, NEW.counts_as, NEW.models, NEW.multiplier,
      NEW.expires_at, NEW.disabled, NEW.limits FROM key_feed;
END;

CREATE TRIGGER keys_deleted AFTER DELETE ON keys BEGIN
  UPDATE key_feed SET head = max(head + 1, CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
  DELETE FROM key_changes WHERE sha256 = OLD.sha256;
  INSERT INTO key_changes (version, sha256, removed_at)
    SELECT head, OLD.sha256, CAST(strftime('%s', 'now') AS INTEGER) FROM key_feed;
END;

-- === Search of keys: which have a text somewhere in their id, owner, label or hint. The console fills it in the background
-- (`key_grams.rs`), so a program that changes keys by SQL needs no more of SQLite than for the tables.

-- Keys whose texts were changed, or that are gone, since they were last looked at. One may be here several times.
CREATE TABLE key_search_due (
  number INTEGER NOT NULL PRIMARY KEY,
  id     TEXT NOT NULL
);

CREATE TABLE key_search (
  number INTEGER NOT NULL PRIMARY KEY,
  id     TEXT NOT NULL UNIQUE
);

-- Rows have the numbers of key_search.
CREATE VIRTUAL TABLE key_grams USING fts5 (grams, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');

CREATE TRIGGER keys_search_inserted AFTER INSERT ON keys BEGIN
  INSERT INTO key_search_due (id) VALUES (NEW.id);
END;

CREATE TRIGGER keys_search_deleted AFTER DELETE ON keys BEGIN
  INSERT INTO key_search_due (id) VALUES (OLD.id);
END;

CREATE TRIGGER keys_search_updated AFTER UPDATE OF id, owner, label, hint ON keys
WHEN NEW.id <> OLD.id OR NEW.owner IS NOT OLD.owner OR NEW.label IS NOT OLD.label OR NEW.hint IS NOT OLD.hint BEGIN
  INSERT INTO key_search_due (id) SELECT OLD.id WHERE OLD.id <> NEW.id;
  INSERT INTO key_search_due (id) VALUES (NEW.id);
END;

-- === Configuration.

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
) WITHOUT ROWID;

-- Credentials of upstream accounts, sealed with keys that are not here.
CREATE TABLE credentials (
  name        TEXT NOT NULL,
  -- For where it is: scheme, host, proxy and authorities, as JSON.
  destination TEXT NOT NULL,
  -- Whether a document that was in force has sent it there.
  in_use      BOOLEAN NOT NULL,
  key_id      TEXT NOT NULL,
  nonce       TEXT NOT NULL,
  sealed      TEXT NOT NULL,
  set_at      BIGINT NOT NULL,
  set_by      TEXT NOT NULL,
  PRIMARY KEY (name, destination)
) WITHOUT ROWID;

-- What the latest test of an account's kept credential said.
CREATE TABLE account_tests (
  group_id TEXT NOT NULL,
  account  TEXT NOT NULL,
  at       BIGINT NOT NULL,
  outcome  TEXT NOT NULL,
  PRIMARY KEY (group_id, account)
);

-- === People, and how they prove who they are. Of secrets there are digests only.

CREATE TABLE people (
  id         TEXT NOT NULL PRIMARY KEY,
  name       TEXT NOT NULL,
  role       TEXT NOT NULL CHECK (role IN ('admin', 'member', 'viewer', 'agent')),
  disabled   BOOLEAN NOT NULL,
  created_at BIGINT NOT NULL
) WITHOUT ROWID;

CREATE TABLE passwords (
  person_id  TEXT NOT NULL PRIMARY KEY REFERENCES people (id) ON DELETE CASCADE,
  -- Argon2id, with its salt and parameters.
  hash       TEXT NOT NULL,
  changed_at BIGINT NOT NULL
) WITHOUT ROWID;

CREATE TABLE sessions (
  digest     TEXT NOT NULL PRIMARY KEY,
  person_id  TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
  -- The person's role when the session began: it ends when that is another one.
  role       TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  used_at    BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX sessions_by_person ON sessions (person_id);

-- Links that sign a person in, once.
CREATE TABLE sign_in_links (
  digest     TEXT NOT NULL PRIMARY KEY,
  person_id  TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX sign_in_links_by_person ON sign_in_links (person_id);

-- Devices with which people have signed in: attempts with one of them are counted by themselves, so that nobody else keeps its
-- person out.
CREATE TABLE sign_in_devices (
  digest    TEXT NOT NULL PRIMARY KEY,
  person_id TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
  used_at   BIGINT NOT NULL
);
CREATE INDEX sign_in_devices_by_person ON sign_in_devices (person_id, used_at);

-- How often signing in failed, by address and by person. Persons are digests, so that unknown names are not kept.
CREATE TABLE sign_in_failures (
  subject  TEXT NOT NULL PRIMARY KEY,
  failures BIGINT NOT NULL,
  at       BIGINT NOT NULL,
  -- Until when no further attempt is looked at.
  until    BIGINT NOT NULL
) WITHOUT ROWID;

-- Tokens of the API: their digests only.
CREATE TABLE api_tokens (
  id         TEXT NOT NULL PRIMARY KEY,
  digest     TEXT NOT NULL UNIQUE,
  person_id  TEXT NOT NULL REFERENCES people (id),
  name       TEXT NOT NULL,
  hint       TEXT NOT NULL,
  expires_at BIGINT,
  created_at BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX api_tokens_by_person ON api_tokens (person_id);

-- Teams of people. Keys name their team by its id; a team that keys name need not be here.
CREATE TABLE teams (
  id         TEXT NOT NULL PRIMARY KEY,
  name       TEXT NOT NULL,
  -- Which keys members may make by themselves, a JSON object; NULL: none.
  allowance  TEXT,
  created_at BIGINT NOT NULL
);

CREATE TABLE memberships (
  team_id    TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
  person_id  TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
  -- Whether this person sees what the whole team uses.
  manager    BOOLEAN NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (team_id, person_id)
);
CREATE INDEX memberships_by_person ON memberships (person_id, team_id);

-- === What people and programs did.

-- Who changed what.
CREATE TABLE audit (
  id      INTEGER PRIMARY KEY,
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
) WITHOUT ROWID;
CREATE INDEX idempotency_by_time ON idempotency (at);

-- Persons whose data is erased. A pseudonym takes the place of a person's id, so that sums stay what they are.
CREATE TABLE erasures (
  pseudonym TEXT NOT NULL PRIMARY KEY,
  -- SHA-256 of the salt and the id, by which lines of the ledger that come late are known.
  digest    TEXT NOT NULL UNIQUE,
  -- The id, until it is nowhere else; then NULL.
  person_id TEXT,
  -- What is erased now, and up to where that is done.
  step      TEXT NOT NULL,
  place     TEXT NOT NULL,
  begun_at  BIGINT NOT NULL,
  ended_at  BIGINT
);

-- One row, once there is an erasure: what stands before ids in their digests.
CREATE TABLE erasure_salt (
  one  INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  salt TEXT NOT NULL
);

-- === Envoys.

-- The Envoys whose agents are known. Each is a person of the role `agent` too, with the same id.
CREATE TABLE envoys (
  id           TEXT NOT NULL PRIMARY KEY REFERENCES people (id),
  -- The digest of the enrolment token, until it is used, and until when it is good.
  enrolment    TEXT UNIQUE,
  enrol_until  BIGINT,
  enrolled_at  BIGINT,
  -- The name of the enrolment secret by which its agent enrolled; NULL: an admin added it.
  enrolled_by  TEXT,
  -- The digest of the agent's own credential with which it may have credentials of accounts: somebody on the console's machine
  -- has approved it, and nobody can by the API. With another one it waits again.
  approved     TEXT,
  -- The digest of the one with which credentials of accounts were read first.
  has_read     TEXT,
  -- What its agent said last, as JSON, and when.
  report       TEXT,
  seen_at      BIGINT,
  -- How far its clock is ahead of the console's, in milliseconds; less than nothing: it is behind.
  clock_offset BIGINT,
  created_at   BIGINT NOT NULL
) WITHOUT ROWID;

-- Secrets with which agents enrol by themselves, as often as they like, and are approved by that.
CREATE TABLE enrolment_secrets (
  name       TEXT NOT NULL PRIMARY KEY,
  digest     TEXT NOT NULL UNIQUE,
  expires_at BIGINT,
  created_at BIGINT NOT NULL
);

-- === The ledger.

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
) WITHOUT ROWID;

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
) WITHOUT ROWID;

-- Lines of the ledger, for some days. `taken_on` is the console's day, so that no clock of a gateway decides how long.
CREATE TABLE requests (
  taken_on TEXT NOT NULL,
  envoy_id TEXT NOT NULL,
  file_id  TEXT NOT NULL,
  position BIGINT NOT NULL,
  at       BIGINT NOT NULL,
  -- Requests are looked for by these. Empty where a line has none.
  key_id   TEXT NOT NULL,
  owner    TEXT NOT NULL,
  team     TEXT NOT NULL DEFAULT '',
  group_id TEXT NOT NULL,
  model    TEXT NOT NULL,
  account  TEXT NOT NULL DEFAULT '',
  outcome  TEXT NOT NULL,
  status   TEXT NOT NULL DEFAULT '',
  line     TEXT NOT NULL,
  PRIMARY KEY (taken_on, envoy_id, file_id, position)
);

-- Lines of one moment stand in the order of their positions: an index without the names of files is a third as long.
CREATE INDEX requests_by_time ON requests (at, position);
CREATE INDEX requests_by_key ON requests (key_id, at, position);
CREATE INDEX requests_by_owner ON requests (owner, at, position);

-- Times of which the lines of an Envoy are void: neither counted nor charged, whenever they come.
CREATE TABLE void_ranges (
  envoy_id TEXT NOT NULL,
  -- The beginnings of requests: from this moment on, and before that one.
  since    BIGINT NOT NULL,
  until    BIGINT NOT NULL,
  begun_at BIGINT NOT NULL,
  -- Up to where lines that had been counted are taken away, and how many were.
  place    BIGINT NOT NULL,
  lines    BIGINT NOT NULL,
  -- When all were.
  ended_at BIGINT,
  PRIMARY KEY (envoy_id, since, until)
);

-- === Sums of the ledger. An amount has five columns, each of which counts a million times as much as the one before: units of 10^-20,
-- 10^-14, 10^-8, 10^-2 and 10^4 of its currency. The amount is what all five add up to; SUM() of each is exact on both engines.

-- Sums by hour (UTC, when the request began). Texts are empty where a line has none. (With row numbers, which keep the indexes narrow.)
CREATE TABLE usage_by_hour (
  hour TEXT NOT NULL, key_id TEXT NOT NULL, owner TEXT NOT NULL, team TEXT NOT NULL, group_id TEXT NOT NULL,
  source TEXT NOT NULL, account TEXT NOT NULL, model TEXT NOT NULL, entry TEXT NOT NULL, outcome TEXT NOT NULL,
  currency TEXT NOT NULL,
  "requests" BIGINT NOT NULL, "complete" BIGINT NOT NULL, "estimated" BIGINT NOT NULL, "partial" BIGINT NOT NULL,
  "none" BIGINT NOT NULL, "failed" BIGINT NOT NULL, "input" BIGINT NOT NULL, "output" BIGINT NOT NULL,
  "cache_read" BIGINT NOT NULL, "cache_write_5m" BIGINT NOT NULL, "cache_write_1h" BIGINT NOT NULL,
  "reasoning" BIGINT NOT NULL, "tool_use" BIGINT NOT NULL, "input_image" BIGINT NOT NULL, "images" BIGINT NOT NULL,
  "input_audio" BIGINT NOT NULL, "output_audio" BIGINT NOT NULL, "output_image" BIGINT NOT NULL,
  "web_search" BIGINT NOT NULL, "code_execution" BIGINT NOT NULL, "file_search" BIGINT NOT NULL,
  "maps_search" BIGINT NOT NULL, "estimated_input" BIGINT NOT NULL, "estimated_output" BIGINT NOT NULL,
  "uncovered" BIGINT NOT NULL,
  charge_0 BIGINT NOT NULL, charge_1 BIGINT NOT NULL, charge_2 BIGINT NOT NULL,
  charge_3 BIGINT NOT NULL, charge_4 BIGINT NOT NULL,
  estimated_charge_0 BIGINT NOT NULL, estimated_charge_1 BIGINT NOT NULL, estimated_charge_2 BIGINT NOT NULL,
  estimated_charge_3 BIGINT NOT NULL, estimated_charge_4 BIGINT NOT NULL,
  costed_charge_0 BIGINT NOT NULL, costed_charge_1 BIGINT NOT NULL, costed_charge_2 BIGINT NOT NULL,
  costed_charge_3 BIGINT NOT NULL, costed_charge_4 BIGINT NOT NULL,
  cost_0 BIGINT NOT NULL, cost_1 BIGINT NOT NULL, cost_2 BIGINT NOT NULL, cost_3 BIGINT NOT NULL, cost_4 BIGINT NOT NULL,
  PRIMARY KEY (hour, key_id, owner, team, group_id, source, account, model, entry, outcome, currency)
);
CREATE INDEX usage_by_hour_by_key ON usage_by_hour (key_id, hour);
CREATE INDEX usage_by_hour_by_owner ON usage_by_hour (owner, hour);

-- Sums by day of the hours up to a place, which are not added up anew each time that they are asked for.
CREATE TABLE usage_by_day (
  day TEXT NOT NULL, key_id TEXT NOT NULL, owner TEXT NOT NULL, team TEXT NOT NULL, group_id TEXT NOT NULL,
  source TEXT NOT NULL, account TEXT NOT NULL, model TEXT NOT NULL, entry TEXT NOT NULL, outcome TEXT NOT NULL,
  currency TEXT NOT NULL,
  "requests" BIGINT NOT NULL, "complete" BIGINT NOT NULL, "estimated" BIGINT NOT NULL, "partial" BIGINT NOT NULL,
  "none" BIGINT NOT NULL, "failed" BIGINT NOT NULL, "input" BIGINT NOT NULL, "output" BIGINT NOT NULL,
  "cache_read" BIGINT NOT NULL, "cache_write_5m" BIGINT NOT NULL, "cache_write_1h" BIGINT NOT NULL,
  "reasoning" BIGINT NOT NULL, "tool_use" BIGINT NOT NULL, "input_image" BIGINT NOT NULL, "images" BIGINT NOT NULL,
  "input_audio" BIGINT NOT NULL, "output_audio" BIGINT NOT NULL, "output_image" BIGINT NOT NULL,
  "web_search" BIGINT NOT NULL, "code_execution" BIGINT NOT NULL, "file_search" BIGINT NOT NULL,
  "maps_search" BIGINT NOT NULL, "estimated_input" BIGINT NOT NULL, "estimated_output" BIGINT NOT NULL,
  "uncovered" BIGINT NOT NULL,
  charge_0 BIGINT NOT NULL, charge_1 BIGINT NOT NULL, charge_2 BIGINT NOT NULL,
  charge_3 BIGINT NOT NULL, charge_4 BIGINT NOT NULL,
  estimated_charge_0 BIGINT NOT NULL, estimated_charge_1 BIGINT NOT NULL, estimated_charge_2 BIGINT NOT NULL,
  estimated_charge_3 BIGINT NOT NULL, estimated_charge_4 BIGINT NOT NULL,
  costed_charge_0 BIGINT NOT NULL, costed_charge_1 BIGINT NOT NULL, costed_charge_2 BIGINT NOT NULL,
  costed_charge_3 BIGINT NOT NULL, costed_charge_4 BIGINT NOT NULL,
  cost_0 BIGINT NOT NULL, cost_1 BIGINT NOT NULL, cost_2 BIGINT NOT NULL, cost_3 BIGINT NOT NULL, cost_4 BIGINT NOT NULL,
  PRIMARY KEY (day, key_id, owner, team, group_id, source, account, model, entry, outcome, currency)
) WITHOUT ROWID;
CREATE INDEX usage_by_day_by_key ON usage_by_day (key_id, day);
CREATE INDEX usage_by_day_by_owner ON usage_by_day (owner, day);

-- The same sums of all keys, owners and teams together: few rows, which pages that look at none of them read.
CREATE TABLE usage_of_all_by_hour (
  hour TEXT NOT NULL, group_id TEXT NOT NULL,
  source TEXT NOT NULL, account TEXT NOT NULL, model TEXT NOT NULL, entry TEXT NOT NULL, outcome TEXT NOT NULL,
  currency TEXT NOT NULL,
  "requests" BIGINT NOT NULL, "complete" BIGINT NOT NULL, "estimated" BIGINT NOT NULL, "partial" BIGINT NOT NULL,
  "none" BIGINT NOT NULL, "failed" BIGINT NOT NULL, "input" BIGINT NOT NULL, "output" BIGINT NOT NULL,
  "cache_read" BIGINT NOT NULL, "cache_write_5m" BIGINT NOT NULL, "cache_write_1h" BIGINT NOT NULL,
  "reasoning" BIGINT NOT NULL, "tool_use" BIGINT NOT NULL, "input_image" BIGINT NOT NULL, "images" BIGINT NOT NULL,
  "input_audio" BIGINT NOT NULL, "output_audio" BIGINT NOT NULL, "output_image" BIGINT NOT NULL,
  "web_search" BIGINT NOT NULL, "code_execution" BIGINT NOT NULL, "file_search" BIGINT NOT NULL,
  "maps_search" BIGINT NOT NULL, "estimated_input" BIGINT NOT NULL, "estimated_output" BIGINT NOT NULL,
  "uncovered" BIGINT NOT NULL,
  charge_0 BIGINT NOT NULL, charge_1 BIGINT NOT NULL, charge_2 BIGINT NOT NULL,
  charge_3 BIGINT NOT NULL, charge_4 BIGINT NOT NULL,
  estimated_charge_0 BIGINT NOT NULL, estimated_charge_1 BIGINT NOT NULL, estimated_charge_2 BIGINT NOT NULL,
  estimated_charge_3 BIGINT NOT NULL, estimated_charge_4 BIGINT NOT NULL,
  costed_charge_0 BIGINT NOT NULL, costed_charge_1 BIGINT NOT NULL, costed_charge_2 BIGINT NOT NULL,
  costed_charge_3 BIGINT NOT NULL, costed_charge_4 BIGINT NOT NULL,
  cost_0 BIGINT NOT NULL, cost_1 BIGINT NOT NULL, cost_2 BIGINT NOT NULL, cost_3 BIGINT NOT NULL, cost_4 BIGINT NOT NULL,
  PRIMARY KEY (hour, group_id, source, account, model, entry, outcome, currency)
) WITHOUT ROWID;
CREATE TABLE usage_of_all_by_day (
  day TEXT NOT NULL, group_id TEXT NOT NULL,
  source TEXT NOT NULL, account TEXT NOT NULL, model TEXT NOT NULL, entry TEXT NOT NULL, outcome TEXT NOT NULL,
  currency TEXT NOT NULL,
  "requests" BIGINT NOT NULL, "complete" BIGINT NOT NULL, "estimated" BIGINT NOT NULL, "partial" BIGINT NOT NULL,
  "none" BIGINT NOT NULL, "failed" BIGINT NOT NULL, "input" BIGINT NOT NULL, "output" BIGINT NOT NULL,
  "cache_read" BIGINT NOT NULL, "cache_write_5m" BIGINT NOT NULL, "cache_write_1h" BIGINT NOT NULL,
  "reasoning" BIGINT NOT NULL, "tool_use" BIGINT NOT NULL, "input_image" BIGINT NOT NULL, "images" BIGINT NOT NULL,
  "input_audio" BIGINT NOT NULL, "output_audio" BIGINT NOT NULL, "output_image" BIGINT NOT NULL,
  "web_search" BIGINT NOT NULL, "code_execution" BIGINT NOT NULL, "file_search" BIGINT NOT NULL,
  "maps_search" BIGINT NOT NULL, "estimated_input" BIGINT NOT NULL, "estimated_output" BIGINT NOT NULL,
  "uncovered" BIGINT NOT NULL,
  charge_0 BIGINT NOT NULL, charge_1 BIGINT NOT NULL, charge_2 BIGINT NOT NULL,
  charge_3 BIGINT NOT NULL, charge_4 BIGINT NOT NULL,
  estimated_charge_0 BIGINT NOT NULL, estimated_charge_1 BIGINT NOT NULL, estimated_charge_2 BIGINT NOT NULL,
  estimated_charge_3 BIGINT NOT NULL, estimated_charge_4 BIGINT NOT NULL,
  costed_charge_0 BIGINT NOT NULL, costed_charge_1 BIGINT NOT NULL, costed_charge_2 BIGINT NOT NULL,
  costed_charge_3 BIGINT NOT NULL, costed_charge_4 BIGINT NOT NULL,
  cost_0 BIGINT NOT NULL, cost_1 BIGINT NOT NULL, cost_2 BIGINT NOT NULL, cost_3 BIGINT NOT NULL, cost_4 BIGINT NOT NULL,
  PRIMARY KEY (day, group_id, source, account, model, entry, outcome, currency)
) WITHOUT ROWID;

-- That place: usage_by_day has the rows of usage_by_hour whose hour and key come before it or stand at it.
CREATE TABLE usage_by_day_to (
  one    INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  hour   TEXT NOT NULL,
  key_id TEXT NOT NULL
);
INSERT INTO usage_by_day_to (one, hour, key_id) VALUES (1, '', '');

-- How many requests of an hour had the first byte of their response within so many milliseconds: each counts in the narrowest.
CREATE TABLE first_byte_hours (
  hour      TEXT NOT NULL,
  model     TEXT NOT NULL,
  account   TEXT NOT NULL,
  within_ms BIGINT NOT NULL,
  count     BIGINT NOT NULL,
  PRIMARY KEY (hour, model, account, within_ms)
) WITHOUT ROWID;

-- How often an upstream account was asked in an hour, and how that ended: answered, or the kind of the failure.
CREATE TABLE attempt_hours (
  hour    TEXT NOT NULL,
  source  TEXT NOT NULL,
  account TEXT NOT NULL,
  ended   TEXT NOT NULL,
  count   BIGINT NOT NULL,
  PRIMARY KEY (hour, source, account, ended)
) WITHOUT ROWID;

-- When a key was last used: the beginning of its latest request.
CREATE TABLE key_use (
  key_id TEXT NOT NULL PRIMARY KEY,
  at     BIGINT NOT NULL
) WITHOUT ROWID;

-- Charges by day and by month (UTC, when the request ended, as the gateway counts budgets).
CREATE TABLE spend (
  -- key, member, owner, team or group
  kind     TEXT NOT NULL,
  subject  TEXT NOT NULL,
  -- 2026-11-24 or 2026-11
  period   TEXT NOT NULL,
  currency TEXT NOT NULL,
  amount_0 BIGINT NOT NULL, amount_1 BIGINT NOT NULL, amount_2 BIGINT NOT NULL,
  amount_3 BIGINT NOT NULL, amount_4 BIGINT NOT NULL,
  PRIMARY KEY (kind, subject, period, currency)
) WITHOUT ROWID;

-- === Budgets. What gateways are told of spend: for each subject of a budget the total, and what each process of an Envoy has in its
-- own counters.

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
  -- key, member, owner, team or group
  kind      TEXT NOT NULL,
  subject   TEXT NOT NULL,
  -- That of its latest change.
  version   BIGINT NOT NULL UNIQUE,
  -- The budget of a member, an owner or a team. Those of keys and groups stand with their limits.
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
  amount_0 BIGINT NOT NULL, amount_1 BIGINT NOT NULL, amount_2 BIGINT NOT NULL,
  amount_3 BIGINT NOT NULL, amount_4 BIGINT NOT NULL,
  PRIMARY KEY (kind, subject, period, envoy_id, instance, currency)
) WITHOUT ROWID;
CREATE INDEX spend_shares_by_period ON spend_shares (period);

-- Budgets of which nine tenths were spent in a day or a month. Whoever reads this looks at the exact amounts again: a budget may
-- have become another one.
CREATE TABLE nearly_spent (
  -- 2026-11-24 or 2026-11
  period  TEXT NOT NULL,
  -- key, member, owner, team or group
  kind    TEXT NOT NULL,
  subject TEXT NOT NULL,
  PRIMARY KEY (period, kind, subject)
);

-- === Webhooks: who is told when a budget runs out, and what they are told.

CREATE TABLE webhooks (
  id         TEXT NOT NULL PRIMARY KEY,
  url        TEXT NOT NULL,
  -- What its messages are signed with.
  secret     TEXT NOT NULL,
  -- Percents of a budget, a JSON list.
  thresholds TEXT NOT NULL,
  created_at BIGINT NOT NULL
) WITHOUT ROWID;

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
CREATE INDEX webhook_events_over ON webhook_events (period) WHERE next_at IS NULL;

-- === The console itself.

-- A row that is changed to see whether anything can be.
CREATE TABLE write_probe (
  one     INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  changes BIGINT NOT NULL
);
INSERT INTO write_probe (one, changes) VALUES (1, 0);
