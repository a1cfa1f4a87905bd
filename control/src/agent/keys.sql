-- The keys of the console on this machine, and where its feed goes on: one row.
CREATE TABLE key_feed (
  one       INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  -- The full sync of the console's feed whose keys are served, and the name that they are served under: another one for each,
  -- so that a gateway reads all keys after one.
  sync      INTEGER NOT NULL,
  feed      TEXT NOT NULL,
  -- The greatest version that is here, and the greatest of a removal that is forgotten.
  head      INTEGER NOT NULL,
  compacted INTEGER NOT NULL,
  -- Where the console's feed goes on. NULL: a full sync is due, or was under way.
  cursor    TEXT,
  -- Whether all keys were here once.
  complete  INTEGER NOT NULL
);
INSERT INTO key_feed (one, sync, feed, head, compacted, cursor, complete) VALUES (1, 0, '', 0, 0, NULL, 0);

CREATE TABLE keys (
  -- The full sync that it is of: those of one that is under way are not served yet.
  sync       INTEGER NOT NULL,
  sha256     TEXT NOT NULL,
  version    INTEGER NOT NULL,
  -- As the feed writes it, a JSON object.
  change     TEXT NOT NULL,
  -- When it was removed, in seconds since 1970; NULL: it exists.
  removed_at INTEGER,
  PRIMARY KEY (sync, sha256)
) WITHOUT ROWID;
CREATE INDEX versions ON keys (sync, version);
CREATE INDEX removals ON keys (removed_at) WHERE removed_at IS NOT NULL;
