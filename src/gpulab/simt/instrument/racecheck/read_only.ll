; -- optimized --
; Reads that unoptimised code need not check. Names in braces are offsets of fields.

declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.abs.i64(i64, i1)

; Return true if the access is given by rows (see linked_functions.py) that lie in the array which its site has
; accessed last, and if this array is not recorded.
define internal i1 @san_is_in_read_only(ptr %ctx, i32 %site, i64 %facts, i64 %first, i64 %second, i64 %stride) {
  %in.rows.bit = and i64 %facts, $IN_ROWS
  %in.rows = icmp ne i64 %in.rows.bit, 0
  br i1 %in.rows, label %look, label %no
look:
  %caches.p = getelementptr i8, ptr %ctx, i64 ${site_caches}
  %caches = load ptr, ptr %caches.p
  %at = mul i32 %site, $SITE_CACHE_BYTES
  %slot = getelementptr i8, ptr %caches, i32 %at
  %base = load i64, ptr %slot
  %bytes.p = getelementptr i8, ptr %slot, i64 24
  %bytes = load i64, ptr %bytes.p
  %shadow.p = getelementptr i8, ptr %slot, i64 32
  %shadow = load ptr, ptr %shadow.p
  %state.p = getelementptr i8, ptr %ctx, i64 ${recorded}
  %state = load ptr, ptr %state.p
  %read.only = getelementptr i8, ptr %state, i64 ${read_only}
  %is.read.only = icmp eq ptr %shadow, %read.only
  br i1 %is.read.only, label %rows, label %no
rows:
  %size = lshr i64 %facts, 48
  %width.above = lshr i64 %facts, 42
  %width = and i64 %width.above, 63
  %steps = sub i64 %width, 1
  %distance = mul i64 %stride, %steps
  %back = call i64 @llvm.smin.i64(i64 %distance, i64 0)
  %length = call i64 @llvm.abs.i64(i64 %distance, i1 false)
  %span = add i64 %length, %size
  %last = sub i64 %bytes, %span
  %fits = icmp sge i64 %last, 0
  %one = sub i64 %first, %base
  %one.lowest = add i64 %one, %back
  %one.inside = icmp ule i64 %one.lowest, %last
  %two = sub i64 %second, %base
  %two.lowest = add i64 %two, %back
  %two.inside = icmp ule i64 %two.lowest, %last
  %both = and i1 %one.inside, %two.inside
  %inside = and i1 %both, %fits
  ret i1 %inside
no:
  ret i1 false
}
