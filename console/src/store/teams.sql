-- Teams of people, and what a team lets its members do. Keys name their team by its id; a team that keys name need not be here.

CREATE TABLE teams (
  id         TEXT NOT NULL PRIMARY KEY,
  name       TEXT NOT NULL,
  -- Which keys members may make by themselves, a JSON object; NULL: none.
  allowance  TEXT,
  created_at BIGINT NOT NULL
);

CREATE TABLE memberships (
  team_id    TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
  person_id  TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
  -- Whether this person sees what the whole team uses.
  manager    BOOLEAN NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (team_id, person_id)
);
CREATE INDEX memberships_by_person ON memberships (person_id, team_id);

-- What members may make is counted by owner and team.
CREATE INDEX keys_by_team ON keys (team, owner) WHERE team IS NOT NULL;
