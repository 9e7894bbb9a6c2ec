; Textures and surfaces: appended to the runtime of kernels that use them. A row of the table of objects has the
; fields of layout.TEXTURE_FIELDS; $${t_name} is the byte offset of a field.

declare double @llvm.floor.f64(double)
declare double @llvm.fabs.f64(double)

; Return the row of an object, or null if there is no object with this handle.
define internal ptr @texture_row(ptr %ctx, i64 %handle) {
  %count = call i64 @get(ptr %ctx, i64 ${texture_count})
  %slot = and i64 %handle, ${TEXTURE_SLOTS}
  %in.table = icmp ult i64 %slot, %count
  %given = icmp ne i64 %handle, 0
  %exists = and i1 %in.table, %given
  br i1 %exists, label %look, label %none
look:
  %table = call i64 @get(ptr %ctx, i64 ${textures})
  %offset = mul i64 %slot, ${TEXTURE_ROW_BYTES}
  %row.i = add i64 %table, %offset
  %row = inttoptr i64 %row.i to ptr
  %own = call i64 @get(ptr %row, i64 ${t_handle})
  %same = icmp eq i64 %own, %handle
  br i1 %same, label %found, label %none
found:
  ret ptr %row
none:
  ret ptr null
}

define internal i64 @texture_extent(ptr %row, i64 %axis) alwaysinline {
  %offset = shl i64 %axis, 3
  %at = add i64 %offset, ${t_width}
  %extent = call i64 @get(ptr %row, i64 %at)
  ret i64 %extent
}

; Apply an address mode to a texel's index; -1 is a texel of the border.
define internal i64 @texture_index(i64 %i, i64 %n, i64 %mode) {
  switch i64 %mode, label %border [ i64 ${WRAP}, label %wrap i64 ${CLAMP}, label %clamp i64 ${MIRROR}, label %mirror ]
wrap:
  %rest = srem i64 %i, %n
  %negative = icmp slt i64 %rest, 0
  %raised = add i64 %rest, %n
  %wrapped = select i1 %negative, i64 %raised, i64 %rest
  ret i64 %wrapped
clamp:
  %last = sub i64 %n, 1
  %over = icmp sgt i64 %i, %last
  %low = select i1 %over, i64 %last, i64 %i
  %under = icmp slt i64 %low, 0
  %clamped = select i1 %under, i64 0, i64 %low
  ret i64 %clamped
mirror:
  %period = shl i64 %n, 1
  %part = srem i64 %i, %period
  %below = icmp slt i64 %part, 0
  %shifted = add i64 %part, %period
  %positive = select i1 %below, i64 %shifted, i64 %part
  %first = icmp slt i64 %positive, %n
  %end = sub i64 %period, 1
  %back = sub i64 %end, %positive
  %mirrored = select i1 %first, i64 %positive, i64 %back
  ret i64 %mirrored
border:
  %inside = icmp ult i64 %i, %n
  %texel = select i1 %inside, i64 %i, i64 -1
  ret i64 %texel
}

