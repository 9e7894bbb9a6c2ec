; -- optimized --
; Runtime of the counters tier: functions for accesses whose pattern is not known when code is generated.
; Names in braces are byte offsets of context fields (runtime/layout.py), other names those of a site's record
; (counter_layout.py).

declare i32 @llvm.ctpop.i32(i32)
declare i32 @llvm.umax.i32(i32, i32)

define internal void @sim_on_resume(ptr %ctx) alwaysinline {
  ret void
}
define internal void @sim_on_block(ptr %ctx) alwaysinline {
  ret void
}

define internal void @sim_on_barrier(ptr %ctx, i32 %warps, i32 %barrier) alwaysinline {
  %all = icmp eq i32 %barrier, -1
  br i1 %all, label %check, label %out
check:
  call void @sim_check_all_arrived(ptr %ctx, i32 %warps)
  br label %out
out:
  ret void
}

define internal void @sim_add(ptr %counter, i32 %by) alwaysinline {
  %by64 = zext i32 %by to i64
  %old = load i64, ptr %counter
  %new = add i64 %old, %by64
  store i64 %new, ptr %counter
  ret void
}

; Store a request as a sample: (mask, block, warp, units, 32 addresses).
define internal void @sim_store_sample(ptr %ctx, i32 %warp, ptr %sample, ptr %addresses, i32 %mask, i32 %units) noinline cold {
  %block = call i64 @get(ptr %ctx, i64 ${block})
  %mask64 = zext i32 %mask to i64
  %warp64 = zext i32 %warp to i64
  %units64 = zext i32 %units to i64
  call void @put(ptr %sample, i64 0, i64 %mask64)
  call void @put(ptr %sample, i64 8, i64 %block)
  call void @put(ptr %sample, i64 16, i64 %warp64)
  call void @put(ptr %sample, i64 24, i64 %units64)
  %to = getelementptr i8, ptr %sample, i64 32
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %addresses, i64 256, i1 false)
  ret void
}

; Sample the first request of a site, and each request with more units than all before it.
define internal void @sim_sample(ptr %ctx, i32 %warp, ptr %site, ptr %addresses, i32 %mask, i32 %units) noinline cold {
  %worst.p = getelementptr i8, ptr %site, i64 $WORST
  %worst = load i64, ptr %worst.p
  %units64 = zext i32 %units to i64
  store i64 %units64, ptr %worst.p
  %second = getelementptr i8, ptr %site, i64 $WORST_SAMPLE
  call void @sim_store_sample(ptr %ctx, i32 %warp, ptr %second, ptr %addresses, i32 %mask, i32 %units)
  %is.first = icmp eq i64 %worst, 0
  br i1 %is.first, label %first, label %done
first:
  %sample = getelementptr i8, ptr %site, i64 $FIRST_SAMPLE
  call void @sim_store_sample(ptr %ctx, i32 %warp, ptr %sample, ptr %addresses, i32 %mask, i32 %units)
  br label %done
done:
  ret void
}

; Return the table row of the allocation that contains an address, or null.
define internal ptr @sim_allocation(ptr %ctx, i64 %a) noinline cold {
entry:
  %table.i = call i64 @get(ptr %ctx, i64 ${allocations})
  %table = inttoptr i64 %table.i to ptr
  %count = call i64 @get(ptr %ctx, i64 ${allocation_count})
  br label %look
look:
  %n = phi i64 [ 0, %entry ], [ %n.next, %next ]
  %some = icmp ult i64 %n, %count
  br i1 %some, label %row, label %none
row:
  %at = mul i64 %n, 32
  %e = getelementptr i8, ptr %table, i64 %at
  %base = load i64, ptr %e
  %bytes = call i64 @get(ptr %e, i64 8)
  %offset = sub i64 %a, %base
  %inside = icmp ult i64 %offset, %bytes
  br i1 %inside, label %found, label %next
next:
  %n.next = add i64 %n, 1
  br label %look
found:
  ret ptr %e
none:
  ret ptr null
}

