-- Fragments of a WHERE clause over memories AS m joined with partitions AS p; {field} is replaced by a fragment below.
-- name: field_column
m.{column}
-- name: field_level
p.level
-- name: field_json
m.{column}
-- name: step
 -> {key}::text
-- name: eq
coalesce({field} = {value}, false)
-- name: gt
coalesce({field} > {value}, false)
-- name: gte
coalesce({field} >= {value}, false)
-- name: lt
coalesce({field} < {value}, false)
-- name: lte
coalesce({field} <= {value}, false)
-- name: exists
({field} IS NOT NULL)
-- name: exists_list
({field} != '{{}}')
-- name: exists_json
coalesce(jsonb_typeof({field}) != 'null', false)
-- name: contains_text
coalesce(strpos({field}, {value}) > 0, false)
-- name: contains_list
({value} = ANY({field}))
-- name: eq_json
(m.{column} @> {value}::jsonb)
-- name: contains_json_text
(m.{column} @> {document}::jsonb
    OR CASE jsonb_typeof({field}) WHEN 'string' THEN strpos({field} #>> '{{}}', {value}) > 0 ELSE false END)
-- name: order_text
(CASE jsonb_typeof({field}) WHEN 'string' THEN ({field} #>> '{{}}') COLLATE "C" {sign} {value} ELSE false END)
-- name: order_number
(CASE jsonb_typeof({field}) WHEN 'number' THEN ({field})::numeric {sign} {value}::numeric ELSE false END)
-- name: order_boolean
(CASE jsonb_typeof({field}) WHEN 'boolean' THEN ({field})::boolean {sign} {value} ELSE false END)
