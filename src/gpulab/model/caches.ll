; The requests of one wave of warps, served by the L1 cache of each SM and by the shared L2; see caches.py.

declare i32 @llvm.ctpop.i32(i32)
declare i64 @llvm.umax.i64(i64, i64)

define internal i64 @field(ptr %p, i64 %at) alwaysinline {
  %q = getelementptr i8, ptr %p, i64 %at
  %v = load i64, ptr %q
  ret i64 %v
}

define internal void @increment(ptr %p, i64 %at, i64 %by) alwaysinline {
  %q = getelementptr i8, ptr %p, i64 %at
  %v = load i64, ptr %q
  %w = add i64 %v, %by
  store i64 %w, ptr %q
  ret void
}

declare void @llvm.prefetch.p0(ptr, i32, i32, i32)

; All bits of a line's number select its set, so that lines at any stride are spread over the sets: on an H100, 1024
; lines at a stride of 4 KiB all fit in L1.
define internal i64 @set_index(i64 %line, i64 %sets) alwaysinline {
  %mixed.1 = lshr i64 %line, 8
  %mixed.2 = lshr i64 %line, 16
  %mixed.3 = lshr i64 %line, 24
  %mixed.4 = xor i64 %line, %mixed.1
  %mixed.5 = xor i64 %mixed.4, %mixed.2
  %mixed = xor i64 %mixed.5, %mixed.3
  %set = urem i64 %mixed, %sets
  ret i64 %set
}

; Return the number that stands for a line in L2, whose sets and slices are selected by a hash: a working set close to
; its size does not fill all sets equally.
define internal i64 @scattered(i64 %line) alwaysinline {
  %mixed = mul i64 %line, -7046029254386353131
  %high = lshr i64 %mixed, 20
  ret i64 %high
}

; Prefetch the part of a set that `lookup` will read into the host's caches.
define internal void @prefetch_set(ptr %cache, i64 %sets, i64 %ways, i64 %line) alwaysinline {
  %sets.1 = call i64 @llvm.umax.i64(i64 %sets, i64 1)
  %set = call i64 @set_index(i64 %line, i64 %sets.1)
  %first = mul i64 %set, %ways
  %first.at = mul i64 %first, $ENTRY
  %tags = getelementptr i8, ptr %cache, i64 %first.at
  call void @llvm.prefetch.p0(ptr %tags, i32 0, i32 3, i32 1)
  %uses = getelementptr i64, ptr %tags, i64 %ways
  call void @llvm.prefetch.p0(ptr %uses, i32 0, i32 3, i32 1)
  ret void
}

