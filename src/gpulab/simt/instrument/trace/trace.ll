; Runtime of the trace tier: it records the memory requests of each warp in program order.

declare i32 @llvm.ctpop.i32(i32)

define internal void @sim_on_resume(ptr %ctx) alwaysinline {
  ret void
}
define internal void @sim_on_block(ptr %ctx) alwaysinline {
  ret void
}
define internal void @sim_on_barrier(ptr %ctx, i32 %warps, i32 %barrier) alwaysinline {
  ret void
}

; Count a request of a site. Return the buffer for its lanes' addresses if the request is sampled, otherwise null.
; The first requests are sampled, and every $EVERY-th after them.
define internal ptr @sim_sample(ptr %counters, i64 %site, i32 %mask, i32 %warp) noinline {
entry:
  %samples.i = call i64 @get(ptr %counters, i64 $SAMPLES)
  %offset = mul i64 %site, $SITE_BYTES
  %record.i = add i64 %samples.i, %offset
  %record = inttoptr i64 %record.i to ptr
  %reached = load i64, ptr %record
  %reached.next = add i64 %reached, 1
  store i64 %reached.next, ptr %record
  %inactive = icmp eq i32 %mask, 0
  br i1 %inactive, label %done, label %active
active:
  %active.p = getelementptr i8, ptr %record, i64 8
  %requests = load i64, ptr %active.p
  %requests.next = add i64 %requests, 1
  store i64 %requests.next, ptr %active.p
  %sampled.p = getelementptr i8, ptr %record, i64 16
  %sampled = load i64, ptr %sampled.p
  %free = icmp ult i64 %sampled, $SAMPLES_PER_SITE
  br i1 %free, label %choose, label %done
choose:
  %early = icmp ult i64 %requests, $EARLY
  %rest = urem i64 %requests, $EVERY
  %periodic = icmp eq i64 %rest, 0
  %take = or i1 %early, %periodic
  br i1 %take, label %keep, label %done
keep:
  %sampled.next = add i64 %sampled, 1
  store i64 %sampled.next, ptr %sampled.p
  %at = mul i64 %sampled, $SAMPLE_BYTES
  %at.head = add i64 %at, $SITE_HEAD
  %sample = getelementptr i8, ptr %record, i64 %at.head
  %mask64 = zext i32 %mask to i64
  %warp64 = zext i32 %warp to i64
  %warp.bits = shl i64 %warp64, 32
  %head = or i64 %mask64, %warp.bits
  store i64 %head, ptr %sample
  %lanes = getelementptr i8, ptr %sample, i64 8
  ret ptr %lanes
done:
  ret ptr null
}

; Return the index of a warp among the traced ones.
define internal i64 @sim_traced_warp(ptr %ctx, i32 %warp, ptr %counters) alwaysinline {
  %block = call i64 @get(ptr %ctx, i64 ${block})
  %places.i = call i64 @get(ptr %counters, i64 $PLACES)
  %places = inttoptr i64 %places.i to ptr
  %place.p = getelementptr i32, ptr %places, i64 %block
  %place.32 = load i32, ptr %place.p
  %place = zext i32 %place.32 to i64
  %warps.32 = load i32, ptr @warp_count
  %warps = zext i32 %warps.32 to i64
  %warp64 = zext i32 %warp to i64
  %of.block = mul i64 %place, %warps
  %index = add i64 %of.block, %warp64
  ret i64 %index
}