; Return the two texels next to a coordinate along an axis, and the weight of the second one in 1/256.
define internal { i64, i64, i64 } @texture_axis(ptr %row, i64 %axis, float %coordinate) {
  %n = call i64 @texture_extent(ptr %row, i64 %axis)
  %n.f = sitofp i64 %n to double
  %offset = shl i64 %axis, 3
  %mode.at = add i64 %offset, ${t_mode_x}
  %mode = call i64 @get(ptr %row, i64 %mode.at)
  %wide = fpext float %coordinate to double
  %unordered = fcmp uno double %wide, 0.0
  %magnitude = call double @llvm.fabs.f64(double %wide)
  %denormal = fcmp olt double %magnitude, 0x3810000000000000
  %nothing = or i1 %unordered, %denormal
  %number = select i1 %nothing, double 0.0, double %wide
  %high = fcmp ogt double %number, 0x41D0000000000000
  %lower = select i1 %high, double 0x41D0000000000000, double %number
  %small = fcmp olt double %lower, 0xC1D0000000000000
  %x = select i1 %small, double 0xC1D0000000000000, double %lower
  %normalized = call i64 @get(ptr %row, i64 ${t_normalized})
  %scales = icmp ne i64 %normalized, 0
  br i1 %scales, label %scale, label %scaled
scale:
  %scale.at = add i64 %offset, ${t_scale_x}
  %scale.i = call i64 @get(ptr %row, i64 %scale.at)
  %steps = bitcast i64 %scale.i to double
  %fine = fmul double %x, %steps
  %whole = call double @llvm.floor.f64(double %fine)
  %fixed = fdiv double %whole, %steps
  %texels = fmul double %fixed, %n.f
  br label %scaled
scaled:
  %u = phi double [ %x, %0 ], [ %texels, %scale ]
  %linear = call i64 @get(ptr %row, i64 ${t_linear})
  %filters = icmp ne i64 %linear, 0
  br i1 %filters, label %filter, label %point
point:
  %floor = call double @llvm.floor.f64(double %u)
  %i = fptosi double %floor to i64
  %nearest = call i64 @texture_index(i64 %i, i64 %n, i64 %mode)
  %p0 = insertvalue { i64, i64, i64 } poison, i64 %nearest, 0
  %p1 = insertvalue { i64, i64, i64 } %p0, i64 %nearest, 1
  %p2 = insertvalue { i64, i64, i64 } %p1, i64 0, 2
  ret { i64, i64, i64 } %p2
filter:
  %parts = fmul double %u, 256.0
  %rounding = fadd double %parts, 0.5
  %rounded = call double @llvm.floor.f64(double %rounding)
  %centred = fptosi double %rounded to i64
  %position = sub i64 %centred, 128
  %first.i = ashr i64 %position, 8
  %weight = and i64 %position, 255
  %second.i = add i64 %first.i, 1
  %a = call i64 @texture_index(i64 %first.i, i64 %n, i64 %mode)
  %b = call i64 @texture_index(i64 %second.i, i64 %n, i64 %mode)
  %equal = icmp eq i64 %a, %b
  %clamps = icmp eq i64 %mode, ${CLAMP}
  %edge = and i1 %equal, %clamps
  %used = select i1 %edge, i64 0, i64 %weight
  %f0 = insertvalue { i64, i64, i64 } poison, i64 %a, 0
  %f1 = insertvalue { i64, i64, i64 } %f0, i64 %b, 1
  %f2 = insertvalue { i64, i64, i64 } %f1, i64 %used, 2
  ret { i64, i64, i64 } %f2
}

; Return the host address of a channel of a texel; null for the border.
define internal ptr @texel_address(ptr %row, i64 %x, i64 %y, i64 %z, i64 %channel) {
  %xy = or i64 %x, %y
  %xyz = or i64 %xy, %z
  %outside = icmp slt i64 %xyz, 0
  br i1 %outside, label %border, label %inside
border:
  ret ptr null
inside:
  %base = call i64 @get(ptr %row, i64 ${t_host})
  %row.bytes = call i64 @get(ptr %row, i64 ${t_row_bytes})
  %slice.bytes = call i64 @get(ptr %row, i64 ${t_slice_bytes})
  %channels = call i64 @get(ptr %row, i64 ${t_channels})
  %size = call i64 @get(ptr %row, i64 ${t_size})
  %texel = mul i64 %x, %channels
  %element = add i64 %texel, %channel
  %in.row = mul i64 %element, %size
  %in.slice = mul i64 %y, %row.bytes
  %slices = mul i64 %z, %slice.bytes
  %p = add i64 %base, %in.row
  %q = add i64 %p, %in.slice
  %r = add i64 %q, %slices
  %address = inttoptr i64 %r to ptr
  ret ptr %address
}

