package account

import (
	"context"
	"sync"
	"sync/atomic"
)

// imported caches the hashes of keys that were imported from other gateways. Their tokens have neither the form of a
// key nor a checksum. Such a token is looked up in the store only if its hash is cached here, so invalid tokens cost no
// query.
type imported struct {
	hashes  atomic.Pointer[map[Hash]struct{}] // nil if they must be read
	reading chan struct{}                     // held by the reader

	mu sync.Mutex
	// generation is incremented by forget. Hashes that were read in an older generation may be outdated.
	generation int
}

func newImported() imported { return imported{reading: make(chan struct{}, 1)} }

// has reports whether the hash is that of an imported key. If several callers need the hashes before they are cached,
// one reads them.
func (i *imported) has(ctx context.Context, h *Hash, read func(context.Context) ([]Hash, error)) (bool, error) {
	known := i.hashes.Load()
	if known == nil {
		var err error
		if known, err = i.read(ctx, read); err != nil {
			return false, err
		}
	}
	_, ok := (*known)[*h]
	return ok, nil
}

func (i *imported) read(ctx context.Context, read func(context.Context) ([]Hash, error)) (*map[Hash]struct{}, error) {
	select {
	case i.reading <- struct{}{}:
		defer func() { <-i.reading }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if known := i.hashes.Load(); known != nil {
		return known, nil
	}
	i.mu.Lock()
	generation := i.generation
	i.mu.Unlock()
	list, err := read(ctx)
	if err != nil {
		return nil, err
	}
	known := make(map[Hash]struct{}, len(list))
	for _, h := range list {
		known[h] = struct{}{}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if generation == i.generation {
		i.hashes.Store(&known)
	}
	return &known, nil
}

// forget makes the next call read the hashes again.
func (i *imported) forget() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.generation++
	i.hashes.Store(nil)
}
