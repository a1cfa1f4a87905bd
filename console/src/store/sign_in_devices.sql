-- Devices with which people have signed in: attempts with one of them are counted by themselves, so that nobody else keeps its
-- person out.

CREATE TABLE sign_in_devices (
  digest    TEXT NOT NULL PRIMARY KEY,
  person_id TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
  used_at   BIGINT NOT NULL
);
CREATE INDEX sign_in_devices_by_person ON sign_in_devices (person_id, used_at);
