; The simulator's runtime: functions that generated code calls on rarely executed paths, and the scheduler.
; $${name} is the byte offset of a field of the context, see layout.py.

; -- optimized --
; Store base, base + stride, ... to an array of %lanes elements.
define internal void @sim_spread_32(ptr %array, i32 %base, i32 %stride, i32 %lanes) noinline {
entry:
  br label %lane
lane:
  %n = phi i32 [ 0, %entry ], [ %n.next, %lane ]
  %now = phi i32 [ %base, %entry ], [ %next, %lane ]
  %p = getelementptr i32, ptr %array, i32 %n
  store i32 %now, ptr %p, align 1
  %next = add i32 %now, %stride
  %n.next = add i32 %n, 1
  %more = icmp ult i32 %n.next, %lanes
  br i1 %more, label %lane, label %done
done:
  ret void
}

define internal void @sim_spread_64(ptr %array, i64 %base, i64 %stride, i32 %lanes) noinline {
entry:
  br label %lane
lane:
  %n = phi i32 [ 0, %entry ], [ %n.next, %lane ]
  %now = phi i64 [ %base, %entry ], [ %next, %lane ]
  %p = getelementptr i64, ptr %array, i32 %n
  store i64 %now, ptr %p, align 1
  %next = add i64 %now, %stride
  %n.next = add i32 %n, 1
  %more = icmp ult i32 %n.next, %lanes
  br i1 %more, label %lane, label %done
done:
  ret void
}
; -- unit --

@warp_count = external constant i32
@shared_bytes = external constant i64
@local_bytes = external constant i64
@local_end = external constant i64
@last_lanes = external constant i32

declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i32 @llvm.cttz.i32(i32, i1)
declare i32 @llvm.ctlz.i32(i32, i1)
declare i64 @llvm.cttz.i64(i64, i1)
declare <32 x i64> @llvm.fshr.v32i64(<32 x i64>, <32 x i64>, <32 x i64>)
declare i64 @llvm.vector.reduce.or.v8i64(<8 x i64>)

define internal i64 @get(ptr %ctx, i64 %at) alwaysinline {
  %p = getelementptr i8, ptr %ctx, i64 %at
  %v = load i64, ptr %p
  ret i64 %v
}

define internal void @put(ptr %ctx, i64 %at, i64 %v) alwaysinline {
  %p = getelementptr i8, ptr %ctx, i64 %at
  store i64 %v, ptr %p
  ret void
}

; Record the first fault of a worker and stop all workers. %lanes is the mask of the lanes at fault.
define internal void @sim_fault(ptr %ctx, i32 %warp, i64 %kind, i64 %site, i32 %lanes, i64 %address) noinline cold {
  %old = call i64 @get(ptr %ctx, i64 ${fault})
  %first = icmp eq i64 %old, 0
  br i1 %first, label %record, label %out
record:
  %lane = call i32 @llvm.cttz.i32(i32 %lanes, i1 false)
  %lane64 = zext i32 %lane to i64
  %warp64 = zext i32 %warp to i64
  %block = call i64 @get(ptr %ctx, i64 ${block})
  call void @put(ptr %ctx, i64 ${fault}, i64 %kind)
  call void @put(ptr %ctx, i64 ${fault_site}, i64 %site)
  call void @put(ptr %ctx, i64 ${fault_lane}, i64 %lane64)
  call void @put(ptr %ctx, i64 ${fault_warp}, i64 %warp64)
  call void @put(ptr %ctx, i64 ${fault_address}, i64 %address)
  call void @put(ptr %ctx, i64 ${fault_block}, i64 %block)
  %stop = call i64 @get(ptr %ctx, i64 ${stop})
  %flag = inttoptr i64 %stop to ptr
  store atomic i64 1, ptr %flag monotonic, align 8
  br label %out
out:
  ret void
}

; Grant another time slice to a warp that has used its slice; -1 stops the warp.
define internal i32 @sim_refuel(ptr %ctx, i32 %warp, i32 %lanes, i64 %site) noinline cold {
  %stop = call i64 @get(ptr %ctx, i64 ${stop})
  %flag = inttoptr i64 %stop to ptr
  %stopping = load atomic i64, ptr %flag monotonic, align 8
  %ends = icmp ne i64 %stopping, 0
  br i1 %ends, label %stopped, label %count
stopped:
  call void @sim_fault(ptr %ctx, i32 %warp, i64 ${STOPPED}, i64 %site, i32 %lanes, i64 0)
  ret i32 -1
count:
  %warp64 = zext i32 %warp to i64
  %offset = mul i64 %warp64, 32
  %states = call i64 @get(ptr %ctx, i64 ${warps})
  %at = add i64 %states, %offset
  %at2 = add i64 %at, 20
  %slices.p = inttoptr i64 %at2 to ptr
  %slices = load i32, ptr %slices.p
  %slices.now = add i32 %slices, 1
  store i32 %slices.now, ptr %slices.p
  %slices.64 = zext i32 %slices.now to i64
  %now = mul i64 %slices.64, ${SLICE}
  %budget = call i64 @get(ptr %ctx, i64 ${budget})
  %over = icmp ugt i64 %now, %budget
  br i1 %over, label %endless, label %launch
endless:
  call void @sim_fault(ptr %ctx, i32 %warp, i64 ${BUDGET}, i64 %site, i32 %lanes, i64 0)
  ret i32 -1
launch:
  %all.over = call i1 @sim_spend(ptr %ctx, i64 ${SLICE})
  br i1 %all.over, label %spent, label %more
spent:
  call void @sim_fault(ptr %ctx, i32 %warp, i64 ${LAUNCH_BUDGET}, i64 %site, i32 %lanes, i64 0)
  ret i32 -1
more:
  ret i32 ${SLICE}
}

; Add to the instructions of the launch; return true if they exceed its budget.
define internal i1 @sim_spend(ptr %ctx, i64 %instructions) {
  %spent.i = call i64 @get(ptr %ctx, i64 ${spent})
  %spent = inttoptr i64 %spent.i to ptr
  %before = atomicrmw add ptr %spent, i64 %instructions monotonic
  %now = add i64 %before, %instructions
  %budget = call i64 @get(ptr %ctx, i64 ${launch_budget})
  %over = icmp ugt i64 %now, %budget
  ret i1 %over
}

; Return the row of the last allocation whose base is not greater than an address; null if there is none.
define internal ptr @sim_find(ptr %ctx, i64 %a) noinline cold {
entry:
  %table.i = call i64 @get(ptr %ctx, i64 ${allocations})
  %table = inttoptr i64 %table.i to ptr
  %count = call i64 @get(ptr %ctx, i64 ${allocation_count})
  br label %halve
halve:
  %lo = phi i64 [ 0, %entry ], [ %lo.next, %halved ]
  %hi = phi i64 [ %count, %entry ], [ %hi.next, %halved ]
  %open = icmp ult i64 %lo, %hi
  br i1 %open, label %halved, label %found
halved:
  %sum = add i64 %lo, %hi
  %mid = lshr i64 %sum, 1
  %mid.off = mul i64 %mid, 32
  %mid.p = getelementptr i8, ptr %table, i64 %mid.off
  %mid.base = load i64, ptr %mid.p
  %below = icmp ule i64 %mid.base, %a
  %mid.up = add i64 %mid, 1
  %lo.next = select i1 %below, i64 %mid.up, i64 %lo
  %hi.next = select i1 %below, i64 %hi, i64 %mid
  br label %halve
found:
  %some = icmp ne i64 %lo, 0
  %index = sub i64 %lo, 1
  %off = mul i64 %index, 32
  %e = getelementptr i8, ptr %table, i64 %off
  %row = select i1 %some, ptr %e, ptr null
  ret ptr %row
}

