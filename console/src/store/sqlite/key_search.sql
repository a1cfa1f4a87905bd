-- Which keys have a text somewhere in their id, owner, label or hint. The console fills it in the background (`key_grams.rs`), so
-- a program that changes keys by SQL needs no more of SQLite than before.

-- Keys whose texts were changed, or that are gone, since they were last looked at. One may be here several times.
CREATE TABLE key_search_due (
  number INTEGER NOT NULL PRIMARY KEY,
  id     TEXT NOT NULL
);
INSERT INTO key_search_due (id) SELECT id FROM keys;

CREATE TABLE key_search (
  number INTEGER NOT NULL PRIMARY KEY,
  id     TEXT NOT NULL UNIQUE
);
-- Rows have the numbers of key_search.
CREATE VIRTUAL TABLE key_grams USING fts5 (grams, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');

CREATE TRIGGER keys_search_inserted AFTER INSERT ON keys BEGIN
  INSERT INTO key_search_due (id) VALUES (NEW.id);
END;
CREATE TRIGGER keys_search_deleted AFTER DELETE ON keys BEGIN
  INSERT INTO key_search_due (id) VALUES (OLD.id);
END;
CREATE TRIGGER keys_search_updated AFTER UPDATE OF id, owner, label, hint ON keys
WHEN NEW.id <> OLD.id OR NEW.owner IS NOT OLD.owner OR NEW.label IS NOT OLD.label OR NEW.hint IS NOT OLD.hint BEGIN
  INSERT INTO key_search_due (id) SELECT OLD.id WHERE OLD.id <> NEW.id;
  INSERT INTO key_search_due (id) VALUES (NEW.id);
END;
