-- What requests are looked for by, beside what lines of the release before have. Empty where a line has none.
ALTER TABLE requests ADD COLUMN team TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN account TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN status TEXT NOT NULL DEFAULT '';

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