; Store the host addresses of all lanes if the active ones are aligned and inside one allocation, given by its
; first address, its bytes and its host address; return false otherwise. size: bytes of each lane's access, a
; power of two. Rotated right by its logarithm, the offset of a misaligned access is larger than any other.
define internal i1 @sim_inside(ptr %addresses, i32 %mask, i64 %size, i64 %base, i64 %bytes, i64 %host, ptr %hosts) noinline #1 {
  %a = load <32 x i64>, ptr %addresses, align 8
  %base.1 = insertelement <32 x i64> poison, i64 %base, i64 0
  %base.v = shufflevector <32 x i64> %base.1, <32 x i64> poison, <32 x i32> zeroinitializer
  %offset = sub <32 x i64> %a, %base.v
  %shift = call i64 @llvm.cttz.i64(i64 %size, i1 true)
  %shift.1 = insertelement <32 x i64> poison, i64 %shift, i64 0
  %shift.v = shufflevector <32 x i64> %shift.1, <32 x i64> poison, <32 x i32> zeroinitializer
  %turned = call <32 x i64> @llvm.fshr.v32i64(<32 x i64> %offset, <32 x i64> %offset, <32 x i64> %shift.v)
  %places = lshr i64 %bytes, %shift
  %places.1 = insertelement <32 x i64> poison, i64 %places, i64 0
  %places.v = shufflevector <32 x i64> %places.1, <32 x i64> poison, <32 x i32> zeroinitializer
  %in = icmp ult <32 x i64> %turned, %places.v
  %in.bits = bitcast <32 x i1> %in to i32
  %out.bits = xor i32 %in.bits, -1
  %outside = and i32 %out.bits, %mask
  %all = icmp eq i32 %outside, 0
  br i1 %all, label %store, label %done
store:
  %host.1 = insertelement <32 x i64> poison, i64 %host, i64 0
  %host.v = shufflevector <32 x i64> %host.1, <32 x i64> poison, <32 x i32> zeroinitializer
  %h = add <32 x i64> %host.v, %offset
  store <32 x i64> %h, ptr %hosts, align 8
  br label %done
done:
  ret i1 %all
}

; Check every active lane of an access and store its host address to %hosts; cache the allocation in %slot.
; Return false after a fault.
define internal i1 @sim_resolve(ptr %ctx, i32 %warp, ptr %addresses, i32 %mask, i64 %size, i64 %site, ptr %hosts, ptr %slot, i64 %span) noinline cold {
entry:
  ; The number of positions is 0 until an access has looked up the allocation here.
  %slot.places = call i64 @get(ptr %slot, i64 8)
  %filled = icmp ne i64 %slot.places, 0
  br i1 %filled, label %known, label %each
known:
  %slot.base = load i64, ptr %slot
  %slot.size = call i64 @get(ptr %slot, i64 24)
  %slot.start = call i64 @get(ptr %slot, i64 16)
  %all = call i1 @sim_inside(ptr %addresses, i32 %mask, i64 %size, i64 %slot.base, i64 %slot.size, i64 %slot.start, ptr %hosts)
  br i1 %all, label %good, label %each
each:
  %shared = call i64 @get(ptr %ctx, i64 ${shared})
  %shared.size = load i64, ptr @shared_bytes
  %low.bits = sub i64 %size, 1
  br label %lanes
lanes:
  %left = phi i32 [ %mask, %each ], [ %rest, %next ]
  %none = icmp eq i32 %left, 0
  br i1 %none, label %good, label %one
one:
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %less = sub i32 %left, 1
  %rest = and i32 %left, %less
  %a.p = getelementptr i64, ptr %addresses, i32 %lane
  %a = load i64, ptr %a.p
  %bit = shl i32 1, %lane
  %rest.bits = and i64 %a, %low.bits
  %is.misaligned = icmp ne i64 %rest.bits, 0
  br i1 %is.misaligned, label %misaligned, label %windows
windows:
  %in.shared = sub i64 %a, ${SHARED_WINDOW}
  %is.shared = icmp ult i64 %in.shared, ${WINDOW_BYTES}
  br i1 %is.shared, label %to.shared, label %not.shared
to.shared:
  %shared.end = add i64 %in.shared, %size
  %shared.fits = icmp ule i64 %shared.end, %shared.size
  %shared.host = add i64 %shared, %in.shared
  br i1 %shared.fits, label %keep, label %outside
not.shared:
  %in.local = sub i64 %a, ${LOCAL_WINDOW}
  %is.local = icmp ult i64 %in.local, ${WINDOW_BYTES}
  br i1 %is.local, label %to.local, label %search
to.local:
  %local.size = load i64, ptr @local_bytes
  %local.last = load i64, ptr @local_end
  %local.end = add i64 %in.local, %size
  %local.fits = icmp ule i64 %local.end, %local.last
  %local.base = call i64 @get(ptr %ctx, i64 ${local})
  %first.thread = shl i32 %warp, 5
  %thread = add i32 %first.thread, %lane
  %thread64 = zext i32 %thread to i64
  %local.off = mul i64 %thread64, %local.size
  %local.sum = add i64 %local.base, %local.off
  %local.host = add i64 %local.sum, %in.local
  br i1 %local.fits, label %keep, label %outside
search:
  %e = call ptr @sim_find(ptr %ctx, i64 %a)
  %some = icmp ne ptr %e, null
  br i1 %some, label %within, label %outside
within:
  %base = load i64, ptr %e
  %bytes.p = getelementptr i8, ptr %e, i64 8
  %bytes = load i64, ptr %bytes.p
  %host.p = getelementptr i8, ptr %e, i64 16
  %host = load i64, ptr %host.p
  %inside = sub i64 %a, %base
  %end = add i64 %inside, %size
  %fits = icmp ule i64 %end, %bytes
  br i1 %fits, label %cache, label %outside
cache:
  %address.host = add i64 %host, %inside
  %roomy = icmp uge i64 %bytes, %span
  br i1 %roomy, label %fill, label %keep
fill:
  %last = sub i64 %bytes, %span
  %shift = call i64 @llvm.cttz.i64(i64 %size, i1 true)
  %last.place = lshr i64 %last, %shift
  %limit = add i64 %last.place, 1
  store i64 %base, ptr %slot
  %slot.limit = getelementptr i8, ptr %slot, i64 8
  store i64 %limit, ptr %slot.limit
  %slot.host = getelementptr i8, ptr %slot, i64 16
  store i64 %host, ptr %slot.host
  %slot.bytes = getelementptr i8, ptr %slot, i64 24
  store i64 %bytes, ptr %slot.bytes
  %shadow.p = getelementptr i8, ptr %e, i64 24
  %shadow = load i64, ptr %shadow.p
  %slot.shadow = getelementptr i8, ptr %slot, i64 32
  store i64 %shadow, ptr %slot.shadow
  br label %keep
keep:
  %h = phi i64 [ %shared.host, %to.shared ], [ %local.host, %to.local ], [ %address.host, %cache ], [ %address.host, %fill ]
  %h.p = getelementptr i64, ptr %hosts, i32 %lane
  store i64 %h, ptr %h.p
  br label %next
next:
  br label %lanes
misaligned:
  call void @sim_fault(ptr %ctx, i32 %warp, i64 ${MISALIGNED}, i64 %site, i32 %bit, i64 %a)
  ret i1 false
outside:
  call void @sim_fault(ptr %ctx, i32 %warp, i64 ${OUT_OF_BOUNDS}, i64 %site, i32 %bit, i64 %a)
  ret i1 false
good:
  ret i1 true
}

