; Barrier intervals that repeat an earlier interval of their block; see barrier_intervals.py. Names in braces are
; offsets of fields, other names phases and sizes.

; End an interval and begin the next one.
define internal void @san_next_interval(ptr %ctx) {
  %phase.p = call ptr @san_at(ptr %ctx, i64 ${interval_phase})
  %phase = load i32, ptr %phase.p
  store i32 $OPEN, ptr %phase.p
  %next.p = call ptr @san_at(ptr %ctx, i64 ${next_record})
  %none = call ptr @san_at(ptr %ctx, i64 ${no_record})
  store ptr %none, ptr %next.p
  %recorded = icmp eq i32 %phase, $RECORDED
  br i1 %recorded, label %close, label %out
close:
  %free.p = call ptr @san_at(ptr %ctx, i64 ${free_record})
  %free = load ptr, ptr %free.p
  %zero = load <8 x i64>, ptr %none, align 8
  store <8 x i64> %zero, ptr %free, align 8
  %after = getelementptr i8, ptr %free, i64 $RECORD_BYTES
  store ptr %after, ptr %free.p
  %first.p = call ptr @san_at(ptr %ctx, i64 ${first_record})
  %first = load ptr, ptr %first.p
  %count.p = call ptr @san_at(ptr %ctx, i64 ${interval_count})
  %count = load i32, ptr %count.p
  %intervals = call ptr @san_at(ptr %ctx, i64 ${intervals})
  %place = getelementptr ptr, ptr %intervals, i32 %count
  store ptr %first, ptr %place
  %more = add i32 %count, 1
  store i32 %more, ptr %count.p
  br label %out
out:
  ret void
}
; Forget all intervals: a block starts, or the host has changed the shadow.
define internal void @san_forget_intervals(ptr %ctx) {
  %records.p = call ptr @san_at(ptr %ctx, i64 ${records})
  %records = load ptr, ptr %records.p
  %free.p = call ptr @san_at(ptr %ctx, i64 ${free_record})
  store ptr %records, ptr %free.p
  %count.p = call ptr @san_at(ptr %ctx, i64 ${interval_count})
  store i32 0, ptr %count.p
  ret void
}
; Check each further access of the interval.
define internal void @san_leave_interval(ptr %ctx) alwaysinline {
  %phase.p = call ptr @san_at(ptr %ctx, i64 ${interval_phase})
  %phase = load i32, ptr %phase.p
  %left = icmp eq i32 %phase, $CHECKED
  br i1 %left, label %out, label %leave
leave:
  call void @san_check_interval(ptr %ctx)
  br label %out
out:
  ret void
}
; Check the accesses of the interval that have not been checked, because they repeat those of an earlier interval.
define internal void @san_check_interval(ptr %ctx) noinline cold {
entry:
  %phase.p = call ptr @san_at(ptr %ctx, i64 ${interval_phase})
  %phase = load i32, ptr %phase.p
  store i32 $CHECKED, ptr %phase.p
  %first.p = call ptr @san_at(ptr %ctx, i64 ${first_record})
  %first = load ptr, ptr %first.p
  %next.p = call ptr @san_at(ptr %ctx, i64 ${next_record})
  %next = load ptr, ptr %next.p
  %none = call ptr @san_at(ptr %ctx, i64 ${no_record})
  store ptr %none, ptr %next.p
  %repeated = icmp eq i32 %phase, $REPEATED
  br i1 %repeated, label %loop, label %out
loop:
  %record = phi ptr [ %first, %entry ], [ %following, %loop ]
  %check = load ptr, ptr %record
  call void %check(ptr %ctx, ptr %record)
  %following = getelementptr i8, ptr %record, i64 $RECORD_BYTES
  %more = icmp ult ptr %following, %next
  br i1 %more, label %loop, label %out
out:
  ret void
}
; Return true if an access that does not equal the next record need not be checked: as the first access of its
; interval, it may equal the first one of another interval. Its own record is the one at `free_record`.
define internal i1 @san_repeats(ptr %ctx) noinline #1 {
entry:
  %phase.p = call ptr @san_at(ptr %ctx, i64 ${interval_phase})
  %phase = load i32, ptr %phase.p
  %free.p = call ptr @san_at(ptr %ctx, i64 ${free_record})
  %free = load ptr, ptr %free.p
  switch i32 %phase, label %leave [ i32 $OPEN, label %open i32 $RECORDED, label %append ]
leave:
  call void @san_leave_interval(ptr %ctx)
  ret i1 false
open:
  %count.p = call ptr @san_at(ptr %ctx, i64 ${interval_count})
  %count = load i32, ptr %count.p
  %first.p = call ptr @san_at(ptr %ctx, i64 ${first_record})
  %access = load <8 x i64>, ptr %free, align 8
  br label %search
search:
  %n = phi i32 [ 0, %open ], [ %n.next, %compare ]
  %left = icmp ult i32 %n, %count
  br i1 %left, label %compare, label %ask
compare:
  %intervals = call ptr @san_at(ptr %ctx, i64 ${intervals})
  %interval.p = getelementptr ptr, ptr %intervals, i32 %n
  %interval = load ptr, ptr %interval.p
  %head = load <8 x i64>, ptr %interval, align 8
  %different = icmp ne <8 x i64> %head, %access
  %bits = bitcast <8 x i1> %different to i8
  %same = icmp eq i8 %bits, 0
  %n.next = add i32 %n, 1
  br i1 %same, label %repeat, label %search
repeat:
  store i32 $REPEATED, ptr %phase.p
  store ptr %interval, ptr %first.p
  %second = getelementptr i8, ptr %interval, i64 $RECORD_BYTES
  %next.p = call ptr @san_at(ptr %ctx, i64 ${next_record})
  store ptr %second, ptr %next.p
  ret i1 true
ask:
  %can = icmp ult i32 %count, $MAX_INTERVALS
  br i1 %can, label %begin, label %leave
begin:
  store ptr %free, ptr %first.p
  store i32 $RECORDED, ptr %phase.p
  br label %append
append:
  %end.p = call ptr @san_at(ptr %ctx, i64 ${records_end})
  %end = load ptr, ptr %end.p
  %after = getelementptr i8, ptr %free, i64 $RECORD_BYTES
  %fits = icmp ult ptr %after, %end
  br i1 %fits, label %keep, label %full
keep:
  store ptr %after, ptr %free.p
  ret i1 false
full:
  call void @san_leave_interval(ptr %ctx)
  ret i1 false
}
