-- Lists of the keys of one owner or one group, in the order of their ids.
CREATE INDEX keys_by_owner ON keys (owner, id);
CREATE INDEX keys_by_group ON keys (group_id, id);
