package store

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/llm"
	"weir/internal/report"
)

func drawAttributed(rt *rapid.T) attributed {
	text := rapid.StringN(0, 5, -1)
	tags := map[string]string{}
	for range rapid.IntRange(0, 3).Draw(rt, "tags") {
		tags[text.Draw(rt, "tag")] = text.Draw(rt, "value")
	}
	a := llm.Attribution{User: text.Draw(rt, "user")}
	for name, value := range tags {
		a.Tags = append(a.Tags, llm.Tag{Name: name, Value: value})
	}
	of := attributedOf(&a)
	if rapid.Bool().Draw(rt, "some are not told apart") {
		of.Known = append([]string{}, rapid.SliceOfN(text, 0, 3).Draw(rt, "known")...)
	}
	return of
}

func drawDay(rt *rapid.T) buckets {
	all := buckets{}
	name, accounts := rapid.StringN(0, 3, -1), rapid.Bool().Draw(rt, "of several accounts")
	for range rapid.IntRange(0, 9).Draw(rt, "sums") {
		b := bucket{model: name.Draw(rt, "model"), key: name.Draw(rt, "key"), provider: name.Draw(rt, "provider")}
		if accounts {
			b.account = name.Draw(rt, "account")
		}
		s, of := &sums{}, drawAttributed(rt)
		for range rapid.IntRange(0, 6).Draw(rt, "measures") {
			s[rapid.IntRange(0, numMeasures-1).Draw(rt, "measure")] = rapid.Int64().Draw(rt, "value")
		}
		all.add(b.attributedTo(&of), s)
	}
	return all
}

// TestPackedSums checks that sums are decoded as they were encoded, that equal sums are encoded as equal bytes, and
// that a part of them is not accepted as the whole.
func TestPackedSums(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		day := drawDay(rt)
		a, err := accountDay{}.with(day)
		if err != nil {
			rt.Fatal(err)
		}
		got, err := unpackBuckets(a.sums)
		if diff := cmp.Diff(got, day, cmp.AllowUnexported(bucket{})); diff != "" || err != nil {
			rt.Fatalf("read: %v (-got +want):\n%s", err, diff)
		}
		again, err := packSums(maps.Clone(day), measureColumns())
		if err != nil || !bytes.Equal(again, a.sums) {
			rt.Fatalf("written again: %v, %x, want %x", err, again, a.sums)
		}
		a.sums = a.sums[:rapid.IntRange(0, len(a.sums)-1).Draw(rt, "of it")]
		if _, err := unpackBuckets(a.sums); !errors.Is(err, errPacked) {
			rt.Fatalf("the first %d bytes: got %v, want %v", len(a.sums), err, errPacked)
		}
	})
}

// TestPackedSumsOfLaterVersions checks that sums with measures of a later version are refused: without these measures
// the rest would be wrong.
func TestPackedSumsOfLaterVersions(t *testing.T) {
	t.Parallel()
	packed, err := packSums(buckets{bucket{model: "m"}: {measureRequests: 1}}, measureColumns())
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range [][]byte{
		bytes.Replace(packed, []byte("requests"), []byte("requestz"), 1), append([]byte{packFormatAccounts + 1}, packed[1:]...), nil,
	} {
		if _, err := unpackSums(x, measureColumns()); !errors.Is(err, errPacked) {
			t.Errorf("%q: got %v, want %v", x, err, errPacked)
		}
	}
}

func FuzzPackedSums(f *testing.F) {
	of := attributed{User: "ada", Tags: []llm.Tag{{Name: "team", Value: "x"}}, Known: []string{"team"}}
	packed, err := packSums(buckets{bucket{model: "m", key: "k"}.attributedTo(&of): {measureRequests: 1, measureCost: -5}}, measureColumns())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed)
	f.Fuzz(func(t *testing.T, packed []byte) {
		a := accountDay{sums: packed}
		all, err := unpackBuckets(a.sums)
		if err != nil {
			return
		}
		b, err := a.with(all)
		if err != nil {
			t.Fatal(err)
		}
		again, err := unpackBuckets(b.sums)
		if diff := cmp.Diff(again, all, cmp.AllowUnexported(bucket{})); diff != "" || err != nil {
			t.Errorf("written and read again: %v (-got +want):\n%s", err, diff)
		}
	})
}

// BenchmarkUsesOfDays adds up a month of 2,000 sums each day by end user.
func BenchmarkUsesOfDays(b *testing.B) {
	day := buckets{}
	for n := range mostAttributed {
		of := attributed{User: fmt.Sprintf("user-%03d", n%297), Tags: []llm.Tag{{Name: "team", Value: fmt.Sprintf("team-%d", n%10)}}}
		name := bucket{model: fmt.Sprintf("openai/model-%02d-2026-05", n%30), key: fmt.Sprintf("00000000-0000-7000-9000-%012d", n%4), provider: "openai"}
		day.add(name.attributedTo(&of), &sums{measureRequests: 3, measureCost: 12345, measureTokens: 9999, measureAttempts: 3, measureUsage: 900, measureUsage + 8: 200})
	}
	packed, err := packSums(day, measureColumns())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(len(packed)), "bytes/day")
	for range b.N {
		u := newUsesRows(newUsesGroups(&usesFilter{account: "a"}, usesByUser(), nil), usesByUser())
		for d := range 30 {
			sums, err := unpackSums(packed, measureColumns())
			if err == nil {
				err = u.addDay(accountOn{"a", int64(20261101 + d)}, everyRequest, sums)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		if len(u.groups) != 297 {
			b.Fatal(slices.Collect(maps.Keys(u.groups)))
		}
	}
}

func usesByUser() report.UsesQuery { return report.UsesQuery{By: []report.Dimension{report.ByUser}} }