; Return the state of a line: its valid sectors, its dirty sectors, the turn in which it was filled; then in L1
; the level that it came from, and in L2 the clusters that requested it lately, the turn of the first of these, and
; the sectors that they requested.
; A set stores the tags (line + 1) first, then the last use of each line, then the states, so that most lookups
; touch few bytes. A line that is not in the set replaces the least recently used one and has no valid sectors.
define internal ptr @lookup(ptr %cache, i64 %sets, i64 %ways, i64 %line, i64 %now) noinline {
entry:
  %set = call i64 @set_index(i64 %line, i64 %sets)
  %tag = add i64 %line, 1
  %first = mul i64 %set, %ways
  %first.at = mul i64 %first, $ENTRY
  %tags = getelementptr i8, ptr %cache, i64 %first.at
  %uses = getelementptr i64, ptr %tags, i64 %ways
  %entries = getelementptr i64, ptr %uses, i64 %ways
  br label %probe
probe:
  %way = phi i64 [ 0, %entry ], [ %way.next, %next ]
  %tag.p = getelementptr i64, ptr %tags, i64 %way
  %way.tag = load i64, ptr %tag.p
  %hit = icmp eq i64 %way.tag, %tag
  br i1 %hit, label %found, label %next
next:
  %way.next = add i64 %way, 1
  %more = icmp ult i64 %way.next, %ways
  br i1 %more, label %probe, label %choose
choose:
  %n = phi i64 [ 0, %next ], [ %n.next, %choose ]
  %oldest = phi i64 [ 0, %next ], [ %oldest.next, %choose ]
  %age = phi i64 [ -1, %next ], [ %age.next, %choose ]
  %used.p = getelementptr i64, ptr %uses, i64 %n
  %used = load i64, ptr %used.p
  %older = icmp ult i64 %used, %age
  %age.next = select i1 %older, i64 %used, i64 %age
  %oldest.next = select i1 %older, i64 %n, i64 %oldest
  %n.next = add i64 %n, 1
  %n.more = icmp ult i64 %n.next, %ways
  br i1 %n.more, label %choose, label %replace
replace:
  %r.tag = getelementptr i64, ptr %tags, i64 %oldest.next
  store i64 %tag, ptr %r.tag
  %r.at = mul i64 %oldest.next, $STATE
  %r = getelementptr i8, ptr %entries, i64 %r.at
  store i64 0, ptr %r
  %r.dirty = getelementptr i8, ptr %r, i64 8
  store i64 0, ptr %r.dirty
  %r.filled = getelementptr i8, ptr %r, i64 16
  store i64 -1000000, ptr %r.filled
  %r.clusters = getelementptr i8, ptr %r, i64 24
  store i64 0, ptr %r.clusters
  %r.asked = getelementptr i8, ptr %r, i64 40
  store i64 0, ptr %r.asked
  br label %found
found:
  %f = phi i64 [ %way, %probe ], [ %oldest.next, %replace ]
  %f.used = getelementptr i64, ptr %uses, i64 %f
  store i64 %now, ptr %f.used
  %f.at = mul i64 %f, $STATE
  %f.entry = getelementptr i8, ptr %entries, i64 %f.at
  ret ptr %f.entry
}

; Return the number of sectors in a mask.
define internal i64 @count_sectors(i64 %mask) alwaysinline {
  %m = trunc i64 %mask to i32
  %n = call i32 @llvm.ctpop.i32(i32 %m)
  %n64 = zext i32 %n to i64
  ret i64 %n64
}

; Count the pieces of 512 bytes of DRAM of which no other access is in flight; a row of DRAM is opened for each.
define internal void @open_row(ptr %p, i64 %line, i64 %turn, i64 %window, ptr %counts) alwaysinline {
  %rows.i = call i64 @field(ptr %p, i64 $ROW_TABLE)
  %rows = inttoptr i64 %rows.i to ptr
  %count = call i64 @field(ptr %p, i64 $ROW_ENTRIES)
  %piece = lshr i64 %line, 2
  %mixed.1 = lshr i64 %piece, 17
  %mixed = xor i64 %piece, %mixed.1
  %last = sub i64 %count, 1
  %at = and i64 %mixed, %last
  %tag.at = shl i64 %at, 4
  %tag.p = getelementptr i8, ptr %rows, i64 %tag.at
  %turn.p = getelementptr i8, ptr %tag.p, i64 8
  %tag = load i64, ptr %tag.p
  %used = load i64, ptr %turn.p
  %new.tag = add i64 %piece, 1
  store i64 %new.tag, ptr %tag.p
  store i64 %turn, ptr %turn.p
  %same = icmp eq i64 %tag, %new.tag
  %ago = sub i64 %turn, %used
  %recent = icmp ule i64 %ago, %window
  %open = and i1 %same, %recent
  %opened = xor i1 %open, true
  %opens = zext i1 %opened to i64
  call void @increment(ptr %counts, i64 $ROWS, i64 %opens)
  ret void
}

