; Runtime of the local_reads tier. `recorded` is the address of a byte for each access site, which is not 0 if
; the site is no longer checked.

; Pass the lanes to the host whose `size` bytes at an offset in local memory all have the value of the poison.
; Offsets outside of local memory are ignored; the check of the access reports them.
define internal void @sim_local_read(ptr %ctx, i32 %warp, i32 %site, i32 %mask, i64 %size, ptr %offsets) noinline {
entry:
  %muted.i = call i64 @get(ptr %ctx, i64 ${recorded})
  %muted.base = inttoptr i64 %muted.i to ptr
  %muted.p = getelementptr i8, ptr %muted.base, i32 %site
  %muted = load i8, ptr %muted.p
  %silent = icmp ne i8 %muted, 0
  br i1 %silent, label %out, label %start
start:
  %poison.64 = call i64 @get(ptr %ctx, i64 ${local_poison})
  %poison = trunc i64 %poison.64 to i8
  %local = call i64 @get(ptr %ctx, i64 ${local})
  %bytes = load i64, ptr @local_bytes
  %used = load i64, ptr @local_end
  %last = sub i64 %used, %size
  %first.thread = shl i32 %warp, 5
  br label %each
each:
  %lane = phi i32 [ 0, %start ], [ %lane.next, %next ]
  %found = phi i32 [ 0, %start ], [ %found.next, %next ]
  %bit = shl i32 1, %lane
  %own = and i32 %mask, %bit
  %active = icmp ne i32 %own, 0
  br i1 %active, label %locate, label %next
locate:
  %offset.p = getelementptr i64, ptr %offsets, i32 %lane
  %offset = load i64, ptr %offset.p
  %inside = icmp ule i64 %offset, %last
  br i1 %inside, label %compare, label %next
compare:
  %thread = add i32 %first.thread, %lane
  %thread.64 = zext i32 %thread to i64
  %before = mul i64 %thread.64, %bytes
  %own.i = add i64 %local, %before
  %place.i = add i64 %own.i, %offset
  %place = inttoptr i64 %place.i to ptr
  br label %byte
byte:
  %n = phi i64 [ 0, %compare ], [ %n.next, %same ]
  %byte.p = getelementptr i8, ptr %place, i64 %n
  %value = load i8, ptr %byte.p
  %differs = icmp ne i8 %value, %poison
  br i1 %differs, label %next, label %same
same:
  %n.next = add i64 %n, 1
  %more = icmp ult i64 %n.next, %size
  br i1 %more, label %byte, label %unwritten
unwritten:
  %found.with = or i32 %found, %bit
  br label %next
next:
  %found.next = phi i32 [ %found, %each ], [ %found, %locate ], [ %found, %byte ], [ %found.with, %unwritten ]
  %lane.next = add i32 %lane, 1
  %again = icmp ult i32 %lane.next, 32
  br i1 %again, label %each, label %end
end:
  %some = icmp ne i32 %found.next, 0
  br i1 %some, label %report, label %out
report:
  %function.i = call i64 @get(ptr %ctx, i64 ${callback})
  %function = inttoptr i64 %function.i to ptr
  call void %function(ptr %ctx, i32 %warp, i32 %site, i32 %found.next)
  br label %out
out:
  ret void
}
