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
