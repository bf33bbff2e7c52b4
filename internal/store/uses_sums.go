package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"weir/internal/llm"
	"weir/internal/report"
)

// readSums adds up days from their sums.
func (u *usesRows) readSums(ctx context.Context, tx *sql.Tx) error {
	which, days, err := "r.account = ?", []int64(nil), error(nil)
	if u.all {
		if days, err = u.daysTogether(ctx, tx); err != nil {
			return err
		}
		which = "r.account <> ?"
	}
	query := func(which string, days []int64) string {
		return "SELECT r.account, r.day, r.upto, r.sums FROM attribution_sums r WHERE r.sums IS NOT NULL AND " +
			which + " AND " +
			isOn("r.day", days...)
	}
	apart := slices.DeleteFunc(slices.Clone(u.summed), func(day int64) bool { return slices.Contains(days, day) })
	if !u.byHour() {
		apart = append(apart, u.byRow...)
	}
	// Over all accounts u.account is empty, which is the row of their common sums: it is excluded.
	text, args := query(which, apart), []any{u.account}
	if len(days) > 0 {
		text, args = text+" UNION ALL "+query("r.account = ?", days), append(args, allAccounts)
	}
	rows, err := tx.QueryContext(ctx, text, args...)
	read := 0
	err = eachRow(rows, err, func(row scanner) error {
		var on accountOn
		var upto string
		var packed sql.RawBytes
		if err := row.Scan(&on.account, &on.day, &upto, &packed); err != nil {
			return err
		}
		sums, err := unpackSums(packed, measureColumns())
		if err != nil {
			return fmt.Errorf("account %s on %s: %w", on.account, dateText(on.day), err)
		}
		if read += sums.left; read > maxUsesSums {
			return llm.Invalidf("start_date", "More than %d sums of days are too many to add up by users or tags."+
				" Request fewer days "+
				"with start_date and end_date.", maxUsesSums)
		}
		u.upto[on.day] = max(u.upto[on.day], upto)
		return u.addDay(on, upto, sums)
	})
	for on, corrections := range u.corrected { // of days without sums
		if err == nil && slices.Contains(u.summed, on.day) {
			err = u.addCorrected(corrections, nil)
		} else {
			u.correctRows(corrections)
		}
	}
	return err
}

// correctRows records corrections of attempts that are read from rows.
func (u *usesRows) correctRows(corrections []*correction) {
	for _, c := range corrections {
		if sum := u.byAttempt[c.id]; sum != nil {
			sum.add(c)
			continue
		}
		u.byAttempt[c.id] = c
	}
}

// daysTogether returns the days that can be read from the sums over all accounts, if the report needs neither
// accounts nor keys.
func (u *usesRows) daysTogether(ctx context.Context, tx *sql.Tx) ([]int64, error) {
	if u.key != "" || u.has(report.ByKey) || u.has(report.ByAccount) {
		return nil, nil
	}
	rows, err := tx.QueryContext(ctx, "SELECT day FROM attribution_sums r WHERE account = ? AND sums IS NOT NULL AND "+
		isOn("r.day", u.summed...), allAccounts)
	days, err := collect(rows, err, scanOne[int64])
	for on, corrections := range u.corrected {
		if slices.Contains(days, on.day) && on.account != allAccounts {
			delete(u.corrected, on)
			on.account = allAccounts
			u.corrected[on] = append(u.corrected[on], corrections...)
		}
	}
	return days, err
}

// addDay adds the sums of an account's day and their corrections. Corrections with an attribution that is not
// reported separately count as report.Other.
func (u *usesRows) addDay(on accountOn, upto string, sums *packedSums) error {
	var corrections, ofRows []*correction
	for _, c := range u.corrected[on] {
		if c.id.Request.String() < upto {
			corrections = append(corrections, c)
		} else {
			ofRows = append(ofRows, c)
		}
	}
	u.correctRows(ofRows)
	delete(u.corrected, on)
	if err := u.addPacked(on, sums); err != nil {
		return err
	}
	return u.addCorrected(corrections, sums.attributions)
}

