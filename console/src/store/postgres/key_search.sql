-- Which keys have a text somewhere in their id, owner, label or hint. The console fills it in the background (`key_grams.rs`). It
-- needs no extension.

-- Keys whose texts were changed, or that are gone, since they were last looked at. One may be here several times.
CREATE TABLE key_search_due (
  number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id     TEXT NOT NULL
);
INSERT INTO key_search_due (id) SELECT id FROM keys;

CREATE TABLE key_search (
  id    TEXT NOT NULL PRIMARY KEY,
  grams TSVECTOR NOT NULL
);
-- What waits to be merged into it is read by every search, so little may wait.
CREATE INDEX key_search_by_gram ON key_search USING gin (grams) WITH (gin_pending_list_limit = 512);

CREATE FUNCTION trilane_key_search_due() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' AND (TG_OP = 'DELETE' OR NEW.id <> OLD.id) THEN
    INSERT INTO key_search_due (id) VALUES (OLD.id);
  END IF;
  IF TG_OP = 'INSERT' OR (TG_OP = 'UPDATE'
    AND (NEW.id, NEW.owner, NEW.label, NEW.hint) IS DISTINCT FROM (OLD.id, OLD.owner, OLD.label, OLD.hint)) THEN
    INSERT INTO key_search_due (id) VALUES (NEW.id);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER keys_search AFTER INSERT OR DELETE OR UPDATE OF id, owner, label, hint ON keys
  FOR EACH ROW EXECUTE FUNCTION trilane_key_search_due();
