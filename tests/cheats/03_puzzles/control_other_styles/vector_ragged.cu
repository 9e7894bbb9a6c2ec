// %%cuda vector.ragged --block 96 --tile 4
struct __align__(16) Four { float v[4]; };
__global__ void vector(float* y, const float* x, float a, int n)
{
    const int fours = n / 4, threads = gridDim.x * blockDim.x, t = blockIdx.x * blockDim.x + threadIdx.x;
    for (int q = t; q < fours; q += threads) {
        Four f = ((const Four*)x)[q];
        for (float& v : f.v) v *= a;
        ((Four*)y)[q] = f;
    }
    if (t < n % 4) y[4 * fours + t] = a * x[4 * fours + t];
}
