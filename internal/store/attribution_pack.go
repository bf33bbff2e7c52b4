package store

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"

	"weir/internal/llm"
)

// Packed sums are one value of the database: the sums of an account's day by end user and tags, or a row of
// rollup_packed. They start with a byte that is the format. Lists follow, each preceded by its length. Numbers are
// encoded as in encoding/binary: measures as Varint, all others as Uvarint.
//
//	texts         bytes of each; everything below refers to texts by number
//	measures      the names of the measures that any of the sums has
//	attributions  the end user; names and values of tags; and the names of tags that are reported separately,
//	              preceded by their number plus 1, or 0 for all
//	sums          model, key, provider, attribution; a bit for each measure that is not 0; these measures
//
// In the second format each of the sums starts with its account.
const (
	packFormat         = 1
	packFormatAccounts = 2
)

// packSums encodes sums without their periods. names are the names of the measures. Equal sums have equal bytes.
func packSums(all buckets, names []string) ([]byte, error) {
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
	for m, name := range names {
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
	bytes []byte // of all texts
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
	var set uint64
	for i, m := range measures {
		if s[m] != 0 {
			set |= 1 << i
		}
	}
	dst = binary.AppendUvarint(dst, set)
	for _, m := range measures {
		if s[m] != 0 {
			dst = binary.AppendVarint(dst, s[m])
		}
	}
	return dst
}

// errPacked means that packed sums are damaged, or written by a later version.
var errPacked = errors.New("packed sums cannot be read: a later version of weir wrote them, or they are damaged")

// packedSums reads packed sums one after another.
type packedSums struct {
	unpacker
	texts        []string
	measures     []int
	attributions []attributed
	free         []llm.Tag // spare ones for attributions
	left         int       // sums not read yet
	withAccounts bool      // each of the sums has an account
	isPeriod     bool      // the sums are those of a period over all accounts, without attribution
	// packedName and sums are the result of next.
	packedName
	sums
}

// packedName identifies sums by indexes into texts and attributions.
type packedName struct{ account, model, key, provider, attribution int }

// bucketOn returns the bucket of the current sums, without attribution.
func (u *packedSums) bucketOn(on accountOn) *bucket {
	if u.withAccounts {
		on.account = u.texts[u.account]
	}
	return &bucket{
		period: on.day, account: on.account, model: u.texts[u.model], key: u.texts[u.key],
		provider: u.texts[u.provider],
	}
}

// unpackSums reads everything before the sums; next reads each of them. names are the names of the measures.
func unpackSums(packed []byte, names []string) (*packedSums, error) {
	if len(packed) == 0 || packed[0] != packFormat && packed[0] != packFormatAccounts {
		return nil, errPacked
	}
	u := &packedSums{unpacker: unpacker{data: packed, at: 1}, withAccounts: packed[0] == packFormatAccounts}
	whole := string(packed) // texts are substrings of it
	u.texts = make([]string, u.length())
	for i := range u.texts {
		n := u.length()
		u.texts[i] = whole[u.at : u.at+n]
		u.at += n
	}
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

// tags returns n tags; it allocates many at once.
func (u *packedSums) tags(n int) []llm.Tag {
	if len(u.free) < n {
		u.free = make([]llm.Tag, max(n, freeTags))
	}
	some := u.free[:n:n]
	u.free = u.free[n:]
	return some
}

const freeTags = 1024

// next reads the next sums. It returns false after the last.
func (u *packedSums) next() bool {
	if !u.nextName() {
		return false
	}
	u.sums = sums{}
	u.addTo(&u.sums)
	return !u.damaged
}

// nextName reads the name of the next sums, which addTo must read then. It returns false after the last.
func (u *packedSums) nextName() bool {
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
	return !u.damaged
}

// addTo adds the sums to others.
func (u *packedSums) addTo(s *sums) {
	for of := u.uvarint(); of != 0 && !u.damaged; of &= of - 1 {
		i := bits.TrailingZeros64(of)
		if i >= len(u.measures) {
			return
		}
		s[u.measures[i]] += u.varint()
	}
}

// unpackBuckets reads all sums. They have no period, and an account only in the second format.
func unpackBuckets(packed []byte) (buckets, error) { return unpackNamed(packed, measureColumns()) }

// unpackNamed is unpackBuckets with the names of the measures.
func unpackNamed(packed []byte, names []string) (buckets, error) {
	u, err := unpackSums(packed, names)
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

// failed returns errPacked if damaged data was read.
func (u *unpacker) failed() error {
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

// unpacker reads numbers. Damaged data reads as 0.
type unpacker struct {
	data    []byte
	at      int
	damaged bool
}

func (u *unpacker) fail() { u.at, u.damaged = len(u.data), true }

func (u *unpacker) uvarint() uint64 {
	if u.at < len(u.data) && u.data[u.at] < 0x80 { // the most frequent case
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

// varint decodes like binary.Varint.
func (u *unpacker) varint() int64 {
	v := u.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// index reads a number below a bound.
func (u *unpacker) index(below int) int { return u.bounded(u.uvarint(), below) }

// length reads the length of a list of elements that take at least a byte each.
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