; Read sectors of a line from L2. Return the furthest level that serves one of them (2: L2, 3: DRAM).
define internal i64 @read_l2(ptr %p, i64 %line, i64 %mask, i64 %turn, i64 %now, ptr %counts, i64 %cluster, i64 %window) noinline {
  %cache.i = call i64 @field(ptr %p, i64 $L2)
  %cache = inttoptr i64 %cache.i to ptr
  %sets = call i64 @field(ptr %p, i64 $L2_SETS)
  %ways = call i64 @field(ptr %p, i64 $L2_WAYS)
  %number = call i64 @scattered(i64 %line)
  %e = call ptr @lookup(ptr %cache, i64 %sets, i64 %ways, i64 %number, i64 %now)
  %sectors.p = getelementptr i8, ptr %e, i64 0
  %valid = load i64, ptr %sectors.p
  %invalid = xor i64 %valid, -1
  %missing = and i64 %mask, %invalid
  ; DRAM delivers 64 bytes, so the other sector of a pair comes with the one that misses.
  %even = and i64 %missing, 5
  %to.odd = shl i64 %even, 1
  %odd = and i64 %missing, 10
  %to.even = lshr i64 %odd, 1
  %others.1 = or i64 %to.odd, %to.even
  %unrequested = xor i64 %mask, -1
  %others.2 = and i64 %others.1, %unrequested
  %others = and i64 %others.2, %invalid
  %present = or i64 %valid, %others
  %all = or i64 %present, %mask
  store i64 %all, ptr %sectors.p
  ; A request of the same cluster of SMs for these sectors may be in flight; if so, this one joins it.
  %clusters.p = getelementptr i8, ptr %e, i64 24
  %since.p = getelementptr i8, ptr %e, i64 32
  %since = load i64, ptr %since.p
  %clusters.all = load i64, ptr %clusters.p
  %since.ago = sub i64 %turn, %since
  %recent = icmp ult i64 %since.ago, %window
  %clusters = select i1 %recent, i64 %clusters.all, i64 0
  %asked.p = getelementptr i8, ptr %e, i64 40
  %asked.all = load i64, ptr %asked.p
  %asked = select i1 %recent, i64 %asked.all, i64 0
  %asked.new = or i64 %asked, %mask
  store i64 %asked.new, ptr %asked.p
  %unasked.1 = xor i64 %asked, -1
  %unasked = and i64 %mask, %unasked.1
  %all.asked = icmp eq i64 %unasked, 0
  %since.new = select i1 %recent, i64 %since, i64 %turn
  store i64 %since.new, ptr %since.p
  %clusters.new = or i64 %clusters, %cluster
  store i64 %clusters.new, ptr %clusters.p
  %joined = and i64 %clusters, %cluster
  %in.flight = icmp ne i64 %joined, 0
  %joins = and i1 %in.flight, %all.asked
  %requested.all = call i64 @count_sectors(i64 %mask)
  %missed = call i64 @count_sectors(i64 %missing)
  %requested = select i1 %joins, i64 %missed, i64 %requested.all
  %hits = sub i64 %requested, %missed
  call void @increment(ptr %counts, i64 $L2_SECTORS, i64 %hits)
  call void @increment(ptr %counts, i64 $DRAM_SECTORS, i64 %missed)
  %looks.up = icmp ne i64 %requested, 0
  %lookup = zext i1 %looks.up to i64
  call void @increment(ptr %counts, i64 $L2_LINES, i64 %lookup)
  %filled.p = getelementptr i8, ptr %e, i64 16
  %miss = icmp ne i64 %missing, 0
  br i1 %miss, label %fill, label %hit
fill:
  store i64 %turn, ptr %filled.p
  %others.n = call i64 @count_sectors(i64 %others)
  call void @increment(ptr %counts, i64 $PAIRED, i64 %others.n)
  call void @open_row(ptr %p, i64 %line, i64 %turn, i64 %window, ptr %counts)
  ret i64 3
hit:
  %filled = load i64, ptr %filled.p
  %ago = sub i64 %turn, %filled
  %there = icmp uge i64 %ago, %window
  %level = select i1 %there, i64 2, i64 3
  ret i64 %level
}