; Check every active lane of an access to shared memory, which has %bytes bytes; otherwise as `sim_resolve`.
define internal i1 @sim_resolve_shared(ptr %ctx, i32 %warp, ptr %addresses, i32 %mask, i64 %size, i64 %site, ptr %hosts, i64 %bytes) noinline cold {
entry:
  %shared = call i64 @get(ptr %ctx, i64 ${shared})
  %all = call i1 @sim_inside(ptr %addresses, i32 %mask, i64 %size, i64 0, i64 %bytes, i64 %shared, ptr %hosts)
  br i1 %all, label %good, label %each
each:
  %low.bits = sub i64 %size, 1
  br label %lanes
lanes:
  %left = phi i32 [ %mask, %each ], [ %rest, %keep ]
  %none = icmp eq i32 %left, 0
  br i1 %none, label %good, label %one
one:
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %less = sub i32 %left, 1
  %rest = and i32 %left, %less
  %a.p = getelementptr i64, ptr %addresses, i32 %lane
  %a = load i64, ptr %a.p
  %bit = shl i32 1, %lane
  %rest.bits = and i64 %a, %low.bits
  %is.misaligned = icmp ne i64 %rest.bits, 0
  br i1 %is.misaligned, label %misaligned, label %bounds
bounds:
  %small = icmp ult i64 %a, %bytes
  %end = add i64 %a, %size
  %fits = icmp ule i64 %end, %bytes
  %both = and i1 %small, %fits
  br i1 %both, label %keep, label %outside
keep:
  %h = add i64 %shared, %a
  %h.p = getelementptr i64, ptr %hosts, i32 %lane
  store i64 %h, ptr %h.p
  br label %lanes
misaligned:
  call void @sim_fault(ptr %ctx, i32 %warp, i64 ${MISALIGNED}, i64 %site, i32 %bit, i64 %a)
  ret i1 false
outside:
  call void @sim_fault(ptr %ctx, i32 %warp, i64 ${OUT_OF_BOUNDS}, i64 %site, i32 %bit, i64 %a)
  ret i1 false
good:
  ret i1 true
}

; Check every active lane of several loads, in the order of a table, and copy the elements to %buffer, which starts
; with the addresses of their lanes. Return false after a fault. The columns of the table are in `joint_loads`.
define internal i1 @sim_fetch(ptr %ctx, i32 %warp, i32 %mask, ptr %table, i64 %count, ptr %buffer, ptr %hosts) noinline cold {
entry:
  %caches.i = call i64 @get(ptr %ctx, i64 ${site_caches})
  %caches = inttoptr i64 %caches.i to ptr
  %shared.size = load i64, ptr @shared_bytes
  br label %each
each:
  %n = phi i64 [ 0, %entry ], [ %n.next, %next ]
  %more = icmp ult i64 %n, %count
  br i1 %more, label %one, label %done
one:
  %row = getelementptr [11 x i64], ptr %table, i64 %n
  %place = call i64 @get(ptr %row, i64 0)
  %offset = call i64 @get(ptr %row, i64 8)
  %site = call i64 @get(ptr %row, i64 16)
  %cache.at = call i64 @get(ptr %row, i64 24)
  %size = call i64 @get(ptr %row, i64 32)
  %span = call i64 @get(ptr %row, i64 40)
  %in.shared = call i64 @get(ptr %row, i64 48)
  %at = call i64 @get(ptr %row, i64 56)
  %row.bytes = call i64 @get(ptr %row, i64 64)
  %stride = call i64 @get(ptr %row, i64 72)
  %width = call i64 @get(ptr %row, i64 80)
  %bases.p = getelementptr i8, ptr %buffer, i64 %place
  %bases = load <32 x i64>, ptr %bases.p
  %first = insertelement <32 x i64> poison, i64 %offset, i64 0
  %offsets = shufflevector <32 x i64> %first, <32 x i64> poison, <32 x i32> zeroinitializer
  %addresses = add <32 x i64> %bases, %offsets
  store <32 x i64> %addresses, ptr %hosts, align 64
  %shared = icmp ne i64 %in.shared, 0
  br i1 %shared, label %to.shared, label %to.global
to.shared:
  %shared.good = call i1 @sim_resolve_shared(ptr %ctx, i32 %warp, ptr %hosts, i32 %mask, i64 %size, i64 %site, ptr %hosts, i64 %shared.size)
  br label %checked
to.global:
  %cache = getelementptr i8, ptr %caches, i64 %cache.at
  %global.good = call i1 @sim_resolve(ptr %ctx, i32 %warp, ptr %hosts, i32 %mask, i64 %size, i64 %site, ptr %hosts, ptr %cache, i64 %span)
  br label %checked
checked:
  %good = phi i1 [ %shared.good, %to.shared ], [ %global.good, %to.global ]
  br i1 %good, label %lanes, label %failed
lanes:
  %left = phi i32 [ %mask, %checked ], [ %rest, %lane ]
  %none = icmp eq i32 %left, 0
  br i1 %none, label %next, label %lane
lane:
  %number = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %less = sub i32 %left, 1
  %rest = and i32 %left, %less
  %number.64 = zext i32 %number to i64
  %in.row = urem i64 %number.64, %width
  %which = udiv i64 %number.64, %width
  %row.start = mul i64 %which, %row.bytes
  %row.at = mul i64 %in.row, %stride
  %sum = add i64 %row.start, %row.at
  %to.at = add i64 %at, %sum
  %to = getelementptr i8, ptr %buffer, i64 %to.at
  %host.p = getelementptr i64, ptr %hosts, i64 %number.64
  %host.i = load i64, ptr %host.p
  %host = inttoptr i64 %host.i to ptr
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %host, i64 %size, i1 false)
  br label %lanes
next:
  %n.next = add i64 %n, 1
  br label %each
done:
  ret i1 true
failed:
  ret i1 false
}

; Extend a row of 32-bit values base + stride * lane to 64 bits and return the new base. If the values wrap
; around between active lanes, the result is not affine, and `wraps` is set.
define internal i64 @sim_widen(ptr %ctx, i32 %base, i32 %mask, i32 %stride, i1 %signed) noinline cold {
  %none = icmp eq i32 %mask, 0
  br i1 %none, label %inactive, label %some
inactive:
  ret i64 0
some:
  %first = call i32 @llvm.cttz.i32(i32 %mask, i1 true)
  %zeros = call i32 @llvm.ctlz.i32(i32 %mask, i1 true)
  %last = sub i32 31, %zeros
  %first.step = mul i32 %first, %stride
  %last.step = mul i32 %last, %stride
  %a = add i32 %base, %first.step
  %z = add i32 %base, %last.step
  %a.s = sext i32 %a to i64
  %a.u = zext i32 %a to i64
  %a.w = select i1 %signed, i64 %a.s, i64 %a.u
  %z.s = sext i32 %z to i64
  %z.u = zext i32 %z to i64
  %z.w = select i1 %signed, i64 %z.s, i64 %z.u
  %fs = sext i32 %first.step to i64
  %ls = sext i32 %last.step to i64
  %start = sub i64 %a.w, %fs
  %back = sub i64 %z.w, %ls
  %same = icmp eq i64 %start, %back
  br i1 %same, label %fine, label %wraps
fine:
  ret i64 %start
wraps:
  call void @put(ptr %ctx, i64 ${wraps}, i64 1)
  ret i64 0
}

