// %%cuda matmul.K4g --block 128 --tile 1 4
// K4g: four columns a thread with every bounds test in place, in a for that steps over whole and broken strips.
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float cb[4][128];
    unsigned t = threadIdx.x, i = blockIdx.x * 128u + t, j = blockIdx.y * 4u;
    float s0 = 0.f, s1 = 0.f, s2 = 0.f, s3 = 0.f;
    for (unsigned ks = 0; ks < p; ks += 128) {
        unsigned k = ks + t;
        if (k < p) {
            if (j + 0 < m) cb[0][t] = c[k + p * (j + 0)];
            if (j + 1 < m) cb[1][t] = c[k + p * (j + 1)];
            if (j + 2 < m) cb[2][t] = c[k + p * (j + 2)];
            if (j + 3 < m) cb[3][t] = c[k + p * (j + 3)];
        }
        __syncthreads();
        if (i < n) {
            unsigned stop = p - ks < 128 ? p - ks : 128;
            for (unsigned q = 0; q < stop; q++) {
                float r = b[i + n * (ks + q)];
                s0 += r * cb[0][q];
                if (j + 1 < m) s1 += r * cb[1][q];
                if (j + 2 < m) s2 += r * cb[2][q];
                if (j + 3 < m) s3 += r * cb[3][q];
            }
        }
        __syncthreads();
    }
    if (i >= n) return;
    switch (min(m - (int)j, 4)) {
    case 4: a[i + n * (j + 3)] = s3;
    case 3: a[i + n * (j + 2)] = s2;
    case 2: a[i + n * (j + 1)] = s1;
    default: a[i + n * j] = s0;
    }
}