; Serve one line of a load, which may bypass L1. Return the level that its warp waits for (1: L1, 2: L2, 3: DRAM).
define internal i64 @load_line(ptr %p, ptr %l1, i64 %line, i64 %mask, i64 %turn, i64 %now, ptr %counts, i64 %cluster, i64 %window, i1 %bypasses) noinline {
entry:
  %sets = call i64 @field(ptr %p, i64 $L1_SETS)
  %ways = call i64 @field(ptr %p, i64 $L1_WAYS)
  %exists = icmp ne i64 %sets, 0
  %uses.l1 = xor i1 %bypasses, true
  %cached = and i1 %exists, %uses.l1
  br i1 %cached, label %cached.line, label %uncached
uncached:
  %s.level = call i64 @read_l2(ptr %p, i64 %line, i64 %mask, i64 %turn, i64 %now, ptr %counts, i64 %cluster, i64 %window)
  ret i64 %s.level
cached.line:
  %e = call ptr @lookup(ptr %l1, i64 %sets, i64 %ways, i64 %line, i64 %now)
  %sectors.p = getelementptr i8, ptr %e, i64 0
  %valid = load i64, ptr %sectors.p
  %invalid = xor i64 %valid, -1
  %missing = and i64 %mask, %invalid
  %all = or i64 %valid, %mask
  store i64 %all, ptr %sectors.p
  %hitting = and i64 %mask, %valid
  %hits = call i64 @count_sectors(i64 %hitting)
  call void @increment(ptr %counts, i64 $L1_SECTORS, i64 %hits)
  %filled.p = getelementptr i8, ptr %e, i64 16
  %level.p = getelementptr i8, ptr %e, i64 24
  %miss = icmp ne i64 %missing, 0
  br i1 %miss, label %fill, label %hit
fill:
  %level = call i64 @read_l2(ptr %p, i64 %line, i64 %missing, i64 %turn, i64 %now, ptr %counts, i64 %cluster, i64 %window)
  store i64 %turn, ptr %filled.p
  store i64 %level, ptr %level.p
  ret i64 %level
hit:
  %filled = load i64, ptr %filled.p
  %from = load i64, ptr %level.p
  %ago = sub i64 %turn, %filled
  %there = icmp uge i64 %ago, %window
  %h.level = select i1 %there, i64 1, i64 %from
  ret i64 %h.level
}

; Return the sectors of a line that the last stores of the warp have written, in its $COALESCED words before `at`.
; The SM has not yet sent them, so that a store to them joins the earlier one.
define internal i64 @pending_sectors(ptr %words, i64 %at, i64 %line) alwaysinline {
entry:
  br label %look
look:
  %back = phi i64 [ 1, %entry ], [ %back.next, %older ]
  %found = phi i64 [ 0, %entry ], [ %found.next, %older ]
  %is.word = icmp uge i64 %at, %back
  br i1 %is.word, label %read, label %done
read:
  %n = sub i64 %at, %back
  %q = getelementptr i64, ptr %words, i64 %n
  %word = load i64, ptr %q
  %store.bit = and i64 %word, 16
  %stores = icmp ne i64 %store.bit, 0
  br i1 %stores, label %older, label %done
older:
  %word.line = lshr i64 %word, $LINE_SHIFT
  %same = icmp eq i64 %word.line, %line
  %sectors = and i64 %word, 15
  %adds = select i1 %same, i64 %sectors, i64 0
  %found.next = or i64 %found, %adds
  %back.next = add i64 %back, 1
  %more = icmp ule i64 %back.next, $COALESCED
  br i1 %more, label %look, label %done
done:
  %result = phi i64 [ %found, %look ], [ %found, %read ], [ %found.next, %older ]
  ret i64 %result
}

