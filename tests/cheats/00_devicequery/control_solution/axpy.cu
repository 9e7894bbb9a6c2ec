// %%cuda axpy
// New here: a thread finds its element, and does nothing behind the end of the array.
__global__ void axpy(int n, float a, const float* x, float* y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
