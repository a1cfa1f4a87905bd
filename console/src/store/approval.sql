-- Which agents may have credentials of accounts: somebody on the console's machine says so, and nobody by the API.

-- The digest of the agent's own credential that was approved; with another one it waits again.
ALTER TABLE envoys ADD COLUMN approved TEXT;
-- The digest of the one with which credentials of accounts were read first.
ALTER TABLE envoys ADD COLUMN has_read TEXT;
-- The name of the enrolment secret by which its agent enrolled; NULL: an admin added it.
ALTER TABLE envoys ADD COLUMN enrolled_by TEXT;

-- Secrets with which agents enrol by themselves, as often as they like, and are approved by that.
CREATE TABLE enrolment_secrets (
  name       TEXT NOT NULL PRIMARY KEY,
  digest     TEXT NOT NULL UNIQUE,
  expires_at BIGINT,
  created_at BIGINT NOT NULL
);
