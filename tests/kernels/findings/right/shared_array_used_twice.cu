// %%cuda shared_array_used_twice
// A barrier separates the two uses: all doubles are read before the first byte is written.
extern "C" __global__ void above_mean(const double* x, unsigned char* above)
{
    __shared__ __align__(8) char raw[64 * sizeof(double)];
    double* value = (double*)raw;
    int t = threadIdx.x;
    value[t] = x[t];
    __syncthreads();
    double sum = 0.0;
    for (int k = 0; k < 64; ++k) sum += value[k];
    bool mine = value[t] > sum / 64.0;
    __syncthreads();
    raw[t] = mine;
    __syncthreads();
    above[t] = raw[63 - t];
}
