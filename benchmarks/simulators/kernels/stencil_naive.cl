// The naive 7-point stencil: one work-item per column of z, seven loads from global memory per point.
__kernel void stencil_naive(float fac, __global const float* A0, __global float* Anext, int nx, int ny, int nz)
{
    int i = get_group_id(0) * get_local_size(0) + get_local_id(0);
    int j = get_group_id(1) * get_local_size(1) + get_local_id(1);
    if (i < 1 || j < 1 || i >= nx - 1 || j >= ny - 1) return;
    int plane = nx * ny;
    for (int k = 1; k < nz - 1; k++) {
        int p = i + nx * j + plane * k;
        Anext[p] = A0[p + 1] + A0[p - 1] + A0[p + nx] + A0[p - nx] + A0[p + plane] + A0[p - plane]
                 - 6.0f * A0[p] / (fac * fac);
    }
}