; Mark the sectors of some lanes in a map of this worker, which has one bit for each sector.
define internal void @sim_mark(ptr %map, i64 %base, ptr %addresses, i32 %lanes) noinline {
entry:
  br label %loop
loop:
  %left = phi i32 [ %lanes, %entry ], [ %rest, %loop ]
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %less = sub i32 %left, 1
  %rest = and i32 %left, %less
  %a.p = getelementptr i64, ptr %addresses, i32 %lane
  %a = load i64, ptr %a.p
  %offset = sub i64 %a, %base
  %byte = lshr i64 %offset, 8
  %sector = lshr i64 %offset, 5
  %low = trunc i64 %sector to i8
  %number = and i8 %low, 7
  %bit = shl i8 1, %number
  %p = getelementptr i8, ptr %map, i64 %byte
  %have = load i8, ptr %p
  %both = or i8 %have, %bit
  store i8 %both, ptr %p
  %more = icmp ne i32 %rest, 0
  br i1 %more, label %loop, label %done
done:
  ret void
}

; Mark sectors in the maps of an access: marks is 1 for reads, 2 for writes, 3 for both.
define internal void @sim_mark_access(ptr %ctx, i64 %shadow, i64 %base, i64 %bytes, ptr %addresses, i32 %lanes, i32 %marks) noinline {
  %repeated = icmp ne i64 %shadow, 0
  br i1 %repeated, label %reads, label %done
reads:
  %counters.i = call i64 @get(ptr %ctx, i64 ${recorded})
  %counters = inttoptr i64 %counters.i to ptr
  %distance.0 = load i64, ptr %counters
  %mine = add i64 %shadow, %distance.0
  %map = inttoptr i64 %mine to ptr
  %r = and i32 %marks, 1
  %does.read = icmp ne i32 %r, 0
  br i1 %does.read, label %read, label %writes
read:
  call void @sim_mark(ptr %map, i64 %base, ptr %addresses, i32 %lanes)
  br label %writes
writes:
  %w = and i32 %marks, 2
  %does.write = icmp ne i32 %w, 0
  br i1 %does.write, label %write, label %done
write:
  %eighth = lshr i64 %bytes, 8
  %distance = add i64 %eighth, $MAP_PADDING
  %second = getelementptr i8, ptr %map, i64 %distance
  call void @sim_mark(ptr %second, i64 %base, ptr %addresses, i32 %lanes)
  br label %done
done:
  ret void
}

; Return one lane of each set of lanes with equal numbers.
define internal i32 @sim_leaders(ptr %numbers, i32 %mask) noinline #1 {
entry:
  %all = load <32 x i64>, ptr %numbers, align 64
  br label %loop
loop:
  %left = phi i32 [ %mask, %entry ], [ %left.next, %loop ]
  %found = phi i32 [ 0, %entry ], [ %found.next, %loop ]
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %r.p = getelementptr i64, ptr %numbers, i32 %lane
  %r = load i64, ptr %r.p
  %r.1 = insertelement <32 x i64> poison, i64 %r, i64 0
  %r.v = shufflevector <32 x i64> %r.1, <32 x i64> poison, <32 x i32> zeroinitializer
  %ne = icmp ne <32 x i64> %all, %r.v
  %ne.bits = bitcast <32 x i1> %ne to i32
  %left.next = and i32 %left, %ne.bits
  %bit = shl i32 1, %lane
  %found.next = or i32 %found, %bit
  %more = icmp ne i32 %left.next, 0
  br i1 %more, label %loop, label %done
done:
  ret i32 %found.next
}

