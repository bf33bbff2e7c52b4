package store

import (
	"encoding/binary"
	"maps"
	"slices"
)

// Columns of packed refusals.
const (
	refusedAccount = iota
	refusedKey
	refusedModel
	refusedReason
	refusedHour // of the day, as two digits
	refusedColumns
)

// refusedBy holds the values of the columns.
type refusedBy [refusedColumns]string

// refusalsFormat is the first byte of packed refusals. For each column follows its number of texts and these, each
// after its length; then the number of counts, and for each count the number of its text in each column with several
// texts (in the first column, the difference from the count before), and the number of refusals. Numbers are Uvarint
// of encoding/binary.
const refusalsFormat = 1

// packRefusals encodes counts. Equal counts have equal bytes.
func packRefusals(counts map[refusedBy]int64) []byte {
	rows := slices.SortedFunc(maps.Keys(counts), func(a, b refusedBy) int { return slices.Compare(a[:], b[:]) })
	packed := []byte{refusalsFormat}
	var numbers [refusedColumns]map[string]uint64
	for c := range numbers {
		numbers[c] = map[string]uint64{}
		var texts []byte
		for i := range rows {
			text := rows[i][c]
			if _, there := numbers[c][text]; !there {
				numbers[c][text] = uint64(len(numbers[c]))
				texts = append(binary.AppendUvarint(texts, uint64(len(text))), text...)
			}
		}
		packed = append(binary.AppendUvarint(packed, uint64(len(numbers[c]))), texts...)
	}
	packed = binary.AppendUvarint(packed, uint64(len(rows)))
	var first uint64
	for i := range rows {
		for c := range numbers {
			n := numbers[c][rows[i][c]]
			if c == 0 {
				n, first = n-first, n // the rows are in the order of the first column
			}
			if len(numbers[c]) > 1 {
				packed = binary.AppendUvarint(packed, n)
			}
		}
		packed = binary.AppendUvarint(packed, uint64(counts[rows[i]]))
	}
	return packed
}

// packedRefusals reads packed refusals one count after another.
type packedRefusals struct {
	unpacker
	texts [refusedColumns][]string
	left  int // counts not read yet
	// of and n are the result of next: the numbers of the texts, and the number of refusals.
	of [refusedColumns]int
	n  int64
}

// unpackRefusals reads everything before the counts; next reads each of them.
func unpackRefusals(packed []byte) (*packedRefusals, error) {
	if len(packed) == 0 || packed[0] != refusalsFormat {
		return nil, errPacked
	}
	p := &packedRefusals{unpacker: unpacker{data: packed, at: 1}}
	whole := string(packed) // texts are substrings of it
	for c := range p.texts {
		p.texts[c] = make([]string, p.length())
		for i := range p.texts[c] {
			n := p.length()
			p.texts[c][i] = whole[p.at : p.at+n]
			p.at += n
		}
	}
	p.left = p.length()
	return p, p.failed()
}

// next reads the next count. It returns false after the last.
func (p *packedRefusals) next() bool {
	if p.left == 0 || p.damaged {
		p.damaged = p.damaged || p.at < len(p.data)
		return false
	}
	p.left--
	for c := range p.texts {
		switch texts := len(p.texts[c]); {
		case c == 0 && texts > 1:
			p.of[c] = p.bounded(uint64(p.of[c])+p.uvarint(), texts)
		case texts > 1:
			p.of[c] = p.index(texts)
		case texts == 0:
			p.fail()
		}
	}
	p.n = int64(p.uvarint()) //nolint:gosec // packRefusals encodes an int64
	return !p.damaged
}
