package store

import (
	"fmt"
	"strings"
	"testing"

	"weir/internal/llm"
	"weir/internal/report"
)

// TestDroppedTagNamesStayUnknown checks that a tag whose name was dropped is never reported as absent later.
func TestDroppedTagNamesStayUnknown(t *testing.T) {
	t.Parallel()
	d := newAttributedDay(nil)
	add := func(name string, attempts int64) {
		a := attributed{Tags: []llm.Tag{{Name: name, Value: "v"}}}
		d.addTo(bucket{model: "m"}.attributedTo(&a), &sums{measureAttempts: attempts})
	}
	for i := range mostTagNames {
		add(fmt.Sprint("early ", i), 2)
	}
	add("late", 1)
	d.shorten(mostAttributed, mostAttributedText)
	add("late", 9)
	d.shorten(mostAttributed, mostAttributedText)
	values := map[string]int64{}
	for b, s := range d.buckets {
		a, err := parseAttributed(b.attribution)
		if err != nil {
			t.Fatal(err)
		}
		value, ok := a.tag("late")
		if !ok {
			value = "none"
		}
		values[value] += s[measureAttempts]
	}
	if values["v"] != 9 || values[report.Other] != 1 || values["none"] != 2*mostTagNames {
		t.Errorf("by the late tag: got %v, want 9 of v and 1 of others", values)
	}
}

// TestFreeTags checks that attempts without a cost, in any number, displace no tag of attempts with one.
func TestFreeTags(t *testing.T) {
	t.Parallel()
	d := newAttributedDay(nil)
	add := func(name string, s sums) {
		a := attributed{Tags: []llm.Tag{{Name: name, Value: "v"}}}
		d.addTo(bucket{model: "m"}.attributedTo(&a), &s)
	}
	add("team", sums{measureAttempts: 1, measureCost: 1})
	for i := range mostTagNames {
		add(fmt.Sprint("free ", i), sums{measureAttempts: 1000})
	}
	d.shorten(mostAttributed, mostAttributedText)
	for b, s := range d.buckets {
		if a, err := parseAttributed(b.attribution); err != nil || s[measureCost] > 0 && (len(a.Tags) != 1 || a.Tags[0].Name != "team") {
			t.Errorf("the attempts with a cost are of %q, %v", b.attribution, err)
		}
	}
}

// TestUsesText checks that the names of groups are bounded in bytes, too.
func TestUsesText(t *testing.T) {
	t.Parallel()
	q := report.UsesQuery{By: []report.Dimension{report.ByUser}}
	u := newUsesRows(newUsesGroups(&usesFilter{}, q, nil), q)
	long := strings.Repeat("x", 1<<20)
	for i := range maxUsesText>>20 + 1 {
		if err := u.add(&bucket{}, &attributed{User: fmt.Sprint(i, long)}, &sums{}); err != nil {
			if i < 60 {
				t.Errorf("group %d: %v", i, err)
			}
			return
		}
	}
	t.Error("got no error")
}

// TestLongNames checks that names that cannot be shortened are not examined again for each attempt.
func TestLongNames(t *testing.T) {
	t.Parallel()
	d, calls := newAttributedDay(nil), 0
	for i := range 60_000 {
		a := attributed{User: fmt.Sprint("user ", i), Tags: []llm.Tag{{Name: "team", Value: "x"}}}
		before := len(d.buckets)
		d.addTo(bucket{model: fmt.Sprint("model ", i), key: "k"}.attributedTo(&a), &sums{measureAttempts: 1})
		if len(d.buckets) < before || d.mostNamed > 4*mostAttributed<<calls {
			calls++
		}
	}
	if d.named != 60_000 || calls > 8 {
		t.Errorf("%d of 60,000 models are named, and they were examined %d times, want 8 at most", d.named, calls)
	}
}

// TestTagSubsets checks that the groups of requests with different tags are bounded.
func TestTagSubsets(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"", "v"} {
		d := newAttributedDay(nil)
		const most = 20_000
		for mask := range most {
			a := attributed{User: fmt.Sprint("user ", mask)}
			for i := range mostTagNames {
				if mask>>i&1 != 0 {
					a.Tags = append(a.Tags, llm.Tag{Name: fmt.Sprintf("tag%02d", i), Value: value})
				}
			}
			d.addTo(bucket{model: "m", key: "k"}.attributedTo(&a), &sums{measureAttempts: 1})
		}
		d.shorten(mostAttributed, mostAttributedText)
		attempts := int64(0)
		for _, s := range d.buckets {
			attempts += s[measureAttempts]
		}
		if d.named > mostAttributed || attempts != most {
			t.Errorf("tags with the value %q: %d sums of %d attempts, want %d at most of %d", value, d.named, attempts, mostAttributed, most)
		}
	}
}
