// %%cuda stencil.opt_5 --block 32 16 --tile 4 1 128
// Two time steps in one pass: the grid between them is only in shared memory, two frames at a time.
__global__ void __launch_bounds__(BLOCK_X * BLOCK_Y, 2)
block2D_opt_5(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    const int WIDTH = 4 * BLOCK_X, LINE = WIDTH + 8;             // a row of the tile, with four points on each side
    const int BEFORE = (BLOCK_Y + 4) * LINE, BETWEEN = (BLOCK_Y + 2) * LINE;
    __shared__ __align__(16) float before[2 * BEFORE];           // two frames of A0, with two rows around the tile
    __shared__ __align__(16) float between[2 * BETWEEN];         // two frames after one step, with one row around it

    int x0 = blockIdx.x * WIDTH, y0 = blockIdx.y * BLOCK_Y, frame = nx * ny;
    int x = x0 + 4 * threadIdx.x, y = y0 + threadIdx.y;          // the first of my four points
    int frames = TILE_Z > 0 ? TILE_Z : nz;
    int first = max(1, (int)blockIdx.z * frames);
    int last = min(nz - 1, ((int)blockIdx.z + 1) * frames);      // this block stores frames first to last - 1
    float weight = 6.0f / (fac * fac);

    if (nx % 4 != 0) {                                           // rows do not start on 16 bytes: simple and slow
        auto stepped = [&](const float* at, int x, int y, int z) {
            bool inner = x > 0 && x < nx - 1 && y > 0 && y < ny - 1 && z > 0 && z < nz - 1;
            return inner ? at[-1] + at[1] + at[-nx] + at[nx] + at[-frame] + at[frame] - weight * *at : *at;
        };
        for (int z = first; z < last && y > 0 && y < ny - 1; ++z)
            for (int u = max(x, 1); u < min(x + 4, nx - 1); ++u) {
                const float* at = A0 + u + nx * y + frame * z;
                float sum = stepped(at - 1, u - 1, y, z) + stepped(at + 1, u + 1, y, z)
                          + stepped(at - nx, u, y - 1, z) + stepped(at + nx, u, y + 1, z)
                          + stepped(at - frame, u, y, z - 1) + stepped(at + frame, u, y, z + 1);
                Anext[u + nx * y + frame * z] = sum - weight * stepped(at, u, y, z);
            }
        return;
    }
    if (first >= last)
        return;                                                  // all threads of the block

    auto load4 = [&](int i, bool in) { return in ? *(const float4*)(A0 + i) : float4(); };
    auto step4 = [&](const float* at, float4 bottom, float4 here, float4 top) {       // the next values of four points
        float4 low = *(const float4*)(at - LINE), high = *(const float4*)(at + LINE), sum;
        float left = __shfl_up_sync(0xffffffff, here.w, 1), right = __shfl_down_sync(0xffffffff, here.x, 1);
        if (threadIdx.x % 32 == 0)  left = at[-1];
        if (threadIdx.x % 32 == 31) right = at[4];
        sum.x = bottom.x + top.x + low.x + high.x + left + here.y - weight * here.x;
        sum.y = bottom.y + top.y + low.y + high.y + here.x + here.z - weight * here.y;
        sum.z = bottom.z + top.z + low.z + high.z + here.y + here.w - weight * here.z;
        sum.w = bottom.w + top.w + low.w + high.w + here.z + right - weight * here.w;
        return sum;
    };

    // Four points each, in the tile; and for the first threads four points of A0 around it, two rows and four columns wide.
    int t = threadIdx.y * BLOCK_X + threadIdx.x;
    bool mine = x < nx && y < ny, inner_row = y > 0 && y < ny - 1;
    float* tile = before + (threadIdx.y + 2) * LINE + 4 * threadIdx.x + 4;
    float* after = between + (threadIdx.y + 1) * LINE + 4 * threadIdx.x + 4;
    const int FOURS = BLOCK_X + 2;                               // float4 in a row of the tile
    int u = t < 4 * FOURS ? 4 * (t % FOURS) - 4 : t % 2 ? WIDTH : -4;
    int v = t < 4 * FOURS ? t / FOURS - 2 : (t - 4 * FOURS) / 2;
    if (t < 4 * FOURS && v >= 0)
        v += BLOCK_Y;                                            // the two rows after the tile
    bool around = t < 4 * FOURS + 2 * BLOCK_Y && x0 + u >= 0 && x0 + u < nx && y0 + v >= 0 && y0 + v < ny;
    float* rim = before + (v + 2) * LINE + u + 4;

    // One point next to the tile after the first step, for most threads.
    int p = t < 2 * WIDTH ? t % WIDTH : t % 2 ? WIDTH : -1;
    int q = t < 2 * WIDTH ? (t < WIDTH ? -1 : BLOCK_Y) : (t - 2 * WIDTH) / 2;
    bool next_to = t < 2 * (WIDTH + BLOCK_Y) && x0 + p >= 0 && x0 + p < nx && y0 + q >= 0 && y0 + q < ny;
    bool inner_point = x0 + p > 0 && x0 + p < nx - 1 && y0 + q > 0 && y0 + q < ny - 1;
    const float* point = before + (q + 2) * LINE + p + 4;
    float* point_after = between + (q + 1) * LINE + p + 4;

    int z = first - 1, below = z > 0 ? frame : 0;                // the first frame of the first step, and the one below
    int i = x + nx * y + frame * z, i_rim = x0 + u + nx * (y0 + v) + frame * z, i_point = x0 + p + nx * (y0 + q) + frame * z;
    float4 bottom = load4(i - below, mine), here = load4(i, mine), top = load4(i + frame, mine);
    float4 top_rim = load4(i_rim + frame, around);
    float low_point = next_to ? A0[i_point - below] : 0.0f, point_here = next_to ? A0[i_point] : 0.0f;
    float top_point = next_to ? A0[i_point + frame] : 0.0f;
    *(float4*)tile = here;
    if (around)
        *(float4*)rim = load4(i_rim, true);
    float4 old = here, now = here;                               // mine after one step, in frames z - 2 and z - 1
    __syncthreads();

    int which = 0;                                               // frame z is in this half of `before`
    #pragma unroll 2
    for (; z <= last; ++z, which ^= 1, i += frame, i_rim += frame, i_point += frame) {
        int other = which ^ 1;
        float4 next = top, next_rim = top_rim;
        float next_point = top_point;
        *(float4*)(tile + other * BEFORE) = top;                 // frame z + 1 goes into shared memory,
        if (around)
            *(float4*)(rim + other * BEFORE) = top_rim;
        if (z < last && z + 2 < nz) {                            // and frame z + 2 is on its way
            next = load4(i + 2 * frame, mine);
            next_rim = load4(i_rim + 2 * frame, around);
            if (next_to)
                next_point = A0[i_point + 2 * frame];
        }

        // The first step in frame z. Points of the boundary keep their values.
        bool inner_frame = z > 0 && z < nz - 1;
        float4 sum = step4(tile + which * BEFORE, bottom, here, top), stepped = here;
        if (inner_frame && inner_row) {
            stepped.x = x > 0 ? sum.x : here.x;
            stepped.y = sum.y;
            stepped.z = sum.z;
            stepped.w = x + 4 < nx ? sum.w : here.w;
        }
        *(float4*)(after + which * BETWEEN) = stepped;
        if (next_to) {
            const float* at = point + which * BEFORE;
            float sum = low_point + top_point + at[-LINE] + at[LINE] + at[-1] + at[1] - weight * point_here;
            point_after[which * BETWEEN] = inner_frame && inner_point ? sum : point_here;
        }

        // The second step in frame z - 1.
        if (z > first) {
            sum = step4(after + other * BETWEEN, old, now, stepped);
            if (mine && inner_row) {
                float* out = Anext + i - frame;
                if (x > 0 && x + 4 < nx) {                       // all four are inner points
                    *(float4*)out = sum;
                } else {
                    if (x > 0)      out[0] = sum.x;
                    out[1] = sum.y;
                    out[2] = sum.z;
                    if (x + 4 < nx) out[3] = sum.w;
                }
            }
        }
        __syncthreads();                                         // both frames are complete, and the older ones read
        bottom = here;                                           // roll
        here = top;
        top = next;
        top_rim = next_rim;
        low_point = point_here;
        point_here = top_point;
        top_point = next_point;
        old = now;
        now = stepped;
    }
}
