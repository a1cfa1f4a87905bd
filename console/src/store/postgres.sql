-- The tables of the console that are written otherwise for PostgreSQL than for SQLite (sqlite.sql). tables.sql has the others.

-- === Keys, and the feed that gateways read them from.

-- Whether this is a time such as 2027-01-01T00:00:00Z.
CREATE FUNCTION trilane_is_time(given text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN given ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$' AND
    to_char(given::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') = given;
EXCEPTION WHEN data_exception THEN
  RETURN false;
END $$;

-- Whether this is a multiplier such as 0.2000.
CREATE FUNCTION trilane_is_multiplier(given text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN given ~ '^[0-9]{1,7}(\.[0-9]{1,4})?$' THEN given::numeric <= 1000000 WHEN given IS NOT NULL THEN false END
$$;

-- What is wrong with the limits of a key; NULL: nothing.
CREATE FUNCTION trilane_limits_problem(given text) RETURNS text LANGUAGE plpgsql STABLE STRICT AS $$
DECLARE
  form constant text := 'must be NULL or a JSON object of at most 1000 bytes';
  other constant text := 'has a member that limits of a document have not, or a value that they cannot have';
  -- Plain decimals of at most 20 fractional digits, below 10^9.
  amount constant text := '^[0-9]{1,9}(\.[0-9]{1,20})?$';
  whole json;
  budget json;
  spent json;
BEGIN
  IF octet_length(given) > 1000 THEN
    RETURN form;
  END IF;
  BEGIN
    whole := given::json;
  EXCEPTION WHEN data_exception THEN
    RETURN form;
  END;
  IF json_typeof(whole) <> 'object' THEN
    RETURN form;
  END IF;
  budget := CASE WHEN json_typeof(whole -> 'budget') = 'object' THEN whole -> 'budget' ELSE '{}' END;
  spent := CASE WHEN json_typeof(budget -> 'spent') = 'object' THEN budget -> 'spent' ELSE '{}' END;
  IF (SELECT count(*) <> count(DISTINCT key) FROM json_each(whole))
    OR (SELECT count(*) <> count(DISTINCT key) FROM json_each(budget))
    OR (SELECT count(*) <> count(DISTINCT key) FROM json_each(spent)) THEN
    RETURN 'has a member twice';
  END IF;
  IF EXISTS (SELECT FROM json_each(whole) WHERE NOT coalesce(CASE
      WHEN key IN ('requests_per_minute', 'input_tokens_per_minute', 'output_tokens_per_minute', 'concurrent_requests')
        THEN json_typeof(value) = 'null' OR (value::text ~ '^[1-9][0-9]{0,9}$' AND value::text::bigint <= 1000000000)
      WHEN key = 'budget' THEN json_typeof(value) IN ('object', 'null')
    END, false))
    OR EXISTS (SELECT FROM json_each(budget) WHERE NOT coalesce(CASE
      WHEN key IN ('per_day', 'per_month') THEN json_typeof(value) = 'null' OR (json_typeof(value) = 'string'
        AND value #>> '{}' ~ amount AND value #>> '{}' ~ '[1-9]')
      WHEN key = 'spent' THEN json_typeof(value) IN ('object', 'null')
    END, false))
    OR EXISTS (SELECT FROM json_each(spent) WHERE NOT coalesce(CASE
      WHEN key = 'at' THEN json_typeof(value) = 'string' AND trilane_is_time(value #>> '{}')
      WHEN key IN ('in_day', 'in_month') THEN json_typeof(value) = 'null'
        OR (json_typeof(value) = 'string' AND value #>> '{}' ~ amount)
    END, false)) THEN
    RETURN other;
  END IF;
  IF NOT EXISTS (SELECT FROM json_each(whole) WHERE json_typeof(value) <> 'null') THEN
    RETURN 'limits nothing: put NULL';
  END IF;
  IF json_typeof(whole -> 'budget') = 'object' AND budget ->> 'per_day' IS NULL AND budget ->> 'per_month' IS NULL THEN
    RETURN 'budget needs per_day or per_month';
  END IF;
  IF json_typeof(budget -> 'spent') = 'object' AND spent ->> 'at' IS NULL THEN
    RETURN 'budget.spent needs at';
  END IF;
  IF (spent ->> 'in_month')::numeric < (spent ->> 'in_day')::numeric THEN
    RETURN 'budget.spent.in_month is less than in_day, which is part of it';
  END IF;
  RETURN NULL;
EXCEPTION WHEN data_exception OR feature_not_supported THEN
  RETURN other;
END $$;

-- What is wrong with the models of a key; NULL: nothing.
CREATE FUNCTION trilane_models_problem(given text) RETURNS text LANGUAGE plpgsql STABLE STRICT AS $$
DECLARE
  form constant text := 'must be NULL or a JSON list of 1 to 64 names of models';
  whole json;
BEGIN
  IF octet_length(given) > 9000 OR given ~ '[^ -~]' THEN
    RETURN form;
  END IF;
  BEGIN
    whole := given::json;
  EXCEPTION WHEN data_exception THEN
    RETURN form;
  END;
  IF json_typeof(whole) <> 'array' OR json_array_length(whole) NOT BETWEEN 1 AND 64 THEN
    RETURN form;
  END IF;
  IF EXISTS (SELECT FROM json_array_elements(whole) WHERE json_typeof(value) <> 'string'
    OR value #>> '{}' !~ '^[]A-Za-z0-9_.:/@+[-]{1,128}$') THEN
    RETURN 'each must be 1 to 128 letters, digits or any of - _ . : / @ + [ ]';
  END IF;
  IF (SELECT count(*) <> count(DISTINCT value #>> '{}') FROM json_array_elements(whole)) THEN
    RETURN 'names a model twice';
  END IF;
  RETURN NULL;
EXCEPTION WHEN data_exception OR feature_not_supported THEN
  RETURN form;
END $$;

-- Change keys by any SQL, from any program: triggers do the rest.
CREATE TABLE keys (
  -- The digest of the key. An error names the constraint, so the names say what is wanted.
  sha256     TEXT NOT NULL PRIMARY KEY
             CONSTRAINT "sha256 must be 64 hexadecimal digits in lower case" CHECK (sha256 ~ '^[0-9a-f]{64}$'),
  id         TEXT NOT NULL CONSTRAINT "keys.id: is the id of another key too" UNIQUE
             CONSTRAINT "id must be 1 to 64 letters, digits or any of - _ . :" CHECK (id ~ '^[-A-Za-z0-9_.:]{1,64}$'),
  group_id   TEXT NOT NULL
             CONSTRAINT "group_id must be 1 to 64 letters, digits or any of - _ . :" CHECK (group_id ~ '^[-A-Za-z0-9_.:]{1,64}$'),
  -- NULL, or a text for ledgers; the team that the key belongs to.
  owner      TEXT
             CONSTRAINT "owner must be NULL or a text of 1 to 128 bytes without control characters"
             CHECK (octet_length(owner) BETWEEN 1 AND 128 AND owner !~ '[\u0001-\u001f\u007f-\u009f]'),
  team       TEXT
             CONSTRAINT "team must be 1 to 64 letters, digits or any of - _ . :" CHECK (team ~ '^[-A-Za-z0-9_.:]{1,64}$'),
  -- NULL, or the id of the key in whose counters its limits count: the old value of a key that was rotated has the key's.
  counts_as  TEXT
             CONSTRAINT "counts_as must be 1 to 64 letters, digits or any of - _ . :" CHECK (counts_as ~ '^[-A-Za-z0-9_.:]{1,64}$'),
  -- NULL, or a JSON list of those models of its group that the key may use.
  models     TEXT,
  -- NULL, or the final multiplier of the key's requests, such as 0.2000.
  multiplier TEXT
             CONSTRAINT "multiplier must be a plain decimal, at most 1000000"
             CHECK (trilane_is_multiplier(multiplier)),
  -- NULL, or the greatest final multiplier that the key pays. A key with a multiplier of its own has none.
  max_multiplier TEXT
             CONSTRAINT "max_multiplier must be a plain decimal, at most 1000000"
             CHECK (trilane_is_multiplier(max_multiplier))
             CONSTRAINT "max_multiplier has no meaning beside multiplier"
             CHECK (multiplier IS NULL OR max_multiplier IS NULL),
  -- NULL, or a JSON list of the addresses and ranges from which the key may be used; none: from nowhere.
  addresses  TEXT
             CONSTRAINT "addresses must be NULL or a JSON list of addresses and ranges such as 10.0.0.0/8"
             CHECK (length(addresses) < 4000
                    AND addresses ~ '^\[ *("[0-9A-Fa-f.:/]+"( *, *"[0-9A-Fa-f.:/]+")*)? *\]$'),
  expires_at TEXT
             CONSTRAINT "expires_at must be NULL or a time such as 2027-01-01T00:00:00Z" CHECK (trilane_is_time(expires_at)),
  disabled   BOOLEAN NOT NULL DEFAULT false,
  -- NULL, or a JSON object as `limits` is in a document.
  limits     TEXT,
  -- Notes, which no feed gives: a text, when the key was made and by whom, and its last four characters.
  label      TEXT,
  created_at TEXT,
  created_by TEXT,
  hint       TEXT,
  -- NULL, or the person with whom the key was disabled: it is enabled again with that person.
  disabled_with TEXT
);

-- Lists of the keys of one owner or one group, in the order of their ids.
CREATE INDEX keys_by_owner ON keys (owner, id);
CREATE INDEX keys_by_group ON keys (group_id, id);

-- What members may make is counted by owner and team.
CREATE INDEX keys_by_team ON keys (team, owner) WHERE team IS NOT NULL;
CREATE INDEX keys_by_counters ON keys (counts_as) WHERE counts_as IS NOT NULL;
CREATE INDEX keys_disabled_with ON keys (disabled_with) WHERE disabled_with IS NOT NULL;

-- The feed: one row.
CREATE TABLE key_feed (
  one       INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  -- Which sequence of versions this is. After a backup was restored: UPDATE key_feed SET feed = replace(gen_random_uuid()::text, '-', '')
  feed      TEXT NOT NULL CHECK (feed ~ '^[A-Za-z0-9]{1,64}$'),
  -- The greatest version assigned. Versions follow the clock (microseconds since 1970) where it goes forward, so that those
  -- which a crash or a restored backup has taken back are not given again to other changes.
  head      BIGINT NOT NULL,
  -- The greatest version of a removal that is forgotten.
  compacted BIGINT NOT NULL DEFAULT 0
);
INSERT INTO key_feed (one, feed, head)
  VALUES (1, replace(gen_random_uuid()::text, '-', ''), floor(extract(epoch FROM clock_timestamp()))::bigint * 1000000);

-- What the feed says of each key that exists, or was removed not long ago. A copy of the key, so that a page is read from one
-- place, in the order of versions.
CREATE TABLE key_changes (
  -- NULL: it has none yet.
  version    BIGINT UNIQUE,
  sha256     TEXT NOT NULL PRIMARY KEY,
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
  disabled   BOOLEAN,
  limits     TEXT,
  -- When it was removed, in seconds since 1970; then all between are NULL.
  removed_at BIGINT,
  -- NULL: its version is that of its latest change. Otherwise it waits for that one, those with less first: 0 is a revocation, 1 another
  -- change, 2 and 3 are the same of a statement that changes many.
  due        SMALLINT
);
CREATE INDEX key_removals ON key_changes (removed_at) WHERE removed_at IS NOT NULL;
CREATE INDEX key_changes_due ON key_changes (due) WHERE due IS NOT NULL;

-- Gives changes that were committed their versions, so many at most, and says how many. It is short, and the row of the feed stays locked
-- until it ends: versions become visible in their order, and a reader that has seen one has seen all before it. Those who change keys lock
-- nothing but these: no other change waits for theirs, however many there are and however late they commit.
CREATE FUNCTION trilane_give_versions(most bigint) RETURNS bigint LANGUAGE plpgsql
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
  digests text[];
  many bigint;
  last_version bigint;
BEGIN
  IF NOT EXISTS (SELECT FROM key_changes WHERE due IS NOT NULL) THEN
    RETURN 0;
  END IF;
  PERFORM 1 FROM key_feed FOR UPDATE;
  -- One that somebody is changing again waits until that is committed.
  digests := ARRAY(SELECT sha256 FROM key_changes WHERE due IS NOT NULL ORDER BY due LIMIT most FOR UPDATE SKIP LOCKED);
  many := cardinality(digests);
  IF many > 0 THEN
    UPDATE key_feed SET head = greatest(head, floor(extract(epoch FROM clock_timestamp()))::bigint * 1000000 - 1) + many
      RETURNING head INTO last_version;
    UPDATE key_changes SET version = last_version - many + given.place, due = NULL
      FROM unnest(digests) WITH ORDINALITY AS given (sha256, place) WHERE key_changes.sha256 = given.sha256;
  END IF;
  RETURN many;
END $$;

CREATE FUNCTION trilane_keys_truncated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'keys: DELETE them, for TRUNCATE tells no gateway';
END $$;
CREATE TRIGGER keys_truncated BEFORE TRUNCATE ON keys FOR EACH STATEMENT EXECUTE FUNCTION trilane_keys_truncated();

-- Each key is looked for by its digest: a session keeps a plan, and one that was made for a million keys would read the whole
-- table for one. The row of the feed has no index; PostgreSQL takes reading it for so dear that it would compile the statement.
CREATE FUNCTION trilane_keys_changed() RETURNS trigger LANGUAGE plpgsql
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
  problem text;
  of_many integer;
BEGIN
  IF TG_OP <> 'INSERT' THEN
    -- Another digest is another key; the one before is gone.
    SELECT CASE WHEN count(*) > 1000 THEN 2 ELSE 0 END INTO of_many FROM old_keys;
    UPDATE key_changes SET id = NULL, group_id = NULL, owner = NULL, team = NULL, counts_as = NULL, models = NULL, multiplier = NULL,
        max_multiplier = NULL, addresses = NULL, owner_addresses = NULL, expires_at = NULL, disabled = NULL, limits = NULL,
        removed_at = floor(extract(epoch FROM clock_timestamp()))::bigint, due = of_many
      FROM old_keys WHERE key_changes.sha256 = old_keys.sha256
        AND NOT EXISTS (SELECT FROM keys WHERE keys.sha256 = old_keys.sha256);
  END IF;
  IF TG_OP <> 'DELETE' THEN
    -- A page with bad limits or models is refused whole by every gateway, so none may get in here.
    SELECT trilane_limits_problem(limits) INTO problem FROM new_keys WHERE trilane_limits_problem(limits) IS NOT NULL LIMIT 1;
    IF problem IS NOT NULL THEN
      RAISE EXCEPTION 'keys.limits: %', problem USING ERRCODE = 'check_violation';
    END IF;
    SELECT trilane_models_problem(models) INTO problem FROM new_keys WHERE trilane_models_problem(models) IS NOT NULL LIMIT 1;
    IF problem IS NOT NULL THEN
      RAISE EXCEPTION 'keys.models: %', problem USING ERRCODE = 'check_violation';
    END IF;
    SELECT CASE WHEN count(*) > 1000 THEN 2 ELSE 0 END INTO of_many FROM new_keys;
    INSERT INTO key_changes AS said (sha256, id, group_id, owner, team, counts_as, models, multiplier, max_multiplier, addresses,
        owner_addresses, expires_at, disabled, limits, due)
      SELECT sha256, id, group_id, owner, team, counts_as, models, multiplier, max_multiplier, addresses,
        (SELECT people.addresses FROM people WHERE people.id = new_keys.owner), expires_at, disabled, limits,
        of_many + CASE WHEN disabled THEN 0 ELSE 1 END
      FROM new_keys ORDER BY sha256
    ON CONFLICT (sha256) DO UPDATE SET id = excluded.id, group_id = excluded.group_id, owner = excluded.owner, team = excluded.team,
      counts_as = excluded.counts_as, models = excluded.models, multiplier = excluded.multiplier, max_multiplier = excluded.max_multiplier,
      addresses = excluded.addresses, owner_addresses = excluded.owner_addresses, expires_at = excluded.expires_at, disabled = excluded.disabled, limits = excluded.limits, removed_at = NULL, due = excluded.due
      -- What the feed says of them already is said no second time.
      WHERE said.removed_at IS NOT NULL
        OR (said.id, said.group_id, said.owner, said.team, said.counts_as, said.models, said.multiplier, said.max_multiplier,
          said.addresses, said.owner_addresses, said.expires_at, said.disabled, said.limits)
          IS DISTINCT FROM
          (excluded.id, excluded.group_id, excluded.owner, excluded.team, excluded.counts_as, excluded.models, excluded.multiplier,
            excluded.max_multiplier, excluded.addresses, excluded.owner_addresses, excluded.expires_at, excluded.disabled, excluded.limits);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER keys_inserted AFTER INSERT ON keys REFERENCING NEW TABLE AS new_keys
  FOR EACH STATEMENT EXECUTE FUNCTION trilane_keys_changed();
CREATE TRIGGER keys_updated AFTER UPDATE ON keys REFERENCING OLD TABLE AS old_keys NEW TABLE AS new_keys
  FOR EACH STATEMENT EXECUTE FUNCTION trilane_keys_changed();
CREATE TRIGGER keys_deleted AFTER DELETE ON keys REFERENCING OLD TABLE AS old_keys
  FOR EACH STATEMENT EXECUTE FUNCTION trilane_keys_changed();

-- === Search of keys: which have a text somewhere in their id, owner, label or hint. The console fills it in the background
-- (`key_grams.rs`), so a program that changes keys by SQL needs no extension.

-- Keys whose texts were changed, or that are gone, since they were last looked at. One may be here several times.
CREATE TABLE key_search_due (
  number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id     TEXT NOT NULL
);

CREATE TABLE key_search (
  id    TEXT NOT NULL PRIMARY KEY,
  grams TSVECTOR NOT NULL
);

-- What waits to be merged into it is read by every search, so little may wait.
CREATE INDEX key_search_by_gram ON key_search USING gin (grams) WITH (gin_pending_list_limit = 512);

CREATE FUNCTION trilane_key_search_due() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' AND (TG_OP = 'DELETE' OR NEW.id <> OLD.id) THEN
    INSERT INTO key_search_due (id) VALUES (OLD.id);
  END IF;
  IF TG_OP = 'INSERT' OR (TG_OP = 'UPDATE'
    AND (NEW.id, NEW.owner, NEW.label, NEW.hint) IS DISTINCT FROM (OLD.id, OLD.owner, OLD.label, OLD.hint)) THEN
    INSERT INTO key_search_due (id) VALUES (NEW.id);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER keys_search AFTER INSERT OR DELETE OR UPDATE OF id, owner, label, hint ON keys
  FOR EACH ROW EXECUTE FUNCTION trilane_key_search_due();

-- === The ledger.

-- Lines of the ledger, for some days: a partition for each day. `taken_on` is the console's day, so that no clock of a gateway
-- decides which partitions there are. Numbers come before texts in indexes: every line that is taken is compared with many others.
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
  PRIMARY KEY (position, file_id, envoy_id, taken_on)
) PARTITION BY LIST (taken_on);

-- Lines of one moment stand in the order of their positions: an index without the names of files is a third as long.
CREATE INDEX requests_by_time ON requests (at, position);
CREATE INDEX requests_by_key ON requests (key_id, at, position);
CREATE INDEX requests_by_owner ON requests (owner, at, position);
CREATE INDEX requests_by_request_digest ON requests (request_digest) WHERE request_digest IS NOT NULL;
CREATE INDEX requests_by_response_digest ON requests (response_digest) WHERE response_digest IS NOT NULL;
CREATE INDEX requests_by_upstream_digest ON requests (upstream_digest) WHERE upstream_digest IS NOT NULL;
CREATE INDEX requests_by_session_digest ON requests (session_digest) WHERE session_digest IS NOT NULL;