; Serve one line of a store: every sector is written through to L2, and to DRAM once. A store to a sector of which
; an earlier one of the warp is pending joins it. L1 keeps what a store writes; an atomic operation, which `bypasses`
; it, removes the line from L1.
define internal void @store_line(ptr %p, ptr %l1, ptr %words, i64 %at, i64 %line, i64 %requested.mask, i64 %turn, i64 %now, ptr %counts, i64 %window, i1 %bypasses) noinline {
  %l1.sets = call i64 @field(ptr %p, i64 $L1_SETS)
  %l1.ways = call i64 @field(ptr %p, i64 $L1_WAYS)
  %l1.exists = icmp ne i64 %l1.sets, 0
  br i1 %l1.exists, label %allocate, label %write
allocate:
  %l1.line = call ptr @lookup(ptr %l1, i64 %l1.sets, i64 %l1.ways, i64 %line, i64 %now)
  %l1.valid = load i64, ptr %l1.line
  %l1.stored = or i64 %l1.valid, %requested.mask
  %l1.kept = select i1 %bypasses, i64 0, i64 %l1.stored
  store i64 %l1.kept, ptr %l1.line
  br label %write
write:
  %pending.all = call i64 @pending_sectors(ptr %words, i64 %at, i64 %line)
  ; An eighth of them, at random, has been sent meanwhile.
  %random = call i64 @scattered(i64 %now)
  %late.bits = and i64 %random, 7
  %late = icmp eq i64 %late.bits, 0
  %pending = select i1 %late, i64 0, i64 %pending.all
  %not.pending = xor i64 %pending, -1
  %mask = and i64 %requested.mask, %not.pending
  %joining = and i64 %requested.mask, %pending
  %joined = call i64 @count_sectors(i64 %joining)
  call void @increment(ptr %counts, i64 $REWRITTEN, i64 %joined)
  %sends = icmp ne i64 %mask, 0
  br i1 %sends, label %send, label %sent
sent:
  ret void
send:
  %cache.i = call i64 @field(ptr %p, i64 $L2)
  %cache = inttoptr i64 %cache.i to ptr
  %sets = call i64 @field(ptr %p, i64 $L2_SETS)
  %ways = call i64 @field(ptr %p, i64 $L2_WAYS)
  %number = call i64 @scattered(i64 %line)
  %e = call ptr @lookup(ptr %cache, i64 %sets, i64 %ways, i64 %number, i64 %now)
  %sectors.p = getelementptr i8, ptr %e, i64 0
  %valid = load i64, ptr %sectors.p
  %all = or i64 %valid, %mask
  store i64 %all, ptr %sectors.p
  %dirty.p = getelementptr i8, ptr %e, i64 8
  %dirty = load i64, ptr %dirty.p
  %clean = xor i64 %dirty, -1
  %fresh = and i64 %mask, %clean
  %invalid = xor i64 %valid, -1
  %blank = and i64 %fresh, %invalid
  %blank.n = call i64 @count_sectors(i64 %blank)
  call void @increment(ptr %counts, i64 $BLANK, i64 %blank.n)
  %dirty.all = or i64 %dirty, %mask
  store i64 %dirty.all, ptr %dirty.p
  %requested = call i64 @count_sectors(i64 %mask)
  %written = call i64 @count_sectors(i64 %fresh)
  %merged = sub i64 %requested, %written
  call void @increment(ptr %counts, i64 $L2_SECTORS, i64 %merged)
  call void @increment(ptr %counts, i64 $L2_LINES, i64 1)
  call void @increment(ptr %counts, i64 $DRAM_SECTORS, i64 %written)
  call void @increment(ptr %counts, i64 $REWRITTEN, i64 %merged)
  %writes.dram = icmp ne i64 %written, 0
  br i1 %writes.dram, label %dram, label %done
dram:
  call void @open_row(ptr %p, i64 %line, i64 %turn, i64 %window, ptr %counts)
  br label %done
done:
  ret void
}

