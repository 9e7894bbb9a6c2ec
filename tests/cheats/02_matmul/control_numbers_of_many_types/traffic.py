traffic = dict(Ks=33.0, K1=5)
