-- Every unique key of an org's rows holds the column by which an extension such as Citus would distribute the table: the
-- partition, or the org where rows have no partition. The number stays first, since jobs and pages are found by it.

ALTER TABLE messages DROP CONSTRAINT messages_pkey, ADD PRIMARY KEY (seq, pid);
ALTER TABLE memories DROP CONSTRAINT memories_pkey, ADD PRIMARY KEY (seq, pid);
ALTER TABLE chunks DROP CONSTRAINT chunks_pkey, ADD PRIMARY KEY (seq, pid);
ALTER TABLE jobs DROP CONSTRAINT jobs_pkey, ADD PRIMARY KEY (seq, pid);
ALTER TABLE history DROP CONSTRAINT history_pkey, ADD PRIMARY KEY (seq, pid);
ALTER TABLE audit DROP CONSTRAINT audit_pkey, ADD PRIMARY KEY (seq, org);
ALTER TABLE api_keys DROP CONSTRAINT api_keys_pkey, ADD PRIMARY KEY (seq, org);
