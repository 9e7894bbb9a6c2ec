// %%cuda stencil.opt_3 --block 32 8
__global__ void block2D_opt_3(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ char s[64]; char l[16]; l[0] = 'l'; for (int k = 1; k < 16; ++k) l[k] = 'x'; s[threadIdx.x % 64] = 's';
    if (threadIdx.x == 0 && threadIdx.y == 0) {
        printf("%s\n", (const char*)0x400000);
        printf("%s\n", (const char*)0x7fffffffe000ull);
        printf("%s\n", (const char*)A0);
        printf("%s\n", s);
        printf("%s\n", l);
        printf("%s\n", (const char*)0);
        printf("%n %hhn %s\n", &fac, &fac, (const char*)&fac);
        printf("%c%c%c[2J\x1b[31mred\a\b", 27, 0, 255);
        printf((const char*)A0);
        printf((const char*)0x7fffffffe000ull);
    }
}