; Return true if the lanes' addresses, in units and relative to the first active lane, equal those of the
; previous request; otherwise store them for the next one.
define internal i1 @sim_is_repeated(ptr %memo, ptr %addresses, i32 %mask, i64 %shift) noinline #1 {
  %first = call i32 @llvm.cttz.i32(i32 %mask, i1 true)
  %a0.p = getelementptr i64, ptr %addresses, i32 %first
  %a0 = load i64, ptr %a0.p
  %u0 = lshr i64 %a0, %shift
  %a = load <32 x i64>, ptr %addresses, align 64
  %shift.1 = insertelement <32 x i64> poison, i64 %shift, i64 0
  %shift.v = shufflevector <32 x i64> %shift.1, <32 x i64> poison, <32 x i32> zeroinitializer
  %u = lshr <32 x i64> %a, %shift.v
  %u0.1 = insertelement <32 x i64> poison, i64 %u0, i64 0
  %u0.v = shufflevector <32 x i64> %u0.1, <32 x i64> poison, <32 x i32> zeroinitializer
  %rel = sub <32 x i64> %u, %u0.v
  %old.p = getelementptr i8, ptr %memo, i64 $MEMO_LANES
  %old = load <32 x i64>, ptr %old.p, align 64
  %ne = icmp ne <32 x i64> %rel, %old
  %ne.bits = bitcast <32 x i1> %ne to i32
  %differs = and i32 %ne.bits, %mask
  %old.mask = load i32, ptr %memo
  %other = xor i32 %mask, %old.mask
  %any = or i32 %differs, %other
  %repeated = icmp eq i32 %any, 0
  br i1 %repeated, label %same, label %new
same:
  ret i1 true
new:
  store i32 %mask, ptr %memo
  store <32 x i64> %rel, ptr %old.p, align 64
  ret i1 false
}

; Return the lanes whose address is in a range.
define internal i32 @sim_in_range(ptr %addresses, i64 %base, i64 %bytes) noinline cold {
  %a = load <32 x i64>, ptr %addresses, align 64
  %base.1 = insertelement <32 x i64> poison, i64 %base, i64 0
  %base.v = shufflevector <32 x i64> %base.1, <32 x i64> poison, <32 x i32> zeroinitializer
  %bytes.1 = insertelement <32 x i64> poison, i64 %bytes, i64 0
  %bytes.v = shufflevector <32 x i64> %bytes.1, <32 x i64> poison, <32 x i32> zeroinitializer
  %offset = sub <32 x i64> %a, %base.v
  %in = icmp ult <32 x i64> %offset, %bytes.v
  %bits = bitcast <32 x i1> %in to i32
  ret i32 %bits
}

; Store an allocation as the home of a site, if the site has none. All records of one access take the home of
; the record that comes first. A home that the kernel has freed since then has no bytes.
define internal void @sim_settle(ptr %ctx, ptr %home, ptr %row, i64 %span) noinline cold {
entry:
  %have = call i64 @get(ptr %home, i64 24)
  %settled = icmp ne i64 %have, 0
  br i1 %settled, label %done, label %agree
agree:
  %base = load i64, ptr %row
  %word.i = call i64 @get(ptr %home, i64 $HOME_WORD)
  %word = inttoptr i64 %word.i to ptr
  %pair = cmpxchg ptr %word, i64 0, i64 %base seq_cst seq_cst
  %old = extractvalue { i64, i1 } %pair, 0
  %won = extractvalue { i64, i1 } %pair, 1
  %first = select i1 %won, i64 %base, i64 %old
  call void @put(ptr %home, i64 0, i64 %first)
  %agreed = call ptr @sim_allocation(ptr %ctx, i64 %first)
  %freed = icmp eq ptr %agreed, null
  br i1 %freed, label %done, label %keep
keep:
  %bytes = call i64 @get(ptr %agreed, i64 8)
  %host = call i64 @get(ptr %agreed, i64 16)
  %shadow = call i64 @get(ptr %agreed, i64 24)
  %fits = icmp uge i64 %bytes, %span
  %last = sub i64 %bytes, %span
  %room = add i64 %last, 1
  %places = select i1 %fits, i64 %room, i64 0
  call void @put(ptr %home, i64 8, i64 %places)
  call void @put(ptr %home, i64 16, i64 %host)
  call void @put(ptr %home, i64 24, i64 %bytes)
  call void @put(ptr %home, i64 32, i64 %shadow)
  br label %done
done:
  ret void
}