; Append a record to the print buffer: format, block, thread, bytes, then the packed arguments.
define internal void @sim_print(ptr %ctx, i32 %warp, i32 %lane, i64 %format, i64 %packed, i64 %local.size) noinline cold {
  %used = call i64 @get(ptr %ctx, i64 ${printed_bytes})
  %in.local = sub i64 %packed, ${LOCAL_WINDOW}
  %is.local = icmp ult i64 %in.local, %local.size
  %room = sub i64 %local.size, %in.local
  %bytes = select i1 %is.local, i64 %room, i64 0
  %padded.7 = add i64 %bytes, 7
  %padded = and i64 %padded.7, -8
  %record = add i64 %padded, 32
  %end = add i64 %used, %record
  call void @put(ptr %ctx, i64 ${printed_bytes}, i64 %end)
  %limit = call i64 @get(ptr %ctx, i64 ${printed_limit})
  %fits = icmp ule i64 %end, %limit
  br i1 %fits, label %write, label %full
full:
  %lost = call i64 @get(ptr %ctx, i64 ${printed_lost})
  %lost.now = add i64 %lost, 1
  call void @put(ptr %ctx, i64 ${printed_lost}, i64 %lost.now)
  ret void
write:
  %buffer = call i64 @get(ptr %ctx, i64 ${printed})
  %at.i = add i64 %buffer, %used
  %at = inttoptr i64 %at.i to ptr
  %block = call i64 @get(ptr %ctx, i64 ${block})
  %first = shl i32 %warp, 5
  %thread = add i32 %first, %lane
  %thread64 = zext i32 %thread to i64
  call void @put(ptr %at, i64 0, i64 %format)
  call void @put(ptr %at, i64 8, i64 %block)
  call void @put(ptr %at, i64 16, i64 %thread64)
  call void @put(ptr %at, i64 24, i64 %padded)
  %local = call i64 @get(ptr %ctx, i64 ${local})
  %own = mul i64 %thread64, %local.size
  %own.i = add i64 %local, %own
  %from.i = add i64 %own.i, %in.local
  %from = inttoptr i64 %from.i to ptr
  %to = getelementptr i8, ptr %at, i64 32
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  ret void
}

; Call `malloc` or, with %frees, `free` for the active lanes: each one's word is replaced by the result.
define internal void @sim_heap(ptr %ctx, i32 %frees, ptr %words, i32 %mask) noinline cold {
  %function.i = call i64 @get(ptr %ctx, i64 ${heap})
  %function = inttoptr i64 %function.i to ptr
  call void %function(ptr %ctx, i32 %frees, ptr %words, i32 %mask)
  ret void
}

; Run a warp in the fallback code, which is compiled when it is first needed.
define internal i32 @run_fallback(ptr %ctx, i32 %warp, i32 %resume) noinline cold {
  %address = call i64 @get(ptr %ctx, i64 ${fallback})
  %missing = icmp eq i64 %address, 0
  br i1 %missing, label %compile, label %go
compile:
  %compiler.i = call i64 @get(ptr %ctx, i64 ${compile_fallback})
  %compiler = inttoptr i64 %compiler.i to ptr
  call void %compiler(ptr %ctx)
  %compiled = call i64 @get(ptr %ctx, i64 ${fallback})
  %failed = icmp eq i64 %compiled, 0
  br i1 %failed, label %fails, label %go
fails:
  call void @sim_fault(ptr %ctx, i32 %warp, i64 ${NO_FALLBACK_CODE}, i64 0, i32 1, i64 0)
  ret i32 -2
go:
  %code.i = call i64 @get(ptr %ctx, i64 ${fallback})
  %code = inttoptr i64 %code.i to ptr
  %result = call i32 %code(ptr %ctx, i32 %warp, i32 %resume)
  ret i32 %result
}

; The scheduler of one worker: run blocks until none is left. Return 0, or 1 after a fault.
define i32 @run_blocks(ptr %ctx) {
entry:
  %counter.i = call i64 @get(ptr %ctx, i64 ${next_block})
  %counter = inttoptr i64 %counter.i to ptr
  %blocks = call i64 @get(ptr %ctx, i64 ${blocks})
  %stop.i = call i64 @get(ptr %ctx, i64 ${stop})
  %stop = inttoptr i64 %stop.i to ptr
  %order.i = call i64 @get(ptr %ctx, i64 ${order})
  %order = inttoptr i64 %order.i to ptr
  %whole = icmp eq i64 %order.i, 0
  %resident.i = call i64 @get(ptr %ctx, i64 ${resident})
  %together = icmp ne i64 %resident.i, 0
  br i1 %together, label %resident, label %take
resident:
  %all = call i32 @run_resident(ptr %ctx, i64 %blocks)
  %all.failed = icmp ne i32 %all, 0
  br i1 %all.failed, label %fault, label %finished
take:
  %taken = atomicrmw add ptr %counter, i64 1 monotonic
  %more = icmp ult i64 %taken, %blocks
  %stopping = load atomic i64, ptr %stop monotonic, align 8
  %running = icmp eq i64 %stopping, 0
  %go = and i1 %more, %running
  br i1 %go, label %start, label %finished
finished:
  ret i32 0
start:
  br i1 %whole, label %placed, label %listed
listed:
  %listed.p = getelementptr i64, ptr %order, i64 %taken
  %number = load i64, ptr %listed.p
  br label %placed
placed:
  %b = phi i64 [ %taken, %start ], [ %number, %listed ]
  call void @place_block(ptr %ctx, i64 %b)
  call void @start_block(ptr %ctx)
  %result = call i32 @run_block(ptr %ctx, i1 false)
  %ended = icmp eq i32 %result, 0
  br i1 %ended, label %take, label %fault
fault:
  store atomic i64 1, ptr %stop monotonic, align 8
  ret i32 1
}

; Run all blocks of a cooperative launch in turns. A block runs until its warps only wait in spin loops. Its
; memory and its warps are then exchanged for those of the next block. Return 0, or 1 after a fault.
define internal i32 @run_resident(ptr %ctx, i64 %blocks) noinline {
entry:
  br label %starts
starts:
  %s = phi i64 [ 0, %entry ], [ %s.next, %started ]
  %s.more = icmp ult i64 %s, %blocks
  br i1 %s.more, label %started, label %turn
started:
  %s.row = call ptr @select_block(ptr %ctx, i64 %s)
  call void @start_block(ptr %ctx)
  %s.next = add i64 %s, 1
  br label %starts
turn:
  br label %each
each:
  %n = phi i64 [ 0, %turn ], [ %n.next, %next ]
  %waiting = phi i64 [ 0, %turn ], [ %waiting.next, %next ]
  %more = icmp ult i64 %n, %blocks
  br i1 %more, label %visit, label %turned
visit:
  %row = call ptr @select_block(ptr %ctx, i64 %n)
  %ended.p = getelementptr i8, ptr %row, i64 56
  %ended = load i64, ptr %ended.p
  %gone = icmp ne i64 %ended, 0
  br i1 %gone, label %next, label %run
run:
  call void @sim_on_resume(ptr %ctx)
  %result = call i32 @run_block(ptr %ctx, i1 true)
  %failed = icmp slt i32 %result, 0
  br i1 %failed, label %fault, label %ran
ran:
  %waits = zext i32 %result to i64
  %ends = xor i64 %waits, 1
  store i64 %ends, ptr %ended.p
  br label %next
next:
  %add = phi i64 [ 0, %visit ], [ %waits, %ran ]
  %waiting.next = add i64 %waiting, %add
  %n.next = add i64 %n, 1
  br label %each
turned:
  %some = icmp ne i64 %waiting, 0
  br i1 %some, label %turn, label %done
done:
  ret i32 0
fault:
  ret i32 1
}

