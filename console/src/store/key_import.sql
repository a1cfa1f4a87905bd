-- One row, once keys of `trilane serve` were copied: up to which id they are, and whether all are.
CREATE TABLE key_import (
  one   INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  place TEXT NOT NULL,
  ended BOOLEAN NOT NULL
);