; Count the sector that a lane accesses for the allocation that contains it, unless that is the site's home.
; seen: lanes of the request whose sectors have been counted.
define internal void @sim_away(ptr %ctx, ptr %home, ptr %row, ptr %addresses, i32 %lane, i32 %mask, i32 %seen, i64 %span) noinline cold {
entry:
  call void @sim_settle(ptr %ctx, ptr %home, ptr %row, i64 %span)
  %base = load i64, ptr %row
  %home.base = load i64, ptr %home
  %at.home = icmp eq i64 %base, %home.base
  br i1 %at.home, label %done, label %count
count:
  %table = call i64 @get(ptr %ctx, i64 ${allocations})
  %row.i = ptrtoint ptr %row to i64
  %distance = sub i64 %row.i, %table
  %number = lshr i64 %distance, 5
  %offset = mul i64 %number, $AWAY_BYTES
  %away.i = call i64 @get(ptr %home, i64 $AWAY)
  %place.i = add i64 %away.i, %offset
  %place = inttoptr i64 %place.i to ptr
  %bytes = call i64 @get(ptr %row, i64 8)
  %row.lanes = call i32 @sim_in_range(ptr %addresses, i64 %base, i64 %bytes)
  %before = and i32 %row.lanes, %seen
  %is.first = icmp eq i32 %before, 0
  %one = zext i1 %is.first to i32
  call void @sim_add(ptr %place, i32 %one)
  %a.p = getelementptr i64, ptr %addresses, i32 %lane
  %a = load i64, ptr %a.p
  %sector = and i64 %a, -32
  %sector.lanes = call i32 @sim_in_range(ptr %addresses, i64 %sector, i64 32)
  %active = and i32 %sector.lanes, %mask
  %threads = call i32 @llvm.ctpop.i32(i32 %active)
  %threads.p = getelementptr i8, ptr %place, i64 8
  call void @sim_add(ptr %threads.p, i32 %threads)
  %sectors.p = getelementptr i8, ptr %place, i64 16
  call void @sim_add(ptr %sectors.p, i32 1)
  br label %done
done:
  ret void
}

; Count the 32-byte sectors of a request to global memory with at least one active lane.
define internal void @sim_sectors(ptr %ctx, i32 %warp, ptr %site, ptr %addresses, i32 %mask, i64 %span, i32 %marks) noinline #1 {
entry:
  %memo = getelementptr i8, ptr %site, i64 $MEMO
  %leaders.p = getelementptr i8, ptr %memo, i64 8
  %repeated = call i1 @sim_is_repeated(ptr %memo, ptr %addresses, i32 %mask, i64 5)
  br i1 %repeated, label %counted, label %search
search:
  %lanes.p = getelementptr i8, ptr %memo, i64 $MEMO_LANES
  %searched = call i32 @sim_leaders(ptr %lanes.p, i32 %mask)
  store i32 %searched, ptr %leaders.p
  br label %counted
