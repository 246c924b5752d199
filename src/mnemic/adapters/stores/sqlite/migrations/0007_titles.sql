-- Titles in the form in which other texts name them (made by `text/outline.py`), '' for what nobody would name. Of rows
-- that are there a plain title is its own form in lower case; any other is looked up from when it is read anew.

ALTER TABLE documents ADD COLUMN title_key TEXT NOT NULL DEFAULT '';
UPDATE documents SET title_key = lower(title)
WHERE status != 'erased' AND length(title) BETWEEN 3 AND 80 AND title NOT GLOB '*[^A-Za-z ]*' AND title GLOB '*[A-Za-z]*'
    AND title NOT GLOB ' *' AND title NOT GLOB '* ' AND title NOT GLOB '*  *';
CREATE INDEX documents_title ON documents (pid, title_key) WHERE title_key != '';