; Return an element as the 32 bits that an unfiltered fetch gives: integers extended, halves as floats.
define internal i32 @texel_bits(ptr %row, ptr %element) {
  %border = icmp eq ptr %element, null
  br i1 %border, label %zero, label %load
zero:
  ret i32 0
load:
  %format = call i64 @get(ptr %row, i64 ${t_format})
  switch i64 %format, label %word [
    i64 ${T_UINT8}, label %u8 i64 ${T_INT8}, label %s8 i64 ${T_UINT16}, label %u16 i64 ${T_INT16}, label %s16
    i64 ${T_FLOAT16}, label %f16 ]
u8:
  %u8.v = load i8, ptr %element
  %u8.w = zext i8 %u8.v to i32
  ret i32 %u8.w
s8:
  %s8.v = load i8, ptr %element
  %s8.w = sext i8 %s8.v to i32
  ret i32 %s8.w
u16:
  %u16.v = load i16, ptr %element, align 1
  %u16.w = zext i16 %u16.v to i32
  ret i32 %u16.w
s16:
  %s16.v = load i16, ptr %element, align 1
  %s16.w = sext i16 %s16.v to i32
  ret i32 %s16.w
f16:
  %half = load i16, ptr %element, align 1
  %wide = zext i16 %half to i32
  %sign = and i32 %wide, 32768
  %top = shl i32 %sign, 16
  %magnitude = and i32 %wide, 32767
  %moved = shl i32 %magnitude, 13
  %small = bitcast i32 %moved to float
  %scaled = fmul float %small, 0x46F0000000000000
  %finite = bitcast float %scaled to i32
  %special = or i32 %moved, 2139095040
  %is.special = icmp uge i32 %magnitude, 31744
  %absolute = select i1 %is.special, i32 %special, i32 %finite
  %f16.w = or i32 %absolute, %top
  ret i32 %f16.w
word:
  %w = load i32, ptr %element, align 1
  ret i32 %w
}

; Return an element as a number.
define internal double @texel_value(ptr %row, ptr %element) {
  %bits = call i32 @texel_bits(ptr %row, ptr %element)
  %format = call i64 @get(ptr %row, i64 ${t_format})
  %is.float = icmp uge i64 %format, ${T_FLOAT16}
  br i1 %is.float, label %float, label %integer
float:
  %f = bitcast i32 %bits to float
  %d = fpext float %f to double
  ret double %d
integer:
  %n = sitofp i32 %bits to double
  ret double %n
}

; Divide a number by the largest one; return a float in [0, 1] or [-1, 1].
define internal float @unit_ratio(ptr %row, i64 %field, double %value) {
  %largest.i = call i64 @get(ptr %row, i64 %field)
  %largest = bitcast i64 %largest.i to double
  %lowest = fneg double %largest
  %below = fcmp olt double %value, %lowest
  %clamped = select i1 %below, double %lowest, double %value
  %ratio = fdiv double %clamped, %largest
  %result = fptrunc double %ratio to float
  ret float %result
}

; Return a weighted mean of integer elements as a float in [0, 1] or [-1, 1], in steps of 16 bits.
define internal float @mean_normalized(ptr %row, double %mean) {
  %unit.i = call i64 @get(ptr %row, i64 ${t_unit})
  %unit = bitcast i64 %unit.i to double
  %scaled = fmul double %mean, %unit
  %up = fadd double %scaled, 0.5
  %level = call double @llvm.floor.f64(double %up)
  %result = call float @unit_ratio(ptr %row, i64 ${t_levels}, double %level)
  ret float %result
}

; Remove the lowest %bits bits of a number's fraction by rounding; ties away from zero.
define internal double @round_away(double %value, i64 %bits) alwaysinline {
  %word = bitcast double %value to i64
  %less = sub i64 %bits, 1
  %half = shl i64 1, %less
  %raised = add i64 %word, %half
  %mask = shl i64 -1, %bits
  %kept = and i64 %raised, %mask
  %rounded = bitcast i64 %kept to double
  ret double %rounded
}

