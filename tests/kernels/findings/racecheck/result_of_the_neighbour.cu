// %%cuda result_of_the_neighbour
// Fault, line 6: y[i - 1] is the result of another thread, which may not be ready.
extern "C" __global__ void decay(const float* x, float* y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float before = i > 0 ? y[i - 1] : 0.0f;
    y[i] = x[i] + 0.5f * before;
}
