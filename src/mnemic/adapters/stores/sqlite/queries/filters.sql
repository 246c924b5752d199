-- Fragments of a WHERE clause over memories AS m joined with partitions AS p; {field} is replaced by a fragment below.
-- name: field_column
m.{column}
-- name: field_level
p.level
-- name: field_json
json_extract(m.{field}, {path})
-- name: type_json
json_type(m.{field}, {path})
-- name: eq
coalesce({field} = {value}, 0)
-- name: eq_slot
(json_extract(m.bookkeeping, '$.slot') IS {value} AND json_type(m.bookkeeping, '$.slot') IS 'text')
-- name: gte_due
(json_extract(m.bookkeeping, '$.due_until') IS NOT NULL AND json_extract(m.bookkeeping, '$.due_until') >= {value}
 AND json_type(m.bookkeeping, '$.due_until') IS 'text')
-- name: ne
coalesce({field} != {value}, 1)
-- name: in
coalesce({field} IN ({values}), 0)
-- name: gt
coalesce({field} > {value}, 0)
-- name: gte
coalesce({field} >= {value}, 0)
-- name: lt
coalesce({field} < {value}, 0)
-- name: lte
coalesce({field} <= {value}, 0)
-- name: exists
({field} IS NOT NULL)
-- name: contains_text
coalesce(instr({field}, {value}) > 0, 0)
-- name: contains_list
EXISTS (SELECT 1 FROM json_each(m.{column}) AS element WHERE element.value = {value} AND element.type IN ({types}))
-- name: contains_json
(CASE json_type(m.{field}, {path})
    WHEN 'array' THEN EXISTS (
        SELECT 1 FROM json_each(m.{field}, {path}) AS element
        WHERE element.value = {value} AND element.type IN ({types})
    )
    WHEN 'text' THEN {is_text} AND instr(json_extract(m.{field}, {path}), {value}) > 0
    ELSE 0 END)
-- name: typed
(coalesce({type} IN ({types}), 0) AND {test})
