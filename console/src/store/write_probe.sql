-- A row that is changed to see whether anything can be.
CREATE TABLE write_probe (
  one     INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  changes BIGINT NOT NULL
);
INSERT INTO write_probe (one, changes) VALUES (1, 0);
