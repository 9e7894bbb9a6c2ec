// %%cuda double_after_a_short
// Fault, line 8: records of 10 bytes put their doubles at addresses that are not multiples of 8.
extern "C" __global__ void records(const short* x, double* out)
{
    __shared__ __align__(8) char raw[32 * 10];
    char* mine = raw + 10 * threadIdx.x;
    *(short*)mine = x[threadIdx.x];
    *(volatile double*)(mine + 2) = 0.5 * x[threadIdx.x];
    out[threadIdx.x] = *(short*)mine + *(volatile double*)(mine + 2);
}
