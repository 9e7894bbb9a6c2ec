// %%cuda same_value_by_all
// Many threads set one flag, in shared memory and then in global memory, all to the same value.
extern "C" __global__ void any_negative(const float* x, int* out, int n)
{
    __shared__ int found;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] < 0.0f) found = 1;
    __syncthreads();
    if (found) *out = 1;
}