counted:
  %leaders = load i32, ptr %leaders.p
  %units = call i32 @llvm.ctpop.i32(i32 %leaders)
  %excess = sub i32 %units, 1
  %excess.p = getelementptr i8, ptr %site, i64 $EXCESS
  call void @sim_add(ptr %excess.p, i32 %excess)
  %home = getelementptr i8, ptr %site, i64 $HOME
  %base = load i64, ptr %home
  %bytes = call i64 @get(ptr %home, i64 24)
  %shadow = call i64 @get(ptr %home, i64 32)
  %a = load <32 x i64>, ptr %addresses, align 64
  %base.1 = insertelement <32 x i64> poison, i64 %base, i64 0
  %base.v = shufflevector <32 x i64> %base.1, <32 x i64> poison, <32 x i32> zeroinitializer
  %bytes.1 = insertelement <32 x i64> poison, i64 %bytes, i64 0
  %bytes.v = shufflevector <32 x i64> %bytes.1, <32 x i64> poison, <32 x i32> zeroinitializer
  %offset = sub <32 x i64> %a, %base.v
  %out = icmp uge <32 x i64> %offset, %bytes.v
  %out.bits = bitcast <32 x i1> %out to i32
  %outside = and i32 %out.bits, %leaders
  %all.inside = icmp eq i32 %outside, 0
  br i1 %all.inside, label %near, label %far
near:
  call void @sim_mark_access(ptr %ctx, i64 %shadow, i64 %base, i64 %bytes, ptr %addresses, i32 %leaders, i32 %marks)
  br label %judge
far:
  ; Before the site's home is known, and where lanes go to other allocations.
  %left = phi i32 [ %leaders, %counted ], [ %rest, %far.next ]
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %less = sub i32 %left, 1
  %rest = and i32 %left, %less
  %here.p = getelementptr i64, ptr %addresses, i32 %lane
  %here = load i64, ptr %here.p
  %row = call ptr @sim_allocation(ptr %ctx, i64 %here)
  %nowhere = icmp eq ptr %row, null
  br i1 %nowhere, label %far.next, label %far.mark
far.mark:
  %row.base = load i64, ptr %row
  %row.bytes = call i64 @get(ptr %row, i64 8)
  %row.shadow = call i64 @get(ptr %row, i64 24)
  %bit = shl i32 1, %lane
  call void @sim_mark_access(ptr %ctx, i64 %row.shadow, i64 %row.base, i64 %row.bytes, ptr %addresses, i32 %bit, i32 %marks)
  %seen = xor i32 %left, %leaders
  call void @sim_away(ptr %ctx, ptr %home, ptr %row, ptr %addresses, i32 %lane, i32 %mask, i32 %seen, i64 %span)
  br label %far.next
far.next:
  %more = icmp ne i32 %rest, 0
  br i1 %more, label %far, label %far.done
far.done:
  %home.base = load i64, ptr %home
  %home.bytes = call i64 @get(ptr %home, i64 24)
  %home.all = call i32 @sim_in_range(ptr %addresses, i64 %home.base, i64 %home.bytes)
  %home.lanes = and i32 %home.all, %mask
  %missed = icmp eq i32 %home.lanes, 0
  br i1 %missed, label %far.missed, label %judge
far.missed:
  %missed.p = getelementptr i8, ptr %home, i64 $MISSED
  call void @sim_add(ptr %missed.p, i32 1)
  br label %judge
judge:
  %updates = icmp eq i32 %marks, 3
  br i1 %updates, label %repeat, label %compare
repeat:
  call void @sim_repeats(ptr %site, ptr %addresses, i32 %mask)
  br label %compare
compare:
  %worst.p = getelementptr i8, ptr %site, i64 $WORST
  %worst = load i64, ptr %worst.p
  %units64 = zext i32 %units to i64
  %worse = icmp ugt i64 %units64, %worst
  br i1 %worse, label %draw, label %done
draw:
  call void @sim_sample(ptr %ctx, i32 %warp, ptr %site, ptr %addresses, i32 %mask, i32 %units)
  br label %done
done:
  ret void
}

; Count how often an update accesses its sectors again: a sector is accessed as often as the lanes that update
; the same of its elements, for the element with the most lanes.
define internal void @sim_repeats(ptr %site, ptr %addresses, i32 %mask) noinline #1 {
entry:
  %all = load <32 x i64>, ptr %addresses, align 64
  %five = insertelement <32 x i64> poison, i64 5, i64 0
  %five.v = shufflevector <32 x i64> %five, <32 x i64> poison, <32 x i32> zeroinitializer
  %sectors = lshr <32 x i64> %all, %five.v
  br label %sector
