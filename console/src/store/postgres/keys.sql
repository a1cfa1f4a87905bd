-- The keys, in PostgreSQL: the table that SQLite has, with the same rules. Change keys by any SQL, from any program; the rest
-- follows by triggers.

-- Whether this is a time such as 2027-01-01T00:00:00Z.
CREATE FUNCTION trilane_is_time(given text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN given ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$' AND
    to_char(given::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') = given;
EXCEPTION WHEN data_exception THEN
  RETURN false;
END $$;

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

CREATE TABLE keys (
  sha256     TEXT NOT NULL PRIMARY KEY
             CONSTRAINT "sha256 must be 64 hexadecimal digits in lower case" CHECK (sha256 ~ '^[0-9a-f]{64}$'),
  id         TEXT NOT NULL CONSTRAINT "keys.id: is the id of another key too" UNIQUE
             CONSTRAINT "id must be 1 to 64 letters, digits or any of - _ . :" CHECK (id ~ '^[-A-Za-z0-9_.:]{1,64}$'),
  group_id   TEXT NOT NULL
             CONSTRAINT "group_id must be 1 to 64 letters, digits or any of - _ . :" CHECK (group_id ~ '^[-A-Za-z0-9_.:]{1,64}$'),
  expires_at TEXT
             CONSTRAINT "expires_at must be NULL or a time such as 2027-01-01T00:00:00Z" CHECK (trilane_is_time(expires_at)),
  disabled   BOOLEAN NOT NULL DEFAULT false,
  limits     TEXT,
  owner      TEXT
             CONSTRAINT "owner must be NULL or a text of 1 to 128 bytes without control characters"
             CHECK (octet_length(owner) BETWEEN 1 AND 128 AND owner !~ '[\u0001-\u001f\u007f-\u009f]'),
  -- Notes of whoever issues keys. They stay here: no feed gives them.
  label      TEXT,
  created_at TEXT,
  -- The last four characters of the key, and who made it.
  hint       TEXT,
  created_by TEXT
);

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

-- What the feed says of each key that exists, or was removed not long ago.
CREATE TABLE key_changes (
  version    BIGINT NOT NULL PRIMARY KEY,
  sha256     TEXT NOT NULL UNIQUE,
  id         TEXT,
  group_id   TEXT,
  owner      TEXT,
  expires_at TEXT,
  disabled   BOOLEAN,
  limits     TEXT,
  -- When it was removed, in seconds since 1970; then all between are NULL.
  removed_at BIGINT
);
CREATE INDEX key_removals ON key_changes (removed_at) WHERE removed_at IS NOT NULL;

-- The next version. The row of the feed stays locked until the transaction ends: versions become visible in their order, and a
-- reader that has seen one has seen all before it, however late a transaction commits.
CREATE FUNCTION trilane_next_version() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  UPDATE key_feed SET head = greatest(head + 1, floor(extract(epoch FROM clock_timestamp()))::bigint * 1000000) RETURNING head
$$;

-- The lock is taken before any key is locked: two transactions that wait for each other's keys and for it would never end.
CREATE FUNCTION trilane_keys_lock() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM key_feed FOR UPDATE;
  RETURN NULL;
END $$;
CREATE TRIGGER keys_lock BEFORE INSERT OR UPDATE OR DELETE ON keys FOR EACH STATEMENT EXECUTE FUNCTION trilane_keys_lock();

CREATE FUNCTION trilane_keys_truncated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'keys: DELETE them, for TRUNCATE tells no gateway';
END $$;
CREATE TRIGGER keys_truncated BEFORE TRUNCATE ON keys FOR EACH STATEMENT EXECUTE FUNCTION trilane_keys_truncated();

CREATE FUNCTION trilane_key_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  problem text;
BEGIN
  IF TG_OP = 'UPDATE' AND (NEW.sha256, NEW.id, NEW.group_id, NEW.owner, NEW.expires_at, NEW.disabled, NEW.limits)
    IS NOT DISTINCT FROM (OLD.sha256, OLD.id, OLD.group_id, OLD.owner, OLD.expires_at, OLD.disabled, OLD.limits) THEN
    RETURN NULL;
  END IF;
  IF TG_OP = 'DELETE' OR (TG_OP = 'UPDATE' AND NEW.sha256 <> OLD.sha256) THEN
    -- Another digest is another key; the one before is gone.
    DELETE FROM key_changes WHERE sha256 = OLD.sha256;
    INSERT INTO key_changes (version, sha256, removed_at)
      VALUES (trilane_next_version(), OLD.sha256, floor(extract(epoch FROM clock_timestamp()))::bigint);
  END IF;
  IF TG_OP <> 'DELETE' THEN
    -- A page with bad limits is refused whole by every gateway, so none may get in here.
    problem := trilane_limits_problem(NEW.limits);
    IF problem IS NOT NULL THEN
      RAISE EXCEPTION 'keys.limits: %', problem USING ERRCODE = 'check_violation';
    END IF;
    DELETE FROM key_changes WHERE sha256 = NEW.sha256;
    INSERT INTO key_changes (version, sha256, id, group_id, owner, expires_at, disabled, limits)
      VALUES (trilane_next_version(), NEW.sha256, NEW.id, NEW.group_id, NEW.owner, NEW.expires_at, NEW.disabled, NEW.limits);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER keys_changed AFTER INSERT OR UPDATE OR DELETE ON keys FOR EACH ROW EXECUTE FUNCTION trilane_key_changed();