; Record the lines of 128 bytes of a request to global memory, each with its requested sectors. stride is that of
; a row of 32 active lanes without gaps between their sectors, or -1 if each lane has its own address. Return false
; if the warp has recorded the requested amount.
define internal i1 @sim_trace(ptr %ctx, i32 %warp, ptr %counters, i64 %site, ptr %addresses, i32 %mask, i64 %stores, i64 %stride) noinline {
entry:
  %index = call i64 @sim_traced_warp(ptr %ctx, i32 %warp, ptr %counters)
  %states.i = call i64 @get(ptr %counters, i64 $STATES)
  %state.offset = mul i64 %index, $STATE_BYTES
  %state.i = add i64 %states.i, %state.offset
  %state = inttoptr i64 %state.i to ptr
  %used = load i64, ptr %state
  %requests.p = getelementptr i8, ptr %state, i64 8
  %requests = load i64, ptr %requests.p
  %limit = call i64 @get(ptr %counters, i64 $REQUESTS)
  %capacity = call i64 @get(ptr %counters, i64 $CAPACITY)
  %end = add i64 %used, 32
  %enough = icmp uge i64 %requests, %limit
  %full = icmp ugt i64 %end, %capacity
  %stops = or i1 %enough, %full
  br i1 %stops, label %stop, label %ask
stop:
  ret i1 false
ask:
  %inactive = icmp eq i32 %mask, 0
  br i1 %inactive, label %over, label %begin
begin:
  %requests.next = add i64 %requests, 1
  store i64 %requests.next, ptr %requests.p
  %words.i = call i64 @get(ptr %counters, i64 $WORDS)
  %words.offset = mul i64 %index, %capacity
  %words.all = inttoptr i64 %words.i to ptr
  %words = getelementptr i64, ptr %words.all, i64 %words.offset
  %site.bits = shl i64 %site, 6
  %store.bit = shl i64 %stores, 4
  %low.bits = or i64 %site.bits, %store.bit
  %is.row = icmp sge i64 %stride, 0
  br i1 %is.row, label %row, label %lane
row:
  %row.p = getelementptr i64, ptr %addresses, i64 32
  %row.a = load i64, ptr %row.p
  %row.span = mul i64 %stride, 31
  %row.z = add i64 %row.a, %row.span
  %sector.first = lshr i64 %row.a, 5
  %sector.last = lshr i64 %row.z, 5
  br label %row.line
row.line:
  %r.sector = phi i64 [ %sector.first, %row ], [ %r.next, %row.line ]
  %r.fill = phi i64 [ %used, %row ], [ %r.fill.next, %row.line ]
  %r.line = lshr i64 %r.sector, 2
  %r.from = and i64 %r.sector, 3
  %r.begin = shl i64 %r.line, 2
  %r.next = add i64 %r.begin, 4
  %r.ends = icmp ult i64 %sector.last, %r.next
  %r.last = and i64 %sector.last, 3
  %r.to = select i1 %r.ends, i64 %r.last, i64 3
  %r.below = shl i64 1, %r.from
  %r.above = shl i64 2, %r.to
  %r.bits = sub i64 %r.above, %r.below
  %r.high = shl i64 %r.line, $LINE_SHIFT
  %r.opens = icmp eq i64 %r.fill, %used
  %r.first = select i1 %r.opens, i64 32, i64 0
  %r.w1 = or i64 %r.high, %low.bits
  %r.w2 = or i64 %r.w1, %r.first
  %r.w3 = or i64 %r.w2, %r.bits
  %r.p = getelementptr i64, ptr %words, i64 %r.fill
  store i64 %r.w3, ptr %r.p
  %r.fill.next = add i64 %r.fill, 1
  br i1 %r.ends, label %written, label %row.line
lane:
  %left = phi i32 [ %mask, %begin ], [ %rest, %next ]
  %fill = phi i64 [ %used, %begin ], [ %fill.next, %next ]
  %n = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %less = sub i32 %left, 1
  %rest = and i32 %left, %less
  %a.p = getelementptr i64, ptr %addresses, i32 %n
  %a = load i64, ptr %a.p
  %line = lshr i64 %a, 7
  %line.bits = shl i64 %line, $LINE_SHIFT
  %sector.64 = lshr i64 %a, 5
  %sector = and i64 %sector.64, 3
  %bit = shl i64 1, %sector
  br label %search
search:
  %at = phi i64 [ %fill, %lane ], [ %at.less, %other ]
  %more = icmp ugt i64 %at, %used
  br i1 %more, label %look, label %new
look:
  %at.less = sub i64 %at, 1
  %word.p = getelementptr i64, ptr %words, i64 %at.less
  %word = load i64, ptr %word.p
  %differ = xor i64 %word, %line.bits
  %same = icmp ult i64 %differ, $LINE_UNIT
  br i1 %same, label %join, label %other
other:
  br label %search
join:
  %joined = or i64 %word, %bit
  store i64 %joined, ptr %word.p
  br label %next
new:
  %opens = icmp eq i64 %fill, %used
  %first.bit = select i1 %opens, i64 32, i64 0
  %w1 = or i64 %line.bits, %low.bits
  %w2 = or i64 %w1, %first.bit
  %w3 = or i64 %w2, %bit
  %new.p = getelementptr i64, ptr %words, i64 %fill
  store i64 %w3, ptr %new.p
  %fill.more = add i64 %fill, 1
  br label %next
next:
  %fill.next = phi i64 [ %fill, %join ], [ %fill.more, %new ]
  %again = icmp ne i32 %rest, 0
  br i1 %again, label %lane, label %written
written:
  %filled = phi i64 [ %r.fill.next, %row.line ], [ %fill.next, %next ]
  store i64 %filled, ptr %state
  br label %over
over:
  ret i1 true
}

