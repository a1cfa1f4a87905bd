-- The keys. Change them by any SQL, from any program; the rest follows by triggers.
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
  expires_at TEXT
             CONSTRAINT "expires_at must be NULL or a time such as 2027-01-01T00:00:00Z"
             CHECK (expires_at IS NULL OR (length(CAST(expires_at AS BLOB)) = 20 AND
                    coalesce(strftime('%Y-%m-%dT%H:%M:%SZ', expires_at, '+0 days') = expires_at, 0))),
  disabled   INTEGER NOT NULL DEFAULT 0
             CONSTRAINT "disabled must be 0 or 1"
             CHECK (disabled IN (0, 1))
) WITHOUT ROWID;
CREATE INDEX keys_by_id ON keys (id);

-- The feed: one row.
CREATE TABLE key_feed (
  one       INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  format    INTEGER NOT NULL,
  -- Which sequence of versions this is. After a backup was restored: UPDATE key_feed SET feed = lower(hex(randomblob(16)))
  feed      TEXT NOT NULL CHECK (length(feed) BETWEEN 1 AND 64 AND feed NOT GLOB '*[^A-Za-z0-9]*'),
  -- The greatest version assigned. Versions follow the clock (microseconds since 1970) where it goes forward, so that those
  -- which a crash or a restored backup has taken back are not given again to other changes.
  head      INTEGER NOT NULL,
  -- The greatest version of a removal that is forgotten.
  compacted INTEGER NOT NULL DEFAULT 0
);
INSERT INTO key_feed (one, format, feed, head)
  VALUES (1, 1, lower(hex(randomblob(16))), CAST(strftime('%s', 'now') AS INTEGER) * 1000000);

-- What the feed says of each key that exists, or was removed not long ago. A copy of the key, so that a page is read from one
-- place, in the order of versions.
CREATE TABLE key_changes (
  version    INTEGER NOT NULL PRIMARY KEY,
  sha256     TEXT NOT NULL UNIQUE,
  id         TEXT,
  group_id   TEXT,
  expires_at TEXT,
  disabled   INTEGER,
  -- When it was removed, in seconds since 1970; then the four before are NULL.
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

CREATE TRIGGER keys_inserted AFTER INSERT ON keys BEGIN
  UPDATE key_feed SET head = max(head + 1, CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
  DELETE FROM key_changes WHERE sha256 = NEW.sha256;
  INSERT INTO key_changes (version, sha256, id, group_id, expires_at, disabled)
    SELECT head, NEW.sha256, NEW.id, NEW.group_id, NEW.expires_at, NEW.disabled FROM key_feed;
END;

CREATE TRIGGER keys_deleted AFTER DELETE ON keys BEGIN
  UPDATE key_feed SET head = max(head + 1, CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
  DELETE FROM key_changes WHERE sha256 = OLD.sha256;
  INSERT INTO key_changes (version, sha256, removed_at)
    SELECT head, OLD.sha256, CAST(strftime('%s', 'now') AS INTEGER) FROM key_feed;
END;

CREATE TRIGGER keys_updated AFTER UPDATE ON keys
WHEN NEW.sha256 = OLD.sha256 AND (NEW.id <> OLD.id OR NEW.group_id <> OLD.group_id
  OR NEW.expires_at IS NOT OLD.expires_at OR NEW.disabled <> OLD.disabled) BEGIN
  UPDATE key_feed SET head = max(head + 1, CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
  DELETE FROM key_changes WHERE sha256 = NEW.sha256;
  INSERT INTO key_changes (version, sha256, id, group_id, expires_at, disabled)
    SELECT head, NEW.sha256, NEW.id, NEW.group_id, NEW.expires_at, NEW.disabled FROM key_feed;
END;

-- Another digest is another key; the one before is gone.
CREATE TRIGGER keys_exchanged AFTER UPDATE OF sha256 ON keys WHEN NEW.sha256 <> OLD.sha256 BEGIN
  UPDATE key_feed SET head = max(head + 2, CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
  DELETE FROM key_changes WHERE sha256 IN (OLD.sha256, NEW.sha256);
  INSERT INTO key_changes (version, sha256, removed_at)
    SELECT head - 1, OLD.sha256, CAST(strftime('%s', 'now') AS INTEGER) FROM key_feed;
  INSERT INTO key_changes (version, sha256, id, group_id, expires_at, disabled)
    SELECT head, NEW.sha256, NEW.id, NEW.group_id, NEW.expires_at, NEW.disabled FROM key_feed;
END;
