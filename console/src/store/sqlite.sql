-- The tables of the console that are written otherwise for SQLite than for PostgreSQL (postgres.sql). tables.sql has the others.

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
  -- NULL, or the greatest final multiplier that the key pays. A key with a multiplier of its own has none.
  max_multiplier TEXT,
  -- NULL, or a JSON list of the addresses and ranges from which the key may be used; none: from nowhere.
  addresses  TEXT
             CONSTRAINT "addresses must be NULL or a JSON list of addresses and ranges such as 10.0.0.0/8"
             CHECK (addresses IS NULL OR (typeof(addresses) = 'text' AND addresses NOT GLOB '*[^]"0-9A-Fa-f.:/, []*' AND length(addresses) < 4000
                    AND json_valid(addresses) AND json_type(addresses) = 'array')),
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
  hint       TEXT,
  -- NULL, or the person with whom the key was disabled: it is enabled again with that person.
  disabled_with TEXT
) WITHOUT ROWID;
CREATE INDEX keys_by_id ON keys (id);

-- Lists of the keys of one owner or one group, in the order of their ids.
CREATE INDEX keys_by_owner ON keys (owner, id);
CREATE INDEX keys_by_group ON keys (group_id, id);

-- What members may make is counted by owner and team.
CREATE INDEX keys_by_team ON keys (team, owner) WHERE team IS NOT NULL;
CREATE INDEX keys_by_counters ON keys (counts_as) WHERE counts_as IS NOT NULL;
CREATE INDEX keys_disabled_with ON keys (disabled_with) WHERE disabled_with IS NOT NULL;

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
  max_multiplier TEXT,
  -- Those of the key, and those of the person who is its owner.
  addresses  TEXT,
  owner_addresses TEXT,
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

CREATE TRIGGER key_multiplier BEFORE INSERT ON key_changes WHEN NEW.multiplier IS NOT NULL OR NEW.max_multiplier IS NOT NULL BEGIN
  SELECT RAISE(ABORT, 'keys.multiplier, keys.max_multiplier: must be NULL or a plain decimal of at most 4 fractional digits, at most 1000000')
    FROM (SELECT NEW.multiplier AS given UNION ALL SELECT NEW.max_multiplier)
    WHERE given IS NOT NULL AND (typeof(given) <> 'text' OR length(CAST(given AS BLOB)) > 12
      OR given GLOB '*[^0-9.]*' OR given NOT GLOB '[0-9]*' OR given NOT GLOB '*[0-9]'
      OR given GLOB '*.*.*'
      OR (instr(given, '.') > 0 AND length(given) - instr(given, '.') > 4)
      OR CAST(given AS INTEGER) > 1000000
      OR (CAST(given AS INTEGER) = 1000000 AND given GLOB '*.*[1-9]*'));
  SELECT RAISE(ABORT, 'keys.max_multiplier: has no meaning beside multiplier, which holds for every source')
    WHERE NEW.multiplier IS NOT NULL AND NEW.max_multiplier IS NOT NULL;
END;

CREATE TRIGGER keys_inserted AFTER INSERT ON keys BEGIN
  UPDATE key_feed SET head = max(head + 1, CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
  DELETE FROM key_changes WHERE sha256 = NEW.sha256;
  INSERT INTO key_changes (version, sha256, id, group_id, owner, team, counts_as, models, multiplier, max_multiplier,
    addresses, owner_addresses, expires_at, disabled, limits)
    SELECT head, NEW.sha256, NEW.id, NEW.group_id, NEW.owner, NEW.team, NEW.counts_as, NEW.models, NEW.multiplier,
      NEW.max_multiplier, NEW.addresses, (SELECT addresses FROM people WHERE id = NEW.owner), NEW.expires_at, NEW.disabled, NEW.limits FROM key_feed;
END;

CREATE TRIGGER keys_updated AFTER UPDATE ON keys
WHEN NEW.sha256 = OLD.sha256 AND (NEW.id <> OLD.id OR NEW.group_id <> OLD.group_id OR NEW.owner IS NOT OLD.owner
  OR NEW.team IS NOT OLD.team OR NEW.counts_as IS NOT OLD.counts_as OR NEW.models IS NOT OLD.models OR NEW.multiplier IS NOT OLD.multiplier
  OR NEW.max_multiplier IS NOT OLD.max_multiplier OR NEW.addresses IS NOT OLD.addresses
  OR (SELECT addresses FROM people WHERE id = NEW.owner) IS NOT (SELECT owner_addresses FROM key_changes WHERE sha256 = NEW.sha256)
  OR NEW.expires_at IS NOT OLD.expires_at OR NEW.disabled <> OLD.disabled OR NEW.limits IS NOT OLD.limits) BEGIN
  UPDATE key_feed SET head = max(head + 1, CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
  DELETE FROM key_changes WHERE sha256 = NEW.sha256;
  INSERT INTO key_changes (version, sha256, id, group_id, owner, team, counts_as, models, multiplier, max_multiplier,
    addresses, owner_addresses, expires_at, disabled, limits)
    SELECT head, NEW.sha256, NEW.id, NEW.group_id, NEW.owner, NEW.team, NEW.counts_as, NEW.models, NEW.multiplier,
      NEW.max_multiplier, NEW.addresses, (SELECT addresses FROM people WHERE id = NEW.owner), NEW.expires_at, NEW.disabled, NEW.limits FROM key_feed;
END;

CREATE TRIGGER keys_exchanged AFTER UPDATE OF sha256 ON keys WHEN NEW.sha256 <> OLD.sha256 BEGIN
  UPDATE key_feed SET head = max(head + 2, CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
  DELETE FROM key_changes WHERE sha256 IN (OLD.sha256, NEW.sha256);
  INSERT INTO key_changes (version, sha256, removed_at)
    SELECT head - 1, OLD.sha256, CAST(strftime('%s', 'now') AS INTEGER) FROM key_feed;
  INSERT INTO key_changes (version, sha256, id, group_id, owner, team, counts_as, models, multiplier, max_multiplier,
    addresses, owner_addresses, expires_at, disabled, limits)
    SELECT head, NEW.sha256, NEW.id, NEW.group_id, NEW.owner, NEW.team, NEW.counts_as, NEW.models, NEW.multiplier,
      NEW.max_multiplier, NEW.addresses, (SELECT addresses FROM people WHERE id = NEW.owner), NEW.expires_at, NEW.disabled, NEW.limits FROM key_feed;
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

-- === The ledger.

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
  -- Digests of its ids, NULL where it has none: Envoy's, the vendor's of its response and of the request there, and its session's.
  request_digest  BIGINT,
  response_digest BIGINT,
  upstream_digest BIGINT,
  session_digest  BIGINT,
  line     TEXT NOT NULL,
  PRIMARY KEY (taken_on, envoy_id, file_id, position)
);

-- Lines of one moment stand in the order of their positions: an index without the names of files is a third as long.
CREATE INDEX requests_by_time ON requests (at, position);
CREATE INDEX requests_by_key ON requests (key_id, at, position);
CREATE INDEX requests_by_owner ON requests (owner, at, position);
CREATE INDEX requests_by_request_digest ON requests (taken_on, request_digest) WHERE request_digest IS NOT NULL;
CREATE INDEX requests_by_response_digest ON requests (taken_on, response_digest) WHERE response_digest IS NOT NULL;
CREATE INDEX requests_by_upstream_digest ON requests (taken_on, upstream_digest) WHERE upstream_digest IS NOT NULL;
CREATE INDEX requests_by_session_digest ON requests (taken_on, session_digest) WHERE session_digest IS NOT NULL;
