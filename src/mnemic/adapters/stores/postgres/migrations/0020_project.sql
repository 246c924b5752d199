-- The project that a memory belongs to.

ALTER TABLE memories ADD COLUMN project text NOT NULL DEFAULT '';
