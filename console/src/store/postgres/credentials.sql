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
);