; Make a block of a cooperative launch the current one. Return its row of the table `resident`: the fields from
; `shared` to `votes`, and a flag that it has ended.
define internal ptr @select_block(ptr %ctx, i64 %number) {
  %table.i = call i64 @get(ptr %ctx, i64 ${resident})
  %table = inttoptr i64 %table.i to ptr
  %offset = mul i64 %number, 64
  %row = getelementptr i8, ptr %table, i64 %offset
  %fields = getelementptr i8, ptr %ctx, i64 ${shared}
  call void @llvm.memcpy.p0.p0.i64(ptr %fields, ptr %row, i64 56, i1 false)
  call void @place_block(ptr %ctx, i64 %number)
  ret ptr %row
}

define internal void @place_block(ptr %ctx, i64 %b) {
  %gx = call i64 @get(ptr %ctx, i64 ${grid_x})
  %gy = call i64 @get(ptr %ctx, i64 ${grid_y})
  %x = urem i64 %b, %gx
  %b2 = udiv i64 %b, %gx
  %y = urem i64 %b2, %gy
  %z = udiv i64 %b2, %gy
  call void @put(ptr %ctx, i64 ${ctaid_x}, i64 %x)
  call void @put(ptr %ctx, i64 ${ctaid_y}, i64 %y)
  call void @put(ptr %ctx, i64 ${ctaid_z}, i64 %z)
  call void @put(ptr %ctx, i64 ${block}, i64 %b)
  ret void
}

; Add what the warps of a block have used of their last time slices. If the launch has exceeded its budget, the
; warps of later blocks get a first slice of half of what a warp of this block has used, so that the loop in
; which they are stopped is one in which much is executed.
define internal void @end_block(ptr %ctx) {
entry:
  %states.i = call i64 @get(ptr %ctx, i64 ${warps})
  %states = inttoptr i64 %states.i to ptr
  %warps = load i32, ptr @warp_count
  %warps64 = zext i32 %warps to i64
  %slice = call i64 @get(ptr %ctx, i64 ${slice})
  br label %warp
warp:
  %w = phi i64 [ 0, %entry ], [ %w.next, %warp ]
  %left = phi i64 [ 0, %entry ], [ %left.next, %warp ]
  %at = mul i64 %w, 32
  %at2 = add i64 %at, 16
  %fuel.p = getelementptr i8, ptr %states, i64 %at2
  %fuel = load i32, ptr %fuel.p
  %fuel64 = sext i32 %fuel to i64
  %left.next = add i64 %left, %fuel64
  %w.next = add i64 %w, 1
  %more = icmp ult i64 %w.next, %warps64
  br i1 %more, label %warp, label %summed
summed:
  %granted = mul i64 %slice, %warps64
  %used = sub i64 %granted, %left.next
  %none = icmp eq i64 %used, 0  ; as in a kernel without loops
  br i1 %none, label %done, label %spend
spend:
  %over = call i1 @sim_spend(ptr %ctx, i64 %used)
  br i1 %over, label %shorten, label %done
shorten:
  %each = sdiv i64 %used, %warps64
  %half = sdiv i64 %each, 2
  %long = icmp slt i64 %half, %slice
  %next = select i1 %long, i64 %half, i64 %slice
  call void @put(ptr %ctx, i64 ${slice}, i64 %next)
  br label %done
done:
  ret void
}

; Reset the memory and the warps of the current block. Unwritten shared memory reads as NaN or -1.
define internal void @start_block(ptr %ctx) {
entry:
  %shared.i = call i64 @get(ptr %ctx, i64 ${shared})
  %shared = inttoptr i64 %shared.i to ptr
  %shared.size = load i64, ptr @shared_bytes
  %states.i = call i64 @get(ptr %ctx, i64 ${warps})
  %states = inttoptr i64 %states.i to ptr
  %arrivals.i = call i64 @get(ptr %ctx, i64 ${arrivals})
  %arrivals = inttoptr i64 %arrivals.i to ptr
  %warps = load i32, ptr @warp_count
  %warps64 = zext i32 %warps to i64
  %state.bytes = mul i64 %warps64, 32
  %poison.64 = call i64 @get(ptr %ctx, i64 ${poison})
  %poison = trunc i64 %poison.64 to i8
  call void @llvm.memset.p0.i64(ptr %shared, i8 %poison, i64 %shared.size, i1 false)
  call void @llvm.memset.p0.i64(ptr %states, i8 0, i64 %state.bytes, i1 false)
  call void @llvm.memset.p0.i64(ptr %arrivals, i8 0, i64 128, i1 false)
  %slice.64 = call i64 @get(ptr %ctx, i64 ${slice})
  %slice = trunc i64 %slice.64 to i32
  br label %grant
grant:
  %g = phi i64 [ 0, %entry ], [ %g.next, %grant ]
  %g.off = mul i64 %g, 32
  %g.off2 = add i64 %g.off, 16
  %g.p = getelementptr i8, ptr %states, i64 %g.off2
  store i32 %slice, ptr %g.p
  %g.next = add i64 %g, 1
  %g.more = icmp ult i64 %g.next, %warps64
  br i1 %g.more, label %grant, label %granted
granted:
  %local.poison.64 = call i64 @get(ptr %ctx, i64 ${local_poison})
  %keeps = icmp slt i64 %local.poison.64, 0
  br i1 %keeps, label %on, label %fill
fill:
  %local.i = call i64 @get(ptr %ctx, i64 ${local})
  %local = inttoptr i64 %local.i to ptr
  %local.size = load i64, ptr @local_bytes
  %threads = shl i64 %warps64, 5
  %local.all = mul i64 %threads, %local.size ; a multiple of 32 * 16 bytes
  %local.poison = trunc i64 %local.poison.64 to i8
  %local.byte = insertelement <64 x i8> poison, i8 %local.poison, i64 0
  %local.bytes = shufflevector <64 x i8> %local.byte, <64 x i8> poison, <64 x i32> zeroinitializer
  %is.local = icmp ne i64 %local.all, 0
  br i1 %is.local, label %compare, label %on
compare:
  %at = phi i64 [ 0, %fill ], [ %at.next, %compare ]
  %changed = phi <64 x i8> [ zeroinitializer, %fill ], [ %changed.next, %compare ]
  %part.p = getelementptr i8, ptr %local, i64 %at
  %part = load <64 x i8>, ptr %part.p, align 1
  %part.changed = xor <64 x i8> %part, %local.bytes
  %changed.next = or <64 x i8> %changed, %part.changed
  %at.next = add i64 %at, 64
  %more = icmp ult i64 %at.next, %local.all
  br i1 %more, label %compare, label %reset
reset:
  %changed.words = bitcast <64 x i8> %changed.next to <8 x i64>
  %changed.any = call i64 @llvm.vector.reduce.or.v8i64(<8 x i64> %changed.words)
  %written = call i64 @get(ptr %ctx, i64 ${local_written})
  %written.now = or i64 %written, %changed.any
  call void @put(ptr %ctx, i64 ${local_written}, i64 %written.now)
  call void @llvm.memset.p0.i64(ptr %local, i8 %local.poison, i64 %local.all, i1 false)
  br label %on
on:
  call void @sim_on_block(ptr %ctx)
  ret void
}

