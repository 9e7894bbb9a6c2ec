; C library functions that LLVM inserts calls of, so that an object file needs no others.
define ptr @memset(ptr %to, i32 %value, i64 %count) {
entry:
  %one = trunc i32 %value to i8
  %first = insertelement <32 x i8> poison, i8 %one, i64 0
  %all = shufflevector <32 x i8> %first, <32 x i8> poison, <32 x i32> zeroinitializer
  br label %wide
wide:
  %n = phi i64 [ 0, %entry ], [ %n.next, %more ]
  %n.next = add i64 %n, 32
  %fits = icmp ule i64 %n.next, %count
  br i1 %fits, label %more, label %rest
more:
  %to.n = getelementptr i8, ptr %to, i64 %n
  store <32 x i8> %all, ptr %to.n, align 1
  br label %wide
rest:
  %m = phi i64 [ %n, %wide ], [ %m.next, %byte ]
  %m.next = add i64 %m, 1
  %left = icmp ult i64 %m, %count
  br i1 %left, label %byte, label %done
byte:
  %to.m = getelementptr i8, ptr %to, i64 %m
  store i8 %one, ptr %to.m
  br label %rest
done:
  ret ptr %to
}
define ptr @memcpy(ptr %to, ptr %from, i64 %count) {
entry:
  br label %wide
wide:
  %n = phi i64 [ 0, %entry ], [ %n.next, %more ]
  %n.next = add i64 %n, 32
  %fits = icmp ule i64 %n.next, %count
  br i1 %fits, label %more, label %rest
more:
  %to.n = getelementptr i8, ptr %to, i64 %n
  %from.n = getelementptr i8, ptr %from, i64 %n
  %some = load <32 x i8>, ptr %from.n, align 1
  store <32 x i8> %some, ptr %to.n, align 1
  br label %wide
rest:
  %m = phi i64 [ %n, %wide ], [ %m.next, %byte ]
  %m.next = add i64 %m, 1
  %left = icmp ult i64 %m, %count
  br i1 %left, label %byte, label %done
byte:
  %to.m = getelementptr i8, ptr %to, i64 %m
  %from.m = getelementptr i8, ptr %from, i64 %m
  %one = load i8, ptr %from.m
  store i8 %one, ptr %to.m
  br label %rest
done:
  ret ptr %to
}
