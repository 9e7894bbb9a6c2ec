// %%cuda double_precision
// Horner's rule, Newton's square root, division, fma and an atomic sum, all in double.
extern "C" __global__ void doubles(const double* x, double* polynomial, double* root, double* ratio,
                                   double* total, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const double c[5] = {1.0, -0.5, 1.0 / 3.0, -0.25, 0.2};
    double v = x[i], p = 0.0;
    for (int k = 4; k >= 0; --k) p = fma(p, v, c[k]);
    polynomial[i] = p;
    double guess = v;
    for (int k = 0; k < 60 && fabs(guess * guess - v) > 1e-15 * v; ++k) guess = 0.5 * (guess + v / guess);
    root[i] = guess - sqrt(v);
    ratio[i] = (v - 1.0) / (v + 1.0);
    atomicAdd(total, floor(v * 1024.0));
}
