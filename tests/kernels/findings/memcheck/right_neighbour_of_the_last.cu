// %%cuda right_neighbour_of_the_last
// Fault, line 7: the last element has no right neighbour.
extern "C" __global__ void slope(const float* x, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = x[i + 1] - x[i];
}
