-- The rate limits on Valkey or Redis.
--
-- ARGV is a list of operations. Each is a letter followed by its arguments, and
-- reads its keys from KEYS in order:
--
--   s  second refund excess   for a window: subtract refund from the tokens of
--                             that second, and add excess tokens now
--   f  member                 for a set of slots: free the slot
--   h  member                 for a set of slots: renew the slot
--   r  member levels, and for each level rpm tpm concurrency tokens
--                             for a window and a set of slots for each level: take
--                             one request, the tokens and a slot from each, or
--                             nothing from any. It must be the last operation.
--
-- A window is a hash: n<second> and t<second> are the requests and tokens of a
-- second, n and t their sums, first and last the range of seconds that may have
-- fields. A set of slots is sorted by the time when a slot expires unless it is
-- renewed.
--
-- The answer to r is: the level (from 1) and the limit (1 requests, 2 tokens, 3
-- slots) that require the longest wait, 0 if the request is admitted; that wait,
-- in microseconds; the second; and for each level the counts of its window, n
-- and t, and the time until they have left it, in microseconds.

local SPAN, SLOT, SKEW = 61, 60000, 60
local time = redis.call('TIME')
local sec = tonumber(time[1])
local now = sec * 1000000 + tonumber(time[2])
local ms = math.floor(now / 1000)

local function number(v) return tonumber(v or 0) end

-- load reads a window and removes seconds older than a minute. It deletes a
-- window in the future, because the clock has been set back since.
local function load(key)
  local w = { key = key, first = sec, last = sec, n = 0, t = 0, bn = 0, bt = 0 }
  local h = redis.call('HMGET', key, 'first', 'last', 'n', 't', 'n' .. sec, 't' .. sec)
  if not h[1] then return w end
  local first, last, oldest = number(h[1]), number(h[2]), sec - SPAN + 1
  if last < oldest or last > sec + SKEW then
    redis.call('DEL', key)
    return w
  end
  w.first, w.last, w.n, w.t = first, last, number(h[3]), number(h[4])
  w.bn, w.bt = number(h[5]), number(h[6])
  if first < oldest then
    local old = {}
    for s = first, oldest - 1 do
      old[#old + 1] = 'n' .. s
      old[#old + 1] = 't' .. s
    end
    local was = redis.call('HMGET', key, unpack(old))
    for i = 1, #old, 2 do
      w.n = w.n - number(was[i])
      w.t = w.t - number(was[i + 1])
    end
    w.first = oldest
    redis.call('HDEL', key, unpack(old))
    redis.call('HSET', key, 'first', oldest, 'n', w.n, 't', w.t)
  end
  return w
end

local function add(w, n, t)
  local fresh = w.bn == 0 and w.bt == 0
  w.n, w.t, w.bn, w.bt = w.n + n, w.t + t, w.bn + n, w.bt + t
  w.first, w.last = math.min(w.first, sec), math.max(w.last, sec)
  redis.call('HSET', w.key, 'first', w.first, 'last', w.last, 'n', w.n, 't', w.t, 'n' .. sec, w.bn, 't' .. sec, w.bt)
  if fresh then redis.call('EXPIRE', w.key, SPAN + SKEW) end
end

-- wait returns the time until the window's count is lower by over.
local function wait(w, over, what)
  if over <= 0 then return 0 end
  local fields = {}
  for s = w.first, w.last do fields[#fields + 1] = what .. s end
  local counts = redis.call('HMGET', w.key, unpack(fields))
  for i = 1, #fields do
    over = over - number(counts[i])
    if over <= 0 then return (w.first + i - 1 + SPAN) * 1000000 - now end
  end
  return 1000000
end

local function settle(key, second, refund, excess)
  local w = load(key)
  if refund > 0 and second >= w.first then
    local back = math.min(refund, number(redis.call('HGET', key, 't' .. second)))
    if back > 0 then
      w.t = w.t - back
      if second == sec then w.bt = w.bt - back end
      redis.call('HINCRBY', key, 't' .. second, -back)
      redis.call('HINCRBY', key, 't', -back)
    end
  end
  if excess > 0 then add(w, 0, excess) end
end

local function hold(key, member)
  redis.call('ZADD', key, ms + SLOT, member)
  redis.call('PEXPIRE', key, SLOT + SKEW * 1000)
end

local k, a = 0, 0
local function key() k = k + 1; return KEYS[k] end
local function arg() a = a + 1; return ARGV[a] end

local function reserve(member, count)
  local levels, reply = {}, { 0, 0, 0, sec }
  local function note(level, what, us)
    if us > reply[3] then reply[1], reply[2], reply[3] = level, what, us end
  end
  for i = 1, count do
    local l = { window = key(), slots = key() }
    local rpm, tpm = number(arg()), number(arg())
    l.concurrency, l.tokens = number(arg()), number(arg())
    if rpm > 0 or tpm > 0 then
      l.w = load(l.window)
      if rpm > 0 then note(i, 1, wait(l.w, l.w.n + 1 - rpm, 'n')) end
      if tpm > 0 then note(i, 2, wait(l.w, l.w.t + l.tokens - tpm, 't')) end
    end
    if l.concurrency > 0 then
      redis.call('ZREMRANGEBYSCORE', l.slots, '-inf', ms)
      if redis.call('ZCARD', l.slots) >= l.concurrency then note(i, 3, 1000000) end
    end
    levels[i] = l
  end
  for i = 1, count do
    local l, w = levels[i], levels[i].w
    if reply[3] == 0 then
      if w then add(w, 1, l.tokens) end
      if l.concurrency > 0 then hold(l.slots, member) end
    end
    local reset = 0
    if w and w.n + w.t > 0 then reset = (w.last + SPAN) * 1000000 - now end
    reply[#reply + 1] = w and w.n or 0
    reply[#reply + 1] = w and w.t or 0
    reply[#reply + 1] = reset
  end
  return reply
end

while a < #ARGV do
  local op = arg()
  if op == 's' then
    settle(key(), number(arg()), number(arg()), number(arg()))
  elseif op == 'f' then
    redis.call('ZREM', key(), arg())
  elseif op == 'h' then
    hold(key(), arg())
  else
    return reserve(arg(), number(arg()))
  end
end
return { 0, 0, 0, sec }
