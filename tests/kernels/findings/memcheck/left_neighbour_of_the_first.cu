// %%cuda left_neighbour_of_the_first
// Fault, line 7: the first element has no left neighbour.
extern "C" __global__ void smooth(const double* x, double* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double left = x[i - 1];
    out[i] = 0.5 * (left + x[i]);
}
