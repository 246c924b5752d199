BEGIN TRANSACTION;
CREATE TABLE history (
    id           TEXT PRIMARY KEY,
    memory_id    TEXT,
    old_memory   TEXT,
    new_memory   TEXT,
    event        TEXT,
    created_at   DATETIME,
    updated_at   DATETIME,
    is_deleted   INTEGER,
    actor_id     TEXT,
    role         TEXT
);
INSERT INTO "history" VALUES('dfcd0c8c-c20d-404a-a422-6b1cfcd2e298','530feeb7-1395-4411-aadb-da2499b5b4de',NULL,'Ana lives in Lisbon','ADD','2026-11-22T08:33:51.877181+00:00','2026-11-22T08:33:51.877181+00:00',0,NULL,'user');
INSERT INTO "history" VALUES('39e29ff7-af32-412b-af4f-b41f3a6dd1bc','8420bf5a-38f1-409a-b3ff-c7378ebcb4d0',NULL,'I prefer green tea','ADD','2026-11-22T08:33:51.903382+00:00','2026-11-22T08:33:51.903382+00:00',0,'Ana','user');
INSERT INTO "history" VALUES('717e7db3-6314-4771-b725-7ba42d971dd9','1f8a8870-39fd-4ba7-b38b-4abb61b44eca',NULL,'Noted, green tea it is','ADD','2026-11-22T08:33:51.916066+00:00','2026-11-22T08:33:51.916066+00:00',0,NULL,'assistant');
INSERT INTO "history" VALUES('ae2132a5-cc9f-4b3c-b823-cdb474100f55','530feeb7-1395-4411-aadb-da2499b5b4de','Ana lives in Lisbon','Ana lives in Porto','UPDATE','2026-11-22T08:33:51.877181+00:00','2026-11-22T08:33:51.930934+00:00',0,NULL,'user');
INSERT INTO "history" VALUES('6b34b847-df30-4d82-9c4d-0e2d40b62d44','63287462-ef17-435f-b1e7-defecf710c3e',NULL,'Quill answers in short sentences','ADD','2026-11-22T08:33:51.945671+00:00','2026-11-22T08:33:51.945671+00:00',0,NULL,'user');
INSERT INTO "history" VALUES('469dfce7-ebcc-4c59-abe3-5eecec0872c6','06c99b59-e281-4501-803b-064a817324a9',NULL,'Ana is learning the cello','ADD','2026-11-22T08:33:51.975626+00:00','2026-11-22T08:33:51.975626+00:00',0,NULL,'user');
INSERT INTO "history" VALUES('c6ec94ef-5f34-4ec6-a7ab-ea5e01a8b145','06c99b59-e281-4501-803b-064a817324a9','Ana is learning the cello',NULL,'DELETE','2026-11-22T08:33:51.975626+00:00','2026-11-22T08:33:51.986162+00:00',1,NULL,'user');
CREATE TABLE messages (
    id TEXT PRIMARY KEY,
    session_scope TEXT,
    role TEXT,
    content TEXT,
    name TEXT,
    created_at DATETIME
);
COMMIT;
