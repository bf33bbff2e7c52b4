package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strings"

	"weir/internal/llm"
	"weir/internal/report"
)

// attributedDay adds up an account's day within bounds.
type attributedDay struct {
	buckets
	named   int      // buckets with an end user or a tag
	text    int      // bytes of the texts that name them
	damaged []string // the account with unreadable sums
	tags    []string // the tags that are reported separately; if empty, those that most attempts have
	// The day is shortened when named exceeds mostNamed or text exceeds mostText.
	mostNamed, mostText int
}

func newAttributedDay(tags []string) *attributedDay {
	return &attributedDay{
		buckets: buckets{}, tags: tags, mostNamed: 4 * mostAttributed,
		mostText: 4 * mostAttributedText,
	}
}

func (d *attributedDay) addTo(b bucket, s *sums) {
	if d.put(b, s); d.named > d.mostNamed || d.text > d.mostText {
		d.shorten(2*mostAttributed, 2*mostAttributedText)
		// If it cannot be shortened further, it is not tried again for each bucket.
		d.mostNamed, d.mostText = max(d.mostNamed, 2*d.named), max(d.mostText, 2*d.text)
	}
}

// put adds sums and counts the named buckets.
func (d *attributedDay) put(b bucket, s *sums) {
	if d.buckets[b] == nil && b.attribution != "" {
		d.named++
		d.text += len(b.attribution)
	}
	d.add(b, s)
}

// shorten reduces the day to that many named buckets, or two for each key and model, and that many bytes of text. It
// keeps as many values as possible, those with the highest cost, of the end users or of the tag that has the most
// values.
func (d *attributedDay) shorten(most, text int) {
	parsed := map[string]attributed{}
	for b := range d.buckets {
		if a, err := parseAttributed(b.attribution); err == nil { // this package wrote the text
			parsed[b.attribution] = a
		}
	}
	d.shortenTags(parsed)
	most = max(most, 2*d.pairs())
	for round := 1; d.named > most || d.text > text; round *= 2 {
		name, dearest := d.widest(parsed)
		if len(dearest) == 0 {
			// Some attempts have many tags that others do not have.
			names := d.dearestTags(parsed)
			if len(names) == 0 {
				return
			}
			d.leaveOut(parsed, names[:len(names)/2])
			continue
		}
		fewer := max(d.named-most, round) // one value less is usually one bucket less
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

// pairs returns how many keys and models the named buckets have: the day has that many sums in any case.
func (d *attributedDay) pairs() int {
	all := map[bucket]bool{}
	for b := range d.buckets {
		if b.attribution != "" {
			all[b.withoutAttribution()] = true
		}
	}
	return len(all)
}

// widest returns the dimension with the most values that are reported separately, and these values by descending
// cost. There are none if no dimension has any.
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

// replace changes the attribution of each bucket, and adds up buckets that become equal.
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

// shortenTags removes the tags that are not reported separately.
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

// leaveOut removes the tags that are not in the list of names.
func (d *attributedDay) leaveOut(parsed map[string]attributed, names []string) {
	names = slices.Clone(names)
	slices.Sort(names)
	d.replace(parsed, func(a *attributed) { a.keep(names) })
}

// dearestTags returns the names of all tags, by descending cost and then number of their attempts. So attempts that
// cost nothing, which any client can make, do not displace a tag.
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

// others returns how many attempts are added up under report.Other, by their end user or a tag.
func (d *attributedDay) others() (attempts int64) {
	for b, s := range d.buckets {
		if a, err := parseAttributed(b.attribution); err == nil && a.isOther() { // this package wrote the text
			attempts += s[measureAttempts]
		}
	}
	return attempts
}

// addAccount adds the stored sums of an account's day and the attempts after them, up to a request. If nothing is
// stored, it also adds the checkpoints of deleted rows.
func (d *attributedDay) addAccount(ctx context.Context, tx *sql.Tx, a *accountDay, upto string) error {
	from := a.upto
	if from != "" {
		have, err := unpackBuckets(a.sums)
		if errors.Is(err, errPacked) {
			from = "" // add up from the rows
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
	query := rowsQuery{
		account: a.account, from: placeAt(a.day, from), to: placeAt(a.day, upto), least: stateKnown, limit: exportPiece,
	}
	err = walk(ctx, tx, query, func(r *storedRow) error {
		to := attributedOf(&r.Attribution)
		if closed {
			to = attributed{}
		}
		d.addTo(bucketOf(&r.Attempt).ofSums().attributedTo(&to), sumsOf(&r.Entry))
		return nil
	})
	if err != nil || from != "" {
		return err
	}
	rows, err := tx.QueryContext(ctx, "SELECT "+newRollup(tableCheckpoints).columns()+" FROM "+tableCheckpoints+
		" WHERE period = ? AND account = ?", a.day, a.account)
	return each(rows, err, scanRolled, func(r *rolled) error {
		d.addTo(r.ofSums(), &r.sums)
		return nil
	})
}

// addAccounts adds the sums of all accounts.
func (d *attributedDay) addAccounts(ctx context.Context, tx *sql.Tx, day int64) error {
	rows, err := tx.QueryContext(ctx, "SELECT account, sums FROM attribution_sums WHERE day = ? AND account <> ?"+
		" AND sums IS NOT NULL", day, allAccounts)
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
