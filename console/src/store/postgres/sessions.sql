-- Who is signed in to the pages, and how one signs in. Only digests are kept.

CREATE TABLE sessions (
  digest     TEXT NOT NULL PRIMARY KEY,
  person_id  TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
  -- The person's role when the session began: it ends when that is another one.
  role       TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  used_at    BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX sessions_by_person ON sessions (person_id);

-- Links that sign a person in, once.
CREATE TABLE sign_in_links (
  digest     TEXT NOT NULL PRIMARY KEY,
  person_id  TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX sign_in_links_by_person ON sign_in_links (person_id);

CREATE TABLE passwords (
  person_id  TEXT NOT NULL PRIMARY KEY REFERENCES people (id) ON DELETE CASCADE,
  -- Argon2id, with its salt and parameters.
  hash       TEXT NOT NULL,
  changed_at BIGINT NOT NULL
);

-- How often signing in failed, by address and by person. Persons are digests, so that unknown names are not kept.
CREATE TABLE sign_in_failures (
  subject  TEXT NOT NULL PRIMARY KEY,
  failures BIGINT NOT NULL,
  at       BIGINT NOT NULL,
  -- Until when no further attempt is looked at.
  until    BIGINT NOT NULL
);
