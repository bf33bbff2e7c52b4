package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strings"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/report"
)

// attributedDay is an account's day, bounded.
type attributedDay struct {
	buckets
	named   int      // buckets that are of an end user or a tag
	text    int      // bytes of what names them
	damaged []string // the account whose sums cannot be read
	tags    []string // the names that are told apart; empty for those that most attempts have
	// mostNamed and mostText are how much of both there may be before it is shortened.
	mostNamed, mostText int
}

func newAttributedDay(tags []string) *attributedDay {
	return &attributedDay{buckets: buckets{}, tags: tags, mostNamed: 4 * mostAttributed, mostText: 4 * mostAttributedText}
}

func (d *attributedDay) addTo(b bucket, s *sums) {
	if d.put(b, s); d.named > d.mostNamed || d.text > d.mostText {
		d.shorten(2*mostAttributed, 2*mostAttributedText)
		// What cannot be shortened is not looked at again and again.
		d.mostNamed, d.mostText = max(d.mostNamed, 2*d.named), max(d.mostText, 2*d.text)
	}
}

// put adds sums, and counts what is named.
func (d *attributedDay) put(b bucket, s *sums) {
	if d.buckets[b] == nil && b.attribution != "" {
		d.named++
		d.text += len(b.attribution)
	}
	d.add(b, s)
}

// shorten brings it down to so many named buckets, or two of each key and model, and so many bytes: of end users, or of
// the tag that has most values, the dearest are told apart, as many as there is room for.
func (d *attributedDay) shorten(most, text int) {
	parsed := map[string]attributed{}
	for b := range d.buckets {
		if a, err := parseAttributed(b.attribution); err == nil { // it is one of ours
			parsed[b.attribution] = a
		}
	}
	d.shortenTags(parsed)
	most = max(most, 2*d.pairs())
	for round := 1; d.named > most || d.text > text; round *= 2 {
		name, dearest := d.widest(parsed)
		if len(dearest) == 0 {
			// Then there are too many tags that some attempts have and others have not.
			names := d.dearestTags(parsed)
			if len(names) == 0 {
				return
			}
			d.leaveOut(parsed, names[:len(names)/2])
			continue
		}
		fewer := max(d.named-most, round) // most often there is one bucket less for each
		if d.text > text {
			fewer = max(fewer, len(dearest)/2)
		}
		kept := map[string]bool{}
		for _, value := range dearest[:max(0, len(dearest)-fewer)] {
			kept[value] = true
		}
		d.replace(parsed, func(a *attributed) {
			if value := a.value(name); value != "" && !kept[value] {
				a.set(name, report.Other)
			}
		})
	}
}

// pairs are how many keys and models are named: so many sums there are of the day anyway.
func (d *attributedDay) pairs() int {
	all := map[bucket]bool{}
	for b := range d.buckets {
		if b.attribution != "" {
			all[b.withoutAttribution()] = true
		}
	}
	return len(all)
}

// widest is the dimension with most values that are told apart, and these, the dearest first; none where no dimension has any.
func (d *attributedDay) widest(parsed map[string]attributed) (name string, dearest []string) {
	sums := map[string]map[string]llm.Money{}
	note := func(dimension, value string, cost llm.Money) {
		if value == "" || value == report.Other {
			return
		}
		if sums[dimension] == nil {
			sums[dimension] = map[string]llm.Money{}
		}
		sums[dimension][value] += cost
	}
	for b, s := range d.buckets {
		a := parsed[b.attribution]
		note(userDimension, a.User, s.charged())
		for _, t := range a.Tags {
			note(t.Name, t.Value, s.charged())
		}
	}
	for dimension, values := range sums {
		if n := len(sums[name]); len(values) > n || len(values) == n && dimension < name {
			name = dimension
		}
	}
	return name, slices.SortedFunc(maps.Keys(sums[name]), func(a, b string) int {
		return cmp.Or(cmp.Compare(sums[name][b], sums[name][a]), strings.Compare(a, b))
	})
}

// replace changes for whom and for what each bucket is, and adds up those that are the same then.
func (d *attributedDay) replace(parsed map[string]attributed, change func(a *attributed)) {
	old := d.buckets
	d.buckets, d.named, d.text = make(buckets, len(old)), 0, 0
	for b, s := range old {
		if b.attribution != "" {
			a := parsed[b.attribution]
			a.Tags = slices.Clone(a.Tags)
			change(&a)
			b = b.attributedTo(&a)
			parsed[b.attribution] = a
		}
		d.put(b, s)
	}
}

