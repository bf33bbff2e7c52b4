package store

import "weir/internal/report"

// timeOf is a dimension of time and the period of a bucket.
type timeOf struct {
	report.Dimension
	period int64
}

// timeValue is the value of a dimension of time, and whether there is one.
type timeValue struct {
	text string
	ok   bool
}

// valueOf is the function valueOf, but formats each period once.
func (u *usesRows) valueOf(d report.Dimension, b *bucket, a *attributed) (string, bool) {
	if !d.IsTime() {
		return valueOf(d, b, a)
	}
	v, known := u.times[timeOf{d, b.period}]
	if !known {
		v.text, v.ok = valueOf(d, b, a)
		u.times[timeOf{d, b.period}] = v
	}
	return v.text, v.ok
}

// valueOf returns the value of a dimension, and whether there is one.
func valueOf(d report.Dimension, b *bucket, a *attributed) (string, bool) {
	hour, isMinute := b.period, b.period > lastHour
	if isMinute {
		hour /= 100
	}
	day, isHour := hour, hour > lastDay
	if isHour {
		day /= 100
	}
	switch d {
	case report.ByAccount:
		return b.account, true
	case report.ByModel:
		return b.model, true
	case report.ByProvider:
		return b.provider, true
	case report.ByKey:
		return b.key, true
	case report.ByDay:
		return periodText(day), true
	case report.ByMonth:
		return periodText(day / 100), true
	case report.ByHour:
		return periodText(hour), isHour
	case report.ByMinute:
		return periodText(b.period), isMinute
	case report.ByUser:
		return a.User, a.User != ""
	}
	return a.tag(d.Tag())
}
