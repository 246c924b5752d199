-- The page on which a passage ends, beside the one on which it begins. Of passages that are there it follows from where the
-- pages of their document begin.

ALTER TABLE chunks ADD COLUMN last_page_number INTEGER;
UPDATE chunks SET last_page_number = max(page_number, (
    SELECT count(*) FROM documents AS d, json_each(d.pages) AS page
    WHERE d.pid = chunks.pid AND d.id = chunks.document_id AND page.value < chunks.span_end
))
WHERE page_number IS NOT NULL AND state != 'erased';