; Sample or trace a request. If rows is not 0, only the first address of each row is given, after the space for the
; lanes' addresses, with a stride from lane to lane; otherwise each lane's address is given. Return false if the warp
; must end.
define internal i1 @sim_request(ptr %ctx, i32 %warp, ptr %counters, i64 %site, ptr %addresses, i32 %mask, i32 %rows, i64 %stride, i64 %stores) noinline {
entry:
  %states = call i64 @get(ptr %counters, i64 $STATES)
  %traces = icmp ne i64 %states, 0
  %one = icmp eq i32 %rows, 1
  %whole = icmp eq i32 %mask, -1
  %close = icmp ule i64 %stride, 32
  %whole.row = and i1 %one, %whole
  %is.row = and i1 %whole.row, %close
  br i1 %traces, label %traced, label %counted
counted:
  %sample = call ptr @sim_sample(ptr %counters, i64 %site, i32 %mask, i32 %warp)
  %none = icmp eq ptr %sample, null
  br i1 %none, label %done, label %apart
done:
  ret i1 true
traced:
  br i1 %is.row, label %trace.row, label %apart
trace.row:
  %row.fine = call i1 @sim_trace(ptr %ctx, i32 %warp, ptr %counters, i64 %site, ptr %addresses, i32 %mask, i64 %stores, i64 %stride)
  ret i1 %row.fine
apart:
  %to = phi ptr [ %sample, %counted ], [ null, %traced ]
  %given = icmp eq i32 %rows, 0
  br i1 %given, label %ready, label %expand
expand:
  %count = call i32 @llvm.cttz.i32(i32 %rows, i1 true)
  %shift = sub i32 5, %count
  %width = shl i32 1, %shift
  %inner = sub i32 %width, 1
  br label %lane
lane:
  %n = phi i32 [ 0, %expand ], [ %n.next, %lane ]
  %row = lshr i32 %n, %shift
  %row.at = add i32 %row, 32
  %first.p = getelementptr i64, ptr %addresses, i32 %row.at
  %first = load i64, ptr %first.p
  %place = and i32 %n, %inner
  %place64 = zext i32 %place to i64
  %far = mul i64 %place64, %stride
  %a = add i64 %first, %far
  %a.p = getelementptr i64, ptr %addresses, i32 %n
  store i64 %a, ptr %a.p
  %n.next = add i32 %n, 1
  %more = icmp ult i32 %n.next, 32
  br i1 %more, label %lane, label %ready
ready:
  br i1 %traces, label %trace, label %keep
trace:
  %fine = call i1 @sim_trace(ptr %ctx, i32 %warp, ptr %counters, i64 %site, ptr %addresses, i32 %mask, i64 %stores, i64 -1)
  ret i1 %fine
keep:
  %all = load <32 x i64>, ptr %addresses, align 8
  store <32 x i64> %all, ptr %to, align 8
  ret i1 true
}

; Count an execution of a basic block, whose counters are at an offset, and its active lanes. Return false if the
; warp is traced and has executed the requested number of instructions.
define internal i1 @sim_enter(ptr %ctx, i32 %warp, ptr %counters, i64 %at, i32 %mask, i64 %cost) noinline {
  %times.p = getelementptr i8, ptr %counters, i64 %at
  %times = load i64, ptr %times.p
  %times.next = add i64 %times, 1
  store i64 %times.next, ptr %times.p
  %threads.p = getelementptr i8, ptr %times.p, i64 8
  %lanes = call i32 @llvm.ctpop.i32(i32 %mask)
  %lanes64 = zext i32 %lanes to i64
  %threads = load i64, ptr %threads.p
  %threads.next = add i64 %threads, %lanes64
  store i64 %threads.next, ptr %threads.p
  %states = call i64 @get(ptr %counters, i64 $STATES)
  %traces = icmp ne i64 %states, 0
  br i1 %traces, label %trace, label %on
trace:
  %fine = call i1 @sim_count_instructions(ptr %ctx, i32 %warp, ptr %counters, i64 %cost)
  ret i1 %fine
on:
  ret i1 true
}

; Count instructions of a warp. Return false if it has executed the requested number.
define internal i1 @sim_count_instructions(ptr %ctx, i32 %warp, ptr %counters, i64 %cost) noinline {
  %index = call i64 @sim_traced_warp(ptr %ctx, i32 %warp, ptr %counters)
  %states.i = call i64 @get(ptr %counters, i64 $STATES)
  %state.offset = mul i64 %index, $STATE_BYTES
  %state.i = add i64 %states.i, %state.offset
  %executed.i = add i64 %state.i, 16
  %executed.p = inttoptr i64 %executed.i to ptr
  %executed = load i64, ptr %executed.p
  %now = add i64 %executed, %cost
  store i64 %now, ptr %executed.p
  %limit = call i64 @get(ptr %counters, i64 $INSTRUCTIONS)
  %fine = icmp ule i64 %now, %limit
  ret i1 %fine
}
