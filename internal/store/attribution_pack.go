package store

import (
	"encoding/binary"
	"errors"
	"slices"

	"weir/internal/llm"
)

// Sums are one value of the database, those of an account's day by end user and tags, and those of rollup_packed: a byte that
// says which format it has, and then lists, each with its length before it, of numbers as encoding/binary has them (Uvarint, of measures Varint):
//
//	texts         bytes each; what follows refers to them by number
//	measures      the names of those that any of the sums has
//	attributions  the end user; names and values of tags; and, with one more than their number before them, the names of
//	              tags that are told apart, 0 for all
//	sums          model, key, provider, attribution; a bit for each of the measures that differs from 0; these
//
// In the second format each of the sums has its account first.
const (
	packFormat         = 1
	packFormatAccounts = 2
)

// packSums writes sums. The same ones are the same bytes. It writes no periods.
func packSums(all buckets) ([]byte, error) {
	p := packer{texts: map[string]uint64{}}
	sorted := all.sorted()
	used := sums{}
	for _, s := range all {
		for m, v := range s {
			used[m] |= v
		}
	}
	format := byte(packFormat)
	if slices.ContainsFunc(sorted, func(b bucket) bool { return b.account != "" }) {
		format = packFormatAccounts
	}
	var measures []int
	var heads, of, list []byte
	for m, name := range measureColumns() {
		if used[m] != 0 {
			measures, heads = append(measures, m), p.text(heads, name)
		}
	}
	attributions := map[string]uint64{}
	for _, b := range sorted {
		n, there := attributions[b.attribution]
		if !there {
			a, err := parseAttributed(b.attribution)
			if err != nil {
				return nil, err
			}
			n = uint64(len(attributions))
			attributions[b.attribution], of = n, p.attributed(of, &a)
		}
		if format == packFormatAccounts {
			list = p.text(list, b.account)
		}
		list = p.text(p.text(p.text(list, b.model), b.key), b.provider)
		list = binary.AppendUvarint(list, n)
		list = appendMeasures(list, all[b], measures)
	}
	packed := binary.AppendUvarint([]byte{format}, uint64(len(p.texts)))
	packed = binary.AppendUvarint(append(packed, p.bytes...), uint64(len(measures)))
	packed = binary.AppendUvarint(append(packed, heads...), uint64(len(attributions)))
	packed = binary.AppendUvarint(append(packed, of...), uint64(len(sorted)))
	return append(packed, list...), nil
}

// packer numbers texts.
type packer struct {
	texts map[string]uint64
	bytes []byte // of all of them
}

// text appends the number of a text.
func (p *packer) text(dst []byte, text string) []byte {
	n, there := p.texts[text]
	if !there {
		n = uint64(len(p.texts))
		p.texts[text] = n
		p.bytes = append(binary.AppendUvarint(p.bytes, uint64(len(text))), text...)
	}
	return binary.AppendUvarint(dst, n)
}