; Run the current block until all its warps have ended, or with %yields until they only wait for other blocks.
; Return 0, 1 if they wait, or -1 after a fault.
define internal i32 @run_block(ptr %ctx, i1 %yields) {
entry:
  %stop.i = call i64 @get(ptr %ctx, i64 ${stop})
  %stop = inttoptr i64 %stop.i to ptr
  %states.i = call i64 @get(ptr %ctx, i64 ${warps})
  %states = inttoptr i64 %states.i to ptr
  %warps = load i32, ptr @warp_count
  br label %round
round:
  ; Run every warp that is not blocked to its next suspend point or to its end.
  br label %each
each:
  %w = phi i32 [ 0, %round ], [ %w.next, %ran ]
  %live = phi i32 [ 0, %round ], [ %live.next, %ran ]
  %free = phi i32 [ 0, %round ], [ %free.next, %ran ]
  %every = phi i32 [ -1, %round ], [ %every.next, %ran ]  ; conjunction and disjunction of the results
  %some = phi i32 [ 0, %round ], [ %some.next, %ran ]
  %all = icmp ult i32 %w, %warps
  br i1 %all, label %visit, label %round.end
visit:
  %w64 = zext i32 %w to i64
  %off = mul i64 %w64, 32
  %state = getelementptr i8, ptr %states, i64 %off
  %resume = load i32, ptr %state
  %blocked.p = getelementptr i8, ptr %state, i64 8
  %blocked = load i32, ptr %blocked.p
  %gone = icmp eq i32 %resume, -1
  br i1 %gone, label %ran, label %able
able:
  %held = icmp ne i32 %blocked, 0
  br i1 %held, label %ran, label %run
run:
  call void @put(ptr %ctx, i64 ${running}, i64 %w64)
  %in.fallback = icmp sge i32 %resume, ${FALLBACK}
  br i1 %in.fallback, label %run.fallback, label %run.fast
run.fast:
  %warp.i = call i64 @get(ptr %ctx, i64 ${warp})
  %warp = inttoptr i64 %warp.i to ptr
  %fast.result = call i32 %warp(ptr %ctx, i32 %w, i32 %resume)
  br label %stopped
run.fallback:
  %fallback.result = call i32 @run_fallback(ptr %ctx, i32 %w, i32 %resume)
  br label %stopped
stopped:
  %result = phi i32 [ %fast.result, %run.fast ], [ %fallback.result, %run.fallback ]
  ; The result is that of the last warp which the call ran. All others have arrived at one complete barrier.
  %last64 = call i64 @get(ptr %ctx, i64 ${running})
  %last = trunc i64 %last64 to i32
  %last.off = mul i64 %last64, 32
  %last.state = getelementptr i8, ptr %states, i64 %last.off
  store i32 %result, ptr %last.state
  %failed = icmp eq i32 %result, -2
  br i1 %failed, label %fault, label %count
count:
  %others = sub i32 %last, %w
  %others.place = load i32, ptr %state
  %every.others = and i32 %every, %others.place
  %some.others = or i32 %some, %others.place
  %stays = icmp sgt i32 %result, 0
  %stays.1 = zext i1 %stays to i32
  %stays.all = add i32 %stays.1, %others
  %last.blocked.p = getelementptr i8, ptr %last.state, i64 8
  %last.blocked = load i32, ptr %last.blocked.p
  %goes = icmp eq i32 %last.blocked, 0
  %both = and i1 %stays, %goes
  %goes.1 = zext i1 %both to i32
  %goes.all = add i32 %goes.1, %others
  br label %ran
ran:
  %ran.last = phi i32 [ %w, %visit ], [ %w, %able ], [ %last, %count ]
  %live.add = phi i32 [ 0, %visit ], [ 1, %able ], [ %stays.all, %count ]
  %free.add = phi i32 [ 0, %visit ], [ 0, %able ], [ %goes.all, %count ]
  %every.before = phi i32 [ %every, %visit ], [ %every, %able ], [ %every.others, %count ]
  %some.before = phi i32 [ %some, %visit ], [ %some, %able ], [ %some.others, %count ]
  %place = phi i32 [ -1, %visit ], [ -1, %able ], [ %result, %count ]
  %every.next = and i32 %every.before, %place
  %some.next = or i32 %some.before, %place
  %live.next = add i32 %live, %live.add
  %free.next = add i32 %free, %free.add
  %w.next = add i32 %ran.last, 1
  br label %each
round.end:
  %again = icmp ne i32 %live, 0
  br i1 %again, label %check, label %ended
ended:
  call void @end_block(ptr %ctx)
  ret i32 0
check:
  %stopping.now = load atomic i64, ptr %stop monotonic, align 8
  %continues = icmp eq i64 %stopping.now, 0
  br i1 %continues, label %test, label %fault
test:
  %one.place = icmp eq i32 %every, %some
  %flag.off = sub i32 %some, ${COMPLETE}
  %flagged = icmp ult i32 %flag.off, ${COMPLETE}
  %complete = and i1 %one.place, %flagged
  br i1 %complete, label %completed, label %release
completed:
  call void @sim_on_barrier(ptr %ctx, i32 %warps, i32 -2)
  br label %round
release:
  %held.now = call i32 @sim_hold(ptr %ctx, i32 %warps)
  %released = call i32 @sim_release(ptr %ctx, i32 %warps, i32 %live)
  %broken = icmp slt i32 %released, 0
  br i1 %broken, label %fault, label %on
on:
  %free.left = sub i32 %free, %held.now
  %moves = add i32 %released, %free.left
  %moving.some = icmp ne i32 %moves, 0
  br i1 %moving.some, label %moving, label %deadlock
moving:
  %none.released = icmp eq i32 %released, 0
  %waits = and i1 %none.released, %yields
  br i1 %waits, label %waiting, label %round
waiting:
  ret i32 1
deadlock:
  call void @sim_deadlock(ptr %ctx, i32 %warps)
  br label %fault
fault:
  ret i32 -1
}