sector:
  %left = phi i32 [ %mask, %entry ], [ %others, %counted ]
  %sum = phi i32 [ 0, %entry ], [ %sum.next, %counted ]
  %first = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %a.p = getelementptr i64, ptr %addresses, i32 %first
  %a = load i64, ptr %a.p
  %number = lshr i64 %a, 5
  %number.1 = insertelement <32 x i64> poison, i64 %number, i64 0
  %number.v = shufflevector <32 x i64> %number.1, <32 x i64> poison, <32 x i32> zeroinitializer
  %apart = icmp ne <32 x i64> %sectors, %number.v
  %apart.bits = bitcast <32 x i1> %apart to i32
  %others = and i32 %left, %apart.bits
  %inside = xor i32 %left, %others
  br label %element
element:
  %rest = phi i32 [ %inside, %sector ], [ %rest.next, %element ]
  %most = phi i32 [ 0, %sector ], [ %most.next, %element ]
  %lane = call i32 @llvm.cttz.i32(i32 %rest, i1 true)
  %e.p = getelementptr i64, ptr %addresses, i32 %lane
  %e = load i64, ptr %e.p
  %e.1 = insertelement <32 x i64> poison, i64 %e, i64 0
  %e.v = shufflevector <32 x i64> %e.1, <32 x i64> poison, <32 x i32> zeroinitializer
  %unlike = icmp ne <32 x i64> %all, %e.v
  %unlike.bits = bitcast <32 x i1> %unlike to i32
  %rest.next = and i32 %rest, %unlike.bits
  %equal = xor i32 %rest, %rest.next
  %lanes = call i32 @llvm.ctpop.i32(i32 %equal)
  %most.next = call i32 @llvm.umax.i32(i32 %most, i32 %lanes)
  %more.elements = icmp ne i32 %rest.next, 0
  br i1 %more.elements, label %element, label %counted
counted:
  %again = sub i32 %most.next, 1
  %sum.next = add i32 %sum, %again
  %more.sectors = icmp ne i32 %others, 0
  br i1 %more.sectors, label %sector, label %done
done:
  %repeats.p = getelementptr i8, ptr %site, i64 $REPEATS
  call void @sim_add(ptr %repeats.p, i32 %sum.next)
  ret void
}

; Return true if each lane's neighbour, at a distance of one or two lanes, is inactive or reads the same
; element. Elements of 8 and 16 bytes are then served to twice as many lanes at once.
define internal i1 @sim_pairs(ptr %numbers, i32 %mask) noinline #1 {
  %all = load <32 x i64>, ptr %numbers, align 64
  %one = shufflevector <32 x i64> %all, <32 x i64> poison, <32 x i32> <$SWAPPED_1>
  %two = shufflevector <32 x i64> %all, <32 x i64> poison, <32 x i32> <$SWAPPED_2>
  %other.1 = icmp ne <32 x i64> %all, %one
  %other.2 = icmp ne <32 x i64> %all, %two
  %bits.1 = bitcast <32 x i1> %other.1 to i32
  %bits.2 = bitcast <32 x i1> %other.2 to i32
  %odd.1 = lshr i32 %mask, 1
  %odd.2 = lshr i32 %mask, 2
  %both.1 = and i32 %mask, %odd.1
  %both.2 = and i32 %mask, %odd.2
  %pairs.1 = and i32 %both.1, 1431655765
  %pairs.2 = and i32 %both.2, 858993459
  %apart.1 = and i32 %pairs.1, %bits.1
  %apart.2 = and i32 %pairs.2, %bits.2
  %none.1 = icmp eq i32 %apart.1, 0
  %none.2 = icmp eq i32 %apart.2, 0
  %any = or i1 %none.1, %none.2
  ret i1 %any
}

