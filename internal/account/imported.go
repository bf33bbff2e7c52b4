package account

import (
	"context"
	"sync"
	"sync/atomic"
)

// imported are the hashes of the tokens that other gateways made, of the keys that were taken over from them. A token
// that has not the form of a key, and no checksum that tells a stranger's from a real one, is looked up in the store
// only where its hash is among them: so bad tokens cost the store nothing, whatever they look like.
type imported struct {
	hashes  atomic.Pointer[map[Hash]struct{}] // nil where they have to be read
	reading chan struct{}                     // held by whoever reads them

	mu sync.Mutex
	// generation changes when they are forgotten: what was read in an older one may be from before the change.
	generation int
}

func newImported() imported { return imported{reading: make(chan struct{}, 1)} }

// has reports whether the hash is one of them. Of many who ask before they are read, one reads.
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

// forget has them read again.
func (i *imported) forget() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.generation++
	i.hashes.Store(nil)
}
