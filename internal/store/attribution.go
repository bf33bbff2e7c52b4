package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"weir/internal/llm"
	"weir/internal/report"
)

// What is told apart of an account's day. Beyond that, what costs least is added up as report.Other.
const (
	mostAttributed     = 2000    // sums
	mostAttributedText = 1 << 20 // bytes of what names them
	mostTagNames       = 20      // those that most attempts have
)

// attributed is for whom and for what some attempts were, as sums have it.
type attributed struct {
	User string            `json:"user,omitempty"`
	Tags map[string]string `json:"tags,omitempty"`
	// Other says that there may be tags beside these, of any name.
	Other bool `json:"other,omitempty"`
}

// others is what is not told apart.
var others = attributed{User: report.Other, Other: true}

func attributedOf(a *llm.Attribution) attributed {
	to := attributed{User: a.User}
	if len(a.Tags) > 0 {
		to.Tags = make(map[string]string, len(a.Tags))
		for _, t := range a.Tags {
			to.Tags[t.Name] = t.Value
		}
	}
	return to
}

// tag is the value of a tag, and whether there is one.
func (a *attributed) tag(name string) (string, bool) {
	if value, ok := a.Tags[name]; ok || !a.Other {
		return value, ok
	}
	return report.Other, true
}

// text is one for each value, empty for the zero one.
func (a attributed) text() string {
	if a.User == "" && len(a.Tags) == 0 && !a.Other {
		return ""
	}
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // strings can be written
	}
	return string(text)
}

func parseAttributed(text string) (a attributed, err error) {
	if text != "" {
		err = json.Unmarshal([]byte(text), &a)
	}
	return a, err
}

// digestOf is short, for a primary key.
func digestOf(attribution string) string {
	if attribution == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(attribution))
	return hex.EncodeToString(sum[:16])
}

// attributedTo is the bucket for whom and for what an attempt is.
func (b bucket) attributedTo(a attributed) bucket {
	b.attribution = a.text()
	return b
}

// withoutAttribution is the bucket of all end users and tags.
func (b bucket) withoutAttribution() bucket {
	b.attribution = ""
	return b
}

// attributedDay is an account's day, bounded.
type attributedDay struct {
	buckets
	text int // bytes of what names the buckets
}

func (d *attributedDay) addTo(b bucket, s *sums) {
	if d.buckets[b] == nil {
		d.text += len(b.attribution)
	}
	d.add(b, s)
	if len(d.buckets) > 4*mostAttributed || d.text > 4*mostAttributedText {
		d.shorten(2*mostAttributed, 2*mostAttributedText) // which leaves room, so that this is seldom
	}
}

// shorten adds up as others what is beyond so many buckets and so many bytes of names, the dearest first, and tags of
// other names than most attempts have.
func (d *attributedDay) shorten(most, text int) {
	d.shortenTags()
	byCost := slices.SortedFunc(maps.Keys(d.buckets), func(a, b bucket) int {
		return cmp.Or(cmp.Compare(d.buckets[b].charged(), d.buckets[a].charged()),
			cmp.Compare(d.buckets[b][measureTokens], d.buckets[a][measureTokens]), compareBuckets(a, b))
	})
	kept := attributedDay{buckets: make(buckets, min(most, len(byCost)))}
	for _, b := range byCost {
		to := b
		if b.attribution != "" && (len(kept.buckets) >= most || kept.text+len(b.attribution) > text) {
			to = b.attributedTo(others)
		}
		if kept.buckets[to] == nil {
			kept.text += len(to.attribution)
		}
		kept.add(to, d.buckets[b])
	}
	*d = kept
}

// shortenTags leaves out tags of names beyond mostTagNames.
func (d *attributedDay) shortenTags() {
	attempts := map[string]int64{}
	parsed := map[string]attributed{}
	for b, s := range d.buckets {
		a, err := parseAttributed(b.attribution)
		if err != nil {
			continue // it is one of ours
		}
		parsed[b.attribution] = a
		for name := range a.Tags {
			attempts[name] += s[measureAttempts]
		}
	}
	if len(attempts) <= mostTagNames {
		return
	}
	names := slices.SortedFunc(maps.Keys(attempts), func(a, b string) int {
		return cmp.Or(cmp.Compare(attempts[b], attempts[a]), strings.Compare(a, b))
	})
	left := attributedDay{buckets: make(buckets, len(d.buckets))}
	for b, s := range d.buckets {
		a := parsed[b.attribution]
		n := len(a.Tags)
		maps.DeleteFunc(a.Tags, func(name, _ string) bool { return !slices.Contains(names[:mostTagNames], name) })
		if len(a.Tags) < n {
			a.Other = true
			b = b.attributedTo(a)
		}
		if left.buckets[b] == nil {
			left.text += len(b.attribution)
		}
		left.add(b, s)
	}
	*d = left
}

// addLate takes note that attempts of days that are over were settled: whoever adds these up begins again, and what is
// added up has them too.
func addLate(ctx context.Context, tx *sql.Tx, late buckets) error {
	byDay := map[int64]buckets{}
	for b, s := range late {
		if byDay[b.period] == nil {
			byDay[b.period] = buckets{}
		}
		byDay[b.period][b] = s
	}
	table := newRollup(tableAttribution)
	for _, day := range slices.Sorted(maps.Keys(byDay)) {
		var state int64
		err := tx.QueryRowContext(ctx, "INSERT INTO attribution_days (day, state, version, claim, claimed) VALUES (?, ?, 1, '', 0)"+
			" ON CONFLICT (day) DO UPDATE SET version = attribution_days.version + 1 RETURNING state", day, notAttributed).Scan(&state)
		if err != nil {
			return err
		}
		if state != isAttributed {
			continue
		}
		for _, b := range byDay[day].sorted() {
			s := byDay[day][b]
			if b, err = withRoom(ctx, tx, b); err == nil {
				err = table.addOne(ctx, tx, b, s)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// withRoom is the bucket, or that of others where the account's day has no room for one more.
func withRoom(ctx context.Context, tx *sql.Tx, b bucket) (bucket, error) {
	var there bool
	var n int
	err := tx.QueryRowContext(ctx, "SELECT count(*), coalesce(max(CASE WHEN model = ? AND key = ? AND digest = ? THEN 1 ELSE 0 END), 0)"+
		" FROM "+tableAttribution+" WHERE period = ? AND account = ?", b.model, b.key, digestOf(b.attribution), b.period, b.account).
		Scan(&n, &there)
	if err == nil && !there && n >= mostAttributed && b.attribution != "" {
		b = b.attributedTo(others)
	}
	return b, err
}
