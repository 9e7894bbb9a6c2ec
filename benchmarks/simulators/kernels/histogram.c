// The same histogram on one thread.
#define BINS 256
void histogram(const unsigned char* data, unsigned* bins, int n)
{
    unsigned counts[BINS] = {0};
    for (int i = 0; i < n; i++) counts[data[i]]++;
    for (int bin = 0; bin < BINS; bin++) bins[bin] += counts[bin];
}