; Round a number to half precision.
define internal double @round_to_half(double %value) {
  %magnitude = call double @llvm.fabs.f64(double %value)
  %tiny = fcmp olt double %magnitude, 0x3F10000000000000
  br i1 %tiny, label %subnormal, label %normal
subnormal:
  %raised = fadd double %value, 0x41B8000000000000
  %lowered = fsub double %raised, 0x41B8000000000000
  ret double %lowered
normal:
  %rounded = call double @round_away(double %value, i64 42)
  ret double %rounded
}

; Divide a product of two weights by 256 and round it.
define internal i64 @share(i64 %a, i64 %b) alwaysinline {
  %product = mul i64 %a, %b
  %up = add i64 %product, 128
  %rounded = lshr i64 %up, 8
  ret i64 %rounded
}

; Fetch a texel, or filter the texels next to a coordinate, and store four channels to %to, 128 bytes apart.
define internal void @texture_sample(ptr %row, float %x, float %y, float %z, i64 %layer, ptr %to) {
start:
  %weights = alloca [8 x i64], align 64
  %across = alloca [6 x i64], align 64
  %tx = call { i64, i64, i64 } @texture_axis(ptr %row, i64 0, float %x)
  %ty = call { i64, i64, i64 } @texture_axis(ptr %row, i64 1, float %y)
  %tz = call { i64, i64, i64 } @texture_axis(ptr %row, i64 2, float %z)
  %dimensions = call i64 @get(ptr %row, i64 ${t_dimensions})
  %has.y = icmp uge i64 %dimensions, 2
  %has.z = icmp uge i64 %dimensions, 3
  %x0 = extractvalue { i64, i64, i64 } %tx, 0
  %x1 = extractvalue { i64, i64, i64 } %tx, 1
  %a = extractvalue { i64, i64, i64 } %tx, 2
  %ty0 = extractvalue { i64, i64, i64 } %ty, 0
  %ty1 = extractvalue { i64, i64, i64 } %ty, 1
  %tyw = extractvalue { i64, i64, i64 } %ty, 2
  %tz0 = extractvalue { i64, i64, i64 } %tz, 0
  %tz1 = extractvalue { i64, i64, i64 } %tz, 1
  %tzw = extractvalue { i64, i64, i64 } %tz, 2
  %y0 = select i1 %has.y, i64 %ty0, i64 0
  %y1 = select i1 %has.y, i64 %ty1, i64 0
  %b = select i1 %has.y, i64 %tyw, i64 0
  %z0 = select i1 %has.z, i64 %tz0, i64 %layer
  %z1 = select i1 %has.z, i64 %tz1, i64 %layer
  %g = select i1 %has.z, i64 %tzw, i64 0
  %channels = call i64 @get(ptr %row, i64 ${t_channels})
  %normalizes = call i64 @get(ptr %row, i64 ${t_read_normalized})
  %is.normalized = icmp ne i64 %normalizes, 0
  %linear = call i64 @get(ptr %row, i64 ${t_linear})
  %filters = icmp ne i64 %linear, 0
  br i1 %filters, label %weigh, label %points
points:
  %c = phi i64 [ 0, %start ], [ %c.next, %point.done ]
  %p.exists = icmp ult i64 %c, %channels
  %p.at = call ptr @texel_address(ptr %row, i64 %x0, i64 %y0, i64 %z0, i64 %c)
  %p.element = select i1 %p.exists, ptr %p.at, ptr null
  %p.bits = call i32 @texel_bits(ptr %row, ptr %p.element)
  br i1 %is.normalized, label %point.normalized, label %point.done
point.normalized:
  %p.value = call double @texel_value(ptr %row, ptr %p.element)
  %p.float = call float @unit_ratio(ptr %row, i64 ${t_limit}, double %p.value)
  %p.float.bits = bitcast float %p.float to i32
  br label %point.done
point.done:
  %p.result = phi i32 [ %p.bits, %points ], [ %p.float.bits, %point.normalized ]
  %p.offset = shl i64 %c, 7
  %p.to = getelementptr i8, ptr %to, i64 %p.offset
  store i32 %p.result, ptr %p.to
  %c.next = add i64 %c, 1
  %p.more = icmp ult i64 %c.next, 4
  br i1 %p.more, label %points, label %done
weigh:
  ; The weights are multiples of 1/256 with the sum 1: split by z, then by x, then by y, as an H200 does.
  %g0 = sub i64 256, %g
  %z1x1 = call i64 @share(i64 %a, i64 %g)
  %z1x0 = sub i64 %g, %z1x1
  %z0x1 = call i64 @share(i64 %a, i64 %g0)
  %z0x0 = sub i64 %g0, %z0x1
  %b0 = sub i64 256, %b
  %w3 = call i64 @share(i64 %z0x1, i64 %b)
  %w1 = sub i64 %z0x1, %w3
  %w0 = call i64 @share(i64 %z0x0, i64 %b0)
  %w2 = sub i64 %z0x0, %w0
  %w7 = call i64 @share(i64 %z1x1, i64 %b)
  %w5 = sub i64 %z1x1, %w7
  %w4 = call i64 @share(i64 %z1x0, i64 %b0)
  %w6 = sub i64 %z1x0, %w4
  store i64 %w0, ptr %weights
  %to1 = getelementptr i64, ptr %weights, i64 1
  store i64 %w1, ptr %to1
  %to2 = getelementptr i64, ptr %weights, i64 2
  store i64 %w2, ptr %to2
  %to3 = getelementptr i64, ptr %weights, i64 3
  store i64 %w3, ptr %to3
  %to4 = getelementptr i64, ptr %weights, i64 4
  store i64 %w4, ptr %to4
  %to5 = getelementptr i64, ptr %weights, i64 5
  store i64 %w5, ptr %to5
  %to6 = getelementptr i64, ptr %weights, i64 6
  store i64 %w6, ptr %to6
  %to7 = getelementptr i64, ptr %weights, i64 7
  store i64 %w7, ptr %to7
  store i64 %x0, ptr %across
  %ax1 = getelementptr i64, ptr %across, i64 1
  store i64 %x1, ptr %ax1
  %ay0 = getelementptr i64, ptr %across, i64 2
  store i64 %y0, ptr %ay0
  %ay1 = getelementptr i64, ptr %across, i64 3
  store i64 %y1, ptr %ay1
  %az0 = getelementptr i64, ptr %across, i64 4
  store i64 %z0, ptr %az0
  %az1 = getelementptr i64, ptr %across, i64 5
  store i64 %z1, ptr %az1
  br label %channel
channel:
  %k = phi i64 [ 0, %weigh ], [ %k.next, %stored ]
  %exists = icmp ult i64 %k, %channels
  br i1 %exists, label %corner, label %stored
corner:
  %n = phi i64 [ 0, %channel ], [ %n.next, %added ]
  %sum = phi double [ 0.0, %channel ], [ %sum.next, %added ]
  %w.at = getelementptr i64, ptr %weights, i64 %n
  %w = load i64, ptr %w.at
  %counts = icmp ne i64 %w, 0
  br i1 %counts, label %add, label %added
add:
  %in.x = and i64 %n, 1
  %y.bit = lshr i64 %n, 1
  %in.y = and i64 %y.bit, 1
  %in.z = lshr i64 %n, 2
  %y.place = add i64 %in.y, 2
  %z.place = add i64 %in.z, 4
  %x.at = getelementptr i64, ptr %across, i64 %in.x
  %y.at = getelementptr i64, ptr %across, i64 %y.place
  %z.at = getelementptr i64, ptr %across, i64 %z.place
  %cx = load i64, ptr %x.at
  %cy = load i64, ptr %y.at
  %cz = load i64, ptr %z.at
  %element = call ptr @texel_address(ptr %row, i64 %cx, i64 %cy, i64 %cz, i64 %k)
  %value = call double @texel_value(ptr %row, ptr %element)
  %w.f = sitofp i64 %w to double
  %term = fmul double %w.f, %value
  %with = fadd double %sum, %term
  br label %added
added:
  %sum.next = phi double [ %sum, %corner ], [ %with, %add ]
  %n.next = add i64 %n, 1
  %more = icmp ult i64 %n.next, 8
  br i1 %more, label %corner, label %summed
summed:
  %mean = fmul double %sum.next, 0x3F70000000000000
  %format = call i64 @get(ptr %row, i64 ${t_format})
  %is.half = icmp eq i64 %format, ${T_FLOAT16}
  %as.half = call double @round_to_half(double %mean)
  %as.single = call double @round_away(double %mean, i64 29)
  %as.float = select i1 %is.half, double %as.half, double %as.single
  %single = fptrunc double %as.float to float
  %unit = call float @mean_normalized(ptr %row, double %mean)
  %filtered = select i1 %is.normalized, float %unit, float %single
  %bits = bitcast float %filtered to i32
  br label %stored
stored:
  %result = phi i32 [ 0, %channel ], [ %bits, %summed ]
  %k.offset = shl i64 %k, 7
  %k.to = getelementptr i8, ptr %to, i64 %k.offset
  store i32 %result, ptr %k.to
  %k.next = add i64 %k, 1
  %k.more = icmp ult i64 %k.next, 4
  br i1 %k.more, label %channel, label %done
done:
  ret void
}

