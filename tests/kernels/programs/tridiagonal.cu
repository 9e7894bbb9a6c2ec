// %%cuda tridiagonal
// Parallel cyclic reduction: a block solves a tridiagonal system of any size below 1024, a thread an equation.
extern "C" __global__ void solve(const float* lower, const float* diagonal, const float* upper, const float* right,
                                 float* x, int n)
{
    extern __shared__ float shared[];
    float *a = shared, *b = a + n, *c = b + n, *d = c + n;
    const int i = threadIdx.x, at = blockIdx.x * n + i;
    a[i] = i > 0 ? lower[at] : 0.0f;
    b[i] = diagonal[at];
    c[i] = i < n - 1 ? upper[at] : 0.0f;
    d[i] = right[at];
    __syncthreads();
    for (int s = 1; s < n; s *= 2) {   // each equation gets rid of its neighbours at a distance of s
        float below = 0.0f, middle = b[i], above = 0.0f, value = d[i];
        if (i >= s) {
            const float factor = a[i] / b[i - s];
            below = -a[i - s] * factor;
            middle -= c[i - s] * factor;
            value -= d[i - s] * factor;
        }
        if (i + s < n) {
            const float factor = c[i] / b[i + s];
            above = -c[i + s] * factor;
            middle -= a[i + s] * factor;
            value -= d[i + s] * factor;
        }
        __syncthreads();
        a[i] = below;
        b[i] = middle;
        c[i] = above;
        d[i] = value;
        __syncthreads();
    }
    x[at] = d[i] / b[i];
}