// shortenTags leaves out tags of names that are not told apart.
func (d *attributedDay) shortenTags(parsed map[string]attributed) {
	names := slices.Clone(d.tags)
	if len(names) == 0 {
		if names = d.dearestTags(parsed); len(names) <= mostTagNames {
			return
		}
		names = names[:mostTagNames]
	}
	d.leaveOut(parsed, names)
}

// leaveOut leaves out tags of other names.
func (d *attributedDay) leaveOut(parsed map[string]attributed, names []string) {
	names = slices.Clone(names)
	slices.Sort(names)
	d.replace(parsed, func(a *attributed) { a.keep(names) })
}

// dearestTags are the names of all tags, those first whose attempts have cost most, or of which there are most: attempts
// that cost nothing, which everybody can make, displace no tag.
func (d *attributedDay) dearestTags(parsed map[string]attributed) []string {
	type weight struct {
		cost     llm.Money
		attempts int64
	}
	weights := map[string]weight{}
	for b, s := range d.buckets {
		for _, t := range parsed[b.attribution].Tags {
			w := weights[t.Name]
			weights[t.Name] = weight{w.cost + s.charged(), w.attempts + s[measureAttempts]}
		}
	}
	return slices.SortedFunc(maps.Keys(weights), func(a, b string) int {
		x, y := weights[a], weights[b]
		return cmp.Or(cmp.Compare(y.cost, x.cost), cmp.Compare(y.attempts, x.attempts), strings.Compare(a, b))
	})
}

// others are how many attempts are not told apart, by their end user or a tag.
func (d *attributedDay) others() (attempts int64) {
	for b, s := range d.buckets {
		if a, err := parseAttributed(b.attribution); err == nil && a.isOther() { // it is one of ours
			attempts += s[measureAttempts]
		}
	}
	return attempts
}

// addAccount adds what is added up of an account's day, the rows behind that up to a request, and, at first, what those come
// to that are deleted.
func (d *attributedDay) addAccount(ctx context.Context, tx *sql.Tx, a *accountDay, upto string) error {
	from := a.upto
	if from != "" {
		have, err := unpackBuckets(a.sums)
		if errors.Is(err, errPacked) {
			from = "" // from its rows, then
		} else if err != nil {
			return err
		}
		for b, s := range have {
			d.addTo(b, s)
		}
	}
	closed, err := isClosed(ctx, tx, a.account)
	if err != nil {
		return err
	}
	rows, err := tx.QueryContext(ctx, "SELECT "+attemptColumns+" FROM attempts WHERE account = ? AND "+isOn("day", a.day)+
		" AND request >= ? AND request < ? AND outcome <> 'open'", a.account, from, upto)
	err = each(rows, err, scanEntry, func(e *ledger.Entry) error {
		to := attributedOf(&e.Attribution)
		if closed {
			to = attributed{}
		}
		d.addTo(bucketOf(&e.Attempt).ofSums().attributedTo(&to), sumsOf(e))
		return nil
	})
	if err != nil || from != "" {
		return err
	}
	rows, err = tx.QueryContext(ctx, "SELECT "+newRollup(tableCheckpoints).columns()+" FROM "+tableCheckpoints+
		" WHERE period = ? AND account = ?", a.day, a.account)
	return each(rows, err, scanRolled, func(r *rolled) error {
		d.addTo(r.ofSums(), &r.sums)
		return nil
	})
}

// addAccounts adds the sums of all accounts.
func (d *attributedDay) addAccounts(ctx context.Context, tx *sql.Tx, day int64) error {
	rows, err := tx.QueryContext(ctx, "SELECT account, sums FROM attribution_sums WHERE day = ? AND account <> ? AND sums IS NOT NULL", day, allAccounts)
	return eachRow(rows, err, func(row scanner) error {
		var a accountDay
		if err := row.Scan(&a.account, &a.sums); err != nil {
			return err
		}
		sums, err := unpackBuckets(a.sums)
		if errors.Is(err, errPacked) {
			d.damaged = []string{a.account}
		}
		for b, s := range sums {
			d.addTo(b.withoutKey(), s)
		}
		return err
	})
}