; Fetch an element of linear memory by its index; outside of it, fetches give 0.
define internal void @texture_fetch(ptr %row, i32 %index, ptr %to) {
start:
  %i = sext i32 %index to i64
  %width = call i64 @texture_extent(ptr %row, i64 0)
  %inside = icmp ult i64 %i, %width
  %x = select i1 %inside, i64 %i, i64 -1
  %channels = call i64 @get(ptr %row, i64 ${t_channels})
  %normalizes = call i64 @get(ptr %row, i64 ${t_read_normalized})
  %is.normalized = icmp ne i64 %normalizes, 0
  br label %channel
channel:
  %c = phi i64 [ 0, %start ], [ %next, %stored ]
  %exists = icmp ult i64 %c, %channels
  %at = call ptr @texel_address(ptr %row, i64 %x, i64 0, i64 0, i64 %c)
  %element = select i1 %exists, ptr %at, ptr null
  %bits = call i32 @texel_bits(ptr %row, ptr %element)
  br i1 %is.normalized, label %normalize, label %stored
normalize:
  %value = call double @texel_value(ptr %row, ptr %element)
  %unit = call float @unit_ratio(ptr %row, i64 ${t_limit}, double %value)
  %unit.bits = bitcast float %unit to i32
  br label %stored
stored:
  %result = phi i32 [ %bits, %channel ], [ %unit.bits, %normalize ]
  %offset = shl i64 %c, 7
  %place = getelementptr i8, ptr %to, i64 %offset
  store i32 %result, ptr %place
  %next = add i64 %c, 1
  %more = icmp ult i64 %next, 4
  br i1 %more, label %channel, label %done
done:
  ret void
}

