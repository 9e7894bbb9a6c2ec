; -- optimized --
; Functions that unoptimised code calls in place of code for the checks of addresses. Names in braces are offsets
; of context fields and numbers.

declare i64 @llvm.fshr.i64(i64, i64, i64)

; Store the addresses of all lanes of an access that is given by rows (see linked_functions.py).
define internal void @sim_spread_access(i64 %facts, i64 %first, i64 %second, i64 %stride, ptr %addresses) {
entry:
  %in.rows.bit = and i64 %facts, 64
  %in.rows = icmp ne i64 %in.rows.bit, 0
  br i1 %in.rows, label %start, label %done
start:
  %width.64 = lshr i64 %facts, 42
  %width.32 = trunc i64 %width.64 to i32
  %width = and i32 %width.32, 63
  br label %rows
rows:
  %lane = phi i32 [ 0, %start ], [ %lane.next, %row.end ]
  %address = phi i64 [ %first, %start ], [ %other, %row.end ]
  %other = phi i64 [ %second, %start ], [ %address, %row.end ]
  %row = getelementptr i64, ptr %addresses, i32 %lane
  br label %lanes
lanes:
  %n = phi i32 [ 0, %rows ], [ %n.next, %lanes ]
  %now = phi i64 [ %address, %rows ], [ %now.next, %lanes ]
  %p = getelementptr i64, ptr %row, i32 %n
  store i64 %now, ptr %p
  %now.next = add i64 %now, %stride
  %n.next = add i32 %n, 1
  %more.lanes = icmp ult i32 %n.next, %width
  br i1 %more.lanes, label %lanes, label %row.end
row.end:
  %lane.next = add i32 %lane, %width
  %more = icmp ult i32 %lane.next, 32
  br i1 %more, label %rows, label %done
done:
  ret void
}

; Return the host address of the first element of a row of lanes; null if the row is not inside the allocation that
; the access site has found last. back: bytes from the first element down to the lowest one. shift: the logarithm
; of the bytes of an element.
define internal ptr @sim_row(ptr %slot, i64 %address, i64 %back, i64 %shift) alwaysinline {
  %base = load i64, ptr %slot
  %limit.p = getelementptr i8, ptr %slot, i64 8
  %limit = load i64, ptr %limit.p
  %host.p = getelementptr i8, ptr %slot, i64 16
  %host = load i64, ptr %host.p
  %offset = sub i64 %address, %base
  %lowest = add i64 %offset, %back
  %turned = call i64 @llvm.fshr.i64(i64 %lowest, i64 %lowest, i64 %shift)
  %inside = icmp ult i64 %turned, %limit
  %place = add i64 %host, %offset
  %chosen = select i1 %inside, i64 %place, i64 0
  %pointer = inttoptr i64 %chosen to ptr
  ret ptr %pointer
}
; The same for shared memory. limit: the number of places where the row can begin.
define internal ptr @sim_row_shared(ptr %ctx, i64 %limit, i64 %address, i64 %back, i64 %shift) alwaysinline {
  %host.p = getelementptr i8, ptr %ctx, i64 ${shared}
  %host = load i64, ptr %host.p
  %lowest = add i64 %address, %back
  %turned = call i64 @llvm.fshr.i64(i64 %lowest, i64 %lowest, i64 %shift)
  %inside = icmp ult i64 %turned, %limit
  %place = add i64 %host, %address
  %chosen = select i1 %inside, i64 %place, i64 0
  %pointer = inttoptr i64 %chosen to ptr
  ret ptr %pointer
}
; Return the pointer of the first active lane; without active lanes, that of scratch memory.
define internal ptr @sim_first(i32 %mask, ptr %scratch, ptr %hosts) alwaysinline {
  %lane = call i32 @llvm.cttz.i32(i32 %mask, i1 false)
  %inside = and i32 %lane, 31
  %element = getelementptr i64, ptr %hosts, i32 %inside
  %found = load ptr, ptr %element
  %none = icmp eq i32 %mask, 0
  %chosen = select i1 %none, ptr %scratch, ptr %found
  ret ptr %chosen
}
; Return the host address of one address for all lanes; null after a fault.
define internal ptr @sim_pointer(ptr %ctx, i32 %warp, i32 %mask, i64 %address, i64 %size, i64 %site, ptr %slot, ptr %scratch, ptr %hosts) {
  %shift = call i64 @llvm.cttz.i64(i64 %size, i1 true)
  %near = call ptr @sim_row(ptr %slot, i64 %address, i64 0, i64 %shift)
  %fine = icmp ne ptr %near, null
  br i1 %fine, label %done, label %each
done:
  ret ptr %near
each:
  call void @sim_spread_64(ptr %scratch, i64 %address, i64 0, i32 32)
  %good = call i1 @sim_resolve(ptr %ctx, i32 %warp, ptr %scratch, i32 %mask, i64 %size, i64 %site, ptr %hosts, ptr %slot, i64 %size)
  br i1 %good, label %found, label %fault
found:
  %first = call ptr @sim_first(i32 %mask, ptr %scratch, ptr %hosts)
  ret ptr %first
fault:
  ret ptr null
}
define internal ptr @sim_pointer_shared(ptr %ctx, i32 %warp, i32 %mask, i64 %address, i64 %size, i64 %site, ptr %scratch, ptr %hosts) {
  %shift = call i64 @llvm.cttz.i64(i64 %size, i1 true)
  %bytes = load i64, ptr @shared_bytes
  %places = lshr i64 %bytes, %shift
  %near = call ptr @sim_row_shared(ptr %ctx, i64 %places, i64 %address, i64 0, i64 %shift)
  %fine = icmp ne ptr %near, null
  br i1 %fine, label %done, label %each
done:
  ret ptr %near
each:
  call void @sim_spread_64(ptr %scratch, i64 %address, i64 0, i32 32)
  %good = call i1 @sim_resolve_shared(ptr %ctx, i32 %warp, ptr %scratch, i32 %mask, i64 %size, i64 %site, ptr %hosts, i64 %bytes)
  br i1 %good, label %found, label %fault
found:
  %first = call ptr @sim_first(i32 %mask, ptr %scratch, ptr %hosts)
  ret ptr %first
fault:
  ret ptr null
}
