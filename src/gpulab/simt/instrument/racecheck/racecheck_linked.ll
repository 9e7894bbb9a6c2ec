; Functions of the racecheck tier that unoptimised code calls (see linked_functions.py), except for the checks of
; accesses (linked_check.py). Names in braces are offsets of fields, other names facts, events and numbers.

declare i32 @llvm.vector.reduce.and.v32i32(<32 x i32>)
declare i32 @llvm.vector.reduce.or.v32i32(<32 x i32>)

define internal void @tier_spread_32(ptr %array, i32 %base, i32 %stride, i32 %lanes) {
  call void @sim_spread_32(ptr %array, i32 %base, i32 %stride, i32 %lanes)
  ret void
}
define internal void @tier_spread_64(ptr %array, i64 %base, i64 %stride, i32 %lanes) {
  call void @sim_spread_64(ptr %array, i64 %base, i64 %stride, i32 %lanes)
  ret void
}
define internal void @tier_fence(ptr %ctx, i32 %warp, i32 %mask) {
  call void @san_fence(ptr %ctx, i32 %warp, i32 %mask)
  ret void
}
define internal void @tier_event(ptr %ctx, i32 %event, i32 %warp, ptr %words, i32 %mask, i32 %a, i32 %b) {
  call void @san_callback(ptr %ctx, i32 %event, i32 %warp, ptr %words, i32 %mask, i32 %a, i32 %b, ptr null)
  ret void
}
; Report a barrier whose thread count is not a multiple of the warp size.
define internal i1 @tier_barrier(ptr %ctx, i32 %warp, i32 %site, i32 %mask, i32 %expected) {
  %rest = and i32 %expected, 31
  %odd = icmp ne i32 %rest, 0
  br i1 %odd, label %wrong, label %fine
wrong:
  %site.64 = zext i32 %site to i64
  %count = zext i32 %expected to i64
  call void @sim_fault(ptr %ctx, i32 %warp, i64 $BARRIER_COUNT, i64 %site.64, i32 %mask, i64 %count)
  ret i1 false
fine:
  ret i1 true
}
; Report lanes that are not in their own mask, and lanes in a mask that are suspended or have another mask.
; Then synchronize the lanes. If some masks are partial, the host records which lanes synchronize with which.
; That holds for __syncwarp() only, because a shuffle does not order memory accesses.
define internal i1 @tier_warp_sync(ptr %ctx, i32 %warp, i32 %site, i32 %present, i32 %active, i32 %suspended, i1 %orders, ptr %masks) #1 {
entry:
  %wide = alloca [32 x i64], align 64
  %site.64 = zext i32 %site to i64
  %m = load <32 x i32>, ptr %masks, align 8
  %own = shl <32 x i32> splat (i32 1), <$LANES>
  %in.own = and <32 x i32> %m, %own
  %is.out = icmp eq <32 x i32> %in.own, zeroinitializer
  %out = bitcast <32 x i1> %is.out to i32
  %without = and i32 %out, %active
  %present.v = bitcast i32 %present to <32 x i1>
  %for.and = select <32 x i1> %present.v, <32 x i32> %m, <32 x i32> splat (i32 -1)
  %every = call i32 @llvm.vector.reduce.and.v32i32(<32 x i32> %for.and)
  %for.or = select <32 x i1> %present.v, <32 x i32> %m, <32 x i32> zeroinitializer
  %named = call i32 @llvm.vector.reduce.or.v32i32(<32 x i32> %for.or)
  %missing.0 = and i32 %named, %suspended
  br label %groups
groups:
  %left = phi i32 [ %active, %entry ], [ %left.next, %group ]
  %missing = phi i32 [ %missing.0, %entry ], [ %missing.next, %group ]
  %more = icmp ne i32 %left, 0
  br i1 %more, label %group, label %judge
group:
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %current.p = getelementptr i32, ptr %masks, i32 %lane
  %current = load i32, ptr %current.p
  %one = insertelement <32 x i32> poison, i32 %current, i64 0
  %current.v = shufflevector <32 x i32> %one, <32 x i32> poison, <32 x i32> zeroinitializer
  %is.same = icmp eq <32 x i32> %m, %current.v
  %same = bitcast <32 x i1> %is.same to i32
  %members = and i32 %same, %active
  %others = xor i32 %members, %active
  %wrong = and i32 %current, %others
  %missing.next = or i32 %missing, %wrong
  %not.members = xor i32 %members, -1
  %left.next = and i32 %left, %not.members
  br label %groups
judge:
  %no.caller = icmp ne i32 %without, 0
  br i1 %no.caller, label %fault.caller, label %ask.missing
fault.caller:
  call void @sim_fault(ptr %ctx, i32 %warp, i64 $MASK_WITHOUT_CALLER, i64 %site.64, i32 %without, i64 0)
  ret i1 false