func (p *packer) attributed(dst []byte, a *attributed) []byte {
	dst = binary.AppendUvarint(p.text(dst, a.User), uint64(len(a.Tags)))
	for _, t := range a.Tags {
		dst = p.text(p.text(dst, t.Name), t.Value)
	}
	if a.Known == nil {
		return append(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(len(a.Known)+1))
	for _, name := range a.Known {
		dst = p.text(dst, name)
	}
	return dst
}

func appendMeasures(dst []byte, s *sums, measures []int) []byte {
	var bits uint64
	for i, m := range measures {
		if s[m] != 0 {
			bits |= 1 << i
		}
	}
	dst = binary.AppendUvarint(dst, bits)
	for _, m := range measures {
		if s[m] != 0 {
			dst = binary.AppendVarint(dst, s[m])
		}
	}
	return dst
}

// errPacked says that packed sums are damaged, or of a later version.
var errPacked = errors.New("packed sums cannot be read: a later version of weir wrote them, or they are damaged")

// packedSums are read one after another.
type packedSums struct {
	unpacker
	texts        []string
	measures     []int
	attributions []attributed
	free         []llm.Tag // for attributions
	left         int       // sums
	withAccounts bool      // they have accounts of their own
	// packedName and sums are what next has read.
	packedName
	sums
}

// packedName is what sums are of: which of texts, and of attributions.
type packedName struct{ account, model, key, provider, attribution int }

// bucketOn is what the sums that next has read are of, but for whom and for what.
func (u *packedSums) bucketOn(on accountOn) *bucket {
	if u.withAccounts {
		on.account = u.texts[u.account]
	}
	return &bucket{
		period: on.day, account: on.account, model: u.texts[u.model], key: u.texts[u.key], provider: u.texts[u.provider],
	}
}

// unpackSums reads what is before the sums, of which next reads each.
func unpackSums(packed []byte) (*packedSums, error) {
	if len(packed) == 0 || packed[0] != packFormat && packed[0] != packFormatAccounts {
		return nil, errPacked
	}
	u := &packedSums{unpacker: unpacker{data: packed, at: 1}, withAccounts: packed[0] == packFormatAccounts}
	whole := string(packed) // of which texts are parts
	u.texts = make([]string, u.length())
	for i := range u.texts {
		n := u.length()
		u.texts[i] = whole[u.at : u.at+n]
		u.at += n
	}
	names := measureColumns()
	u.measures = make([]int, u.index(len(names)+1))
	for i := range u.measures {
		if u.measures[i] = slices.Index(names, u.text()); u.measures[i] < 0 {
			return nil, errPacked
		}
	}
	u.attributions = make([]attributed, u.length())
	for i := range u.attributions {
		u.attributions[i] = u.attributed()
	}
	u.left = u.length()
	return u, u.failed()
}

func (u *packedSums) attributed() attributed {
	a := attributed{User: u.text()}
	if n := u.length(); n > 0 {
		a.Tags = u.tags(n)
	}
	for i := range a.Tags {
		a.Tags[i] = llm.Tag{Name: u.text(), Value: u.text()}
	}
	if n := u.length(); n > 0 {
		a.Known = make([]string, n-1)
	}
	for i := range a.Known {
		a.Known[i] = u.text()
	}
	return a
}

// tags makes room for some, of which many are made at once.
func (u *packedSums) tags(n int) []llm.Tag {
	if len(u.free) < n {
		u.free = make([]llm.Tag, max(n, freeTags))
	}
	some := u.free[:n:n]
	u.free = u.free[n:]
	return some
}

const freeTags = 1024

// next reads the next sums, and reports false behind the last.
func (u *packedSums) next() bool {
	if u.left == 0 || u.damaged {
		u.damaged = u.damaged || u.at < len(u.data)
		return false
	}
	u.left--
	n := len(u.texts)
	u.packedName = packedName{}
	if u.withAccounts {
		u.account = u.index(n)
	}
	u.model, u.key, u.provider, u.attribution = u.index(n), u.index(n), u.index(n), u.index(len(u.attributions))
	u.sums = sums{}
	bits := u.uvarint()
	for i, m := range u.measures {
		if bits>>i&1 != 0 {
			u.sums[m] = u.varint()
		}
	}
	return !u.damaged
}

// unpackBuckets reads all sums, without a period, and without an account where they have none of their own.
func unpackBuckets(packed []byte) (buckets, error) {
	u, err := unpackSums(packed)
	if err != nil {
		return nil, err
	}
	all := make(buckets, u.left)
	texts := make([]string, len(u.attributions))
	for i := range texts {
		texts[i] = u.attributions[i].text()
	}
	for u.next() {
		b := u.bucketOn(accountOn{})
		b.attribution = texts[u.attribution]
		all.add(*b, &u.sums)
	}
	return all, u.failed()
}

// failed is an error where what was read was damaged.
func (u *packedSums) failed() error {
	if u.damaged {
		return errPacked
	}
	return nil
}

func (u *packedSums) text() string {
	if i := u.index(len(u.texts)); i < len(u.texts) {
		return u.texts[i]
	}
	return ""
}

// unpacker reads numbers. What is damaged reads as 0.
type unpacker struct {
	data    []byte
	at      int
	damaged bool
}

func (u *unpacker) fail() { u.at, u.damaged = len(u.data), true }

func (u *unpacker) uvarint() uint64 {
	if u.at < len(u.data) && u.data[u.at] < 0x80 { // as most are
		u.at++
		return uint64(u.data[u.at-1])
	}
	v, n := binary.Uvarint(u.data[u.at:])
	if n <= 0 {
		u.fail()
		return 0
	}
	u.at += n
	return v
}

// varint is likewise what binary.Varint reads.
func (u *unpacker) varint() int64 {
	v := u.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// index is a number below a bound.
func (u *unpacker) index(below int) int { return u.bounded(u.uvarint(), below) }

// length is how much follows, of which each takes a byte at least.
func (u *unpacker) length() int {
	v := u.uvarint()
	return u.bounded(v, len(u.data)-u.at+1)
}

func (u *unpacker) bounded(v uint64, below int) int {
	if v >= uint64(below) {
		u.fail()
		return 0
	}
	return int(v)
}