; Serve the request of a warp that begins at `from`. Return the position of its next request.
define internal i64 @serve_request(ptr %p, ptr %l1, ptr %words, i64 %from, i64 %end, i64 %turn, ptr %clock, i64 %cluster) noinline {
entry:
  %counts.i = call i64 @field(ptr %p, i64 $COUNTS)
  %from.turn = call i64 @field(ptr %p, i64 $FROM)
  %cold = icmp ult i64 %turn, %from.turn
  %warm.p = inttoptr i64 %counts.i to ptr
  br label %line
line:
  %at = phi i64 [ %from, %entry ], [ %at.next, %peek ]
  %level.max = phi i64 [ 0, %entry ], [ %level.max.next, %peek ]
  %word.p = getelementptr i64, ptr %words, i64 %at
  %word = load i64, ptr %word.p
  %number = lshr i64 %word, $LINE_SHIFT
  %site.1 = lshr i64 %word, 6
  %site = and i64 %site.1, 65535
  %windows.i = call i64 @field(ptr %p, i64 $WINDOWS)
  %windows = inttoptr i64 %windows.i to ptr
  %window.p = getelementptr i64, ptr %windows, i64 %site
  %window = load i64, ptr %window.p
  %bypasses.i = call i64 @field(ptr %p, i64 $BYPASSES)
  %bypasses.all = inttoptr i64 %bypasses.i to ptr
  %bypasses.p = getelementptr i64, ptr %bypasses.all, i64 %site
  %bypasses.1 = load i64, ptr %bypasses.p
  %bypasses = icmp ne i64 %bypasses.1, 0
  %mask = and i64 %word, 15
  %store.1 = and i64 %word, 16
  %stores = icmp ne i64 %store.1, 0
  %site.at = mul i64 %site, $SITE
  %site.p = getelementptr i8, ptr %warm.p, i64 %site.at
  %cold.i = call i64 @field(ptr %p, i64 $COLD)
  %cold.p = inttoptr i64 %cold.i to ptr
  %cold.site = getelementptr i8, ptr %cold.p, i64 %site.at
  %counts = select i1 %cold, ptr %cold.site, ptr %site.p
  %now.0 = load i64, ptr %clock
  %now = add i64 %now.0, 1
  store i64 %now, ptr %clock
  %requested = call i64 @count_sectors(i64 %mask)
  call void @increment(ptr %counts, i64 $SECTORS, i64 %requested)
  call void @increment(ptr %counts, i64 $LINES, i64 1)
  br i1 %stores, label %store, label %load
store:
  call void @store_line(ptr %p, ptr %l1, ptr %words, i64 %at, i64 %number, i64 %mask, i64 %turn, i64 %now, ptr %counts, i64 %window, i1 %bypasses)
  br label %served
load:
  %level = call i64 @load_line(ptr %p, ptr %l1, i64 %number, i64 %mask, i64 %turn, i64 %now, ptr %counts, i64 %cluster, i64 %window, i1 %bypasses)
  br label %served
served:
  %line.level = phi i64 [ 1, %store ], [ %level, %load ]
  %further = icmp ugt i64 %line.level, %level.max
  %level.max.next = select i1 %further, i64 %line.level, i64 %level.max
  %at.next = add i64 %at, 1
  %inside = icmp ult i64 %at.next, %end
  br i1 %inside, label %peek, label %finished
peek:
  %next.p = getelementptr i64, ptr %words, i64 %at.next
  %next = load i64, ptr %next.p
  %begins.1 = and i64 %next, 32
  %begins = icmp ne i64 %begins.1, 0
  br i1 %begins, label %finished, label %line
finished:
  %level.at = mul i64 %level.max.next, 8
  call void @increment(ptr %counts, i64 %level.at, i64 1)
  ret i64 %at.next
}

