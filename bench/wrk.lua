-- Sends a recorded request over and over, each with an id of its own, and reports as one line of JSON.
--
-- From the environment: BENCH_TEMPLATE, the recorded request; BENCH_HOST; BENCH_PATH; BENCH_SESSIONS, a file with one
-- session id a line. The sessions take turns, one a request. With as many connections as sessions each connection
-- stays near one session, not on it: wrk does not say which connection a request is for.
--
-- BENCH_CHECK looks at every answer, which costs the client more than sending does: for a short run of its own. It is
-- empty, or what to look at: `status`; `id` as well; `sum` as well, which a call of `add` is answered with.

local FIRST_ID = 10000000

local before_session, after_session, parts = "", "", {}
local sessions, turn, number = {}, 0, 0
-- Read by `done` from the thread.
bad, seen, sample = 0, 0, ""

local function read(path)
    local file = assert(io.open(path))
    local text = file:read("*a")
    file:close()
    return text
end

local function plain(text, gap, value)
    local at, to = text:find(gap, 1, true)
    if not at then return text end
    return text:sub(1, at - 1) .. value .. text:sub(to + 1)
end

-- The body as pieces between its gaps, in their order.
local function split(body)
    local pieces, at = {}, 1
    while true do
        local from, to, name = body:find("{(%l+)}", at)
        if not from then break end
        pieces[#pieces + 1] = { text = body:sub(at, from - 1), gap = name }
        at = to + 1
    end
    return pieces, body:sub(at)
end

local tail = ""
local threads = {}

function setup(thread)
    threads[#threads + 1] = thread
end

function init()
    local text = read(os.getenv("BENCH_TEMPLATE"))
    local at = text:find("\n\n", 1, true)
    local head, body = text:sub(1, at - 1), text:sub(at + 2)
    head = plain(plain(head, "{host}", os.getenv("BENCH_HOST")), "POST /mcp", "POST " .. os.getenv("BENCH_PATH"))
    parts, tail = split(body)
    local length = #tail
    local widths = { id = 8, a = 3, b = 4 }
    for _, part in ipairs(parts) do length = length + #part.text + widths[part.gap] end
    head = head:gsub("\n", "\r\n") .. "\r\nContent-Length: " .. length .. "\r\n\r\n"
    local from, to = head:find("{session}", 1, true)
    if from then
        before_session, after_session = head:sub(1, from - 1), head:sub(to + 1)
        for id in io.lines(os.getenv("BENCH_SESSIONS")) do sessions[#sessions + 1] = id end
    else
        before_session = head
    end
    if os.getenv("BENCH_CHECK") == "" then response = nil end
end

local function sum(n)
    return 100 + n % 900 + 1000 + n % 7
end

function request()
    number = number + 1
    local values = { id = FIRST_ID + number, a = 100 + number % 900, b = 1000 + number % 7 }
    local pieces = { before_session }
    if #sessions > 0 then
        turn = turn % #sessions + 1
        pieces[2] = sessions[turn]
        pieces[3] = after_session
    end
    for _, part in ipairs(parts) do
        pieces[#pieces + 1] = part.text
        pieces[#pieces + 1] = values[part.gap]
    end
    pieces[#pieces + 1] = tail
    return table.concat(pieces)
end

function response(status, _, body)
    seen = seen + 1
    local look, right = os.getenv("BENCH_CHECK"), status == 200
    if right and look ~= "status" then
        local id = tonumber(body:match('"id":(%d+)'))
        right = id and id > FIRST_ID and id <= FIRST_ID + number
        if right and look == "sum" then
            right = body:find('"text":"{\\"sum\\":' .. sum(id - FIRST_ID) .. '}"', 1, true)
        end
    end
    if not right then
        bad = bad + 1
        sample = status .. " " .. body:sub(1, 200)
    end
end

function done(summary, latency, _)
    local checked, wrong, example = 0, 0, ""
    for _, thread in ipairs(threads) do
        checked = checked + thread:get("seen")
        wrong = wrong + thread:get("bad")
        example = thread:get("sample")
    end
    local errors = summary.errors
    io.write(string.format(
        '\n{"requests": %d, "seconds": %.6f, "failed": %d, "not_2xx": %d, "p50": %.1f, "p99": %.1f, "max": %.1f, '
            .. '"checked": %d, "wrong": %d, "example": %q}\n',
        summary.requests, summary.duration / 1e6, errors.connect + errors.read + errors.write + errors.timeout,
        errors.status, latency:percentile(50), latency:percentile(99), latency.max, checked, wrong, example))
end
