// %%cuda vector_of_four_threads
// Fault, line 11: the four elements belong to four lanes that have not been synchronized.
extern "C" __global__ void gather(const float* x, float4* out)
{
    __shared__ __align__(16) float s[64];
    int t = threadIdx.x;
    s[t] = 0.0f;
    __syncthreads();
    s[t] = sqrtf(fabsf(x[t]));
    if (t % 4 == 0)
        out[t / 4] = *(float4*)&s[t];
}
