-- The keys of the console on this machine, and where its feed goes on: one row.
CREATE TABLE key_feed (
  one       INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  -- The name of this copy's own sequence of versions, and the greatest of them.
  feed      TEXT NOT NULL,
  head      INTEGER NOT NULL,
  -- The greatest version of a removal that is forgotten.
  compacted INTEGER NOT NULL,
  -- Where the console's feed goes on. NULL: a full sync is due, or was under way.
  cursor    TEXT,
  -- Whether all keys were here once.
  complete  INTEGER NOT NULL,
  -- Which full sync this is.
  sync      INTEGER NOT NULL
);
INSERT INTO key_feed (one, feed, head, compacted, cursor, complete, sync)
  VALUES (1, lower(hex(randomblob(16))), 0, 0, NULL, 0, 0);

CREATE TABLE keys (
  sha256     TEXT NOT NULL PRIMARY KEY,
  version    INTEGER NOT NULL UNIQUE,
  -- As the feed tells it, a JSON object without its version.
  told       TEXT NOT NULL,
  -- When it was removed, in seconds since 1970; NULL: it exists.
  removed_at INTEGER,
  -- The full sync that has named it last.
  sync       INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX removals ON keys (removed_at) WHERE removed_at IS NOT NULL;