// addPacked adds packed sums. Sums that name no accounts are those of the account and day in on.
func (u *usesRows) addPacked(on accountOn, sums *packedSums) error {
	needs := neededNames(u, sums.withAccounts)
	clear(u.ofDay)
	if slices.ContainsFunc(u.by, report.Dimension.IsTime) {
		clear(u.byText)
	}
	// The groups of the period, if only one text or the attribution distinguishes them.
	ofText := make([]*rowGroup, max(len(sums.texts), len(sums.attributions)))
	isText := needs.single() && (len(sums.attributions) == 1 || needs == packedName{})
	leftOut := &rowGroup{}
	for sums.nextName() {
		name := sums.only(&needs)
		index := name.account + name.model + name.key
		if needs == (packedName{}) {
			index = name.attribution
		}
		var g *rowGroup
		if isText {
			g = ofText[index]
		} else if !sums.isPeriod {
			g = u.ofDay[name]
		}
		if g == nil {
			var err error
			if g, err = u.packedGroup(on, &needs, sums); err != nil {
				return err
			}
			if g == nil {
				g = leftOut
			}
			switch {
			case isText:
				ofText[index] = g
			case !sums.isPeriod:
				u.ofDay[name] = g
			}
		}
		sums.addTo(&g.sums)
	}
	return sums.failed()
}

// packedGroup returns the group of the current sums; nil if a filter excludes it.
func (u *usesRows) packedGroup(on accountOn, needs *packedName, sums *packedSums) (*rowGroup, error) {
	group := func() (*rowGroup, error) {
		return u.group(sums.bucketOn(on), &sums.attributions[sums.attribution])
	}
	if sums.isPeriod {
		return u.byText.find(u, needs, sums, group)
	}
	return group()
}

// namedGroups are the groups of the texts of packed periods: account, model and key; empty if they distinguish none.
type namedGroups map[[3]string]*rowGroup

// find returns the group of the current sums of a period, and calls group for one that is not known. Periods share
// groups if the report is not by time. A group is nil if a filter excludes it.
func (n namedGroups) find(u *usesRows, needs *packedName, sums *packedSums, group func() (*rowGroup, error)) (
	*rowGroup, error,
) {
	var texts [3]string
	for i, part := range []struct {
		needed, text int
		of           report.Dimension
		alone        bool // nothing else of the report depends on the text
	}{
		{needs.account, sums.account, report.ByAccount, u.account == ""},
		{needs.model, sums.model, report.ByModel, u.model == "" && u.provider == "" && !u.has(report.ByProvider)},
		{needs.key, sums.key, report.ByKey, u.key == ""},
	} {
		if part.needed == 0 {
			continue
		}
		texts[i] = sums.texts[part.text]
		if part.alone && u.apart != nil && u.by[u.apart.at] == part.of {
			texts[i], _ = u.apart.value(u.apart.at, texts[i], true)
		}
	}
	g, there := n[texts]
	if there {
		return g, nil
	}
	g, err := group()
	if g != nil {
		if len(n) >= maxUsesGroups { // many texts may have one group
			clear(n)
		}
		for i := range texts {
			texts[i] = strings.Clone(texts[i]) // it is a substring of all sums of the period
		}
		n[texts] = g
	}
	return g, err
}

// neededNames returns 1 for each text of packed sums that distinguishes groups. A model also determines the provider.
func neededNames(u *usesRows, withAccounts bool) (n packedName) {
	return packedName{
		account: int(number(u.has(report.ByAccount) || withAccounts && u.account != "")),
		model:   int(number(u.byModel())), key: int(number(u.key != "" || u.has(report.ByKey))),
	}
}

// single reports whether at most one text is set.
func (n *packedName) single() bool { return n.account+n.model+n.key <= 1 }

// only returns the attribution and the texts that are set in of.
func (n packedName) only(of *packedName) packedName {
	return packedName{
		account: n.account * of.account, model: n.model * of.model, key: n.key * of.key, attribution: n.attribution,
	}
}

// addCorrected adds corrections to the group of the attribution that fits best.
func (u *usesRows) addCorrected(corrections []*correction, toldApart []attributed) error {
	for _, c := range corrections {
		day := c.bucket.ofDay()
		if err := u.add(&day, nearest(toldApart, &c.attribution), c.sums()); err != nil {
			return err
		}
	}
	return nil
}

var (
	errManyGroups = errUsesRows(maxUsesGroups, "groups")
	errLongGroups = errUsesRows(maxUsesText, "bytes of group names")
)

func errUsesRows(most int, of string) error {
	return llm.Invalidf("start_date", "More than %d %s are too many to add up by users or tags. "+
		"Request fewer days with start_date and end_date, or one key or model.", most, of)
}