; In every turn each warp issues its next request, SM after SM. Nearly every lookup misses the host's caches, so
; the sets that the fourth next warp will look up are prefetched meanwhile.
define i32 @run_wave(ptr %p) {
entry:
  %clock = alloca i64
  %begins = call i64 @field(ptr %p, i64 $CLOCK)
  store i64 %begins, ptr %clock
  %first.turn = call i64 @field(ptr %p, i64 $FIRST_TURN)
  %end.turn = call i64 @field(ptr %p, i64 $END_TURN)
  %sms = call i64 @field(ptr %p, i64 $SMS)
  %starts.i = call i64 @field(ptr %p, i64 $STARTS)
  %starts = inttoptr i64 %starts.i to ptr
  %order.i = call i64 @field(ptr %p, i64 $ORDER)
  %order = inttoptr i64 %order.i to ptr
  %used.i = call i64 @field(ptr %p, i64 $USED)
  %used = inttoptr i64 %used.i to ptr
  %cursors.i = call i64 @field(ptr %p, i64 $CURSORS)
  %cursors = inttoptr i64 %cursors.i to ptr
  %words.i = call i64 @field(ptr %p, i64 $WORDS)
  %words.all = inttoptr i64 %words.i to ptr
  %capacity = call i64 @field(ptr %p, i64 $CAPACITY)
  %l1.i = call i64 @field(ptr %p, i64 $L1)
  %l1.all = inttoptr i64 %l1.i to ptr
  %l1.bytes = call i64 @field(ptr %p, i64 $L1_BYTES)
  %l1.sets = call i64 @field(ptr %p, i64 $L1_SETS)
  %l1.ways = call i64 @field(ptr %p, i64 $L1_WAYS)
  %l2.i = call i64 @field(ptr %p, i64 $L2)
  %l2 = inttoptr i64 %l2.i to ptr
  %l2.sets = call i64 @field(ptr %p, i64 $L2_SETS)
  %l2.ways = call i64 @field(ptr %p, i64 $L2_WAYS)
  br label %turn
turn:
  %t = phi i64 [ %first.turn, %entry ], [ %t.next, %sms.done ]
  br label %sm
sm:
  %s = phi i64 [ 0, %turn ], [ %s.next, %warps.done ]
  %s.next = add i64 %s, 1
  %first.p = getelementptr i64, ptr %starts, i64 %s
  %first = load i64, ptr %first.p
  %last.p = getelementptr i64, ptr %starts, i64 %s.next
  %last = load i64, ptr %last.p
  %clusters = call i64 @field(ptr %p, i64 $CLUSTERS)
  %grouped = icmp ne i64 %clusters, 0
  %cluster.1 = mul i64 %s, %clusters
  %cluster.2 = udiv i64 %cluster.1, %sms
  %cluster.bit = shl i64 1, %cluster.2
  %cluster = select i1 %grouped, i64 %cluster.bit, i64 0
  %l1.at = mul i64 %s, %l1.bytes
  %l1 = getelementptr i8, ptr %l1.all, i64 %l1.at
  br label %warp
warp:
  %n = phi i64 [ %first, %sm ], [ %n.next, %issued ]
  %is.warp = icmp ult i64 %n, %last
  br i1 %is.warp, label %look.ahead, label %warps.done
look.ahead:
  %ahead = add i64 %n, 4
  %has.ahead = icmp ult i64 %ahead, %last
  br i1 %has.ahead, label %fetch, label %serve
fetch:
  %f.p = getelementptr i64, ptr %order, i64 %ahead
  %f = load i64, ptr %f.p
  %f.cursor.p = getelementptr i64, ptr %cursors, i64 %f
  %f.cursor = load i64, ptr %f.cursor.p
  %f.end.p = getelementptr i64, ptr %used, i64 %f
  %f.end = load i64, ptr %f.end.p
  %f.has.request = icmp ult i64 %f.cursor, %f.end
  br i1 %f.has.request, label %fetch.word, label %serve
fetch.word:
  %f.first = mul i64 %f, %capacity
  %f.at = add i64 %f.first, %f.cursor
  %f.word.p = getelementptr i64, ptr %words.all, i64 %f.at
  %f.word = load i64, ptr %f.word.p
  %f.line = lshr i64 %f.word, $LINE_SHIFT
  call void @prefetch_set(ptr %l1, i64 %l1.sets, i64 %l1.ways, i64 %f.line)
  %f.number = call i64 @scattered(i64 %f.line)
  call void @prefetch_set(ptr %l2, i64 %l2.sets, i64 %l2.ways, i64 %f.number)
  br label %serve
serve:
  %w.p = getelementptr i64, ptr %order, i64 %n
  %w = load i64, ptr %w.p
  %end.p = getelementptr i64, ptr %used, i64 %w
  %end = load i64, ptr %end.p
  %cursor.p = getelementptr i64, ptr %cursors, i64 %w
  %cursor = load i64, ptr %cursor.p
  %has.request = icmp ult i64 %cursor, %end
  br i1 %has.request, label %issue, label %issued
issue:
  %words.at = mul i64 %w, %capacity
  %words = getelementptr i64, ptr %words.all, i64 %words.at
  %next = call i64 @serve_request(ptr %p, ptr %l1, ptr %words, i64 %cursor, i64 %end, i64 %t, ptr %clock, i64 %cluster)
  store i64 %next, ptr %cursor.p
  br label %issued
issued:
  %n.next = add i64 %n, 1
  br label %warp
warps.done:
  %more.sms = icmp ult i64 %s.next, %sms
  br i1 %more.sms, label %sm, label %sms.done
sms.done:
  %t.next = add i64 %t, 1
  %more.turns = icmp ult i64 %t.next, %end.turn
  br i1 %more.turns, label %turn, label %done
done:
  ret i32 0
}
