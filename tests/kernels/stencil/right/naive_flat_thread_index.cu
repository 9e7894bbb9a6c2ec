// %%cuda stencil.naive --block 32 32
// Naive: the thread's place in the block is flattened and split again, as 1-D code does.
extern "C" __global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int t = threadIdx.y * blockDim.x + threadIdx.x;
    int column = t % BLOCK_X, row = t / BLOCK_X;
    int i = blockIdx.x * BLOCK_X + column;
    int j = blockIdx.y * BLOCK_Y + row;
    int plane = nx * ny;
    int first = plane + j * nx + i, last = plane * (nz - 1);

    if (i != 0 && j != 0 && i < nx - 1 && j < ny - 1)
        for (int at = first; at < last; at += plane) {
            float six = 6.0f * A0[at];
            float around = A0[at - plane] + A0[at - nx] + A0[at - 1] + A0[at + 1] + A0[at + nx] + A0[at + plane];
            Anext[at] = around - six / (fac * fac);
        }
}
