-- Fragments of a WHERE clause over memories AS m joined with partitions AS p; {field} is replaced by a fragment below.
-- name: field_column
m.{column}
-- name: field_level
p.level
-- name: field_metadata
json_extract(m.metadata, {path})
-- name: type_metadata
json_type(m.metadata, {path})
-- name: eq
coalesce({field} = {value}, 0)
-- name: eq_slot
(json_extract(m.metadata, '$.slot') IS {value} AND json_type(m.metadata, '$.slot') IS 'text')
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
-- name: contains_metadata
(CASE json_type(m.metadata, {path})
    WHEN 'array' THEN EXISTS (
        SELECT 1 FROM json_each(m.metadata, {path}) AS element
        WHERE element.value = {value} AND element.type IN ({types})
    )
    WHEN 'text' THEN {is_text} AND instr(json_extract(m.metadata, {path}), {value}) > 0
    ELSE 0 END)
-- name: typed
(coalesce({type} IN ({types}), 0) AND {test})