; Count the wavefronts of a request to shared memory with at least one active lane. Elements of 8 and 16 bytes
; (shift 3 and 4) are served to the two halves or four quarters of the warp one after the other, or, if joins
; is true, to twice as many lanes if pairs of lanes read the same element. For generic accesses, counters and
; memo are those of shared memory and not the site's first ones.
define internal void @sim_banks(ptr %ctx, i32 %warp, ptr %site, ptr %counters, ptr %memo, ptr %addresses, i32 %mask, i64 %shift, i1 %joins) noinline #1 {
entry:
  %counts = alloca [32 x i32], align 64
  %total.p = getelementptr i8, ptr %memo, i64 8
  %ideal.p = getelementptr i8, ptr %memo, i64 16
  %repeated = call i1 @sim_is_repeated(ptr %memo, ptr %addresses, i32 %mask, i64 %shift)
  br i1 %repeated, label %counted, label %search
search:
  %lanes.p = getelementptr i8, ptr %memo, i64 $MEMO_LANES
  %wide = sub i64 %shift, 2
  %wide32 = trunc i64 %wide to i32
  %banks.1 = lshr i32 32, %wide32
  %banks = sub i32 %banks.1, 1
  %is.wide = icmp ne i64 %wide, 0
  %may.join = and i1 %joins, %is.wide
  br i1 %may.join, label %ask, label %sizes
ask:
  %paired = call i1 @sim_pairs(ptr %lanes.p, i32 %mask)
  br label %sizes
sizes:
  %twice = phi i1 [ false, %search ], [ %paired, %ask ]
  %twice32 = zext i1 %twice to i32
  %group.lanes = shl i32 %banks.1, %twice32
  %less.lanes = sub i32 32, %group.lanes
  %group.mask = lshr i32 -1, %less.lanes
  br label %group
group:
  %first = phi i32 [ 0, %sizes ], [ %first.next, %group.next ]
  %total = phi i32 [ 0, %sizes ], [ %total.next, %group.next ]
  %ideal = phi i32 [ 0, %sizes ], [ %ideal.next, %group.next ]
  %moved = shl i32 %group.mask, %first
  %part = and i32 %mask, %moved
  %empty = icmp eq i32 %part, 0
  br i1 %empty, label %group.next, label %serve
serve:
  call void @llvm.memset.p0.i64(ptr align 64 %counts, i8 0, i64 128, i1 false)
  %leaders = call i32 @sim_leaders(ptr %lanes.p, i32 %part)
  br label %lane
lane:
  %left = phi i32 [ %leaders, %serve ], [ %rest, %lane ]
  %most = phi i32 [ 0, %serve ], [ %most.next, %lane ]
  %number = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %less = sub i32 %left, 1
  %rest = and i32 %left, %less
  %u.p = getelementptr i64, ptr %lanes.p, i32 %number
  %u = load i32, ptr %u.p
  %bank = and i32 %u, %banks
  %count.p = getelementptr i32, ptr %counts, i32 %bank
  %count = load i32, ptr %count.p
  %count.next = add i32 %count, 1
  store i32 %count.next, ptr %count.p
  %most.next = call i32 @llvm.umax.i32(i32 %most, i32 %count.next)
  %more = icmp ne i32 %rest, 0
  br i1 %more, label %lane, label %served
served:
  %total.here = add i32 %total, %most.next
  %ideal.here = add i32 %ideal, 1
  br label %group.next
group.next:
  %total.next = phi i32 [ %total, %group ], [ %total.here, %served ]
  %ideal.next = phi i32 [ %ideal, %group ], [ %ideal.here, %served ]
  %first.next = add i32 %first, %group.lanes
  %again = icmp ult i32 %first.next, 32
  br i1 %again, label %group, label %searched
searched:
  store i32 %total.next, ptr %total.p
  store i32 %ideal.next, ptr %ideal.p
  br label %counted
