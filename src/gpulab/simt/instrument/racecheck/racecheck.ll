; Runtime of the racecheck tier: the clock, synchronization, and callbacks to the host.
; A name in braces after a dollar sign is the offset of a context field (runtime/layout.py) or a state field
; (shadow_layout.py).
define internal ptr @san_at(ptr %ctx, i64 %offset) alwaysinline {
  %state = call i64 @get(ptr %ctx, i64 ${recorded})
  %p = inttoptr i64 %state to ptr
  %q = getelementptr i8, ptr %p, i64 %offset
  ret ptr %q
}
; Advance the clock, except at the start of a block and at a barrier of the whole block.
define internal i32 @san_tick(ptr %ctx) alwaysinline {
  call void @san_leave_interval(ptr %ctx)
  %now = call i32 @san_advance(ptr %ctx)
  ret i32 %now
}
define internal i32 @san_advance(ptr %ctx) alwaysinline {
  %p = call ptr @san_at(ptr %ctx, i64 ${now})
  %before = load i32, ptr %p
  %now = add i32 %before, 1
  store i32 %now, ptr %p
  ret i32 %now
}
; Order all earlier accesses of the block before all later ones.
define internal void @san_sync_block(ptr %ctx, i32 %now) {
entry:
  %sync = call ptr @san_at(ptr %ctx, i64 ${warp_sync})
  %one = insertelement <32 x i32> poison, i32 %now, i64 0
  %times = shufflevector <32 x i32> %one, <32 x i32> poison, <32 x i32> zeroinitializer
  %warps = load i32, ptr @warp_count
  %rows = add i32 %warps, 2 ; `warp_sync`, `block_sync`, and a row of `clocks` for each warp
  br label %loop
loop:
  %n = phi i32 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr <32 x i32>, ptr %sync, i32 %n
  store <32 x i32> %times, ptr %p, align 4
  %next = add i32 %n, 1
  %more = icmp ult i32 %next, %rows
  br i1 %more, label %loop, label %done
done:
  ret void
}
define internal void @sim_on_block(ptr %ctx) {
  call void @san_next_interval(ptr %ctx)
  call void @san_forget_intervals(ptr %ctx)
  %now = call i32 @san_advance(ptr %ctx)
  %start = call ptr @san_at(ptr %ctx, i64 ${start})
  store i32 %now, ptr %start
  %turn = call ptr @san_at(ptr %ctx, i64 ${turn})
  store i32 %now, ptr %turn
  call void @san_sync_block(ptr %ctx, i32 %now)
  %times.p = call ptr @san_at(ptr %ctx, i64 ${block_times})
  %times = load ptr, ptr %times.p
  %block = call i64 @get(ptr %ctx, i64 ${block})
  %time = getelementptr i32, ptr %times, i64 %block
  store i32 %now, ptr %time
  ret void
}
; A block waits only in spin loops when its turn ends, so that its accesses of earlier turns count as ordered.
define internal void @sim_on_resume(ptr %ctx) {
  %now = call i32 @san_tick(ptr %ctx)
  %turn = call ptr @san_at(ptr %ctx, i64 ${turn})
  store i32 %now, ptr %turn
  %times.p = call ptr @san_at(ptr %ctx, i64 ${block_times})
  %times = load ptr, ptr %times.p
  %block = call i64 @get(ptr %ctx, i64 ${block})
  %time = getelementptr i32, ptr %times, i64 %block
  %began = load i32, ptr %time
  %start = call ptr @san_at(ptr %ctx, i64 ${start})
  store i32 %began, ptr %start
  call void @san_sync_block(ptr %ctx, i32 %now)
  call void @san_callback(ptr %ctx, i32 $TURN, i32 0, ptr null, i32 0, i32 0, i32 0, ptr null)
  ret void
}
define internal void @sim_on_barrier(ptr %ctx, i32 %warps, i32 %barrier) {
  %whole = icmp slt i32 %barrier, 0
  br i1 %whole, label %simple, label %some
simple:
  call void @san_next_interval(ptr %ctx)
  %now = call i32 @san_advance(ptr %ctx)
  call void @san_sync_block(ptr %ctx, i32 %now)
  %all = icmp eq i32 %barrier, -1
  br i1 %all, label %check, label %out
check:
  call void @sim_check_all_arrived(ptr %ctx, i32 %warps)
  br label %out
out:
  ret void
some:
  %time = call i32 @san_tick(ptr %ctx)
  call void @san_callback(ptr %ctx, i32 1, i32 %warps, ptr null, i32 0, i32 %barrier, i32 0, ptr null)
  ret void
}
; Record each cell of an array from now on; see `shadow_layout.ROW_CELLS`.
define internal void @san_expand_rows(ptr %ctx, ptr %shadow) noinline cold {
  call void @san_callback(ptr %ctx, i32 $EXPAND_ROWS, i32 0, ptr %shadow, i32 0, i32 0, i32 0, ptr null)
  ret void
}
; The host reads and changes the shadow.
define internal void @san_callback(ptr %ctx, i32 %what, i32 %warp, ptr %addresses, i32 %mask, i32 %a, i32 %b, ptr %values) noinline cold {
  call void @san_leave_interval(ptr %ctx)
  call void @san_forget_intervals(ptr %ctx)
  %function.i = call i64 @get(ptr %ctx, i64 ${callback})
  %function = inttoptr i64 %function.i to ptr
  call void %function(ptr %ctx, i32 %what, i32 %warp, ptr %addresses, i32 %mask, i32 %a, i32 %b, ptr %values)
  ret void
}
; Pass the lanes that the check could not decide to the host, unless the access site is muted.
define internal void @san_report(ptr %ctx, i32 %warp, ptr %addresses, i32 %mask, i32 %site, i32 %how, ptr %values) noinline cold {
  call void @san_leave_interval(ptr %ctx)
  %muted.p = call ptr @san_at(ptr %ctx, i64 ${muted})
  %muted = load ptr, ptr %muted.p
  %flag.p = getelementptr i8, ptr %muted, i32 %site
  %flag = load i8, ptr %flag.p
  %silent = icmp ne i8 %flag, 0
  br i1 %silent, label %out, label %ask
ask:
  call void @san_callback(ptr %ctx, i32 0, i32 %warp, ptr %addresses, i32 %mask, i32 %site, i32 %how, ptr %values)
  br label %out
out:
  %collisions = call ptr @san_at(ptr %ctx, i64 ${collisions})
  store i32 0, ptr %collisions
  ret void
}
; Make the allocation that contains an address the one that an access site accessed last. The site's check of
; bounds fills in the limit.
define internal void @san_locate(ptr %ctx, ptr %slot, i64 %a) noinline cold {
  %e = call ptr @sim_find(ptr %ctx, i64 %a)
  %none = icmp eq ptr %e, null
  br i1 %none, label %out, label %within
within:
  %base = load i64, ptr %e
  %bytes.p = getelementptr i8, ptr %e, i64 8
  %bytes = load i64, ptr %bytes.p
  %offset = sub i64 %a, %base
  %inside = icmp ult i64 %offset, %bytes
  br i1 %inside, label %fill, label %out
fill:
  store i64 %base, ptr %slot
  %limit.p = getelementptr i8, ptr %slot, i64 8
  store i64 0, ptr %limit.p
  %host.from = getelementptr i8, ptr %e, i64 16
  %host = load i64, ptr %host.from
  %host.p = getelementptr i8, ptr %slot, i64 16
  store i64 %host, ptr %host.p
  %size.p = getelementptr i8, ptr %slot, i64 24
  store i64 %bytes, ptr %size.p
  %shadow.from = getelementptr i8, ptr %e, i64 24
  %shadow = load i64, ptr %shadow.from
  %shadow.p = getelementptr i8, ptr %slot, i64 32
  store i64 %shadow, ptr %shadow.p
  br label %out
out:
  ret void
}
define internal void @san_warp_sync(ptr %ctx, i32 %warp, i32 %present, ptr %masks) noinline {
  %missing = icmp ne ptr %masks, null
  br i1 %missing, label %part, label %all
part:
  %time = call i32 @san_tick(ptr %ctx)
  call void @san_callback(ptr %ctx, i32 3, i32 %warp, ptr %masks, i32 %present, i32 0, i32 0, ptr null)
  ret void
all:
  %now = call i32 @san_tick(ptr %ctx)
  %syncs = call ptr @san_at(ptr %ctx, i64 ${warp_sync})
  %sync = getelementptr i32, ptr %syncs, i32 %warp
  store i32 %now, ptr %sync
  ret void
}
; Record the current time for the threads of `mask` and for their block: of a fence, a strong write or an acquire.
; With `history`, earlier times of the threads are kept too.
define internal void @san_mark(ptr %ctx, i32 %warp, i32 %mask, i64 %threads, i64 %blocks, i32 %now, i64 %history) noinline {
  %each.p = call ptr @san_at(ptr %ctx, i64 %threads)
  %first = shl i32 %warp, 5
  %each = getelementptr i32, ptr %each.p, i32 %first
  %one = insertelement <32 x i32> poison, i32 %now, i64 0
  %times = shufflevector <32 x i32> %one, <32 x i32> poison, <32 x i32> zeroinitializer
  %lanes = bitcast i32 %mask to <32 x i1>
  %keeps = icmp ne i64 %history, 0
  br i1 %keeps, label %keep, label %last
keep:
  call void @san_shift(ptr %each, i64 8192, i64 12288, <32 x i1> %lanes)
  call void @san_shift(ptr %each, i64 4096, i64 8192, <32 x i1> %lanes)
  call void @san_shift(ptr %each, i64 0, i64 4096, <32 x i1> %lanes)
  br label %last
last:
  call void @llvm.masked.store.v32i32.p0(<32 x i32> %times, ptr align 4 %each, <32 x i1> %lanes)
  %table.p = call ptr @san_at(ptr %ctx, i64 %blocks)
  %table = load ptr, ptr %table.p
  %block = call i64 @get(ptr %ctx, i64 ${block})
  %entry = getelementptr i32, ptr %table, i64 %block
  store i32 %now, ptr %entry
  ret void
}
define internal void @san_shift(ptr %each, i64 %from, i64 %to, <32 x i1> %lanes) alwaysinline {
  %from.p = getelementptr i8, ptr %each, i64 %from
  %to.p = getelementptr i8, ptr %each, i64 %to
  %times = load <32 x i32>, ptr %from.p, align 4
  call void @llvm.masked.store.v32i32.p0(<32 x i32> %times, ptr align 4 %to.p, <32 x i1> %lanes)
  ret void
}
declare void @llvm.masked.store.v32i32.p0(<32 x i32>, ptr, <32 x i1>)
define internal void @san_fence(ptr %ctx, i32 %warp, i32 %mask) noinline {
  %none = icmp eq i32 %mask, 0
  br i1 %none, label %out, label %on
on:
  %now = call i32 @san_tick(ptr %ctx)
  call void @san_mark(ptr %ctx, i32 %warp, i32 %mask, i64 ${fenced}, i64 ${block_fenced}, i32 %now, i64 1)
  br label %out
out:
  ret void
}
define internal void @san_publish(ptr %ctx, i32 %warp, i32 %mask) noinline {
  %none = icmp eq i32 %mask, 0
  br i1 %none, label %out, label %on
on:
  %now = call i32 @san_tick(ptr %ctx)
  call void @san_mark(ptr %ctx, i32 %warp, i32 %mask, i64 ${published}, i64 ${block_published}, i32 %now, i64 1)
  br label %out
out:
  ret void
}
define internal void @san_acquire(ptr %ctx, i32 %warp, i32 %mask) noinline {
  %none = icmp eq i32 %mask, 0
  br i1 %none, label %out, label %on
on:
  %p = call ptr @san_at(ptr %ctx, i64 ${now})
  %now = load i32, ptr %p
  call void @san_mark(ptr %ctx, i32 %warp, i32 %mask, i64 ${acquired}, i64 ${block_acquired}, i32 %now, i64 0)
  br label %out
out:
  ret void
}
