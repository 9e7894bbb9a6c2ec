// %%cuda pair_stores_unequal_values
// Fault, line 8: a lane may store the value of an iteration after its partner has stored a later one.
extern "C" __global__ void pairs(const int* x, int* out)
{
    __shared__ volatile int half[32];
    int t = threadIdx.x;
    for (int i = 0; i < 3; i++) {
        half[t / 2] = x[i];
    }
    __syncthreads();
    out[t] = half[t / 2];
}