ask.missing:
  %some.missing = icmp ne i32 %missing, 0
  br i1 %some.missing, label %fault.missing, label %synchronize
fault.missing:
  call void @sim_fault(ptr %ctx, i32 %warp, i64 $MISSING_LANES, i64 %site.64, i32 %missing, i64 0)
  ret i1 false
synchronize:
  %absent = xor i32 %every, -1
  %partial = and i32 %absent, %active
  %complete = icmp eq i32 %partial, 0
  br i1 %complete, label %all, label %some
all:
  call void @san_warp_sync(ptr %ctx, i32 %warp, i32 %active, ptr null)
  ret i1 true
some:
  br i1 %orders, label %ask.host, label %done
ask.host:
  %m.64 = zext <32 x i32> %m to <32 x i64>
  store <32 x i64> %m.64, ptr %wide, align 64
  call void @san_warp_sync(ptr %ctx, i32 %warp, i32 %active, ptr %wide)
  br label %done
done:
  ret i1 true
}
; Emit the events before an access; return false if it needs no check, as an access to the barrier of the grid,
; which the host tracks.
define internal i1 @san_before_access(ptr %ctx, i32 %warp, i32 %mask, i64 %facts, ptr %addresses) #1 {
  %strong.bit = and i64 %facts, $STRONG
  %is.strong = icmp ne i64 %strong.bit, 0
  br i1 %is.strong, label %strong, label %check
strong:
  %barrier = call i64 @get(ptr %ctx, i64 ${grid_barrier})
  %has.barrier = icmp ne i64 %barrier, 0
  br i1 %has.barrier, label %compare, label %ask.fence
compare:
  %place = add i64 %barrier, $GRID_BARRIER_OFFSET
  %a = load <32 x i64>, ptr %addresses, align 8
  %one = insertelement <32 x i64> poison, i64 %place, i64 0
  %place.v = shufflevector <32 x i64> %one, <32 x i64> poison, <32 x i32> zeroinitializer
  %is.same = icmp eq <32 x i64> %a, %place.v
  %same = bitcast <32 x i1> %is.same to i32
  %lanes = and i32 %same, %mask
  %at.barrier = icmp ne i32 %lanes, 0
  br i1 %at.barrier, label %grid, label %ask.fence
grid:
  %action = and i64 %facts, 3
  %updates = icmp eq i64 %action, 2
  br i1 %updates, label %arrive, label %skip
arrive:
  call void @san_callback(ptr %ctx, i32 $GRID_BARRIER, i32 %warp, ptr null, i32 0, i32 0, i32 0, ptr null)
  br label %skip
skip:
  ret i1 false
ask.fence:
  %fence.bit = and i64 %facts, $FENCES
  %is.fence = icmp ne i64 %fence.bit, 0
  br i1 %is.fence, label %fence, label %check
fence:
  call void @san_fence(ptr %ctx, i32 %warp, i32 %mask)
  br label %check
check:
  ret i1 true
}
; Emit the events after an access.
define internal void @san_after_access(ptr %ctx, i32 %warp, i32 %site, i32 %mask, i64 %facts, ptr %addresses) {
  %bits = and i64 %facts, $EVENTS
  %none = icmp eq i64 %bits, 0
  br i1 %none, label %out, label %ask.arrival
ask.arrival:
  %arrival.bit = and i64 %facts, $ARRIVES
  %is.arrival = icmp ne i64 %arrival.bit, 0
  br i1 %is.arrival, label %arrival, label %ask.copy
arrival:
  call void @san_callback(ptr %ctx, i32 $MBARRIER_ARRIVAL, i32 %warp, ptr %addresses, i32 %mask, i32 0, i32 0, ptr null)
  br label %ask.copy
ask.copy:
  %copy.bit = and i64 %facts, $COPIES
  %is.copy = icmp ne i64 %copy.bit, 0
  br i1 %is.copy, label %copy, label %ask.publish
copy:
  %size.64 = lshr i64 %facts, 48
  %size = trunc i64 %size.64 to i32
  call void @san_callback(ptr %ctx, i32 $COPY, i32 %warp, ptr %addresses, i32 %mask, i32 %site, i32 %size, ptr null)
  br label %ask.publish
ask.publish:
  %publish.bit = and i64 %facts, $PUBLISHES
  %is.publish = icmp ne i64 %publish.bit, 0
  br i1 %is.publish, label %publish, label %ask.acquire
publish:
  call void @san_publish(ptr %ctx, i32 %warp, i32 %mask)
  br label %ask.acquire
ask.acquire:
  %acquire.bit = and i64 %facts, $ACQUIRES
  %is.acquire = icmp ne i64 %acquire.bit, 0
  br i1 %is.acquire, label %acquire, label %out
acquire:
  call void @san_acquire(ptr %ctx, i32 %warp, i32 %mask)
  br label %out
out:
  ret void
}
