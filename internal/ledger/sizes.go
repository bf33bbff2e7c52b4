package ledger

import "encoding/binary"

// Sizes has the bytes of a call of a tool: those of its arguments and those of its result. Both are 0 for other
// attempts.
type Sizes struct{ Arguments, Result int64 }

// flagSizes marks a settlement that ends with the sizes. An older program ignores it.
const flagSizes = flagCached << 1

func sizesFlag(s Sizes) uint64 {
	if s != (Sizes{}) {
		return flagSizes
	}
	return 0
}

func appendSizes(dst []byte, s Sizes) []byte {
	if s == (Sizes{}) {
		return dst
	}
	return binary.AppendVarint(binary.AppendVarint(dst, s.Arguments), s.Result)
}

func (d *decoder) sizes(flags uint64) (s Sizes) {
	if flags&flagSizes != 0 {
		s.Arguments, s.Result = d.varint(), d.varint()
	}
	return s
}
