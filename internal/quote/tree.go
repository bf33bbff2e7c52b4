package quote

import (
	"errors"

	"weir/internal/llm"
)

// tree holds the decoded body of a request.
type tree struct {
	request *llm.Request // nil until it is needed
	size    int64        // bytes that are reserved for it
	err     error        // of the decoder, which a second try would return again
}

// errNoTree means that an operation has no decoder.
var errNoTree = errors.New("quote: the body is not translated")

// Tree returns the decoded body, which it decodes once. Before that it reserves the most memory that the tree can take.
func (r *Request) Tree() (*llm.Request, error) {
	if r.tree.request != nil || r.tree.err != nil {
		return r.tree.request, r.tree.err
	}
	if r.Op.DecodeRequest == nil {
		return nil, errNoTree
	}
	size, err := r.reserveTree()
	if err != nil {
		return nil, err
	}
	r.tree.size = size
	if r.tree.request, r.tree.err = r.Op.DecodeRequest(r.Body); r.tree.err != nil {
		r.DropTree()
	}
	return r.tree.request, r.tree.err
}

// reserveTree reserves the most memory that the tree can take, and returns it in bytes.
func (r *Request) reserveTree() (size int64, err error) {
	if r.Bounds == nil {
		return 0, nil
	}
	if size, err = r.Bounds.Measure(r.Body); err != nil {
		return 0, err
	}
	return size, r.Capacity.Reserve(size)
}

// DropTree releases the memory of the tree. The next call of Tree decodes the body again.
func (r *Request) DropTree() {
	if r.tree.size > 0 {
		r.Capacity.Release(r.tree.size)
	}
	r.tree = tree{err: r.tree.err}
}

// IsDecoded reports whether the tree is in memory.
func (r *Request) IsDecoded() bool { return r.tree.request != nil }
