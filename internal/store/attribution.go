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
	User string            `json:"user,omitempty"` // report.Other for one who is not told apart
	Tags map[string]string `json:"tags,omitempty"` // likewise
	// Known are the names of tags that are told apart, where there may be others; nil for all names.
	Known []string `json:"known,omitzero"`
}

// others are all who are not told apart.
func others() *attributed { return &attributed{User: report.Other, Known: []string{}} }

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
	if value, ok := a.Tags[name]; ok || a.Known == nil || slices.Contains(a.Known, name) {
		return value, ok
	}
	return report.Other, true
}

// text is one for each value, empty for the zero one.
func (a *attributed) text() string {
	if a.User == "" && len(a.Tags) == 0 && a.Known == nil {
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
func (b bucket) attributedTo(a *attributed) bucket {
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
	named int // buckets that are of an end user or a tag
	text  int // bytes of what names them
	// mostNamed and mostText are how much of both there may be before it is shortened.
	mostNamed, mostText int
}

func newAttributedDay() *attributedDay {
	return &attributedDay{buckets: buckets{}, mostNamed: 4 * mostAttributed, mostText: 4 * mostAttributedText}
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
			return
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

// userDimension stands for the end user among names of tags, which are not empty.
const userDimension = ""

// value is that of a tag, or the end user; empty for none, and for a tag without a value, which takes no room.
func (a *attributed) value(dimension string) string {
	if dimension == userDimension {
		return a.User
	}
	return a.Tags[dimension]
}

func (a *attributed) set(dimension, value string) {
	if dimension == userDimension {
		a.User = value
		return
	}
	a.Tags[dimension] = value
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
		for tag, value := range a.Tags {
			note(tag, value, s.charged())
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
			a.Tags = maps.Clone(a.Tags)
			change(&a)
			b = b.attributedTo(&a)
			parsed[b.attribution] = a
		}
		d.put(b, s)
	}
}

// shortenTags leaves out tags of names beyond mostTagNames.
func (d *attributedDay) shortenTags(parsed map[string]attributed) {
	attempts := map[string]int64{}
	for b, s := range d.buckets {
		for name := range parsed[b.attribution].Tags {
			attempts[name] += s[measureAttempts]
		}
	}
	if len(attempts) <= mostTagNames {
		return
	}
	names := slices.SortedFunc(maps.Keys(attempts), func(a, b string) int {
		return cmp.Or(cmp.Compare(attempts[b], attempts[a]), strings.Compare(a, b))
	})[:mostTagNames]
	slices.Sort(names)
	d.replace(parsed, func(a *attributed) {
		n := len(a.Tags)
		maps.DeleteFunc(a.Tags, func(name, _ string) bool { return !slices.Contains(names, name) })
		switch {
		case a.Known != nil: // of what was left out before nobody knows
			a.Known = slices.DeleteFunc(slices.Clone(a.Known), func(name string) bool { return !slices.Contains(names, name) })
		case len(a.Tags) < n:
			a.Known = names
		}
	})
}

// addLate takes note that attempts of days that are over were settled: whoever adds these up begins again, and what is
// added up has them too.
func addLate(ctx context.Context, tx *sql.Tx, late buckets) error {
	byDay := map[int64]map[string]buckets{}
	for b, s := range late {
		if byDay[b.period] == nil {
			byDay[b.period] = map[string]buckets{}
		}
		if byDay[b.period][b.account] == nil {
			byDay[b.period][b.account] = buckets{}
		}
		byDay[b.period][b.account][b] = s
	}
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
		for _, account := range slices.Sorted(maps.Keys(byDay[day])) {
			if err := addLateOf(ctx, tx, day, account, byDay[day][account]); err != nil {
				return err
			}
		}
	}
	return nil
}

// addLateOf adds to an account's day that is added up, as much of it told apart as there is room for.
func addLateOf(ctx context.Context, tx *sql.Tx, day int64, account string, late buckets) error {
	closed, err := isClosed(ctx, tx, account)
	if err != nil {
		return err
	}
	var n, text int
	err = tx.QueryRowContext(ctx, "SELECT count(*), coalesce(sum(length(attribution)), 0) FROM "+tableAttribution+
		" WHERE period = ? AND account = ?", day, account).Scan(&n, &text)
	if err != nil {
		return err
	}
	all := buckets{}
	for _, b := range late.sorted() {
		s := late[b]
		switch {
		case closed:
			b = b.withoutAttribution()
		case b.attribution == "":
		case n >= mostAttributed || text+len(b.attribution) > mostAttributedText:
			var there bool
			err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+tableAttribution+" WHERE period = ? AND account = ? AND "+
				"model = ? AND key = ? AND digest = ?)", day, account, b.model, b.key, digestOf(b.attribution)).Scan(&there)
			if err != nil {
				return err
			}
			if !there {
				b = b.attributedTo(others())
			}
		default:
			n, text = n+1, text+len(b.attribution)
		}
		all.add(b, s)
	}
	return newRollup(tableAttribution).addEach(ctx, tx, all)
}

// isClosed reports whether an account is closed, whose end users and tags nobody has any more.
func isClosed(ctx context.Context, q querier, account string) (closed bool, err error) {
	err = q.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM accounts WHERE id = ? AND closed IS NOT NULL)", account).Scan(&closed)
	return closed, err
}
