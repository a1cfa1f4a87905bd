-- Lines of one moment stand in the order of their positions, and an index without the names of files is a third as long.
DROP INDEX requests_by_time;
DROP INDEX requests_by_key;
DROP INDEX requests_by_owner;
CREATE INDEX requests_by_time ON requests (at, position);
CREATE INDEX requests_by_key ON requests (key_id, at, position);
CREATE INDEX requests_by_owner ON requests (owner, at, position);