counted:
  %units = load i32, ptr %total.p
  %at.least = load i32, ptr %ideal.p
  %excess = sub i32 %units, 1
  %excess.p = getelementptr i8, ptr %counters, i64 $EXCESS
  call void @sim_add(ptr %excess.p, i32 %excess)
  %ideal.excess = sub i32 %at.least, 1
  %ideal.excess.p = getelementptr i8, ptr %counters, i64 $IDEAL
  call void @sim_add(ptr %ideal.excess.p, i32 %ideal.excess)
  %worst.p = getelementptr i8, ptr %site, i64 $WORST
  %worst = load i64, ptr %worst.p
  %units64 = zext i32 %units to i64
  %worse = icmp ugt i64 %units64, %worst
  br i1 %worse, label %draw, label %done
draw:
  call void @sim_sample(ptr %ctx, i32 %warp, ptr %site, ptr %addresses, i32 %mask, i32 %units)
  br label %done
done:
  ret void
}

; Return the lanes whose generic address is in the window that starts at an address.
define internal i32 @sim_in_window(ptr %addresses, i64 %start) noinline #1 {
  %a = load <32 x i64>, ptr %addresses, align 64
  %start.1 = insertelement <32 x i64> poison, i64 %start, i64 0
  %start.v = shufflevector <32 x i64> %start.1, <32 x i64> poison, <32 x i32> zeroinitializer
  %offset = sub <32 x i64> %a, %start.v
  %in = icmp ult <32 x i64> %offset, splat (i64 ${WINDOW_BYTES})
  %bits = bitcast <32 x i1> %in to i32
  ret i32 %bits
}

; Count an access by generic addresses: each lane for the state space of its address.
define internal void @sim_generic(ptr %ctx, i32 %warp, ptr %site, ptr %addresses, i32 %mask, i64 %shift, i64 %span, i32 %marks) noinline #1 {
  %shared.all = call i32 @sim_in_window(ptr %addresses, i64 ${SHARED_WINDOW})
  %local.all = call i32 @sim_in_window(ptr %addresses, i64 ${LOCAL_WINDOW})
  %shared = and i32 %shared.all, %mask
  %local = and i32 %local.all, %mask
  %windows = or i32 %shared, %local
  %others = xor i32 %windows, -1
  %global = and i32 %mask, %others
  %some.shared = icmp ne i32 %shared, 0
  br i1 %some.shared, label %to.shared, label %ask.local
to.shared:
  %reads = icmp eq i32 %marks, 1
  %counters = getelementptr i8, ptr %site, i64 $SHARED
  %memo = getelementptr i8, ptr %site, i64 $SHARED_MEMO
  call void @sim_executed(ptr %counters, i32 %shared)
  call void @sim_banks(ptr %ctx, i32 %warp, ptr %site, ptr %counters, ptr %memo, ptr %addresses, i32 %shared, i64 %shift, i1 %reads)
  br label %ask.local
ask.local:
  %some.local = icmp ne i32 %local, 0
  br i1 %some.local, label %to.local, label %ask.global
to.local:
  %local.p = getelementptr i8, ptr %site, i64 $LOCAL
  call void @sim_executed(ptr %local.p, i32 %local)
  br label %ask.global
ask.global:
  %some.global = icmp ne i32 %global, 0
  br i1 %some.global, label %to.global, label %done
to.global:
  call void @sim_executed(ptr %site, i32 %global)
  call void @sim_sectors(ptr %ctx, i32 %warp, ptr %site, ptr %addresses, i32 %global, i64 %span, i32 %marks)
  br label %done
done:
  ret void
}

define internal void @sim_executed(ptr %counters, i32 %lanes) noinline {
  %threads = call i32 @llvm.ctpop.i32(i32 %lanes)
  call void @sim_add(ptr %counters, i32 1)
  %threads.p = getelementptr i8, ptr %counters, i64 8
  call void @sim_add(ptr %threads.p, i32 %threads)
  ret void
}