; Fetch for every lane of %mask. %buffer has the handles, then the four coordinates of 32 bits, x to z and the
; layer; the four channels replace the coordinates. Return false after a fault.
define internal i1 @sim_textures(ptr %ctx, i32 %warp, i32 %mask, i64 %site, i64 %wanted, ptr %buffer) noinline {
entry:
  %geometry = and i64 %wanted, ${TEXTURE_GEOMETRY}
  %fetches = icmp eq i64 %geometry, ${LINEAR}
  %is.layered = icmp eq i64 %geometry, ${LAYERED}
  br label %lanes
lanes:
  %left = phi i32 [ %mask, %entry ], [ %rest, %sampled ]
  %none = icmp eq i32 %left, 0
  br i1 %none, label %good, label %one
one:
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %less = sub i32 %left, 1
  %rest = and i32 %left, %less
  %handle.p = getelementptr i64, ptr %buffer, i32 %lane
  %handle = load i64, ptr %handle.p
  %row = call ptr @texture_row(ptr %ctx, i64 %handle)
  %missing = icmp eq ptr %row, null
  br i1 %missing, label %invalid, label %exists
exists:
  %kind = call i64 @get(ptr %row, i64 ${t_kind})
  %fits = icmp eq i64 %kind, %wanted
  br i1 %fits, label %coordinates, label %wrong
coordinates:
  %x.base = getelementptr i8, ptr %buffer, i64 256
  %x.p = getelementptr i32, ptr %x.base, i32 %lane
  %y.p = getelementptr i8, ptr %x.p, i64 128
  %z.p = getelementptr i8, ptr %x.p, i64 256
  %x = load float, ptr %x.p
  br i1 %fetches, label %fetch, label %sample
fetch:
  %index = load i32, ptr %x.p
  call void @texture_fetch(ptr %row, i32 %index, ptr %x.p)
  br label %sampled
sample:
  %y = load float, ptr %y.p
  %z = load float, ptr %z.p
  %layer.i = load i32, ptr %z.p
  %layer.wide = zext i32 %layer.i to i64 ; layers are unsigned: a negative one is beyond the last
  %layers = call i64 @texture_extent(ptr %row, i64 2)
  %layer.in = call i64 @texture_index(i64 %layer.wide, i64 %layers, i64 ${CLAMP})
  %layer = select i1 %is.layered, i64 %layer.in, i64 0
  call void @texture_sample(ptr %row, float %x, float %y, float %z, i64 %layer, ptr %x.p)
  br label %sampled
sampled:
  br label %lanes
good:
  ret i1 true
invalid:
  %bad = shl i32 1, %lane
  call void @sim_fault(ptr %ctx, i32 %warp, i64 ${INVALID_TEXTURE}, i64 %site, i32 %bad, i64 %handle)
  ret i1 false
wrong:
  %unfit = shl i32 1, %lane
  call void @sim_fault(ptr %ctx, i32 %warp, i64 ${WRONG_TEXTURE}, i64 %site, i32 %unfit, i64 %handle)
  ret i1 false
}

