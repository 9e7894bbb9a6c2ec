; -- optimized --
; Functions of the counters tier that unoptimised code calls (see linked_functions.py). Names in braces are
; offsets of context fields, other names those of counter_layout.py and facts about an access.

define internal void @tier_spread_32(ptr %array, i32 %base, i32 %stride, i32 %lanes) {
  call void @sim_spread_32(ptr %array, i32 %base, i32 %stride, i32 %lanes)
  ret void
}
define internal void @tier_spread_64(ptr %array, i64 %base, i64 %stride, i32 %lanes) {
  call void @sim_spread_64(ptr %array, i64 %base, i64 %stride, i32 %lanes)
  ret void
}
; Return a pointer to the element of an array in the worker's counters.
define internal ptr @sim_counter(ptr %ctx, i64 %start, i64 %size, i32 %number) {
  %counters.i = call i64 @get(ptr %ctx, i64 ${recorded})
  %counters = inttoptr i64 %counters.i to ptr
  %wide = zext i32 %number to i64
  %moved = mul i64 %wide, %size
  %offset = add i64 %start, %moved
  %place = getelementptr i8, ptr %counters, i64 %offset
  ret ptr %place
}
; Return a word in the head of the worker's counters.
define internal i64 @sim_counter_head(ptr %ctx, i64 %at) {
  %counters.i = call i64 @get(ptr %ctx, i64 ${recorded})
  %counters = inttoptr i64 %counters.i to ptr
  %place = getelementptr i8, ptr %counters, i64 %at
  %word = load i64, ptr %place
  ret i64 %word
}
define internal void @tier_block(ptr %ctx, i32 %block, i32 %mask) {
  %record = call ptr @sim_counter(ptr %ctx, i64 $HEAD, i64 $BLOCK_BYTES, i32 %block)
  call void @sim_executed(ptr %record, i32 %mask)
  ret void
}
define internal void @tier_branch(ptr %ctx, i32 %block, i32 %here, i32 %there) {
  %some.here = icmp ne i32 %here, 0
  %some.there = icmp ne i32 %there, 0
  %diverges = and i1 %some.here, %some.there
  %by = zext i1 %diverges to i32
  %record = call ptr @sim_counter(ptr %ctx, i64 $HEAD, i64 $BLOCK_BYTES, i32 %block)
  %counter = getelementptr i8, ptr %record, i64 16
  call void @sim_add(ptr %counter, i32 %by)
  ret void
}
; Return a pointer to the iterations of a warp since it has entered a loop.
define internal ptr @sim_iterations(ptr %ctx, i32 %warp, i32 %loop) {
  %start = call i64 @sim_counter_head(ptr %ctx, i64 $ITERATIONS_AT)
  %loops.64 = call i64 @sim_counter_head(ptr %ctx, i64 $LOOP_COUNT)
  %loops = trunc i64 %loops.64 to i32
  %first = mul i32 %warp, %loops
  %number = add i32 %first, %loop
  %state = call ptr @sim_counter(ptr %ctx, i64 %start, i64 8, i32 %number)
  ret ptr %state
}
define internal void @tier_loop(ptr %ctx, i32 %warp, i32 %loop) {
  %state = call ptr @sim_iterations(ptr %ctx, i32 %warp, i32 %loop)
  store i64 0, ptr %state
  ret void
}
define internal void @tier_iteration(ptr %ctx, i32 %warp, i32 %loop, i32 %mask) {
  %state = call ptr @sim_iterations(ptr %ctx, i32 %warp, i32 %loop)
  %start = call i64 @sim_counter_head(ptr %ctx, i64 $LOOPS_AT)
  %record = call ptr @sim_counter(ptr %ctx, i64 %start, i64 $LOOP_BYTES, i32 %loop)
  call void @sim_count_iteration(ptr %state, ptr %record, i32 %mask)
  ret void
}
; Count the threads that select the first of two values.
define internal void @tier_selection(ptr %ctx, i32 %number, i32 %lanes) {
  %start = call i64 @sim_counter_head(ptr %ctx, i64 $ROWS_AT)
  %counter = call ptr @sim_counter(ptr %ctx, i64 %start, i64 8, i32 %number)
  %threads = call i32 @llvm.ctpop.i32(i32 %lanes)
  call void @sim_add(ptr %counter, i32 %threads)
  ret void
}
; Count an access. The lanes' addresses of an access to shared memory are moved to those of machine code.
define internal void @sim_count_access(ptr %ctx, i32 %warp, i32 %site, i32 %mask, i64 %facts, i64 %first, i64 %second, i64 %stride, ptr %addresses, i1 %shared) #1 {
entry:
  %moved.lanes = alloca [32 x i64], align 64
  %none = icmp eq i32 %mask, 0
  br i1 %none, label %out, label %some
