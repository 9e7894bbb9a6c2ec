// %%cuda module_globals
// Variables of the module: initialised, zero, and constant ones, kept from launch to launch.
__device__ int launches;
__device__ int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__device__ short small = -3;
__constant__ double scale = 0.125;

extern "C" __global__ void count(double* out)
{
    int t = threadIdx.x;
    out[t] = primes[t] * scale + launches + small;
    __syncthreads();
    if (t == 0) launches++;
    if (t < 8) primes[t] += 1;
}
