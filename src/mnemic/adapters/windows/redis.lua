-- What Mnemic does in Redis, each call in one step that nobody comes between. ARGV[1] names it.
--
-- A list is a copy of rows, and a hash beside it says what it is worth. `run`: the run of the server it was made in; one
-- from before a restart may be older than the rows and is not believed. `last`: the position of the last message that it
-- knows of. `version`: grows with every change, so that who read rows meanwhile does not put older ones in place.

local window, pending, window_state, staging, staging_state = unpack(KEYS)
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')

for key, kind in pairs({ [window] = 'list', [pending] = 'list', [window_state] = 'hash',
                         [staging] = 'list', [staging_state] = 'hash' }) do
  local found = redis.call('TYPE', key).ok
  if found ~= kind and found ~= 'none' then
    redis.call('DEL', key)
  end
end

local function changed(state, ttl_ms)
  if redis.call('HGET', state, 'run') == run then
    redis.call('HINCRBY', state, 'version', 1)
  else
    local time = redis.call('TIME')
    redis.call('DEL', state)
    redis.call('HSET', state, 'run', run, 'version', string.format('%.0f', time[1] * 1000000 + time[2]))
  end
  redis.call('PEXPIRE', state, ttl_ms)
end

local function version(state, ttl_ms)
  if redis.call('HGET', state, 'run') ~= run then
    changed(state, ttl_ms)
  end
  return redis.call('HGET', state, 'version')
end

local function drop_window(ttl_ms)
  changed(window_state, ttl_ms)
  redis.call('HDEL', window_state, 'last', 'count', 'whole')
  redis.call('DEL', window, pending)
end

local function drop_staging(ttl_ms)
  redis.call('DEL', staging, staging_state)
  changed(staging_state, ttl_ms)
end

local function known(state, field)
  if redis.call('HGET', state, 'run') ~= run then
    return nil
  end
  return tonumber(redis.call('HGET', state, field) or '')
end

local function add(list, first, last)
  for place = first, last do
    redis.call('RPUSH', list, ARGV[place])
  end
end

local calls = {}

-- ttl_ms, staging_ttl_ms -> versions of both, and of the window: last, count, whole, entries
function calls.look(ttl_ms, staging_ttl_ms)
  local versions = { version(window_state, ttl_ms), version(staging_state, staging_ttl_ms) }
  local last = known(window_state, 'last')
  if last == nil then
    return versions
  end
  local count, whole = known(window_state, 'count'), known(window_state, 'whole')
  return { versions[1], versions[2], last, count or -1, whole or 0, redis.call('LRANGE', window, 0, -1) }
end

-- ttl_ms, staging_ttl_ms, most in the window, most elsewhere, session, first, last, entries... -> are both up to date?
function calls.push(ttl_ms, staging_ttl_ms, most, most_elsewhere, session, first, last)
  first, last, most = tonumber(first), tonumber(last), tonumber(most)
  local is_window, is_staging, said, staged = 1, 1, known(window_state, 'last'), known(staging_state, 's:' .. session)
  if said == first - 1 then
    add(window, 9, #ARGV)
    local count, whole = (known(window_state, 'count') or 0) + #ARGV - 8, known(window_state, 'whole') or 0
    while redis.call('LLEN', window) > most do
      redis.call('RPUSH', pending, redis.call('LPOP', window))
      count, whole = most, 0
    end
    redis.call('LTRIM', pending, -most_elsewhere, -1)
    changed(window_state, ttl_ms)
    redis.call('HSET', window_state, 'last', last, 'count', count, 'whole', whole)
    redis.call('PEXPIRE', window, ttl_ms)
    redis.call('PEXPIRE', pending, ttl_ms)
  elseif said == nil or said < last then
    drop_window(ttl_ms)
    is_window = 0
  end
  if known(staging_state, 'ready') ~= nil and (staged or 0) == first - 1 then
    add(staging, 9, #ARGV)
    redis.call('LTRIM', staging, -most_elsewhere, -1)
    changed(staging_state, staging_ttl_ms)
    redis.call('HSET', staging_state, 's:' .. session, last)
    redis.call('PEXPIRE', staging, staging_ttl_ms)
  elseif staged == nil or staged < last then
    drop_staging(staging_ttl_ms)
    is_staging = 0
  end
  return { is_window, is_staging }
end

-- ttl_ms, version that was seen, last, count, whole, number of pending ones, pending..., entries... -> was it taken?
function calls.fill_window(ttl_ms, seen, last, count, whole, waiting)
  if version(window_state, ttl_ms) ~= seen then
    return 0
  end
  drop_window(ttl_ms)
  add(pending, 8, 7 + waiting)
  add(window, 8 + waiting, #ARGV)
  redis.call('HSET', window_state, 'last', last, 'count', count, 'whole', whole)
  redis.call('PEXPIRE', window, ttl_ms)
  redis.call('PEXPIRE', pending, ttl_ms)
  return 1
end

-- ttl_ms, version that was seen, number of sessions, session, its last, session, ..., entries... -> was it taken?
function calls.fill_staging(ttl_ms, seen, sessions)
  if version(staging_state, ttl_ms) ~= seen then
    return 0
  end
  drop_staging(ttl_ms)
  for place = 5, 3 + 2 * sessions, 2 do
    redis.call('HSET', staging_state, 's:' .. ARGV[place], ARGV[place + 1])
  end
  add(staging, 5 + 2 * sessions, #ARGV)
  redis.call('HSET', staging_state, 'ready', 1)
  redis.call('PEXPIRE', staging, ttl_ms)
  return 1
end

-- ttl_ms, staging_ttl_ms: let go of both
function calls.drop(ttl_ms, staging_ttl_ms)
  drop_window(ttl_ms)
  drop_staging(staging_ttl_ms)
  return 1
end

return calls[ARGV[1]](unpack(ARGV, 2, math.min(#ARGV, 8)))
