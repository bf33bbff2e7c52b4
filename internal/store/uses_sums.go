package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

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
		sums, err := unpackSums(packed)
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
	byModel, byKey := u.byModel(), u.key != "" || u.has(report.ByKey)
	byAccount := u.has(report.ByAccount)
	byName := byModel || byKey || byAccount
	clear(u.ofDay)
	// The groups of the day, if only the attribution distinguishes them.
	ofAttribution := make([]*rowGroup, len(sums.attributions))
	leftOut := &rowGroup{}
	for sums.next() {
		name := sums.packedName
		if !byModel {
			name.model, name.provider = 0, 0
		}
		if !byKey {
			name.key = 0
		}
		if !byAccount {
			name.account = 0
		}
		g := ofAttribution[name.attribution]
		if byName {
			g = u.ofDay[name]
		}
		if g == nil {
			var err error
			if g, err = u.group(sums.bucketOn(on), &sums.attributions[name.attribution]); err != nil {
				return err
			}
			if g == nil {
				g = leftOut
			}
			if byName {
				u.ofDay[name] = g
			} else {
				ofAttribution[name.attribution] = g
			}
		}
		g.add(&sums.sums)
	}
	return sums.failed()
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
