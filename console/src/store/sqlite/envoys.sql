-- The Envoys whose agents are known. Each is a person of the role `agent` too, with the same id.
CREATE TABLE envoys (
  id          TEXT NOT NULL PRIMARY KEY REFERENCES people (id),
  -- The digest of the enrolment token, until it is used, and until when it is good.
  enrolment   TEXT UNIQUE,
  enrol_until BIGINT,
  enrolled_at BIGINT,
  -- What its agent said last, as JSON, and when.
  report      TEXT,
  seen_at     BIGINT,
  created_at  BIGINT NOT NULL
) WITHOUT ROWID;
