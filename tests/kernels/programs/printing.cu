// %%cuda printing
// printf with every common conversion, from some threads only.
extern "C" __global__ void hello(int n)
{
    if (threadIdx.x < n) printf("hello from thread %d of block %u\n", threadIdx.x, blockIdx.x);
}

extern "C" __global__ void formats(float f, double d, long long big, char letter)
{
    if (threadIdx.x != 3) return;
    printf("%5.2f|%e|%lld|%c|%s|%x|%5d|%-5d|%05d|%%\n", f, d, big, letter, "text", 255, 42, 42, 42);
    printf("no arguments\n");
}