; A warp's state is (i32 resume, i32 barrier, i32 blocked, i32 mask, i32 fuel, i32 slices, i32 expected, i32 site).
; Store what `sim_release` needs of the warps that have arrived at a complete barrier. Return their number.
define internal i32 @sim_hold(ptr %ctx, i32 %warps) {
entry:
  %states.i = call i64 @get(ptr %ctx, i64 ${warps})
  %states = inttoptr i64 %states.i to ptr
  br label %warp
warp:
  %w = phi i32 [ 0, %entry ], [ %w.next, %next ]
  %held = phi i32 [ 0, %entry ], [ %held.next, %next ]
  %in = icmp ult i32 %w, %warps
  br i1 %in, label %visit, label %done
visit:
  %off = mul i32 %w, 32
  %state = getelementptr i8, ptr %states, i32 %off
  %resume = load i32, ptr %state
  %flag.off = sub i32 %resume, ${COMPLETE}
  %flagged = icmp ult i32 %flag.off, ${COMPLETE}
  %blocked.p = getelementptr i8, ptr %state, i64 8
  %blocked = load i32, ptr %blocked.p
  %arrives = icmp eq i32 %blocked, 0
  %new = and i1 %flagged, %arrives
  br i1 %new, label %hold, label %next
hold:
  %barrier.p = getelementptr i8, ptr %state, i64 4
  store i32 0, ptr %barrier.p
  store i32 1, ptr %blocked.p
  %mask.p = getelementptr i8, ptr %state, i64 12
  store i32 -1, ptr %mask.p
  %expected.p = getelementptr i8, ptr %state, i64 24
  store i32 0, ptr %expected.p
  br label %next
next:
  %held.add = phi i32 [ 0, %visit ], [ 1, %hold ]
  %held.next = add i32 %held, %held.add
  %w.next = add i32 %w, 1
  br label %warp
done:
  ret i32 %held
}

; Complete the barriers at which all expected threads have arrived. Return the number of warps that are
; released, or -1 after a fault.
define internal i32 @sim_release(ptr %ctx, i32 %warps, i32 %live) {
entry:
  %states.i = call i64 @get(ptr %ctx, i64 ${warps})
  %states = inttoptr i64 %states.i to ptr
  %arrivals.i = call i64 @get(ptr %ctx, i64 ${arrivals})
  %arrivals = inttoptr i64 %arrivals.i to ptr
  br label %simple
; The common case: all remaining warps wait at the same __syncthreads().
simple:
  %s = phi i32 [ 0, %entry ], [ %s.next, %simple.next ]
  %same = phi i32 [ 0, %entry ], [ %same.next, %simple.next ]
  %s.in = icmp ult i32 %s, %warps
  br i1 %s.in, label %simple.visit, label %simple.all
simple.visit:
  %s.off = mul i32 %s, 32
  %s.state = getelementptr i8, ptr %states, i32 %s.off
  %s.resume = load i32, ptr %s.state
  %s.gone = icmp eq i32 %s.resume, -1
  br i1 %s.gone, label %simple.next, label %simple.test
simple.test:
  %s.where.p = getelementptr i8, ptr %s.state, i64 4
  %s.where = load i64, ptr %s.where.p, align 4
  %s.plain = icmp eq i64 %s.where, 4294967296
  %s.expected.p = getelementptr i8, ptr %s.state, i64 24
  %s.expected = load i32, ptr %s.expected.p
  %s.all = icmp eq i32 %s.expected, 0
  %s.new = icmp eq i32 %same, 0
  %s.place = and i32 %s.resume, ${POINTS}
  %s.match = icmp eq i32 %same, %s.place
  %s.fits = or i1 %s.new, %s.match
  %s.a = and i1 %s.plain, %s.all
  %s.b = and i1 %s.a, %s.fits
  br i1 %s.b, label %simple.next, label %barriers.start
simple.next:
  %same.next = phi i32 [ %same, %simple.visit ], [ %s.place, %simple.test ]
  %s.next = add i32 %s, 1
  br label %simple
simple.all:
  call void @sim_on_barrier(ptr %ctx, i32 %warps, i32 -1)
  %fault = call i64 @get(ptr %ctx, i64 ${fault})
  %sound = icmp eq i64 %fault, 0
  br i1 %sound, label %simple.free, label %simple.fault
simple.fault:
  ret i32 -1
simple.free:
  %f = phi i32 [ 0, %simple.all ], [ %f.next, %simple.each ]
  %f.in = icmp ult i32 %f, %warps
  br i1 %f.in, label %simple.each, label %simple.done
simple.each:
  %f.off = mul i32 %f, 32
  %f.state = getelementptr i8, ptr %states, i32 %f.off
  %f.blocked = getelementptr i8, ptr %f.state, i64 8
  store i32 0, ptr %f.blocked
  %f.next = add i32 %f, 1
  br label %simple.free
simple.done:
  call void @sim_count_votes(ptr %ctx, i32 0)
  ret i32 %live
barriers.start:
  br label %barriers
barriers:
  %id = phi i32 [ 0, %barriers.start ], [ %id.next, %after ]
  %total = phi i32 [ 0, %barriers.start ], [ %total.next, %after ]
  %last = icmp eq i32 %id, 16
  br i1 %last, label %done, label %counting
counting:
  br label %warp
warp:
  %w = phi i32 [ 0, %counting ], [ %w.next, %warp.next ]
  %n = phi i32 [ 0, %counting ], [ %n.next, %warp.next ]
  %expected = phi i32 [ 0, %counting ], [ %expected.here, %warp.next ]
  %first = phi i32 [ 0, %counting ], [ %first.here, %warp.next ]
  %first.site = phi i32 [ 0, %counting ], [ %first.site.here, %warp.next ]
  %inside = icmp ult i32 %w, %warps
  br i1 %inside, label %one, label %test
one:
  %off = mul i32 %w, 32
  %state = getelementptr i8, ptr %states, i32 %off
  %resume = load i32, ptr %state
  %here.p = getelementptr i8, ptr %state, i64 4
  %here = load i32, ptr %here.p
  %blocked.p = getelementptr i8, ptr %state, i64 8
  %blocked = load i32, ptr %blocked.p
  %wanted.p = getelementptr i8, ptr %state, i64 24
  %wanted = load i32, ptr %wanted.p
  %alive = icmp sgt i32 %resume, 0
  %held = icmp ne i32 %blocked, 0
  %at = icmp eq i32 %here, %id
  %a = and i1 %alive, %held
  %counts = and i1 %a, %at
  %inc = zext i1 %counts to i32
  %expected.here = select i1 %counts, i32 %wanted, i32 %expected
  %site.p = getelementptr i8, ptr %state, i64 28
  %site = load i32, ptr %site.p
  %unset = icmp eq i32 %first, 0
  %sets = and i1 %counts, %unset
  %resume.place = and i32 %resume, ${POINTS}
  %first.here = select i1 %sets, i32 %resume.place, i32 %first
  %first.site.here = select i1 %sets, i32 %site, i32 %first.site
  br label %warp.next
warp.next:
  %n.next = add i32 %n, %inc
  %w.next = add i32 %w, 1
  br label %warp
test:
  %unused = icmp eq i32 %n, 0
  %place = getelementptr i64, ptr %arrivals, i32 %id
  %arrived64 = load i64, ptr %place
  %arrived = trunc i64 %arrived64 to i32
  %threads = shl i32 %n, 5
  %present = add i32 %threads, %arrived
  %enough = icmp uge i32 %present, %expected
  %complete = icmp eq i32 %n, %live
  %any = icmp eq i32 %expected, 0
  %full = select i1 %any, i1 %complete, i1 %enough
  %completes = select i1 %unused, i1 false, i1 %full
  br i1 %completes, label %completing, label %after
completing:
  call void @sim_on_barrier(ptr %ctx, i32 %warps, i32 %id)
  store i64 0, ptr %place
  br label %each
each:
  %v = phi i32 [ 0, %completing ], [ %v.next, %each.next ]
  %more = icmp ult i32 %v, %warps
  br i1 %more, label %visit, label %completed
visit:
  %voff = mul i32 %v, 32
  %vstate = getelementptr i8, ptr %states, i32 %voff
  %vhere.p = getelementptr i8, ptr %vstate, i64 4
  %vhere = load i32, ptr %vhere.p
  %vat = icmp eq i32 %vhere, %id
  br i1 %vat, label %free, label %each.next
free:
  ; Without a thread count, all threads should wait at the same barrier in the code. A GPU counts arrivals.
  %vresume = load i32, ptr %vstate
  %vplace = and i32 %vresume, ${POINTS}
  %vother = icmp ne i32 %vplace, %first
  %vgone = icmp eq i32 %vresume, -1
  %vstays = xor i1 %vgone, true
  %vmixed = and i1 %vother, %vstays
  %vfails = and i1 %vmixed, %any
  br i1 %vfails, label %mixed, label %frees
mixed:
  %vmask.p = getelementptr i8, ptr %vstate, i64 12
  %vmask = load i32, ptr %vmask.p
  %vsite.p = getelementptr i8, ptr %vstate, i64 28
  %vsite = load i32, ptr %vsite.p
  %vsite64 = zext i32 %vsite to i64
  %first.site64 = zext i32 %first.site to i64
  call void @sim_warn(ptr %ctx, i32 %v, i64 %first.site64, i32 %vmask, i64 %vsite64)
  br label %frees
frees:
  %vblocked.p = getelementptr i8, ptr %vstate, i64 8
  store i32 0, ptr %vblocked.p
  br label %each.next
each.next:
  %v.next = add i32 %v, 1
  br label %each
completed:
  call void @sim_count_votes(ptr %ctx, i32 %id)
  br label %after
after:
  %add = phi i32 [ 0, %test ], [ %n, %completed ]
  %total.next = add i32 %total, %add
  %id.next = add i32 %id, 1
  br label %barriers
done:
  ret i32 %total
}