some:
  call void @sim_spread_access(i64 %facts, i64 %first, i64 %second, i64 %stride, ptr %addresses)
  %start = call i64 @sim_counter_head(ptr %ctx, i64 $SITES_AT)
  %record = call ptr @sim_counter(ptr %ctx, i64 %start, i64 $RECORD_BYTES, i32 %site)
  %action = and i64 %facts, 3
  %action.32 = trunc i64 %action to i32
  %marks = add i32 %action.32, 1
  %size = lshr i64 %facts, 48
  %log = call i64 @llvm.cttz.i64(i64 %size, i1 false)
  %distance = call i64 @llvm.abs.i64(i64 %stride, i1 false)
  %width.above = lshr i64 %facts, 42
  %width = and i64 %width.above, 63
  %steps = sub i64 %width, 1
  %length = mul i64 %distance, %steps
  %span = add i64 %size, %length
  %generic.bit = and i64 %facts, $GENERIC
  %is.generic = icmp ne i64 %generic.bit, 0
  br i1 %is.generic, label %generic, label %ask.apart
generic:
  %log.generic = call i64 @llvm.umax.i64(i64 %log, i64 2)
  call void @sim_generic(ptr %ctx, i32 %warp, ptr %record, ptr %addresses, i32 %mask, i64 %log.generic, i64 %span, i32 %marks)
  ret void
ask.apart:
  %apart.bit = and i64 %facts, $APART
  %is.apart = icmp ne i64 %apart.bit, 0
  br i1 %is.apart, label %apart, label %traffic
apart:
  call void @sim_executed(ptr %record, i32 %mask)
  br label %traffic
traffic:
  br i1 %shared, label %form, label %ask.global
ask.global:
  %no.bytes = icmp eq i64 %size, 0
  br i1 %no.bytes, label %out, label %global
global:
  call void @sim_sectors(ptr %ctx, i32 %warp, ptr %record, ptr %addresses, i32 %mask, i64 %span, i32 %marks)
  ret void
form:
  %shift.p = getelementptr i8, ptr %record, i64 $FORM_SHIFT
  %shift = load i64, ptr %shift.p
  %merged = icmp slt i64 %shift, 0
  br i1 %merged, label %out, label %move
move:
  %moved.p = getelementptr i8, ptr %record, i64 $FORM_MOVED
  %moved = load i64, ptr %moved.p
  %a = load <32 x i64>, ptr %addresses, align 64
  %one = insertelement <32 x i64> poison, i64 %moved, i64 0
  %moved.v = shufflevector <32 x i64> %one, <32 x i64> poison, <32 x i32> zeroinitializer
  %to = add <32 x i64> %a, %moved.v
  store <32 x i64> %to, ptr %moved.lanes, align 64
  %word.shift = call i64 @llvm.umax.i64(i64 %shift, i64 2)
  %pairs.bit = and i64 %facts, $PAIRS_LANES
  %pairs = icmp ne i64 %pairs.bit, 0
  %memo = getelementptr i8, ptr %record, i64 $MEMO
  call void @sim_banks(ptr %ctx, i32 %warp, ptr %record, ptr %record, ptr %memo, ptr %moved.lanes, i32 %mask, i64 %word.shift, i1 %pairs)
  ret void
out:
  ret void
}
declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.abs.i64(i64, i1)
declare i64 @llvm.cttz.i64(i64, i1)