; Find the bytes that the lanes of %mask access in a surface. %buffer has the handles, which the host addresses
; replace, and the coordinates: x in bytes, y, z or layer. %outside is 0 to end the launch with a fault outside the
; surface, 1 for the nearest bytes, 2 for no access. Return the lanes that access memory, and -1 above them after a
; fault.
define internal i64 @sim_surfaces(ptr %ctx, i32 %warp, i32 %mask, i64 %site, i64 %wanted, i64 %size, i64 %outside, ptr %buffer) noinline {
entry:
  br label %lanes
lanes:
  %left = phi i32 [ %mask, %entry ], [ %rest, %next ]
  %access = phi i64 [ 0, %entry ], [ %access.next, %next ]
  %none = icmp eq i32 %left, 0
  br i1 %none, label %good, label %one
one:
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %less = sub i32 %left, 1
  %rest = and i32 %left, %less
  %bit = shl i32 1, %lane
  %handle.p = getelementptr i64, ptr %buffer, i32 %lane
  %handle = load i64, ptr %handle.p
  %row = call ptr @texture_row(ptr %ctx, i64 %handle)
  %missing = icmp eq ptr %row, null
  br i1 %missing, label %invalid, label %exists
exists:
  %kind = call i64 @get(ptr %row, i64 ${t_kind})
  %fits = icmp eq i64 %kind, %wanted
  br i1 %fits, label %coordinates, label %wrong
coordinates:
  %x.base = getelementptr i8, ptr %buffer, i64 256
  %x.p = getelementptr i32, ptr %x.base, i32 %lane
  %y.p = getelementptr i8, ptr %x.p, i64 128
  %z.p = getelementptr i8, ptr %x.p, i64 256
  %x.i = load i32, ptr %x.p
  %y.i = load i32, ptr %y.p
  %z.i = load i32, ptr %z.p
  %x = sext i32 %x.i to i64
  %y = sext i32 %y.i to i64
  %z = sext i32 %z.i to i64
  %low.bits = sub i64 %size, 1
  %odd = and i64 %x, %low.bits
  %is.misaligned = icmp ne i64 %odd, 0
  br i1 %is.misaligned, label %misaligned, label %bounds
bounds:
  %width = call i64 @texture_extent(ptr %row, i64 0)
  %height = call i64 @texture_extent(ptr %row, i64 1)
  %depth = call i64 @texture_extent(ptr %row, i64 2)
  %channels = call i64 @get(ptr %row, i64 ${t_channels})
  %element = call i64 @get(ptr %row, i64 ${t_size})
  %texel = mul i64 %channels, %element
  %too.wide = icmp ugt i64 %size, %texel
  br i1 %too.wide, label %wrong, label %locate
locate:
  %bytes = mul i64 %width, %texel
  %spare = sub i64 %bytes, %size
  %ends = add i64 %spare, 1
  %steps = and i64 %spare, %low.bits
  %last = sub i64 %spare, %steps
  %x.in = icmp ult i64 %x, %ends
  %y.in = icmp ult i64 %y, %height
  %z.in = icmp ult i64 %z, %depth
  %xy.in = and i1 %x.in, %y.in
  %inside = and i1 %xy.in, %z.in
  br i1 %inside, label %resolve, label %beyond
beyond:
  switch i64 %outside, label %next [ i64 0, label %range i64 1, label %resolve ]
resolve:
  %positions = add i64 %last, 1
  %cx = call i64 @texture_index(i64 %x, i64 %positions, i64 ${CLAMP})
  %cy = call i64 @texture_index(i64 %y, i64 %height, i64 ${CLAMP})
  %cz = call i64 @texture_index(i64 %z, i64 %depth, i64 ${CLAMP})
  %base = call i64 @get(ptr %row, i64 ${t_host})
  %row.bytes = call i64 @get(ptr %row, i64 ${t_row_bytes})
  %slice.bytes = call i64 @get(ptr %row, i64 ${t_slice_bytes})
  %in.slice = mul i64 %cy, %row.bytes
  %slices = mul i64 %cz, %slice.bytes
  %p = add i64 %base, %cx
  %q = add i64 %p, %in.slice
  %host = add i64 %q, %slices
  store i64 %host, ptr %handle.p
  %bit.wide = zext i32 %bit to i64
  %with = or i64 %access, %bit.wide
  br label %next
next:
  %access.next = phi i64 [ %access, %beyond ], [ %with, %resolve ]
  br label %lanes
good:
  ret i64 %access
invalid:
  call void @sim_fault(ptr %ctx, i32 %warp, i64 ${INVALID_TEXTURE}, i64 %site, i32 %bit, i64 %handle)
  ret i64 -1
wrong:
  call void @sim_fault(ptr %ctx, i32 %warp, i64 ${WRONG_TEXTURE}, i64 %site, i32 %bit, i64 %handle)
  ret i64 -1
misaligned:
  call void @sim_fault(ptr %ctx, i32 %warp, i64 ${MISALIGNED_SURFACE}, i64 %site, i32 %bit, i64 %x)
  ret i64 -1
range:
  %x.low = zext i32 %x.i to i64
  %y.low = zext i32 %y.i to i64
  %y.high = shl i64 %y.low, 32
  %place = or i64 %y.high, %x.low
  call void @sim_fault(ptr %ctx, i32 %warp, i64 ${OUTSIDE_SURFACE}, i64 %site, i32 %bit, i64 %place)
  ret i64 -1
}