; Report a fault if threads have exited without reaching the __syncthreads() at which all others wait.
define internal void @sim_check_all_arrived(ptr %ctx, i32 %warps) {
entry:
  %states.i = call i64 @get(ptr %ctx, i64 ${warps})
  %states = inttoptr i64 %states.i to ptr
  %last = sub i32 %warps, 1
  %last.lanes = load i32, ptr @last_lanes
  br label %warp
warp:
  %w = phi i32 [ 0, %entry ], [ %w.next, %fine ]
  %access.before = phi i32 [ 0, %entry ], [ %access, %fine ]
  %off = mul i32 %w, 32
  %state = getelementptr i8, ptr %states, i32 %off
  %resume = load i32, ptr %state
  %mask.p = getelementptr i8, ptr %state, i64 12
  %mask = load i32, ptr %mask.p
  %access.p = getelementptr i8, ptr %state, i64 28
  %access.present = load i32, ptr %access.p
  %exited = icmp eq i32 %resume, -1
  %present = select i1 %exited, i32 0, i32 %mask
  %access = select i1 %exited, i32 %access.before, i32 %access.present
  %is.last = icmp eq i32 %w, %last
  %launched = select i1 %is.last, i32 %last.lanes, i32 -1
  %not.present = xor i32 %present, -1
  %missing = and i32 %launched, %not.present
  %all = icmp eq i32 %missing, 0
  br i1 %all, label %fine, label %left
fine:
  %w.next = add i32 %w, 1
  %more = icmp ult i32 %w.next, %warps
  br i1 %more, label %warp, label %done
done:
  ret void
left:
  ; The fault names the barrier at which another warp waits.
  br label %search
search:
  %v = phi i32 [ 0, %left ], [ %v.next, %search.next ]
  %v.off = mul i32 %v, 32
  %v.state = getelementptr i8, ptr %states, i32 %v.off
  %v.resume = load i32, ptr %v.state
  %v.exited = icmp eq i32 %v.resume, -1
  br i1 %v.exited, label %search.next, label %found
search.next:
  %v.next = add i32 %v, 1
  br label %search
found:
  %v.access.p = getelementptr i8, ptr %v.state, i64 28
  %v.access = load i32, ptr %v.access.p
  %access64 = zext i32 %v.access to i64
  call void @sim_fault(ptr %ctx, i32 %w, i64 ${EXITED_THREADS}, i64 %access64, i32 %missing, i64 0)
  ret void
}

; Record the first warps of a worker that wait at two different barriers of the code.
define internal void @sim_warn(ptr %ctx, i32 %warp, i64 %site, i32 %lanes, i64 %other) noinline cold {
  %old = call i64 @get(ptr %ctx, i64 ${warned})
  %first = icmp eq i64 %old, 0
  br i1 %first, label %record, label %out
record:
  %lane = call i32 @llvm.cttz.i32(i32 %lanes, i1 false)
  %lane64 = zext i32 %lane to i64
  %warp64 = zext i32 %warp to i64
  %block = call i64 @get(ptr %ctx, i64 ${block})
  call void @put(ptr %ctx, i64 ${warned}, i64 1)
  call void @put(ptr %ctx, i64 ${warned_site}, i64 %site)
  call void @put(ptr %ctx, i64 ${warned_other}, i64 %other)
  call void @put(ptr %ctx, i64 ${warned_lane}, i64 %lane64)
  call void @put(ptr %ctx, i64 ${warned_warp}, i64 %warp64)
  call void @put(ptr %ctx, i64 ${warned_block}, i64 %block)
  br label %out
out:
  ret void
}

; Complete the phase of a `bar.red`: copy its counters, from which warps take the result, and reset them.
define internal void @sim_count_votes(ptr %ctx, i32 %id) {
  %votes.i = call i64 @get(ptr %ctx, i64 ${votes})
  %votes = inttoptr i64 %votes.i to ptr
  %off = mul i32 %id, 32
  %true.p = getelementptr i8, ptr %votes, i32 %off
  %voters.p = getelementptr i8, ptr %true.p, i64 8
  %last.true.p = getelementptr i8, ptr %true.p, i64 16
  %last.total.p = getelementptr i8, ptr %true.p, i64 24
  %true = load i64, ptr %true.p
  %voters = load i64, ptr %voters.p
  store i64 %true, ptr %last.true.p
  store i64 %voters, ptr %last.total.p
  store i64 0, ptr %true.p
  store i64 0, ptr %voters.p
  ret void
}

; Report a deadlock, if no warp can continue, at the first warp that waits.
define internal void @sim_deadlock(ptr %ctx, i32 %warps) cold noinline {
entry:
  %states.i = call i64 @get(ptr %ctx, i64 ${warps})
  %states = inttoptr i64 %states.i to ptr
  br label %warp
warp:
  %w = phi i32 [ 0, %entry ], [ %w.next, %next ]
  %off = mul i32 %w, 32
  %state = getelementptr i8, ptr %states, i32 %off
  %resume = load i32, ptr %state
  %alive = icmp sgt i32 %resume, 0
  br i1 %alive, label %this, label %next
next:
  %w.next = add i32 %w, 1
  %in = icmp ult i32 %w.next, %warps
  br i1 %in, label %warp, label %out
this:
  %mask.p = getelementptr i8, ptr %state, i64 12
  %mask = load i32, ptr %mask.p
  %site.p = getelementptr i8, ptr %state, i64 28
  %site = load i32, ptr %site.p
  %site64 = zext i32 %site to i64
  call void @sim_fault(ptr %ctx, i32 %w, i64 ${BARRIER_DEADLOCK}, i64 %site64, i32 %mask, i64 0)
  br label %out
out:
  ret void
}
