module example.com/cachefetch

go 1.19
